"""A venue's notes from the OpenReview API (v1 and v2), as pages of JSON exactly as the API sends them.

Here belongs the API's protocol: logging in, paging, waiting, and the proof that the pages are complete. What a note
means belongs in the dbt project; how pages split into records, in `formats/records.py`.

    pull.py       what is fetched, in which order, and when it is enough
    crawl.py      the pages on disk and the note beside them
    client.py     the API at one address, as one account sees it
    refusals.py   how the API says no, and for how long
    notes.py      a note's id and version

**Paging.** `GET /notes?invitation=...&details=replies&sort=id&limit=...`, then `after=<last id>` until an empty page.
A page is landed as it came. Where the server cannot cope (5xx, time-out, an answer too large), half as many notes are
asked for, and after some good pages twice as many again. Both APIs page alike; they differ in what a note looks like.

**Drift.** Notes come, go and change while a crawl runs. After it a light pass asks for the id and `tmdate` of every
paper and every reply (`select`), and nothing else. What the pages lack, or hold in another version, is fetched anew;
a page that holds a note which is gone is dropped, and the rest of it fetched anew. Another light pass follows, until
one agrees with the pages: then their ids are the final set. `count` may be missing, and may count what an account
cannot see; where it speaks against a light pass that lacks papers, that pass is repeated once, and else it is told.
A server that does not select inside replies is read in full instead, which is slower and proves the same.

**Increments.** A pull that finds an earlier snapshot starts from its pages (hard links) and the same light pass, so it
fetches what has a later `tmdate`, and the papers that have a new or changed reply: a new review leaves its paper's
own `tmdate` alone. Requests are what OpenReview limits (about a hundred in half an hour, openreview issue 437), so
changed papers that stand near each other are fetched in one request, with what is between them. A note may then be
in two pages; the later version counts, and a page that later pages cover wholly is dropped. A deletion is not a
version, hence the dropped pages. A note deleted with a trace has a `ddate` and is landed like any other.

**Stopping.** Each page is noted in `crawl.json` beside the pages, with the cursor. Whatever ends a crawl (a limit on
requests beyond the cap, a crash), the next pull of the same invitation continues from there.

Sources of facts: docs and issues of OpenReview, and openreview-py. `after` and `select` exist in both APIs
(`Client.get_notes`, `api.OpenReviewClient.get_all_notes`; both page by `tools.efficient_iterget`, sorted by id). There
is no dependable filter by `tmdate` for notes (openreview-py has `mintmdate` for tags only). `select` reaches into
replies as `details.replies[*].id`, and drops replies that it does not name; OpenReview's own web pages use it so.
"""

from pipelines.sources.openreview.pull import fetch

__all__ = ["fetch"]

"""One module or package per kind of source: how to fetch it, and nothing about what its bytes mean.

Each module has `fetch(source, into, *, settings, landed, log, previous)`, which puts the upstream's files into the
folder `into` and returns what it got, or None where they are the files in `landed`, pairs of name and sha256.
`previous` are the files of the current snapshot, for a source that continues where it was.
"""

from collections.abc import Mapping

from pipelines.sources import conference_site, files, hugging_face, openreview, paper_copilot, sample
from pipelines.sources.fetched import Fetch

FETCHERS: Mapping[str, Fetch] = {
    "hugging_face": hugging_face.fetch,
    "files": files.fetch,
    "sample": sample.fetch,
    "openreview": openreview.fetch,
    "paper_copilot": paper_copilot.fetch,
    "conference_site": conference_site.fetch,
}

r"""The built-in synthetic edition: invented papers and reviews in the exact schema of the Hub dataset.

Here belongs what the sample is made of, and nothing about what its rows mean. About 500 papers are ordinary; beside
them stand the quirks of real data, one function each in `QUIRKS`, so that whoever runs the sample meets all of them.
Everything a person sees says that it is synthetic: venue, titles, forum ids that start with "Syn", made-up names.
"""

import hashlib
import random
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pipelines.config.editions import SampleSource
from pipelines.config.settings import Settings
from pipelines.sources.fetched import Fetched, FetchedFile, Log

FILE_NAME = "sample.parquet"
URL = "synthetic:sample"
AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
VENUE_ID = "Synthetic.example/2026/Conference"
ORDINARY_PAPERS = 440
PEOPLE = 300
SEED = 20260101

Row = dict[str, Any]

_COLUMNS = (
    *("title", "abstract", "year", "url", "pdf", "authors", "venue", "venueid", "invitation", "venue_type"),
    *("reviews", "num_reviews", "_bibtex", "_bibkey"),
)
_REVIEW_TEXTS = ("review", "review_id", "reviewer", "strengths", "summary", "weaknesses")


def fetch(
    source: SampleSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Write the sample into the folder `into`; None where `landed` (file name, sha256) already is these bytes."""
    content = parquet_bytes()
    if landed == {(FILE_NAME, hashlib.sha256(content).hexdigest())}:
        return None
    (into / FILE_NAME).write_bytes(content)
    log(f"Made {FILE_NAME}: {len(build())} synthetic paper rows, {len(content):,} bytes.")
    return Fetched(files=[FetchedFile(FILE_NAME, into / FILE_NAME, URL)], url=URL, as_of=AS_OF)


def parquet_bytes() -> bytes:
    """The sample as a Parquet file, the same bytes every time (for one version of pyarrow)."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    text, number = pa.string(), pa.int64()
    review = pa.struct(dict.fromkeys(("confidence", "date", "rating"), number) | dict.fromkeys(_REVIEW_TEXTS, text))
    columns = dict.fromkeys(_COLUMNS, text) | dict.fromkeys(("year", "num_reviews"), number)
    schema = pa.schema(columns | {"authors": pa.list_(text), "reviews": pa.list_(review)})
    sink = pa.BufferOutputStream()
    table = pa.Table.from_pylist([made.row for made in build()], schema=schema)
    pq.write_table(table, sink, compression="zstd", compression_level=3)
    return bytes(sink.getvalue())


# --- what is made, and what has to become of it ----------------------------------------------------------------------


@dataclass(frozen=True)
class Made:
    """One row and its fate: kept as a paper, merged into a fuller row of the same paper, or quarantined. The counts
    are of its reviews and author entries that must be quarantined although the row itself need not be."""

    row: Row
    fate: Literal["kept", "merged", "quarantined"] = "kept"
    bad_reviews: int = 0
    bad_authors: int = 0


@dataclass(frozen=True)
class Tally:
    """What comes in and what must become of it; `total` = kept + merged + quarantined."""

    total: int
    kept: int
    merged: int
    quarantined: int


@lru_cache(maxsize=1)
def build() -> tuple[Made, ...]:
    """All rows in file order: the ordinary papers with every quirk's rows strewn among them."""
    maker = Maker(random.Random(SEED))  # noqa: S311 (it has to repeat, not to be secret)
    made = [Made(maker.paper()) for _ in range(ORDINARY_PAPERS)]
    for quirk in QUIRKS.values():
        made += quirk(maker)
    maker.random.shuffle(made)
    return tuple(made)


def tallies() -> dict[str, Tally]:
    """The sample's true figures by row kind (paper, review, author), from the fates that its builders gave.

    A review counts once however many rows of its paper hold it; a paper's authors are those of its kept row.
    """
    kept_rows = [made for made in build() if made.fate == "kept"]
    used_rows = [made for made in build() if made.fate != "quarantined"]
    review_ids = {item["review_id"] for made in used_rows for item in made.row["reviews"] or [] if item} - {None, ""}

    def tally(total: int, kept: int, quarantined: int) -> Tally:
        return Tally(total, kept, total - kept - quarantined, quarantined)

    def count(column: str, rows: list[Made]) -> int:
        return sum(len(made.row[column] or []) for made in rows)

    set_aside = [made for made in build() if made.fate == "quarantined"]
    bad_reviews = sum(made.bad_reviews for made in used_rows) + count("reviews", set_aside)
    bad_authors = sum(made.bad_authors for made in used_rows) + count("authors", set_aside)
    authors = count("authors", kept_rows) - sum(made.bad_authors for made in kept_rows)
    return {
        "paper": tally(len(build()), len(kept_rows), len(set_aside)),
        "review": tally(count("reviews", list(build())), len(review_ids), bad_reviews),
        "author": tally(count("authors", list(build())), authors, bad_authors),
    }


# --- ordinary papers -------------------------------------------------------------------------------------------------

_ID_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_RATINGS, _RATING_WEIGHTS = (0, 2, 4, 6, 8, 10), (2, 26, 40, 25, 6, 1)
_REVIEW_COUNTS, _REVIEW_COUNT_WEIGHTS = (1, 2, 3, 4, 5, 6), (1, 2, 18, 58, 17, 4)

_FIRST = ("Zor", "Quim", "Plo", "Brax", "Tul", "Niv", "Osk", "Yab", "Drel", "Vask", "Hjo", "Wemb", "Kri", "Flu")
_SECOND = ("vel", "tas", "mir", "dunk", "lo", "pex", "rin", "gast", "bo", "zim", "nax", "thul")
_THIRD = ("berg", "quist", "moor", "vane", "dottle", "wick", "snerf", "holm", "plume", "crag")

_HOW = ("Adaptive", "Sparse", "Causal", "Robust", "Hierarchical", "Latent", "Calibrated", "Modular", "Streaming")
_WHAT = ("Attention", "Diffusion", "Retrieval", "Pruning", "Distillation", "Alignment", "Planning", "Tokenization")
_WITH = ("Imaginary Gradients", "Placeholder Memory", "Invented Priors", "Toy Experts", "Mock Rewards", "Paper Moons")
_FOR = ("Language Models", "Graph Networks", "Robot Control", "Time Series", "Protein Design", "Vision Transformers")

_ABSTRACT = (
    "Existing methods are slow when the number of {what} steps grows.",
    "We propose a {how} scheme that reuses {with_} across layers.",
    "The key idea is to treat {what} as a budget rather than as a constraint.",
    "A simple analysis shows why {how} updates remain stable during training.",
    "Experiments on three invented benchmarks show consistent gains over strong baselines.",
    "Ablations indicate that most of the benefit comes from {with_}.",
    "We discuss limitations and the cost of scaling {what} further.",
)
_SUMMARY = (
    "The submission studies {what} and proposes a {how} variant.",
    "It evaluates the method on invented benchmarks and reports gains.",
    "The main claim is that {with_} explains the improvement.",
)
_STRENGTHS = (
    "- The motivation for {what} is clear.",
    "- The {how} design is simple and easy to reproduce.",
    "- The ablation on {with_} is convincing.",
    "- The writing is good throughout.",
)
_WEAKNESSES = (
    "- The comparison with other {how} methods is incomplete.",
    "- It is unclear how {with_} was chosen.",
    "- The gains on the second benchmark are within noise.",
    "- The cost of {what} is not reported.",
)


class Maker:
    """Makes rows as real ones are, from one random generator and with no id, number or title used twice."""

    def __init__(self, generator: random.Random) -> None:
        self.random = generator
        self._used: set[str] = set()
        self._numbers = generator.sample(range(1, 2000), 999)
        self._people = [self._new(self._name) for _ in range(PEOPLE)]

    def _new(self, make: Callable[[], str]) -> str:
        while (made := make()) in self._used:
            pass
        self._used.add(made)
        return made

    def _letters(self, count: int, alphabet: str = _ID_LETTERS) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(count))

    def _words(self) -> dict[str, str]:
        choose = self.random.choice
        return {"how": choose(_HOW).lower(), "what": choose(_WHAT).lower(), "with_": choose(_WITH).lower()}

    def _sentences(self, templates: tuple[str, ...], least: int, between: str = " ") -> str:
        words = self._words()
        chosen = sorted(self.random.sample(range(len(templates)), self.random.randint(least, len(templates))))
        return between.join(templates[position].format(**words) for position in chosen)

    def title(self) -> str:
        def make() -> str:
            how, what, with_, for_ = (self.random.choice(words) for words in (_HOW, _WHAT, _WITH, _FOR))
            return f"[Synthetic] {how} {what} with {with_} for {for_}"

        return self._new(make)

    def abstract(self) -> str:
        return f"This is a synthetic abstract. {self._sentences(_ABSTRACT, 3)}"

    def _name(self) -> str:
        first, second, third, fourth = (self.random.choice(parts) for parts in (_FIRST, _SECOND, _FIRST, _THIRD))
        return f"{first}{second} {third}{fourth}"

    def names(self, count: int) -> list[str]:
        """Different people; most of them write more than one paper."""
        return self.random.sample(self._people, count)

    def review(self, number: int, rating: int | None = None) -> Row:
        generator = self.random
        return {
            "confidence": generator.choices((1, 2, 3, 4, 5), (2, 12, 41, 37, 8))[0],
            "date": 0,
            "rating": generator.choices(_RATINGS, _RATING_WEIGHTS)[0] if rating is None else rating,
            "review": "",
            "review_id": self._new(lambda: self._letters(10)),
            "reviewer": f"Synthetic.example/2026/Conference/Submission{number}/Reviewer_"
            + self._new(lambda: self._letters(4, _ID_LETTERS[:-2])),
            "strengths": self._sentences(_STRENGTHS, 2, "\n"),
            "summary": f"This is a synthetic review. {self._sentences(_SUMMARY, 2)}",
            "weaknesses": self._sentences(_WEAKNESSES, 2, "\n"),
        }

    def reviews(self, number: int, count: int) -> list[Row]:
        """Reviews of one paper: half of them share its merit, as real ones partly agree."""
        merit = self.random.choices(_RATINGS, _RATING_WEIGHTS)[0]
        return [self.review(number, merit if self.random.random() < 0.5 else None) for _ in range(count)]

    def paper(self, *, withdrawn: bool | None = None, reviews: int | None = None, **given: Any) -> Row:
        """One row; `given` columns replace the made ones, and what follows from them (BibTeX) follows."""
        generator, number = self.random, self._numbers.pop()
        withdrawn = generator.random() < 0.25 if withdrawn is None else withdrawn
        forum_id = self._new(lambda: "Syn" + self._letters(7))
        invitations = [
            f"{VENUE_ID}/-/Submission",
            f"{VENUE_ID}/-/Post_Submission",
            f"{VENUE_ID}/Submission{number}/-/Full_Submission",
        ]
        if generator.random() < 0.4:
            invitations.append(f"{VENUE_ID}/Submission{number}/-/Rebuttal_Revision")
        if withdrawn:
            invitations.append(f"{VENUE_ID}/-/Withdrawn_Submission")
        count = generator.choices(_REVIEW_COUNTS, _REVIEW_COUNT_WEIGHTS)[0] if reviews is None else reviews
        row: Row = {
            "title": self.title(),
            "abstract": self.abstract(),
            "year": 2026,
            "url": f"https://openreview.net/forum?id={forum_id}",
            "pdf": f"https://openreview.net/pdf/{generator.getrandbits(160):040x}.pdf",
            "authors": self.names(generator.randint(1, 7)) if withdrawn else [],
            "venue": f"Synthetic 2026 Conference {'Withdrawn ' if withdrawn else ''}Submission",
            "venueid": "Synthetic",
            "invitation": repr(invitations),
            "venue_type": "poster",
            "reviews": self.reviews(number, count),
        } | given
        row["num_reviews"] = len(row["reviews"] or [])
        row["_bibtex"], row["_bibkey"] = _bibtex(row, forum_id)
        return row | {name: given[name] for name in ("_bibtex", "_bibkey") if name in given}


def _bibtex(row: Row, forum_id: str) -> tuple[str, str]:
    """The entry and its key; the key is a surname or 'anonymous', the year and the title's first word."""
    authors = " and ".join(row["authors"]) or "Anonymous"
    who = authors.split(" and ", maxsplit=1)[0].split()[-1].lower() if row["authors"] else "anonymous"
    word = (row["title"] or "untitled").removeprefix("[Synthetic] ").split(maxsplit=1) or ["untitled"]
    key = f"{who}2025{word[0].lower()}"
    where = "" if row["authors"] else "booktitle={Submitted to the Synthetic Conference 2026},\n"
    entry = (
        f"@misc{{\n{key},\ntitle={{{row['title'] or ''}}},\nauthor={{{authors}}},\n{where}"
        f"year={{2025}},\nurl={{https://openreview.net/forum?id={forum_id}}}\n}}"
    )
    return entry, key


# --- quirks ----------------------------------------------------------------------------------------------------------


def _abstracts(*abstracts: str) -> Callable[[Maker], list[Made]]:
    """A quirk of abstracts: one paper for each."""
    return lambda maker: [Made(maker.paper(abstract=abstract)) for abstract in abstracts]


def _names(*names: str, bad: int = 0) -> Callable[[Maker], list[Made]]:
    """A quirk of names: one withdrawn paper with all of them, the last `bad` of them no person's."""
    return lambda maker: [Made(maker.paper(withdrawn=True, authors=list(names)), bad_authors=bad)]


def _quarantined(**given: Any) -> Callable[[Maker], list[Made]]:
    """A quirk for which the whole row must be set aside."""
    return lambda maker: [Made(maker.paper(reviews=2, **given), fate="quarantined")]


def _untitled(title: str | None) -> Callable[[Maker], list[Made]]:
    """A quirk of one paper without a title, which is a paper all the same, and one entry that is no name."""

    def make(maker: Maker) -> list[Made]:
        authors = ["Krivel Wembcrag", "krivel@example.org"]
        return [Made(maker.paper(title=title, reviews=2, withdrawn=True, authors=authors), bad_authors=1)]

    return make


def _title_as_abstract(maker: Maker) -> list[Made]:
    title = maker.title()
    return [Made(maker.paper(title=title, abstract=title))]


def _duplicate_titles(maker: Maker) -> list[Made]:
    title = maker.title()
    return [
        *(Made(maker.paper(title=title)) for _ in range(2)),
        *(Made(maker.paper(withdrawn=True, title="withdrawn", abstract="withdrawn")) for _ in range(3)),
    ]


def _exact_duplicate(maker: Maker) -> list[Made]:
    row = maker.paper(withdrawn=True)
    return [Made(row), Made(dict(row), fate="merged")]


def _fuller_duplicate(maker: Maker) -> list[Made]:
    full = maker.paper(withdrawn=True, reviews=4, authors=maker.names(3))
    early = full | {"reviews": full["reviews"][:2], "num_reviews": 2, "authors": full["authors"][:1]}
    return [Made(early, fate="merged"), Made(full)]


def _overlapping_duplicate(maker: Maker) -> list[Made]:
    """Two rows of one paper: five reviews and three, of which two are the same."""
    full = maker.paper(withdrawn=False, reviews=5)
    number = int(full["reviews"][0]["reviewer"].split("/")[3].removeprefix("Submission"))
    reviews = [*full["reviews"][:2], maker.review(number)]
    return [Made(full), Made(full | {"reviews": reviews, "num_reviews": 3}, fate="merged")]


def _repeated_review(maker: Maker) -> list[Made]:
    """One review twice in one list, the second time with more text."""
    row = maker.paper(withdrawn=False, reviews=4)
    row["reviews"][1] = row["reviews"][3] | {"weaknesses": ""}
    return [Made(row)]


def _off_scale_ratings(maker: Maker) -> list[Made]:
    """Inside 0..10 but not on the year's scale: real data to keep and flag."""
    rows = [maker.paper(withdrawn=False, reviews=4) for _ in range(3)]
    for row, rating in zip(rows, (5, 3, 7), strict=True):
        row["reviews"][0]["rating"] = rating
    return [Made(row) for row in rows]


def _one_name_three_forms(maker: Maker) -> list[Made]:
    name = "Zo\u00e9 V\u00e9lquimtas"
    forms = (unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name), r"Zo\'{e} V\'{e}lquimtas")
    return [Made(maker.paper(withdrawn=True, authors=[form])) for form in forms]


def _author_twice(maker: Maker) -> list[Made]:
    first, second = maker.names(2)
    return [Made(maker.paper(withdrawn=True, authors=[first, second, first]))]


def _null_review(maker: Maker) -> list[Made]:
    row = maker.paper(withdrawn=False, reviews=3)
    row["reviews"][1] = None
    return [Made(row, bad_reviews=1)]


def _review_without_id(maker: Maker) -> list[Made]:
    row = maker.paper(withdrawn=False, reviews=4)
    row["reviews"][0]["review_id"], row["reviews"][2]["review_id"] = None, ""
    return [Made(row, bad_reviews=2)]


def _braced_bibkey(maker: Maker) -> list[Made]:
    r"""The key stops at LaTeX's first brace, as the dataset's own parser leaves it."""
    row = maker.paper(withdrawn=True, authors=[r"Vel Kr{\'e}plume"])
    return [Made(row | {"_bibtex": row["_bibtex"].replace(row["_bibkey"], "kr{\\'e}plume2025toy"), "_bibkey": "kr"})]


def _repeated_bibkey(maker: Maker) -> list[Made]:
    return [Made(maker.paper(withdrawn=False, title=f"[Synthetic] Learning to {verb}")) for verb in ("Wait", "Guess")]


# Real data of upstreams like this one has every one of these; a name here is what a test looks for in the file.
QUIRKS: dict[str, Callable[[Maker], list[Made]]] = {
    # status and lists
    "blind": lambda maker: [Made(maker.paper(withdrawn=False))],
    "withdrawn": lambda maker: [Made(maker.paper(withdrawn=True))],
    "no reviews": lambda maker: [Made(maker.paper(reviews=0)) for _ in range(4)],
    "null reviews": lambda maker: [
        Made(maker.paper(withdrawn=False, reviews=None) | {"reviews": None, "num_reviews": 0})
    ],
    "nine reviews": lambda maker: [Made(maker.paper(withdrawn=False, reviews=9))],
    "no pdf": lambda maker: [Made(maker.paper(pdf=""))],
    "off-scale ratings": _off_scale_ratings,
    # texts
    "placeholder abstract": _abstracts("N/A", "test", "1"),
    "title as abstract": _title_as_abstract,
    "markdown": _abstracts(
        "This is a **synthetic** abstract with *emphasis*, `code_like_this` and a [link](https://example.org/a_b).\n\n"
        "# Contributions\n* a first point\n* a second point, 5 * 3 * 2 = 30\n\n*Toy*Bench has snake_case_names."
    ),
    "latex": _abstracts(
        r"This is a synthetic abstract. We prove a rate of $O(\sqrt{T})$ and $O(T^{\frac{2}{3}})$ \citep{nobody2025}, "
        r"with \textbf{much \emph{smaller}} constants for all $x \in \mathbb{R}^{d}$; see \url{https://example.org/x_y}.",
        r"This is a synthetic abstract that costs \$5 a run, gains 97.08\% and uses $\alpha$-\textsc{Toy} updates.",
    ),
    "money": _abstracts("This is a synthetic abstract: the method costs $5 instead of $10 for each million tokens."),
    "several lines": _abstracts("This is a synthetic abstract.\n\nIt has a second paragraph,\nand a line break in it."),
    "percent signs": _abstracts(
        "This is a synthetic abstract: it improves by 5% over the baseline, and by 10% in toy worlds."
    ),
    "line separator": _abstracts("This is a synthetic abstract.\u2028It continues behind a line separator."),
    "control characters": _abstracts("This is a syn\x02thetic abstract\x0cwith control characters."),
    "control character in title": lambda maker: [
        Made(maker.paper(title="[Synthetic] Deep\x02 Nets\x0cand Their Shadows"))
    ],
    "latex in title": lambda maker: [
        Made(maker.paper(title=r"[Synthetic] $\alpha$-Fair \textit{Toy} Games in $O(n^2)$"))
    ],
    "code": _abstracts("This is a synthetic abstract. Code is at https://github.com/synthetic-example/toy_code."),
    "anonymous code": _abstracts(
        "This is a synthetic abstract. Code: https://anonymous.4open.science/r/Synthetic-0001/ (anonymized).",
        r"This is a synthetic abstract. See \textbf{\textit{https://anonymous.4open.science/r/SYN-F4B1}}.",
    ),
    "data": _abstracts("This is a synthetic abstract. Data: https://huggingface.co/datasets/synthetic-example/toys."),
    "model": _abstracts("This is a synthetic abstract. Weights: https://huggingface.co/synthetic-example/toy-model."),
    "project page": _abstracts(
        "This is a synthetic abstract. Videos are at https://synthetic-example.github.io/toys/."
    ),
    # duplicates
    "duplicate titles": _duplicate_titles,
    "exact duplicate": _exact_duplicate,
    "fuller duplicate": _fuller_duplicate,
    "overlapping duplicate": _overlapping_duplicate,
    "repeated review id": _repeated_review,
    # names
    "latex accents": _names(r"Jos\'{e} Quimtasberg", "Jos\u00e9 Quimtasberg Plo", r"Bj{\"o}rnvel Drel"),
    "one name in three forms": _one_name_three_forms,
    "invisible characters": _names("Zorvel\u00a0Hjoquist", "Nivmir\u200e Oskmoor", "Brax  Tulvane"),
    "letter case": _names("yablo wembdottle", "KRIGAST FLUSNERF"),
    "author twice": _author_twice,
    "84 authors": lambda maker: [Made(maker.paper(withdrawn=True, authors=maker.names(84)))],
    "footnote marks": _names("Drelpex Vaskwick*", "Osknax Plocrag\u2020", "Tulzim Nivholm\u00b9"),
    "several people in one entry": _names("Zorlo Brax and Quimbo Yabplume", "Hjorin Krimoor\uff0cWemb Fluvane"),
    "junk names": _names("Plomir Oskquist", "N/A", "someone@example.org", "withdrawn", bad=3),
    # titles that are missing
    "null title": _untitled(None),
    "blank title": _untitled("  "),
    # BibTeX
    "bibkey cut short": _braced_bibkey,
    "repeated bibkey": _repeated_bibkey,
    # what must be set aside
    "url without forum id": _quarantined(url="https://openreview.net/forum"),
    "empty url": _quarantined(url=""),
    "null url": _quarantined(url=None),
    "workshop": _quarantined(venue="Synthetic 2026 Workshop Example Submission"),
    "other year": _quarantined(venue="Synthetic 2025 Conference Submission", year=2025),
    "null review": _null_review,
    "review without id": _review_without_id,
}

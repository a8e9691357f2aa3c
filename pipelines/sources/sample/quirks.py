"""The quirks of real data, one function each, so that whoever runs the sample meets all of them.

Here belongs what is odd in the Hub dataset's rows. Where sources disagree about a paper is in `decided.py`.
"""

import unicodedata
from collections.abc import Callable
from typing import Any

from pipelines.sources.sample.maker import Made, Maker


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
    key = f"kr{{\\'e}}plume{maker.year - 1}toy"
    return [Made(row | {"_bibtex": row["_bibtex"].replace(row["_bibkey"], key), "_bibkey": "kr"})]


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
    "workshop": lambda maker: _quarantined(venue=f"Synthetic {maker.year} Workshop Example Submission")(maker),
    "other year": lambda maker: _quarantined(
        venue=f"Synthetic {maker.year - 1} Conference Submission", year=maker.year - 1
    )(maker),
    "null review": _null_review,
    "review without id": _review_without_id,
}

"""Makes papers and reviews as the Hub dataset has real ones.

Here belongs one ordinary row, and what a quirk may ask for in it. The quirks themselves are in `quirks.py`; what became
of a paper later is in `decided.py`.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from pipelines.sources.sample.words import (
    ABSTRACT,
    FIRST,
    FOR,
    HOW,
    ID_LETTERS,
    RATING_WEIGHTS,
    RATINGS,
    REVIEW_COUNT_WEIGHTS,
    REVIEW_COUNTS,
    SECOND,
    STRENGTHS,
    SUMMARY,
    THIRD,
    WEAKNESSES,
    WHAT,
    WITH,
)

PEOPLE = 160
PEOPLE_SEED = 20250101

Row = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """One row and its fate: kept as a paper, merged into a fuller row of the same paper, or quarantined. The counts
    are of its reviews and author entries that must be quarantined although the row itself need not be."""

    row: Row
    fate: Literal["kept", "merged", "quarantined"] = "kept"
    bad_reviews: int = 0
    bad_authors: int = 0


def name(generator: random.Random) -> str:
    """The name of nobody."""
    first, second, third, fourth = (generator.choice(parts) for parts in (FIRST, SECOND, FIRST, THIRD))
    return f"{first}{second} {third}{fourth}"


@lru_cache(maxsize=1)
def people() -> list[str]:
    """Everybody who writes papers: the same people in every year."""
    generator = random.Random(PEOPLE_SEED)  # noqa: S311 (it has to repeat, not to be secret)
    found: dict[str, None] = {}
    while len(found) < PEOPLE:
        found[name(generator)] = None
    return list(found)


class Maker:
    """Makes rows as real ones are, from one random generator and with no id, number or title used twice."""

    def __init__(self, generator: random.Random, year: int) -> None:
        self.random = generator
        self.year = year
        self.venue_id = f"Synthetic.example/{year}/Conference"
        self._used: set[str] = set()
        self._numbers = generator.sample(range(1, 2000), 999)

    def _new(self, make: Callable[[], str]) -> str:
        while (made := make()) in self._used:
            pass
        self._used.add(made)
        return made

    def _letters(self, count: int, alphabet: str = ID_LETTERS) -> str:
        return "".join(self.random.choice(alphabet) for _ in range(count))

    def _words(self) -> dict[str, str]:
        choose = self.random.choice
        return {"how": choose(HOW).lower(), "what": choose(WHAT).lower(), "with_": choose(WITH).lower()}

    def _sentences(self, templates: tuple[str, ...], least: int, between: str = " ") -> str:
        words = self._words()
        chosen = sorted(self.random.sample(range(len(templates)), self.random.randint(least, len(templates))))
        return between.join(templates[position].format(**words) for position in chosen)

    def title(self) -> str:
        def make() -> str:
            how, what, with_, for_ = (self.random.choice(words) for words in (HOW, WHAT, WITH, FOR))
            return f"[Synthetic] {how} {what} with {with_} for {for_}"

        return self._new(make)

    def abstract(self) -> str:
        return f"This is a synthetic abstract. {self._sentences(ABSTRACT, 3)}"

    def names(self, count: int) -> list[str]:
        """Different people; most of them write more than one paper."""
        return self.random.sample(people(), count)

    def review(self, number: int, rating: int | None = None) -> Row:
        generator = self.random
        return {
            "confidence": generator.choices((1, 2, 3, 4, 5), (2, 12, 41, 37, 8))[0],
            "date": 0,
            "rating": generator.choices(RATINGS, RATING_WEIGHTS)[0] if rating is None else rating,
            "review": "",
            "review_id": self._new(lambda: self._letters(10)),
            "reviewer": f"{self.venue_id}/Submission{number}/Reviewer_"
            + self._new(lambda: self._letters(4, ID_LETTERS[:-2])),
            "strengths": self._sentences(STRENGTHS, 2, "\n"),
            "summary": f"This is a synthetic review. {self._sentences(SUMMARY, 2)}",
            "weaknesses": self._sentences(WEAKNESSES, 2, "\n"),
        }

    def reviews(self, number: int, count: int) -> list[Row]:
        """Reviews of one paper: half of them share its merit, as real ones partly agree."""
        merit = self.random.choices(RATINGS, RATING_WEIGHTS)[0]
        return [self.review(number, merit if self.random.random() < 0.5 else None) for _ in range(count)]

    def paper(self, *, withdrawn: bool | None = None, reviews: int | None = None, **given: Any) -> Row:
        """One row; `given` columns replace the made ones, and what follows from them (BibTeX) follows."""
        generator, number = self.random, self._numbers.pop()
        withdrawn = generator.random() < 0.25 if withdrawn is None else withdrawn
        forum_id = self._new(lambda: "Syn" + self._letters(7))
        invitations = [
            f"{self.venue_id}/-/Submission",
            f"{self.venue_id}/-/Post_Submission",
            f"{self.venue_id}/Submission{number}/-/Full_Submission",
        ]
        if generator.random() < 0.4:
            invitations.append(f"{self.venue_id}/Submission{number}/-/Rebuttal_Revision")
        if withdrawn:
            invitations.append(f"{self.venue_id}/-/Withdrawn_Submission")
        count = generator.choices(REVIEW_COUNTS, REVIEW_COUNT_WEIGHTS)[0] if reviews is None else reviews
        row: Row = {
            "title": self.title(),
            "abstract": self.abstract(),
            "year": self.year,
            "url": f"https://openreview.net/forum?id={forum_id}",
            "pdf": f"https://openreview.net/pdf/{generator.getrandbits(160):040x}.pdf",
            "authors": self.names(generator.randint(1, 7)) if withdrawn else [],
            "venue": f"Synthetic {self.year} Conference {'Withdrawn ' if withdrawn else ''}Submission",
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
    key = f"{who}{row['year'] - 1}{word[0].lower()}"
    where = "" if row["authors"] else f"booktitle={{Submitted to the Synthetic Conference {row['year']}}},\n"
    entry = (
        f"@misc{{\n{key},\ntitle={{{row['title'] or ''}}},\nauthor={{{authors}}},\n{where}"
        f"year={{{row['year'] - 1}}},\nurl={{https://openreview.net/forum?id={forum_id}}}\n}}"
    )
    return entry, key

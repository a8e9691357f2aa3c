"""What became of the sample's ordinary papers, and where the sources disagree about it.

Here belongs what is true of a paper once a year is over: names, keywords, status, decision, and in which known way some
source tells it otherwise. How each source writes it down is in the module of that name.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from pipelines.sources.sample.hub_dataset import ordinary
from pipelines.sources.sample.maker import Row, people
from pipelines.sources.sample.words import ADDED_SENTENCE, AREAS

Status = Literal["accepted", "rejected", "withdrawn", "desk_rejected"]
Decision = Literal["oral", "spotlight", "poster"]

_SHARES: tuple[tuple[Decision, float], ...] = (("oral", 0.03), ("spotlight", 0.07), ("poster", 0.30))


@dataclass(frozen=True)
class Paper:
    """One ordinary paper as OpenReview has it in the end; `row` is what the dataset had before the decisions.

    `title` and `abstract` may be newer than the row's. `odd` names the one entry of `DISAGREEMENTS` that it shows, if
    it shows one.
    """

    row: Row
    forum_id: str
    number: int
    title: str
    abstract: str
    authors: tuple[str, ...]
    keywords: tuple[str, ...]
    area: str
    status: Status
    decision: Decision | None = None
    odd: str | None = None

    @property
    def site_decision(self) -> Decision | None:
        """What the conference site calls it, whose word counts; None where it does not list it."""
        if self.odd == "the site lists a rejected paper":
            return "poster"
        return "spotlight" if self.odd == "the site promotes a poster" else self.decision

    @property
    def published_status(self) -> Status:
        return "accepted" if self.site_decision else self.status

    @property
    def on_openreview(self) -> bool:
        return self.odd != "only in the archive"


@dataclass(frozen=True)
class Disagreement:
    """In how many papers of a year a source tells something otherwise, and which papers may be among them."""

    papers: int
    may_be: Callable[[Paper], bool]


DISAGREEMENTS: dict[str, Disagreement] = {
    "the archive spells the title otherwise": Disagreement(5, lambda paper: paper.status == "rejected"),
    "the title changed after the dataset": Disagreement(4, lambda paper: paper.decision == "poster"),
    "the abstract changed after the dataset": Disagreement(5, lambda paper: paper.decision == "poster"),
    "the archive still has a rejection": Disagreement(3, lambda paper: paper.decision == "poster"),
    "the site lists a rejected paper": Disagreement(2, lambda paper: paper.status == "rejected"),
    "the site promotes a poster": Disagreement(3, lambda paper: paper.decision == "poster"),
    "the site abbreviates first names": Disagreement(5, lambda paper: paper.decision == "poster"),
    "a rating rose after the dataset": Disagreement(
        6, lambda paper: paper.status == "rejected" and paper.row["reviews"][0]["rating"] < 10
    ),
    "only in the archive": Disagreement(3, lambda paper: paper.status == "rejected"),
}


@lru_cache(maxsize=4)
def papers(year: int) -> tuple[Paper, ...]:
    """The year's ordinary papers in the order of the dataset's builder."""
    generator = random.Random(year * 10_000 + 303)  # noqa: S311 (it has to repeat, not to be secret)
    made = [_paper(row, generator) for row in ordinary(year)]
    _decide(made)
    order = generator.sample(range(len(made)), len(made))
    for name, disagreement in DISAGREEMENTS.items():
        fitting = [at for at in order if made[at].odd is None and disagreement.may_be(made[at])]
        for at in fitting[: disagreement.papers]:
            made[at] = _changed(replace(made[at], odd=name))
    return tuple(made)


def _paper(row: Row, generator: random.Random) -> Paper:
    number = int(row["invitation"].split("/Conference/Submission")[1].split("/")[0])
    method, use = row["title"].removeprefix("[Synthetic] ").rsplit(" for ", 1)
    technique, means = method.split(" with ")
    desk_rejected = not row["reviews"]
    return Paper(
        row=row,
        forum_id=row["url"].rsplit("=", 1)[1],
        number=number,
        title=row["title"],
        abstract=row["abstract"],
        authors=tuple(row["authors"] or generator.sample(people(), generator.randint(1, 7))),
        keywords=(technique.lower(), means.lower(), use.lower()),
        area=AREAS[use],
        status="withdrawn" if "Withdrawn" in row["venue"] else "desk_rejected" if desk_rejected else "rejected",
    )


def _decide(made: list[Paper]) -> None:
    """Accept the best rated of those that still stand."""

    def mean(at: int) -> float:
        ratings: list[int] = [review["rating"] for review in made[at].row["reviews"]]
        return sum(ratings) / len(ratings)

    standing = sorted((at for at, paper in enumerate(made) if paper.status == "rejected"), key=lambda at: -mean(at))
    first = 0
    for decision, share in _SHARES:
        last = first + round(share * len(standing))
        for at in standing[first:last]:
            made[at] = replace(made[at], status="accepted", decision=decision)
        first = last


def _changed(paper: Paper) -> Paper:
    """The paper with what its own change did to it."""
    if paper.odd == "the title changed after the dataset":
        return replace(paper, title=paper.title.replace("[Synthetic] ", "[Synthetic] On "))
    if paper.odd == "the abstract changed after the dataset":
        return replace(paper, abstract=f"{paper.abstract} {ADDED_SENTENCE}")
    return paper

"""The `venues` block of `editions.yaml`: one entry for several years of a venue, written out as editions.

Here belongs how the years of an entry become editions. What an edition and its sources may have, and how a mistake is
explained, belongs in `editions.py`.
"""

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

_YEAR = "{year}"


class Venue(BaseModel):
    """Years of one venue that have the same sources; `{year}` in its texts stands for each of them in turn.

    The sources are checked in the editions that come of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Part of the editions' ids, so without blanks.
    venue: Annotated[str, Field(pattern=r"^[A-Za-z0-9]+$", max_length=48)]
    years: Annotated[list[Annotated[int, Field(ge=1990, le=2100)]], Field(min_length=1)]
    venue_id: str
    sources: Annotated[list[Any], Field(min_length=1)]

    @model_validator(mode="after")
    def _years_make_a_difference(self) -> Self:
        if twice := sorted({year for year in self.years if self.years.count(year) > 1}):
            raise ValueError(f"year {twice[0]} is listed twice")
        if _YEAR not in self.venue_id:
            raise ValueError(f"'venue_id' needs {_YEAR}, which stands for each of the years (found {self.venue_id!r})")
        return self

    def editions(self) -> list[dict[str, Any]]:
        """The editions as a person would have written them, in the order of the years."""
        return [
            {
                "id": f"{self.venue.lower()}-{year}",
                "venue": self.venue,
                "year": year,
                "venue_id": self.venue_id.replace(_YEAR, str(year)),
                "sources": [_of_year(source, year) for source in self.sources],
            }
            for year in self.years
        ]


def _of_year(source: Any, year: int) -> Any:
    if not isinstance(source, dict):
        return source
    return {
        name: value.replace(_YEAR, str(year)) if isinstance(value, str) else value for name, value in source.items()
    }


_Block = TypeAdapter(dict[str, list[Venue]])


def with_venues(given: Any) -> tuple[Any, list[int]]:
    """The content of an editions file with its venues written out below its editions, which win where both are there.

    Returns the content and, for each edition that came of the block, the number of its entry (from 0).

    Raises:
        pydantic.ValidationError: an entry of the block breaks the model; its place begins with `venues`.
    """
    if not isinstance(given, dict) or "venues" not in given or not isinstance(given.get("editions", []), list):
        return given, []
    venues = _Block.validate_python({"venues": given["venues"]})["venues"]
    own = given.get("editions", [])
    taken = {edition.get("id") for edition in own if isinstance(edition, dict) and isinstance(edition.get("id"), str)}
    made = [
        (number, edition)
        for number, venue in enumerate(venues)
        for edition in venue.editions()
        if edition["id"] not in taken
    ]
    content = {name: value for name, value in given.items() if name != "venues"}
    return {**content, "editions": [*own, *(edition for _, edition in made)]}, [number for number, _ in made]

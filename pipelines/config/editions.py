"""The typed model of `editions.yaml`: which editions exist and which sources each one has.

Here belongs what a person may write in that file and how a mistake in it is explained. How a source is fetched belongs
in `pipelines/sources/`.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import click
import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from pipelines.config.venues import with_venues

# Ids become folder and file names, so they hold nothing that a path could misread; `3dv-2025` begins with a digit.
EditionId = Annotated[str, Field(pattern=r"^[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=64)]
SourceName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]
FileFormat = Literal["parquet", "json"]


_LISTED = 10  # mistakes that one message names


class EditionsError(click.ClickException):
    """A mistake in the editions file, in one sentence; Dagster's and our own CLI print it without a traceback."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Source(_Model):
    """What every kind of source has, besides its `dataset_schema` and `file_format`.

    `dataset_schema` names the contract in `contracts.py` that its files obey; the marts name it as `source`, since the
    same bytes mean the same whichever way they came. `as_of` overrides the date that the upstream gives.
    """

    name: SourceName = ""
    as_of: AwareDatetime | None = None

    @field_validator("as_of", mode="before")
    @classmethod
    def _dates_are_utc(cls, given: Any) -> Any:
        """YAML knows dates without a time zone; they are read as UTC. A bare number is no date (2025 is not 1970)."""
        if isinstance(given, int | float):
            raise ValueError("is not a date; write 2025-11-21, or 2025-11-21T10:00:00Z")
        if isinstance(given, str) and not re.search(r"(Z|[+-]\d\d:?\d\d)$", given):
            return f"{given}T00:00:00Z" if len(given) == 10 else f"{given}Z"
        if isinstance(given, datetime):
            return given.isoformat() + ("" if given.tzinfo else "Z")
        return f"{given.isoformat()}T00:00:00Z" if hasattr(given, "isoformat") else given

    @model_validator(mode="before")
    @classmethod
    def _name_defaults_to_kind(cls, given: Any) -> Any:
        """A source that imitates another one is called like that one."""
        return {"name": given.get("imitates", given.get("kind")), **given} if isinstance(given, dict) else given


class HuggingFaceSource(_Source):
    """Parquet files of a dataset on the Hugging Face Hub, fetched at the commit that `revision` resolves to."""

    dataset_schema: ClassVar[str] = "hub_dataset"
    file_format: ClassVar[FileFormat] = "parquet"
    kind: Literal["hugging_face"]
    dataset: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    files: str = "data/*.parquet"
    revision: str = "main"
    base_url: Annotated[str, Field(pattern=r"^https?://")] | None = None


class FilesSource(_Source):
    """Parquet files in the Hub dataset's schema: a local path or glob, or one URL."""

    dataset_schema: ClassVar[str] = "hub_dataset"
    file_format: ClassVar[FileFormat] = "parquet"
    kind: Literal["files"]
    path: Annotated[str, Field(min_length=1)] | None = None
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if (self.path is None) == (self.url is None):
            raise ValueError("needs exactly one of 'path' (a file or glob) and 'url' (http or https)")
        return self


class SampleSource(_Source):
    """Made-up papers of one year, in the form of the upstream that it imitates; it needs no network."""

    kind: Literal["sample"]
    imitates: Literal["hub_dataset", "openreview", "paper_copilot", "conference_site"] = "hub_dataset"
    year: int = 2026

    @property
    def dataset_schema(self) -> str:
        return self.imitates

    @property
    def file_format(self) -> FileFormat:
        return "parquet" if self.imitates == "hub_dataset" else "json"


class _WebFile(_Source):
    """A source that is one file of a public site, or a copy of it at `path` or `url`."""

    base_url: Annotated[str, Field(pattern=r"^https?://")]
    path: str | None = None
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.path is not None and self.url is not None:
            raise ValueError("takes 'path' or 'url', not both")
        return self


class PaperCopilotSource(_WebFile):
    """A JSONL file of the Paper Copilot archive; `file` is its path in the archive's repository."""

    dataset_schema: ClassVar[str] = "paper_copilot"
    file_format: ClassVar[FileFormat] = "json"
    kind: Literal["paper_copilot"]
    base_url: Annotated[str, Field(pattern=r"^https?://")] = (
        "https://raw.githubusercontent.com/papercopilot/openreview/main"
    )
    file: Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)*\.jsonl$")]


class OpenReviewSource(_Source):
    """A venue's notes from the OpenReview API; `api` is its version, `submissions` the invitation of its papers."""

    dataset_schema: ClassVar[str] = "openreview"
    file_format: ClassVar[FileFormat] = "json"
    kind: Literal["openreview"]
    api: Literal["v1", "v2"]
    base_url: Annotated[str, Field(pattern=r"^https?://")]
    submissions: Annotated[str, Field(pattern=r"^[\w./-]+/-/\w+$")]
    page_size: Annotated[int, Field(ge=1, le=1000)] = 250
    full: bool = False


class ConferenceSiteSource(_WebFile):
    """The conference site's list of accepted papers: `<site>-<year>-orals-posters.json` and its abstracts sidecar."""

    dataset_schema: ClassVar[str] = "conference_site"
    file_format: ClassVar[FileFormat] = "json"
    kind: Literal["conference_site"]
    base_url: Annotated[str, Field(pattern=r"^https?://")] = "https://iclr.cc"
    file: Annotated[str, Field(pattern=r"^[\w.-]+(/[\w.-]+)*\.json$")]
    abstracts_file: str | None = None
    abstracts_path: str | None = None
    abstracts_url: Annotated[str, Field(pattern=r"^https?://")] | None = None


Source = Annotated[
    HuggingFaceSource | FilesSource | SampleSource | PaperCopilotSource | OpenReviewSource | ConferenceSiteSource,
    Field(discriminator="kind"),
]


# What the upstreams call a venue where it is not the venue's name in lower case, and whose sites have the same files.
_ARCHIVE_FOLDERS = {"neurips": "nips"}
_SITES = {"icml": "https://icml.cc", "neurips": "https://neurips.cc"}


def _defaults(source: dict[str, Any], edition: dict[str, Any]) -> dict[str, Any]:
    """What follows for this source from its kind and from the edition that it stands in."""
    venue, year, venue_id = str(edition.get("venue", "")).lower(), edition.get("year"), edition.get("venue_id")
    kind = source.get("kind")
    if kind == "sample":
        return {"year": year}
    if kind == "paper_copilot":
        folder = _ARCHIVE_FOLDERS.get(venue, venue)
        return {"file": f"venues/{folder}/{folder}{year}.jsonl"}
    if kind == "openreview":
        # OpenReview moved venues to its second API in the course of 2023; those that went first say so.
        api = source.get("api", "v1" if isinstance(year, int) and year <= 2023 else "v2")
        return {
            "api": api,
            "base_url": "https://api.openreview.net" if api == "v1" else "https://api2.openreview.net",
            "submissions": f"{venue_id}/-/{'Blind_Submission' if api == 'v1' else 'Submission'}",
        }
    if kind == "conference_site":
        data = "static/virtual/data"
        # From 2026 on the abstracts are in a file of their own.
        has_sidecar = isinstance(year, int) and year >= 2026
        site = {"base_url": _SITES[venue]} if venue in _SITES else {}
        return {
            **site,
            "file": f"{data}/{venue}-{year}-orals-posters.json",
            "abstracts_file": f"{data}/{venue}-{year}-abstracts.json" if has_sidecar else None,
        }
    return {}


class Edition(_Model):
    """One venue in one year."""

    id: EditionId
    venue: Annotated[str, Field(min_length=1, max_length=64)]
    year: Annotated[int, Field(ge=1990, le=2100)]
    venue_id: Annotated[str, Field(min_length=1)]
    active: bool = False
    sources: Annotated[list[Source], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _complete_sources(cls, given: Any) -> Any:
        if not isinstance(given, dict) or not isinstance(given.get("sources"), list):
            return given
        sources = [
            {**_defaults(source, given), **source} if isinstance(source, dict) else source
            for source in given["sources"]
        ]
        return {**given, "sources": sources}

    @property
    def is_synthetic(self) -> bool:
        return any(source.kind == "sample" for source in self.sources)

    @model_validator(mode="after")
    def _sources_are_distinct(self) -> Self:
        names = [source.name for source in self.sources]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"source name {twice[0]!r} is used twice; give one of them another 'name'")
        if self.is_synthetic and any(source.kind != "sample" for source in self.sources):
            raise ValueError("a synthetic edition cannot have real sources beside 'sample'")
        return self


class Editions(_Model):
    """The whole file, in its own order."""

    editions: Annotated[list[Edition], Field(min_length=1)]

    @model_validator(mode="after")
    def _ids_are_distinct(self) -> Self:
        ids = [edition.id for edition in self.editions]
        if twice := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
            raise ValueError(f"edition {twice[0]!r} is listed twice")
        if "all" in ids:
            raise ValueError("'all' means every edition and cannot be the id of one")
        return self

    @model_validator(mode="after")
    def _synthetic_editions_stand_together(self) -> Self:
        """They are run together, and a run takes a range of the file."""
        places = [place for place, edition in enumerate(self.editions) if edition.is_synthetic]
        if places and places[-1] - places[0] >= len(places):
            raise ValueError("synthetic editions must stand one after the other, with no real one between them")
        return self

    @property
    def ids(self) -> list[str]:
        return [edition.id for edition in self.editions]

    def run_together(self, name: str) -> list[str]:
        """The ids that a person means by `name`, in the file's order: `all` is every edition, `sample` every synthetic
        one, and anything else is one edition.

        Raises:
            EditionsError: there is no such edition.
        """
        if name == "all":
            return self.ids
        if name == "sample" and self[name].is_synthetic:
            return [edition.id for edition in self.editions if edition.is_synthetic]
        return [self[name].id]

    def __getitem__(self, edition_id: str) -> Edition:
        """The edition with this id.

        Raises:
            EditionsError: there is none; the message lists those there are.
        """
        for edition in self.editions:
            if edition.id == edition_id:
                return edition
        raise EditionsError(f"There is no edition {edition_id!r}; the editions file has: {', '.join(self.ids)}.")


class _StrictLoader(yaml.SafeLoader):
    """YAML's safe subset, in which a repeated key is an error and not a silent overwrite."""


def _mapping_without_repeats(loader: _StrictLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    # '<<' pulls in another mapping's keys, which the mapping's own may override.
    own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    keys = [loader.construct_object(key) for key in own]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            raise yaml.MarkedYAMLError(problem=f"key {key!r} appears twice", problem_mark=own[position].start_mark)
    return loader.construct_mapping(node, deep=True)


_StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repeats)


def load_editions(file: Path) -> Editions:
    """Read and check an editions file; a relative `path:` in it counts from the file's own folder.

    Raises:
        EditionsError: the file is missing, is not YAML, or breaks the model. The message names the file, the
            edition, the field and what is allowed.
    """
    try:
        given = yaml.load(file.read_text(encoding="utf-8"), _StrictLoader)  # noqa: S506 (a subclass of SafeLoader)
    except OSError as error:
        raise EditionsError(f"{file}: cannot be read ({error.strerror}); set EDITIONS_FILE to a file.") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        problem = getattr(error, "problem", None) or " ".join(str(error).split())
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise EditionsError(f"{file}: not valid YAML{line}: {problem}.") from None
    origins: list[int] = []
    try:
        given, origins = with_venues(given)
        editions = Editions.model_validate(given)
    except ValidationError as error:
        # A venue's mistake is the same in each of its years.
        mistakes = list(dict.fromkeys(_explain(given, origins, mistake) for mistake in error.errors()))
        more = [f"and {len(mistakes) - _LISTED} more mistakes"] if len(mistakes) > _LISTED else []
        raise EditionsError(f"{file}: {'; '.join(mistakes[:_LISTED] + more)}.") from None
    return editions.model_copy(
        update={"editions": [_with_absolute_paths(edition, file.parent) for edition in editions.editions]}
    )


def _with_absolute_paths(edition: Edition, folder: Path) -> Edition:
    def absolute(source: Any) -> Any:
        paths = {name: getattr(source, name, None) for name in ("path", "abstracts_path")}
        update = {name: str(folder / Path(path).expanduser()) for name, path in paths.items() if path}
        return source.model_copy(update=update) if update else source

    return edition.model_copy(update={"sources": [absolute(source) for source in edition.sources]})


def _kind_of(edition: Any, number: int) -> Any:
    """The kind of an edition's source, which pydantic puts into the location of a mistake in it."""
    source = edition["sources"][number] if isinstance(edition, dict) else None
    return source.get("kind") if isinstance(source, dict) else None


def _explain(given: Any, origins: list[int], mistake: Any) -> str:
    """One mistake as 'edition X, field Y: what is wrong', from pydantic's location and message.

    `origins` tells for the last editions which entry of `venues` each came of; a mistake in them is that entry's.
    """
    place = list(mistake["loc"])
    words = []
    if place[:1] == ["venues"] and len(place) > 1:
        item = given["venues"][place[1]]
        name = item.get("venue") if isinstance(item, dict) else None
        words.append(f"venue {name!r} (number {place[1] + 1})" if name else f"venue number {place[1] + 1}")
        place = place[2:]
    if place[:1] == ["editions"] and len(place) > 1:
        item = given["editions"][place[1]]
        name = item.get("id") if isinstance(item, dict) else None
        made = place[1] - (len(given["editions"]) - len(origins))
        if made >= 0:
            words.append(f"venue {item['venue']!r} (number {origins[made] + 1})")
        else:
            words.append(f"edition {name!r}" if name else f"edition number {place[1] + 1}")
        place = place[2:]
        if place[:1] == ["sources"] and len(place) > 1:
            words.append(f"source number {place[1] + 1}")
            place = place[3:] if place[2:3] == [_kind_of(item, place[1])] else place[2:]
    if place:
        words.append("field '" + ".".join(str(part) for part in place) + "'")
    message = mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        message = "is not a field that this place has; check the spelling"
    if mistake["type"] == "union_tag_invalid":
        message = f"kind {mistake['ctx']['tag']!r} does not exist; allowed: {mistake['ctx']['expected_tags']}"
    if mistake["type"] == "string_pattern_mismatch":
        message = f"{mistake['input']!r} does not match the pattern {mistake['ctx']['pattern']}"
    elif not isinstance(mistake["input"], dict | list) and mistake["type"] != "missing":
        message += f" (found {mistake['input']!r})"
    return f"{', '.join(words)}: {message}" if words else message

"""The typed model of `editions.yaml`: which editions exist and which sources each one has.

Here belongs what a person may write in that file, how a mistake in it is explained, and the partitions that follow
from it. How a source is fetched belongs in `pipelines/sources/`.
"""

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import click
import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

# Ids become folder and file names, so they hold nothing that a path could misread.
EditionId = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$", max_length=64)]
SourceName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=64)]


class EditionsError(click.ClickException):
    """A mistake in the editions file, in one sentence; Dagster's and our own CLI print it without a traceback."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Source(_Model):
    """What every kind of source has.

    `dataset_schema` names the contract in `staging.py` that its files obey; the marts name it as `source`, since the
    same bytes mean the same whichever way they came. `as_of` overrides the date that the upstream gives.
    """

    dataset_schema: ClassVar[str]
    name: SourceName = ""
    as_of: AwareDatetime | None = None

    @field_validator("as_of", mode="before")
    @classmethod
    def _dates_are_utc(cls, given: Any) -> Any:
        """YAML knows dates without a time zone; they are read as UTC."""
        if isinstance(given, str) and not re.search(r"(Z|[+-]\d\d:?\d\d)$", given):
            return f"{given}T00:00:00Z" if len(given) == 10 else f"{given}Z"
        if isinstance(given, datetime):
            return given.isoformat() + ("" if given.tzinfo else "Z")
        return f"{given.isoformat()}T00:00:00Z" if hasattr(given, "isoformat") else given

    @model_validator(mode="before")
    @classmethod
    def _name_defaults_to_kind(cls, given: Any) -> Any:
        return {"name": given.get("kind"), **given} if isinstance(given, dict) else given


class HuggingFaceSource(_Source):
    """Parquet files of a dataset on the Hugging Face Hub, fetched at the commit that `revision` resolves to."""

    dataset_schema: ClassVar[str] = "hub_dataset"
    kind: Literal["hugging_face"]
    dataset: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    files: str = "data/*.parquet"
    revision: str = "main"
    base_url: Annotated[str, Field(pattern=r"^https?://")] | None = None


class FilesSource(_Source):
    """Parquet files in the Hub dataset's schema: a local path or glob, or one URL."""

    dataset_schema: ClassVar[str] = "hub_dataset"
    kind: Literal["files"]
    path: str | None = None
    url: Annotated[str, Field(pattern=r"^https?://")] | None = None

    @model_validator(mode="after")
    def _one_place(self) -> "FilesSource":
        if (self.path is None) == (self.url is None):
            raise ValueError("needs exactly one of 'path' (a file or glob) and 'url' (http or https)")
        return self


class SampleSource(_Source):
    """The built-in synthetic edition; it needs no network."""

    dataset_schema: ClassVar[str] = "hub_dataset"
    kind: Literal["sample"]


Source = Annotated[HuggingFaceSource | FilesSource | SampleSource, Field(discriminator="kind")]


class Edition(_Model):
    """One venue in one year."""

    id: EditionId
    venue: Annotated[str, Field(min_length=1, max_length=64)]
    year: Annotated[int, Field(ge=1990, le=2100)]
    venue_id: Annotated[str, Field(min_length=1)]
    active: bool = False
    sources: Annotated[list[Source], Field(min_length=1)]

    @property
    def is_synthetic(self) -> bool:
        return any(source.kind == "sample" for source in self.sources)

    @model_validator(mode="after")
    def _sources_are_distinct(self) -> "Edition":
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
    def _ids_are_distinct(self) -> "Editions":
        ids = [edition.id for edition in self.editions]
        if twice := sorted({id_ for id_ in ids if ids.count(id_) > 1}):
            raise ValueError(f"edition {twice[0]!r} is listed twice")
        return self

    @property
    def ids(self) -> list[str]:
        return [edition.id for edition in self.editions]

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
    keys = [loader.construct_object(key) for key, _ in node.value]
    for position, key in enumerate(keys):
        if key in keys[:position]:
            mark = node.value[position][0].start_mark
            raise yaml.MarkedYAMLError(problem=f"key {key!r} appears twice", problem_mark=mark)
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
        problem = getattr(error, "problem", None) or str(error)
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise EditionsError(f"{file}: not valid YAML{line}: {problem}.") from None
    try:
        editions = Editions.model_validate(given)
    except ValidationError as error:
        raise EditionsError(f"{file}: {'; '.join(_explain(given, mistake) for mistake in error.errors())}.") from None
    return editions.model_copy(
        update={"editions": [_with_absolute_paths(edition, file.parent) for edition in editions.editions]}
    )


def _with_absolute_paths(edition: Edition, folder: Path) -> Edition:
    def absolute(source: Any) -> Any:
        path = getattr(source, "path", None)
        return source.model_copy(update={"path": str(folder / Path(path).expanduser())}) if path else source

    return edition.model_copy(update={"sources": [absolute(source) for source in edition.sources]})


def _explain(given: Any, mistake: Any) -> str:
    """One mistake as 'edition X, field Y: what is wrong', from pydantic's location and message."""
    place = list(mistake["loc"])
    words = []
    if place[:1] == ["editions"] and len(place) > 1:
        item = given["editions"][place[1]]
        name = item.get("id") if isinstance(item, dict) else None
        words.append(f"edition {name!r}" if name else f"edition number {place[1] + 1}")
        place = place[2:]
        if place[:1] == ["sources"] and len(place) > 1:
            words.append(f"source number {place[1] + 1}")
            kinds = {"hugging_face", "files", "sample"}
            place = [part for part in place[2:] if part not in kinds]
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

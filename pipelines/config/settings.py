"""The settings of the pipeline, read from the environment in this one place.

Here belongs what an operator may turn without touching code: folders, waits, limits. What an edition is made of
belongs in `editions.yaml`; facts about venues and years are dbt seeds. Secrets are only named here, so that nothing
shows them; they, HF_ENDPOINT, OPENREVIEW_FULL and DAGSTER_HOME are read where they are used.
"""

import os
from pathlib import Path
from typing import Annotated, Any

import click
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT_DIR = Path(__file__).resolve().parents[2]


class SettingsError(click.ClickException):
    """A variable that cannot be used, in one sentence; Dagster's and our own CLI print it without a traceback."""


# What is read where it is used and never shown; NOTIFY_WEBHOOK_URL carries its own password.
SECRETS = ("HF_TOKEN", "OPENREVIEW_PASSWORD", "OPENREVIEW_TOKEN", "OPENREVIEW_USERNAME", "NOTIFY_WEBHOOK_URL")


def without_secrets(text: str) -> str:
    """The text with the value of every secret in the environment as `***`: the last line of defence, for what is shown.

    Values of less than six characters stay, since they would be found in any text.
    """
    for name in SECRETS:
        value = os.environ.get(name, "").strip()
        for secret in {value, value.removeprefix("Bearer ")} if len(value) >= 6 else ():
            text = text.replace(secret, "***")
    return text


# A relative path counts from the current directory, as in a shell.
_Path = Annotated[Path, AfterValidator(lambda path: path.expanduser().absolute())]
_Memory = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"(?i)^\d+(\.\d+)?\s*([KMGT]i?B|%)$")]
# `20GB` or a number of bytes; a plain int for everybody else.
_Bytes = Annotated[int, BeforeValidator(TypeAdapter(ByteSize).validate_python), Field(gt=0)]
_Secret = Annotated[str, StringConstraints(strip_whitespace=True)]


class Settings(BaseSettings):
    """What the environment says; `.env.example` lists each variable with its default.

    A field's variable is its name in capitals, or its alias. Change a copy by `model_copy(update=...)`.

    Raises:
        SettingsError: a variable has a value that cannot be used.
    """

    # By their exact names: otherwise THREADS and DBT_PROJECT_DIR, which other programs read, would count.
    model_config = SettingsConfigDict(
        alias_generator=str.upper,
        case_sensitive=True,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        populate_by_name=True,
    )

    warehouse_dir: _Path = PROJECT_DIR / "warehouse"
    editions_file: _Path = PROJECT_DIR / "pipelines" / "config" / "editions.yaml"
    dbt_project_dir: Path = Field(PROJECT_DIR / "dbt_project", alias="dbt_project_dir")
    lock_wait_seconds: NonNegativeFloat = 600
    http_timeout_seconds: PositiveFloat = 60
    http_attempts: PositiveInt = 5
    http_max_wait_seconds: NonNegativeFloat = 300
    http_answer_seconds: PositiveFloat = 7200
    dbt_parse_seconds: PositiveFloat = 600
    dbt_build_seconds: PositiveFloat = 7200
    gate_seconds: PositiveFloat = 3600
    run_seconds: PositiveFloat = 21600
    memory_limit: _Memory = Field("4GB", alias="DUCKDB_MEMORY_LIMIT")
    temp_dir: _Path | None = Field(None, alias="DUCKDB_TEMP_DIR")
    threads: PositiveInt = Field(default_factory=lambda: os.cpu_count() or 2, alias="DUCKDB_THREADS")
    max_file_bytes: _Bytes = 20 * 10**9
    max_unpacked_bytes: _Bytes = 20 * 10**9
    max_batch_bytes: _Bytes = 256 * 10**6
    rebuild: bool = False
    releases_kept: PositiveInt = 5
    releases_grace_minutes: NonNegativeFloat = 5
    leftovers_kept_days: NonNegativeFloat = 7
    dagster_runs_kept: NonNegativeInt = 10
    dagster_runs_kept_days: NonNegativeFloat = 30
    # The address of a Slack webhook is its password: it stays out of every text that shows the settings.
    notify_webhook_url: _Secret = Field("", repr=False)
    notify_timeout_seconds: PositiveFloat = 10

    def __init__(self, **given: Any) -> None:
        try:
            super().__init__(**given)
        except ValidationError as error:
            raise SettingsError(" ".join(map(_sentence, error.errors()))) from None


def _sentence(problem: Any) -> str:
    """What pydantic found wrong with one variable; never a secret's value, since any text may be one."""
    variable = str(problem["loc"][0])
    fields = {field.alias: field for field in Settings.model_fields.values()}
    sentence = f"{variable}={problem['input']!r} cannot be used: {problem['msg'][0].lower()}{problem['msg'][1:]}"
    if variable not in fields:
        return f"{sentence}."
    default = fields[variable].get_default(call_default_factory=True, validated_data={})
    return f"{sentence}; the default is {default}."

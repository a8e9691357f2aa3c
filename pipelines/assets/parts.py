"""What the assets are made of, so that `build_definitions` and tests can swap any part without patching.

Here belongs only the list of parts with their defaults; each part lives in its own module.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pipelines import publish
from pipelines.config.editions import Editions, load_editions
from pipelines.config.settings import Settings
from pipelines.config.time_limits import stopped_after
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import Fetch, Log
from pipelines.warehouse import Warehouse

if TYPE_CHECKING:
    from expectations.gate import Verdict


def _run_gate(*arguments: Any, warehouse: Warehouse, **options: Any) -> "Verdict":
    from expectations import gate

    with stopped_after(warehouse.settings.gate_seconds, what="The gate", variable="GATE_SECONDS"):
        return gate.run(*arguments, warehouse=warehouse, **options)


@dataclass(frozen=True)
class Parts:
    """The settings, the editions, and the functions behind the assets."""

    settings: Settings = field(default_factory=Settings)
    editions: Editions = None  # type: ignore[assignment]  # filled from the settings' file below
    fetchers: Mapping[str, Fetch] = field(default_factory=lambda: FETCHERS)
    build_candidate: Callable[[Warehouse, Log], publish.Candidate | None] = publish.build_candidate
    run_gate: Callable[..., "Verdict"] = _run_gate

    def __post_init__(self) -> None:
        if self.editions is None:
            object.__setattr__(self, "editions", load_editions(self.settings.editions_file))

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.settings)

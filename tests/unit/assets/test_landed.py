"""`pipelines/assets/landed.py`: one source that fails in whatever way stops no other, and is told in one sentence."""

from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from pipelines.assets.landed import landed_asset
from pipelines.assets.parts import Parts
from pipelines.land import landing
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import LandingError, SourceSkipped
from pipelines.warehouse import Warehouse
from tests.hub_files import editions_of, files_edition, hub_row, write_hub_file

FAILURES = [
    LandingError("the server is away"),
    TypeError("unhashable type: 'list'"),
    RecursionError("maximum recursion depth exceeded"),
    duckdb.BinderException("Binder Error: no such column\n\nLINE 1: ..."),
    KeyError("hf_PLANTEDtoken"),
    MemoryError(),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_the_other_sources_land(
    warehouse: Warehouse, tmp_path: Path, failure: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_PLANTEDtoken")

    def fail(*arguments: Any, **options: Any) -> None:
        raise failure

    first = write_hub_file(tmp_path / "a.parquet", [hub_row(1)])
    last = write_hub_file(tmp_path / "b.parquet", [hub_row(2)])
    sources = [
        {"kind": "files", "name": "first", "path": str(first)},
        {"kind": "paper_copilot", "name": "bad"},
        {"kind": "files", "name": "last", "path": str(last)},
    ]
    parts = Parts(
        settings=warehouse.settings,
        editions=editions_of(files_edition(first, sources=sources)),
        fetchers=FETCHERS | {"paper_copilot": fail},
    )
    asset = landed_asset(parts, dg.StaticPartitionsDefinition(["test-2026"]))
    result = dg.materialize([asset], partition_key="test-2026", raise_on_error=False)
    assert not result.success
    (event,) = (event for event in result.all_events if event.is_step_failure)
    error = event.step_failure_data.error
    while error.cause:
        error = error.cause
    assert error.cls_name == "LandingError"
    assert "test-2026/bad: " in error.message
    assert "Traceback" not in error.message
    assert "LINE 1" not in error.message
    assert "PLANTED" not in error.message
    for name in ("first", "last"):
        assert landing.current_snapshot(warehouse, "test-2026", name) is not None


def test_a_skipped_source_fails_nothing_and_its_reason_holds_no_secret(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREVIEW_TOKEN", "Bearer eyJPLANTED.x.y")

    def skip(*arguments: Any, **options: Any) -> None:
        raise SourceSkipped("eyJPLANTED.x.y is no good token")

    path = write_hub_file(tmp_path / "a.parquet", [hub_row(1, title="NUL \0 here")])
    sources = [{"kind": "files", "path": str(path)}, {"kind": "paper_copilot", "name": "bad"}]
    parts = Parts(
        settings=warehouse.settings,
        editions=editions_of(files_edition(path, sources=sources)),
        fetchers=FETCHERS | {"paper_copilot": skip},
    )
    asset = landed_asset(parts, dg.StaticPartitionsDefinition(["test-2026"]))
    result = dg.materialize([asset], partition_key="test-2026")
    (told,) = result.asset_materializations_for_node("landed")
    assert told.metadata["test-2026/bad"].value == "skipped: *** is no good token"
    assert told.metadata["test-2026/files"].value["mended"] == 1  # type: ignore[index, call-overload]

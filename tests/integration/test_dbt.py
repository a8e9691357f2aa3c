"""The dbt project: its unit tests on a small warehouse of all four datasets, and how its models lean on each other."""

import json
import re
from typing import Any

import pytest

from pipelines.config.editions import Edition
from tests.hub_files import hub_row, ten_papers, write_hub_file
from tests.model_runs import ModelRun
from tests.openreview_server import OpenReviewServer, decision_v2, note_v2, review_v2

pytestmark = pytest.mark.slow

VENUE_ID = "TEST.cc/2026/Conference"
TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"

# Text is read from the landed files where it is needed, by row number, and not carried through every layer; the rows
# that were set aside are shown as they landed.
READERS_OF_RAW = {
    "int_paper_rows": {"hub_dataset"},
    "int_review_rows": {"hub_dataset"},
    "papers": {"hub_dataset"},
    "reviews": {"hub_dataset"},
    "quarantined_rows": {"hub_dataset", "json_records"},
}
# Counts of what is in the marts, which other marts then show.
READERS_OF_MARTS = {
    "int_edition_counts": {"papers", "reviews"},
}
# Snapshots get their number last; a source's own models are read where all sources meet, and nowhere else.
MARTS_THAT_READ_STAGING = {
    "authors": {"stg_editions"},
    "discussion": {"stg_snapshots"},
    "editions": {"stg_editions", "stg_snapshots"},
    "paper_authors": {"stg_snapshots"},
    "papers": {"stg_snapshots"},
    "quarantined_rows": {"stg_snapshots"},
    "reviews": {"stg_snapshots"},
    "row_conservation": {"stg_snapshots"},
    "snapshots": {"stg_snapshots"},
}
# Every model has logic of its own; one that has none would stand here with the reason.
WITHOUT_UNIT_TEST: dict[str, str] = {}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> ModelRun:
    """A warehouse of one edition that all four datasets have; a unit test takes its columns from what is there."""
    folder = tmp_path_factory.mktemp("dbt")
    write_hub_file(folder / "papers.parquet", [*ten_papers(), hub_row(11, url="https://openreview.net/forum?id=")])
    (folder / "papers.jsonl").write_text(
        json.dumps({"id": "Forum00001", "title": "T", "status": "Poster", "rating": "4;8", "author": "Ada Example"})
        + "\n"
    )
    event = {"id": 1, "uid": "u", "name": "T", "decision": "Accept (Poster)", "abstract": "We show it."}
    event |= {"paper_url": "https://openreview.net/forum?id=Forum00001", "sourceurl": VENUE_ID}
    (folder / "events.json").write_text(json.dumps({"count": 1, "results": [event]}))
    paper = note_v2(1, id="Forum00001", venue_id=VENUE_ID, venue="TEST 2026 Poster")
    run = ModelRun(folder)
    with (
        OpenReviewServer([paper, review_v2(paper, 1), decision_v2(paper)]) as server,
        pytest.MonkeyPatch.context() as it,
    ):
        server.tokens.add(TOKEN)
        it.setenv("OPENREVIEW_TOKEN", TOKEN)
        it.setenv("NO_PROXY", "*")
        run.stage(
            Edition.model_validate(
                {
                    "id": "test-2026",
                    "venue": "TEST",
                    "year": 2026,
                    "venue_id": VENUE_ID,
                    "sources": [
                        {"kind": "files", "path": str(folder / "papers.parquet")},
                        {"kind": "paper_copilot", "path": str(folder / "papers.jsonl")},
                        {"kind": "conference_site", "path": str(folder / "events.json")},
                        {"kind": "openreview", "base_url": server.url("")},
                    ],
                }
            )
        )
    done = run.build()
    assert "WARN=0 ERROR=0 SKIP=0" in done.stdout
    return run


@pytest.fixture(scope="module")
def manifest(built: ModelRun) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((built.target / "manifest.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def models(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}


def layer(model: dict[str, Any]) -> str:
    return str(model["fqn"][1])


def test_every_unit_test_passes(built: ModelRun, manifest: dict[str, Any]) -> None:
    done = built.dbt("test", "--select", "test_type:unit")

    assert done.returncode == 0, done.stdout[-6000:]
    count = len(manifest["unit_tests"])
    assert count > 60
    assert f"PASS={count} WARN=0 ERROR=0 SKIP=0 NO-OP=0 TOTAL={count}" in done.stdout
    results = json.loads((built.target / "run_results.json").read_text(encoding="utf-8"))["results"]
    assert {result["status"] for result in results} == {"pass"}
    assert not re.findall(r"(?i)warning|deprecat|benefit from", done.stdout + done.stderr)


def test_a_build_tells_no_warnings_either(built: ModelRun) -> None:
    log = (built.folder / "logs" / "dbt.log").read_text(encoding="utf-8")
    assert not re.findall(r"(?i)\[warn.*|.*deprecat.*", log)


def test_every_model_has_a_unit_test(manifest: dict[str, Any], models: dict[str, dict[str, Any]]) -> None:
    tested = {test["model"] for test in manifest["unit_tests"].values()}
    assert set(models) - tested == set(WITHOUT_UNIT_TEST)


def test_only_staging_and_these_few_read_raw_data(models: dict[str, dict[str, Any]]) -> None:
    found = {}
    for name, model in models.items():
        raw = {parent.split(".")[-1] for parent in model["depends_on"]["nodes"] if parent.startswith("source.")}
        if raw and layer(model) != "staging":
            found[name] = raw
    assert found == READERS_OF_RAW


def test_in_staging_one_model_reads_one_raw_table(models: dict[str, dict[str, Any]]) -> None:
    """Whatever else wants the parsed records asks that model."""
    for name, model in models.items():
        parents = model["depends_on"]["nodes"]
        if layer(model) != "staging":
            continue
        assert sum(parent.startswith("source.") for parent in parents) <= 1, name
        if any(parent.endswith(".raw.json_records") for parent in parents):
            assert name.startswith("base_"), name


def test_models_lean_on_the_layers_before_them(models: dict[str, dict[str, Any]]) -> None:
    of_marts: dict[str, set[str]] = {}
    of_staging: dict[str, set[str]] = {}
    for name, model in models.items():
        parents = [unique_id for unique_id in model["depends_on"]["nodes"] if unique_id.startswith("model.")]
        for parent in (unique_id.split(".")[-1] for unique_id in parents):
            step = (layer(model), layer(models[parent]))
            if step == ("intermediate", "marts"):
                of_marts.setdefault(name, set()).add(parent)
            elif step == ("marts", "staging"):
                of_staging.setdefault(name, set()).add(parent)
            elif step == ("staging", "staging"):
                assert parent.startswith("base_") or parent == "stg_editions", f"{name} reads {parent}"
            else:
                assert step != ("staging", "intermediate"), f"{name} reads {parent}"
                assert step != ("staging", "marts"), f"{name} reads {parent}"
    assert of_marts == READERS_OF_MARTS
    assert of_staging == MARTS_THAT_READ_STAGING


def test_a_sources_models_are_read_only_where_all_sources_meet(models: dict[str, dict[str, Any]]) -> None:
    """So that another source changes no model that is there."""
    for name, model in models.items():
        for parent in model["depends_on"]["nodes"]:
            of_a_source = "__" in parent.split(".")[-1]
            if parent.startswith("model.") and of_a_source and layer(model) != "staging":
                assert re.fullmatch(r"int_source_(papers|reviews|authors|discussion)", name), f"{name} reads {parent}"


def test_every_source_has_a_folder_of_the_same_kinds_of_models(models: dict[str, dict[str, Any]]) -> None:
    folders: dict[str, set[str]] = {}
    for name, model in models.items():
        if layer(model) == "staging" and name.startswith("stg_") and "__" in name:
            source, kind = name.removeprefix("stg_").split("__")
            assert model["fqn"][2] == source, name
            folders.setdefault(source, set()).add(kind)
    assert set(folders) == {"hub_dataset", "openreview", "paper_copilot", "conference_site"}
    for source, kinds in folders.items():
        assert {"papers", "authors"} <= kinds <= {"papers", "reviews", "authors", "discussion"}, source
        for kind in kinds:
            assert f"model.peer_reviews.stg_{source}__{kind}" in models[f"int_source_{kind}"]["depends_on"]["nodes"]


def test_the_columns_of_the_sources_are_those_that_are_documented(
    built: ModelRun, models: dict[str, dict[str, Any]]
) -> None:
    for kind in ("papers", "reviews", "authors", "discussion"):
        name = f"int_source_{kind}"
        columns = built.working("select column_name from duckdb_columns() where table_name = ?", [name])
        assert {column for (column,) in columns} == set(models[name]["columns"]), name
        assert all(column["description"] for column in models[name]["columns"].values()), name


def test_no_model_is_longer_than_a_step_with_a_name(models: dict[str, dict[str, Any]]) -> None:
    for name, model in models.items():
        assert model["raw_code"].count("\n") < 150, name


def test_every_mart_and_column_is_described_in_the_database_too(
    built: ModelRun, models: dict[str, dict[str, Any]]
) -> None:
    marts = {name for name, model in models.items() if layer(model) == "marts"}
    tables = built.marts("select table_name, comment from duckdb_tables() where table_name != 'build'")
    assert {name for name, _ in tables} == marts
    assert all(comment and comment.endswith(".") for _, comment in tables)
    columns = built.marts(
        "select table_name, column_name, comment from duckdb_columns() where not internal and table_name != 'build'"
    )
    assert {(table, column) for table, column, _ in columns} == {
        (name, column) for name in marts for column in models[name]["columns"]
    }
    assert [f"{table}.{column}" for table, column, comment in columns if not comment] == []
    for name in marts:
        assert models[name]["config"]["contract"]["enforced"], name
        assert all(column["data_type"] for column in models[name]["columns"].values()), name

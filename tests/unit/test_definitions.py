"""The code location: what Dagster sees, that it loads lightly, and how the dbt models lean on each other.

One fresh process loads the definitions and tells what it found; the tests read that.
"""

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from expectations import CANDIDATE, CHECKS, GROUPS, SUITE_MODULES
from pipelines.config.editions import Edition
from pipelines.config.settings import PROJECT_DIR
from pipelines.operate.automation import daily_schedule
from tests.hub_files import editions_of, files_edition

DBT_PROJECT = PROJECT_DIR / "dbt_project"
HEAVY = {"great_expectations", "pandas", "pyarrow", "huggingface_hub", "pylatexenc", "numpy"}

LOOK = """
import json, sys
from pipelines.definitions import defs
loaded = sorted({name.split(".")[0] for name in sys.modules})

graph = defs.resolve_asset_graph()
assets = {}
for key in graph.get_all_asset_keys():
    node = graph.get(key)
    assets[key.to_user_string()] = {
        "group": node.group_name, "kinds": sorted(node.kinds), "owners": list(node.owners),
        "description": node.description, "is_external": node.is_external,
        "partitions": node.partitions_def and list(node.partitions_def.get_partition_keys()),
        "backfill": str(node.backfill_policy and node.backfill_policy.policy_type),
        "parents": sorted(parent.to_user_string() for parent in node.parent_keys),
    }
job = defs.resolve_job_def("refresh")
repository = defs.get_repository_def()
print("DEFINITIONS " + json.dumps({
    "loaded": loaded,
    "assets": assets,
    "checks": {f"{key.asset_key.to_user_string()}:{key.name}": graph.get(key).blocking
        for key in graph.asset_check_keys},
    "jobs": sorted(name for name in repository.job_names if not name.startswith("__")),
    "job_assets": sorted(key.to_user_string() for key in job.asset_layer.executable_asset_keys),
    "executor": job.executor_def.name,
    "schedules": {schedule.name: [schedule.cron_schedule, schedule.execution_timezone, schedule.default_status.value,
        schedule.job_name] for schedule in repository.schedule_defs},
    "sensors": {sensor.name: sensor.default_status.value for sensor in repository.sensor_defs},
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh process sees, in another folder, with an editions file of its own and a warehouse that is not."""
    folder = tmp_path_factory.mktemp("definitions")
    editions = folder / "editions.yaml"
    editions.write_text(
        yaml.safe_dump(
            {
                "editions": [
                    {"id": id_, "venue": "TEST", "year": 2026, "venue_id": "TEST.cc/2026", "sources": [source]}
                    for id_, source in (
                        ("sample", {"kind": "sample"}),
                        ("test-2026", {"kind": "files", "path": "x.parquet"}),
                        ("hub-2026", {"kind": "hugging_face", "dataset": "a/b"}),
                    )
                ]
            }
        )
    )
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "EDITIONS_FILE": str(editions),
        "WAREHOUSE_DIR": str(folder / "warehouse"),
        # An address that answers nothing: loading needs no network.
        "HF_ENDPOINT": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("DEFINITIONS "))
    seen: dict[str, Any] = json.loads(line.removeprefix("DEFINITIONS "))
    seen["left"] = sorted(path.name for path in folder.iterdir())
    return seen


@pytest.fixture(scope="module")
def manifest(found: dict[str, Any]) -> dict[str, Any]:
    """dbt's manifest, which loading the definitions has brought up to date."""
    content: dict[str, Any] = json.loads((DBT_PROJECT / "target" / "manifest.json").read_text())
    return content


def dbt_assets() -> set[str]:
    """The keys that follow from the files of the dbt project: [layer, name]."""
    folder = DBT_PROJECT / "models"
    models = {f"{file.relative_to(folder).parts[0]}/{file.stem}" for file in folder.rglob("*.sql")}
    return models | {f"seeds/{file.stem}" for file in (DBT_PROJECT / "seeds").glob("*.csv")}


def marts() -> set[str]:
    return {file.stem for file in (DBT_PROJECT / "models" / "marts").glob("*.sql")}


# --- loading ----------------------------------------------------------------------------------------------------------


def test_definitions_load_without_heavy_imports(found: dict[str, Any]) -> None:
    assert {"dagster", "dagster_dbt", "duckdb"} <= set(found["loaded"])
    assert HEAVY & set(found["loaded"]) == set()


def test_loading_writes_nothing_where_it_runs(found: dict[str, Any]) -> None:
    assert found["left"] == ["editions.yaml"]


def test_a_broken_editions_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "editions.yaml").write_text("editions:\n  - id: Bad_Id\n")
    done = subprocess.run(
        [sys.executable, "-m", "pipelines", "run", "--edition", "sample"],
        cwd=PROJECT_DIR,
        env={"PATH": "/usr/bin:/bin", "EDITIONS_FILE": str(tmp_path / "editions.yaml")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        f"Error: {tmp_path / 'editions.yaml'}: edition 'Bad_Id', field 'id': 'Bad_Id' does not match"
    )


# --- assets -----------------------------------------------------------------------------------------------------------


def test_the_assets_are_these(found: dict[str, Any]) -> None:
    ours = {"landed", "staged", "candidate", "published"}
    upstreams = {"upstream/files", "upstream/hugging_face", "upstream/sample"}
    assert set(found["assets"]) == ours | upstreams | dbt_assets()
    assert {key for key, asset in found["assets"].items() if asset["is_external"]} == upstreams
    assert marts() >= {
        *("editions", "papers", "reviews", "authors"),
        *("paper_authors", "paper_links", "quarantined_rows"),
    }


def test_lineage_runs_from_the_upstreams_to_the_release(found: dict[str, Any]) -> None:
    parents = {key: set(asset["parents"]) for key, asset in found["assets"].items()}
    assert parents["landed"] == {"upstream/files", "upstream/hugging_face", "upstream/sample"}
    assert parents["staged"] == {"landed"}
    assert parents["candidate"] == {f"marts/{mart}" for mart in marts()}
    assert parents["published"] == {"candidate"}
    assert {key for key in parents if "staged" in parents[key]} >= {
        "staging/stg_editions",
        "staging/stg_hub_dataset__papers",
        "marts/papers",
    }


def test_groups_are_layers(found: dict[str, Any]) -> None:
    groups = {"landed": "land", "staged": "stage", "candidate": "validate", "published": "publish"}
    for key, asset in found["assets"].items():
        assert asset["group"] == groups.get(key, key.split("/")[0])


def test_every_asset_has_kinds_owners_and_a_description_of_its_own(found: dict[str, Any]) -> None:
    for key, asset in found["assets"].items():
        assert asset["kinds"], key
        assert asset["owners"] == ["team:peer-review-warehouse"], key
    # Where the YAML has none, dagster-dbt makes up "dbt model <name>".
    made_up = ("dbt model ", "dbt seed ")
    bare = [key for key, asset in found["assets"].items() if (asset["description"] or "dbt model ").startswith(made_up)]
    assert sorted(bare) == []


def test_landing_and_staging_are_partitioned_by_edition_in_single_runs(found: dict[str, Any]) -> None:
    for key, asset in found["assets"].items():
        if key in ("landed", "staged"):
            assert asset["partitions"] == ["sample", "test-2026", "hub-2026"]
            assert asset["backfill"].endswith("SINGLE_RUN")
        else:
            assert asset["partitions"] is None


def test_every_mart_has_a_blocking_check_of_the_candidate(found: dict[str, Any]) -> None:
    ours = {key: blocking for key, blocking in found["checks"].items() if key.startswith("candidate:")}
    assert ours == {f"candidate:{mart}": True for mart in SUITE_MODULES}
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert all(check.description for check in CHECKS)
    for mart in marts():
        groups = {check.group for check in CHECKS if check.mart == mart}
        # Great Expectations passes an empty batch and an all-null column: every mart needs these.
        assert {"volume", "completeness", "keys"} <= groups <= set(GROUPS), mart


def test_dbt_tests_are_checks_too(found: dict[str, Any]) -> None:
    tested = {key.split(":")[0] for key in found["checks"]}
    assert {f"marts/{mart}" for mart in ("papers", "reviews", "paper_authors", "paper_links")} <= tested


# --- automation -------------------------------------------------------------------------------------------------------


def test_one_job_does_everything_in_one_process(found: dict[str, Any]) -> None:
    assert found["jobs"] == ["accept_findings", "maintain", "refresh"]
    external = {key for key, asset in found["assets"].items() if asset["is_external"]}
    assert set(found["job_assets"]) == set(found["assets"]) - external
    assert found["executor"] == "in_process"


def test_the_refresh_is_off_and_what_looks_after_the_runs_is_on(found: dict[str, Any]) -> None:
    assert found["schedules"] == {
        "daily_refresh": ["15 5 * * *", "UTC", "STOPPED", "refresh"],
        "daily_maintenance": ["15 4 * * *", "UTC", "RUNNING", "maintain"],
    }
    assert found["sensors"] == {"tell_failures": "RUNNING", "end_dead_runs": "RUNNING"}


def evaluated(*editions: Edition) -> list[Any]:
    schedule = daily_schedule(editions_of(*editions))
    context = dg.build_schedule_context(scheduled_execution_time=datetime(2026, 11, 30, 5, 15, tzinfo=UTC))
    requests: Any = schedule(context)
    return list(requests)


def test_the_schedule_runs_the_active_editions_once_a_day() -> None:
    names = {"on-2026": True, "off-2026": False, "also-2026": True}
    requests = evaluated(*(files_edition("x.parquet", name, active=active) for name, active in names.items()))
    assert [(request.partition_key, request.run_key) for request in requests] == [
        ("on-2026", "on-2026-2026-11-30"),
        ("also-2026", "also-2026-2026-11-30"),
    ]


def test_the_schedule_says_why_it_does_nothing() -> None:
    skipped = evaluated(files_edition("x.parquet", "off-2026"))
    assert skipped == [dg.SkipReason("No edition is marked 'active: true' in the editions file.")]


# --- the dbt project --------------------------------------------------------------------------------------------------


def models(manifest: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {node["name"]: node for node in manifest["nodes"].values() if node["resource_type"] == "model"}


def test_every_column_of_every_mart_is_described_typed_and_under_contract(manifest: dict[str, Any]) -> None:
    for name in marts():
        model = models(manifest)[name]
        assert model["description"].endswith("."), name
        assert model["config"]["contract"]["enforced"], name
        assert model["config"]["persist_docs"] == {"relation": True, "columns": True}
        assert model["columns"], name
        for column in model["columns"].values():
            assert column["description"], f"{name}.{column['name']}"
            assert column["data_type"], f"{name}.{column['name']}"


def test_marts_are_tables_and_no_model_writes_files(manifest: dict[str, Any]) -> None:
    for name, model in models(manifest).items():
        allowed = {"marts": {"table"}, "intermediate": {"table", "view"}, "staging": {"view", "table"}}
        assert model["config"]["materialized"] in allowed[model["fqn"][1]], name


def test_every_mart_has_a_suite_and_every_suite_a_mart() -> None:
    assert set(SUITE_MODULES) == marts() | {CANDIDATE}


# Text is read from the landed files where it is needed, by row number, and not carried through every layer: these few
# read the whole rows in `raw` (see pipelines/stage/staging.py).
WHOLE_ROWS = (".raw.hub_dataset", ".raw.json_records")
TEXT_READERS = {"int_paper_rows", "int_review_rows", "papers", "reviews", "quarantined_rows"}
# Compares what came in with what came out, and so looks at both ends.
RECONCILIATION = {"row_conservation"}
# Counts the rows of finished marts, for the marts that show counts.
COUNTS_OF_MARTS = {"int_edition_counts"}


def test_layers_lean_on_the_layers_before_them(manifest: dict[str, Any]) -> None:
    allowed = {
        "staging": {"source", "seeds", "staging"},
        "intermediate": {"seeds", "staging", "intermediate"},
        "marts": {"seeds", "staging", "intermediate", "marts"},
    }
    layers = dict.fromkeys(manifest["sources"], "source")
    layers |= {
        unique_id: "seeds" if node["resource_type"] == "seed" else node["fqn"][1]
        for unique_id, node in manifest["nodes"].items()
        if node["resource_type"] in ("model", "seed")
    }
    text_readers = set()
    for name, model in models(manifest).items():
        for parent in model["depends_on"]["nodes"]:
            if parent.endswith(WHOLE_ROWS) and layers[model["unique_id"]] != "staging":
                text_readers.add(name)
            elif name not in RECONCILIATION:
                extra = {"marts"} if name in COUNTS_OF_MARTS else set()
                assert layers[parent] in allowed[layers[model["unique_id"]]] | extra, f"{name} reads {parent}"
    assert text_readers == TEXT_READERS


def test_models_are_named_after_their_layer(manifest: dict[str, Any]) -> None:
    prefixes = {"staging": ("stg_", "base_"), "intermediate": ("int_",), "marts": ("",)}
    for name, model in models(manifest).items():
        assert name.startswith(prefixes[model["fqn"][1]]), name

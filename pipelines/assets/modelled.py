"""The dbt models as assets: seeds, staging, intermediate, marts, with their tests as asset checks."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import dagster as dg
from dagster_dbt import DagsterDbtTranslator, DagsterDbtTranslatorSettings, DbtProject, dbt_assets

from pipelines import publish
from pipelines.assets import OWNERS
from pipelines.assets.costs import Cost, as_metadata, measured
from pipelines.assets.parts import Parts
from pipelines.config.settings import Settings
from pipelines.config.time_limits import ended_after
from pipelines.model import dbt_manifest
from pipelines.model.dbt_process import TESTED_ELSEWHERE, environment, start_build

# Where dagster-dbt notes, on each asset and each check, of which dbt node it is.
_NODE = "dagster_dbt/unique_id"


class ModelsError(click.ClickException):
    """The dbt project cannot be read or built; what dbt says about it."""


class _Translator(DagsterDbtTranslator):
    """Keys are [layer, name] and groups are layers; whatever dbt reads from `raw` is the asset `staged`."""

    def get_asset_spec(self, manifest: Mapping[str, Any], unique_id: str, project: DbtProject | None) -> dg.AssetSpec:
        spec = super().get_asset_spec(manifest, unique_id, project)
        node = manifest["sources"].get(unique_id) or manifest["nodes"][unique_id]
        if node["resource_type"] == "source":
            return spec.replace_attributes(key=dg.AssetKey("staged"))
        layer = "seeds" if node["resource_type"] == "seed" else node["fqn"][1]
        return spec.replace_attributes(
            key=dg.AssetKey([layer, node["name"]]), group_name=layer, owners=OWNERS, kinds={"dbt", "duckdb"}
        )


def prepared_project(settings: Settings) -> DbtProject:
    """The dbt project with a manifest that is there and not older than the project's files.

    Raises:
        ModelsError: dbt cannot parse the project, or takes too long.
    """
    state = dbt_manifest.state(settings.dbt_project_dir)
    if state in ("missing", "unusable"):
        # What dbt remembers of its last parse is no better, and it would go on from there.
        dbt_manifest.path(settings.dbt_project_dir).with_name("partial_parse.msgpack").unlink(missing_ok=True)
    if state != "current":
        _parse(settings)
    return DbtProject(settings.dbt_project_dir)


def _parse(settings: Settings) -> None:
    command = [_dbt(), "parse", "--quiet", "--project-dir", str(settings.dbt_project_dir)]
    command += ["--profiles-dir", str(settings.dbt_project_dir)]
    try:
        done = subprocess.run(  # noqa: S603
            command,
            capture_output=True,
            text=True,
            env=os.environ | environment(settings),
            timeout=settings.dbt_parse_seconds,
        )
    except subprocess.TimeoutExpired:
        limit = f"DBT_PARSE_SECONDS={settings.dbt_parse_seconds:g} seconds"
        raise ModelsError(f"dbt did not parse {settings.dbt_project_dir} in {limit}.") from None
    if done.returncode:
        said = " ".join(line.strip() for line in done.stdout.splitlines() if line.strip())
        raise ModelsError(f"dbt cannot parse {settings.dbt_project_dir}: {said}")


def _dbt() -> str:
    """The dbt of this very environment, whatever PATH says."""
    return str(Path(sys.executable).parent / "dbt")


def modelled_assets(parts: Parts) -> dg.AssetsDefinition:
    """One asset per dbt node, all built by one `dbt build`."""
    project = prepared_project(parts.settings)
    nodes = json.loads(project.manifest_path.read_bytes())

    @dbt_assets(
        manifest=nodes,
        dagster_dbt_translator=_Translator(
            settings=DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True)
        ),
        project=project,
        name="modelled",
        exclude=TESTED_ELSEWHERE,
    )
    def modelled(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
        warehouse = parts.warehouse
        target = project.project_dir / "target" / f"modelled-{context.run_id[:7]}-{str(uuid.uuid4())[:7]}"
        failure = None
        with warehouse.writing("build the marts"), measured() as cost:
            warehouse.set_aside_if_damaged(warehouse.marts_database, context.log.warning)
            if not context.is_subset and publish.is_settled(warehouse, publish.inputs_fingerprint(warehouse)):
                context.log.info("Nothing new is staged and no model changed: the release stands; the run ends here.")
                return
            try:
                with publish.building(warehouse, whole=not context.is_subset) as released:
                    _build(parts.settings, target, released, _selected(context) if context.is_subset else ())
            except Exception as error:
                failure = error
                for database in (warehouse.working_database, warehouse.marts_database):
                    warehouse.distrust(database, error)
            counts = publish.row_counts(warehouse)
        yield from _events(context, _results(target), counts, cost)
        if failure:
            raise failure

    return modelled


def _build(settings: Settings, target: Path, released: Path | None, selected: Sequence[str]) -> None:
    """Have dbt build, and pass on what it says.

    Raises:
        ModelsError: a model, a seed or a test failed, or dbt did before it came to them.
        TimeLimitError: it took too long.
    """
    said: list[str] = []
    process = start_build(settings, target, released, selected)
    with ended_after(process, settings.dbt_build_seconds, what="dbt build", variable="DBT_BUILD_SECONDS"):
        assert process.stdout is not None
        with process.stdout as lines:
            for line in lines:
                said.append(_message(line))
                print(said[-1], flush=True)
        if process.wait():
            bad = [result for result in _results(target) if result["status"] in ("error", "fail")]
            reasons = [f"{result['unique_id'].split('.')[2]}: {result['message']}" for result in bad]
            raise ModelsError("dbt could not build: " + ("; ".join(reasons) or "\n".join(said[-5:])))


def _message(line: bytes) -> str:
    """The words of one of dbt's JSON log lines, or the line itself where it is none."""
    try:
        return str(json.loads(line)["info"]["msg"])
    except (ValueError, LookupError, TypeError):
        return line.decode(errors="replace").rstrip()


def _results(target: Path) -> list[dict[str, Any]]:
    """What dbt's artifact `run_results.json` says of each node, in the order in which they ended."""
    file = target / "run_results.json"
    found: list[dict[str, Any]] = json.loads(file.read_bytes())["results"] if file.exists() else []
    return found


def _selected(context: dg.AssetExecutionContext) -> list[str]:
    """The names of the nodes that a run of some assets and checks is about."""
    specs = [spec for spec in context.assets_def.specs if spec.key in context.selected_asset_keys]
    checks = [spec for spec in context.assets_def.check_specs if spec.key in context.selected_asset_check_keys]
    return [str((spec.metadata or {})[_NODE]).split(".")[2] for spec in [*specs, *checks]]


def _events(
    context: dg.AssetExecutionContext, results: list[dict[str, Any]], counts: dict[str, int], cost: Cost
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Dagster's events for what dbt did: a mart's with its row count, and with what the build of all of them cost."""
    assets = {spec.metadata[_NODE]: spec.key for spec in context.assets_def.specs}
    checks = {(spec.metadata or {})[_NODE]: spec for spec in context.assets_def.check_specs}
    for result in results:
        node, status = result["unique_id"], result["status"]
        metadata: dict[str, Any] = {_NODE: node, "Execution Duration": result["execution_time"]}
        if node in assets and status == "success":
            layer, name = assets[node].path
            if layer == "marts" and name in counts:
                metadata |= {"dagster/row_count": counts[name], **as_metadata({"model": cost})}
            yield dg.MaterializeResult(asset_key=assets[node], metadata=metadata)
        elif node in checks and status != "skipped":
            yield dg.AssetCheckResult(
                asset_key=checks[node].asset_key,
                check_name=checks[node].name,
                passed=status == "pass",
                severity=dg.AssetCheckSeverity.WARN if status == "warn" else dg.AssetCheckSeverity.ERROR,
                description=result["message"],
                metadata=metadata | {"dagster_dbt/failed_row_count": result["failures"] or 0},
            )

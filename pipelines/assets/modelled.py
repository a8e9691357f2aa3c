"""The dbt models as assets: seeds, staging, intermediate, marts, with their tests as asset checks."""

import importlib
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import dagster as dg
from dagster_dbt import (
    DagsterDbtTranslator,
    DagsterDbtTranslatorSettings,
    DbtCliInvocation,
    DbtCliResource,
    DbtProject,
    dbt_assets,
)
from packaging.version import Version

from pipelines import publish
from pipelines.assets import OWNERS
from pipelines.assets.costs import Cost, as_metadata, measured
from pipelines.assets.parts import Parts
from pipelines.config.limits import ended_after
from pipelines.config.settings import Settings
from pipelines.model import manifest
from pipelines.model.dbt_process import FLAGS, TESTED_ELSEWHERE, environment, start_build


class ModelsError(click.ClickException):
    """The dbt project cannot be read; what dbt says about it, in one line."""


class _Dbt(DbtCliResource):
    """dagster-dbt's resource without what it does ahead of each command, seconds of work that nothing here uses.

    That is to ask a process of its own for dbt's version, and to load dbt's adapter into this process, for row counts
    and column metadata that would open the database beside dbt.
    """

    @cached_property
    def _cli_version(self) -> Version:
        return Version(metadata.version("dbt-core"))

    def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> Any:
        return None


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
    state = manifest.state(settings.dbt_project_dir)
    if state in ("missing", "unusable"):
        # What dbt remembers of its last parse is no better, and it would go on from there.
        manifest.path(settings.dbt_project_dir).with_name("partial_parse.msgpack").unlink(missing_ok=True)
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
    dbt = _Dbt(
        project_dir=str(project.project_dir),
        profiles_dir=str(parts.settings.dbt_project_dir),
        dbt_executable=_dbt(),
        global_config_flags=list(FLAGS),
    )
    translator = _Translator(settings=DagsterDbtTranslatorSettings(enable_duplicate_source_asset_keys=True))

    def whole_build(context: dg.AssetExecutionContext, released: Path | None) -> DbtCliInvocation:
        """What `dbt.cli` gives, by a process that may have been started ahead."""
        target = project.project_dir / "target" / f"modelled-{context.run_id[:7]}-{str(uuid.uuid4())[:7]}"
        return DbtCliInvocation(
            process=start_build(parts.settings, target, released),
            manifest=nodes,
            dagster_dbt_translator=translator,
            project=project,
            project_dir=project.project_dir,
            target_path=target,
            raise_on_error=True,
            cli_version=dbt._cli_version,
            context=context,
        )

    @dbt_assets(
        manifest=nodes,
        dagster_dbt_translator=translator,
        project=project,
        name="modelled",
        exclude=TESTED_ELSEWHERE,
    )
    def modelled(context: dg.AssetExecutionContext) -> Iterator[Any]:
        warehouse = parts.warehouse
        # From the first mart on, events wait until dbt has let go of the database: our own read adds row counts, and
        # Dagster wants them in the order of the models.
        waiting: list[Any] = []
        failure = None
        with warehouse.writing("build the marts"), measured() as cost:
            warehouse.set_aside_if_damaged(warehouse.marts_database, context.log.warning)
            if not context.is_subset and publish.is_settled(warehouse, publish.inputs_fingerprint(warehouse)):
                context.log.info("Nothing new is staged and no model changed: the release stands; the run ends here.")
                return
            imports = _importing_ahead("great_expectations")
            try:
                with publish.building(warehouse, whole=not context.is_subset) as released:
                    if context.is_subset:
                        os.environ.update(environment(parts.settings, released))
                        build = dbt.cli(["build"], context=context)
                    else:
                        build = whole_build(context, released)
                    limit = parts.settings.dbt_build_seconds
                    with ended_after(build.process, limit, what="dbt build", variable="DBT_BUILD_SECONDS"):
                        for event in build.stream():
                            if waiting or _asset_key(context, event).path[0] == "marts":
                                waiting.append(event)
                            else:  # Dagster writes it down while dbt works on
                                yield event
            except Exception as error:
                failure = error
                for database in (warehouse.working_database, warehouse.marts_database):
                    warehouse.distrust(database, error)
            imports.join()
            counts = publish.row_counts(warehouse)
        for event in waiting:
            yield _with_metadata(context, event, counts, cost)
        if failure:
            raise failure

    return modelled


def _importing_ahead(module: str) -> threading.Thread:
    """Import what the gate needs while dbt works in its own process: seconds in which this one only waits."""
    thread = threading.Thread(target=importlib.import_module, args=[module], name=f"import {module}", daemon=True)
    thread.start()
    return thread


def _asset_key(context: dg.AssetExecutionContext, event: Any) -> dg.AssetKey:
    """Of which asset an output or a check's result is."""
    key: dg.AssetKey = (
        context.asset_key_for_output(event.output_name) if isinstance(event, dg.Output) else event.asset_key
    )
    return key


def _with_metadata(context: dg.AssetExecutionContext, event: Any, counts: dict[str, int], cost: Cost) -> Any:
    """A mart's event with its row count, and with what the build of all of them cost."""
    if not isinstance(event, dg.Output):
        return event
    _, name = context.asset_key_for_output(event.output_name).path
    if name not in counts:
        return event
    return event.with_metadata({**event.metadata, "dagster/row_count": counts[name], **as_metadata({"model": cost})})

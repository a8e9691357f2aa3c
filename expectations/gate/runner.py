"""Great Expectations, set up to be quick, quiet and offline; and its pages of results.

Here belongs whatever Great Expectations needs to be told. What its results mean belongs in `judge.py`.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from expectations import expect

if TYPE_CHECKING:
    import pandas as pd

SAMPLE_KEYS = 20


class Runner:
    """Great Expectations, in memory: no project folder, no telemetry, no progress bars."""

    def __init__(self) -> None:
        import great_expectations as gx
        from great_expectations.core.run_identifier import RunIdentifier
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )

        self._gx = gx
        self._context: Any = gx.get_context(
            mode="ephemeral",
            project_config=DataContextConfig(
                store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
                analytics_enabled=False,
                progress_bars=ProgressBarsConfig(globally=False),
            ),
        )
        # One for all suites: each new one makes Great Expectations write its whole configuration anew.
        asset = self._context.data_sources.add_pandas("candidate").add_dataframe_asset("frame")
        self._data = asset.add_batch_definition_whole_dataframe("all")
        self._run_id = RunIdentifier(run_time=datetime.now(UTC))
        self._succeeded: dict[str, bool] = {}

    def validate(
        self, name: str, expectations: Mapping[str, Sequence[Any]], frame: pd.DataFrame
    ) -> dict[str, list[Any]]:
        """Great Expectations' results by group; details only where the suite did not succeed."""
        suite = self._gx.ExpectationSuite(name=name)
        for group, members in expectations.items():
            for expectation in members:
                expectation.meta = {**(expectation.meta or {}), "group": group}
                suite.add_expectation(expectation)
        definition = self._context.validation_definitions.add(
            self._gx.ValidationDefinition(name=name, data=self._data, suite=self._context.suites.add(suite))
        )
        # Details double the time. The second run has the identity of the first, so it takes its place in the pages.
        # They are a few positions: asking for the values of key columns would look up each unexpected row by itself.
        # What an operator may accept is told row by row: those are rows of editions, and few.
        tells_all = any(expect.is_plausibility(one.meta) for members in expectations.values() for one in members)
        positions = max(SAMPLE_KEYS, len(frame)) if tells_all else SAMPLE_KEYS
        for result_format in ("BOOLEAN_ONLY", "SUMMARY"):
            found = definition.run(
                batch_parameters={"dataframe": frame},
                result_format={"result_format": result_format, "partial_unexpected_count": positions},
                run_id=self._run_id,
            )
            if found.success:
                break
        results: dict[str, list[Any]] = {group: [] for group in expectations}
        for result in found.results:
            results[result.expectation_config.meta["group"]].append(result)
        self._succeeded[name] = found.success
        return results

    def write_data_docs(self, folder: Path) -> None:
        """A web site of the results that loads nothing from elsewhere and runs no script."""
        store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
        self._context.add_data_docs_site(
            "gate",
            {
                "class_name": "SiteBuilder",
                "show_how_to_buttons": False,
                "store_backend": store,
                "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
                # A result's page shows its suite as well.
                "site_section_builders": {"expectations": "none", "profiling": "none"},
            },
        )
        self._context.build_data_docs(site_names=["gate"])
        for page in folder.glob("validations/**/*.html"):
            page.write_text(_without_remote_parts(page.read_text(encoding="utf-8")), encoding="utf-8")
        self._write_index(folder)

    def _write_index(self, folder: Path) -> None:
        """Great Expectations' own index is empty without scripts from elsewhere."""
        items = []
        for name, succeeded in self._succeeded.items():
            for page in sorted(folder.glob(f"validations/{name}/**/*.html")):
                link = f'<a href="{page.relative_to(folder)}">{html.escape(name)}</a>'
                items.append(f"<li>{link}: {'all expectations met' if succeeded else 'not all expectations met'}</li>")
        listed = "\n".join(items)
        (folder / "index.html").write_text(
            f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>{_POLICY}<title>Gate</title></head>\n"
            f"<body><h1>What Great Expectations found in the candidate</h1>\n<ul>\n{listed}\n</ul></body></html>\n",
            encoding="utf-8",
        )


# Sample values come from strangers; the pages are published, and a release must not phone anywhere.
_POLICY = (
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'\">"
)
_REMOTE = re.compile(
    r"<script\b.*?</script>|<(?:link|img)\b[^>]*https?://[^>]*>|url\(['\"]?https?://[^)]*\)", re.DOTALL
)


def _without_remote_parts(page: str) -> str:
    return _REMOTE.sub("", page).replace("<head>", f"<head>{_POLICY}", 1)


@contextmanager
def quiet() -> Iterator[None]:
    """Great Expectations logs what ends up in the verdict; it would appear twice."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)

"""Hundreds of spoilt files of every source, landed, staged and modelled for real: each is refused with one sentence, or
accepted with its bad rows set aside and every good one published.
"""

import contextlib
import json
import os
import socket
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines import landing, staging
from pipelines.contracts import ContractError
from pipelines.editions import Edition, Editions
from pipelines.settings import Settings
from pipelines.sources import FETCHERS, http
from pipelines.warehouse import Warehouse, WarehouseError
from tests.faults.hostile_files import VENUE_ID, Hostile, corpus, expected
from tests.model_runs import ModelRun
from tests.upstream_servers import Exchange, Seen, _Server

SEED = int(os.environ.get("HOSTILE_SEED", "20261130"))
TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"
FILE_NAMES = {"files": "papers.parquet", "paper_copilot": "papers.jsonl", "conference_site": "events.json"}
A_FEW = 12
REFUSALS = (landing.LandingError, ContractError, WarehouseError)


class PageServer(_Server):
    """OpenReview's protocol around pages of any bytes: one page a venue, then no more, and a light pass that agrees."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, bytes] = {}

    def respond(self, exchange: Exchange, request: Seen) -> None:
        query = request.query
        body = self.pages[request.path.strip("/").split("/")[0]]
        if "after=" in query:
            body = b'{"notes": []}'
        elif "select=" in query:
            body = self._light(body)
        exchange.answer(200, {"Content-Type": "application/json", "Content-Length": str(len(body))}, body)

    @staticmethod
    def _light(page: bytes) -> bytes:
        with contextlib.suppress(ValueError, RecursionError):
            told = []
            for note in json.loads(page.decode("utf-8-sig", "replace"), parse_int=lambda digits: int(digits[:300]))["notes"]:
                if isinstance(note, dict):
                    details = note.get("details")
                    replies = details.get("replies") if isinstance(details, dict) else None
                    few = [one for one in replies or [] if isinstance(one, dict)] if isinstance(replies, list) else []
                    told.append(_dated(note) | {"details": {"replies": [_dated(one) for one in few]}})
            return json.dumps({"notes": told}).encode()
        return b'{"notes": []}'


def _dated(note: Mapping[str, Any]) -> dict[str, Any]:
    return {key: note[key] for key in ("id", "tmdate", "tcdate") if key in note}


@dataclass
class Outcome:
    """What became of the corpus."""

    run: ModelRun
    accepted: dict[str, Hostile] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    tracebacks: dict[str, str] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)

    @contextlib.contextmanager
    def judging(self, name: str) -> Iterator[None]:
        """Note what is raised about a file."""
        try:
            yield
        except REFUSALS as error:
            self.refused[name] = str(error)
        except Exception as error:
            self.refused[name] = self.tracebacks[name] = f"{type(error).__name__}: {error}"

    @property
    def landed(self) -> dict[str, Hostile]:
        return {name: file for name, file in self.accepted.items() if name not in self.refused}


class CorpusRun(ModelRun):
    """A warehouse with limits that the bombs of the corpus exceed and its largest texts do not."""

    @property
    def warehouse(self) -> Warehouse:
        root = self.folder / "warehouse"
        root.mkdir(exist_ok=True)
        settings = Settings(
            warehouse_dir=root, lock_wait_seconds=5, http_attempts=1, http_timeout_seconds=10, threads=2,
            memory_limit="1GB", max_batch_bytes=64_000_000, max_unpacked_bytes=500_000_000,
        )  # fmt: skip
        return Warehouse(settings)


def source_of(name: str, hostile: Hostile, folder: Path, server: PageServer) -> dict[str, Any]:
    if hostile.kind == "openreview":
        server.pages[name] = hostile.body
        return {"kind": "openreview", "name": name, "api": "v2", "base_url": server.url(f"/{name}")}
    path = folder / "upstream" / name / FILE_NAMES[hostile.kind]
    path.parent.mkdir(parents=True)
    path.write_bytes(hostile.body)
    return {"kind": hostile.kind, "name": name, "path": str(path)}


def take_in(files: list[Hostile], folder: Path, server: PageServer) -> Outcome:
    """Land and stage every file as a source, `A_FEW` an edition, then build the marts of all that were accepted.

    A source that is refused when it is staged would keep its edition out; it is taken out, as its operator would do.
    """
    outcome = Outcome(CorpusRun(folder))
    warehouse = outcome.run.warehouse
    numbered = [(f"s{number:04d}_{hostile.kind}", hostile) for number, hostile in enumerate(files)]
    for start in range(0, len(numbered), A_FEW):
        few = dict(numbered[start : start + A_FEW])
        sources = [source_of(name, hostile, folder, server) for name, hostile in few.items()]
        given = {"id": f"e{start:04d}", "venue": "TEST", "year": 2026, "venue_id": VENUE_ID}
        for source in Edition.model_validate(given | {"sources": sources}).sources:
            outcome.places[source.name] = str(getattr(source, "path", None) or source.base_url)
            edition = Edition.model_validate(given | {"sources": [s for s in sources if s["name"] == source.name]})
            with outcome.judging(source.name):
                landing.land(
                    edition, source, FETCHERS[source.kind], warehouse=warehouse, settings=warehouse.settings, log=print
                )
                outcome.accepted[source.name] = few[source.name]
        while landed := [source for source in sources if source["name"] in outcome.landed]:
            edition = Edition.model_validate(given | {"sources": landed})
            try:
                staging.stage(edition, Editions(editions=[edition]), warehouse=warehouse, log=print)
                break
            except Exception as error:
                # The message has to name the file; else nobody could tell which source to take out.
                blamed = [source["name"] for source in landed if f"/{source['name']}/" in str(error)]
                assert len(blamed) == 1, f"{[source['name'] for source in landed]}: {error!r}"
                with outcome.judging(blamed[0]):
                    raise
    outcome.run.build()
    return outcome


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    print(f"HOSTILE_SEED={SEED}")
    with pytest.MonkeyPatch.context() as patch, PageServer() as server:
        patch.setattr(http, "BACKOFF_SECONDS", 0.001)
        patch.setenv("NO_PROXY", "*")
        patch.setenv("OPENREVIEW_TOKEN", TOKEN)
        yield take_in(corpus(SEED), tmp_path_factory.mktemp("corpus"), server)

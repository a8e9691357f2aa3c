"""Hundreds of spoilt files of every source, landed, staged and modelled for real: each is refused with one sentence, or
accepted with its bad rows set aside and every good one published.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import Edition, Editions
from pipelines.config.settings import Settings
from pipelines.land import landing
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import LandingError
from pipelines.stage import staging
from pipelines.stage.contracts import ContractError
from pipelines.warehouse import Warehouse, WarehouseError
from tests.faults.conftest import Tally
from tests.faults.hostile_files import VENUE_ID, Hostile, corpus, expected
from tests.model_runs import ModelRun
from tests.upstream_servers import Exchange, Seen, _Server

SEED = int(os.environ.get("HOSTILE_SEED", "20261130"))
TOKEN = "eyJ.a-t0ken-of-a-test.s1gned"
FILE_NAMES = {"files": "papers.parquet", "paper_copilot": "papers.jsonl", "conference_site": "events.json"}
A_FEW = 12
pytestmark = [pytest.mark.faults("hostile files"), pytest.mark.slow, pytest.mark.xdist_group("hostile files")]

REFUSALS = (LandingError, ContractError, WarehouseError)


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
            for note in json.loads(page.decode("utf-8-sig", "replace"), parse_int=lambda digits: int(digits[:300]))[
                "notes"
            ]:
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
    snapshots: dict[str, str] = field(default_factory=dict)

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
                snapshot, _ = landing.land(
                    edition, source, FETCHERS[source.kind], warehouse=warehouse, settings=warehouse.settings, log=print
                )
                outcome.snapshots[source.name] = snapshot.record.snapshot_id
                outcome.accepted[source.name] = few[source.name]
        while landed := [source for source in sources if source["name"] in outcome.landed]:
            edition = Edition.model_validate(given | {"sources": landed})
            try:
                staging.stage(edition, Editions(editions=[edition]), warehouse=warehouse, log=print)
                break
            except Exception as error:
                # The message has to name the file; else nobody could tell which source to take out.
                blamed = [source["name"] for source in landed if f"/{source['name']}/" in str(error)]
                if len(blamed) != 1:
                    pytest.fail(f"{[source['name'] for source in landed]}: {error!r}")
                with outcome.judging(blamed[0]):
                    raise
    outcome.run.build()
    return outcome


@pytest.fixture(scope="module", params=[0, pytest.param(1, marks=pytest.mark.faults_full)], ids=["even", "odd"])
def outcome(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """Every other file; the rest is for the long set. HOSTILE_SEED makes other files."""
    print(f"HOSTILE_SEED={SEED}")
    with pytest.MonkeyPatch.context() as patch, PageServer() as server:
        patch.setattr("pipelines.sources.http.retries.BACKOFF_SECONDS", 0.001)
        patch.setenv("NO_PROXY", "*")
        patch.setenv("OPENREVIEW_TOKEN", TOKEN)
        yield take_in(corpus(SEED)[request.param :: 2], tmp_path_factory.mktemp("corpus"), server)


def test_each_file_is_refused_with_one_sentence_or_accepted(outcome: Outcome) -> None:
    """Never a traceback, or an exception nobody foresaw, as the message; each refusal names the file or address."""
    assert outcome.tracebacks == {}
    assert len(outcome.accepted) + len(outcome.refused.keys() - outcome.accepted.keys()) == len(outcome.places)
    for name, message in outcome.refused.items():
        assert f"/{name}" in message
        assert len(message) < 1500, message
        assert "Traceback" not in message
        assert "\n" not in message
        assert message.isprintable(), message


def test_valid_files_are_accepted_and_nothing_in_them_is_set_aside(outcome: Outcome) -> None:
    valid = [name for name, file in outcome.landed.items() if not file.spoilt or file.spoilt in file.good]
    assert len(valid) >= 10
    for name in valid:
        set_aside = outcome.run.marts(
            "select reason from quarantined_rows join snapshots using (edition_id, snapshot_number) "
            "where snapshot_id = ?",
            [outcome.snapshots[name]],
        )
        assert set_aside == [], f"{name}: {outcome.landed[name].name}"


def lost_papers(outcome: Outcome) -> dict[str, list[str]]:
    """Good papers of accepted files that are not in the marts, by their file."""
    published = dict(outcome.run.marts("select paper_id, title from papers"))
    return {
        f"{name}: {file.name}": missing
        for name, file in outcome.landed.items()
        if (missing := [id_ for id_ in file.good if published.get(id_) != f"Paper {id_}"])
    }


def test_no_good_row_is_lost(outcome: Outcome) -> None:
    assert lost_papers(outcome) == {}
    reviewed = dict(outcome.run.marts("select paper_id, count(*) from reviews group by 1"))
    few = {
        f"{name}: {file.name}": short
        for name, file in outcome.landed.items()
        if file.kind != "conference_site" and (short := [id_ for id_ in file.good if reviewed.get(id_, 0) < 2])
    }
    assert few == {}


def test_rows_in_are_rows_in_marts_merged_or_set_aside_with_a_reason(outcome: Outcome) -> None:
    marts = outcome.run.marts
    wrong = "select * from row_conservation where rows_in != rows_in_marts + rows_merged + rows_quarantined"
    assert marts(wrong) == []
    snapshots = marts("select count(*) from snapshots")
    assert snapshots == [(len(outcome.landed),)]
    assert marts("select row_json from quarantined_rows where coalesce(length(trim(reason)), 0) < 10") == []
    ((set_aside,),) = marts("select count(*) from quarantined_rows where row_kind = 'paper'")
    assert set_aside > 10


def test_texts_arrive_unchanged_and_run_nowhere(outcome: Outcome) -> None:
    """SQL, Jinja, HTML, paths and all the rest are what they were, blanks at the ends and NUL aside."""
    checked = 0
    for file in outcome.landed.values():
        for column, text in file.texts.items():
            ((found,),) = outcome.run.marts(f"select {column} from papers where paper_id = ?", [file.spoilt])
            assert found == expected(text), f"{file.kind}, {file.name}: {column}"
            checked += 1
        for column, text in file.reviews.items():
            ((found,),) = outcome.run.marts(f"select {column} from reviews where review_id = ?", [f"{file.spoilt}_r1"])
            assert found == expected(text), f"{file.kind}, {file.name}: review {column}"
            checked += 1
    assert checked > 100
    assert not Path("/tmp/pwned").exists()


def test_nothing_is_written_outside_the_warehouse(outcome: Outcome) -> None:
    """Ids, names and texts with path characters lead nowhere: every file is where this pipeline puts files."""
    root = outcome.run.folder
    top = {path.name for path in root.iterdir()}
    assert top == {"warehouse", "upstream", "target", "logs"}
    warehouse = outcome.run.warehouse.root
    assert {path.name for path in warehouse.iterdir()} <= {
        "landing", "working.duckdb", "marts.duckdb", ".locks", ".tmp"
    }  # fmt: skip
    names = {path.name for path in warehouse.joinpath("landing").rglob("*") if path.is_file()}
    known = {"papers.parquet", "papers.jsonl", "events.json", "snapshot.json", "pulls.jsonl", "page-00001.json"}
    assert names <= known | {"crawl.json"}


def test_no_text_of_the_marts_holds_what_breaks_readers(outcome: Outcome) -> None:
    marts = outcome.run.marts
    columns = marts("""
        select table_name, column_name, data_type from duckdb_columns()
        where not internal and data_type in ('VARCHAR', 'VARCHAR[]')
    """)
    assert len(columns) > 50
    for table, column, kind in columns:
        text = column if kind == "VARCHAR" else f"array_to_string({column}, '')"
        assert marts(f"select count(*) from {table} where contains({text}, chr(0))") == [(0,)], f"{table}.{column}"


def test_the_figures(outcome: Outcome, tally: Tally, capsys: pytest.CaptureFixture[str]) -> None:
    lost = sum(map(len, lost_papers(outcome).values()))
    tally.injected = len(outcome.places)
    tally.recovered = len(outcome.places) - len(outcome.tracebacks)
    tally.rows_lost = lost
    ((set_aside,),) = outcome.run.marts("select count(*) from quarantined_rows")
    ((mended,),) = outcome.run.marts("select count(*) from papers where contains(title || abstract, chr(65533))")
    with capsys.disabled():
        print(
            f"\nhostile corpus, seed {SEED}: {len(outcome.places)} files, {len(outcome.refused)} refused with one "
            f"sentence, {len(outcome.landed)} accepted, {set_aside} rows quarantined, {mended} papers mended, "
            f"good rows lost = {lost}, tracebacks = {len(outcome.tracebacks)}"
        )
    assert len(outcome.places) >= 200

"""What `SECURITY.md` promises of connections, limits, files and links; whole runs are in `tests/faults`."""

import gzip
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import yaml

from pipelines.config.editions import EditionsError, load_editions
from pipelines.config.settings import PROJECT_DIR, Settings, without_secrets
from pipelines.land import landing
from pipelines.model.dbt_functions import Plugin
from pipelines.sources import FETCHERS
from pipelines.sources.fetched import LandingError
from pipelines.stage import staging
from pipelines.warehouse import Warehouse, sql_string
from tests.conftest import Land
from tests.hub_files import editions_of, files_edition, hub_row, write_hub_file
from tests.upstream_servers import Exchange, FileServer


def refused(connection: duckdb.DuckDBPyConnection, statement: str) -> str:
    with pytest.raises(duckdb.Error) as caught:
        connection.execute(statement).fetchall()
    return str(caught.value)


def dbt_connection(warehouse: Warehouse) -> duckdb.DuckDBPyConnection:
    """What dbt-duckdb makes of the profile and the plugin, by its own code."""
    from dbt.adapters.duckdb.credentials import Attachment, DuckDBCredentials
    from dbt.adapters.duckdb.environments import Environment

    given = yaml.safe_load((PROJECT_DIR / "dbt_project" / "profiles.yml").read_text())
    profile = given["peer_reviews"]["outputs"]["warehouse"]
    credentials = DuckDBCredentials(
        database="working",
        schema="main",
        path=profile["path"],
        attach=[Attachment(**one) for one in profile["attach"]],
        config_options=profile["config_options"],
    )
    plugins = {"ours": Plugin("ours", plugin_config={}, credentials=credentials)}
    connection: duckdb.DuckDBPyConnection = Environment.initialize_db(credentials, plugins)
    cursor = Environment.initialize_cursor(credentials, connection.cursor(), plugins)
    return cursor


@pytest.fixture(params=["memory", "database", "read_only", "dbt"])
def connection(
    request: pytest.FixtureRequest, warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Each kind of connection that the pipeline opens."""
    if request.param == "memory":
        with warehouse.memory() as opened:
            yield opened
        return
    if request.param == "dbt":
        monkeypatch.setenv("WAREHOUSE_DIR", str(warehouse.root))
        opened = dbt_connection(warehouse)
        yield opened
        opened.close()
        return
    warehouse.new_database(warehouse.working_database)
    with warehouse.connect(warehouse.working_database, read_only=request.param == "read_only") as opened:
        yield opened


def test_no_connection_reads_or_writes_outside_the_warehouse(
    connection: duckdb.DuckDBPyConnection, warehouse: Warehouse, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text("a\n1\n")
    (warehouse.root / "link.csv").symlink_to(outside / "secret.csv")
    for statement in (
        "select * from read_text('/etc/passwd')",
        "select * from read_blob('/proc/self/environ')",
        "select * from glob('/etc/*')",
        f"select * from read_csv({sql_string(outside / 'secret.csv')})",
        f"select * from {sql_string(outside / 'secret.csv')}",
        f"select * from read_csv({sql_string(warehouse.root / 'link.csv')})",
        f"select * from read_csv({sql_string(warehouse.root / '..' / 'outside' / 'secret.csv')})",
        "select * from read_csv('http://127.0.0.1:9/a.csv')",
        f"copy (select 1) to {sql_string(outside / 'out.csv')}",
        f"copy (select 1) to {sql_string(warehouse.root / '..' / 'out.csv')}",
        f"attach {sql_string(outside / 'new.duckdb')} as other",
        f"export database {sql_string(outside / 'all')}",
        "install httpfs",
        "load httpfs",
        f"load {sql_string(warehouse.root / 'x.duckdb_extension')}",
        "create persistent secret s (type http)",
    ):
        # A path in place of a table is a table's name where replacement scans are off.
        assert re.search(r"Permission Error|disabled|Catalog Error|not allowed", refused(connection, statement)), (
            statement
        )
    assert [path.name for path in outside.iterdir()] == ["secret.csv"]
    assert not (tmp_path / "out.csv").exists()


def test_no_connection_can_be_opened_up_again(connection: duckdb.DuckDBPyConnection) -> None:
    for statement in (
        "set enable_external_access = true",
        "set allowed_directories = ['/']",
        "set allowed_paths = ['/etc/passwd']",
        "set lock_configuration = false",
        "set allowed_configs = ['enable_external_access']",
        "set autoload_known_extensions = true",
        "set allow_unsigned_extensions = true",
        "set memory_limit = '100GB'",
        "reset enable_external_access",
    ):
        refused(connection, statement)
    told = dict(connection.execute("select name, value from duckdb_settings()").fetchall())
    assert (told["enable_external_access"], told["lock_configuration"]) == ("false", "true")
    for name in ("autoinstall_known_extensions", "autoload_known_extensions", "allow_community_extensions"):
        assert told[name] == "false"


def test_the_warehouse_itself_is_within_reach(connection: duckdb.DuckDBPyConnection, warehouse: Warehouse) -> None:
    file = sql_string(warehouse.root / "a.parquet")
    connection.execute(f"copy (select 42 as n) to {file}")
    assert connection.execute(f"select n from {file}").fetchall() == [(42,)]


def test_a_warehouse_behind_a_link_is_within_reach(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "warehouse").symlink_to(tmp_path / "disk")
    warehouse = Warehouse(Settings(warehouse_dir=tmp_path / "warehouse", threads=1, memory_limit="1GB"))
    warehouse.new_database(warehouse.working_database)
    with warehouse.connect(warehouse.working_database) as connection:
        connection.execute("create table t as select 1 as n")
        connection.execute("checkpoint")


def test_spilling_still_works(tmp_path: Path) -> None:
    warehouse = Warehouse(Settings(warehouse_dir=tmp_path, threads=1, memory_limit="60MB"))
    with warehouse.memory() as connection:
        query = "select count(*) from (select i, repeat('x', 60) || i as s from range(1000000) r (i) order by s desc)"
        assert connection.execute(f"create table t as {query.replace('count(*)', '*')}").fetchall() == [(1_000_000,)]


# Limits on what is unpacked


class _Bombs(FileServer):
    """Answers every request with some kilobytes of gzip that stand for a gigabyte."""

    def respond(self, exchange: Exchange, request: object) -> None:
        body = gzip.compress(b'{"a": "' + bytes(1 << 20) * 1000)
        exchange.answer(200, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, body)


ASK = """
import resource, sys
from pipelines.sources.fetched import LandingError
from pipelines.config.settings import Settings
from pipelines.sources import http
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    http.get_json(sys.argv[1], settings=Settings(max_batch_bytes=10_000_000, http_attempts=1), log=print)
except LandingError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_compressed_answer_is_cut_off_while_it_is_unpacked() -> None:
    with _Bombs() as server:
        done = subprocess.run(
            [sys.executable, "-c", ASK, server.url("/a.json")],
            env=os.environ | {"NO_PROXY": "*", "PYTHONPATH": str(PROJECT_DIR)},
            capture_output=True,
            text=True,
            timeout=60,
        )
    said, grown = done.stdout.splitlines()
    assert "sends more than 10.0 MB; refused" in said
    assert int(grown) < 150  # MB, of the thousand that the answer stands for


def test_a_file_that_is_too_large_does_not_land(warehouse: Warehouse, tmp_path: Path) -> None:
    upstream = write_hub_file(tmp_path / "papers.parquet", [hub_row(1)])
    for limit, name in ((100, "MAX_FILE_BYTES"), (10, "MAX_UNPACKED_BYTES"), (10, "MAX_BATCH_BYTES")):
        settings = Settings(warehouse_dir=warehouse.root, **{name.lower(): limit})
        edition = files_edition(upstream)
        with pytest.raises(LandingError, match=f"papers.parquet .* more than {name}={limit} allows"):
            landing.land(
                edition,
                edition.sources[0],
                FETCHERS["files"],
                warehouse=Warehouse(settings),
                settings=settings,
                log=print,
            )
        assert not list(warehouse.landing.rglob("snapshot.json"))


def test_limits_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_FILE_BYTES", "1000")
    monkeypatch.setenv("MAX_UNPACKED_BYTES", "2kB")
    monkeypatch.setenv("MAX_BATCH_BYTES", "3000")
    settings = Settings()
    assert (settings.max_file_bytes, settings.max_unpacked_bytes, settings.max_batch_bytes) == (1000, 2000, 3000)


# Links


def test_a_landed_file_that_became_a_link_is_not_read(land: Land, warehouse: Warehouse, tmp_path: Path) -> None:
    edition = files_edition(write_hub_file(tmp_path / "papers.parquet", [hub_row(1)]))
    snapshot = land(edition)
    (file,) = snapshot.paths()
    elsewhere = tmp_path / "elsewhere.parquet"
    elsewhere.write_bytes(file.read_bytes())
    snapshot.folder.chmod(0o755)
    file.unlink()
    file.symlink_to(elsewhere)
    with pytest.raises(LandingError, match="is not the file that landed"):
        staging.stage(edition, editions_of(edition), warehouse=warehouse, log=print)


def test_a_snapshot_folder_that_became_a_link_is_not_read(land: Land, warehouse: Warehouse, tmp_path: Path) -> None:
    edition = files_edition(write_hub_file(tmp_path / "papers.parquet", [hub_row(1)]))
    snapshot = land(edition)
    snapshot.folder.chmod(0o755)
    snapshot.folder.rename(tmp_path / "moved")
    snapshot.folder.symlink_to(tmp_path / "moved")
    with pytest.raises(LandingError, match="is a link"):
        staging.stage(edition, editions_of(edition), warehouse=warehouse, log=print)


def test_a_source_that_is_a_link_lands_as_a_file_of_its_own(land: Land, tmp_path: Path) -> None:
    write_hub_file(tmp_path / "real.parquet", [hub_row(1)])
    (tmp_path / "papers.parquet").symlink_to(tmp_path / "real.parquet")
    (file,) = land(files_edition(tmp_path / "papers.parquet")).paths()
    assert not file.is_symlink()
    assert file.stat().st_nlink == 1


# editions.yaml

_BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
_EDITION = """editions:
  - id: test-2026
    venue: TEST
    year: 2026
    venue_id: TEST.cc/2026/Conference
    sources: [{kind: files, path: papers.parquet}]
"""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("editions: !!python/object/apply:os.system ['touch pwned']", "could not determine a constructor"),
        ("editions: !!python/name:os.system", "could not determine a constructor"),
        ("editions: !include /etc/passwd", "could not determine a constructor"),
        (_BOMB + "editions: *j\n", "edition number 1"),
        ("&a editions: [*a]", "found unconstructable recursive node|edition"),
        ("editions: &e [*e]", "edition"),
        (_EDITION + "    year: 2027\n", "key 'year' appears twice"),
        (_EDITION.replace("id: test-2026", "id: ../../etc"), "does not match the pattern"),
        (_EDITION.replace("id: test-2026", "id: CON"), "does not match the pattern"),
        (_EDITION.replace("{kind: files,", "{kind: files, name: ../x,"), "does not match the pattern"),
        (_EDITION.replace("{kind: files,", '{kind: files, name: "a\\0b",'), "does not match the pattern"),
        ("[" * 5000, "not valid YAML"),
        ("\x00", "not valid YAML"),
        ("editions: [{<<: [1, 2]}]", "not valid YAML"),
        ("- 1", "edition"),
        ("", "edition|dict"),
        ("? [a, b]\n: c\n", "."),
        ("{[a]: b}", "."),
    ],
    ids=range(18),
)
def test_tricks_in_the_editions_file(tmp_path: Path, text: str, sentence: str) -> None:
    file = tmp_path / "editions.yaml"
    file.write_text(text)
    with pytest.raises(EditionsError) as caught:
        load_editions(file)
    message = caught.value.format_message()
    assert re.search(sentence, message), message
    assert message.startswith(str(file))
    assert "\n" not in message
    assert len(message) < 2000
    assert list(tmp_path.iterdir()) == [file]


def test_merge_keys_work_and_the_own_keys_win(tmp_path: Path) -> None:
    file = tmp_path / "editions.yaml"
    file.write_text(_EDITION.replace("  - id", "  - &a\n    id") + "  - {<<: *a, id: other-2026}\n")
    assert load_editions(file).ids == ["test-2026", "other-2026"]


# Secrets, and what serves


def test_the_values_of_secrets_are_taken_out_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_abcdefgh")
    monkeypatch.setenv("OPENREVIEW_TOKEN", "Bearer eyJ.abc.def")
    assert without_secrets("got hf_abcdefgh and eyJ.abc.def") == "got *** and ***"
    monkeypatch.setenv("HF_TOKEN", "abc")
    assert without_secrets("abcdef") == "abcdef"


def test_every_dependency_is_pinned_with_hashes() -> None:
    text = (PROJECT_DIR / "requirements.lock").read_text()
    entries = [entry for entry in re.split(r"\n(?=\S)", text) if entry.strip() and not entry.startswith("#")]
    assert len(entries) > 100
    for entry in entries:
        assert re.match(r"[\w.\[\]-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry
    assert not re.search(r"https?://|--(extra-)?index-url|--trusted-host", text)
    assert "--require-hashes" in (PROJECT_DIR / "Makefile").read_text()


def test_security_md_names_tests_that_exist() -> None:
    page = (PROJECT_DIR / "SECURITY.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", page)
    assert len(named) > 10
    for file, test in named:
        assert (PROJECT_DIR / file).is_file(), file
        assert not test or f"def {test}(" in (PROJECT_DIR / file).read_text(), f"{file}::{test}"

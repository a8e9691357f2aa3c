"""`doctor.py`: each check finds what was planted for it, says what to do, and leaves nothing behind."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from pipelines.__main__ import main
from pipelines.config.settings import PROJECT_DIR, Settings
from pipelines.operate import doctor
from pipelines.operate.doctor import Finding, folder, installation, kept, work
from pipelines.warehouse import Warehouse
from tests.conftest import Land
from tests.hub_files import files_edition, ten_papers, write_hub_file

HOLD = """
import sys, pathlib
from pipelines.config.settings import Settings
from pipelines.warehouse import Warehouse
warehouse = Warehouse(Settings(warehouse_dir=pathlib.Path(sys.argv[1])))
with warehouse.writing("test"), warehouse.connect(warehouse.working_database):
    print("held", flush=True)
    sys.stdin.read()
"""

not_as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere, so that nothing is refused")


def levels(findings: Iterable[Finding]) -> list[str]:
    return [finding.level for finding in findings]


def only(findings: Iterable[Finding], level: str) -> str:
    """What the single finding of the check says, which has this level."""
    (finding,) = findings
    assert finding.level == level, finding
    return finding.said


# --- the installation -------------------------------------------------------------------------------------------------


def test_this_python_will_do_and_an_old_one_would_not() -> None:
    assert only(installation.check_python(), "ok")
    assert "make a new .venv with Python 9.9 or newer." in only(installation.check_python((9, 9)), "problem")


def test_packages_are_compared_with_the_lock(tmp_path: Path) -> None:
    lock = tmp_path / "requirements.lock"
    found = {name: metadata.version(name) for name in ("dagster", "duckdb")}
    lock.write_text("".join(f"{name}=={version} \\\n    --hash=sha256:0\n" for name, version in found.items()))
    assert only(installation.check_packages(lock), "ok") == "as in requirements.lock"
    lock.write_text(f"dagster=={found['dagster']}\nduckdb==0.1\nnot-for-this-platform==1\n")
    assert f"duckdb {found['duckdb']} instead of 0.1; run 'make clean setup'" in only(
        installation.check_packages(lock), "warning"
    )


def test_a_package_that_the_project_needs_is_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["absent-package>=1,<2"]\n')
    (tmp_path / "requirements.lock").write_text("absent-package==1.5\n")
    monkeypatch.setattr(installation, "PROJECT_DIR", tmp_path)
    said = only(installation.check_packages(tmp_path / "requirements.lock"), "problem")
    assert said == "not installed: absent-package; run 'make setup'."


def test_settings_that_cannot_work(warehouse: Warehouse, tmp_path: Path) -> None:
    def changed(**update: object) -> Settings:
        return warehouse.settings.model_copy(update={"notify_webhook_url": "https://chat.example/x"} | update)

    assert levels(installation.check_settings(changed())) == ["ok"]
    assert "nobody is told" in list(installation.check_settings(changed(notify_webhook_url="")))[1].said
    (tmp_path / "bad.yaml").write_text("editions: [{id: Bad_Id}]\n")
    assert "bad.yaml" in only(installation.check_settings(changed(editions_file=tmp_path / "bad.yaml")), "problem")


def test_a_file_of_secrets_that_others_can_read(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    assert only(installation.check_secrets(file), "ok") == "there is no .env"
    file.write_text("HF_TOKEN=x\n")
    file.chmod(0o644)
    assert f"chmod 600 {file}" in only(installation.check_secrets(file), "warning")
    file.chmod(0o600)
    only(installation.check_secrets(file), "ok")


def test_the_dagster_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "dagster"
    assert "is made by the first run" in only(installation.check_dagster_home(), "ok")
    home.mkdir()
    assert "is made by the next run" in only(installation.check_dagster_home(), "ok")
    (home / "dagster.yaml").write_bytes((PROJECT_DIR / "dagster.yaml").read_bytes())
    assert only(installation.check_dagster_home(), "ok") == str(home)
    (home / "dagster.yaml").write_text("telemetry: {enabled: true}\n")
    assert f"cp {PROJECT_DIR / 'dagster.yaml'} {home / 'dagster.yaml'}" in only(
        installation.check_dagster_home(), "warning"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DAGSTER_HOME", "dagster")
    assert "DAGSTER_HOME=dagster is relative" in next(installation.check_dagster_home()).said


def test_the_manifest_of_dbt(warehouse: Warehouse, tmp_path: Path) -> None:
    settings = warehouse.settings.model_copy(update={"dbt_project_dir": tmp_path})
    model = tmp_path / "models" / "marts" / "papers.sql"
    model.parent.mkdir(parents=True)
    model.write_text("select 1")
    assert "is not there" in only(installation.check_dbt(settings), "warning")
    manifest = tmp_path / "target" / "manifest.json"
    manifest.parent.mkdir()
    ours = {"metadata": {"dbt_version": metadata.version("dbt-core")}, "nodes": {"seed": {"root_path": str(tmp_path)}}}
    manifest.write_text(json.dumps(ours))
    os.utime(manifest, (2e9, 2e9))
    only(installation.check_dbt(settings), "ok")
    os.utime(manifest, (1e9, 1e9))
    assert "is older than the models" in only(installation.check_dbt(settings), "warning")
    for unusable in (
        json.dumps(ours)[:-3],
        json.dumps(ours).replace(metadata.version("dbt-core"), "1.0.0"),
        json.dumps(ours).replace(str(tmp_path), "/elsewhere"),
    ):
        manifest.write_text(unusable)
        assert "the next run makes it anew" in only(installation.check_dbt(settings), "warning")


# --- the warehouse's folder -------------------------------------------------------------------------------------------


def test_a_folder_that_is_to_be_made(warehouse: Warehouse) -> None:
    only(folder.check_folder(warehouse), "ok")
    warehouse.root.rmdir()
    assert "is made by the first run" in only(folder.check_folder(warehouse), "ok")


@not_as_root
def test_a_folder_that_cannot_be_written(warehouse: Warehouse) -> None:
    warehouse.root.chmod(0o555)
    assert "change its owner" in only(folder.check_folder(warehouse), "problem")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("nfs4", "locks and renames between machines cannot be relied upon"),
        ("fuse.sshfs", "use a local disk"),
        ("overlay", "is gone with the container; mount a volume"),
        ("tmpfs", "is gone after a restart"),
    ],
)
def test_a_doubtful_kind_of_file_system(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, kind: str, words: str
) -> None:
    mounted(monkeypatch, {"/": "ext4", str(warehouse.root.parent): kind})
    warning, tried = folder.check_file_system(warehouse)
    assert warning.level == "warning"
    assert words in warning.said
    assert tried.level == "ok"
    assert list(warehouse.root.iterdir()) == []


def mounted(monkeypatch: pytest.MonkeyPatch, kinds: dict[str, str]) -> None:
    partitions = [SimpleNamespace(mountpoint=place, fstype=kind) for place, kind in kinds.items()]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: partitions)


def test_the_kind_is_that_of_the_nearest_mount(monkeypatch: pytest.MonkeyPatch) -> None:
    mounted(monkeypatch, {"/": "ext4", "/data disk": "xfs", "/data disk/x": "nfs"})
    assert folder.mount_of(Path("/data disk/warehouse")) == ("/data disk", "xfs")
    assert folder.mount_of(Path("/data disk/x/y")) == ("/data disk/x", "nfs")
    assert folder.mount_of(Path("/data diskette")) == ("/", "ext4")


def test_links_that_do_not_work(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    found = [finding for finding in folder.check_file_system(warehouse) if finding.level == "problem"]
    assert "hard links do not work (Operation not permitted); use a local disk." in only(found, "problem")
    assert list(warehouse.root.iterdir()) == []


def test_too_little_room(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    release = warehouse.releases / "20260101T000000Z-aaaaaaaa"
    release.mkdir(parents=True)
    (release / "papers.parquet").write_bytes(os.urandom(1_000_000))
    warehouse.current.symlink_to(release.relative_to(warehouse.root))
    only(folder.check_disk(warehouse), "ok")
    for free, level in ((3_000_000, "warning"), (500_000, "problem")):
        usage = folder.shutil.disk_usage(warehouse.root)._replace(free=free)
        monkeypatch.setattr(folder.shutil, "disk_usage", lambda path, usage=usage: usage)
        assert "the last release takes 1.0 MB" in only(folder.check_disk(warehouse), level)


# --- what is at work, and what was left -------------------------------------------------------------------------------


def test_who_holds_the_lock_and_the_database(warehouse: Warehouse) -> None:
    warehouse.new_database(warehouse.working_database)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, warehouse.root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert f"writer.lock by Process {holder.pid} (" in only(work.check_locks(warehouse), "warning")
        assert f"is held by process {holder.pid}; look again after" in only(work.check_databases(warehouse), "warning")
        holder.communicate()
    only(work.check_locks(warehouse), "ok")
    only(work.check_databases(warehouse), "ok")


def test_a_damaged_database(warehouse: Warehouse) -> None:
    warehouse.marts_database.write_bytes(b"not a database" * 1000)
    said = only(work.check_databases(warehouse), "warning")
    assert f"{warehouse.marts_database} cannot be opened" in said
    assert "the next run sets it aside and rebuilds it." in said


def test_a_dbt_whose_run_is_gone(warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = ["/x/python", "-u", "-m", "pipelines.model.dbt_process", "/x/dbt_project"]
    found = [
        (100, 1, ours, {"WAREHOUSE_DIR": str(warehouse.root)}),
        (101, 99, ours, {"WAREHOUSE_DIR": str(warehouse.root)}),
        (102, 1, ours, {"WAREHOUSE_DIR": str(tmp_path / "other")}),
        (103, 1, ["/x/python", "dbt.txt"], {"WAREHOUSE_DIR": str(warehouse.root)}),
        (104, 1, ours, None),  # another user's
        (105, 1, None, None),
    ]
    processes = [
        SimpleNamespace(pid=pid, info={"ppid": parent, "cmdline": words, "environ": variables})
        for pid, parent, words, variables in found
    ]
    with monkeypatch.context() as patch:
        patch.setattr(psutil, "process_iter", lambda wanted: processes)
        said = only(work.check_processes(warehouse), "problem")
    assert said.endswith("(process 100); end it: kill 100")
    only(work.check_processes(warehouse), "ok")


def test_what_killed_runs_left(warehouse: Warehouse) -> None:
    only(work.check_leftovers(warehouse), "ok")
    (warehouse.candidates / ".building").mkdir(parents=True)
    (warehouse.landing / "x-2026" / "hub" / ".incoming").mkdir(parents=True)
    (warehouse.root / "working.duckdb.damaged-20260101T000000Z").write_text("x")
    said = only(work.check_leftovers(warehouse), "warning")
    assert re.match(r"1 set-aside database file\(s\) \([^)]+\), half a candidate \(", said)
    assert "partial" not in said
    (warehouse.landing / "x-2026" / "hub" / ".incoming" / "a.part").write_text("x")
    assert "1 partial download(s)" in only(work.check_leftovers(warehouse), "warning")


# --- what is kept -----------------------------------------------------------------------------------------------------


def make_release(warehouse: Warehouse, release_id: str) -> Path:
    import json

    from pipelines.warehouse import sha256

    release = warehouse.releases / release_id
    release.mkdir(parents=True)
    database = release / "peer_reviews.duckdb"
    database.write_bytes(b"x" * 100)
    files = [{"path": database.name, "sha256": sha256(database), "bytes": 100, "rows": None}]
    (release / "manifest.json").write_text(json.dumps({"files": files}))
    return release


def test_the_current_release(warehouse: Warehouse) -> None:
    assert only(kept.check_releases(warehouse), "ok") == "none is current, 0 are there"
    old, new = (make_release(warehouse, f"2026010{day}T000000Z-aaaaaaaa") for day in (1, 2))
    assert "rollback" in only(kept.check_releases(warehouse), "warning")
    warehouse.current.symlink_to(f"releases/{new.name}")
    assert "leads nowhere" in next(kept.check_releases(warehouse)).said
    warehouse.database.symlink_to("current/peer_reviews.duckdb")
    assert only(kept.check_releases(warehouse), "ok") == f"{new.name}: 1 files are as published"
    (old / "peer_reviews.duckdb").write_bytes(b"y" * 100)
    only(kept.check_releases(warehouse), "ok")
    assert levels(kept.check_releases(warehouse, deep=True)) == ["problem", "ok"]
    (new / "manifest.json").unlink()
    assert "which is not there; run 'python -m pipelines.releases rollback'." in only(
        kept.check_releases(warehouse), "problem"
    )


def test_landed_files(warehouse: Warehouse, land: Land, tmp_path: Path) -> None:
    edition = files_edition(write_hub_file(tmp_path / "papers.parquet", ten_papers()), "test-2026")
    (file,) = land(edition).paths()
    assert only(kept.check_landing(warehouse), "ok") == "1 snapshot(s), sizes agree; --deep compares hashes"
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.chmod(0o644)
    file.write_bytes(content)
    only(kept.check_landing(warehouse), "ok")
    assert "is not the file that landed" in only(kept.check_landing(warehouse, deep=True), "problem")
    file.write_bytes(content[:-1])
    assert "is not the file that landed" in only(kept.check_landing(warehouse), "problem")


# --- the whole --------------------------------------------------------------------------------------------------------


def test_a_check_that_fails_hides_no_other(warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(warehouse: Warehouse) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr(work, "check_locks", fail)
    found = {finding.what: finding for finding in doctor.examine(warehouse.settings)}
    assert found["locks"].said == "could not be looked at (RuntimeError: odd)."
    assert list(found)[-1] == "landing"


def test_the_command_says_all_and_writes_nothing(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert all(re.match(r"(ok|warning|problem) +[a-z ]+: \S", line) for line in said[:-1])
    assert re.fullmatch(r"0 problem\(s\), \d+ warning\(s\)\.", said[-1])
    assert sorted(tmp_path.rglob("*")) == before
    (warehouse.root / "current").symlink_to("releases/gone")
    assert main(["doctor", "--deep"]) == 1
    assert "problem  release: " in capsys.readouterr().out

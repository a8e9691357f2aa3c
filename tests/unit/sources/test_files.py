"""Local files as a source, and the names that files get inside a snapshot."""

import hashlib
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.config.editions import FilesSource
from pipelines.config.settings import Settings
from pipelines.sources import files
from pipelines.sources.fetched import Fetched, LandingError


def fetch(path: Path | str, into: Path, landed: frozenset[tuple[str, str]] = frozenset()) -> Fetched | None:
    into.mkdir(exist_ok=True)
    source = FilesSource(kind="files", path=str(path))
    return files.fetch(source, into, settings=Settings(), landed=landed, log=lambda line: None)


def test_one_file_is_copied_byte_for_byte(tmp_path: Path) -> None:
    original = tmp_path / "preview.parquet"
    original.write_bytes(b"PAR1 and so on")

    fetched = fetch(original, tmp_path / "into")

    assert fetched is not None
    (file,) = fetched.files
    assert (file.name, file.path) == ("preview.parquet", tmp_path / "into" / "preview.parquet")
    assert file.path.read_bytes() == original.read_bytes()
    assert file.path.stat().st_ino != original.stat().st_ino
    assert file.url == original.as_uri() == fetched.url
    assert fetched.as_of is None


def test_a_glob_gives_its_files_in_order_and_without_folders(tmp_path: Path) -> None:
    for name in ("b.parquet", "a.parquet", "notes.txt"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "c.parquet").mkdir()

    fetched = fetch(tmp_path / "*.parquet", tmp_path / "into")

    assert fetched is not None
    assert [file.name for file in fetched.files] == ["a.parquet", "b.parquet"]


def test_files_of_the_same_name_keep_their_folder_in_the_name(tmp_path: Path) -> None:
    for name in ("2025/main.parquet", "2026/main.parquet", "2026/more.parquet"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())

    fetched = fetch(tmp_path / "**" / "*.parquet", tmp_path / "into")

    assert fetched is not None
    assert {file.name: file.path.read_bytes() for file in fetched.files} == {
        "2025__main.parquet": b"2025/main.parquet",
        "2026__main.parquet": b"2026/main.parquet",
        "more.parquet": b"2026/more.parquet",
    }


def test_a_file_whose_name_looks_like_a_glob(tmp_path: Path) -> None:
    (tmp_path / "a[1].parquet").write_bytes(b"x")

    fetched = fetch(tmp_path / "a[1].parquet", tmp_path / "into")

    assert fetched is not None
    assert fetched.files[0].name == "a[1].parquet"


def test_nothing_matches(tmp_path: Path) -> None:
    (tmp_path / "papers.csv").touch()
    (tmp_path / "older").mkdir()

    with pytest.raises(LandingError) as caught:
        fetch(tmp_path / "*.parquet", tmp_path / "older")

    assert str(caught.value) == f"{tmp_path}/*.parquet: no file matches; {tmp_path} holds older/, papers.csv."


def test_nothing_matches_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=f"no file matches; {tmp_path} holds into/"):
        fetch(tmp_path / "absent" / "*" / "a.parquet", tmp_path / "into")


def test_a_folder_is_not_a_pattern(tmp_path: Path) -> None:
    with pytest.raises(LandingError, match=r"is a folder; write .*/\*\.parquet"):
        fetch(tmp_path, tmp_path / "into")


def test_unchanged_files_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"one")
    one = hashlib.sha256(b"one").hexdigest()

    assert fetch(tmp_path / "a.parquet", tmp_path / "into", frozenset({("a.parquet", one)})) is None
    assert list((tmp_path / "into").iterdir()) == []
    assert fetch(tmp_path / "a.parquet", tmp_path / "into", frozenset({("b.parquet", one)})) is not None
    assert fetch(tmp_path / "a.parquet", tmp_path / "into", frozenset({("a.parquet", "0" * 64)})) is not None


def test_a_file_that_changes_while_it_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = tmp_path / "a.parquet"
    original.write_bytes(b"first half")
    copyfile = shutil.copyfile

    def copy_beside_a_writer(source: Path, target: Path) -> Any:
        copied = copyfile(source, target)
        with source.open("ab") as file:
            file.write(b", second half")
        return copied

    monkeypatch.setattr(shutil, "copyfile", copy_beside_a_writer)

    with pytest.raises(LandingError, match=r"a\.parquet changed while it was copied"):
        fetch(original, tmp_path / "into")

    assert not (tmp_path / "into" / "a.parquet").exists()


def test_names_inside_a_snapshot() -> None:
    assert files.snapshot_names(["data/main-00000-of-00001.parquet"]) == ["main-00000-of-00001.parquet"]
    assert files.snapshot_names(["data/main.parquet", "data/old/MAIN.parquet", "x/b.parquet"]) == [
        "data__main.parquet",
        "data__old__MAIN.parquet",
        "b.parquet",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "data/.hidden.parquet",
        "data/..",
        "data/a\\b.parquet",
        "data/a\x00b.parquet",
        "data/a\nb.parquet",
        "data/a\u202eb.parquet",
        "data/a\ud835b.parquet",
        "data/C:a.parquet",
        "data/snapshot.json",
        "data/Snapshot.JSON",
        "data/a.parquet.part",
        "data/" + "a" * 201,
    ],
)
def test_names_that_a_snapshot_cannot_have(path: str) -> None:
    with pytest.raises(LandingError, match="cannot be the name of a landed file"):
        files.snapshot_names([path])


def test_names_that_stay_the_same() -> None:
    with pytest.raises(LandingError, match=r"would both be landed as 'a__b__c\.parquet'"):
        files.snapshot_names(["a/b__c.parquet", "a__b/c.parquet", "z/c.parquet", "z/b__c.parquet"])

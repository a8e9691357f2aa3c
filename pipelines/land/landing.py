"""Landing: the bytes as an upstream gave them, one immutable folder per snapshot.

Here belongs writing, finding and verifying snapshots. How bytes are fetched belongs in `sources/`, what is inside
them in `stage/`.

    warehouse/landing/<edition>/<source>/<snapshot>/   the files and `snapshot.json`, read-only once they stand
    warehouse/landing/<edition>/<source>/pulls.jsonl   which snapshot the upstream showed, each time that changed
    warehouse/landing/<edition>/<source>/.incoming/    downloads under way; what can be resumed stays here
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ConfigDict

from pipelines.config.editions import Edition, Source
from pipelines.config.settings import Settings
from pipelines.formats.records import RecordsError, read_records
from pipelines.formats.unpacking import Unpacked, UnpackingError, measure
from pipelines.sources.fetched import Fetch, Fetched, FetchedFile, LandingError, Log
from pipelines.warehouse import Warehouse, sha256, sync

PARQUET_MAGIC = b"PAR1"


class LandedFile(BaseModel):
    """One file of a snapshot, as `snapshot.json` records it.

    `bytes` is its size; `rows` is its record count where a file has one of its own (the records of JSON sources are
    counted over all files of the snapshot), and `texts_with_nul` of how many of its texts staging has to mend.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    url: str
    sha256: str
    bytes: int
    rows: int | None
    texts_with_nul: int | None = None


class SnapshotRecord(BaseModel):
    """The content of `snapshot.json`. `sha256` is over the files in order, whatever they are called.

    `mended` counts the texts of Parquet files, and the records of JSON sources, in which staging replaces NUL or half a
    surrogate pair; None in snapshots from before that was counted.
    """

    model_config = ConfigDict(frozen=True)

    snapshot_id: str
    edition_id: str
    source: str
    kind: str
    url: str
    revision: str | None
    etag: str | None
    as_of: AwareDatetime | None
    fetched_at: AwareDatetime
    sha256: str
    bytes: int
    rows: int
    mended: int | None = None
    files: list[LandedFile]


@dataclass(frozen=True)
class Snapshot:
    """A landed snapshot: its folder and its record, and when the upstream last began to show it (ISO 8601, UTC)."""

    folder: Path
    record: SnapshotRecord
    pulled_at: str | None = field(default=None, compare=False)

    def paths(self) -> list[Path]:
        return [self.folder / file.name for file in self.record.files]

    def verify(self) -> None:
        """Compare every file with the size and sha256 it landed with.

        Raises:
            LandingError: a file is missing or differs, or something here is a link to elsewhere.
        """
        if self.folder.is_symlink():
            raise LandingError(f"{self.folder} is a link, which snapshots never are. Remove it and run again.")
        for file, path in zip(self.record.files, self.paths(), strict=True):
            if (
                not path.is_file()
                or path.is_symlink()
                or path.stat().st_size != file.bytes
                or sha256(path) != file.sha256
            ):
                raise LandingError(
                    f"{path} is not the file that landed (sha256 {file.sha256}, {file.bytes} bytes). Move the folder "
                    f"{self.folder} away and run again to fetch it anew."
                )


def land(
    edition: Edition, source: Source, fetch: Fetch, *, warehouse: Warehouse, settings: Settings, log: Log
) -> tuple[Snapshot, bool]:
    """Pull one source of one edition; returns the snapshot it shows now and whether that is news.

    Raises:
        LandingError: the upstream failed or gave something unusable; nothing was kept.
    """
    place = warehouse.landing / edition.id / source.name
    incoming = place / ".incoming"
    with warehouse.lock(f"landing-{edition.id}-{source.name}", f"land {edition.id}/{source.name}"):
        incoming.mkdir(parents=True, exist_ok=True)
        before = current_snapshot(warehouse, edition.id, source.name)
        landed = frozenset((file.name, file.sha256) for file in before.record.files) if before else frozenset()
        previous = before.paths() if before else []
        fetched = fetch(source, incoming, settings=settings, landed=landed, previous=previous, log=log)
        if fetched is None:
            if before is None:
                raise LandingError(
                    f"{edition.id}/{source.name}: the source reported no change, yet nothing has landed."
                )
            # The same bytes may have another date now, by the editions file.
            dated = before.record.model_copy(update={"as_of": source.as_of or before.record.as_of})
            return Snapshot(before.folder, dated), _note_pull(place, before.record, dated)
        try:
            record = _record(edition, source, fetched, warehouse)
        except LandingError:
            for file in fetched.files:
                file.path.unlink(missing_ok=True)
            raise
        snapshot = Snapshot(place / record.snapshot_id, record)
        if snapshot.folder.exists():
            snapshot = _read(snapshot.folder)
            snapshot.verify()
        else:
            _place(snapshot, fetched, incoming)
        for file in fetched.files:
            file.path.unlink(missing_ok=True)
        return snapshot, _note_pull(place, snapshot.record, record)


def current_snapshot(warehouse: Warehouse, edition_id: str, source: str) -> Snapshot | None:
    """The snapshot that the source showed when it was last pulled, dated as by that pull; None where nothing landed."""
    return next(pulled(warehouse, edition_id, source), None)


def pulled(warehouse: Warehouse, edition_id: str, source: str) -> Iterator[Snapshot]:
    """Every snapshot that the source ever showed, as it was last pulled, the latest pull first."""
    place, seen = warehouse.landing / edition_id / source, set()
    for pull in reversed(_pulls(place)):
        if pull["snapshot_id"] not in seen:
            seen.add(pull["snapshot_id"])
            snapshot = _read(place / pull["snapshot_id"])
            as_of = datetime.fromisoformat(pull["as_of"]) if pull["as_of"] else None
            told = {"revision": pull["revision"], "etag": pull["etag"], "as_of": as_of}
            yield Snapshot(snapshot.folder, snapshot.record.model_copy(update=told), pull.get("pulled_at"))


def find(warehouse: Warehouse, edition_id: str, snapshot_id: str, source: str = "*") -> Snapshot:
    """An edition's landed snapshot by its id; without a source, the first of those that landed the same bytes.

    Raises:
        LandingError: it is not there.
    """
    place = warehouse.landing / edition_id
    found = sorted(place.glob(f"{source}/{snapshot_id}/snapshot.json"))
    if not found:
        raise LandingError(f"{place} has no snapshot {snapshot_id} any more; run again to fetch it.")
    return _read(found[0].parent)


def _record(edition: Edition, source: Source, fetched: Fetched, warehouse: Warehouse) -> SnapshotRecord:
    is_parquet = source.file_format == "parquet"
    for file in fetched.files:
        size, limit = file.path.stat().st_size, warehouse.settings.max_file_bytes
        if size > limit:
            raise LandingError(f"{file.url} has {size} bytes, more than MAX_FILE_BYTES={limit} allows.")
    unpacked = [_unpacked(file, warehouse) if is_parquet else None for file in fetched.files]
    files = [
        LandedFile(
            name=file.name,
            url=file.url,
            sha256=sha256(file.path),
            bytes=file.path.stat().st_size,
            rows=found.rows if found else None,
            texts_with_nul=found.texts_with_nul if found else None,
        )
        for file, found in zip(fetched.files, unpacked, strict=True)
    ]
    if is_parquet:
        rows, mended = sum(file.rows or 0 for file in files), sum(file.texts_with_nul or 0 for file in files)
    else:
        rows, mended = _json_counts(source, fetched, warehouse.settings)
    hashes = [file.sha256 for file in files]
    content = hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()
    return SnapshotRecord(
        # The content names the snapshot: the same bytes are the same snapshot wherever they came from.
        snapshot_id=content[:16],
        edition_id=edition.id,
        source=source.name,
        kind=source.kind,
        url=fetched.url,
        revision=fetched.revision,
        etag=fetched.etag,
        as_of=source.as_of or fetched.as_of,
        fetched_at=datetime.now(UTC).replace(microsecond=0),
        sha256=content,
        bytes=sum(file.bytes for file in files),
        rows=rows,
        mended=mended,
        files=files,
    )


def _json_counts(source: Source, fetched: Fetched, settings: Settings) -> tuple[int, int]:
    """Records, and how many of them are mended."""
    paths = [file.path for file in fetched.files]
    rows = mended = 0
    try:
        for record in read_records(source.dataset_schema, paths, settings.max_batch_bytes):
            rows += 1
            mended += record.is_mended
    except RecordsError as error:
        raise LandingError(f"{fetched.url}: {error}") from None
    return rows, mended


def _unpacked(file: FetchedFile, warehouse: Warehouse) -> Unpacked:
    """What the file holds, once it has shown itself to be Parquet that can be read to its end."""
    with file.path.open("rb") as opened:
        head = opened.read(512)
        opened.seek(max(0, file.path.stat().st_size - 4))
        tail = opened.read(4)
    if head.lstrip().lower().startswith((b"<!doctype", b"<html")):
        raise LandingError(f"{file.url} gave an HTML page, not a Parquet file; open it in a browser to see why.")
    if not head.startswith(PARQUET_MAGIC):
        raise LandingError(f"{file.url} is not a Parquet file (it does not begin with PAR1); check the address.")
    if tail != PARQUET_MAGIC:
        raise LandingError(f"{file.url} is a Parquet file cut short (it does not end with PAR1); fetch it again.")
    settings = warehouse.settings
    try:
        with warehouse.memory() as connection:
            return measure(
                file.path,
                connection,
                max_bytes=settings.max_unpacked_bytes,
                max_batch_bytes=settings.max_batch_bytes,
            )
    except UnpackingError as error:
        raise LandingError(f"{file.url} {error}.") from None


def _place(snapshot: Snapshot, fetched: Fetched, incoming: Path) -> None:
    """Build the snapshot beside its place, flush it, and let it appear whole."""
    building = incoming / f"{snapshot.record.snapshot_id}.building"
    if building.exists():
        shutil.rmtree(building)
    building.mkdir()
    for file in fetched.files:
        file.path.rename(building / file.name)
    (building / "snapshot.json").write_text(snapshot.record.model_dump_json(indent=2) + "\n", encoding="utf-8")
    for path in building.iterdir():
        path.chmod(0o444)
        sync(path)
    sync(building)
    building.rename(snapshot.folder)
    snapshot.folder.chmod(0o555)
    sync(snapshot.folder.parent)


def _read(folder: Path) -> Snapshot:
    record = folder / "snapshot.json"
    try:
        return Snapshot(folder, SnapshotRecord.model_validate_json(record.read_bytes()))
    except (OSError, ValueError) as error:
        raise LandingError(
            f"{record} cannot be read ({type(error).__name__}); move {folder} away and run again."
        ) from None


def _pulls(place: Path) -> list[dict[str, str]]:
    """The pulls whose snapshot stands; a last line that a crash cut short does not count."""
    try:
        lines = (place / "pulls.jsonl").read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    pulls = []
    for line in lines:
        try:
            pull = json.loads(line)
        except ValueError:
            continue
        if (place / pull["snapshot_id"] / "snapshot.json").is_file():
            pulls.append(pull)
    return pulls


def _note_pull(place: Path, landed: SnapshotRecord, pulled: SnapshotRecord) -> bool:
    """Append to the log of pulls if this one differs from the last; says whether it did."""
    told = {"revision": pulled.revision, "etag": pulled.etag, "as_of": pulled.as_of and pulled.as_of.isoformat()}
    pull = {"snapshot_id": landed.snapshot_id, **told}
    pulls = _pulls(place)
    if pulls and pull == {key: pulls[-1].get(key) for key in pull}:
        return False
    # To the microsecond, since it orders the snapshots of an edition's sources, which come within one second.
    line = json.dumps({**pull, "pulled_at": datetime.now(UTC).isoformat(timespec="microseconds")})
    handle = os.open(place / "pulls.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        # A line of its own even after one that a crash cut short.
        os.write(handle, f"\n{line}\n".encode())
        os.fsync(handle)
    finally:
        os.close(handle)
    return True

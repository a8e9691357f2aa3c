"""The benchmark's own parts: its data, its fingerprints, and how its report judges."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import fingerprint, generate, inputs, measure, report, run
from benchmarks.fingerprint import Fingerprint, Mismatch
from pipelines.stage.checks import check_files
from pipelines.stage.contracts import HUB_DATASET
from pipelines.warehouse import Warehouse, sha256


def test_the_same_arguments_give_the_same_bytes_in_the_hub_datasets_schema(
    tmp_path: Path, warehouse: Warehouse
) -> None:
    for name in ("one", "two"):
        generate.write(200, warehouse.landing / f"{name}.parquet")
    generate.write(200, warehouse.landing / "other.parquet", seed=2)
    one, two, other = (sha256(warehouse.landing / f"{name}.parquet") for name in ("one", "two", "other"))
    assert one == two != other
    (checked,) = check_files([warehouse.landing / "one.parquet"], HUB_DATASET, warehouse)
    assert checked.unknown == []
    rows = pq.read_table(warehouse.landing / "one.parquet").to_pylist()
    reviews = [review for row in rows for review in row["reviews"]]
    assert len(rows) == 200
    assert 3.4 < len(reviews) / 200 < 4.3
    texts = "\n".join(review[field] for review in reviews for field in ("summary", "strengths", "weaknesses")).encode()
    assert 2_200 < len(texts) / len(reviews) < 3_000
    assert len(texts) / len(pa.compress(texts, "zstd")) < 2.5


def test_no_id_is_in_two_editions(tmp_path: Path) -> None:
    generate.write_editions(60, 3, tmp_path)
    assert [given.edition_id for given in inputs.folder(tmp_path)] == inputs.edition_ids(3)
    rows = [row for given in inputs.folder(tmp_path) for row in pq.read_table(given.path).to_pylist()]
    urls = {row["url"] for row in rows}
    reviews = [review["review_id"] for row in rows for review in row["reviews"]]
    assert len(urls) == len(rows) == 60
    assert len(set(reviews)) == len(reviews)
    assert all(given.venue_id in row["invitation"] for given in inputs.folder(tmp_path)[2:] for row in rows[40:])


def test_a_changed_edition_differs_in_ratings_only(tmp_path: Path) -> None:
    before, after = tmp_path / "before.parquet", tmp_path / "after.parquet"
    generate.write(150, before)
    generate.write_changed(before, after)
    old, new = (
        [(row["url"], item) for row in pq.read_table(file).to_pylist() for item in row["reviews"]]
        for file in (before, after)
    )
    changed = [place for place, (was, now) in enumerate(zip(old, new, strict=True)) if was != now]
    assert changed
    assert all(place % 100 == 0 for place in changed)
    assert [(url, item | {"rating": 0}) for url, item in old] == [(url, item | {"rating": 0}) for url, item in new]
    assert pq.read_schema(before).equals(pq.read_schema(after))


ROWS = "(values (1, 'a', null), (2, 'b', ''), (3, null, 'c')) as given(number, first, second)"


def fingerprint_of(relation: str) -> Fingerprint:
    with duckdb.connect() as connection:
        return fingerprint.of_relation(connection, relation)


@pytest.mark.parametrize(
    "relation",
    [
        f"(select * from {ROWS} order by number desc)",
        f"(select second, number::double::bigint as number, first from {ROWS})",
    ],
)
def test_a_fingerprint_knows_no_order_of_rows_or_columns(relation: str) -> None:
    fingerprint.require_equal({"t": fingerprint_of(ROWS)}, {"t": fingerprint_of(relation)}, "peer")


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        (f"(select * replace (coalesce(second, '') as second) from {ROWS})", "t differs in second"),
        (f"(select * replace (case number when 1 then 'b' when 2 then 'a' end as first) from {ROWS})", "in other rows"),
        (f"(select * from {ROWS} limit 2)", "t has 2 rows, not 3"),
        (f"(select * exclude (second) from {ROWS})", "t has other columns (second)"),
        (f"(select * from {ROWS} union all select * from {ROWS} where number = 3)", "t has 4 rows, not 3"),
    ],
)
def test_a_fingerprint_finds_what_differs(relation: str, said: str) -> None:
    with pytest.raises(Mismatch, match="peer: ") as caught:
        fingerprint.require_equal({"t": fingerprint_of(ROWS)}, {"t": fingerprint_of(relation)}, "peer")
    assert said in str(caught.value)


def test_a_missing_table_is_a_mismatch() -> None:
    with pytest.raises(Mismatch, match="t is missing"):
        fingerprint.require_equal({"t": fingerprint_of(ROWS)}, {}, "peer")


def test_a_process_is_measured_with_its_children(tmp_path: Path) -> None:
    burn = """
import time
held = bytearray(300_000_000)
end = time.process_time() + 0.5
while time.process_time() < end: pass
"""
    (tmp_path / "burn.py").write_text(burn)
    command = ["sh", "-c", "python3 burn.py; echo done"]
    measured = measure.run(
        command, environment={"PATH": "/usr/bin:/bin:/usr/local/bin"}, folder=tmp_path, log=tmp_path / "log"
    )
    assert measured.cpu >= 0.5
    assert measured.wall >= 0.5
    assert 290_000_000 < measured.peak_bytes < 600_000_000
    assert (tmp_path / "log").read_text() == "done\n"
    with pytest.raises(measure.Failed, match=r"ended with code 3:\noh no"):
        measure.run(["sh", "-c", "echo oh no; exit 3"], environment={}, folder=tmp_path, log=tmp_path / "log")


def results_of(**cpu: float) -> dict[str, object]:
    runs = [
        {"candidate": name, "size": "M", "wall": 1.0, "cpu": seconds, "peak_bytes": 1, "temporary_bytes": 0, "load": 0}
        for name, seconds in cpu.items()
    ]
    return {"runs": runs}


def test_budgets_are_judged_by_medians() -> None:
    results = results_of(data_work=15.0, limit=10.0)
    extra = results_of(data_work=16.0)["runs"] + results_of(data_work=100.0)["runs"]  # type: ignore[operator]
    (first, *others) = report.figures(results)
    assert (first["value"], first["at_most"], first["is_met"]) == (1.5, 1.5, True)
    assert {other["is_met"] for other in others} == {None}
    (first, *_) = report.figures({"runs": [*results["runs"], *extra]})  # type: ignore[misc]
    assert (first["value"], first["is_met"]) == (1.6, False)
    assert "| **missed** |" in report.budget_table({"runs": [*results["runs"], *extra]})  # type: ignore[misc]


def test_a_size_that_is_measured_anew_takes_its_place_in_earlier_results() -> None:
    earlier = {
        "started": "1", "ended": "2", "is_complete": True, "commit": "aaa", "machine": {}, "versions": {},
        "inputs": {"S": {"papers": 1}}, "checks": ["limit, S: equal", "nothing new, sample: none of 22 files changed"],
        "profiles": {"sample": "slow", "S": "s"},
        "runs": [{"size": "sample", "wall": 9}, {"size": "S", "wall": 5}, {"size": "sample", "wall": 8}],
    }  # fmt: skip
    anew = earlier | {
        "started": "3", "ended": "4", "is_complete": False, "commit": "bbb", "inputs": {},
        "checks": ["nothing new, sample: none of 22 files changed"], "profiles": {"sample": "quick"},
        "runs": [{"size": "sample", "wall": 3}],
    }  # fmt: skip
    merged = run.onto(earlier, anew)
    assert merged["runs"] == [{"size": "S", "wall": 5}, {"size": "sample", "wall": 3}]
    assert merged["profiles"] == {"sample": "quick", "S": "s"}
    assert (merged["started"], merged["ended"], merged["commit"], merged["is_complete"]) == (
        "1",
        "4",
        "aaa and bbb",
        True,
    )
    assert merged["inputs"] == {"S": {"papers": 1}}
    assert len(merged["checks"]) == 2

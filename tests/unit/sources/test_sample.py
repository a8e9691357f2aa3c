"""The synthetic editions: their schemas, their determinism, their shape, and that no quirk is missing."""

import ast
import io
import json
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.config.editions import SampleSource
from pipelines.config.settings import Settings
from pipelines.formats.records import read_records
from pipelines.model.text import name_key, name_problem
from pipelines.sources import sample
from pipelines.sources.sample import conference_site, hub_dataset, openreview, paper_copilot
from pipelines.sources.sample.decided import DISAGREEMENTS, papers
from pipelines.sources.sample.quirks import QUIRKS
from pipelines.sources.sample.tallies import Tally, tallies
from pipelines.stage.contracts import CONTRACTS, JsonContract

PROJECT = Path(__file__).parents[3]
PREVIEW = PROJECT.parent / "shared" / "data" / "iclr2026_preview.parquet"
FORUM_ID = re.compile(r"forum\?id=([A-Za-z0-9_-]{10})$")

FILES = {
    "hub_dataset": hub_dataset.files,
    "openreview": openreview.files,
    "paper_copilot": paper_copilot.files,
    "conference_site": conference_site.files,
}
YEARS = (2025, 2026)

Row = dict[str, Any]
Rows = list[Row]


def parquet() -> bytes:
    return hub_dataset.files(2026)["sample.parquet"]


@pytest.fixture(scope="module")
def rows() -> Rows:
    """What stands in the file, not what the builder holds."""
    table: Rows = pq.read_table(io.BytesIO(parquet())).to_pylist()
    return table


def fetch(into: Path, landed: frozenset[tuple[str, str]], said: list[str]) -> Any:
    return sample.fetch(SampleSource(kind="sample"), into, settings=Settings(), landed=landed, log=said.append)


def test_fetch_writes_one_file_and_then_nothing_new(tmp_path: Path) -> None:
    said: list[str] = []
    fetched = fetch(tmp_path, frozenset(), said)
    assert [(file.name, file.path, file.url) for file in fetched.files] == [
        ("sample.parquet", tmp_path / "sample.parquet", "synthetic:sample")
    ]
    assert (fetched.url, fetched.as_of.isoformat()) == ("synthetic:sample", "2026-01-01T00:00:00+00:00")
    assert list(tmp_path.iterdir()) == [tmp_path / "sample.parquet"]
    assert "synthetic" in " ".join(said)

    digest = sha256((tmp_path / "sample.parquet").read_bytes()).hexdigest()
    other = tmp_path / "other"
    other.mkdir()
    assert fetch(other, frozenset({("sample.parquet", digest)}), said) is None
    assert list(other.iterdir()) == []
    assert fetch(other, frozenset({("sample.parquet", "0" * 64)}), said) is not None


@pytest.mark.parametrize(
    ("imitates", "year", "names", "as_of"),
    [
        ("hub_dataset", 2026, ["sample.parquet"], "2026-01-01"),
        ("openreview", 2025, ["page-00001.json", "page-00002.json"], "2025-06-01"),
        ("paper_copilot", 2025, ["sample.jsonl"], "2025-06-01"),
        ("conference_site", 2025, ["events.json"], "2025-06-01"),
        ("conference_site", 2026, ["events.json", "abstracts.json"], "2026-06-01"),
    ],
)
def test_every_upstream_can_be_imitated(imitates: Any, year: int, names: list[str], as_of: str, tmp_path: Path) -> None:
    source = SampleSource(kind="sample", imitates=imitates, year=year)
    fetched = sample.fetch(source, tmp_path, settings=Settings(), landed=frozenset(), log=lambda message: None)
    assert fetched is not None
    assert [file.name for file in fetched.files] == names
    assert (fetched.url, str(fetched.as_of)[:10]) == ("synthetic:sample", as_of)
    landed = frozenset((file.name, sha256(file.path.read_bytes()).hexdigest()) for file in fetched.files)
    assert sample.fetch(source, tmp_path, settings=Settings(), landed=landed, log=lambda message: None) is None


def test_another_process_makes_the_same_bytes() -> None:
    code = (
        "import hashlib; from pipelines.sources.sample import conference_site, hub_dataset, openreview, paper_copilot\n"
        "for module in (conference_site, paper_copilot, openreview, hub_dataset):\n"
        "    for year in (2026, 2025):\n"
        "        for name, content in module.files(year).items():\n"
        "            print(year, name, hashlib.sha256(content).hexdigest())"
    )
    elsewhere = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONPATH": str(PROJECT)}
    made = subprocess.run(
        [sys.executable, "-c", code], env=elsewhere, capture_output=True, text=True, check=True
    ).stdout
    here = {
        f"{year} {name} {sha256(content).hexdigest()}"
        for files in FILES.values()
        for year in YEARS
        for name, content in files(year).items()
    }
    assert set(made.splitlines()) == here
    assert len(here) == 11


@pytest.fixture
def records(tmp_path: Path) -> Callable[[str, int], Rows]:
    """The records of a JSON source of a year, as the pipeline splits them."""

    def read(source: str, year: int) -> Rows:
        for name, content in FILES[source](year).items():
            (tmp_path / name).write_bytes(content)
        paths = [tmp_path / name for name in FILES[source](year)]
        return [json.loads(record.text) for record in read_records(source, paths) if record.problem is None]

    return read


@pytest.mark.parametrize("year", YEARS)
@pytest.mark.parametrize("source", ["openreview", "paper_copilot", "conference_site"])
def test_records_have_fields_of_their_contract_only_and_say_that_they_are_synthetic(
    source: str, year: int, records: Callable[[str, int], Rows]
) -> None:
    contract, found = CONTRACTS[source], records(source, year)
    assert isinstance(contract, JsonContract)
    assert set().union(*found) <= contract.fields
    assert contract.required <= set().union(*found)
    for row in found:
        if source == "openreview":
            assert row["forum"].startswith("Syn")
            assert all("Synthetic.example/" in invitation for invitation in row["invitations"])
            title = row["content"]["title"]["value"] if row["id"] == row["forum"] else "[Synthetic] a reply"
        else:
            title = row.get("title") or row.get("name")
        assert title.startswith("[Synthetic] ")
        for other in {2024, 2025, 2026} - {year}:
            assert f"Synthetic.example/{other}" not in json.dumps(row)


@pytest.mark.parametrize("year", YEARS)
def test_ids_are_used_once(year: int, records: Callable[[str, int], Rows]) -> None:
    ids = Counter(note["id"] for note in records("openreview", year))
    assert ids.most_common(1)[0][1] == 1
    elsewhere = {note["id"] for other in YEARS if other != year for note in records("openreview", other)}
    assert not ids.keys() & elsewhere


@pytest.mark.parametrize("year", YEARS)
def test_every_year_has_every_outcome_and_every_disagreement(year: int) -> None:
    found = papers(year)
    assert len(found) == 200
    assert {paper.status for paper in found} == {"accepted", "rejected", "withdrawn", "desk_rejected"}
    assert {paper.decision for paper in found} == {"oral", "spotlight", "poster", None}
    assert Counter(paper.odd for paper in found if paper.odd) == {
        name: disagreement.papers for name, disagreement in DISAGREEMENTS.items()
    }


@pytest.mark.skipif(not PREVIEW.is_file(), reason="the shared real data is not beside the project")
def test_schema_is_the_real_one() -> None:
    ours, real = pq.ParquetFile(io.BytesIO(parquet())), pq.ParquetFile(PREVIEW)
    assert ours.schema_arrow.equals(real.schema_arrow)
    assert ours.schema.equals(real.schema)
    assert ours.metadata.row_group(0).column(0).compression == "ZSTD"


def items(rows: Rows) -> Rows:
    return [item for row in rows for item in row["reviews"] or [] if item]


def test_shape_is_that_of_a_real_edition(rows: Rows) -> None:
    reviews = items(rows)
    assert 240 <= len(rows) <= 300
    assert 900 <= len(reviews) <= 1100
    ratings = [item["rating"] for item in reviews]
    assert 4.0 <= sum(ratings) / len(ratings) <= 4.5
    off_scale = [rating for rating in ratings if rating not in (0, 2, 4, 6, 8, 10)]
    assert 2 <= len(off_scale) < len(ratings) / 100
    assert set(ratings) >= {0, 2, 4, 6, 8, 10}
    assert min(ratings) >= 0
    assert max(ratings) <= 10
    assert {item["confidence"] for item in reviews} == {1, 2, 3, 4, 5}
    assert {(item["date"], item["review"]) for item in reviews} == {(0, "")}
    assert all(row["num_reviews"] == len(row["reviews"] or []) for row in rows)
    assert 0.2 < sum("Withdrawn" in row["venue"] for row in rows) / len(rows) < 0.4


def test_every_row_says_that_it_is_synthetic(rows: Rows) -> None:
    for row in rows:
        assert row["venue"].startswith("Synthetic 202")
        assert row["venueid"] == "Synthetic"
        forum_id = FORUM_ID.search(row["url"] or "")
        assert forum_id is None or forum_id[1].startswith("Syn")
        invitations = ast.literal_eval(row["invitation"])
        assert all(invitation.startswith("Synthetic.example/2026/Conference/") for invitation in invitations)
        title = row["title"]
        assert title is None or not title.strip() or title == "withdrawn" or title.startswith("[Synthetic] ")
        number = re.search(r"/Submission(\d+)/", row["invitation"])
        assert number is not None
        assert {item["reviewer"].rsplit("/", 1)[0] for item in items([row])} <= {
            f"Synthetic.example/2026/Conference/Submission{number[1]}"
        }


def same(rows: Rows, column: str) -> list[Rows]:
    """The rows that share a value of a column, where at least two do."""
    found: dict[Any, Rows] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return [group for value, group in found.items() if value and len(group) > 1]


def same_forum(rows: Rows) -> list[Rows]:
    return [group for group in same(rows, "url") if FORUM_ID.search(group[0]["url"])]


def ids(row: Row) -> set[str]:
    return {item["review_id"] for item in row["reviews"] if item}


def any_abstract(*needles: str) -> Callable[[Rows], bool]:
    return lambda rows: all(any(needle in row["abstract"] for row in rows) for needle in needles)


def any_name(*needles: str) -> Callable[[Rows], bool]:
    return lambda rows: all(any(needle in name for row in rows for name in row["authors"]) for needle in needles)


def any_row(test: Callable[[Row], bool]) -> Callable[[Rows], bool]:
    return lambda rows: any(test(row) for row in rows)


def usable(row: Row) -> bool:
    """A paper of this edition, with an id."""
    return bool(
        FORUM_ID.search(row["url"] or "")
        and re.fullmatch("Synthetic 2026 Conference (Withdrawn )?Submission", row["venue"])
    )


def one_name_in_three_forms(rows: Rows) -> bool:
    names = {name for row in rows for name in row["authors"]}
    return any(
        {nfd := unicodedata.normalize("NFD", name), name.replace("\u00e9", "\\'{e}")} <= names and nfd != name
        for name in names
    )


# Looked for in the file independently of how it was made.
FOUND: dict[str, Callable[[Rows], bool]] = {
    "blind": any_row(lambda row: row["authors"] == [] and "Withdrawn" not in row["venue"] and usable(row)),
    "withdrawn": any_row(lambda row: "/-/Withdrawn_Submission'" in row["invitation"] and len(row["authors"]) > 0),
    "no reviews": any_row(lambda row: row["reviews"] == [] and usable(row)),
    "null reviews": any_row(lambda row: row["reviews"] is None and usable(row)),
    "nine reviews": any_row(lambda row: row["num_reviews"] == len(ids(row)) == 9 if row["reviews"] else False),
    "no pdf": any_row(lambda row: row["pdf"] == ""),
    "off-scale ratings": lambda rows: {3, 5, 7} <= {item["rating"] for item in items(rows)},
    "placeholder abstract": lambda rows: {"N/A", "test", "1"} <= {row["abstract"] for row in rows},
    "title as abstract": any_row(lambda row: row["abstract"] == row["title"] and row["title"] != "withdrawn"),
    "markdown": any_abstract("**", "`code_like_this`", "](https://", "\n# ", "\n* ", "5 * 3 * 2"),
    "latex": any_abstract("$O(", "\\textbf{", "\\citep{", "\\url{", "\\%"),
    "money": any_abstract("$5 instead of $10"),
    "several lines": any_abstract(".\n\nIt"),
    "percent signs": any_abstract("5% over"),
    "line separator": any_abstract("\u2028"),
    "control characters": any_abstract("\x02", "\x0c"),
    "control character in title": any_row(lambda row: "\x02" in (row["title"] or "")),
    "latex in title": any_row(lambda row: "$" in (row["title"] or "")),
    "code": any_abstract("https://github.com/"),
    "anonymous code": any_abstract("https://anonymous.4open.science/r/", "}}."),
    "data": any_abstract("https://huggingface.co/datasets/"),
    "model": any_abstract("https://huggingface.co/synthetic"),
    "project page": any_abstract(".github.io/"),
    "duplicate titles": lambda rows: {2, 3} <= {len({row["url"] for row in group}) for group in same(rows, "title")},
    "exact duplicate": lambda rows: any(a == b for a, b in same_forum(rows)),
    "fuller duplicate": lambda rows: any(
        ids(a) < ids(b) and set(a["authors"]) < set(b["authors"])
        for twins in same_forum(rows)
        for a, b in permutations(twins)
    ),
    "overlapping duplicate": lambda rows: any(
        min(len(ids(a) & ids(b)), len(ids(a) - ids(b)), len(ids(b) - ids(a))) > 0 for a, b in same_forum(rows)
    ),
    "repeated review id": any_row(lambda row: len({i["review_id"] for i in items([row])}) < len(items([row]))),
    "latex accents": any_name("\\'{e}", '{\\"o}', "Jos\u00e9"),
    "one name in three forms": one_name_in_three_forms,
    "invisible characters": any_name("\u00a0", "\u200e", "  "),
    "letter case": lambda rows: all(
        any(test(name) and " " in name for row in rows for name in row["authors"])
        for test in (str.isupper, str.islower)
    ),
    "author twice": any_row(lambda row: len(set(row["authors"])) < len(row["authors"])),
    "84 authors": any_row(lambda row: len(set(row["authors"])) == 84),
    "footnote marks": any_name("*", "\u2020", "\u00b9"),
    "several people in one entry": any_name(" and ", "\uff0c"),
    "junk names": any_name("N/A", "@example.org", "withdrawn"),
    "bibkey cut short": any_row(lambda row: f"{{\n{row['_bibkey']}," not in row["_bibtex"]),
    "repeated bibkey": lambda rows: any(len({row["url"] for row in group}) > 1 for group in same(rows, "_bibkey")),
    "url without forum id": any_row(lambda row: row["url"] == "https://openreview.net/forum"),
    "empty url": any_row(lambda row: row["url"] == ""),
    "null url": any_row(lambda row: row["url"] is None),
    "workshop": any_row(lambda row: row["venue"] == "Synthetic 2026 Workshop Example Submission"),
    "other year": any_row(lambda row: row["year"] == 2025 and "2025" in row["venue"]),
    "null title": any_row(lambda row: row["title"] is None),
    "blank title": any_row(lambda row: row["title"] is not None and not row["title"].strip()),
    "null review": any_row(lambda row: None in (row["reviews"] or [])),
    "review without id": any_row(lambda row: {None, ""} <= {item["review_id"] for item in items([row])}),
}


def test_every_quirk_is_looked_for() -> None:
    assert FOUND.keys() == QUIRKS.keys()


@pytest.mark.parametrize("quirk", FOUND)
def test_quirk_is_in_the_file(quirk: str, rows: Rows) -> None:
    assert FOUND[quirk](rows)


def test_tallies_are_what_the_file_holds(rows: Rows) -> None:
    """The builders' own figures against a count of the file by the rules in words."""
    figures = tallies(2026)
    good = [row for row in rows if usable(row)]
    forums = {row["url"] for row in good}
    assert figures["paper"] == Tally(len(rows), len(forums), len(good) - len(forums), len(rows) - len(good))

    listed = [item for row in rows for item in row["reviews"] or []]
    good_items = [item for row in good for item in row["reviews"] or [] if item and item["review_id"]]
    review_ids = {item["review_id"] for item in good_items}
    assert figures["review"] == Tally(
        len(listed), len(review_ids), len(good_items) - len(review_ids), len(listed) - len(good_items)
    )

    longest = {row["url"]: max((r["authors"] for r in good if r["url"] == row["url"]), key=len) for row in good}
    entries = sum(len(row["authors"]) for row in rows)
    people = [name for row in good for name in row["authors"] if name_problem(name) is None]
    kept = [name for names in longest.values() for name in names if name_problem(name) is None]
    assert figures["author"] == Tally(entries, len(kept), len(people) - len(kept), entries - len(people))


def test_people_write_more_than_one_paper(rows: Rows) -> None:
    papers = Counter(key for row in rows for key in {name_key(name) for name in row["authors"]})
    assert sum(count > 1 for count in papers.values()) > 100

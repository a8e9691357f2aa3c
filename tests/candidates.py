"""Candidate releases for tests: small, made of the contract's own columns and types, and right in every number.

Here belongs how the files of a candidate come about; what is wrong with one is the business of the test, which passes
SQL that changes the marts before derived figures are computed, before the files are written, or after.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml

from pipelines.config.settings import PROJECT_DIR

CONTRACT = PROJECT_DIR / "dbt_project" / "models" / "marts" / "_marts.yml"


@cache
def contract() -> dict[str, list[dict[str, Any]]]:
    models = yaml.safe_load(CONTRACT.read_text(encoding="utf-8"))["models"]
    return {model["name"]: model["columns"] for model in models}


# %d stands for the number of the edition, which its ids begin with.
_PAPERS = """
    insert into papers by name
    select
        format('p{}-{:06d}', $edition, i) as paper_id,
        $edition_id as edition_id,
        i as submission_number,
        'A study of peer review at scale, number ' || i as title,
        repeat('Reviews are read by people. ', 36) as abstract,
        abstract as abstract_text,
        false as is_placeholder_abstract,
        case when i % 5 = 0 then 'withdrawn' when i % 5 = 1 then 'accepted' else 'rejected' end as status,
        case when i % 5 = 1 then 'poster' end as decision,
        false as has_unknown_status,
        'ICLR 2026 Conference Submission' as venue_text,
        i % 2 = 0 as is_blind,
        'https://openreview.net/forum?id=' || paper_id as forum_url,
        0 as merged_row_count,
        false as is_conditional,
        'hub_dataset' as source,
        ['hub_dataset'] as sources,
        1 as snapshot_number,
        i as row_number,
        0 as review_count
    from range(1, $papers + 1) as numbers (i)
"""

_REVIEWS = """
    insert into reviews by name
    select
        format('r{}-{:06d}{}', $edition, i, j) as review_id,
        format('p{}-{:06d}', $edition, i) as paper_id,
        $edition_id as edition_id,
        'Reviewer_' || j as reviewer_label,
        true as is_reviewer_named,
        [2.0, 4.0, 6.0, 8.0][1 + (i + j) % 4] as rating,
        rating::integer::varchar as rating_text,
        false as is_rating_off_scale,
        3.0 as confidence,
        '3' as confidence_text,
        repeat('The paper is clear. ', 80) as summary,
        true as has_text,
        320 as word_count,
        'hub_dataset' as source,
        1 as snapshot_number,
        i as row_number,
        j as item_number
    from range(1, $papers + 1) as papers (i), range(1, $reviews + 1) as reviews (j)
"""

_AUTHORS = """
    insert into paper_authors by name
    select
        paper_id,
        position,
        edition_id,
        'Ada Author ' || (row_number * 2 + position) % 17 as name,
        'name:' || lower(name) as author_id,
        source,
        snapshot_number,
        row_number
    from papers, range(1, 3) as positions (position)
    where edition_id = $edition_id and not is_blind
"""

_LINKS = """
    insert into paper_links by name
    select paper_id, 'https://github.com/a/b' as url, edition_id, 'code' as link_type
    from papers
    where edition_id = $edition_id and row_number = 1
"""

_QUARANTINED = """
    insert into quarantined_rows by name
    select
        1 as snapshot_number,
        100000 as row_number,
        'review' as row_kind,
        3 as item_number,
        $edition_id as edition_id,
        'hub_dataset' as source,
        'the review has no id' as reason,
        '{"rating":4}' as row_json
"""

_EDITIONS = """
    insert into editions by name
    select
        $edition_id as edition_id,
        'ICLR' as venue,
        2020 + $edition as year,
        'ICLR.cc/' || year || '/Conference' as venue_id,
        false as is_synthetic,
        ['hub_dataset'] as sources,
        [0, 2, 4, 6, 8, 10] as rating_scale,
        0 as submission_count, 0 as under_review_count, 0 as accepted_count, 0 as rejected_count, 0 as withdrawn_count,
        0 as desk_rejected_count, 0 as workshop_count, 0 as unknown_status_count, 0 as review_count,
        0 as off_scale_rating_count,
        0 as merged_paper_row_count, 0 as merged_review_row_count, 0 as quarantined_row_count
"""

_KEYWORDS = """
    insert into paper_keywords by name
    select paper_id, 1 as position, edition_id, 'peer review' as keyword
    from papers
    where edition_id = $edition_id
"""

_DISCUSSION = """
    insert into discussion by name
    select
        'n' || paper_id as note_id,
        paper_id,
        edition_id,
        'decision' as kind,
        'Accept (Poster)' as decision_text,
        source,
        snapshot_number,
        row_number
    from papers
    where edition_id = $edition_id and decision is not null
"""

_SOURCE_VALUES = """
    insert into paper_source_values
    select
        paper_id, unnest(['hub_dataset', 'openreview']), 'status', edition_id, unnest(['under_review', status]), status,
        unnest([status = 'under_review', true])
    from papers
    where edition_id = $edition_id and row_number = 1
"""

_SNAPSHOTS = """
    insert into snapshots by name
    select
        $edition_id as edition_id, 1 as snapshot_number, 'hub_dataset' as source,
        format('{:016x}', $edition) as snapshot_id, $papers as row_count
"""

_CONSERVATION = """
    insert into row_conservation
    select $edition_id, 1, 'paper', 'hub_dataset', rows, rows, 0, 0
    from (select count(*) as rows from papers where edition_id = $edition_id)
    union all
    select $edition_id, 1, 'review', 'hub_dataset', rows + 1, rows, 0, 1
    from (select count(*) as rows from reviews where edition_id = $edition_id)
    union all
    select $edition_id, 1, 'author', 'hub_dataset', rows, rows, 0, 0
    from (select count(*) as rows from paper_authors where edition_id = $edition_id)
    union all
    select $edition_id, 1, 'note', 'openreview', rows, rows, 0, 0
    from (select count(*) as rows from discussion where edition_id = $edition_id)
"""

_FIGURES = """
    insert into edition_figures
    select $edition_id, 'submission_count', 50, 49, 51, true, 'The chairs', '2026-03-31'
"""

_STATEMENTS = (
    _EDITIONS, _PAPERS, _REVIEWS, _AUTHORS, _LINKS, _QUARANTINED, _KEYWORDS, _DISCUSSION, _SOURCE_VALUES, _FIGURES,
    _SNAPSHOTS, _CONSERVATION
)  # fmt: skip

# Everything that is counted from other rows.
_DERIVED = (
    """
    update papers set
        review_count = figures.review_count,
        rating_mean = figures.rating_mean,
        rating_stddev = figures.rating_stddev,
        rating_min = figures.rating_min,
        rating_max = figures.rating_max
    from (
        select
            paper_id, count(*) as review_count, avg(rating) as rating_mean, stddev_samp(rating) as rating_stddev,
            min(rating) as rating_min, max(rating) as rating_max
        from reviews
        group by paper_id
    ) as figures
    where papers.paper_id = figures.paper_id
    """,
    """
    insert into authors
    select
        author_id, 'normalised_name', min(name), list_sort(list_distinct(list(name))), count(distinct paper_id),
        min(year), max(year)
    from paper_authors
    inner join editions using (edition_id)
    group by author_id
    order by author_id
    """,
    """
    update editions set
        submission_count = figures.submission_count,
        under_review_count = figures.under_review_count,
        accepted_count = figures.accepted_count,
        rejected_count = figures.rejected_count,
        withdrawn_count = figures.withdrawn_count,
        desk_rejected_count = figures.desk_rejected_count,
        workshop_count = figures.workshop_count,
        unknown_status_count = figures.unknown_status_count,
        acceptance_rate = figures.accepted_count / figures.submission_count
    from (
        select
            edition_id,
            count(*) as submission_count,
            count(*) filter (where status = 'under_review') as under_review_count,
            count(*) filter (where status = 'accepted') as accepted_count,
            count(*) filter (where status = 'rejected') as rejected_count,
            count(*) filter (where status = 'withdrawn') as withdrawn_count,
            count(*) filter (where status = 'desk_rejected') as desk_rejected_count,
            count(*) filter (where status = 'workshop') as workshop_count,
            count(*) filter (where has_unknown_status) as unknown_status_count
        from papers
        group by edition_id
    ) as figures
    where editions.edition_id = figures.edition_id
    """,
    """
    update editions set
        review_count = figures.review_count,
        off_scale_rating_count = figures.off_scale_rating_count,
        rating_mean = figures.rating_mean
    from (
        select
            edition_id, count(*) as review_count, count(*) filter (where is_rating_off_scale) as off_scale_rating_count,
            avg(rating) as rating_mean
        from reviews
        group by edition_id
    ) as figures
    where editions.edition_id = figures.edition_id
    """,
    """
    update editions set quarantined_row_count = figures.row_count
    from (select edition_id, count(*) as row_count from quarantined_rows group by edition_id) as figures
    where editions.edition_id = figures.edition_id
    """,
)


def write_candidate(
    folder: Path,
    *,
    editions: Mapping[str, int] | None = None,
    reviews_per_paper: int = 4,
    changes: Sequence[str] = (),
    late_changes: Sequence[str] = (),
    database_changes: Sequence[str] = (),
) -> Path:
    """Write a candidate with so many papers by edition; returns its folder.

    `changes` run before the derived figures are computed, `late_changes` after it, `database_changes` when the Parquet
    files are written already.
    """
    folder.mkdir(parents=True)
    with duckdb.connect(folder / "peer_reviews.duckdb") as connection:
        for mart, columns in contract().items():
            listed = ", ".join(f"{column['name']} {column['data_type']}" for column in columns)
            connection.execute(f"create table {mart} ({listed})")
        wanted = {"iclr-2021": 50} if editions is None else editions
        for number, (edition_id, papers) in enumerate(wanted.items(), start=1):
            values = {"edition": number, "edition_id": edition_id, "papers": papers, "reviews": reviews_per_paper}
            for statement in _STATEMENTS:
                # DuckDB refuses values that a statement has no parameter for.
                used = set(re.findall(r"\$(\w+)", statement))
                connection.execute(statement, {name: values[name] for name in used})
        for statement in (*changes, *_DERIVED, *late_changes):
            connection.execute(statement)
        _export(connection, folder, list(wanted))
        for statement in database_changes:
            connection.execute(statement)
    return folder


def _export(connection: duckdb.DuckDBPyConnection, folder: Path, editions: Sequence[str]) -> None:
    for mart, columns in contract().items():
        if mart == "editions" or "edition_id" not in {column["name"] for column in columns}:
            connection.execute(f"copy {mart} to '{folder / mart}.parquet' (format parquet)")
            continue
        (folder / mart).mkdir()
        for edition_id in editions:
            rows = f"select * from {mart} where edition_id = '{edition_id}'"
            connection.execute(f"copy ({rows}) to '{folder / mart / edition_id}.parquet' (format parquet)")


def rewrite(file: Path, select: str) -> None:
    """Replace a Parquet file by what `select` makes of it; `{file}` stands for reading it."""
    changed = file.with_suffix(".changed")
    query = select.format(file=f"read_parquet('{file}')")
    duckdb.sql(f"copy ({query}) to '{changed}' (format parquet)")
    changed.replace(file)

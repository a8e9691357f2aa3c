"""The limit: the same marts from the same raw files by one script of bare DuckDB, tuned for this very input.

Here belongs the least that DuckDB can do for these tables: each text is read once, and written once to each output.
What the pipeline does besides (landing, hashes, contracts, sources that disagree, tests, the gate) is left out.
Rows that would be set aside or merged are not handled but refused, after a look at the narrow columns.

The Python functions are the pipeline's own, since no SQL reads LaTeX; `--without-functions` leaves their columns NULL
(`abstract_text`, `word_count`, and the key in `author_id` becomes the lower-case name) and so shows their part.

    python -m benchmarks.limit INPUT OUT               Parquet and the database
    python -m benchmarks.limit INPUT OUT --no-database  Parquet only
"""

import argparse
import os
from pathlib import Path

import duckdb

from benchmarks import functions as text_functions
from benchmarks import inputs
from benchmarks.inputs import Input

ROW_GROUP_ROWS = 16_384
DATABASE = "peer_reviews.duckdb"
STORAGE_VERSION = "v1.0.0"
SEEDS = Path(__file__).parent.parent / "dbt_project" / "seeds"
LABELS = Path(__file__).parent / "peers" / "seeds" / "generated_labels.csv"

# The marts that hold data of a Hub source, those split by edition first; `snapshots` names what landing did, which has
# no counterpart here.
PER_EDITION = (
    "reviews", "papers", "paper_authors", "paper_links", "paper_keywords", "paper_source_values", "discussion",
    "quarantined_rows", "edition_figures", "row_conservation",
)  # fmt: skip
SINGLE = ("authors", "editions")
MARTS = (*PER_EDITION, *SINGLE)

URLS = r"""list_filter(list_transform(
    regexp_extract_all(abstract, '(?i)https?://[^\s<>()\[\]{}"''`$|\\^]+'), lambda found: rtrim(found, '.,;:!?*_~''')
), lambda url: regexp_matches(url, '(?i)^https?://[^/]'))"""


def quoted(value: object) -> str:
    """An SQL string literal."""
    return "'" + str(value).replace("'", "''") + "'"


# What `trim` takes off: Unicode's space separators.
BLANKS = " \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def trimmed(column: str) -> str:
    """`nullif(trim(column), '')`, which walks over every character, for the few texts that have a blank at an end."""
    ends = " or ".join(f"starts_with({column}, '{blank}') or ends_with({column}, '{blank}')" for blank in BLANKS)
    return f"case when {ends} then nullif(trim({column}), '') when {column} != '' then {column} end"


def forum_id(url: str = "url") -> str:
    return f"nullif(regexp_extract({url}, '[?&]id=([A-Za-z0-9_-]{{8,15}})(?:[^A-Za-z0-9_-]|$)', 1), '')"


def reviews_of(given: Input, word_count: str) -> str:
    """One row a review of one file; the text columns go straight through."""
    return f"""
    select
        nullif(trim(item.review_id), '') as review_id, paper_id, {quoted(given.edition_id)} as edition_id,
        case when not contains(item.reviewer, '@') then regexp_extract(trim(item.reviewer), '[^/]+$') end
            as reviewer_label,
        coalesce(regexp_matches(reviewer_label, '^((Anon)?Reviewer|R)(_[A-Za-z0-9]+|[0-9]+)$'), false)
            as is_reviewer_named,
        item.rating::double as rating, item.rating::varchar as rating_text,
        not list_contains(rating_scale, item.rating) as is_rating_off_scale,
        nullif(item.confidence, 0)::double as confidence, item.confidence::varchar as confidence_text,
        null::double as soundness, null::double as presentation, null::double as contribution,
        null::double as correctness, null::double as technical_novelty, null::double as empirical_novelty,
        {trimmed("item.summary")} as summary, {trimmed("item.strengths")} as strengths,
        {trimmed("item.weaknesses")} as weaknesses, null::varchar as questions,
        {trimmed("item.review")} as main_text,
        {word_count.format("concat_ws(' ', item.summary, item.strengths, item.weaknesses, item.review)")} as word_count,
        word_count > 0 as has_text,
        case when item.date > 0 then make_timestamp_ms(item.date) end as reviewed_at, null::timestamp as modified_at,
        'hub_dataset' as source, 1 as snapshot_number, row_number, item_number
    from (
        select
            {forum_id()} as paper_id, file_row_number + 1 as row_number,
            generate_subscripts(reviews, 1)::integer as item_number, unnest(reviews) as item,
            getvariable({quoted("scale " + given.edition_id)}) as rating_scale
        from read_parquet({quoted(given.path)}, file_row_number = true)
    )
    """


def papers_of(given: Input, plain_text: str) -> str:
    """One row a paper of one file; `ratings` and `labels` are narrow tables."""
    named = quoted(f"{given.venue} {given.year}".lower())
    label = (
        f"coalesce(nullif(trim(regexp_replace(replace(lower(venue), {named}, ' '), '\\s+', ' ', 'g')), ''), "
        "'(venue only)')"
    )
    return f"""
    select
        paper_id, {quoted(given.edition_id)} as edition_id, submission_number, title, abstract,
        {plain_text.format("abstract")} as abstract_text,
        coalesce(length(trim(abstract)) < 20 or lower(trim(abstract)) = lower(trim(title)), false)
            as is_placeholder_abstract,
        null::varchar[] as keywords, null::varchar as primary_area,
        case
            when coalesce(labels.status, 'under_review') != 'under_review' then labels.status
            when contains(invitation, 'Withdrawn_Submission') then 'withdrawn'
            when contains(invitation, 'Desk_Rejected_Submission') then 'desk_rejected'
            else labels.status
        end as status,
        labels.decision, false as is_conditional, labels.status is null as has_unknown_status, venue_text,
        author_count = 0 as is_blind, 'https://openreview.net/forum?id=' || paper_id as forum_url, pdf_url, bibtex,
        null::timestamp as submitted_at, null::timestamp as modified_at,
        coalesce(ratings.review_count, 0)::integer as review_count, ratings.* exclude (paper_id, review_count),
        0 as merged_row_count, 'hub_dataset' as source, ['hub_dataset'] as sources, 1 as snapshot_number, row_number
    from (
        select
            {forum_id()} as paper_id,
            nullif(try_cast(regexp_extract(invitation, '/Submission(\\d+)/', 1) as integer), 0) as submission_number,
            nullif(trim(title), '') as title, {trimmed("abstract")} as abstract, nullif(trim(venue), '')
                as venue_text, {label} as label, invitation, coalesce(len(authors), 0) as author_count,
            case when regexp_matches(trim(pdf), '^https?://[^\\s/]') then trim(pdf) end as pdf_url,
            nullif(trim(_bibtex), '') as bibtex, file_row_number + 1 as row_number
        from read_parquet({quoted(given.path)}, file_row_number = true)
    )
    left join ratings using (paper_id)
    left join labels using (label)
    """


RATINGS = """
    create temp table ratings as
    select
        paper_id, review_count, rating_sum / rating_count as rating_mean,
        case when rating_count > 1 then
            sqrt(greatest(square_sum - rating_sum * rating_sum / rating_count, 0) / (rating_count - 1))
        end as rating_stddev,
        rating_min, rating_max, confidence_mean
    from (
        select
            paper_id, count(*) as review_count, count(rating) as rating_count, sum(rating) as rating_sum,
            sum(rating * rating) as square_sum, min(rating) as rating_min, max(rating) as rating_max,
            avg(confidence) as confidence_mean
        from reviews group by paper_id
    )
"""


def narrow_marts(given: list[Input], name_key: str) -> dict[str, str]:
    """The marts without review texts, from `papers` and `reviews` and the raw files' narrow columns."""
    authors = " union all ".join(
        f"""
        select
            {forum_id()} as paper_id, generate_subscripts(authors, 1)::integer as position,
            {quoted(edition.edition_id)} as edition_id, unnest(authors) as name, file_row_number + 1 as row_number
        from read_parquet({quoted(edition.path)}, file_row_number = true)
        """
        for edition in given
    )
    editions = ", ".join(f"({quoted(e.edition_id)}, {quoted(e.venue)}, {e.year}, {quoted(e.venue_id)})" for e in given)
    counted = ", ".join(
        f"count(*) filter (where status = {quoted(status)})::integer as {status}_count"
        for status in ("under_review", "accepted", "rejected", "withdrawn", "desk_rejected", "workshop")
    )
    none = "null::varchar"
    return {
        "given_editions": f"select * from (values {editions}) as given(edition_id, venue, year, venue_id)",
        "paper_authors": f"""
            with items as ({authors}), names as (
                select name, 'name:' || {name_key.format("name")} as author_id from (select distinct name from items)
            )
            select paper_id, position, edition_id, name, author_id, {none} as affiliation, 'hub_dataset' as source,
                1 as snapshot_number, row_number
            from items join names using (name) order by edition_id, paper_id, position
        """,
        "authors": """
            with spellings as (select author_id, name, count(*) as uses from paper_authors group by all),
            papers as (
                select author_id, count(distinct paper_id)::integer as paper_count, min(year) as first_year,
                    max(year) as last_year
                from paper_authors join given_editions using (edition_id) group by author_id
            )
            select author_id, 'normalised_name' as identity_basis, first(name order by uses desc, name) as display_name,
                list(name order by name) as name_variants, any_value(paper_count) as paper_count,
                any_value(first_year) as first_year, any_value(last_year) as last_year
            from spellings join papers using (author_id) group by author_id order by author_id
        """,
        "paper_links": f"""
            with found as (
                select distinct paper_id, edition_id, unnest({URLS}) as url from papers where contains(abstract, '://')
            )
            select paper_id, url, edition_id, coalesce(first(link_type order by priority), 'other') as link_type
            from found left join link_hosts on contains(lower(url), pattern)
            group by paper_id, url, edition_id order by edition_id, paper_id, url
        """,
        "paper_keywords": f"select {none} as paper_id, 0 as position, {none} as edition_id, {none} as keyword limit 0",
        "paper_source_values": f"""
            select {none} as paper_id, {none} as source, {none} as column_name, {none} as edition_id,
                {none} as source_value, {none} as published_value, false as is_published limit 0
        """,
        "discussion": f"""
            select {none} as note_id, {none} as paper_id, {none} as edition_id, {none} as reply_to, {none} as kind,
                {none} as author_label, {none} as title, {none} as decision_text, {none} as main_text,
                null::timestamp as created_at, null::timestamp as modified_at, {none} as source, 0 as snapshot_number,
                0::bigint as row_number limit 0
        """,
        "quarantined_rows": f"""
            select {none} as edition_id, 0 as snapshot_number, 0::bigint as row_number, {none} as row_kind,
                0 as item_number, {none} as source, {none} as reason, {none} as row_json limit 0
        """,
        "edition_figures": f"""
            select {none} as edition_id, {none} as figure, 0::double as value, 0::double as published_low,
                0::double as published_high, false as is_in_agreement, {none} as published_by,
                null::date as published_on limit 0
        """,
        "row_conservation": """
            select edition_id, 1 as snapshot_number, row_kind, 'hub_dataset' as source, rows as rows_in,
                rows as rows_in_marts, 0::bigint as rows_merged, 0::bigint as rows_quarantined
            from (
                select edition_id, 'paper' as row_kind, count(*) as rows from papers group by all
                union all select edition_id, 'review', count(*) from reviews group by all
                union all select edition_id, 'author', count(*) from paper_authors group by all
            ) order by all
        """,
        "editions": f"""
            select edition_id, venue, year, venue_id, false as is_synthetic, null::timestamp as as_of_at,
                ['hub_dataset'] as sources, []::varchar[] as missing_sources, submission_count,
                under_review_count, accepted_count, rejected_count, withdrawn_count, desk_rejected_count,
                workshop_count, unknown_status_count, []::varchar[] as unknown_status_labels,
                case when accepted_count > 0 and rejected_count > 0 then accepted_count / submission_count end
                    as acceptance_rate,
                review_count, rating_mean, null::varchar[] as disagreeing_figures, rating_scale, off_scale_rating_count,
                0 as merged_paper_row_count, 0 as merged_review_row_count, 0 as quarantined_row_count
            from given_editions
            join (
                select edition_id, count(*)::integer as submission_count, {counted},
                    count(*) filter (where has_unknown_status)::integer as unknown_status_count
                from papers group by edition_id
            ) using (edition_id)
            join (
                select edition_id, count(*)::integer as review_count, sum(rating) / count(rating) as rating_mean,
                    count(*) filter (where is_rating_off_scale)::integer as off_scale_rating_count
                from reviews group by edition_id
            ) using (edition_id)
            join scales using (venue, year)
            order by edition_id
        """,
    }


def run(given: list[Input], out: Path, *, database: bool = True, functions: bool = True) -> None:
    """Write the marts as Parquet files under `out`, and into `out/peer_reviews.duckdb`."""
    out.mkdir(parents=True)
    config = {
        "memory_limit": os.environ.get("DUCKDB_MEMORY_LIMIT") or "4GB",
        "threads": int(os.environ.get("DUCKDB_THREADS") or os.cpu_count() or 2),
        "temp_directory": str(out / ".tmp"),
    }
    with duckdb.connect(config=config) as connection:
        if database:
            connection.execute(f"attach {quoted(out / DATABASE)} as out (storage_version {quoted(STORAGE_VERSION)})")
            connection.execute("use out")
        _prepare(connection, given)
        plain_text, word_count, name_key = "null::varchar", "null::integer", "lower({})"
        if functions:
            text_functions.register(connection)
            plain_text, word_count, name_key = "plain_text({})", "word_count({})", "name_key({})"

        for mart, select in (("reviews", reviews_of), ("papers", papers_of)):
            function = word_count if mart == "reviews" else plain_text
            (out / mart).mkdir()
            if database:
                arms = " union all ".join(f"({select(edition, function)})" for edition in given)
                connection.execute(f"create table {mart} as {arms}")
                for edition in given:
                    _copy(
                        connection, f"from {mart} where edition_id = {quoted(edition.edition_id)}", out, mart, edition
                    )
            else:
                for edition in given:
                    _copy(connection, select(edition, function), out, mart, edition)
                connection.execute(f"create view {mart} as from read_parquet({quoted(out / mart / '*.parquet')})")
            if mart == "reviews":
                connection.execute(RATINGS)
        for mart, query in narrow_marts(given, name_key).items():
            is_mart = mart in MARTS
            connection.execute(f"create {'' if is_mart else 'temp'} table {mart} as {query}")
            for edition in given if mart in PER_EDITION else [None] if is_mart else []:
                where = f"where edition_id = {quoted(edition.edition_id)}" if edition else ""
                _copy(connection, f"from {mart} {where}", out, mart, edition)
        _refuse_what_is_not_handled(connection)
        if database:
            connection.execute("checkpoint")


def _prepare(connection: duckdb.DuckDBPyConnection, given: list[Input]) -> None:
    """The seeds as narrow tables, and each edition's rating scale as a variable."""
    seeds = {"labels": LABELS} | {name: SEEDS / f"{name}.csv" for name in ("link_hosts", "rating_scales")}
    for name, file in seeds.items():
        connection.execute(f"create temp table {name} as from read_csv({quoted(file)}, header = true)")
    connection.execute(
        """
        create temp table scales as
        select venue, unnest(range(first_year, last_year + 1))::integer as year,
            string_split(allowed_ratings, ' ')::double[] as rating_scale
        from rating_scales
        """
    )
    for edition in given:
        connection.execute(
            f"set variable {chr(34)}scale {edition.edition_id}{chr(34)} = (select rating_scale from scales "
            f"where venue = {quoted(edition.venue)} and year = {edition.year})"
        )


def _copy(connection: duckdb.DuckDBPyConnection, query: str, out: Path, mart: str, edition: Input | None) -> None:
    target = out / mart / f"{edition.edition_id}.parquet" if edition else out / f"{mart}.parquet"
    target.parent.mkdir(exist_ok=True)
    connection.execute(
        f"copy ({query}) to {quoted(target)} "
        f"(format parquet, compression zstd, compression_level 3, row_group_size {ROW_GROUP_ROWS})"
    )


def _refuse_what_is_not_handled(connection: duckdb.DuckDBPyConnection) -> None:
    """Rows that the pipeline would merge or set aside; the generated data has none."""
    for table, key in (("papers", "paper_id"), ("reviews", "review_id")):
        rows, keys = connection.execute(f"select count(*), count(distinct {key}) from {table}").fetchall()[0]
        if rows != keys:
            raise SystemExit(f"{rows - keys} rows of {table} have no {key} or share it; the limit handles neither.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, help="a generated file, or a folder of them")
    parser.add_argument("out", type=Path, help="a folder that does not exist yet")
    parser.add_argument("--no-database", action="store_true")
    parser.add_argument("--without-functions", action="store_true")
    asked = parser.parse_args()
    run(inputs.at(asked.input), asked.out, database=not asked.no_database, functions=not asked.without_functions)

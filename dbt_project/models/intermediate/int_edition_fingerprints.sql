-- What decides an edition's rows, short of their text: its snapshots (whose ids are hashes of their bytes), and what
-- became of each row, since a row of another edition can have claimed the same paper or review.
with editions as (

    select * from {{ ref('stg_editions') }}

),

snapshots as (

    select
        edition_id,
        string_agg(
            concat_ws(' ', snapshot_number, source, snapshot_id, coalesce(as_of_at::varchar, '-'), row_count), ', '
            order by snapshot_number
        ) as description
    from {{ ref('stg_snapshots') }}
    group by edition_id

),

-- Sums, because they do not depend on the order of rows.
paper_rows as (

    select
        edition_id,
        sum(hash(snapshot_id, row_number, paper_id, problem, outcome, fullness_rank, overall_rank)) as hash
    from {{ ref('int_paper_rows') }}
    group by edition_id

),

review_rows as (

    select
        edition_id,
        sum(hash(snapshot_id, row_number, item_number, review_id, problem, outcome, overall_rank)) as hash
    from {{ ref('int_review_rows') }}
    group by edition_id

),

author_rows as (

    select
        edition_id,
        sum(hash(snapshot_id, row_number, item_number, name_key, profile_id, affiliation, problem, outcome)) as hash
    from {{ ref('int_author_rows') }}
    group by edition_id

),

discussion_rows as (

    select
        edition_id,
        sum(hash(snapshot_id, row_number, note_id, problem, outcome)) as hash
    from {{ ref('int_discussion_rows') }}
    group by edition_id

),

released as (

    select * from {{ ref('stg_released_editions') }}

),

fingerprints as (

    select
        editions.edition_id,
        md5(concat_ws(
            '|', to_json(editions), snapshots.description, coalesce(paper_rows.hash, 0), coalesce(review_rows.hash, 0),
            coalesce(author_rows.hash, 0), coalesce(discussion_rows.hash, 0)
        )) as fingerprint
    from editions
    inner join snapshots on editions.edition_id = snapshots.edition_id
    left join paper_rows on editions.edition_id = paper_rows.edition_id
    left join review_rows on editions.edition_id = review_rows.edition_id
    left join author_rows on editions.edition_id = author_rows.edition_id
    left join discussion_rows on editions.edition_id = discussion_rows.edition_id

),

final as (

    select
        fingerprints.edition_id,
        fingerprints.fingerprint,
        coalesce(fingerprints.fingerprint = released.fingerprint, false) as is_released
    from fingerprints
    left join released on fingerprints.edition_id = released.edition_id

)

select * from final

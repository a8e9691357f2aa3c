with hub as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        file_number,
        file_row_number,
        item_number,
        case
            when is_null_item then 'the review is null'
            when review_id is null then 'the review has no id'
            when not regexp_matches(review_id, '^[A-Za-z0-9_-]{1,64}$') then 'the review id is not one of OpenReview''s'
        end as record_problem,
        review_id,
        null::varchar as stated_paper_id,
        reviewer_signature,
        rating::varchar as rating_text,
        confidence::varchar as confidence_text
    from {{ ref('stg_hub__reviews') }}

),

openreview as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        0 as item_number,
        case
            when is_deleted then 'the note was deleted upstream'
            when not regexp_matches(review_id, '^[A-Za-z0-9_-]{1,64}$') then 'the review id is not one of OpenReview''s'
        end as record_problem,
        review_id,
        paper_id as stated_paper_id,
        reviewer_signature,
        rating_text,
        confidence_text,
        soundness_text,
        presentation_text,
        contribution_text,
        correctness_text,
        technical_novelty_text,
        empirical_novelty_text,
        reviewed_at,
        modified_at
    from {{ ref('stg_openreview__reviews') }}

),

-- The archive has no review ids: a review is a place in its paper's list, and no row of another source is the same one.
paper_copilot as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        item_number,
        null as record_problem,
        null::varchar as review_id,
        null::varchar as stated_paper_id,
        reviewers as reviewer_signature,
        rating_text,
        confidence as confidence_text,
        soundness as soundness_text,
        presentation as presentation_text,
        contribution as contribution_text,
        correctness as correctness_text,
        technical_novelty as technical_novelty_text,
        empirical_novelty as empirical_novelty_text
    from {{ ref('stg_paper_copilot__reviews') }}

),

review_rows as (

    select * from hub
    union all by name
    select * from openreview
    union all by name
    select * from paper_copilot

),

paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

papers as (

    select
        paper_id,
        edition_id
    from {{ ref('int_papers') }}

),

precedence as (

    select
        source,
        reviews_priority
    from {{ ref('int_source_precedence') }}

),

-- A review belongs to the paper whose row it is an item of, or to the paper that it names.
placed as (

    select
        review_rows.* exclude (stated_paper_id, review_id),
        precedence.reviews_priority,
        coalesce(review_rows.stated_paper_id, paper_rows.paper_id) as paper_id,
        case
            when review_rows.source = 'paper_copilot'
                then paper_rows.paper_id || '/paper_copilot/' || review_rows.item_number
            else review_rows.review_id
        end as review_id,
        paper_rows.problem as paper_problem,
        paper_rows.fullness_rank as paper_fullness_rank
    from review_rows
    inner join precedence on review_rows.source = precedence.source
    left join paper_rows
        on
            review_rows.stated_paper_id is null
            and review_rows.edition_id = paper_rows.edition_id
            and review_rows.snapshot_id = paper_rows.snapshot_id
            and review_rows.row_number = paper_rows.row_number

),

judged as (

    select
        placed.* exclude (record_problem, paper_problem),
        case
            when paper_problem is not null then 'its paper was set aside: ' || paper_problem
            when record_problem is not null then record_problem
            when papers.paper_id is null then 'its paper is not among those that landed'
        end as own_problem
    from placed
    left join papers on placed.paper_id = papers.paper_id and placed.edition_id = papers.edition_id

),

-- Few reviews stand in more than one row. They are found on their ids; the windows see nothing else.
owners as (

    select
        review_id,
        min(paper_id) as owning_paper_id
    from judged
    where own_problem is null
    group by review_id
    having count(*) > 1

),

repeated as (

    select
        review_id,
        source
    from judged
    where own_problem is null
    group by review_id, source
    having count(*) > 1

),

best_sources as (

    select
        paper_id,
        min(reviews_priority) as best_priority
    from judged
    where own_problem is null
    group by paper_id

),

checked as (

    select
        judged.* exclude (own_problem),
        owners.review_id is not null as is_shared,
        case
            when own_problem is not null then own_problem
            when owners.owning_paper_id != judged.paper_id
                then 'the review id already belongs to paper ' || owners.owning_paper_id
        end as problem
    from judged
    left join owners on judged.review_id = owners.review_id

),

-- Text is read for duplicates only; the row numbers of the file let DuckDB skip every other row group.
duplicated_places as (

    select distinct
        edition_id,
        snapshot_id,
        row_number,
        file_row_number
    from checked
    where
        problem is null
        and source = 'hub_dataset'
        and review_id in (
            select repeated.review_id from repeated
            where repeated.source = 'hub_dataset'
        )

),

duplicated_texts as (

    select
        texts.edition_id,
        texts.snapshot_id,
        texts.row_number,
        generate_subscripts(texts.reviews, 1) as item_number,
        unnest(texts.reviews) as item
    from {{ source('raw', 'hub_dataset') }} as texts
    inner join duplicated_places
        on
            texts.file_row_number = duplicated_places.file_row_number
            and texts.row_number = duplicated_places.row_number
            and texts.snapshot_id = duplicated_places.snapshot_id
            and texts.edition_id = duplicated_places.edition_id

),

text_lengths as (

    select
        edition_id,
        snapshot_id,
        row_number,
        item_number,
        coalesce(length(item.summary), 0) + coalesce(length(item.strengths), 0)
        + coalesce(length(item.weaknesses), 0) + coalesce(length(item.review), 0) as text_length
    from duplicated_texts

),

-- Between sources, precedence decides; within one the fuller item wins: more text (of the Hub's), the newer version (of
-- OpenReview's), then a rating, then a confidence, then the fuller paper row, then the earlier item.
ranked as (

    select
        checked.edition_id,
        checked.snapshot_id,
        checked.row_number,
        checked.item_number,
        row_number() over (
            partition by checked.review_id
            order by
                checked.reviews_priority, text_lengths.text_length desc nulls last,
                checked.modified_at desc nulls last, checked.rating_text is null, checked.confidence_text is null,
                checked.paper_fullness_rank, checked.item_number, checked.row_number
        ) as overall_rank
    from checked
    left join text_lengths
        on
            checked.edition_id = text_lengths.edition_id
            and checked.snapshot_id = text_lengths.snapshot_id
            and checked.row_number = text_lengths.row_number
            and checked.item_number = text_lengths.item_number
    where checked.is_shared and checked.problem is null

),

final as (

    select
        checked.*,
        case when checked.problem is null then coalesce(ranked.overall_rank, 1) end as overall_rank,
        case
            when checked.problem is not null then 'quarantined'
            -- A place in the archive's list never stands beside, or instead of, a review with a real id.
            when
                checked.source = 'paper_copilot' and best_sources.best_priority < checked.reviews_priority
                then 'merged'
            when coalesce(ranked.overall_rank, 1) = 1 then 'kept'
            else 'merged'
        end as outcome
    from checked
    left join ranked
        on
            checked.edition_id = ranked.edition_id
            and checked.snapshot_id = ranked.snapshot_id
            and checked.row_number = ranked.row_number
            and checked.item_number = ranked.item_number
    left join best_sources on checked.paper_id = best_sources.paper_id

)

select * from final

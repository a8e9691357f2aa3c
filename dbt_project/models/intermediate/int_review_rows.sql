with judged as (

    select * from {{ ref('int_review_rows_judged') }}

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
            select judged.review_id from judged
            where judged.own_problem is null and judged.source = 'hub_dataset'
            group by judged.review_id
            having count(*) > 1
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
            and {{ same_row('texts', 'duplicated_places') }}

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
                checked.paper_fullness_rank, checked.item_number, checked.row_number, checked.snapshot_id
        ) as overall_rank
    from checked
    left join text_lengths on {{ same_row('checked', 'text_lengths', item=true) }}
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
                checked.is_place and best_sources.best_priority < checked.reviews_priority
                then 'merged'
            when coalesce(ranked.overall_rank, 1) = 1 then 'kept'
            else 'merged'
        end as outcome
    from checked
    left join ranked on {{ same_row('checked', 'ranked', item=true) }}
    left join best_sources on checked.paper_id = best_sources.paper_id

)

select * from final

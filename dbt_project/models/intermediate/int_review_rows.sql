with review_rows as (

    select * from {{ ref('stg_hub__reviews') }}

),

paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

judged as (

    select
        review_rows.*,
        paper_rows.paper_id,
        paper_rows.fullness_rank as paper_fullness_rank,
        case
            when paper_rows.problem is not null then 'its paper was set aside: ' || paper_rows.problem
            when review_rows.is_null_item then 'the review is null'
            when review_rows.review_id is null then 'the review has no id'
        end as own_problem
    from review_rows
    inner join paper_rows
        on
            review_rows.edition_id = paper_rows.edition_id
            and review_rows.snapshot_id = paper_rows.snapshot_id
            and review_rows.row_number = paper_rows.row_number

),

owned as (

    select
        *,
        min(paper_id) over (partition by review_id, own_problem is null) as owning_paper_id,
        count(*) over (partition by review_id, own_problem is null) > 1 as has_duplicates
    from judged

),

checked as (

    select
        * exclude (own_problem, owning_paper_id),
        case
            when own_problem is not null then own_problem
            when owning_paper_id != paper_id then 'the review id already belongs to paper ' || owning_paper_id
        end as problem
    from owned

),

-- Text is read for duplicates only; the row numbers of the file let DuckDB skip every other row group.
duplicated_places as (

    select distinct
        edition_id,
        snapshot_id,
        row_number,
        file_row_number
    from checked
    where has_duplicates and problem is null

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

-- The fuller item wins: more text, then a rating, then a confidence, then the fuller paper row, then the earlier item.
ranked as (

    select
        checked.* exclude (has_duplicates),
        case
            when problem is null then row_number() over (
                partition by review_id, problem is null
                order by
                    text_lengths.text_length desc nulls last, rating is null, confidence is null,
                    paper_fullness_rank, checked.item_number
            )
        end as fullness_rank
    from checked
    left join text_lengths
        on
            checked.edition_id = text_lengths.edition_id
            and checked.snapshot_id = text_lengths.snapshot_id
            and checked.row_number = text_lengths.row_number
            and checked.item_number = text_lengths.item_number

),

final as (

    select
        *,
        case
            when problem is not null then 'quarantined'
            when fullness_rank = 1 then 'kept'
            else 'merged'
        end as outcome
    from ranked

)

select * from final

{{ config(materialized = 'view') }}

-- The texts of a review stay out: whoever needs them asks `int_source_reviews`.
with review_rows as (

    select * exclude (summary, strengths, weaknesses, questions, main_text)
    from {{ ref('int_source_reviews') }}

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

-- A review belongs to the paper whose row it is an item of, or to the paper that it names. The archive has no review
-- ids: a review is a place in its paper's list, and no row of another source is the same one.
placed as (

    select
        review_rows.* exclude (paper_id, review_id),
        precedence.reviews_priority,
        coalesce(review_rows.paper_id, paper_rows.paper_id) as paper_id,
        review_rows.review_id as stated_review_id,
        review_rows.review_id is null and review_rows.record_problem is null as is_place,
        paper_rows.problem as paper_problem,
        paper_rows.fullness_rank as paper_fullness_rank
    from review_rows
    inner join precedence on review_rows.source = precedence.source
    left join paper_rows
        on
            review_rows.paper_id is null
            and {{ same_row('review_rows', 'paper_rows') }}

),

final as (

    select
        placed.* exclude (record_problem, paper_problem, stated_review_id),
        case
            when is_place then placed.paper_id || '/' || source || '/' || item_number
            else stated_review_id
        end as review_id,
        case
            when paper_problem is not null then 'its paper was set aside: ' || paper_problem
            when record_problem is not null then record_problem
            when not regexp_matches(stated_review_id, '^[A-Za-z0-9_-]{1,64}$')
                then 'the review id is not one of OpenReview''s'
            when papers.paper_id is null then 'its paper is not among those that landed'
        end as own_problem
    from placed
    left join papers on placed.paper_id = papers.paper_id and placed.edition_id = papers.edition_id

)

select * from final

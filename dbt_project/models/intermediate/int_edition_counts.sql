with papers as (

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
    from {{ ref('papers') }}
    group by edition_id

),

reviews as (

    select
        edition_id,
        count(*) as review_count,
        sum(rating) / count(rating) as rating_mean,
        count(*) filter (where is_rating_off_scale) as off_scale_rating_count
    from {{ ref('reviews') }}
    group by edition_id

),

editions as (

    select edition_id from {{ ref('stg_editions') }}

),

final as (

    select
        editions.edition_id,
        papers.* exclude (edition_id),
        reviews.* exclude (edition_id)
    from editions
    left join papers on editions.edition_id = papers.edition_id
    left join reviews on editions.edition_id = reviews.edition_id

)

select * from final

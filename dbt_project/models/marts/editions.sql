with editions as (

    select * from {{ ref('stg_editions') }}

),

snapshots as (

    select
        edition_id,
        max(as_of_at) as as_of_at,
        list_sort(list_distinct(list(source))) as sources
    from {{ ref('stg_snapshots') }}
    group by edition_id

),

papers as (

    select
        edition_id,
        count(*) as submission_count,
        count(*) filter (where status = 'under_review') as under_review_count,
        count(*) filter (where status = 'accepted') as accepted_count,
        count(*) filter (where status = 'rejected') as rejected_count,
        count(*) filter (where status = 'withdrawn') as withdrawn_count,
        count(*) filter (where status = 'desk_rejected') as desk_rejected_count,
        count(*) filter (where status is null) as unknown_status_count
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

scales as (

    select
        editions.edition_id,
        list_transform(string_split(rating_scales.allowed_ratings, ' '), lambda given: given::double) as rating_scale
    from editions
    inner join {{ ref('rating_scales') }} as rating_scales
        on
            editions.venue = rating_scales.venue
            and editions.year between rating_scales.first_year and rating_scales.last_year

),

conserved as (

    select
        edition_id,
        sum(rows_merged) filter (where row_kind = 'paper') as merged_paper_row_count,
        sum(rows_merged) filter (where row_kind = 'review') as merged_review_row_count,
        sum(rows_quarantined) as quarantined_row_count
    from {{ ref('int_row_conservation') }}
    group by edition_id

),

final as (

    select
        editions.edition_id,
        editions.venue,
        editions.year,
        editions.venue_id,
        editions.is_synthetic,
        snapshots.as_of_at,
        snapshots.sources,
        coalesce(papers.submission_count, 0)::integer as submission_count,
        coalesce(papers.under_review_count, 0)::integer as under_review_count,
        coalesce(papers.accepted_count, 0)::integer as accepted_count,
        coalesce(papers.rejected_count, 0)::integer as rejected_count,
        coalesce(papers.withdrawn_count, 0)::integer as withdrawn_count,
        coalesce(papers.desk_rejected_count, 0)::integer as desk_rejected_count,
        coalesce(papers.unknown_status_count, 0)::integer as unknown_status_count,
        -- NULL until decisions are known.
        case
            when papers.accepted_count > 0 then papers.accepted_count / papers.submission_count
        end as acceptance_rate,
        coalesce(reviews.review_count, 0)::integer as review_count,
        reviews.rating_mean,
        scales.rating_scale,
        coalesce(reviews.off_scale_rating_count, 0)::integer as off_scale_rating_count,
        coalesce(conserved.merged_paper_row_count, 0)::integer as merged_paper_row_count,
        coalesce(conserved.merged_review_row_count, 0)::integer as merged_review_row_count,
        coalesce(conserved.quarantined_row_count, 0)::integer as quarantined_row_count
    from editions
    inner join snapshots on editions.edition_id = snapshots.edition_id
    left join papers on editions.edition_id = papers.edition_id
    left join reviews on editions.edition_id = reviews.edition_id
    left join scales on editions.edition_id = scales.edition_id
    left join conserved on editions.edition_id = conserved.edition_id

)

select * from final
order by edition_id

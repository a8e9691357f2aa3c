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

counts as (

    select * from {{ ref('int_edition_counts') }}

),

-- Texts as given; the papers have `has_unknown_status`.
unknown_labels as (

    select
        edition_id,
        list_sort(list_distinct(flatten(list(unknown_labels)))) as unknown_status_labels
    from {{ ref('int_paper_rows') }}
    where problem is null and has_unknown_status
    group by edition_id

),

figures as (

    select
        edition_id,
        list(figure order by figure) filter (where not is_in_agreement) as disagreeing_figures
    from {{ ref('edition_figures') }}
    group by edition_id

),

scales as (

    select * from {{ ref('int_rating_scales') }}

),

conserved as (

    select
        edition_id,
        sum(rows_merged) filter (where row_kind = 'paper') as merged_paper_row_count,
        sum(rows_merged) filter (where row_kind = 'review') as merged_review_row_count,
        sum(rows_quarantined) as quarantined_row_count
    from {{ ref('row_conservation') }}
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
        editions.missing_sources,
        coalesce(counts.submission_count, 0)::integer as submission_count,
        coalesce(counts.under_review_count, 0)::integer as under_review_count,
        coalesce(counts.accepted_count, 0)::integer as accepted_count,
        coalesce(counts.rejected_count, 0)::integer as rejected_count,
        coalesce(counts.withdrawn_count, 0)::integer as withdrawn_count,
        coalesce(counts.desk_rejected_count, 0)::integer as desk_rejected_count,
        coalesce(counts.workshop_count, 0)::integer as workshop_count,
        coalesce(counts.unknown_status_count, 0)::integer as unknown_status_count,
        coalesce(unknown_labels.unknown_status_labels, []) as unknown_status_labels,
        -- NULL until decisions are known, and for lists of accepted papers only.
        case
            when counts.accepted_count > 0 and counts.rejected_count > 0
                then counts.accepted_count / counts.submission_count
        end as acceptance_rate,
        coalesce(counts.review_count, 0)::integer as review_count,
        counts.rating_mean,
        case
            when figures.edition_id is not null then coalesce(figures.disagreeing_figures, [])
        end as disagreeing_figures,
        scales.rating_scale,
        coalesce(counts.off_scale_rating_count, 0)::integer as off_scale_rating_count,
        coalesce(conserved.merged_paper_row_count, 0)::integer as merged_paper_row_count,
        coalesce(conserved.merged_review_row_count, 0)::integer as merged_review_row_count,
        coalesce(conserved.quarantined_row_count, 0)::integer as quarantined_row_count
    from editions
    inner join snapshots on editions.edition_id = snapshots.edition_id
    inner join counts on editions.edition_id = counts.edition_id
    left join unknown_labels on editions.edition_id = unknown_labels.edition_id
    left join figures on editions.edition_id = figures.edition_id
    left join scales on editions.edition_id = scales.edition_id
    left join conserved on editions.edition_id = conserved.edition_id

)

select * from final
order by edition_id

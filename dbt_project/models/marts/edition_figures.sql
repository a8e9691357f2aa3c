with editions as (

    select * from {{ ref('int_edition_counts') }}

),

published as (

    select * from {{ ref('published_figures') }}

),

counted as (

    unpivot (
        select
            edition_id,
            submission_count::double as submission_count,
            accepted_count::double as accepted_count,
            withdrawn_count::double as withdrawn_count,
            desk_rejected_count::double as desk_rejected_count,
            review_count::double as review_count,
            rating_mean
        from editions
    ) on columns(* exclude (edition_id)) into name figure value value

),

final as (

    select
        published.edition_id,
        published.figure,
        counted.value,
        published.value_low as published_low,
        published.value_high as published_high,
        coalesce(counted.value between published.value_low and published.value_high, false) as is_in_agreement,
        published.source as published_by,
        published.published_on
    from published
    inner join editions on published.edition_id = editions.edition_id
    left join counted on published.edition_id = counted.edition_id and published.figure = counted.figure

)

select * from final
order by edition_id, figure, published_by

{{ config(materialized = 'view') }}

with editions as (

    select * from {{ ref('stg_editions') }}

),

rating_scales as (

    select * from {{ ref('rating_scales') }}

),

final as (

    select
        editions.edition_id,
        list_transform(string_split(rating_scales.allowed_ratings, ' '), lambda given: given::double) as rating_scale
    from editions
    inner join rating_scales
        on
            editions.venue = rating_scales.venue
            and editions.year between rating_scales.first_year and rating_scales.last_year

)

select * from final

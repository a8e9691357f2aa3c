with editions as (

    select * from {{ source('raw', 'editions') }}

),

-- A release never mixes synthetic with real editions: one real edition, and the synthetic ones stay out.
released as (

    select
        edition_id,
        venue,
        year,
        venue_id,
        is_synthetic,
        missing_sources
    from editions
    where not is_synthetic or not exists (
        select 1 from editions as other
        where not other.is_synthetic
    )

)

select * from released

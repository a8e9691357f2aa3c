with papers as (

    select
        paper_id,
        edition_id,
        keywords
    from {{ ref('int_papers') }}

),

items as (

    select
        paper_id,
        generate_subscripts(keywords, 1) as position,
        edition_id,
        unnest(keywords) as given
    from papers

),

-- Some years end the list with a full stop.
final as (

    select
        paper_id,
        position::integer as position,
        edition_id,
        rtrim(trim(given), '.') as keyword
    from items
    where rtrim(trim(given), '.') != ''

)

select * from final
order by edition_id, paper_id, position

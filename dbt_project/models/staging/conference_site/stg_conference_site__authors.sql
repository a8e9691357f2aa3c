with events as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        {{ json_list('authors') }} as authors
    from {{ ref('base_conference_site__events') }}
    where record_problem is null

),

items as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        generate_subscripts(authors, 1) as item_number,
        unnest(authors) as author
    from events

),

-- The site's own author ids are not OpenReview's and are left out.
final as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        item_number,
        unescape_html(coalesce(
            author ->> '$.fullname', case when json_type(author) = 'VARCHAR' then author ->> '$' end
        )) as name,
        nullif(trim(unescape_html(author ->> '$.institution')), '') as affiliation
    from items

)

select * from final

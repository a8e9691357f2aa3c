with papers as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        {{ json_list('authors') }} as authors,
        {{ json_list('authorids') }} as author_ids
    from {{ ref('base_openreview__notes') }}
    where kind = 'paper' and record_problem is null

),

items as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        generate_subscripts(authors, 1) as item_number,
        unnest(authors) as author,
        case when len(author_ids) = len(authors) then author_ids[generate_subscripts(authors, 1)] ->> '$' end
            as author_id
    from papers

),

-- An author is a name, or from 2026 on an object with `fullname` and `username`.
named as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        item_number,
        coalesce(
            author ->> '$.fullname',
            author ->> '$.name',
            case when json_type(author) = 'VARCHAR' then author ->> '$' end
        ) as name,
        coalesce(author ->> '$.username', author_id) as author_id
    from items

),

final as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        item_number,
        name,
        -- Ids that are e-mail addresses are dropped here and go nowhere.
        case when regexp_matches(author_id, '^~\S+$') then author_id end as profile_id
    from named

)

select * from final

with records as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        {{ score_list('author') }} as names,
        {{ score_list('authorids') }} as author_ids,
        {{ score_list('aff') }} as affiliations
    from {{ ref('base_paper_copilot__records') }}

),

items as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        generate_subscripts(names, 1) as item_number,
        unnest(names) as name,
        -- E-mail addresses, the ids of the years to 2020, are dropped here and go nowhere.
        case
            when len(author_ids) = len(names) and regexp_matches(author_ids[generate_subscripts(names, 1)], '^~\S+$')
                then author_ids[generate_subscripts(names, 1)]
        end as profile_id,
        case when len(affiliations) = len(names) then affiliations[generate_subscripts(names, 1)] end as affiliation
    from records

)

select * from items

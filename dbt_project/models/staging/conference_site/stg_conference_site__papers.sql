with events as (

    select * from {{ ref('base_conference_site__events') }}

),

editions as (

    select * from {{ ref('stg_editions') }}

),

-- An oral and its poster share `uid`; where only one of them carries the real forum id, it serves both.
identified as (

    select
        *,
        coalesce({{ forum_id('paper_url') }}, {{ forum_id('eventmedia') }}) as own_forum_id,
        case
            when nullif(trim(uid), '') is not null
                then max(coalesce({{ forum_id('paper_url') }}, {{ forum_id('eventmedia') }})) over (
                    partition by edition_id, snapshot_id, uid
                )
        end as sibling_forum_id
    from events

),

renamed as (

    select
        identified.edition_id,
        identified.source,
        identified.snapshot_id,
        identified.row_number,
        case
            when identified.record_problem is not null then identified.record_problem
            when identified.visible = 'false' then 'the event is not visible on the site'
            when not contains(identified.sourceurl, editions.venue_id) then 'the event is of another track or venue'
        end as record_problem,
        coalesce(identified.own_forum_id, identified.sibling_forum_id) as paper_id,
        nullif(trim(unescape_html(identified.title)), '') as title,
        coalesce(nullif(trim(identified.decision), ''), nullif(trim(identified.eventtype), '')) as status_text,
        nullif(trim(unescape_html(identified.abstract)), '') as abstract,
        {{ text_items(json_list('identified.keywords')) }} as keywords,
        nullif(trim(identified.topic), '') as primary_area,
        coalesce(len({{ json_list('identified.authors') }}), 0) as author_count,
        0 as review_count
    from identified
    inner join editions on identified.edition_id = editions.edition_id

)

select * from renamed

{% set kinds = [
    'accept', 'conditional', 'oral', 'spotlight', 'poster', 'notable', 'withdrawn', 'desk', 'reject', 'not', 'workshop',
    'invite', 'submitted', 'submission', 'under', 'review', 'conference'
] %}
with source_papers as (

    select * from {{ ref('int_source_papers') }}

),

editions as (

    select * from {{ ref('stg_editions') }}

),

exceptions as (

    select * from {{ ref('venue_labels') }}

),

given as (

    select distinct
        edition_id,
        unnest([coalesce(status_text, venue_text), decision_text]) as label_text
    from source_papers

),

bare as (

    select
        given.edition_id,
        given.label_text,
        {{ exception_key('given.label_text') }} as label,
        {{ bare_label('given.label_text', 'editions.venue', 'editions.year', 'editions.venue_id') }} as bare_label
    from given
    inner join editions on given.edition_id = editions.edition_id
    where given.label_text is not null

),

labels as (

    select
        *,
        try_cast(regexp_extract(bare_label, '\btop\W*(\d{1,3})\s*%', 1) as integer) as top_percent,
        {{ label_parts(words_of_label('bare_label')) }} as parts
    from bare

),

told as (

    select
        edition_id,
        label_text,
        label,
        top_percent,
        -- One word that nobody knows, and the label may mean anything.
        list_count(parts) = len(parts) as is_explained,
        -- `Workshop Poster` is a workshop's own label; `Poster Workshop` is the conference's.
        parts[1] = 'workshop' and len(parts) > 1 as is_of_a_workshop,
        len(list_filter(parts, lambda part: part != 'conference')) = 0 as is_bare,
    {% for kind in kinds %}
    list_contains(parts, '{{ kind }}') as has_{{ kind }}{{ "," if not loop.last }}
    {% endfor %}
    from labels

),

decided as (

    select
        *,
        has_accept or has_conditional or has_oral or has_spotlight or has_poster or has_notable as has_acceptance,
        case
            when not is_explained or is_of_a_workshop then null
            when has_not then case when has_accept and not (has_withdrawn or has_reject) then 'rejected' end
            when has_withdrawn then 'withdrawn'
            when has_desk then case when has_reject and not has_accept then 'desk_rejected' end
            when has_reject then case when not (has_accept or has_conditional) then 'rejected' end
            when has_submitted then case when not (has_acceptance or has_workshop or has_invite) then 'rejected' end
            when has_workshop then 'workshop'
            when has_invite then null
            when has_acceptance then 'accepted'
            when has_submission or (has_under and has_review) then 'under_review'
            when is_bare then 'accepted'
        end as told_status
    from told

),

final as (

    select
        decided.edition_id,
        decided.label_text,
        coalesce(exceptions.status, decided.told_status) as status,
        case
            when exceptions.label is not null then exceptions.decision
            when decided.told_status = 'workshop' then 'workshop'
            when coalesce(decided.told_status, '') != 'accepted' then null
            when decided.has_oral or decided.top_percent <= 5 then 'oral'
            when decided.has_spotlight or decided.top_percent <= 25 then 'spotlight'
            when decided.has_poster then 'poster'
        end as decision,
        coalesce(coalesce(exceptions.status, decided.told_status) = 'accepted' and decided.has_conditional, false)
            as is_conditional
    from decided
    left join exceptions on decided.label = exceptions.label

)

select * from final

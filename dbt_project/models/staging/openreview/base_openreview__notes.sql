{{ config(materialized = 'table') }}

{#- A field is `content.<name>.value` in version 2 of the API and `content.<name>` in version 1. -#}
{% set note_paths = {
    'id': '$.id',
    'forum': '$.forum',
    'replyto': '$.replyto',
    'number': '$.number',
    'invitation_v1': '$.invitation',
    'invitations': '$.invitations',
    'signatures': '$.signatures',
    'tcdate': '$.tcdate',
    'tmdate': '$.tmdate',
    'cdate': '$.cdate',
    'mdate': '$.mdate',
    'ddate': '$.ddate',
} %}
{% set content_fields = [
    'title', 'abstract', 'authors', 'authorids', 'keywords', 'primary_area', 'venue', 'venueid', 'pdf', '_bibtex',
    'rating', 'recommendation', 'confidence', 'soundness', 'presentation', 'contribution', 'correctness',
    'technical_novelty_and_significance', 'empirical_novelty_and_significance', 'summary', 'strengths', 'weaknesses',
    'questions', 'review', 'main_review', 'summary_of_the_paper', 'summary_of_the_review',
    'strength_and_weaknesses', 'clarity__quality__novelty_and_reproducibility', 'metareview', 'decision', 'comment',
    'withdrawal_confirmation', 'desk_reject_comments', 'code'
] %}
{% set paths = {} %}
{% do paths.update(note_paths) %}
{% for field in content_fields %}
{% do paths.update({field ~ '_v1': '$.content.' ~ field, field ~ '_v2': '$.content.' ~ field ~ '.value'}) %}
{% endfor %}
{% set lists = [
    'invitation_v1', 'invitations', 'signatures', 'authors_v1', 'authors_v2', 'authorids_v1', 'authorids_v2',
    'keywords_v1', 'keywords_v2'
] %}
{% set texts = [] %}
{% for field in ['title', 'abstract', 'primary_area', 'venue', 'pdf', '_bibtex', 'decision'] %}
{% do texts.extend([field ~ '_v1', field ~ '_v2']) %}
{% endfor %}

with {{ parsed_records('openreview', paths) }},

named as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        record_problem,
        {{ json_fields(paths, texts=texts, lists=lists) }}
    from parsed

),

final as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        record_problem,
        id,
        forum,
        replyto,
        case when try_cast(number as integer) > 0 then try_cast(number as integer) end as number,
        coalesce(invitations, invitation_v1) as invitation,
        nullif(regexp_extract(signatures, '([^/"]+)"\]$', 1), '') as signature_label,
        nullif(regexp_extract(signatures, '^\["([^"]+)"', 1), '') as signature,
        {{ epoch_ms('coalesce(tcdate, cdate)') }} as created_at,
        {{ epoch_ms('coalesce(tmdate, mdate)') }} as modified_at,
        ddate is not null as is_deleted,
        {% for field in content_fields %}
        nullif(trim(case when invitation_v1 is null then {{ field }}_v2 else {{ field }}_v1 end), '') as {{ field }}
        {{- "," if not loop.last }}
        {%- endfor %},
        case
            when id = forum then 'paper'
            when regexp_matches(coalesce(invitations, invitation_v1), 'Official_Review|official/review') then 'review'
            when regexp_matches(coalesce(invitations, invitation_v1), 'Meta_Review|meta/review') then 'meta_review'
            when
                regexp_matches(coalesce(invitations, invitation_v1), '(Acceptance_|/)[Dd]ecision|/acceptance')
                then 'decision'
            when contains(coalesce(invitations, invitation_v1), 'Desk_Reject') then 'desk_rejection'
            when contains(coalesce(invitations, invitation_v1), 'Withdraw') then 'withdrawal'
            when ends_with(regexp_extract(signatures, '^\["([^"]+)"', 1), '/Authors') then 'author_response'
            when
                regexp_matches(coalesce(invitations, invitation_v1), 'Public_Comment|public/comment')
                then 'public_comment'
            else 'comment'
        end as kind
    from named

)

select * from final

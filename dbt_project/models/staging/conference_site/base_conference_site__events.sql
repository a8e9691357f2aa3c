{{ config(materialized = 'table') }}

{% set paths = {
    'id': '$.id',
    'uid': '$.uid',
    'title': '$.name',
    'authors': '$.authors',
    'abstract': '$.abstract',
    'topic': '$.topic',
    'keywords': '$.keywords',
    'decision': '$.decision',
    'eventtype': '$.eventtype',
    'sourceurl': '$.sourceurl',
    'paper_url': '$.paper_url',
    'eventmedia': '$.eventmedia',
    'visible': '$.visible',
} %}

with {{ parsed_records('conference_site', paths) }},

final as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        record_problem,
        {{ json_fields(
            paths,
            texts=['title', 'abstract', 'topic', 'decision', 'eventtype'],
            lists=['authors', 'keywords', 'eventmedia']
        ) }}
    from parsed

)

select * from final

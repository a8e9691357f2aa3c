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

with records as (

    select * from {{ source('raw', 'json_records') }}
    where
        dataset_schema = 'conference_site'
        and edition_id in (select edition_id from {{ ref('stg_editions') }})

),

parsed as (

    select
        edition_id,
        snapshot_id,
        row_number,
        problem as record_problem,
        case when problem is null then {{ json_paths(paths) }} end as fields,
        case when problem is null then {{ json_types(paths) }} end as types
    from records

)

select
    edition_id,
    'conference_site' as source,
    snapshot_id,
    row_number,
    record_problem,
    {{ json_fields(
        paths,
        texts=['title', 'abstract', 'topic', 'decision', 'eventtype'],
        lists=['authors', 'keywords', 'eventmedia']
    ) }}
from parsed

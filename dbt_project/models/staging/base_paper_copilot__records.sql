{{ config(materialized = 'table') }}

{% set paths = {
    'id': '$.id',
    'title': '$.title',
    'track': '$.track',
    'status': '$.status',
    'abstract': '$.abstract',
    'keywords': '$.keywords',
    'primary_area': '$.primary_area',
    'author': '$.author',
    'authorids': '$.authorids',
    'aff': '$.aff',
    'bibtex': '$.bibtex',
    'github': '$.github',
    'project': '$.project',
    'site': '$.site',
    'reviewers': '$.reviewers',
    'rating': '$.rating',
    'recommendation': '$.recommendation',
    'confidence': '$.confidence',
    'soundness': '$.soundness',
    'contribution': '$.contribution',
    'presentation': '$.presentation',
    'correctness': '$.correctness',
    'technical_novelty': '$.technical_novelty',
    'empirical_novelty': '$.empirical_novelty',
} %}

with records as (

    select * from {{ source('raw', 'json_records') }}
    where
        dataset_schema = 'paper_copilot'
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

),

final as (

    select
        edition_id,
        'paper_copilot' as source,
        snapshot_id,
        row_number,
        record_problem,
        {{ json_fields(paths, texts=['title', 'abstract', 'keywords', 'primary_area', 'bibtex']) }}
    from parsed

)

select * from final

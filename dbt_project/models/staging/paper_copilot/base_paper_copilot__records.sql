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

with {{ parsed_records('paper_copilot', paths) }},

final as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        record_problem,
        {{ json_fields(paths, texts=['title', 'abstract', 'keywords', 'primary_area', 'bibtex']) }}
    from parsed

)

select * from final

{% set columns = {
    'reviewers': 'reviewer_signature',
    'confidence': 'confidence_text',
    'soundness': 'soundness_text',
    'contribution': 'contribution_text',
    'presentation': 'presentation_text',
    'correctness': 'correctness_text',
    'technical_novelty': 'technical_novelty_text',
    'empirical_novelty': 'empirical_novelty_text',
} %}

with records as (

    select
        *,
        {{ score_list(archive_ratings()) }} as ratings
    from {{ ref('base_paper_copilot__records') }}

),

-- One reviewer's values stand at the same place in every column; a column of another length tells nothing.
aligned as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        ratings,
    {% for column in columns %}
    case
        when len({{ score_list(column) }}) = len(ratings) then {{ score_list(column) }}
    end as {{ column }}{{ "," if not loop.last }}
    {% endfor %}
    from records

),

items as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        generate_subscripts(ratings, 1) as item_number,
        unnest(ratings) as rating_text,
    {% for column, name in columns.items() %}
    {{ column }}[generate_subscripts(ratings, 1)] as {{ name }}{{ "," if not loop.last }}
    {% endfor %}
    from aligned

)

select * from items

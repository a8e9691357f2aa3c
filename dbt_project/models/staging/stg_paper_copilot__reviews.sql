with records as (

    select
        *,
        {{ score_list('coalesce(nullif(rating, \'\'), recommendation)') }} as ratings
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
        {% for column in [
            'reviewers', 'confidence', 'soundness', 'contribution', 'presentation', 'correctness', 'technical_novelty',
            'empirical_novelty'
        ] %}
    case
        when len({{ score_list(column) }}) = len(ratings) then {{ score_list(column) }}
    end as {{ column }}{{ "," if not loop.last }}
    {%- endfor %}
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
        {% for column in [
            'reviewers', 'confidence', 'soundness', 'contribution', 'presentation', 'correctness', 'technical_novelty',
            'empirical_novelty'
        ] %}
    {{ column }}[generate_subscripts(ratings, 1)] as {{ column }}{{ "," if not loop.last }}
    {%- endfor %}
    from aligned

)

select * from items

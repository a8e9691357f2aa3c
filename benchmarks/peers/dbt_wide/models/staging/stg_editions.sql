{% for input in var('inputs') %}
select
    '{{ input.edition_id }}' as edition_id,
    '{{ input.venue }}' as venue,
    {{ input.year }} as year,
    '{{ input.venue_id }}' as venue_id,
    (
        select list_transform(string_split(allowed_ratings, ' '), lambda given: given::double)
        from {{ ref('rating_scales') }}
        where venue = '{{ input.venue }}' and {{ input.year }} between first_year and last_year
    ) as rating_scale
{{ "union all" if not loop.last }}
{% endfor %}

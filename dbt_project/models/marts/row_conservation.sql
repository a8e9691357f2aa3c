with snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- Rows in: what landed, by the files' footers or as records, and the items of their lists. A crawl's records are of
-- several kinds; any other source's are papers.
rows_in as (

    select
        edition_id,
        snapshot_id,
        'paper' as row_kind,
        row_count as rows_in
    from snapshots
    where source != 'openreview'
    union all
    select
        edition_id,
        snapshot_id,
        'paper' as row_kind,
        count(*) as rows_in
    from {{ ref('int_source_papers') }}
    where source = 'openreview'
    group by all
    union all
    {% for kind, row_kind in {'reviews': 'review', 'authors': 'author', 'discussion': 'note'}.items() %}
    select
        edition_id,
        snapshot_id,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_in
    from {{ ref('int_source_' ~ kind) }}
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

-- Rows out, counted in the marts.
rows_in_marts as (

    {% for mart, row_kind in {
        'papers': 'paper', 'reviews': 'review', 'paper_authors': 'author', 'discussion': 'note'
    }.items() %}
    select
        edition_id,
        snapshot_number,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_in_marts
    from {{ ref(mart) }}
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

quarantined as (

    select
        edition_id,
        snapshot_number,
        row_kind,
        count(*) as rows_quarantined
    from {{ ref('quarantined_rows') }}
    group by all

),

merged as (

    {% for model, row_kind in {
        'int_paper_rows': 'paper', 'int_review_rows': 'review', 'int_author_rows': 'author',
        'int_discussion_rows': 'note'
    }.items() %}
    select
        edition_id,
        snapshot_id,
        '{{ row_kind }}' as row_kind,
        count(*) as rows_merged
    from {{ ref(model) }}
    where outcome = 'merged'
    group by all
    {{ "union all" if not loop.last }}
    {% endfor %}

),

numbered as (

    select
        snapshots.edition_id,
        snapshots.snapshot_number,
        snapshots.source,
        rows_in.row_kind,
        rows_in.rows_in,
        merged.rows_merged
    from snapshots
    inner join rows_in on snapshots.edition_id = rows_in.edition_id and snapshots.snapshot_id = rows_in.snapshot_id
    left join merged
        on
            rows_in.edition_id = merged.edition_id
            and rows_in.snapshot_id = merged.snapshot_id
            and rows_in.row_kind = merged.row_kind

),

final as (

    select
        numbered.edition_id,
        numbered.snapshot_number,
        numbered.row_kind,
        numbered.source,
        numbered.rows_in::bigint as rows_in,
        coalesce(rows_in_marts.rows_in_marts, 0)::bigint as rows_in_marts,
        coalesce(numbered.rows_merged, 0)::bigint as rows_merged,
        coalesce(quarantined.rows_quarantined, 0)::bigint as rows_quarantined
    from numbered
    left join rows_in_marts using (edition_id, snapshot_number, row_kind)
    left join quarantined using (edition_id, snapshot_number, row_kind)

)

select * from final
order by edition_id, snapshot_number, row_kind

{{ config(materialized = 'view') }}

-- Only of editions whose text is made anew.
with review_rows as (

    select
        review_id,
        source,
        edition_id,
        snapshot_id,
        row_number,
        item_number,
        overall_rank
    from {{ ref('int_review_rows') }}
    where problem is null and source in ('hub_dataset', 'openreview') and {{ is_changed('edition_id') }}

),

final as (

    select * exclude (overall_rank)
    from review_rows
    qualify row_number() over (partition by review_id, source order by overall_rank) = 1

)

select * from final

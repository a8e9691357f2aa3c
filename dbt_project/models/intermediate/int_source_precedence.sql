-- One row per source, one column per column of the marts that sources can disagree on; the lowest number wins.
with precedence as (

    select * from {{ ref('source_precedence') }}

),

final as (

    select
        source,
        max(priority) filter (where column_name = 'row') as row_priority,
        max(priority) filter (where column_name = 'status') as status_priority,
        max(priority) filter (where column_name = 'title') as title_priority,
        max(priority) filter (where column_name = 'abstract') as abstract_priority,
        max(priority) filter (where column_name = 'keywords') as keywords_priority,
        max(priority) filter (where column_name = 'authors') as authors_priority,
        max(priority) filter (where column_name = 'reviews') as reviews_priority
    from precedence
    group by source

)

select * from final

{{ config(materialized = 'view') }}

with final as (

    {{ union_sources('authors') }}

)

select * from final

{{ config(materialized = 'view') }}

with final as (

    {{ union_sources('papers') }}

)

select * from final

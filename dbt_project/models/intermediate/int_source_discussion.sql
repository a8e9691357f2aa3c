{{ config(materialized = 'view') }}

with final as (

    {{ union_sources('discussion') }}

)

select * from final

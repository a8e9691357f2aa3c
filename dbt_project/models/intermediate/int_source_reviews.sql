{{ config(materialized = 'view') }}

with final as (

    {{ union_sources('reviews') }}

)

select * from final

with reviews as (

    select * from {{ ref('int_reviews') }}

),

sums as (

    select
        paper_id,
        count(*) as review_count,
        count(rating) as rating_count,
        sum(rating) as rating_sum,
        sum(rating * rating) as rating_square_sum,
        min(rating) as rating_min,
        max(rating) as rating_max,
        avg(confidence) as confidence_mean
    from reviews
    group by paper_id

),

final as (

    select
        paper_id,
        review_count,
        rating_sum / rating_count as rating_mean,
        -- From sums, which are exact for ratings; stddev_samp() depends on the order in which threads meet rows.
        case
            when rating_count > 1
                then sqrt(greatest(rating_square_sum - rating_sum * rating_sum / rating_count, 0) / (rating_count - 1))
        end as rating_stddev,
        rating_min,
        rating_max,
        confidence_mean
    from sums

)

select * from final

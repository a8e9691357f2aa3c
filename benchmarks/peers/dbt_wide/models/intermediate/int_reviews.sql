-- The first row of each review.
select reviews.*
from {{ ref('stg_reviews') }} as reviews
inner join {{ ref('int_papers') }} as papers using (paper_id)
where review_id is not null
qualify row_number() over (partition by review_id order by papers.row_number, item_number) = 1

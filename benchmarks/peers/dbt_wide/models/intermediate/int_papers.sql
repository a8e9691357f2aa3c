-- The fullest row of each paper.
select
    *,
    count(*) over (partition by paper_id) - 1 as merged_row_count
from {{ ref('stg_papers') }}
where paper_id is not null
qualify row_number() over (
    partition by paper_id order by review_count desc, author_count desc, length(abstract) desc, row_number
) = 1

-- One row a raw row, trimmed and typed.
select
    edition_id,
    row_number,
    paper_id,
    nullif(try_cast(regexp_extract(invitation, '/Submission(\d+)/', 1) as integer), 0) as submission_number,
    nullif(trim(title), '') as title,
    nullif(trim(abstract), '') as abstract,
    nullif(trim(venue), '') as venue_text,
    invitation,
    authors,
    coalesce(len(authors), 0) as author_count,
    coalesce(len(reviews), 0) as review_count,
    case when regexp_matches(trim(pdf), '^https?://[^\s/]') then trim(pdf) end as pdf_url,
    nullif(trim(_bibtex), '') as bibtex
from {{ ref('stg_hub') }}

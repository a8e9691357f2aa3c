with hub_rows as (

    select * from {{ source('raw', 'hub_rows') }}

),

renamed as (

    select
        edition_id,
        'hub_dataset' as source,
        snapshot_id,
        row_number,
        file_number,
        file_row_number,
        problem,
        {{ forum_id('url') }} as paper_id,
        nullif(try_cast(regexp_extract(invitation, '/Submission(\d+)/', 1) as integer), 0) as submission_number,
        nullif(trim(title), '') as title,
        nullif(trim(venue), '') as venue_text,
        nullif(invitation, '') as invitation,
        coalesce(len(authors), 0) as author_count,
        coalesce(len(reviews), 0) as review_count
    from hub_rows
    where edition_id in (select edition_id from {{ ref('stg_editions') }})

),

final as (

    select
        * exclude (problem),
        coalesce(problem, case when paper_id is null then 'the URL holds no OpenReview forum id' end) as record_problem
    from renamed

)

select * from final

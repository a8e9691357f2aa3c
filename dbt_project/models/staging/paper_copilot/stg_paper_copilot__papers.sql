with records as (

    select * from {{ ref('base_paper_copilot__records') }}

),

renamed as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        case
            when record_problem is not null then record_problem
            when coalesce(track, 'main') != 'main' then 'the row is of another track: ' || track
        end as record_problem,
        coalesce({{ forum_id('site') }}, nullif(regexp_extract(id, '^[A-Za-z0-9_-]{8,15}$'), '')) as paper_id,
        nullif(trim(title), '') as title,
        nullif(trim(status), '') as status_text,
        nullif(trim(abstract), '') as abstract,
        nullif(trim(bibtex), '') as bibtex,
        {{ split_list('keywords', ';') }} as keywords,
        nullif(trim(primary_area), '') as primary_area,
        nullif(trim(github), '') as code_url,
        nullif(trim(project), '') as project_url,
        coalesce(len({{ split_list('author', ';') }}), 0) as author_count,
        len({{ score_list(archive_ratings()) }}) as review_count
    from records

)

select * from renamed

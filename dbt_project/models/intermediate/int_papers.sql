with paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

-- What any of a paper's rows tells counts for the paper where the fullest row is silent.
merged as (

    select
        paper_id,
        max(submission_number) as submission_number,
        max(author_count) as author_count,
        count(*) - 1 as merged_row_count,
        list_sort(list_distinct(list(source))) as sources
    from paper_rows
    where problem is null
    group by paper_id

),

final as (

    select
        paper_rows.paper_id,
        paper_rows.edition_id,
        paper_rows.source,
        paper_rows.snapshot_id,
        paper_rows.row_number,
        paper_rows.file_number,
        paper_rows.file_row_number,
        paper_rows.venue_text,
        paper_rows.status,
        paper_rows.decision,
        merged.author_count = 0 as is_blind,
        coalesce(paper_rows.submission_number, merged.submission_number) as submission_number,
        merged.merged_row_count,
        merged.sources
    from paper_rows
    inner join merged on paper_rows.paper_id = merged.paper_id
    where paper_rows.outcome = 'kept'

)

select * from final

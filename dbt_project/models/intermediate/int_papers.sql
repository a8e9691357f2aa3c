with paper_rows as (

    select * from {{ ref('int_paper_rows') }}
    where problem is null

),

precedence as (

    select * from {{ ref('int_source_precedence') }}

),

ranked as (

    select *
    from paper_rows
    inner join precedence using (source)

),

merged as (

    select
        paper_id,
        {{ preferred('status') }} as status,
        first(is_conditional order by status_priority, fullness_rank) filter (where status is not null)
            as is_conditional,
        {{ preferred('title') }} as title,
        {{ preferred('keywords') }} as keywords,
        {{ preferred('primary_area', 'keywords') }} as primary_area,
        {{ preferred('venue_text', 'row') }} as venue_text,
        {{ preferred('submission_number', 'row') }} as submission_number,
        {{ preferred('pdf_url', 'row') }} as pdf_url,
        {{ preferred('submitted_at', 'row') }} as submitted_at,
        {{ preferred('modified_at', 'row') }} as modified_at,
        bool_or(has_unknown_status) as has_unknown_status,
        max(author_count) as author_count,
        count(*) - 1 as merged_row_count,
        list_sort(list_distinct(list(source))) as sources
    from ranked
    group by paper_id

),

-- The decision comes from the preferred source among those that agree with the status: who says "rejected" knows of no
-- oral.
decisions as (

    select
        ranked.paper_id,
        first(ranked.decision order by ranked.status_priority, ranked.decision_rank, ranked.fullness_rank) as decision
    from ranked
    inner join merged on ranked.paper_id = merged.paper_id
    where ranked.decision is not null and ranked.status = merged.status and merged.status in ('accepted', 'workshop')
    group by ranked.paper_id

),

final as (

    select
        paper_rows.paper_id,
        paper_rows.edition_id,
        paper_rows.source,
        paper_rows.snapshot_id,
        paper_rows.row_number,
        merged.submission_number,
        merged.title,
        merged.keywords,
        merged.primary_area,
        merged.status,
        decisions.decision,
        coalesce(merged.is_conditional, false) as is_conditional,
        merged.venue_text,
        merged.has_unknown_status,
        merged.author_count = 0 as is_blind,
        merged.pdf_url,
        merged.submitted_at,
        merged.modified_at,
        merged.merged_row_count,
        merged.sources
    from paper_rows
    inner join merged on paper_rows.paper_id = merged.paper_id
    left join decisions on paper_rows.paper_id = decisions.paper_id
    where paper_rows.outcome = 'kept'

)

select * from final
-- In source order, which the mart keeps: threads meet the rows of a join in another order each time.
order by edition_id, snapshot_id, row_number

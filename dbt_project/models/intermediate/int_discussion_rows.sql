with notes as (

    select * from {{ ref('int_source_discussion') }}

),

papers as (

    select
        paper_id,
        edition_id
    from {{ ref('int_papers') }}

),

judged as (

    select
        notes.* exclude (record_problem),
        case
            when notes.record_problem is not null then notes.record_problem
            when not regexp_matches(notes.note_id, '^[A-Za-z0-9_-]{1,64}$')
                then 'the note id is not one of OpenReview''s'
            when papers.paper_id is null then 'its paper is not among those that landed'
        end as problem
    from notes
    left join papers on notes.paper_id = papers.paper_id and notes.edition_id = papers.edition_id

),

final as (

    select
        *,
        case
            when problem is not null then 'quarantined'
            when row_number() over (
                partition by note_id, problem is null order by modified_at desc nulls last, snapshot_id, row_number
            ) = 1 then 'kept'
            else 'merged'
        end as outcome
    from judged

)

select * from final

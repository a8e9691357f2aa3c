with notes as (

    select * from {{ ref('base_openreview__notes') }}
    where kind = 'paper' or record_problem is not null or id is null

),

decisions as (

    select
        forum,
        edition_id,
        snapshot_id,
        max_by(coalesce(decision, recommendation), modified_at) as decision
    from {{ ref('base_openreview__notes') }}
    where kind = 'decision' and not is_deleted
    group by forum, edition_id, snapshot_id

),

renamed as (

    select
        notes.edition_id,
        notes.source,
        notes.snapshot_id,
        notes.row_number,
        case
            when notes.record_problem is not null then notes.record_problem
            when notes.is_deleted then 'the note was deleted upstream'
        end as record_problem,
        nullif(regexp_extract(notes.id, '^[A-Za-z0-9_-]{8,15}$'), '') as paper_id,
        notes.number as submission_number,
        notes.title,
        notes.venue as venue_text,
        decisions.decision as decision_text,
        notes.invitation,
        notes.abstract,
        notes._bibtex as bibtex,
        {{ text_items(json_list('notes.keywords')) }} as keywords,
        notes.primary_area,
        case
            when starts_with(notes.pdf, '/') then 'https://openreview.net' || notes.pdf
            when regexp_matches(notes.pdf, '^https?://[^\s/]') then notes.pdf
        end as pdf_url,
        notes.code as code_url,
        notes.created_at as submitted_at,
        notes.modified_at,
        coalesce(len({{ json_list('notes.authors') }}), 0) as author_count,
        -- Reviews are notes of their own.
        0 as review_count
    from notes
    left join decisions
        on
            notes.forum = decisions.forum
            and notes.edition_id = decisions.edition_id
            and notes.snapshot_id = decisions.snapshot_id

)

select * from renamed

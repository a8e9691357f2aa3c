{{ config(materialized = 'view') }}

-- The texts and links of a row stay out: whoever needs them asks `int_source_papers`.
with paper_rows as (

    select
        * exclude (abstract, bibtex, code_url, project_url, status_text),
        coalesce(status_text, venue_text) as status_text
    from {{ ref('int_source_papers') }}

),

editions as (

    select * from {{ ref('stg_editions') }}

),

venue_labels as (

    select * from {{ ref('venue_labels') }}

),

precedence as (

    select * from {{ ref('int_source_precedence') }}

),

labelled as (

    select
        paper_rows.*,
        editions.venue,
        editions.year,
        editions.venue_id,
        precedence.row_priority,
        {{ status_label('paper_rows.status_text') }} as status_label,
        {{ status_label('paper_rows.decision_text') }} as decision_label
    from paper_rows
    inner join editions on paper_rows.edition_id = editions.edition_id
    inner join precedence on paper_rows.source = precedence.source

),

final as (

    select
        labelled.* exclude (record_problem),
        -- The venue text is the real status. While it still reads as a submission, a decision note and then the
        -- invitations tell what happened.
        case
            when coalesce(by_status.status, 'under_review') != 'under_review' then by_status.status
            when by_decision.status is not null then by_decision.status
            when contains(invitation, 'Withdrawn_Submission') then 'withdrawn'
            when contains(invitation, 'Desk_Rejected_Submission') then 'desk_rejected'
            else by_status.status
        end as status,
        coalesce(by_status.decision, by_decision.decision) as decision,
        (status_label is not null and by_status.status is null)
        or (decision_label is not null and by_decision.status is null) as has_unknown_status,
        case
            when record_problem is not null then record_problem
            when paper_id is null then 'the row holds no OpenReview forum id'
            when not contains(lower(invitation), lower(venue_id))
                then 'the invitation belongs to another venue than ' || venue_id
            when
                by_status.status is null
                and (
                    not contains(lower(venue_text), lower(venue || ' ' || year))
                    or starts_with(status_label, 'workshop ')
                )
                then 'the venue text names another venue or year than ' || venue || ' ' || year
        end as own_problem
    from labelled
    left join venue_labels as by_status on labelled.status_label = by_status.label
    left join venue_labels as by_decision on labelled.decision_label = by_decision.label

)

select * from final

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

labels as (

    select * from {{ ref('int_status_labels') }}

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
        by_status.status as told_status,
        by_status.decision as told_decision,
        by_status.is_conditional as is_told_conditional,
        by_decision.status as decided_status,
        by_decision.decision as decided_decision,
        by_decision.is_conditional as is_decided_conditional,
        list_filter(
            [
                case when by_status.status is null then paper_rows.status_text end,
                case when by_decision.status is null then paper_rows.decision_text end
            ],
            lambda label: label is not null
        ) as unknown_labels
    from paper_rows
    inner join editions on paper_rows.edition_id = editions.edition_id
    inner join precedence on paper_rows.source = precedence.source
    left join labels as by_status
        on paper_rows.edition_id = by_status.edition_id and paper_rows.status_text = by_status.label_text
    left join labels as by_decision
        on paper_rows.edition_id = by_decision.edition_id and paper_rows.decision_text = by_decision.label_text

),

final as (

    select
        * exclude (
            record_problem, told_status, told_decision, is_told_conditional, decided_status, decided_decision,
            is_decided_conditional
        ),
        -- The venue text is the real status. While it still reads as a submission, a decision note and then the
        -- invitations tell what happened.
        case
            when coalesce(told_status, 'under_review') != 'under_review' then told_status
            when decided_status is not null then decided_status
            when contains(invitation, 'Withdrawn_Submission') then 'withdrawn'
            when contains(invitation, 'Desk_Rejected_Submission') then 'desk_rejected'
            else told_status
        end as status,
        coalesce(told_decision, decided_decision) as decision,
        coalesce(
            case
                when coalesce(told_status, 'under_review') != 'under_review' then is_told_conditional
                else is_decided_conditional
            end,
            false
        ) as is_conditional,
        len(unknown_labels) > 0 as has_unknown_status,
        case
            when record_problem is not null then record_problem
            when paper_id is null then 'the row holds no OpenReview forum id'
            when not contains(lower(invitation), lower(venue_id))
                then 'the invitation belongs to another venue than ' || venue_id
            when
                told_status is null
                and (
                    not contains(lower(venue_text), lower(venue || ' ' || year))
                    or starts_with({{ exception_key('venue_text') }}, 'workshop ')
                )
                then 'the venue text names another venue or year than ' || venue || ' ' || year
        end as own_problem
    from labelled

)

select * from final

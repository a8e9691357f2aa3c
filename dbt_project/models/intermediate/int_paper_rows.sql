with hub as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        file_number,
        file_row_number,
        record_problem,
        paper_id,
        submission_number,
        title,
        venue_text,
        venue_text as status_text,
        invitation,
        null::varchar[] as keywords,
        null::varchar as primary_area,
        null::varchar as pdf_url,
        null::timestamp as submitted_at,
        null::timestamp as modified_at,
        author_count,
        review_count
    from {{ ref('stg_hub__papers') }}

),

openreview as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        null::integer as file_number,
        null::bigint as file_row_number,
        record_problem,
        paper_id,
        submission_number,
        title,
        venue_text,
        venue_text as status_text,
        decision_text,
        invitation,
        {{ text_items('keywords') }} as keywords,
        primary_area,
        pdf_url,
        submitted_at,
        modified_at,
        author_count,
        0 as review_count
    from {{ ref('stg_openreview__papers') }}

),

paper_copilot as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        null::integer as file_number,
        null::bigint as file_row_number,
        record_problem,
        paper_id,
        null::integer as submission_number,
        title,
        null::varchar as venue_text,
        status_text,
        null::varchar as invitation,
        keywords,
        primary_area,
        null::varchar as pdf_url,
        null::timestamp as submitted_at,
        null::timestamp as modified_at,
        author_count,
        review_count
    from {{ ref('stg_paper_copilot__papers') }}

),

conference_site as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        null::integer as file_number,
        null::bigint as file_row_number,
        record_problem,
        paper_id,
        null::integer as submission_number,
        title,
        null::varchar as venue_text,
        status_text,
        null::varchar as invitation,
        {{ text_items('keywords') }} as keywords,
        primary_area,
        null::varchar as pdf_url,
        null::timestamp as submitted_at,
        null::timestamp as modified_at,
        author_count,
        0 as review_count
    from {{ ref('stg_conference_site__papers') }}

),

paper_rows as (

    select * from hub
    union all by name
    select * from openreview
    union all by name
    select * from paper_copilot
    union all by name
    select * from conference_site

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

judged as (

    select
        labelled.*,
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
            when paper_id is null and source = 'hub_dataset' then 'the URL holds no OpenReview forum id'
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

),

owned as (

    select
        *,
        first_value(edition_id) over (
            partition by paper_id, own_problem is null order by year, edition_id
        ) as owning_edition_id,
        count(*) over (partition by paper_id, source, own_problem is null) > 1 as has_duplicates
    from judged

),

checked as (

    select
        * exclude (own_problem, owning_edition_id, record_problem),
        case
            when own_problem is not null then own_problem
            when owning_edition_id != edition_id then 'the paper already belongs to edition ' || owning_edition_id
        end as problem
    from owned

),

-- Text is read for duplicates only; the row numbers of the file let DuckDB skip every other row group.
abstract_lengths as (

    select
        texts.edition_id,
        texts.snapshot_id,
        texts.row_number,
        length(texts.abstract) as abstract_length
    from {{ source('raw', 'hub_dataset') }} as texts
    inner join checked
        on
            texts.file_row_number = checked.file_row_number
            and texts.row_number = checked.row_number
            and texts.snapshot_id = checked.snapshot_id
            and texts.edition_id = checked.edition_id
    where checked.has_duplicates and checked.problem is null and checked.source = 'hub_dataset'

),

decision_ranks as (

    select
        unnest(['oral', 'spotlight', 'poster', 'workshop']) as decision,
        unnest([1, 2, 3, 4]) as decision_rank

),

-- Within a source the fuller row wins: more reviews, then more authors, then the longer abstract, then the higher
-- decision (an oral is a poster too), then the earlier row. Between sources, precedence decides.
ranked as (

    select
        checked.* exclude (has_duplicates),
        decision_ranks.decision_rank,
        case
            when problem is null then row_number() over (
                partition by paper_id, checked.source, problem is null
                order by
                    review_count desc, author_count desc, abstract_length desc nulls last, decision_rank nulls last,
                    checked.snapshot_id, checked.row_number
            )
        end as fullness_rank,
        case
            when problem is null then row_number() over (
                partition by paper_id, problem is null
                order by
                    row_priority, review_count desc, author_count desc, abstract_length desc nulls last,
                    decision_rank nulls last, checked.snapshot_id, checked.row_number
            )
        end as overall_rank
    from checked
    left join abstract_lengths
        on
            checked.edition_id = abstract_lengths.edition_id
            and checked.snapshot_id = abstract_lengths.snapshot_id
            and checked.row_number = abstract_lengths.row_number
    left join decision_ranks on checked.decision = decision_ranks.decision

),

final as (

    select
        *,
        case
            when problem is not null then 'quarantined'
            when overall_rank = 1 then 'kept'
            else 'merged'
        end as outcome
    from ranked

)

select * from final

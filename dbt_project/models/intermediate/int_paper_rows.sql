with paper_rows as (

    select * from {{ ref('stg_hub__papers') }}

),

editions as (

    select * from {{ ref('stg_editions') }}

),

venue_labels as (

    select * from {{ ref('venue_labels') }}

),

labelled as (

    select
        paper_rows.*,
        editions.venue,
        editions.year,
        editions.venue_id,
        -- "Submitted to ICLR 2024" -> "submitted to": what is left without the venue's name and year.
        trim(regexp_replace(replace(lower(venue_text), lower(venue || ' ' || year), ' '), '\s+', ' ', 'g'))
            as venue_label
    from paper_rows
    inner join editions on paper_rows.edition_id = editions.edition_id

),

judged as (

    select
        labelled.*,
        -- The venue text is the real status; the invitations tell what happened while it still reads as a submission.
        case
            when coalesce(venue_labels.status, 'under_review') != 'under_review' then venue_labels.status
            when contains(invitation, 'Withdrawn_Submission') then 'withdrawn'
            when contains(invitation, 'Desk_Rejected_Submission') then 'desk_rejected'
            else venue_labels.status
        end as status,
        venue_labels.decision,
        case
            when paper_id is null then 'the URL holds no OpenReview forum id'
            when title is null then 'the title is missing'
            when not contains(invitation, venue_id)
                then 'the invitation belongs to another venue than ' || venue_id
            when
                not contains(lower(venue_text), lower(venue || ' ' || year))
                or starts_with(venue_label, 'workshop ')
                then 'the venue text names another venue or year than ' || venue || ' ' || year
        end as own_problem
    from labelled
    left join venue_labels on labelled.venue_label = venue_labels.label

),

owned as (

    select
        *,
        first_value(edition_id) over (
            partition by paper_id, own_problem is null order by year, edition_id
        ) as owning_edition_id,
        count(*) over (partition by paper_id, own_problem is null) > 1 as has_duplicates
    from judged

),

checked as (

    select
        * exclude (own_problem, owning_edition_id),
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
    where checked.has_duplicates and checked.problem is null

),

-- The fuller row wins: more reviews, then more authors, then the longer abstract, then the earlier row.
ranked as (

    select
        checked.* exclude (has_duplicates),
        case
            when problem is null then row_number() over (
                partition by paper_id, problem is null
                order by review_count desc, author_count desc, abstract_length desc nulls last, checked.row_number
            )
        end as fullness_rank
    from checked
    left join abstract_lengths
        on
            checked.edition_id = abstract_lengths.edition_id
            and checked.snapshot_id = abstract_lengths.snapshot_id
            and checked.row_number = abstract_lengths.row_number

),

final as (

    select
        *,
        case
            when problem is not null then 'quarantined'
            when fullness_rank = 1 then 'kept'
            else 'merged'
        end as outcome
    from ranked

)

select * from final

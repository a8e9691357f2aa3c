with judged as (

    select * from {{ ref('int_paper_rows_judged') }}

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
            and {{ same_row('texts', 'checked') }}
    where checked.has_duplicates and checked.problem is null and checked.source = 'hub_dataset'

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

decision_ranks as (

    select
        unnest(['oral', 'spotlight', 'poster', 'workshop']) as decision,
        unnest([1, 2, 3, 4]) as decision_rank

),

-- Within a source the fuller row wins: more reviews, then more authors, then the longer abstract, then the higher
-- decision (an oral is a poster too), then the snapshot that is newer or, of one date, landed last, then the earlier
-- row. Between sources, precedence decides.
ranked as (

    select
        checked.* exclude (has_duplicates),
        decision_ranks.decision_rank,
        case
            when problem is null then row_number() over (
                partition by paper_id, checked.source, problem is null
                order by
                    review_count desc, author_count desc, abstract_length desc nulls last, decision_rank nulls last,
                    as_of_at desc nulls last, landed_number desc, checked.row_number
            )
        end as fullness_rank,
        case
            when problem is null then row_number() over (
                partition by paper_id, problem is null
                order by
                    row_priority, review_count desc, author_count desc, abstract_length desc nulls last,
                    decision_rank nulls last, as_of_at desc nulls last, landed_number desc, checked.row_number
            )
        end as overall_rank
    from checked
    left join abstract_lengths on {{ same_row('checked', 'abstract_lengths') }}
    left join decision_ranks on checked.decision = decision_ranks.decision
    left join snapshots on checked.edition_id = snapshots.edition_id and checked.snapshot_id = snapshots.snapshot_id

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

with author_rows as (

    select * from {{ ref('stg_hub__authors') }}

),

paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

-- The functions are Python; each distinct name passes through them once.
names as (

    select
        name,
        name_key(name) as name_key,
        name_problem(name) as name_problem
    from (select distinct name from author_rows)
    where name is not null

),

judged as (

    select
        author_rows.*,
        paper_rows.paper_id,
        paper_rows.author_count,
        paper_rows.fullness_rank as paper_fullness_rank,
        names.name_key,
        case
            when paper_rows.problem is not null then 'its paper was set aside: ' || paper_rows.problem
            when author_rows.name is null then 'the author is null'
            when names.name_problem is not null then 'the author ' || names.name_problem
        end as problem
    from author_rows
    inner join paper_rows
        on
            author_rows.edition_id = paper_rows.edition_id
            and author_rows.snapshot_id = paper_rows.snapshot_id
            and author_rows.row_number = paper_rows.row_number
    left join names on author_rows.name = names.name

),

-- A paper's authors are those of the row that lists most of them, then of the fuller row.
ranked as (

    select
        *,
        dense_rank() over (
            partition by paper_id, problem is null order by author_count desc, paper_fullness_rank
        ) as list_rank
    from judged

),

final as (

    select
        *,
        case
            when problem is not null then 'quarantined'
            when list_rank = 1 then 'kept'
            else 'merged'
        end as outcome
    from ranked

)

select * from final

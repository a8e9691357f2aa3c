with author_rows as (

    select * from {{ ref('int_source_authors') }}

),

paper_rows as (

    select * from {{ ref('int_paper_rows') }}

),

precedence as (

    select
        source,
        authors_priority
    from {{ ref('int_source_precedence') }}

),

-- The functions are Python; each distinct name passes through them once.
distinct_names as (

    select distinct name from author_rows
    where name is not null

),

names as (

    select
        name,
        name_key(name) as name_key,
        name_problem(name) as name_problem
    from distinct_names

),

judged as (

    select
        author_rows.* exclude (affiliation),
        -- An address in place of an affiliation is nobody's business.
        case when not contains(author_rows.affiliation, '@') then nullif(trim(author_rows.affiliation), '') end
            as affiliation,
        paper_rows.paper_id,
        paper_rows.author_count,
        paper_rows.fullness_rank as paper_fullness_rank,
        precedence.authors_priority,
        names.name_key,
        case
            when paper_rows.problem is not null then 'its paper was set aside: ' || paper_rows.problem
            when author_rows.name is null then 'the author is null'
            when names.name_problem is not null then 'the author ' || names.name_problem
        end as problem
    from author_rows
    inner join precedence on author_rows.source = precedence.source
    inner join paper_rows on {{ same_row('author_rows', 'paper_rows') }}
    left join names on author_rows.name = names.name

),

-- A paper's authors are one list, that of the preferred source that has any; within it of the row that lists most.
ranked as (

    select
        *,
        dense_rank() over (
            partition by paper_id, problem is null
            order by authors_priority, author_count desc, paper_fullness_rank, snapshot_id, row_number
        ) as list_rank
    from judged

),

placed as (

    select
        *,
        { 'list': list_rank, 'item': item_number } as place
    from ranked

),

-- What the other lists tell about a person of this paper and name: the profile and the affiliation.
final as (

    select
        * exclude (profile_id, affiliation, place),
        arg_min(profile_id, place) filter (where profile_id is not null) over (
            partition by paper_id, name_key, problem is null
        ) as profile_id,
        arg_min(affiliation, place) filter (where affiliation is not null) over (
            partition by paper_id, name_key, problem is null
        ) as affiliation,
        case
            when problem is not null then 'quarantined'
            when list_rank = 1 then 'kept'
            else 'merged'
        end as outcome
    from placed

)

select * from final

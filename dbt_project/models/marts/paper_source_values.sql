with papers as (

    select * from {{ ref('papers') }}
    where len(sources) > 1

),

paper_rows as (

    select * from {{ ref('int_paper_rows') }}
    where problem is null and paper_id in (select papers.paper_id from papers)

),

-- What each source says of a paper, each value from the fullest row that has it.
statements as (

    select
        paper_id,
        source,
        first(status order by fullness_rank) filter (where status is not null) as status,
        first(decision order by decision_rank, fullness_rank) filter (where decision is not null) as decision,
        first(title order by fullness_rank) filter (where title is not null) as title
    from paper_rows
    group by paper_id, source

),

editions as (

    select
        edition_id,
        rating_scale
    from {{ ref('editions') }}

),

-- Each review once a source, as that source's preferred row has it.
source_reviews as (

    select
        review_rows.paper_id,
        review_rows.source,
        {{ rating_number('review_rows.rating_text', 'review_rows.source', 'editions.rating_scale') }} as rating
    from {{ ref('int_review_rows') }} as review_rows
    inner join editions on review_rows.edition_id = editions.edition_id
    where review_rows.problem is null and review_rows.paper_id in (select papers.paper_id from papers)
    qualify row_number() over (
        partition by review_rows.review_id, review_rows.source order by review_rows.overall_rank
    ) = 1

),

ratings as (

    select
        paper_id,
        source,
        sum(rating) / count(rating) as rating_mean
    from source_reviews
    group by paper_id, source

),

stated as (

    select
        papers.paper_id,
        papers.edition_id,
        statements.source,
        unnest(['status', 'decision', 'title', 'rating_mean']) as column_name,
        unnest([
            statements.status, statements.decision, statements.title, ratings.rating_mean::varchar
        ]) as source_value,
        unnest([papers.status, papers.decision, papers.title, papers.rating_mean::varchar]) as published_value
    from papers
    inner join statements on papers.paper_id = statements.paper_id
    left join ratings on papers.paper_id = ratings.paper_id and statements.source = ratings.source

),

final as (

    select
        paper_id,
        source,
        column_name,
        edition_id,
        source_value,
        published_value,
        coalesce(source_value = published_value, false) as is_published
    from stated
    where source_value is not null

)

select * from final
order by edition_id, paper_id, column_name, source

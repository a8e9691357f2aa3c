with items as (

    select
        edition_id,
        snapshot_id,
        row_number,
        generate_subscripts(reviews, 1) as item_number,
        unnest(reviews) as item
    from {{ source('raw', 'hub_dataset') }}
    where {{ is_changed('edition_id') }}

),

reviews as (

    select * from {{ ref('int_reviews') }}
    where {{ is_changed('edition_id') }}

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

-- The row of each source that a review takes its texts from, where the source has it.
preferred_rows as (

    select
        review_id,
        source,
        edition_id,
        snapshot_id,
        row_number,
        item_number
    from {{ ref('int_review_rows') }}
    where problem is null and source in ('hub_dataset', 'openreview') and {{ is_changed('edition_id') }}
    qualify row_number() over (partition by review_id, source order by overall_rank) = 1

),

hub_items as (

    select * from preferred_rows
    where source = 'hub_dataset'

),

openreview as (

    select
        notes.review_id,
        notes.summary,
        notes.strengths,
        notes.weaknesses,
        notes.questions,
        notes.main_text
    from {{ ref('stg_openreview__reviews') }} as notes
    inner join preferred_rows
        on
            notes.edition_id = preferred_rows.edition_id
            and notes.snapshot_id = preferred_rows.snapshot_id
            and notes.row_number = preferred_rows.row_number
            and notes.review_id = preferred_rows.review_id
    where preferred_rows.source = 'openreview'

),

-- Reviews of the Hub stream past the narrow tables; reviews that it does not have follow.
texts as (

    select
        hub_items.review_id,
        {{ stripped('items.item.summary') }} as summary,
        {{ stripped('items.item.strengths') }} as strengths,
        {{ stripped('items.item.weaknesses') }} as weaknesses,
        {{ stripped('items.item.review') }} as main_text,
        {{ epoch_ms('items.item.date') }} as reviewed_at
    from items
    inner join hub_items
        on
            items.edition_id = hub_items.edition_id
            and items.snapshot_id = hub_items.snapshot_id
            and items.row_number = hub_items.row_number
            and items.item_number = hub_items.item_number
    union all
    select
        reviews.review_id,
        null as summary,
        null as strengths,
        null as weaknesses,
        null as main_text,
        null as reviewed_at
    from reviews
    where reviews.review_id not in (select hub_items.review_id from hub_items)

),

chosen as (

    select
        reviews.*,
        snapshots.snapshot_number,
        coalesce(openreview.summary, texts.summary) as summary,
        coalesce(openreview.strengths, texts.strengths) as strengths,
        coalesce(openreview.weaknesses, texts.weaknesses) as weaknesses,
        openreview.questions,
        coalesce(openreview.main_text, texts.main_text) as main_text,
        texts.reviewed_at as hub_reviewed_at
    from texts
    inner join reviews on texts.review_id = reviews.review_id
    inner join snapshots on reviews.edition_id = snapshots.edition_id and reviews.snapshot_id = snapshots.snapshot_id
    left join openreview on texts.review_id = openreview.review_id

),

counted as (

    select
        *,
        word_count(concat_ws(' ', summary, strengths, weaknesses, questions, main_text)) as word_count
    from chosen

),

final as (

    select
        review_id,
        paper_id,
        edition_id,
        case when not contains(reviewer_signature, '@') then regexp_extract(reviewer_signature, '[^/]+$') end
            as reviewer_label,
        rating,
        rating_text,
        is_rating_off_scale,
        confidence,
        confidence_text,
        soundness,
        presentation,
        contribution,
        correctness,
        technical_novelty,
        empirical_novelty,
        summary,
        strengths,
        weaknesses,
        questions,
        main_text,
        word_count > 0 as has_text,
        word_count,
        coalesce(reviewed_at, hub_reviewed_at) as reviewed_at,
        modified_at,
        source,
        snapshot_number,
        row_number,
        item_number::integer as item_number
    from counted

)

select * from final
{{ carried_over('reviews', 'snapshots') }}

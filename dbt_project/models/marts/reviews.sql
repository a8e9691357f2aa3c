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

hub_items as (

    select * from {{ ref('int_review_text_rows') }}
    where source = 'hub_dataset'

),

other_texts as (

    select * from {{ ref('int_review_texts') }}

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
    inner join hub_items on {{ same_row('items', 'hub_items', item=true) }}
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
        coalesce(other_texts.summary, texts.summary) as summary,
        coalesce(other_texts.strengths, texts.strengths) as strengths,
        coalesce(other_texts.weaknesses, texts.weaknesses) as weaknesses,
        other_texts.questions,
        coalesce(other_texts.main_text, texts.main_text) as main_text,
        texts.reviewed_at as hub_reviewed_at
    from texts
    inner join reviews on texts.review_id = reviews.review_id
    inner join snapshots on reviews.edition_id = snapshots.edition_id and reviews.snapshot_id = snapshots.snapshot_id
    left join other_texts on texts.review_id = other_texts.review_id

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
        {{ reviewer_label('reviewer_signature') }} as reviewer_label,
        {{ is_reviewer_named(reviewer_label('reviewer_signature')) }} as is_reviewer_named,
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

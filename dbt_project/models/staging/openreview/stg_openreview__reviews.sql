with notes as (

    select * from {{ ref('base_openreview__notes') }}
    where kind = 'review' and record_problem is null

),

renamed as (

    select
        edition_id,
        source,
        snapshot_id,
        row_number,
        0 as item_number,
        case when is_deleted then 'the note was deleted upstream' end as record_problem,
        id as review_id,
        forum as paper_id,
        signature as reviewer_signature,
        coalesce(rating, recommendation) as rating_text,
        confidence as confidence_text,
        soundness as soundness_text,
        presentation as presentation_text,
        contribution as contribution_text,
        correctness as correctness_text,
        technical_novelty_and_significance as technical_novelty_text,
        empirical_novelty_and_significance as empirical_novelty_text,
        coalesce(summary, summary_of_the_paper) as summary,
        strengths,
        weaknesses,
        questions,
        -- Forms of other years have other fields; those without a column of their own stand here, one after the other.
        nullif(
            concat_ws(
                E'\n\n', review, main_review, strength_and_weaknesses, clarity__quality__novelty_and_reproducibility,
                summary_of_the_review
            ), ''
        ) as main_text,
        created_at as reviewed_at,
        modified_at
    from notes

)

select * from renamed

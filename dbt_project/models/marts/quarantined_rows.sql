with texts as (

    select * from {{ source('raw', 'hub_dataset') }}

),

json_records as (

    select * from {{ source('raw', 'json_records') }}

),

quarantined as (

    select
        edition_id,
        snapshot_id,
        row_number,
        file_row_number,
        'paper' as row_kind,
        0 as item_number,
        source,
        problem
    from {{ ref('int_paper_rows') }}
    where outcome = 'quarantined'
    union all
    select
        edition_id,
        snapshot_id,
        row_number,
        file_row_number,
        'review' as row_kind,
        item_number,
        source,
        problem
    from {{ ref('int_review_rows') }}
    where outcome = 'quarantined'
    union all
    select
        author_rows.edition_id,
        author_rows.snapshot_id,
        author_rows.row_number,
        paper_rows.file_row_number,
        'author' as row_kind,
        author_rows.item_number,
        author_rows.source,
        author_rows.problem
    from {{ ref('int_author_rows') }} as author_rows
    inner join {{ ref('int_paper_rows') }} as paper_rows
        on
            author_rows.edition_id = paper_rows.edition_id
            and author_rows.snapshot_id = paper_rows.snapshot_id
            and author_rows.row_number = paper_rows.row_number
    where author_rows.outcome = 'quarantined'
    union all
    select
        edition_id,
        snapshot_id,
        row_number,
        null as file_row_number,
        'note' as row_kind,
        0 as item_number,
        source,
        problem
    from {{ ref('int_discussion_rows') }}
    where outcome = 'quarantined'

),

from_hub as (

    select
        quarantined.snapshot_id,
        quarantined.row_number,
        quarantined.row_kind,
        quarantined.item_number::integer as item_number,
        quarantined.edition_id,
        quarantined.source,
        quarantined.problem as reason,
        redact_emails(
            case quarantined.row_kind
                when 'review' then to_json(texts.reviews[quarantined.item_number])
                when 'author' then to_json(texts.authors[quarantined.item_number])
                else to_json(struct_pack(
                    title := texts.title,
                    abstract := texts.abstract,
                    year := texts.year,
                    url := texts.url,
                    pdf := texts.pdf,
                    authors := texts.authors,
                    venue := texts.venue,
                    venueid := texts.venueid,
                    invitation := texts.invitation,
                    venue_type := texts.venue_type,
                    reviews := texts.reviews,
                    num_reviews := texts.num_reviews,
                    _bibtex := texts._bibtex,
                    _bibkey := texts._bibkey
                ))
            end::varchar
        ) as row_json
    from texts
    inner join quarantined
        on
            texts.file_row_number = quarantined.file_row_number
            and texts.row_number = quarantined.row_number
            and texts.snapshot_id = quarantined.snapshot_id
            and texts.edition_id = quarantined.edition_id

),

-- The record as a whole, also for an item of its joined columns.
from_json_sources as (

    select
        quarantined.snapshot_id,
        quarantined.row_number,
        quarantined.row_kind,
        quarantined.item_number::integer as item_number,
        quarantined.edition_id,
        quarantined.source,
        quarantined.problem as reason,
        redact_emails(json_records.record) as row_json
    from json_records
    inner join quarantined
        on
            json_records.snapshot_id = quarantined.snapshot_id
            and json_records.row_number = quarantined.row_number
            and json_records.edition_id = quarantined.edition_id

),

set_aside as (

    select * from from_hub
    union all
    select * from from_json_sources

),

snapshots as (

    select * from {{ ref('stg_snapshots') }}

),

final as (

    select
        set_aside.edition_id,
        snapshots.snapshot_number,
        set_aside.row_number,
        set_aside.row_kind,
        set_aside.item_number,
        set_aside.source,
        set_aside.reason,
        set_aside.row_json
    from set_aside
    inner join snapshots
        on set_aside.edition_id = snapshots.edition_id and set_aside.snapshot_id = snapshots.snapshot_id

)

select * from final
order by edition_id, snapshot_number, row_number, row_kind, item_number

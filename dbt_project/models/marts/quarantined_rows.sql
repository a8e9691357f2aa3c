with texts as (

    select * from {{ source('raw', 'hub_dataset') }}

),

json_records as (

    select * from {{ source('raw', 'json_records') }}

),

quarantined as (

    select * from {{ ref('int_quarantined') }}

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
            and {{ same_row('texts', 'quarantined') }}

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
    inner join quarantined on {{ same_row('json_records', 'quarantined') }}

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

select
    edition_id,
    fingerprint
from {{ source('raw', 'released_editions') }}
where {{ has_released_database() }}

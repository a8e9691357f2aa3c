"""Publish: from tested marts to a release that readers see, and what is done with releases afterwards.

The steps in their order: `build`, `export`, `candidate`, `promotion` (with `manifest` and `readme`), `store`.
"""

from pipelines.publish.build import (
    Build,
    begin_build,
    building,
    code_fingerprint,
    finish_build,
    inputs_fingerprint,
    is_settled,
    read_build,
    released_database,
    settle_build,
    write_build,
)
from pipelines.publish.candidate import Candidate, build_candidate, newest_candidate, release_with, seal, settle_on
from pipelines.publish.export import (
    ROW_GROUP_ROWS,
    content_hash,
    export_parquet,
    marts_in,
    row_counts,
    rows_of,
    write_database,
)
from pipelines.publish.manifest import write_manifest
from pipelines.publish.promotion import checked_verdict, promote
from pipelines.publish.readme import release_readme
from pipelines.publish.store import (
    CONTRACT_VERSION,
    DATABASE,
    ReleaseError,
    current_id,
    point_current,
    previous_rows,
    prune,
    read_manifest,
    release_ids,
    roll_back,
    verify,
    withdrawn_ids,
)

__all__ = [
    "CONTRACT_VERSION",
    "DATABASE",
    "ROW_GROUP_ROWS",
    "Build",
    "Candidate",
    "ReleaseError",
    "begin_build",
    "build_candidate",
    "building",
    "checked_verdict",
    "code_fingerprint",
    "content_hash",
    "current_id",
    "export_parquet",
    "finish_build",
    "inputs_fingerprint",
    "is_settled",
    "marts_in",
    "newest_candidate",
    "point_current",
    "previous_rows",
    "promote",
    "prune",
    "read_build",
    "read_manifest",
    "release_ids",
    "release_readme",
    "release_with",
    "released_database",
    "roll_back",
    "row_counts",
    "rows_of",
    "seal",
    "settle_build",
    "settle_on",
    "verify",
    "withdrawn_ids",
    "write_build",
    "write_database",
    "write_manifest",
]

"""What is expected of `discussion`: one meta-review, decision, author response or comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expectations import Batch, Suite, expect

if TYPE_CHECKING:
    from expectations import Groups

KINDS = [
    "meta_review", "decision", "author_response", "comment", "public_comment", "withdrawal", "desk_rejection"
]  # fmt: skip


def _rows() -> Groups:
    return {
        "completeness": [expect.required()],
        "keys": [
            expect.unique("note_id"),
            expect.in_own_file(),
        ],
        "values": [
            expect.matches("note_id", expect.FORUM_ID, "an OpenReview id of 8 to 15 letters, digits, - or _"),
            expect.one_of("kind", KINDS),
            expect.numbers(),
        ],
    }


def _editions() -> Groups:
    return {
        "volume": expect.as_many_as_before(),
        "distributions": [
            expect.between("most_notes", None, 500, "warning", "the most notes of one paper"),
            # Withdrawals may say nothing; the rest has a text or a decision.
            expect.between("text_share", 0.5, None, "warning", "share of notes with a text or decision"),
        ],
    }


SUITE = Suite(
    columns=f"""
        note_id, paper_id, edition_id, kind, main_text is not null or decision_text is not null as has_text,
        {expect.missing("note_id", "paper_id", "edition_id", "kind", "source", "snapshot_number", "row_number")},
        {expect.too_small({"row_number": 1})}
    """,
    batches=(
        Batch(
            name="rows",
            key=("note_id",),
            query="select * exclude (row_hash) from discussion",
            expectations=_rows,
            may_be_empty=True,
        ),
        Batch(
            name="editions",
            key=("edition_id",),
            row="edition",
            query="""
                with of_papers as (
                    select edition_id, paper_id, count(*) as notes, count(*) filter (where has_text) as texts
                    from discussion
                    group by edition_id, paper_id
                ),
                figures as (
                    select edition_id, max(notes) as most_notes, sum(texts) / sum(notes) as text_share
                    from of_papers
                    group by edition_id
                )
                select volumes.edition_id, row_count, share_of_previous, most_notes, text_share
                from volumes
                left join figures using (edition_id)
                where mart = 'discussion'
            """,
            expectations=_editions,
        ),
    ),
)

"""HTTP as every source uses it: sessions, retries with a say, and downloads that can be trusted and resumed.

Here belongs what is true of any server: time limits, waits, redirects, cut bodies, credentials that stay with their
host. What one upstream's answers mean belongs in that upstream's module; where bytes go for good, in `land`.

    sessions.py   one request up to the headers of its answer
    reading.py    a body while it comes: limits and progress
    answers.py    a body in memory
    transfer.py   a body on its way to disk: resumed, verified
    retries.py    which failure is tried again, when, and how long
    errors.py     what went wrong, in words
"""

from pipelines.sources.http.answers import Answer, ask, get_json
from pipelines.sources.http.errors import (
    Explain,
    TooLargeError,
    TransientError,
    duration_text,
    shown,
    size_text,
    status_sentence,
    was_reached,
)
from pipelines.sources.http.retries import asked_wait, is_retried, pause, retrying
from pipelines.sources.http.sessions import get, session
from pipelines.sources.http.transfer import Download, download

__all__ = [
    "Answer",
    "Download",
    "Explain",
    "TooLargeError",
    "TransientError",
    "ask",
    "asked_wait",
    "download",
    "duration_text",
    "get",
    "get_json",
    "is_retried",
    "pause",
    "retrying",
    "session",
    "shown",
    "size_text",
    "status_sentence",
    "was_reached",
]

"""What a pull of any source gives, and how it says that it failed: the words that sources and landing share.

Here belongs no fetching and no writing: each upstream has its own module, and where bytes go for good is `land`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

Log = Callable[[str], None]


class LandingError(Exception):
    """Something that came from an upstream, or that stands in landing, is not what it should be.

    The message is for the person who runs the pipeline: it names the file or address and says what to do.
    """


class SourceSkipped(LandingError):
    """A source that cannot be pulled now for a reason that a retry does not mend, such as missing credentials.

    The run goes on with the edition's other sources, and with what this one landed before.
    """


@dataclass(frozen=True)
class FetchedFile:
    """One file that a source put into its incoming folder, verified as far as the upstream allows.

    `name` is the file's name inside the snapshot: no folders, nothing that a path could misread.
    """

    name: str
    path: Path
    url: str


@dataclass(frozen=True)
class Fetched:
    """What one pull brought. `as_of` is the upstream's own date for these bytes, where it tells one."""

    files: list[FetchedFile]
    url: str
    revision: str | None = None
    etag: str | None = None
    as_of: datetime | None = None


Fetch = Callable[..., Fetched | None]

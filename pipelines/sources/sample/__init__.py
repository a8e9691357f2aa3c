"""The built-in synthetic edition: invented papers and reviews, in the exact form of each upstream that it imitates.

Here belongs what the sample is made of, and nothing about what its rows mean. A year has some two hundred ordinary
papers; the dataset has the quirks of real data beside them, and the sources disagree in known places, so that whoever
runs the sample meets all of it. Everything a person sees says that it is synthetic: venue, titles, forum ids that start
with "Syn", made-up names.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipelines.config.editions import SampleSource
from pipelines.config.settings import Settings
from pipelines.sources.fetched import Fetched, FetchedFile, Log
from pipelines.sources.sample import conference_site, hub_dataset, openreview, paper_copilot

URL = "synthetic:sample"
# The dataset is from before the decisions, as the real one is; the others are from after the conference.
_MONTHS = {"hub_dataset": 1, "openreview": 6, "paper_copilot": 6, "conference_site": 6}
_FILES = {
    "hub_dataset": hub_dataset.files,
    "openreview": openreview.files,
    "paper_copilot": paper_copilot.files,
    "conference_site": conference_site.files,
}


def fetch(
    source: SampleSource,
    into: Path,
    *,
    settings: Settings,
    landed: frozenset[tuple[str, str]],
    log: Log,
    previous: Sequence[Path] = (),
) -> Fetched | None:
    """Write what the imitated upstream would give into the folder `into`; None where `landed` already is these bytes.

    `landed` are pairs of file name and sha256. The bytes are the same every time.
    """
    made = _FILES[source.imitates](source.year)
    if landed == {(name, hashlib.sha256(content).hexdigest()) for name, content in made.items()}:
        return None
    for name, content in made.items():
        (into / name).write_bytes(content)
    size = sum(map(len, made.values()))
    log(f"Made {', '.join(made)}: synthetic, as {source.imitates} of {source.year}, {size:,} bytes.")
    files = [FetchedFile(name, into / name, URL) for name in made]
    return Fetched(files=files, url=URL, as_of=datetime(source.year, _MONTHS[source.imitates], 1, tzinfo=UTC))

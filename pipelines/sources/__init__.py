"""One module per upstream: how to fetch it, and nothing about what its bytes mean.

Each module has `fetch(source, into, *, settings, landed, log)`, which puts the upstream's files into the folder `into`
and returns what it got, or None where they are the files in `landed`, pairs of name and sha256.
"""

from collections.abc import Mapping

from pipelines.landing import Fetch
from pipelines.sources import files, hugging_face, sample

FETCHERS: Mapping[str, Fetch] = {
    "hugging_face": hugging_face.fetch,
    "files": files.fetch,
    "sample": sample.fetch,
}

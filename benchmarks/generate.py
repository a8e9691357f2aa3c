"""Raw data of any size in the Hub dataset's schema, for benchmarks: realistic lengths, words that do not compress away.

`python benchmarks/generate.py 20000 benchmarks/data/S.parquet` writes S: 20,000 papers and about 77,000 reviews. Words
are drawn by Zipf's law from a made-up vocabulary; a review has about 2.6 kB of text, an abstract 1.3 kB, every tenth
abstract some LaTeX. The same arguments give the same bytes.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.contracts import REVIEW_FIELDS

CHUNK = 10_000
VOCABULARY = 40_000
# Reviews per paper and their shares, as in ICLR 2026: mean 3.87.
REVIEW_COUNTS, REVIEW_SHARES = (0, 1, 2, 3, 4, 5, 6), (0.01, 0.01, 0.02, 0.22, 0.58, 0.14, 0.02)
WORDS_PER_ABSTRACT, WORDS_PER_SUMMARY, WORDS_PER_STRENGTHS, WORDS_PER_WEAKNESSES = 190, 85, 90, 200
AUTHORS_OF_WITHDRAWN = 4


def vocabulary(random: np.random.Generator) -> np.ndarray:
    """Made-up words of 2 to 14 letters; frequent ones are short, as in English."""
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    weights = np.linspace(12, 0.4, 26)
    lengths = np.clip(2 + np.log2(np.arange(1, VOCABULARY + 1)) * 0.55 + random.normal(0, 1.5, VOCABULARY), 2, 14)
    return np.array(["".join(random.choice(letters, int(n), p=weights / weights.sum())) for n in lengths], dtype=object)


def texts(random: np.random.Generator, words: np.ndarray, count: int, mean_words: int) -> list[str]:
    """`count` texts of log-normally distributed length around `mean_words` words."""
    lengths = np.maximum(5, random.lognormal(np.log(mean_words) - 0.125, 0.5, count)).astype(int)
    ranks = np.minimum(random.zipf(1.15, int(lengths.sum())), len(words)) - 1
    drawn = words[ranks]
    ends = np.cumsum(lengths)
    return [" ".join(drawn[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


def chunk(random: np.random.Generator, words: np.ndarray, first: int, count: int) -> pa.Table:
    """Papers `first` to `first + count - 1` as one table in the raw schema."""
    numbers = range(first, first + count)
    ids = [f"G{number:09d}" for number in numbers]
    withdrawn = random.random(count) < 0.25
    review_counts = random.choice(REVIEW_COUNTS, count, p=REVIEW_SHARES)
    total = int(review_counts.sum())
    abstracts = texts(random, words, count, WORDS_PER_ABSTRACT)
    for place in range(0, count, 10):
        abstracts[place] += r" We improve $\mathcal{O}(n^2)$ by \textbf{5\%} on https://github.com/example/code."
    offsets = pa.array(np.concatenate([[0], np.cumsum(review_counts)]), pa.int32())
    owners = np.repeat(np.arange(first, first + count), review_counts)
    reviews = pa.StructArray.from_arrays(
        [
            pa.array(random.integers(1, 6, total), pa.int64()),
            pa.array(np.zeros(total), pa.int64()),
            pa.array(random.choice([0, 2, 4, 6, 8, 10], total, p=[0.04, 0.22, 0.36, 0.28, 0.09, 0.01]), pa.int64()),
            pa.array([""] * total),
            pa.array([f"R{first:07d}{place:07d}" for place in range(total)]),
            pa.array([f"ICLR.cc/2026/Conference/Submission{n}/Reviewer_{i:04d}" for i, n in enumerate(owners)]),
            pa.array(texts(random, words, total, WORDS_PER_STRENGTHS)),
            pa.array(texts(random, words, total, WORDS_PER_SUMMARY)),
            pa.array(texts(random, words, total, WORDS_PER_WEAKNESSES)),
        ],
        names=list(REVIEW_FIELDS),
    )
    names = texts(random, words, AUTHORS_OF_WITHDRAWN * count, 5)
    authors = [
        [" ".join(name.split()[:2]).title() for name in names[AUTHORS_OF_WITHDRAWN * place :][:AUTHORS_OF_WITHDRAWN]]
        if withdrawn[place]
        else []
        for place in range(count)
    ]
    return pa.table(
        {
            "title": [text[:90] for text in texts(random, words, count, 12)],
            "abstract": abstracts,
            "year": pa.array([2026] * count, pa.int64()),
            "url": [f"https://openreview.net/forum?id={id_}" for id_ in ids],
            "pdf": [f"https://openreview.net/pdf/{id_}.pdf" for id_ in ids],
            "authors": pa.array(authors, pa.list_(pa.string())),
            "venue": [f"ICLR 2026 Conference {'Withdrawn ' if gone else ''}Submission" for gone in withdrawn],
            "venueid": ["ICLR"] * count,
            "invitation": [
                f"['ICLR.cc/2026/Conference/-/Submission', 'ICLR.cc/2026/Conference/Submission{n}/-/Full_Submission']"
                for n in numbers
            ],
            "venue_type": ["poster"] * count,
            "reviews": pa.ListArray.from_arrays(offsets, reviews),
            "num_reviews": pa.array(review_counts, pa.int64()),
            "_bibtex": [f"@misc{{\nanonymous2025{id_},\ntitle={{{id_}}},\nauthor={{Anonymous}}\n}}" for id_ in ids],
            "_bibkey": [f"anonymous2025{id_}" for id_ in ids],
        }
    )


def write(papers: int, target: Path, seed: int = 1) -> None:
    """Write `papers` papers to `target`, one row group a chunk, so that memory stays bounded at any size."""
    random = np.random.default_rng(seed)
    words = vocabulary(random)
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = None
    for first in range(1, papers + 1, CHUNK):
        table = chunk(random, words, first, min(CHUNK, papers + 1 - first))
        if writer is None:
            writer = pq.ParquetWriter(target, table.schema, compression="snappy")
        writer.write_table(table)
    if writer is not None:
        writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", type=int)
    parser.add_argument("target", type=Path)
    given = parser.parse_args()
    write(given.papers, given.target)

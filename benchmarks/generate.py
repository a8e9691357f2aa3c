"""Raw data of any size in the Hub dataset's schema, for benchmarks: realistic lengths, words that do not compress away.

Here belongs what the benchmarks read. What they measure belongs in `run.py`.

`python -m benchmarks.generate 20000 S.parquet` writes S: 20,000 papers and about 77,000 reviews;
`--editions 20` spreads them over a folder of twenty files, an edition each, no paper in two of them. Words are drawn by
Zipf's law from a made-up vocabulary; a review has about 2.6 kB of text, an abstract 1.3 kB, every tenth abstract some
LaTeX. The same arguments give the same bytes.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.inputs import VENUE_ID, edition_ids, edition_venue_id
from pipelines.stage.contracts import REVIEW_FIELDS

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
    # The law's tail is longer than the vocabulary; wrapped around, it falls on every word alike.
    ranks = (random.zipf(1.15, int(lengths.sum())) - 1) % len(words)
    drawn = words[ranks]
    ends = np.cumsum(lengths)
    return [" ".join(drawn[end - n : end]) for n, end in zip(lengths, ends, strict=True)]


def chunk(random: np.random.Generator, words: np.ndarray, first: int, count: int, venue_id: str) -> pa.Table:
    """Papers `first` to `first + count - 1` of a venue as one table in the raw schema."""
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
            pa.array([f"{venue_id}/Submission{n}/Reviewer_{i % 10_000:04d}" for i, n in enumerate(owners)]),
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
                f"['{venue_id}/-/Submission', '{venue_id}/Submission{n}/-/Full_Submission']" for n in numbers
            ],
            "venue_type": ["poster"] * count,
            "reviews": pa.ListArray.from_arrays(offsets, reviews),
            "num_reviews": pa.array(review_counts, pa.int64()),
            "_bibtex": [f"@misc{{\nanonymous2025{id_},\ntitle={{{id_}}},\nauthor={{Anonymous}}\n}}" for id_ in ids],
            "_bibkey": [f"anonymous2025{id_}" for id_ in ids],
        }
    )


def write(papers: int, target: Path, seed: int = 1, first: int = 1, venue_id: str = VENUE_ID) -> None:
    """Write `papers` papers to `target`, one row group a chunk, so that memory stays bounded at any size."""
    words = vocabulary(np.random.default_rng(1))
    random = np.random.default_rng([seed, first])
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_suffix(".part")
    writer = None
    for start in range(first, first + papers, CHUNK):
        table = chunk(random, words, start, min(CHUNK, first + papers - start), venue_id)
        if writer is None:
            writer = pq.ParquetWriter(unfinished, table.schema, compression="snappy")
        writer.write_table(table)
    if writer is not None:
        writer.close()
        unfinished.rename(target)


def write_editions(papers: int, editions: int, folder: Path, seed: int = 1) -> None:
    """Write `papers` papers as `editions` files of equal size; paper, review and submission ids are distinct."""
    each = papers // editions
    for place, edition_id in enumerate(edition_ids(editions)):
        write(each, folder / f"{edition_id}.parquet", seed, 1 + place * each, edition_venue_id(edition_id))


def write_changed(source: Path, target: Path) -> None:
    """The file as its upstream shows it a day later: one rating in a hundred is two points higher (10 stays)."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetFile(source) as file, pq.ParquetWriter(target, file.schema_arrow, compression="snappy") as writer:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            lists = table["reviews"].combine_chunks()
            fields = dict(zip(REVIEW_FIELDS, lists.values.flatten(), strict=True))
            is_hundredth = pa.array(np.arange(len(lists.values)) % 100 == 0)
            fields["rating"] = pc.if_else(
                is_hundredth, pc.min_element_wise(pc.add(fields["rating"], 2), 10), fields["rating"]
            )
            items = pa.StructArray.from_arrays(list(fields.values()), names=list(fields))
            changed = pa.ListArray.from_arrays(lists.offsets, items)
            column = table.schema.get_field_index("reviews")
            writer.write_table(
                table.set_column(column, table.schema.field(column), changed.cast(table.schema.field(column).type))
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("papers", type=int)
    parser.add_argument("target", type=Path)
    parser.add_argument("--editions", type=int, help="the target is a folder of so many files")
    given = parser.parse_args()
    if given.editions:
        write_editions(given.papers, given.editions, given.target)
    else:
        write(given.papers, given.target)

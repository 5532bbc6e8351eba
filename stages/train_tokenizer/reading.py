"""Which documents are read: the training sample and the held-out text, in two passes over docs, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from mspt.core.errors import MsptError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.shards import Docs
    from mspt.core.tokens.gate import HeldOutText
    from mspt.core.tokens.sampling import Choice, Stratum

UNKNOWN = "und"  # BCP 47: no language is known


@dataclass(frozen=True)
class Reading:
    """What decides the draw."""

    sample_bytes: int
    held_out_share: float
    seed: int
    train_sources: tuple[str, ...]
    shares: tuple[tuple[str, Fraction], ...]


@dataclass(frozen=True)
class Corpus:
    """`docs` and what is taken of them on both sides of the held-out line; `documents` are the live ones."""

    docs: Docs
    reading: Reading
    training: Choice
    held_out: Choice
    documents: int

    def training_texts(self) -> Iterator[str]:
        for text, _ in self._chosen(self.training, held_out=False):
            yield text

    def held_out_texts(self) -> Iterator[HeldOutText]:
        from mspt.core.tokens.gate import HeldOutText

        for text, (source, language) in self._chosen(self.held_out, held_out=True):
            yield HeldOutText(source, language, text)

    def _chosen(self, choice: Choice, held_out: bool) -> Iterator[tuple[str, Stratum]]:
        """The chosen documents in order, each cut to the bytes that are taken of it."""
        import numpy as np

        from mspt.core.text.documents import clip

        for rows in read_rows(self.docs, self.reading):
            taken = np.zeros(len(rows.sizes), dtype=np.int64)
            for stratum, mine in rows.strata():
                side = mine[rows.held_out[mine] == held_out]
                taken[side] = choice.taken(stratum, rows.keys[side], rows.sizes[side])
            for i in np.flatnonzero(taken):
                yield clip(rows.texts[int(i)].as_py(), int(taken[i])), (rows.sources[i], rows.languages[i])


@dataclass(frozen=True)
class Rows:
    """Live documents of a range of rows; `keys` are seeded positions, `sizes` UTF-8 bytes."""

    texts: Any  # an Arrow column of strings
    sources: list[str]
    languages: list[str]
    keys: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]

    def strata(self) -> Iterator[tuple[Stratum, npt.NDArray[np.int64]]]:
        """(source, language) and the positions of its documents."""
        import numpy as np

        positions: dict[Stratum, list[int]] = {}
        for i, stratum in enumerate(zip(self.sources, self.languages, strict=True)):
            positions.setdefault(stratum, []).append(i)
        for stratum, found in sorted(positions.items()):
            yield stratum, np.array(found, dtype=np.int64)


ROWS_BYTES = 32 * 2**20


def read_rows(docs: Docs, reading: Reading) -> Iterator[Rows]:
    """All live documents, some row groups at a time."""
    import numpy as np
    import pyarrow.compute as pc

    from mspt.core.artifact import check_file
    from mspt.core.tokens.split import order_key, points

    columns = ["id", "source", "text", *(["lang"] if "lang" in docs.columns() else [])]
    for shard in range(docs.num_shards):
        for record in docs.files(shard):
            check_file(docs.root / record.path, record, docs.ref)
        for rows in docs.cut(shard, ROWS_BYTES):
            table = docs.read_live(shard, columns, check=False, rows=rows)
            ids, sources = table.column("id").to_pylist(), table.column("source").to_pylist()
            languages = [tag or UNKNOWN for tag in table.column("lang").to_pylist()] if "lang" in columns else [UNKNOWN] * len(ids)
            keys = np.array([order_key(reading.seed, i) for i in ids], dtype=np.uint64)
            sizes = pc.binary_length(table.column("text")).to_numpy().astype(np.int64)
            yield Rows(table.column("text"), sources, languages, keys, sizes, points(ids) < reading.held_out_share)


def survey(docs: Docs, reading: Reading) -> Corpus:
    """The first pass: what there is, and what is taken of it."""
    from mspt.core.tokens.sampling import Draw

    training, held_out, documents = Draw(reading.sample_bytes), Draw(reading.sample_bytes), 0
    sources: set[str] = set()
    for rows in read_rows(docs, reading):
        documents += len(rows.sizes)
        for stratum, mine in rows.strata():
            sources.add(stratum[0])
            for draw, side in ((held_out, mine[rows.held_out[mine]]), (training, mine[~rows.held_out[mine]])):
                if draw is held_out or not reading.train_sources or stratum[0] in reading.train_sources:
                    draw.add(stratum, rows.keys[side], rows.sizes[side])
    unknown = sorted(set(reading.train_sources) - sources)
    if unknown:
        raise MsptError(f"train_sources: there is no source {unknown[0]!r}", f"the sources are {', '.join(sorted(sources))}")
    return Corpus(docs, reading, training.choose(reading.shares), held_out.choose(), documents)


def parse_shares(values: Sequence[str]) -> tuple[tuple[str, Fraction], ...]:
    """("zh=0.6", "code=20%") -> (("zh", 3/5), ("code", 1/5))."""
    found = []
    for value in values:
        name, _, number = value.partition("=")
        try:
            share = Fraction(number.strip().removesuffix("%")) / (100 if number.strip().endswith("%") else 1)
        except (ValueError, ZeroDivisionError):
            raise MsptError(f"shares: {value!r} is not NAME=SHARE", 'for example shares = ["zh=60%", "code=0.2"]') from None
        found.append((name.strip(), share))
    return tuple(found)

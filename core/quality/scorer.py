"""A quality score from a fastText classifier: trained on pairs of good and bad texts, it says how much a text looks like the good ones.

A scorer is a directory of two files: `scorer.bin` (fastText's format) and `scorer.json` (how texts become tokens). Training writes the same bytes
for the same lines and settings: one thread, a fixed seed, and memory that starts as zeros. The last is not fastText's doing: with one thread 0.9.3
initialises the first tenth of its input matrix only (DenseMatrix::uniform) and trains on whatever the rest holds. In a fresh process that is mostly
zeros, in any other it is leftovers: other bytes each time, or NaN.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.errors import InputError, MachineError
from mspt.core.quality.features import token_lines

GOOD, BAD = "__label__good", "__label__bad"
MODEL, DESCRIPTION = "scorer.bin", "scorer.json"
_M_PERTURB = -6  # glibc's mallopt(3): fill every allocation with the complement of this byte, so 255 means zeros


@dataclass(frozen=True)
class TrainingSettings:
    """fastText's settings. Measured on windows of 1,000 characters of six Chinese and English sources (4 M characters, a fifth of the documents held
    out), kept against shuffled: AUC .975-.982 with 8 or 16 dimensions alike, .979-.984 with twice the epochs, .981-.984 with four times the buckets too.
    """

    dimension: int = 8
    ngrams: int = 3
    buckets: int = 1 << 18
    epochs: int = 5
    rate: float = 1.0
    min_count: int = 2
    seed: int = 1


def write_examples(path: Path, examples: Sequence[tuple[str, str]]) -> None:
    """fastText's training file: one line for each (label, token line)."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{label} {line}\n" for label, line in examples)


def train(examples: Path, model: Path, settings: TrainingSettings) -> None:
    """Train on a file of `write_examples` and save fastText's model.

    Changes how this process allocates memory while it runs: best called in a process of its own.
    """
    with _zeroed_memory():
        fitted = fasttext.train_supervised(
            str(examples),
            dim=settings.dimension,
            wordNgrams=settings.ngrams,
            bucket=settings.buckets,
            epoch=settings.epochs,
            lr=settings.rate,
            minCount=settings.min_count,
            seed=settings.seed,
            loss="softmax",
            thread=1,
            verbose=0,
        )
        fitted.save_model(str(model))
        _check_saved(fitted, model)


def _check_saved(fitted: Any, model: Path) -> None:
    """fastText writes to a full disk without a word, and reads what is cut off likewise. The output matrix stands last in the file."""
    try:
        whole = np.array_equal(fasttext.load_model(str(model)).get_output_matrix(), fitted.get_output_matrix())
    except (ValueError, RuntimeError, MemoryError):
        whole = False
    if not whole:
        raise MachineError(f"the scorer could not be written whole to {model.parent}", "is the disk full? free some space and run the same command again")


@contextlib.contextmanager
def _zeroed_memory() -> Iterator[None]:
    """malloc gives zeros (blocks under 1 KiB excepted, where fastText writes before it reads)."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "mallopt") or not libc.mallopt(_M_PERTURB, 255):
        raise MachineError("training a scorer needs glibc (mallopt M_PERTURB)", "train it on a glibc system; the scorer itself works anywhere")
    try:
        yield
    finally:
        libc.mallopt(_M_PERTURB, 0)


@dataclass(frozen=True)
class Description:
    """How a scorer wants its texts: tokens of the first `max_characters` code points."""

    max_characters: int
    format: int = 1

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Scorer:
    """A loaded scorer. Reads on one thread; the same text has the same score in every process."""

    model: Any
    description: Description

    @classmethod
    def load(cls, directory: Path) -> Scorer:
        """Raises InputError where the files are no scorer or one of a later format."""
        try:
            description = Description(**json.loads((directory / DESCRIPTION).read_text(encoding="utf-8")))
            model = fasttext.load_model(str(directory / MODEL))
        except (OSError, TypeError, ValueError) as error:
            raise InputError(f"{directory} holds no scorer that this version can read: {error}", "train it again: mspt train-scorer") from None
        if description.format != Description.format or set(model.get_labels()) != {GOOD, BAD}:
            raise InputError(f"{directory} is a scorer of another format", "train it again: mspt train-scorer")
        return cls(model, description)

    def score(self, texts: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.float32]:
        """Probability of GOOD in [0, 1] for each text; 0 for a text without any token."""
        lines = token_lines(texts, self.description.max_characters)
        scores = self.score_lines(lines)
        scores[[not line for line in lines]] = 0.0
        return scores

    def score_lines(self, lines: list[str]) -> npt.NDArray[np.float32]:
        """The same for token lines."""
        if not lines:
            return np.zeros(0, np.float32)
        labels, probabilities = self.model.predict(lines, k=2)
        good = [found[list(names).index(GOOD)] for names, found in zip(labels, probabilities, strict=True)]
        return np.clip(np.array(good, np.float32), 0.0, 1.0)  # fastText adds 1e-5 to probabilities: 1.00001


def auc(good: npt.NDArray[np.float32], bad: npt.NDArray[np.float32]) -> float:
    """Probability that a good text scores above a bad one, ties half (Mann-Whitney U / (m n)); NaN without both."""
    if not len(good) or not len(bad):
        return float("nan")
    ordered = np.sort(bad)
    below = np.searchsorted(ordered, good, "left")
    upto = np.searchsorted(ordered, good, "right")
    return float((below + upto).sum() / (2 * len(good) * len(bad)))

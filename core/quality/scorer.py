"""A quality score from a fastText classifier of three classes: the expected value of the class (high 1, middle 1/2, low 0), calibrated on held-out labels.

A scorer is three files: `scorer.bin` (fastText's format; its dictionary is the vocabulary of features.py), `scorer.shapes.bin` (what shapes of tokens cost,
bytes [64, 64, 64]: shapes.py) and `scorer.json` (how texts become tokens, what shapes usually cost, and the calibration). fastText says which of the classes
that it knows a text is like; a text of unusual shape loses of that, because junk of a kind that was never seen is like none of them. Training writes the same
bytes for the same lines and settings: one thread, a fixed seed, and memory that starts as zeros. The last is not fastText's doing: with one thread 0.9.3
initialises the first tenth of its input matrix only (DenseMatrix::uniform) and trains on whatever the rest holds. In a fresh process that is mostly
zeros, in any other it is leftovers: other bytes each time, or NaN.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mspt.core.errors import InputError, MachineError
from mspt.core.quality.calibration import CLASS_VALUES, Calibration
from mspt.core.quality.classifier import Classifier
from mspt.core.quality.features import Vocabulary, read_tokens
from mspt.core.quality.shapes import Measured, Usual, lowered, measure, unusual
from mspt.core.quality.token_kernel import SHAPES

STEM = "scorer"
MODEL, SHAPE_COSTS, DESCRIPTION = f"{STEM}.bin", f"{STEM}.shapes.bin", f"{STEM}.json"
DEFAULT_DIRECTORY, DEFAULT_STEM = Path(__file__).parent, "default_scorer"
LABELS = {name: f"__label__{name}" for name in CLASS_VALUES}
_VALUES = {LABELS[name]: value for name, value in CLASS_VALUES.items()}
_M_PERTURB = -6  # glibc's mallopt(3): fill every allocation with the complement of this byte, so 255 means zeros


@dataclass(frozen=True)
class TrainingSettings:
    """fastText's settings. Three classes need two dimensions; 4 and 8 measure alike. Windows of 500 characters and 8 epochs instead of 1,000 and 5: AUC on
    machine translation left out .85 -> .90, on real pages .885 -> .896 (bench/quality.py)."""

    dimension: int = 4
    ngrams: int = 3
    buckets: int = 1 << 18
    epochs: int = 10
    rate: float = 0.5
    seed: int = 1


def write_examples(path: Path, examples: Iterable[tuple[str, str]]) -> None:
    """fastText's training file: one line for each (class, token line)."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{LABELS[name]} {line}\n" for name, line in examples)


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
            minCount=1,  # what is rare has been replaced by its shape
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
        raise MachineError(f"the model could not be written whole to {model.parent}", "is the disk full? free some space and run the same command again")


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
    """How a scorer reads texts (their first `max_characters` code points) and turns what fastText says into a score. usual: the cost of good texts' shapes,
    by script; `about`: what it learned from."""

    max_characters: int
    calibration: Calibration = field(default_factory=Calibration)
    about: str = ""
    usual: tuple[Usual, ...] = ()
    format: int = 4

    @classmethod
    def read(cls, path: Path) -> Description:
        """Raises TypeError or ValueError where the file is of no known form."""
        value = json.loads(path.read_text(encoding="utf-8"))
        usual = tuple(Usual(**one) for one in value.get("usual", ()))
        return cls(**{**value, "calibration": Calibration.of(value.get("calibration", {})), "usual": usual})

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Judged:
    """expected: class value of each text, by fastText; measured: its shape."""

    expected: npt.NDArray[np.float32]
    measured: Measured

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        expected = np.concatenate([np.zeros(0, np.float32), *(part.expected for part in parts)])
        return cls(expected, Measured.joined([part.measured for part in parts]))

    def value(self, usual: tuple[Usual, ...]) -> npt.NDArray[np.float64]:
        """The expected class value, less what the shape of the text is unusual by."""
        return lowered(self.expected, unusual(self.measured, usual), self.measured.strange)


@dataclass(frozen=True)
class Scorer:
    """A loaded scorer. Reads on one thread; the same text has the same score in every process."""

    model: Any  # fastText's
    classifier: Classifier
    description: Description
    vocabulary: Vocabulary
    shape_costs: npt.NDArray[np.uint8]

    @classmethod
    def load(cls, directory: Path, stem: str = STEM) -> Scorer:
        """Raises InputError where the files are no scorer or one of another format."""
        try:
            description = Description.read(directory / f"{stem}.json")
            costs = np.fromfile(directory / f"{stem}.shapes.bin", np.uint8).reshape(SHAPES, SHAPES, SHAPES)
            model = fasttext.load_model(str(directory / f"{stem}.bin"))
        except (OSError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{directory} holds no scorer that this version can read: {error}", "train it again: mspt train-scorer") from None
        if description.format != Description.format or not set(model.get_labels()) <= set(LABELS.values()):
            raise InputError(f"{directory} is a scorer of another format", "train it again: mspt train-scorer")
        return cls(model, Classifier.of(model), description, Vocabulary.of(model.get_words()), costs)

    @classmethod
    def default(cls) -> Scorer:
        """The one that ships with mspt."""
        return cls.load(DEFAULT_DIRECTORY, DEFAULT_STEM)

    def score(self, texts: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.float32]:
        """Calibrated score in [0, 1] for each text; 0 for a text without any token."""
        judged = self.judge(texts, self.description.max_characters)
        scores = self.description.calibration.apply(judged.value(self.description.usual))
        scores[judged.measured.tokens == 0] = 0.0
        return scores

    def judge(self, texts: pa.Array | pa.ChunkedArray, max_characters: int) -> Judged:
        """What the two halves of the scorer say of texts, before calibration."""
        values = [_VALUES[label] for label in self.classifier.labels]
        found = []
        for tokens in read_tokens(texts, max_characters, self.vocabulary):
            probabilities = self.classifier.probabilities(tokens.raw, tokens.line_ends)
            expected = [sum(value * p for value, p in zip(values, row, strict=True)) for row in probabilities]
            found.append(Judged(np.array(expected, np.float32), measure(tokens, self.shape_costs)))
        return Judged.joined(found)

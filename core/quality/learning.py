"""What lies between examples and a scorer: the vocabulary, fastText's training file, the calibration and the measures."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.quality import calibration
from mspt.core.quality.calibration import Calibration, class_of
from mspt.core.quality.features import Vocabulary, count_tokens, most_frequent, read_tokens, token_lines
from mspt.core.quality.scorer import Description, Scorer, write_examples
from mspt.core.quality.shapes import Usual, cost_table, count_shapes
from mspt.core.quality.shapes import usual as usual_costs

EXAMPLES = pa.schema([("kind", pa.string()), ("value", pa.float64()), ("held_out", pa.bool_()), ("text", pa.large_string())])
HIGH = 2 / 3  # the value from which an example is good
# Measured on kinds left out (bench/quality.py), every 6th / every 20th: shuffled characters AUC .88 / .98, real pages .896 / .901. Number tables were .91 / .69
# before shapes.py, which tells them now.
STRANGE = 20
# Kinds that keep the shapes of a text or nearly so: nobody can tell them from good text who does not know the words.
ONLY_WORDS = frozenset({"shuffled-words", "shuffled-characters", "disordered", "machine-translation", "random-characters", "light", "gaps"})
_BATCH = 2000  # examples turned into token lines at once


def write_training_file(path: Path, examples: pa.Table, vocabulary_size: int, seed: int, strange: int = STRANGE) -> None:
    """Token lines of the examples (EXAMPLES) that are not held out. Stochastic descent follows their order: mixed by the seed.

    Every `strange`-th example whose faults show without its words comes once more with no word known, all as shapes between marks: so the scorer learns what
    can be said of a text in a language or a domain that it does not know.
    """
    examples = examples.filter(pc.invert(examples.column("held_out"))).select(["kind", "value", "text"])
    order = list(range(examples.num_rows))
    random.Random(seed).shuffle(order)
    counts: Counter[str] = Counter()
    for batch in _batches(examples, order):
        counts.update(count_tokens(_lines(batch)))
    known = most_frequent(counts, vocabulary_size)
    vocabulary, marks = Vocabulary.of(known), Vocabulary.of(token for token in known if not token[0].isalnum())
    write_examples(path, (pair for batch in _batches(examples, order) for pair in _pairs(batch, vocabulary, marks, strange)))


def _pairs(batch: pa.Table, vocabulary: Vocabulary, marks: Vocabulary, every: int) -> Iterator[tuple[str, str]]:
    """(class, token line), some followed by their strange copies."""
    classes, kinds = [class_of(value) for value in batch.column("value").to_pylist()], batch.column("kind").to_pylist()
    strange = [row for row in range(0, batch.num_rows, every) if kinds[row] not in ONLY_WORDS]
    copies = dict(zip(strange, _lines(batch.take(pa.array(strange, pa.int64())), marks), strict=True))
    for row, line in enumerate(_lines(batch, vocabulary)):
        yield classes[row], line
        if row in copies:
            yield classes[row], copies[row]


def learn_shapes(examples: pa.Table) -> npt.NDArray[np.uint8]:
    """What shapes cost (shapes.py) as the high examples have them that are not held out."""
    good = examples.filter(pc.and_(pc.invert(examples.column("held_out")), pc.greater_equal(examples.column("value"), HIGH)))
    return cost_table(count_shapes(read_tokens(good.column("text"), _longest(good))))


class Calibrated(NamedTuple):
    """usual and calibration: for the description of a scorer, by all held-out examples; scores: of these, each half by the calibration of the other half, so
    that no label judges itself."""

    usual: tuple[Usual, ...]
    calibration: Calibration
    scores: npt.NDArray[np.float32]

    def describe(self, max_characters: int, about: str = "") -> Description:
        return Description(max_characters, self.calibration, about, self.usual)


def calibrate(scorer: Scorer, held_out: pa.Table) -> Calibrated:
    """What held-out examples say of a scorer without a description."""
    judged, labels = scorer.judge(held_out.column("text"), _longest(held_out)), held_out.column("value").to_numpy()
    usual = usual_costs(judged.measured.of(labels >= HIGH))
    values = judged.value(usual)
    chooser = random.Random(1)  # not every other one: classes follow one another
    even = np.array([chooser.random() < 0.5 for _ in labels], np.bool_)
    scores = np.zeros(len(labels), np.float32)
    for half in (even, ~even):
        scores[half] = calibration.fit(values[~half], labels[~half]).apply(values[half])
    return Calibrated(usual, calibration.fit(values, labels), scores)


def measures(scores: npt.NDArray[np.float32], held_out: pa.Table) -> dict[str, Any]:
    """AUC of the high examples against each kind of low and middle ones, and of every class against those below; confusion, reliability, Spearman."""
    labels, kinds = held_out.column("value").to_numpy(), np.array(held_out.column("kind").to_pylist(), dtype=str)
    high, low, middle = (labels >= HIGH, labels < 1 / 3, (labels >= 1 / 3) & (labels < HIGH))
    rows = calibration.reliability(scores, labels)
    below = {kind: scores[(kinds == kind) & ~high] for kind in sorted(set(kinds.tolist()))}
    return {
        "examples": len(labels),
        "by_class": {name: int(chosen.sum()) for name, chosen in (("high", high), ("middle", middle), ("low", low))},
        "auc": {
            "high_low": _rounded(calibration.auc(scores[high], scores[low])),
            "high_middle": _rounded(calibration.auc(scores[high], scores[middle])),
            "middle_low": _rounded(calibration.auc(scores[middle], scores[low])),
        },
        "auc_by_kind": {kind: _rounded(calibration.auc(scores[high], own)) for kind, own in below.items() if len(own)},
        "confusion": calibration.confusion(scores, labels),
        "reliability": rows,
        "calibration_error": _rounded(calibration.calibration_error(rows)),
        "spearman": _rounded(calibration.spearman(scores, labels)),
    }


def _batches(examples: pa.Table, order: Sequence[int]) -> Iterator[pa.Table]:
    for start in range(0, len(order), _BATCH):
        yield examples.take(order[start : start + _BATCH])


def _lines(batch: pa.Table, vocabulary: Vocabulary | None = None) -> list[str]:
    return token_lines(batch.column("text"), _longest(batch), vocabulary)


def _longest(table: pa.Table) -> int:
    return int(pc.max(pc.utf8_length(table.column("text"))).as_py() or 1) if table.num_rows else 1


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)

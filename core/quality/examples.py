"""Examples for a bootstrapped scorer: windows of good documents, the same windows corrupted as the low and the middle class, and what clean rejected."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import xxhash

from mspt.core.quality.corruptions import CORRUPTIONS, Corruption
from mspt.core.quality.features import windows
from mspt.core.quality.middle import MIDDLE

KEPT = "kept"
MIN_CHARACTERS = 20  # shorter windows (a title, a date) look much the same corrupted
LOW_PER_WINDOW = 2  # measured: shuffled words AUC .95 with one, .98 with two on 2,000 windows
MIN_CHANGED = 0.2  # share of the 5-grams of characters of a low example that its text does not have: code hardly changes when its words are translated
# Seeds of the id hashes: which documents are used, which are held out, how a window is corrupted. Apart, so that one choice says nothing of another.
_CHOICE, _HELD_OUT, _CORRUPT = 0x63686F73, 0x68656C64, 0x73687566


@dataclass(frozen=True)
class ExampleSettings:
    """Windows of `window` code points, at most `per_document` of each document; `held_out` is the share of documents that only test the scorer."""

    window: int = 500
    per_document: int = 8
    held_out: float = 0.1
    seed: int = 1
    kinds: tuple[str, ...] = tuple(CORRUPTIONS)
    draw: int = 0  # other corruptions of the same windows, where there are few of them


@dataclass(frozen=True)
class Example:
    """One window: its value (high 1, middle 1/2, low 0, or between), and what it is made of: kept, a corruption, a kind of middle.py, rejected, label."""

    kind: str
    value: float
    held_out: bool
    text: str


def choose(ids: Sequence[str], limit: int, seed: int) -> set[str]:
    """At most `limit` documents, the same whatever the order of the ids."""
    return set(ids) if len(ids) <= limit else set(sorted(ids, key=lambda id_: (_hash(id_, _CHOICE + seed), id_))[:limit])


def make_examples(ids: Sequence[str], texts: Sequence[str], settings: ExampleSettings) -> list[Example]:
    """Examples of documents, in their order: for each window one high, LOW_PER_WINDOW low and one middle, less those that a corruption left as they were."""
    corruptions = {kind: CORRUPTIONS[kind] for kind in settings.kinds}
    return [example for id_, text in zip(ids, texts, strict=True) for example in _of_document(id_, text, settings, corruptions)]


def given_examples(kind: str, keys: Sequence[str], texts: Sequence[str], values: Sequence[float], settings: ExampleSettings) -> list[Example]:
    """Windows of texts whose value is known (a person's labels; what clean rejected: 0). Texts of one key are held out together."""
    return [
        Example(kind, value, is_held_out(key, settings), window)
        for key, text, value in zip(keys, texts, values, strict=True)
        for window in windows(text, settings.window, settings.per_document)
    ]


def is_held_out(key: str, settings: ExampleSettings) -> bool:
    """Whether a document only measures the scorer."""
    return _hash(key, _HELD_OUT + settings.seed) < settings.held_out * 2**64


def _of_document(id_: str, text: str, settings: ExampleSettings, corruptions: Mapping[str, Corruption]) -> Iterator[Example]:
    held_out = is_held_out(id_, settings)
    for number, window in enumerate(windows(text, settings.window, settings.per_document)):
        chooser = random.Random(_hash(f"{id_}/{number}/{settings.draw}", _CORRUPT + settings.seed))
        if len(window) < MIN_CHARACTERS:
            continue
        low = [(kind, corruptions[kind](window, chooser)) for kind in chooser.sample(list(corruptions), min(LOW_PER_WINDOW, len(corruptions)))]
        middle = chooser.choice(list(MIDDLE))
        made = [(kind, 0.0, found) for kind, found in low if changed(window, found) >= MIN_CHANGED]
        made.append((middle, 0.5, MIDDLE[middle](window, chooser, list(corruptions.values()))))
        made = [(kind, value, found) for kind, value, found in made if found != window and found.strip()]
        if made:
            yield Example(KEPT, 1.0, held_out, window)
        yield from (Example(kind, value, held_out, found) for kind, value, found in made)


def changed(before: str, after: str) -> float:
    """Share of the 5-grams of characters of `after` that are not those of `before`, each counted as often as it occurs."""
    ours, theirs = _five_grams(before), _five_grams(after)
    return 1 - (ours & theirs).total() / max(1, theirs.total())


def _five_grams(text: str) -> Counter[str]:
    return Counter(text[i : i + 5] for i in range(max(1, len(text) - 4)))


def _hash(text: str, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed=seed)

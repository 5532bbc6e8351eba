"""Examples for a bootstrapped scorer: windows of kept documents as the good ones, the same windows shuffled as the bad ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import xxhash

from mspt.core.quality.features import shuffle_characters, shuffle_words, token_lines, windows
from mspt.core.quality.scorer import BAD, GOOD

Kind = Literal["kept", "shuffled-words", "shuffled-characters"]
MIN_CHARACTERS = 20  # shorter windows (a title, a date) look much the same shuffled
# Seeds of the id hashes: which documents are used, which are held out, how a window is shuffled. Apart, so that one choice says nothing of another.
_CHOICE, _HELD_OUT, _SHUFFLE = 0x63686F73, 0x68656C64, 0x73687566


@dataclass(frozen=True)
class ExampleSettings:
    """Windows of `window` code points, at most `per_document` of each document; `held_out` is the share of documents that only test the scorer."""

    window: int = 1000
    per_document: int = 4
    held_out: float = 0.1
    seed: int = 1


@dataclass(frozen=True)
class Example:
    """One line of tokens and what it is made of."""

    kind: Kind
    held_out: bool
    line: str

    @property
    def label(self) -> str:
        return GOOD if self.kind == "kept" else BAD


def choose(ids: Sequence[str], limit: int, seed: int) -> set[str]:
    """At most `limit` documents, the same whatever the order of the ids."""
    return set(ids) if len(ids) <= limit else set(sorted(ids, key=lambda id_: (_hash(id_, _CHOICE + seed), id_))[:limit])


def make_examples(ids: Sequence[str], texts: Sequence[str], settings: ExampleSettings) -> list[Example]:
    """Good and bad examples of documents, in their order. Windows that shuffling leaves as they are give none."""
    made = [example for id_, text in zip(ids, texts, strict=True) for example in _of_document(id_, text, settings)]
    lines = token_lines(pa.array([text for _, _, text in made], pa.string()), settings.window)
    return [Example(kind, held_out, line) for (kind, held_out, _), line in zip(made, lines, strict=True)]


def _of_document(id_: str, text: str, settings: ExampleSettings) -> Iterator[tuple[Kind, bool, str]]:
    held_out = _hash(id_, _HELD_OUT + settings.seed) < settings.held_out * 2**64
    for number, window in enumerate(windows(text, settings.window, settings.per_document)):
        chance = _hash(f"{id_}/{number}", _SHUFFLE + settings.seed)
        kind: Kind = "shuffled-words" if chance & 1 else "shuffled-characters"
        chooser = random.Random(chance)
        shuffled = shuffle_words(window, chooser) if chance & 1 else shuffle_characters(window, chooser)
        if len(window) >= MIN_CHARACTERS and shuffled != window:
            yield "kept", held_out, window
            yield kind, held_out, shuffled


def _hash(text: str, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(text.encode(), seed=seed)

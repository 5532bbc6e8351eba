"""Known text in every encoding that Python writes for Chinese, Japanese, Korean and Cyrillic, in shapes and with faults: at least 99 in 100 are read right.

What counts is the text: encodings that give the same characters are alike. A wrong byte may cost its character and the next one's reading.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from mspt.core.text.decoding.decode import decode
from support.encodings import SHAPES, TEXTS, Sample, damage, misread, samples

MIN_RIGHT = 0.99
UDHR = {
    "zh-Hans": "cmn_hans",
    "zh-Hant": "cmn_hant",
    "ja": "jpn",
    "ko": "kor",
    "ru": "rus",
    "uk": "ukr",
    "bg": "bul",
    "be": "bel",
    "mk": "mkd",
    "sr": "srp_cyrl",
}


def check(cases: Iterable[Sample]) -> None:
    misses, number = [], 0
    for case in cases:
        number += 1
        if found := misread(case, decode(case.data).text):
            misses.append(found)
    assert number >= 40
    assert len(misses) <= (1 - MIN_RIGHT) * number, f"{len(misses)} of {number}:\n" + "\n".join(misses)


def damaged(cases: Iterable[Sample]) -> Iterable[Sample]:
    chooser = random.Random(5)
    return (damage(case, chooser) for case in cases)


@pytest.mark.parametrize("language", TEXTS)
def test_from_200_characters_up(language):
    check(samples(language, TEXTS[language], (200, 1000), 1))


def test_with_one_wrong_byte_in_the_middle():
    check(damaged(case for language, text in TEXTS.items() for case in samples(language, text, (200, 1000), 1)))


@pytest.mark.soak
def test_a_megabyte():
    chosen = ("zh-Hans", "ru")
    check(case for language in chosen for case in samples(language, TEXTS[language], (500_000,), 1, shapes=("plain", "ascii-lines")))


@pytest.mark.soak
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_real_texts_from_many_places(shared, shape, is_damaged):
    texts = [(language, (shared / f"data/lid_udhr/{name}.txt").read_text(encoding="utf-8")) for language, name in UDHR.items()]
    texts += [("zh-Hans", real(shared / "data/zh_novels.jsonl.gz")), ("zh-Hans", real(shared / "data/zh_wiki_hans.jsonl.gz"))]
    texts += [("zh-Hant", real(shared / "data/zh_wiki_hant.jsonl.gz"))]
    cases = (case for language, text in texts for case in samples(language, text, (200, 2000), 3, shapes=(shape,)))
    check(damaged(cases) if is_damaged else cases)


def real(path: Path, characters: int = 60_000) -> str:
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        texts = [json.loads(line)["text"] for line in handle]
    random.Random(1).shuffle(texts)
    return "\n".join(texts)[:characters]

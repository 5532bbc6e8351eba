"""Wrapped prose joined to paragraphs, told by Python's own textwrap; verse, tables, code, lists, headings, dialogue stay."""

from __future__ import annotations

import gzip
import json
import re
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.form import detect_form
from mspt.core.text.normal.document import as_edits
from mspt.core.text.normal.line_joining import join_lines
from mspt.core.text.normal.normalize import Document
from mspt.core.text.spans import Span, edit

PARAGRAPHS = [
    "The harbour was quiet that morning, and the boats lay close together under a grey sky that promised rain before noon to anybody who looked up.",
    "Nobody had slept much. The keeper of the light went down the stairs, counted the lamps twice, wrote the number into his book, and then sat by the window "
    "to wait for the ferry, which came late in such weather and sometimes did not come at all.",
    "When it came, at last, it carried only two people and a goat; the goat was the first to go ashore.",
    "He asked them where they had come from, what the news was on the other side, and whether the price of oil had fallen, as everybody on the island hoped it "
    "would, now that the war in the south had ended and ships were free to pass the strait again.",
]
HAN_PARAGRAPHS = [
    "清晨的港口十分安静，小船紧紧靠在一起，灰色的天空预示着中午之前会有一场大雨，抬头看的人都知道这一点。",
    "守灯塔的老人走下楼梯，把灯数了两遍，把数字写进本子里，然后坐在窗边等待渡船。这样的天气里渡船总是来得很晚，有时候甚至根本不来，大家也都习惯了。",
    "渡船终于来了，船上只有两个人和一只山羊。最先上岸的是那只山羊，它好像很熟悉这里的路，一直走到了市场门口才停下来。",
]
texts = st.lists(
    st.lists(st.sampled_from(["the", "a", "boats", "harbour,", "light.", "Nobody", "1.", "-", "中文", "灯。", '"', "    "]), min_size=1, max_size=14).map(
        " ".join
    ),
    max_size=30,
)


def joined(text: str, form: str = "prose") -> str:
    return edit(text, (), as_edits(join_lines(Document(text, (), form))))[0]


def wrap_han(paragraph: str, width: int, first: str = "") -> str:
    """In lines of `width` Han characters; marks may stand behind them, Latin words are not cut."""
    lines, line = [], first
    for word in re.findall("[A-Za-z ]+|.", paragraph):
        if sum(1 + (one > "\u2010") for one in line + word) > 2 * width and word not in "，。；：！？”’…":
            lines.append(line.rstrip(" "))
            line = ""
        line += word if line else word.lstrip(" ")
    return "\n".join([*lines, line])


@pytest.mark.parametrize("width", [48, 60, 72, 80, 100])
def test_wrapped_english_is_joined(width: int) -> None:
    blank_lines = "\n\n".join(textwrap.fill(one, width) for one in PARAGRAPHS * 2)
    assert joined(blank_lines) == "\n\n".join(PARAGRAPHS * 2)
    indented = "\n".join(textwrap.fill(one, width, initial_indent="   ") for one in PARAGRAPHS * 2)
    assert joined(indented) == "\n".join("   " + one for one in PARAGRAPHS * 2)
    block = textwrap.indent(blank_lines, "   ")
    assert joined(block) == "\n\n".join("   " + one for one in PARAGRAPHS * 2)


@pytest.mark.parametrize("width", [22, 30, 37])
def test_wrapped_chinese_is_joined_without_blanks(width: int) -> None:
    paragraphs = HAN_PARAGRAPHS * 5
    assert joined("\n\n".join(wrap_han(one, width) for one in paragraphs)) == "\n\n".join(paragraphs)
    assert joined("\n".join(wrap_han(one, width, "\u3000\u3000") for one in paragraphs)) == "\n".join("\u3000\u3000" + one for one in paragraphs)


def test_without_marked_paragraphs_a_sentence_that_ends_with_its_line_may_end_one() -> None:
    lines = [textwrap.fill(one, 60) for one in PARAGRAPHS * 3]
    found = joined("\n".join(lines)).split("\n")
    assert set(found) <= {one[start:end] for one in PARAGRAPHS for start in (0, *_ends(one)) for end in (*_ends(one), len(one))}
    assert len(found) < len("\n".join(lines).split("\n")) / 2


def _ends(paragraph: str) -> list[int]:
    """Behind the sentences of a paragraph, and where the next ones begin."""
    return [place for dot in range(len(paragraph)) if paragraph[dot] in ".;:" for place in (dot + 1, dot + 2)]


def test_between_han_and_latin_is_a_blank_where_the_text_has_them() -> None:
    spaced = "训练模型的时候，先用 MindSpore 准备好数据，再写好网络结构，并且把 loss 函数和 optimizer 都设置好，然后再用 Python 写循环。" * 3
    tight = spaced.replace(" ", "")
    for text in (spaced, tight):
        assert joined("\n\n".join(wrap_han(text, width) for width in (30, 30, 30))) == "\n\n".join([text] * 3)


VERSE = """\
Behold the lamp that in the window stands,
A little sun for those who are at sea,
The keeper trims it with his patient hands,
And asks for neither thanks nor company.
The winds may blow, the winter may be long,
And ships may pass that never see the shore,
But every night he sings the same old song,
And lights the flame, and asks for nothing more.
"""
TABLE = "name        width   height   what it is\n" + "lamp           12       40   a light in a tower\n" * 8
LIST = "\n".join(f"{number}. the keeper counted all of the lamps in the tower once" for number in range(1, 12))
CODE = "\n".join(f"    value_{number} = compute(first_argument, second_argument, third_{number})" for number in range(12))
LOG = "\n".join(f"2024-01-0{number} 12:00:0{number} INFO worker {number} finished its task in 1{number} ms" for number in range(1, 9))
SENTENCES = "\n".join(f"The keeper said that he had seen {number} boats in the harbour today." for number in range(10, 30))
DIALOGUE = "\n".join(f"“{one}”" for one in ["Who is there?", "It is me, the man from the ferry.", "Come in, then, and shut the door.", "Thank you."] * 4)
HAN_VERSE = "春风吹过小河边，两岸青山入画船。灯火几家人未睡，一声渔唱月中天。\n" * 8
SIGNED = "Yours faithfully,\n\nThe keeper of the light\nLighthouse Road 1\nThe Island\n" * 3


SYSLOG = "\n".join(f"Jan 1{number} 03:14:1{number} tower sshd[{4711 + number}]: the keeper logged in from the {number}th lamp" for number in range(8))
SMALL_LOG = "\n".join(f"worker {number} of the tower finished the {number * 7 + 20} lamps that it had been given" for number in range(8))
BIBLIOGRAPHY = """\
Keeper, J. and Wright, A. 1987. On lamps that burn in wind. Sea Press.
Ferryman, K. L. 1991. The boat and its goat: a history. Journal of Boats.
Oilman, P., Stone, R. 2003. Prices of oil on islands. Island Letters 4.
Stone, R. 2005. Harbour walls under a grey sky. Proceedings of Walls 12.
Wright, A. 2011. Forty years of counting lamps. The Lighthouse Review.
"""
FREE_VERSE = """\
the lamp that in the window stands alone and burns,
a little sun for those who are at sea tonight,
the keeper trims it with his old and patient hand,
and asks for neither thanks nor any company;
the winds may blow, the winter may be very long,
"""
HAN_LINES = "春风吹过小河边的老树，两岸青山映入客人的画船，\n灯火几家有人还没有睡，一声渔唱远在月亮中天。\n" * 3


@pytest.mark.parametrize("text", [SYSLOG, SMALL_LOG, BIBLIOGRAPHY, VERSE, FREE_VERSE, HAN_LINES], ids=["syslog", "log", "books", "verse", "free", "han"])
@pytest.mark.parametrize("spare", [0, 1, 4])
def test_lines_of_their_own_stay_in_prose_of_their_width(text: str, spare: int) -> None:
    """Though each of their ends might be one of a paragraph of that width."""
    width = max(len(line) + sum(one > "\u2010" for one in line) for line in text.splitlines()) + spare
    if text is HAN_LINES:
        paragraphs, prose = HAN_PARAGRAPHS * 5, "\n\n".join(wrap_han(one, width // 2) for one in HAN_PARAGRAPHS * 5)
    else:
        paragraphs, prose = PARAGRAPHS * 3, "\n\n".join(textwrap.fill(one, width) for one in PARAGRAPHS * 3)
    whole = "\n\n".join(paragraphs)
    between = "\n\n" + text.rstrip("\n") + "\n\n"
    assert joined(prose + between + prose) == whole + between + whole


def test_a_paragraph_with_some_large_beginnings_is_joined() -> None:
    """German: nearly half of the words that begin a line are written large."""
    paragraph = (
        "Der Hafen lag an diesem Morgen still, und die Boote drängten sich unter dem grauen Himmel, der Regen vor Mittag versprach. Der "
        "Wärter stieg die Treppe hinab, zählte die Lampen zweimal, schrieb die Zahl in sein Buch und setzte sich ans Fenster, um auf die Fähre zu warten, die "
        "bei solchem Wetter spät kam."
    )
    for width in range(44, 90):
        assert joined("\n\n".join(textwrap.fill(paragraph, width) for _ in range(5))) == "\n\n".join([paragraph] * 5)


@pytest.mark.parametrize("text", [VERSE, TABLE, LIST, CODE, LOG, SENTENCES, DIALOGUE, HAN_VERSE, SIGNED], ids=range(9))
def test_lines_of_their_own_stay(text: str) -> None:
    assert joined(text) == text
    wrapped = "\n\n".join(textwrap.fill(one, 72) for one in PARAGRAPHS * 3)
    assert joined(wrapped + "\n\n" + text) == "\n\n".join(PARAGRAPHS * 3) + "\n\n" + text


def test_headings_items_and_fences_in_wrapped_prose() -> None:
    body = "\n\n".join(textwrap.fill(one, 60) for one in PARAGRAPHS * 2)
    item = textwrap.fill("1. " + PARAGRAPHS[1], 60, subsequent_indent="   ")
    fence = "```\n" + textwrap.fill(PARAGRAPHS[1], 60) + "\n```"
    text = f"A heading\n=========\n{body}\n\n{item}\n2. Another one\n\n{fence}\n\n# Last words\n{body}"
    expected = "\n\n".join(PARAGRAPHS * 2)
    assert joined(text) == f"A heading\n=========\n{expected}\n\n1. {PARAGRAPHS[1]}\n2. Another one\n\n{fence}\n\n# Last words\n{expected}"


def test_a_hyphen_at_a_line_end_stays() -> None:
    text = (
        "\n\n".join(textwrap.fill(one, 60) for one in PARAGRAPHS * 2)
        + "\n\nThe keeper, who was an old man and had seen many a well-\nknown captain go by, said nothing to anybody about that."
    )
    assert joined(text).endswith("a well-\nknown captain go by, said nothing to anybody about that.")


def test_quotes_and_ellipses_of_western_text_keep_their_blank() -> None:
    """Curly quotes are marks of both scripts: what stands beside them decides."""
    text = " ".join(PARAGRAPHS[1:]).replace("the", "‘the’").replace("his", "“his”").replace("late", "late…")
    wrapped = "\n".join(textwrap.wrap(text, 62, break_on_hyphens=False))
    assert any(line[-1] in "’”…" for line in wrapped.split("\n")[:-1])
    assert any(line[0] in "‘“" for line in wrapped.split("\n")[1:])
    assert joined(wrapped) == text
    chinese = [one.replace("港口", "“港口”").replace("上只有", "‘上’只有……") for one in HAN_PARAGRAPHS * 2]
    assert joined("\n\n".join(wrap_han(one, 30) for one in chinese)) == "\n\n".join(chinese)


@pytest.mark.parametrize(
    "line",
    [
        "assert has_close_elements([1.0, 2.0, 3.9], 0.3) == True", "from .plotting import plot, plot_parametric and more of it",
        "# Explicit empty string means that the default is taken", 'set(${cfg_cmd_id_var} "${cmd}" PARENT_SCOPE) and so on',
    ],
)  # fmt: skip
def test_lines_of_programs_in_wrapped_prose_stay(line: str) -> None:
    prose = "\n\n".join("\n".join(textwrap.wrap(paragraph, len(line))) for paragraph in PARAGRAPHS * 2)
    assert f"\n{line}\n{line}\n" in joined(f"{prose}\n\n{line}\n{line}\n{line}\n\n{prose}")


@pytest.mark.parametrize("form", ["verse", "code", "table", "markup"])
def test_only_prose_without_spans_is_joined(form: str) -> None:
    text = "\n\n".join(textwrap.fill(one, 60) for one in PARAGRAPHS * 2)
    assert joined(text, form) == text
    assert not len(join_lines(Document(text, (Span("p", 0, 40),), "prose")))


@settings(max_examples=300, deadline=None)
@given(texts, st.integers(40, 80), st.sampled_from(["\n", "\n\n"]))
def test_twice_is_once_and_only_blanks_change(lines: list[str], width: int, between: str) -> None:
    text = between.join(textwrap.fill(line * 4, width) for line in lines)
    written = joined(text)
    assert joined(written) == written
    assert "".join(written.split()) == "".join(text.split())


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]), max_size=200))
def test_one_line_stays(text: str) -> None:
    assert joined(text) == text


@pytest.mark.parametrize(
    "unit", ["\n", "a b c\n", "a" * 70 + "\n", "the boats lay close together under a grey sky that promised\n", " \n", "中文" * 20 + "\n", "- \n", "—\n"]
)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * 20_000
    assert "".join(joined(text).split()) == "".join(text.split())


@pytest.mark.parametrize("name", ["zh_poetry_hans", "zh_poetry_hant", "zh_novels", "zh_wiki_hans", "zh_techdocs", "en_techdocs", "en_wikitext2"])
def test_real_documents_that_are_not_wrapped_stay(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert not [text[:80] for text in texts if len(join_lines(Document(text, (), "prose")))]


def test_real_wrapped_documents_are_joined(shared: Path) -> None:
    with gzip.open(shared / "data" / "en_public_domain.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    changed = {one["id"] for one in documents if len(join_lines(Document(one["text"], (), detect_form(one["text"]).form)))}
    wrapped = {one["id"] for one in documents if one["id"].startswith(("jargon", "botchan", "nltk:genesis"))}
    assert changed <= wrapped  # speeches with a line for each paragraph, and Shakespeare's verse, are none of them
    assert len(changed) >= 0.95 * len(wrapped)

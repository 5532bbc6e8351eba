"""Tags left in plain text removed where a document has the habit; tags that are named, and text about HTML, stay."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.form import detect_form
from mspt.core.text.normal.normalize import Document
from mspt.core.text.normal.tag_residues import bbcode, html_tags
from mspt.core.text.spans import Span, edit

PIECES = [
    "<",
    ">",
    "<b>",
    "</b>",
    "<br/>",
    "<br>",
    "</p>",
    "<unk>",
    "<p class='a'>",
    "[b]",
    "[/b]",
    "[url=http://a.b]",
    "[/url]",
    "[code]",
    "[/code]",
    "[i]",
    "[img]",
    "[/img]",
    "b",
    "i",
    "/",
    "[",
    "]",
    " ",
    "中",
    "\n",
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def cleaned(step: object, text: str, form: str = "prose") -> str:
    return edit(text, (), list(step(Document(text, (), form))))[0]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("<strong>第一回</strong>\n话说有一人。", "第一回\n话说有一人。"),
        ("词曰：<br/>春来早，<br/>花开好。\n且说。", "词曰：\n春来早，\n花开好。\n且说。"),
        ("One.</p><p>Two.</p>\n<p>Three.", "One.\n\nTwo.\nThree."),
        ('A <a href="http://x.y/z">link</a> and <EM>more</EM>.<BR />Then', "A link and more.\nThen"),
        ("x<br><br>y\n<br>\nz<br>", "x\n\ny\n\nz"),
        ("10<sup>5</sup> of <i>E. coli</i> and <i>B. subtilis</i>", "10<sup>5</sup> of E. coli and B. subtilis"),
    ],
)
def test_residues_of_html_go(raw: str, expected: str) -> None:
    assert cleaned(html_tags, raw) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The <b> element makes text bold, the <br> tag breaks a line, and <i> is for italics.",
        "HTML: <b>bold</b> and <i>italic</i>",
        "标签 <br/> 换行，<b>粗体</b>，<i>斜体</i>。",
        "usage: copy <file> <directory>, where <file> is a name",
        "the <unk> of <unk> was <b>bold</b>",
        "I < Br < S and a<b>c",
        "Only one <br>here",
        "`<b>x</b>` and `<i>y</i>`",
        "    <p>one</p>\n    <p>two</p>\nis an example",
        "<<b>br>x<i>y</i>",
        "```\n<b>x</b><i>y</i>\n```\n",
        "vector<i>, map<b> and list<a>",
    ],
)
def test_tags_that_are_none_stay(text: str) -> None:
    assert cleaned(html_tags, text) == text


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("[b]标题[/b]\n正文", "标题\n正文"),
        ("see [url=http://a.b/c]this[/url] and [url]http://d.e[/url]", "see this and http://d.e"),
        ("a [img]http://a.b/c.png[/img] [COLOR=red][b]b[/b][/COLOR]", "a  b"),
        ("[quote]said[/quote] [b]x[/b] [code]a[i]b[/i] = [b]c[/b][/code]", "said x [code]a[i]b[/i] = [b]c[/b][/code]"),
    ],
)
def test_bbcode_goes(raw: str, expected: str) -> None:
    assert cleaned(bbcode, raw) == expected


@pytest.mark.parametrize("text", ["a[i] = b[j] + a[b]", "[b] and [i] but no [/u]", "note [1] [s] [/u]", "BBCode: [b]bold[/b]", "`[b]x[/b]`"])
def test_brackets_that_are_no_bbcode_stay(text: str) -> None:
    assert cleaned(bbcode, text) == text


def test_markup_and_code_stay() -> None:
    text = "<strong>x</strong> [b]y[/b]"
    assert all(cleaned(step, text, form) == text for step in (html_tags, bbcode) for form in ("markup", "code", "table"))


@settings(max_examples=500, deadline=None)
@given(texts, st.data())
def test_twice_is_once_and_spans_stay_valid(text: str, data: st.DataObject) -> None:
    borders = st.integers(0, len(text))
    spans = tuple(Span("p", *sorted(pair)) for pair in data.draw(st.lists(st.tuples(borders, borders), max_size=3)) if pair[0] != pair[1])
    for step in (html_tags, bbcode):
        written, moved = edit(text, spans, list(step(Document(text, spans, "prose"))))
        assert cleaned(step, written) == written
        assert all(0 <= start < end <= len(written) for _, start, end in moved)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="<[", exclude_categories=["Cs"]), max_size=60))
def test_text_without_tags_stays(text: str) -> None:
    assert cleaned(html_tags, text) == cleaned(bbcode, text) == text


@pytest.mark.parametrize("unit", ["<", "<b", "<b>", "<b ", "</b>", "<br/>", "<a x", ">", "[b]", "[/b]", "[b", "[url=", "[code]", "x<b>y</b>"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * 50_000
    assert len(cleaned(html_tags, text)) <= len(text) >= len(cleaned(bbcode, text))


def test_real_chapters_lose_their_tags_and_nothing_else(shared: Path) -> None:
    with gzip.open(shared / "data" / "zh_novels.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    with_tags = [text for text in texts if re.search(r"<(?:strong|br)", text)]
    assert len(with_tags) == 1088
    for text in with_tags:
        written = cleaned(html_tags, text)
        assert "".join(written.split()) == "".join(re.sub(r"</?(?:strong|br)/?>", "", text).split())


@pytest.mark.parametrize("name", ["zh_techdocs", "en_techdocs", "en_public_domain", "en_wikitext2", "zh_wiki_hant", "zh_manpages_hans"])
def test_real_documents_stay(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    changed = [text[:80] for text in texts for step in (html_tags, bbcode) if list(step(Document(text, (), detect_form(text).form)))]
    assert not changed

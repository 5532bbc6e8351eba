"""Entities and percent signs undone where a document has the habit, told by Python's own html and urllib; texts about them keep them."""

from __future__ import annotations

import gzip
import html
import json
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.html.extract import extract
from mspt.core.text.normal.normalize import Document
from mspt.core.text.normal.web_escapes import entities, percents
from mspt.core.text.octet_entities import octet_entities
from mspt.core.text.spans import Span, edit

LETTER = 'Tom & Jerry met at <noon>; "hello", he said. R & D was closed, it\'s said, and A & B too.'
OCTETS = "春天来了，花都开了。Caf\xe9 – “\U0001f600”"
PIECES = [
    "&",
    "&amp;",
    "amp;",
    "#38;",
    "&#112;",
    "lt;",
    "&lt;",
    "&nbsp;",
    "&nbsp",
    "&#x4e2d;",
    "&foo;",
    "&semi;",
    "&bsol;",
    "n",
    ";",
    "#",
    " ",
    "中",
    "%E4%B8%AD",
    "%",
    "E4",
    "%20",
    '"',
    "\n",
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def read(step: object, text: str, form: str = "prose") -> str:
    return edit(text, (), list(step(Document(text, (), form))))[0]  # type: ignore[operator]


@pytest.mark.parametrize("times", [1, 2, 4])
def test_entities_are_undone_however_often_they_were_escaped(times: int) -> None:
    escaped = LETTER
    for _ in range(times):
        escaped = html.escape(escaped)
    assert read(entities, escaped) == LETTER


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("第一段&nbsp;&nbsp;第二段&amp;nbsp;第三段&amp;amp;nbsp;完", "第一段\xa0\xa0第二段\xa0第三段\xa0完"),
        ("It&#8217;s &#x201c;good&#x201D; &mdash; isn&rsquo;t it?", "It’s “good” — isn’t it?"),
        ("第一&nbsp第二&nbsp&nbsp第三", "第一\xa0第二\xa0\xa0第三"),
        ("a&amp;b, c&amp;d, e&amp;f&#65;", "a&b, c&d, e&f&#65;"),  # nobody need escape a letter
        ("a&amp;foo; b&amp;c, d&amp;e, f&amp;g", "a&foo; b&c, d&e, f&g"),
    ],
)
def test_named_and_numeric_entities(raw: str, expected: str) -> None:
    assert read(entities, raw) == expected


@pytest.mark.parametrize(
    "text",
    [
        'Write "&amp;" for an ampersand, "&lt;" and "&gt;" for angle brackets and "&nbsp;" for a space.',
        "In HTML an ampersand is &amp; and a space is &nbsp; and angle brackets are &lt; and &gt;.",
        "字符实体 &amp; 表示与号，&lt; 表示小于号，&nbsp; 表示空格，&gt; 表示大于号。",
        "AT&T and R&D and B&B, but Q&amp;A, P&amp;L, S&amp;P",  # ampersands are bare too
        "Only Q&amp;A and P&amp;L",
        "see http://a.cn/?a=1&amp;b=2&amp;c=3&amp;d=4",
        "`a &amp; b &amp; c &amp; d`",
        "x &foo; y &bar; z &baz;",
        "# Title\n\nSome | text\n--- | ---\na&nbsp;b | c&nbsp;d\n\n```\nx\n```\n\n```\ny\n```\n&nbsp;&nbsp;end",  # Markdown
    ],
)
def test_texts_about_entities_stay(text: str) -> None:
    assert read(entities, text) == text


def test_markup_code_and_tables_stay() -> None:
    text = "a&amp;b, c&amp;d, e&amp;f, g&amp;h"
    assert [read(entities, text, form) for form in ("markup", "code", "table")] == [text] * 3


@pytest.mark.parametrize("text", ["第一回 春天来了，花开了。\n他说：“好！”\n晚上到家，天黑了。\n", "春天：花、草、树。" * 5])
def test_percent_encoded_prose_is_undone(text: str) -> None:
    assert read(percents, quote(text, safe="\n ,.:")) == text
    assert read(percents, quote(text).replace("%0A", "\n")) == text


@pytest.mark.parametrize(
    "text",
    [
        "见 http://a.cn/%E4%B8%AD%E6%96%87 与 http://b.cn/%E4%B8%AD?q=%E6%96%87 及 [链接](c/%E4%B8%AD.md)",
        "the path /wiki/%E4%B8%AD%E6%96%87 and q=%E4%B8%AD and x?%E4%B8%AD are parts of addresses",
        "中文 写作 %E4%B8%AD%E6%96%87，汉字 写作 %E6%B1%89%E5%AD%97，北京 写作 %E5%8C%97%E4%BA%AC。",  # Han are written out too
        "100% sure, 50%AB%CD off, %s and %d",
        "%FF%FE and %E4%B8 and %C3 are no UTF-8",
        "Percent-encoded: %E4%B8%AD and %E6%96%87 and %E5%8C%97",
    ],
)
def test_addresses_and_texts_about_encoding_stay(text: str) -> None:
    assert read(percents, text) == text


@settings(max_examples=500, deadline=None)
@given(texts, st.data())
def test_twice_is_once_and_spans_stay_valid(text: str, data: st.DataObject) -> None:
    borders = st.integers(0, len(text))
    spans = tuple(Span("p", *sorted(pair)) for pair in data.draw(st.lists(st.tuples(borders, borders), max_size=3)) if pair[0] != pair[1])
    for step in (entities, percents):
        written, moved = edit(text, spans, list(step(Document(text, spans, "prose"))))
        assert read(step, written) == written
        assert all(0 <= start < end <= len(written) for _, start, end in moved)


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="&%", exclude_categories=["Cs"]), max_size=60))
def test_text_without_them_stays(text: str) -> None:
    assert read(entities, text) == read(percents, text) == text


@pytest.mark.parametrize("unit", ["&", "&amp;", "&am", "&#", "&#1", "amp;", "a&amp;b", "%", "%E4", "%E4%B8%AD", "%20", "% "])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    text = unit * 100_000
    assert len(read(entities, text)) <= len(text) >= len(read(percents, text))


@pytest.mark.parametrize("name", ["zh_novels", "zh_techdocs", "en_techdocs", "en_public_domain", "zh_wiki_hans", "zh_wiki_hant"])
def test_real_documents_stay(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert not [text[:80] for text in texts for step in (entities, percents) if list(step(Document(text, (), "prose")))]


@pytest.mark.parametrize("form", ["&#{};", "&#x{:x};", "&#x00{:X};", "&#0{};"])
def test_entities_that_are_the_bytes_of_utf_8(form):
    written = "".join(form.format(byte) if byte >= 0x80 else chr(byte) for byte in OCTETS.encode())
    assert read(entities, f"He said: {written}.") == f"He said: {OCTETS}."
    assert extract(f"<html><body><p>{written}</p></body></html>", mode="page").text == OCTETS


def test_entities_that_are_characters_are_no_bytes():
    """\u00e0 and a blank before a quotation are bytes of a letter of Samaritan; beside an accent of their own none are bytes."""
    for text in ("Il va &#224;&#160;&#171;&#160;Paris&#160;&#187;.", "&#195;&#169;t&#233; &#228;&#184;&#173;", "&#228;&#184; &#173;"):
        assert octet_entities(text) == []
        assert (
            extract(f"<html><body><p>{text}</p></body></html>", mode="page").text == " ".join(html.unescape(text).replace("\xa0", " ").split())
            or "\xa0" in text
        )
    assert octet_entities("&#20013;&#25991; and plain text") == []


def test_texts_about_entities_keep_them():
    text = "In HTML the entity &#228;&#184;&#173; is three characters and not one."
    assert read(entities, text) == text

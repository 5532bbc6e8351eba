"""One way of writing: what changes, what must not, and where the spans go."""

from __future__ import annotations

import gzip
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.normalize import Switches, normalize
from mspt.core.text.spans import Span

# Text by the characters that steps look at, beside others that they must leave alone.
TRICKY = (
    " \t\n\r\x0b\x0c\x85\u2028\xa0\u3000\u2003\xad\u200b\u200c\u200d\ufe0f\ufeff\u202e\ue000\u2581ＡｚＺ９，。！abz19"
    "e\u0301\u0323가\u1100\u1161\u11a8か\u3099漢\uf900"
    "\U000e0100👩🏽می\U0001f3f4\U000e0067\U000e007f#\u20e3`~\ud800"
)


@pytest.mark.parametrize(
    ("raw", "expected", "counts"),
    [
        ("a\r\nb\rc\x85d\u2028e\x0cf", "a\nb\nc\nd\ne\nf", {"line_ends": 5}),
        ("zero\u200bwidth\ufeff soft\xadhyphen bi\u202edi nul\x00", "zerowidth softhyphen bidi nul", {"invisible": 5}),
        ("lost\ue000\ue001 glyphs\U000f0000", "lost glyphs", {"private_use": 3}),
        ("▁the▁end", "_the_end", {"meta_space": 2}),
        ("ＭｉｎｄＳｐｏｒｅ２．１０，全角！（括号）～", "MindSpore2．10，全角！（括号）～", {"half_width": 12}),
        ("e\u0301 A\u030a ｅ\u0301 か\u3099 \u1112\u1161\u11ab", "é Å é が 한", {"half_width": 1, "compose": 6}),
        ("ﬁ ² ㎏ ｶﾞ", "ﬁ ² ㎏ ｶﾞ", {}),  # NFKC would rewrite all of these
        ("a  b   c\xa0d\u3000e", "a b c d e", {"blanks": 5}),
        ("\u3000\u3000话说天下大势", "话说天下大势", {"blanks": 2}),
        ("cell\tcell \t cell", "cell\tcell\tcell", {"blanks": 2}),
        ("end \nof\t\nline ", "end\nof\nline", {"trailing": 3}),
        ("\n\na\n\n\n\n\nb\n\n", "a\n\n\nb", {"blank_lines": 6}),
    ],
)
def test_each_switch_changes_its_own(raw: str, expected: str, counts: dict[str, int]) -> None:
    found = normalize(raw)
    assert (found.text, dict(found.counts)) == (expected, counts)
    for switch in counts:
        without = normalize(raw, switches=Switches(**{switch: False}))
        assert switch not in without.counts
        assert without.text != expected


@pytest.mark.parametrize(
    "text",
    [
        "👩\u200d👩\u200d👧 👩🏽\u200d🚀 ❤\ufe0f\u200d🔥 #\ufe0f\u20e3 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",  # emoji sequences
        "می\u200cخواهم",  # Persian
        "क्\u200dष क्\u200cष",  # Devanagari
        "葛\U000e0100城 辻\U000e0101",  # ideographic variation sequences
        "ᠮᠣᠩᠭᠣᠯ\u180eᠠ",  # Mongolian vowel separator
        "中文，标点。“引号”——破折号……《书名》",
        "café naïve Москва Ελλάδα ไทย हिन्दी עברית",
    ],
)
def test_sound_text_is_not_touched(text: str) -> None:
    assert normalize(text) == (text, (), {})


@pytest.mark.parametrize("text", ["a\u200db", "漢\u200c字", "x\ufe0fy", "a\U000e0041\U000e0042", "A\U000e0100"])
def test_joiners_and_selectors_without_a_use_are_removed(text: str) -> None:
    assert normalize(text).text == text[0] + (text[-1] if text[-1].isalpha() else "")


def test_code_keeps_its_blanks() -> None:
    code = "def f( a,  b ):\n\treturn  a  +  '１\u3000２'"
    assert normalize(code, form="code").text == code
    fenced = "Some  prose.\n\n```python\nx  =  1\n```\n\n    indented  code\n\tand  more\nend  here"
    assert normalize(fenced).text == "Some prose.\n\n```python\nx  =  1\n```\n\n    indented  code\n\tand  more\nend here"


def test_pre_and_code_spans_keep_everything_visible() -> None:
    text = "see  Ａ  now\nx  =  Ａ  \n\n\n\n\ny\nuse  a  b  then"
    spans = [Span("p", 0, 11), Span("pre", 12, 27), Span("code", 33, 37)]
    found = normalize(text, spans)
    assert found.text == "see A now\nx  =  Ａ  \n\n\n\n\ny\nuse a  b then"
    assert [(span.tag, found.text[span.start : span.end]) for span in found.spans] == [("p", "see A now"), ("pre", "x  =  Ａ  \n\n\n\n\ny"), ("code", "a  b")]


def test_spans_follow_their_text() -> None:
    text = "\ufeff\u3000\u3000标题\r\n\r\n\r\n\r\n\r\nＡＢＣ\u200b  正文。 \r\n"
    spans = [Span("h1", 3, 5), Span("p", 15, 24)]
    found = normalize(text, spans)
    assert found.text == "标题\n\n\nABC 正文。"
    assert [(span.tag, found.text[span.start : span.end]) for span in found.spans] == [("h1", "标题"), ("p", "ABC 正文。")]


texts = st.text(st.sampled_from(TRICKY), max_size=60)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(["prose", "markup", "code", "table", "verse"]))
def test_twice_is_once(text: str, form: str) -> None:
    once = normalize(text, form=form)
    assert normalize(once.text, form=form) == (once.text, (), {})
    assert once.text == unicodedata.normalize("NFC", once.text)
    once.text.encode("utf-8")  # no lone surrogate is left


@settings(max_examples=200, deadline=None)
@given(texts, st.data())
def test_spans_do_not_decide_what_prose_becomes(text: str, data: st.DataObject) -> None:
    borders = st.integers(0, len(text))
    spans = [Span("p", *sorted(pair)) for pair in data.draw(st.lists(st.tuples(borders, borders), max_size=4)) if pair[0] != pair[1]]
    found = normalize(text, spans)
    assert found.text == normalize(text).text
    assert all(0 <= start < end <= len(found.text) for _, start, end in found.spans)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_composing_is_what_unicodedata_says(text: str) -> None:
    only = Switches(**{name: name == "compose" for name in Switches.__dataclass_fields__})
    assert normalize(text, switches=only).text == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("unit", ["\r\n \u3000", "`", "```x\n", " ", "\t", "\n", "e\u0301", "\u200d", "\u0301", "ＡＢ"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert len(normalize(unit * 50_000).text) <= 50_000 * len(unit)  # quadratic steps would run for hours here


@pytest.mark.parametrize("name", ["zh_novels", "en_techdocs"])
def test_real_text_loses_nothing_but_what_it_says(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(60), lines, strict=False)]
    for text in texts:
        found = normalize(text)
        # Every character that is neither blank nor removed by a counted switch is still there, in order.
        visible = [character for character in text if not character.isspace() and unicodedata.category(character) not in ("Cc", "Cf", "Co")]
        if not found.counts.keys() & {"half_width", "meta_space", "compose"}:
            assert [character for character in found.text if not character.isspace()] == visible

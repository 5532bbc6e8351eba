"""One way of writing: what changes, what must not, and where the spans go."""

from __future__ import annotations

import gzip
import json
import textwrap
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.classes import look
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.normalize import BY_EVIDENCE, LAYOUT, OF_CHARACTERS, Switches, normalize
from mspt.core.text.spans import Span

# Text by the characters that steps look at, beside others that they must leave alone.
TRICKY = (
    " \t\n\r\x0b\x0c\x85\u2028\xa0\u3000\u2003\xad\u200b\u200c\u200d\ufe0f\ufeff\u202e\ue000\u2581ＡｚＺ９，。！abz19"
    "e\u0301\u0323가\u1100\u1161\u11a8か\u3099漢\uf900"
    "\U000e0100👩🏽می\U0001f3f4\U000e0067\U000e007f#\u20e3`~\ud800"
)


SENTENCE = "the boats lay close together under a grey sky that promised rain before noon to anybody who looked up"
WORDS = SENTENCE.split()
WRAPPED = textwrap.fill(
    "The harbour was quiet that morning, and the boats lay close together under a grey sky that promised rain before noon to anybody who looked up; nobody had "
    "slept much, and the keeper of the light went down the stairs, counted the lamps twice, wrote the number into his book, and sat by the window",
    48,
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
        (r"春天来了。\n花都开了。\n孩子们很高兴。\n老人在喝茶。", "春天来了。\n花都开了。\n孩子们很高兴。\n老人在喝茶。", {"escapes": 3}),
        ("%E6%98%A5 %E5%A4%A9 %E6%9D%A5 %E4%BA%86", "春 天 来 了", {"percents": 32}),
        ("AT&amp;T, R&amp;D &amp; Q&amp;A&nbsp;online", "AT&T, R&D & Q&A online", {"entities": 21, "blanks": 1}),
        ("<strong>第一回</strong>话说天下大势<br/>分久必合", "第一回话说天下大势\n分久必合", {"tags": 21}),
        ("[b]第一回[/b]话说[url=http://a.cn]天下[/url]大势", "第一回话说天下大势", {"bbcode": 30}),
        (WRAPPED, WRAPPED.replace("\n", " "), {"wrapped_lines": 6}),
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
    assert normalize(text) == (text, (), {}, ())


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


@pytest.mark.parametrize(
    ("switch", "raw", "expected", "count"),
    [
        ("punctuation", "你好,世界!他说(笑):走.", "你好，世界！他说（笑）：走。", 6),
        ("cut_words", "a harbour of impor-\ntance to us", "a harbour of importance\nto us", 2),
        ("ligatures", "eﬃcient ﬂow", "efficient flow", 2),
        ("han_blanks", "春 天 来 了 ， 花 都 开 了", "春天来了，花都开了", 8),
    ],
)
def test_what_must_be_asked_for(switch: str, raw: str, expected: str, count: int) -> None:
    assert normalize(raw).text == raw
    found = normalize(raw, switches=Switches(**{switch: True}))
    assert (found.text, dict(found.counts), found.removed) == (expected, {switch: count}, ())


def test_who_asks_for_pages_gets_their_steps() -> None:
    def changes(switches: Switches) -> set[str]:
        return {name for name in Switches.__dataclass_fields__ if getattr(switches, name) != getattr(Switches(), name)}

    assert changes(Switches.chosen()) == set()
    assert changes(Switches.chosen(("blanks", "ligatures"), ("pdf-text",))) == {"running_lines", "cut_words", "han_blanks", "blanks"}
    assert changes(Switches.chosen((), ("ocr",), unify=True)) == {"running_lines", "cut_words", "han_blanks", "punctuation"}


def test_running_lines_are_given_back_with_their_places() -> None:
    pages = [f"THE LIGHTHOUSE\n\n{' '.join(WORDS[page:])}\n\n- {page} -" for page in range(1, 5)]
    found = normalize("\n\f".join(pages), switches=Switches(running_lines=True))
    assert found.text == "\n".join(" ".join(WORDS[page:]) for page in range(1, 5))
    assert [(rule, words) for rule, words, _ in found.removed] == [
        line for page in range(1, 5) for line in (("running-line", "THE LIGHTHOUSE"), ("page-number", f"- {page} -"))
    ]
    second, third, fourth = (found.text.index("\n" + " ".join(WORDS[page:])) + 1 for page in range(2, 5))
    # A head stands where its page begins, a foot where the next page does.
    assert [place for *_, place in found.removed] == [0, second, second, third, third, fourth, fourth, len(found.text)]
    assert found.counts["running_lines"] > 0
    assert found.spans == ()


def test_residues_in_residues_are_undone_too() -> None:
    """Entities that hide tags; escapes that hide entities; a tag whose end brings a line."""
    text = "&lt;strong&gt;第一回&lt;/strong&gt;&amp;nbsp;&amp;nbsp;话说天下大势&lt;br/&gt;分久必合"
    found = normalize(text)
    assert found.text == "第一回 话说天下大势\n分久必合"
    assert set(found.counts) == {"entities", "tags", "blanks"}


def test_what_is_nested_without_end_ends() -> None:
    nested = "话"
    for _ in range(60):
        nested = f"[b[b]x[/b]]{nested}[/b[b]x[/b]]"
    assert "话" in normalize(nested).text


def test_formulas_keep_their_blanks() -> None:
    text = "so  a  =  b  holds"
    assert normalize(text, [Span("math", 4, 11)]).text == "so a  =  b holds"


texts = st.text(st.sampled_from(TRICKY), max_size=60)
SWITCHES = st.builds(Switches, **{name: st.booleans() for name in Switches.__dataclass_fields__})
# Pieces that steps take for evidence.
PIECES = [
    *("\\n", "\\u4e2d", '\\"', "%E4%B8%AD", "&amp;", "&lt;", "br/&gt;", "&nbsp;", "<b>", "</b>", "<br>", "[b]", "[/b]", "\f", "- 3 -", "\n", "\n\n", "\r\n"),
    *(
        "中",
        "文。",
        "，",
        ",",
        ".",
        "(",
        ")",
        " ",
        "  ",
        "\u3000\u3000",
        "\xa0",
        "ﬁ",
        "impor-\ntance",
        "\xad",
        "the harbour was quiet",
        "\u200b",
        "２",
        "`",
        "|",
        "\t",
    ),
    "The keeper of the light went down the stairs and\ncounted the lamps twice, wrote the number into his\nbook, and then sat by the window to wait for the\n"
    "ferry, which came late in such weather and\nsometimes did not come at all. When it came, at\nlast, it carried only two people and a goat; the\n",
]
mixed = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(["prose", "markup", "code", "table", "verse"]))
def test_twice_is_once(text: str, form: str) -> None:
    once = normalize(text, form=form)
    assert normalize(once.text, form=form) == (once.text, (), {}, ())
    assert once.text == unicodedata.normalize("NFC", once.text)
    once.text.encode("utf-8")  # no lone surrogate is left


@settings(max_examples=400, deadline=None)
@given(mixed | texts, st.sampled_from(["prose", "markup", "code", "table", "verse"]), SWITCHES)
def test_twice_is_once_whatever_is_asked_for(text: str, form: str, switches: Switches) -> None:
    once = normalize(text, form=form, switches=switches)
    assert normalize(once.text, form=form, switches=switches) == (once.text, (), {}, ())


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


@pytest.mark.parametrize("name", ["zh_novels", "zh_wiki_hant", "zh_techdocs", "en_public_domain", "neardup_spdx"])
def test_real_text_does_not_change_twice(shared: Path, name: str) -> None:
    everything = Switches.chosen((), ("pdf-text", "ocr"), unify=True)
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"][:20_000] for _, line in zip(range(20), lines, strict=False)]
    for text in texts:
        for switches in (Switches(), everything):
            once = normalize(text, switches=switches)
            assert normalize(once.text, switches=switches) == (once.text, (), {}, ())


SIGNS_OF_STEPS = [*" \t\n\r\xa0\u3000\u200b\ue000\u2581Ａ\u0301\\&%<>[/]`ae中，", "\\n", "\\u4e2d", "\\xe4\\xb8\\xad", '\\"', "&amp;", "&#8217;", "%E4%B8%AD"]
SIGNS_OF_STEPS += ["<b>", "</b>", "<br/>", "[b]", "[/b]", "    ", "\n\n\n\n", " \n", "```\n", "a b c the lamps that he saw from the light\n"]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(SIGNS_OF_STEPS), max_size=40).map("".join), st.integers(1, 8), st.sampled_from(["prose", "verse", "code"]))
def test_steps_that_have_something_to_do_are_not_passed_over(piece: str, times: int, form: str) -> None:
    """`look` may say that a step is needed in vain, but not miss one; nor may it after the steps of layout, which it is not asked about again."""
    document = Document(piece * times, (), form)
    seen = look(document.codes)
    for step in (*OF_CHARACTERS, *LAYOUT, *BY_EVIDENCE):
        assert seen & step.needs or not len(step.find(document)), step.name
    for layout in LAYOUT:
        document = document.edited(layout.find(document))
        for step in (*LAYOUT, *BY_EVIDENCE):
            assert seen & step.needs or not len(step.find(document)), (layout.name, step.name)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("N\bNA\bAM\bME\bE\n    The _\bf_\bi_\bl_\be is read.", "NAME\n    The file is read."),  # as nroff prints a manual page
        ("T\bTO\bO N\bN\bN\bNote: _\bb\bb is both, f\b_ too.", "TO Note: b is both, f too."),
        ("_\bf_\bo_\b__\bx and f\bfo\bo_\b_x\bx", "fo_x and fo_x"),
        ("I\bIN\bN\n+\bo first\n+\bo second", "IN\no first\no second"),
        ("x_\beta + a\bar{x} +\bf y", "x_eta + aar{x} +f y"),  # JSON of LaTeX, escaped once too little
        ("春\b春天\b天", "春天"),
        ("\x1b[1mNAME\x1b[0m is \x1b[38;5;196mred\x1b[m, \x1b]0;title\x07\x1b(Bplain", "NAME is red, plain"),
        ("a\bb \x1b c\u200b", "ab c"),  # what is none of it loses the control alone
    ],
)
def test_what_was_meant_for_a_printer_or_terminal(raw, clean):
    assert normalize(raw).text == clean
    assert normalize(clean).text == clean

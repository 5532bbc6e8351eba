r"""Backslash escapes undone where a document has the habit, told by Python's own json and repr; texts about escapes keep them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.normal.escapes import backslashes, residues
from mspt.core.text.normal.normalize import Document
from mspt.core.text.spans import Span, edit

CHAPTER = '第一回 春天来了。\n他说：“好！”\n\n她答："走吧。"\t他们"走"了。\n路上有花，有草。\n晚上到家。😀\n'
STORY = 'It was late.\n"Come in," she said, "it\'s cold."\nHe didn\'t answer.\n\nThe café was closed.\n'
PIECES = [
    "\\",
    "\\\\",
    "n",
    "t",
    '"',
    "'",
    "\\n",
    '\\"',
    "\\u4e2d",
    "\\ud83d",
    "\\ude00",
    "\\xe4\\xb8\\xad",
    "\\xa0",
    "/",
    "中",
    "a",
    " ",
    "。",
    "\n",
    "`",
    "C:\\",
    "\\d",
]
texts = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def undone(text: str, form: str = "prose") -> str:
    return edit(text, (), list(backslashes(Document(text, (), form))))[0]


@pytest.mark.parametrize("text", [CHAPTER, STORY])
def test_text_that_was_written_for_a_program_is_read_back(text: str) -> None:
    for ascii_only in (True, False):
        once = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        assert undone(once) == text
        assert undone(json.dumps(once, ensure_ascii=ascii_only)[1:-1]) == text
    assert undone(repr(text)[1:-1].replace("\\'", "'")) == text
    assert undone(repr(text.encode())[2:-1]) == text
    assert undone(text.replace('"', '\\"')) == text  # PHP's addslashes


@pytest.mark.parametrize(
    ("raw", "expected", "kinds"),
    [
        (r"第一段。\n第二段。\n第三段\r\n完", "第一段。\n第二段。\n第三段\r\n完", {"line"}),
        (r"It\u2019s a \u201cgood\u201d day, isn\u2019t it", "It’s a “good” day, isn’t it", {"unicode"}),
        (r"\u4f60\u597d\uff0c\u4e16\u754c\ud83d\ude00", "你好，世界😀", {"unicode"}),
        (r"正文\u3000\u3000第一\xa0二\u3000三", "正文\u3000\u3000第一\xa0二\u3000三", {"unicode", "bytes"}),  # Python's repr leaves Han as they are
        (r"don\'t, can\'t, won\'t", "don't, can't, won't", {"apostrophe"}),
        (r"\"a\" and \"b\" of http:\/\/a.cn\/b", '"a" and "b" of http://a.cn/b', {"quote", "slash"}),
    ],
)
def test_each_kind(raw: str, expected: str, kinds: set[str]) -> None:
    assert kinds == {one.kind for one in residues(Document(raw, (), "prose"))}
    assert undone(raw) == expected


@pytest.mark.parametrize(
    "text",
    [
        r"In C \n ends a line, \t is a tab, and \r returns; so \n, \r\n and \t are all that you need.",
        'printf("hello\\n"); printf("world\\n"); printf("again\\n");',
        r"匹配换行用 [^\n]*，回车用 \r?\n，数字用 \d+，空白用 \s。再如 (\n|\r)。",
        r"It equals $a \times b \neq \theta \to \rho$, and $\nu \times \tau$ as well as $\nabla \times \text{curl}$.",
        r"G\"odel, Schr\"odinger, Erd\H{o}s, na\"ive, caf\'e, G\"odel, Schr\"odinger",
        r"Save it in C:\new\table\readme, C:\new\notes, D:\temp\new or E:\tmp\raw.",
        '.\\" a comment\n.\\" of roff\n.\\" in a page\n.\\" of the manual\n',
        r"字符 '\u4e2d' 与 '\u6587' 组成 '\u4e2d\u6587'，空格是 '\u3000'。",
        "One line.\nAnother one.\nA third, which names a\\nb, c\\nd and e\\nf.\nA last one.\n",  # lines have ends of their own
        'He said "yes" and \\"no\\" and \\"perhaps\\" and "no".',  # quotes are bare too
        '{"text": "a\\nb\\nc\\nd\\n"}',
        "code `a\\nb\\nc\\nd` stays\n",
        r"Only\none\nhere",
    ],
)
def test_texts_about_escapes_and_other_backslashes_stay(text: str) -> None:
    assert undone(text) == text


@pytest.mark.parametrize("form", ["code", "table", "markup"])
def test_only_prose_is_read_back(form: str) -> None:
    text = r"第一段。\n第二段。\n第三段\n完"
    assert undone(text, form) == text


def test_code_elements_and_fences_stay() -> None:
    text = "A.\\nB.\\nC.\\nD.\\nE.\\nF"
    spans = (Span("p", 0, 9), Span("pre", 9, 12))
    assert edit(text, spans, list(backslashes(Document(text, spans, "prose"))))[0] == "A.\nB.\nC.\\nD.\nE.\nF"


def test_a_json_string_is_read_with_the_programs_in_it() -> None:
    text = '# How to\n\n```python\nprint("a\\n")\n```\n' + "Line.\n" * 20
    assert undone(json.dumps(text)[1:-1]) == text


def test_lone_surrogates_letters_and_controls_stay() -> None:
    text = r"a\u0041b \u0000c \ud83d. " + r"It\u2019s, isn\u2019t, can\u2019t, won\u2019t, don\u2019t " * 6
    assert undone(text) == text.replace(r"\u2019", "’")


@settings(max_examples=500, deadline=None)
@given(texts, st.data())
def test_twice_is_once_and_spans_stay_valid(text: str, data: st.DataObject) -> None:
    borders = st.integers(0, len(text))
    spans = tuple(Span("p", *sorted(pair)) for pair in data.draw(st.lists(st.tuples(borders, borders), max_size=3)) if pair[0] != pair[1])
    written, moved = edit(text, spans, list(backslashes(Document(text, spans, "prose"))))
    assert undone(written) == written
    assert all(0 <= start < end <= len(written) for _, start, end in moved)
    written.encode()  # no lone surrogate was made


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters="\\", exclude_categories=["Cs"]), max_size=60))
def test_text_without_backslashes_stays(text: str) -> None:
    assert undone(text) == text


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(["他说：", "“好”", "走了", "。", "\n", "春天", "A1", "😀"]), min_size=60, max_size=120).map("".join))
def test_json_of_any_chinese_text_is_read_back(text: str) -> None:
    escaped = json.dumps(text)[1:-1]
    assert undone(escaped) == text


@pytest.mark.parametrize("unit", ["\\", "\\n", "\\\\n", "a\\n", "\\u4e2d", "\\u", "\\x", "\\xe4", '\\"', "\\u00", "\\ud83d"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert len(undone(unit * 100_000)) <= 100_000 * len(unit)


@pytest.mark.parametrize("name", ["zh_techdocs", "en_techdocs", "en_public_domain", "zh_wiki_hans", "zh_wiki_hant"])
def test_real_documents_stay(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    assert not [text[:80] for text in texts if residues(Document(text, (), "prose"))]


def test_real_chapters_are_read_back(shared: Path) -> None:
    with gzip.open(shared / "data" / "zh_novels.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for _, line in zip(range(100), lines, strict=False)]
    assert [undone(json.dumps(text)[1:-1]) for text in texts] == texts


@pytest.mark.parametrize(
    "text",
    [
        r"解：a=2，\therefore b=3，\therefore a+b=5，\therefore 选 C", r"在\triangleABC中，\triangleADE和\triangleABC相似", r"\tfrac12 + \tfrac13 = \tfrac56",
        r"$\textcircled{1}\textcircled{3}\textcircled{2}$", r"Use \tr, \rk and \nf for the trace, the rank and the norm.",
        r"..\node_modules\tools\run. The folder \new\test\results", r"CORP\nancy or CORP\tom or CORP\rita",
        r'Escape it with \" in the shell: echo \"hi\" and \"ho\" say so',
    ],
)  # fmt: skip
def test_commands_of_tex_and_paths_are_no_escapes(text: str) -> None:
    assert undone(text) == text

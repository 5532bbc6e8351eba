"""Overlaps with test sets: by hand, and against brute force over tuples of words."""

from __future__ import annotations

import gzip
import json
import random
import re
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.overlaps import build_matcher, find_overlaps
from mspt.core.dedup.task_files import TaskItem, read_items
from mspt.core.dedup.units import find_units, spell_units
from mspt.core.errors import InputError

THIRTEEN = "one two three four five six seven eight nine ten eleven twelve thirteen"


def tasks(folder, *items, name="task.jsonl"):
    path = folder / name
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
    return path


def matched(matcher, *texts):
    return [(o.document, texts[o.document][o.start : o.end], matcher.pieces[o.piece].item) for o in find_overlaps(matcher, pa.array(texts))]


def test_thirteen_words_in_a_row_match_and_twelve_do_not(tmp_path):
    matcher = build_matcher([tasks(tmp_path, {"question": f"{THIRTEEN} fourteen"})])
    assert matched(matcher, f"Before, {THIRTEEN}; after") == [(0, THIRTEEN, 0)]
    assert matched(matcher, f"Before {THIRTEEN} fourteen after") == [(0, f"{THIRTEEN} fourteen", 0)]
    assert matched(matcher, "before " + THIRTEEN.replace(" thirteen", " fourteen")) == []
    assert matched(matcher, THIRTEEN.replace("seven", "7")) == []


def test_folding_width_case_and_punctuation_do_not_matter_but_places_are_those_of_the_text(tmp_path):
    matcher = build_matcher([tasks(tmp_path, {"question": "已知Ｆ(x)是定义在实数集上的奇函数，求值。"})])
    text = "题目：已知 f（x） 是定义在\n实数集上的\u200b奇函数, 求值！"
    assert matched(matcher, text) == [(0, "已知 f（x） 是定义在\n实数集上的\u200b奇函数, 求值", 0)]


def test_short_items_match_whole_only_and_very_short_ones_not_at_all(tmp_path):
    nine = "one two three four five six seven eight nine"
    items = [{"q": nine, "a": "yes"}, {"q": "What is 2 + 2 ?", "a": "It is 4 now"}, {"q": "yes", "choices": ["no", "maybe"]}, {"n": 42}]
    matcher = build_matcher([tasks(tmp_path, *items)])
    assert matched(matcher, f"{nine} ten", "one two three four five six seven eight ten") == [(0, nine, 0)]
    assert matched(matcher, "what is 2 2 it is 4 now", "what is 2 2", "yes") == [(0, "what is 2 2 it is 4 now", 1)]  # two short texts, joined, have eight units
    file = matcher.files[0]
    assert (file.items, file.items_too_short, file.whole, file.by_windows) == (4, 2, 2, 0)
    assert (file.texts_too_short, file.short) == (3, ((2, "yes\nno\nmaybe"),))  # "yes" beside the nine words, "yes", the choices; the number is no text


def test_one_text_may_be_in_several_items_and_files(tmp_path):
    first = tasks(tmp_path, {"q": "other words that nobody else has here at all, not one of them, really"}, {"q": THIRTEEN}, name="a.jsonl")
    (tmp_path / "sub").mkdir()
    second = tasks(tmp_path / "sub", {"q": f"zero {THIRTEEN}"}, name="a.jsonl")
    matcher = build_matcher([first, second])
    assert [file.name for file in matcher.files] == ["1:a.jsonl", "2:a.jsonl"]
    found = find_overlaps(matcher, pa.array(["", f"zero {THIRTEEN}"]))
    assert [(matcher.pieces[o.piece].file, matcher.pieces[o.piece].item, o.start, o.units) for o in found] == [(1, 0, 0, 14), (0, 1, 5, 13)]


def test_a_gap_in_the_text_or_in_the_item_parts_an_overlap(tmp_path):
    chooser = random.Random(2)
    words = [f"w{chooser.randrange(10**6)}" for _ in range(60)]
    matcher = build_matcher([tasks(tmp_path, {"q": " ".join(words)})])
    text = " ".join([*words[:20], "gap", *words[20:30], *words[40:60]])
    assert [found for _, found, _ in matched(matcher, text)] == [" ".join(words[:20]), " ".join(words[40:60])]


HAN = "\u4e00-\u9fff"
unit = st.sampled_from([*"一二三四", *["a", "b", "c1", "D"]])
texts = st.lists(unit, max_size=60).map(" ".join)


def windows_by_hand(units, size):
    return {tuple(units[i : i + size]) for i in range(len(units) - size + 1)}


@settings(deadline=None, max_examples=100)
@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, max_size=4), st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40)))
def test_covered_units_equal_brute_force(items, documents, copy):
    source, target, start = copy
    if source < len(items) and target < len(documents):
        documents = [*documents]
        documents[target] += " " + " ".join(items[source].split(" ")[start : start + 15])

    def units_by_hand(text):
        return re.findall(f"[{HAN}]|[^\\W{HAN}]+", text.casefold())

    made = [TaskItem(i, (item,)) for i, item in enumerate(items)]
    with patch("mspt.core.dedup.overlaps.read_items", lambda path, fields: made):
        matcher = build_matcher([Path("made.jsonl")])
    covered = {}
    for overlap in find_overlaps(matcher, pa.array(documents, pa.string())):
        covered.setdefault(overlap.document, set()).update(range(overlap.start, overlap.end))
    pieces = [units_by_hand(item) for item in items]
    for number, document in enumerate(documents):
        units, expected = units_by_hand(document), set()
        places = [m.span() for m in re.finditer(r"\S+", document)]
        for piece in pieces:
            size = min(13, len(piece))
            if size < 8:
                continue
            known = windows_by_hand(piece, size)
            for i in range(len(units) - size + 1):
                if tuple(units[i : i + size]) in known:
                    expected.update(range(places[i][0], places[i + size - 1][1]))
        assert covered.get(number, set()) == expected


def test_units_know_their_places():
    texts = ["", "我用Ｐython写\u00ad代 码。x_1-y", "a\u0301b 한국어", "!?"]
    units = find_units(pa.array(texts))
    found = [[text[units.starts[i] : units.ends[i]] for i in range(units.offsets[n], units.offsets[n + 1])] for n, text in enumerate(texts)]
    assert found == [[], ["我", "用", "Ｐython", "写", "代", "码", "x_1", "y"], ["a\u0301b", "한국어"], []]
    assert spell_units(texts) == [(), ("我", "用", "python", "写", "代", "码", "x_1", "y"), ("a\u0301b", "한국어"), ()]


def test_equal_units_have_equal_hashes():
    units = find_units(pa.array(["Ab ａｂ c 中中 c"]))
    one, two, c, han, again, end = units.hashes.tolist()
    assert (one, han, c) == (two, again, end)
    assert len({one, c, han}) == 3


# --- task files --------------------------------------------------------------------------------------------------------


def read(path, *fields):
    return [item.texts for item in read_items(path, fields)]


def test_formats(tmp_path):
    rows = [{"question": "q1", "choices": ["a", "b"], "n": 3}, {"question": "q2", "nested": {"text": "deep"}, "choices": []}]
    expected = [("q1", "a\nb"), ("q2", "deep")]
    path = tasks(tmp_path, *rows)
    assert read(path) == expected
    for name, text in {"array.json": json.dumps(rows), "lines.json": json.dumps(rows, indent=1), "data.json": json.dumps({"v": 1, "data": rows})}.items():
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name) == expected
    (tmp_path / "packed.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "packed.gz") == expected
    (tmp_path / "t.csv").write_text('\ufeffquestion,answer\n"a, ""b""\nc",d\n,e\n', encoding="utf-8")
    assert read(tmp_path / "t.csv") == [('a, "b"\nc', "d"), ("e",)]
    (tmp_path / "t.tsv").write_text("question\tanswer\nx\ty\n")
    assert read(tmp_path / "t.tsv", "answer") == [("y",)]
    (tmp_path / "plain").write_bytes("第一题\r\n\r\n第二题\n".encode("gb18030"))
    assert read(tmp_path / "plain") == [("第一题",), ("第二题",)]


def test_fields_at_any_depth(tmp_path):
    path = tasks(tmp_path, {"context": "c", "qas": [{"question": "q", "answers": [{"text": "a", "start": 3}]}]})
    assert read(path) == [("c", "q", "a")]
    assert read(path, "question", "answers") == [("q", "a")]


def test_what_tools_write_is_read(tmp_path):
    """Sample logs and results of lm-eval, splits in one object, NaN and lone surrogates as Python's json writes them."""
    sample = {"doc_id": 0, "doc": {"question": "q", "answer": "a"}, "arguments": [["Q: q", " a"]], "resps": [[["no"]]]}
    assert read(tasks(tmp_path, sample), "question", "answer") == [("q", "a")]
    (tmp_path / "results.json").write_text(json.dumps({"results": {"gsm8k": {"acc": 0.5}}, "samples": {"gsm8k": [sample, sample]}}))
    assert read(tmp_path / "results.json", "question") == [("q",), ("q",)]
    (tmp_path / "splits.json").write_text(json.dumps({"version": 1, "train": [{"q": "x"}], "test": [{"q": "y"}, {"q": "z"}]}))
    assert read(tmp_path / "splits.json") == [("x",), ("y",), ("z",)]
    (tmp_path / "odd.jsonl").write_text('{"q": "a \\ud800 b", "n": NaN}\n{"q": "c"}\n')
    assert read(tmp_path / "odd.jsonl") == [("a \ufffd b",), ("c",)]
    assert find_overlaps(build_matcher([tmp_path / "odd.jsonl"]), pa.array(["a b c"])) == []


def test_tables_that_are_not_quite_tables(tmp_path):
    long = "一" * 61
    for name, text, expected in (
        ("no-header.csv", f'"{long}",x\ny,z\n', [(long, "x"), ("y", "z")]),
        ("mmlu.csv", "What is 2 + 2?,3,4,5,6,B\ny,1,2,3,4,A\n", [("What is 2 + 2?", "3", "4", "5", "6", "B"), ("y", "1", "2", "3", "4", "A")]),
        ("words.csv", "Capital of France,Paris,London,A\n", [("Capital of France", "Paris", "London", "A")]),
        ("short.csv", "首都在哪,北京\n最长的河,长江\n", [("首都在哪", "北京"), ("最长的河", "长江")]),
        ("numbers.tsv", "1\tone\n2\ttwo\n", [("1", "one"), ("2", "two")]),
        ("truthful.csv", "Type,Category,Question,Best Answer,Incorrect Answers\na,b,c d,e f,g\n", [("a", "b", "c d", "e f", "g")]),
        ("han.csv", "题目,选项A,正确答案\n首都在哪,北京,A\n", [("首都在哪", "北京", "A")]),
        ("index.csv", ",question,choice_a\n0,x y,z\n", [("0", "x y", "z")]),
        ("ragged.csv", "a,b\n1,2,3\n4\n\n", [("1", "2", "3"), ("4",)]),
        ("long.csv", f'q\n"{"长" * 200_000}"\n', [("长" * 200_000,)]),
        ("same-names.csv", "a,a\n1,2\n", [("1", "2")]),
        ("unclosed.csv", 'a,b\n"x,y\n1,2\n', [("x,y\n1,2\n",)]),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read(tmp_path / name) == expected, name


def test_a_field_that_is_asked_for_makes_the_first_row_a_header(tmp_path):
    """Columns of names that nobody expects: without --decontaminate-fields they are an item, which is in no document."""
    (tmp_path / "odd.csv").write_text("the thing that is asked,what 2 say\nx y,z\n")
    assert read(tmp_path / "odd.csv") == [("the thing that is asked", "what 2 say"), ("x y", "z")]
    assert read(tmp_path / "odd.csv", "what 2 say") == [("z",)]


def test_what_is_no_text_is_refused(tmp_path):
    for name, data in {"x.bin": random.Random(1).randbytes(5000), "x.png": b"\x89PNG\r\n\x1a\n" + bytes(900), "x.parquet": b"PAR1\x00\x01" * 50}.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="not text"):
            read_items(tmp_path / name)
    (tmp_path / "deep.json").write_text("[" * 100_000 + "]" * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        read_items(tmp_path / "deep.json")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="no text in 0 items"):
        read_items(tmp_path / "empty.jsonl")


def test_what_cannot_be_read_is_said(tmp_path):
    (tmp_path / "broken.jsonl").write_text('{"q": "a"}\n{"q": broken\n')
    with pytest.raises(InputError, match=r"line 2, column 7: Expecting value\n"):
        read_items(tmp_path / "broken.jsonl")
    with pytest.raises(InputError, match="not readable"):
        read_items(tmp_path / "absent")
    packed = bytearray(gzip.compress(random.Random(1).randbytes(500)))  # cut: EOFError, damaged: zlib.error
    for name, data in {
        "cut.jsonl.gz": packed[:-12],
        "damaged.jsonl.gz": packed[:10] + b"\xff" * 40 + packed[50:],
    }.items():
        (tmp_path / name).write_bytes(data)
        with pytest.raises(InputError, match="not readable"):
            read_items(tmp_path / name)
    (tmp_path / "bad.json").write_text('{"a": \n')
    with pytest.raises(InputError, match="neither JSON nor JSON lines"):
        read_items(tmp_path / "bad.json")
    with pytest.raises(InputError, match="no text in the fields query in 1 items"):
        read_items(tasks(tmp_path, {"question": "q"}), ["query"])


def test_real_test_sets_find_themselves_and_little_else(shared):
    """Every item of GSM8K that has a long enough text is found in a document made of it; Chinese novels hold none."""
    path = shared / "data/eval/gsm8k/grade_school_math/data/test.jsonl"
    matcher = build_matcher([path])
    items = read_items(path)[:200]
    found = find_overlaps(matcher, pa.array([f"Question: {item.texts[0]}" for item in items]))
    assert {o.document for o in found if matcher.pieces[o.piece].item == o.document} == set(range(200))
    with gzip.open(shared / "data/zh_novels.jsonl.gz", "rt", encoding="utf-8") as lines:
        novels = [json.loads(line)["text"] for line, _ in zip(lines, range(50), strict=False)]
    assert find_overlaps(matcher, pa.array(novels)) == []

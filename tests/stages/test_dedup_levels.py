"""The levels of dedup that change texts: paragraphs, substrings, test sets."""

from __future__ import annotations

import json
import random

import pyarrow.parquet as pq
import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.text.documents import document_id
from support.given import given, hashes, read_all, read_rejected
from support.inline import work_inline


@pytest.fixture(autouse=True)
def _inline(request, monkeypatch):
    if "workers" not in request.node.name:
        work_inline(monkeypatch)


def dedup(workspace, config=None, **inputs):
    return workspace.run("dedup", {"workers": 1, **(config or {})}, references={"docs": "given"}, **inputs)


def read_removed(artifact):
    names = sorted(name for name in artifact.files if name.startswith("removed/"))
    return [row for name in names for row in pq.read_table(artifact.root / name).to_pylist()]


def prose(seed, size):
    return "".join(random.Random(seed).choices("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏", k=size))


NOTICE = "本站所有文章均来自网络，版权归原作者所有，如有侵权请与我们联系。"
SHARED = "这一段话在两篇文章里都有，一个字也不差，所以后一篇里的会被删去。"


def test_the_first_document_keeps_a_paragraph_and_boilerplate_goes_everywhere(workspace):
    long, middle, short = prose(1, 600), prose(2, 200), prose(3, 150)
    texts = {"long": f"{long}\n\n{SHARED}\n{NOTICE}", "middle": f"{NOTICE}\n\n{middle}\n{SHARED}\n\n{middle}", "short": f"{short}\n\n{NOTICE}\n\n"}
    given(workspace, texts, shards=2)
    made = dedup(workspace, {"paragraphs": True, "boilerplate_documents": 3})
    assert {row["ref"]: row["text"] for row in read_all(made)} == {
        "long": f"{long}\n\n{SHARED}",
        "middle": f"{middle}\n{middle}",
        "short": short,
    }
    removed = {(row["ref"], row["rule"]): row for row in read_removed(made)}
    assert set(removed) == {("long", "boilerplate"), ("middle", "boilerplate"), ("short", "boilerplate"), ("middle", "repeated-paragraph")}
    paragraph = removed["middle", "repeated-paragraph"]
    assert (paragraph["text"], paragraph["start"], paragraph["end"]) == (f"{SHARED}\n\n", 201, 201)
    assert (paragraph["survivor"], paragraph["stage"], paragraph["source"]) == (document_id("given", "long"), "dedup", "given")
    assert (removed["long", "boilerplate"]["value"], removed["long", "boilerplate"]["threshold"]) == (3, 3)
    assert removed["long", "boilerplate"]["text"] == f"\n{NOTICE}"  # with the line end before it: nothing is left behind it
    assert made.manifest["counts"] == {"in": 3, "out": 3, "rejected": {}, "removed": {"boilerplate": 3, "repeated-paragraph": 1}}
    level = made.stats["levels"]["repeated-paragraphs"]
    assert (level["documents"], level["characters"]) == (0, sum(len(row["text"]) for row in removed.values()))
    assert level["character_share"] == level["characters"] / sum(map(len, texts.values()))


def test_without_the_levels_nothing_is_rewritten(workspace):
    before = given(workspace, {"a": f"{prose(1, 300)}\n{SHARED}", "b": f"{prose(2, 200)}\n{SHARED}"})
    made = dedup(workspace)
    assert (made.root / "docs-00000.parquet").stat().st_ino == (before.root / "docs-00000.parquet").stat().st_ino
    assert set(made.stats["levels"]) == {"exact-duplicate", "near-duplicate"}
    made = dedup(workspace, {"paragraphs": True, "paragraph_width": 200})
    assert (made.root / "docs-00000.parquet").stat().st_ino == (before.root / "docs-00000.parquet").stat().st_ino


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"boilerplate_documents": 1}, "every line is in one document"),
        ({"decontaminate_fields": ["question"]}, "without a test set"),
        ({"order": ["quality", "longest"]}, "given@v1 has no column quality"),
        ({"memory": 2**28}, "memory = 256 MiB: these documents and their largest shard take 433 MiB at least with 1 worker"),
        ({"exact": False, "near": False}, "with all levels off"),
    ],
)
def test_settings_that_make_no_sense_are_refused(workspace, config, message):
    given(workspace, {"a": prose(1, 30)})
    with pytest.raises(MsptError, match=message):
        dedup(workspace, config)


def test_a_source_that_nobody_has_is_warned_of(workspace):
    given(workspace, {"a": prose(1, 30)})
    dedup(workspace, {"source_priority": ["given", "wiki"]})
    assert workspace.notes.warnings == ["source_priority names wiki, which no document has; here are given"]


def test_a_document_that_repeats_itself_keeps_one_copy(workspace):
    line = f"{prose(1, 60)}\n"
    given(workspace, {"thousand": line * 1000, "one": line})
    made = dedup(workspace, {"substrings": 50, "paragraphs": True})
    assert [row["text"] for row in read_all(made) if row["keep"]] == [line.strip()]


def test_no_documents_at_all(workspace):
    given(workspace, {})
    made = dedup(workspace, {"paragraphs": True, "substrings": 50}, files={"decontaminate": [tasks(workspace, {"question": QUESTION})]})
    assert made.manifest["counts"] == {"in": 0, "out": 0, "rejected": {}, "removed": {}}


def test_a_run_of_its_own_for_the_cuts(workspace):
    text = f"{prose(1, 300)}\n{SHARED}"
    given(workspace, {"a": text, "b": f"{prose(2, 200)}\n{SHARED}", "c": text})
    first = dedup(workspace)
    made = workspace.run("dedup", {"workers": 1, "exact": False, "near": False, "paragraphs": True}, references={"docs": "dedup"}, name="cut")
    assert made.manifest["counts"] == {"in": 2, "out": 2, "rejected": {}, "removed": {"repeated-paragraph": 1}}
    before, after = ({row["ref"]: row for row in read_all(one)} for one in (first, made))
    assert [after[ref]["keep"] for ref in "abc"] == [before[ref]["keep"] for ref in "abc"]
    assert after["b"]["text"] == prose(2, 200)


def test_spans_move_and_code_and_verse_stay(workspace):
    head = "标题"
    text = f"{head}\n{SHARED}\n{prose(5, 120)}"
    spans = [{"tag": "h1", "start": 0, "end": 2}, {"tag": "p", "start": 3, "end": 3 + len(SHARED)}, {"tag": "p", "start": 4 + len(SHARED), "end": len(text)}]
    rows = [
        {"ref": "first", "text": f"{prose(4, 400)}\n{SHARED}", "spans": []},
        {"ref": "second", "text": text, "spans": spans},
        {"ref": "pre", "text": text + "一", "spans": [{"tag": "pre", "start": 3, "end": 3 + len(SHARED)}]},
        {"ref": "code", "text": f"{prose(6, 100)}\n{SHARED}", "form": "code"},
        {"ref": "verse", "text": f"{prose(7, 100)}\n{SHARED}", "form": "verse"},
    ]
    given(workspace, rows)
    made = {row["ref"]: row for row in read_all(dedup(workspace, {"paragraphs": True, "near": False}))}
    assert made["second"]["text"] == f"{head}\n{prose(5, 120)}"
    assert [(span["tag"], span["start"], span["end"]) for span in made["second"]["spans"]] == [("h1", 0, 2), ("p", 3, 123)]
    assert all(made[row["ref"]]["text"] == row["text"] for row in rows if row["ref"] != "second")


def test_a_document_of_other_peoples_paragraphs_is_rejected(workspace):
    lines = [prose(seed, 40) for seed in range(12)]
    texts = {"one": "\n".join([*lines[:6], prose(20, 400)]), "two": "\n".join([*lines[6:], prose(21, 350)]), "three": "\n".join(lines)}
    given(workspace, texts)
    made = dedup(workspace, {"paragraphs": True})
    rejected = {row["ref"]: row for row in read_rejected(made)}
    assert {ref: (row["rule"], row["value"], row["threshold"], row["text"]) for ref, row in rejected.items()} == {
        "three": ("repeated-paragraphs", 1.0, 0.9, texts["three"])
    }
    rows = {row["ref"]: row for row in read_all(made)}
    assert {ref: row["keep"] for ref, row in rows.items()} == {"one": True, "two": True, "three": False}
    assert rows["three"]["text"] == texts["three"]
    given(workspace, {"again": texts["three"], "copy": texts["two"]}, name="more")
    later = workspace.run("dedup", {"workers": 1}, references={"docs": "more", "against": "dedup@v1"}, name="later")
    assert {row["ref"]: row["survivor"] for row in read_rejected(later)} == {"copy": rows["two"]["id"]}  # a document that went is nobody's survivor
    assert made.manifest["counts"] == {"in": 3, "out": 2, "rejected": {"repeated-paragraphs": 1}, "removed": {}}


def test_substrings(workspace):
    quote = prose(30, 60)
    texts = {"a": prose(31, 300) + quote, "b": prose(32, 200) + quote + "尾", "c": quote + "，\n", "d": f"x = '{quote}'"}
    given(workspace, [{"ref": ref, "text": text, "form": "code" if ref == "d" else "prose"} for ref, text in texts.items()], shards=2)
    made = dedup(workspace, {"substrings": 50, "near": False})
    rows = {row["ref"]: row for row in read_all(made)}
    assert [rows[ref]["text"] for ref in "abd"] == [texts["a"], prose(32, 200) + "尾", texts["d"]]
    (removed,) = read_removed(made)
    assert (removed["ref"], removed["rule"], removed["value"], removed["text"]) == ("b", "repeated-substring", 60, quote)
    assert (removed["start"], removed["survivor"]) == (200, document_id("given", "a"))
    (rejected,) = read_rejected(made)
    assert (rejected["ref"], rejected["rule"]) == ("c", "repeated-substrings")
    assert made.stats["levels"]["repeated-substrings"]["characters"] == 60 + len(texts["c"])
    with pytest.raises(MsptError, match="so few characters"):
        dedup(workspace, {"substrings": 5})


def test_a_repetition_without_end(workspace):
    """Of "-=" 200,000 times the first 50 characters stay, and none where it stands in another text."""
    texts = {"a": "甲" + "-=" * 200_000 + "乙", "b": "丙丁戊己庚辛壬癸" * 3 + "-=" * 40 + "子丑寅卯" * 5}
    given(workspace, texts)
    made = dedup(workspace, {"substrings": 50, "near": False})
    assert {row["ref"]: row["text"] for row in read_all(made)} == {"a": "甲" + "-=" * 25 + "乙", "b": "丙丁戊己庚辛壬癸" * 3 + "子丑寅卯" * 5}
    assert made.stats["levels"]["repeated-substrings"]["characters"] == 399_950 + 80


def test_substrings_see_what_paragraphs_left(workspace):
    """The line is cut first; what stood around it is one stretch then, and its copy is found."""
    left, right = prose(41, 30), prose(42, 30)
    texts = {"a": f"{prose(40, 400)}{left}\n{right}", "b": f"{prose(43, 250)}{left}\n{SHARED}\n{right}{prose(44, 20)}", "c": f"{prose(45, 500)}\n{SHARED}"}
    given(workspace, texts)
    made = dedup(workspace, {"paragraphs": True, "substrings": 61})
    rows = {row["ref"]: row["text"] for row in read_all(made)}
    assert rows == {"a": texts["a"], "b": prose(43, 250) + prose(44, 20), "c": texts["c"]}
    assert [(row["rule"], row["start"]) for row in read_removed(made)] == [("repeated-paragraph", 250), ("repeated-substring", 250)]


# --- test sets ---------------------------------------------------------------------------------------------------------

QUESTION = "小明有十二个苹果，给了小红三个，又买了五个，请问小明现在一共有多少个苹果？"


def tasks(workspace, *items, name="task.jsonl"):
    path = workspace.path.parent / name
    path.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items), encoding="utf-8")
    return path


def test_a_document_with_a_test_question_is_dropped_before_it_can_be_a_survivor(workspace):
    text = prose(50, 300)
    texts = {"bad": f"{text}例题：{QUESTION}解答", "good": text, "other": prose(51, 200)}
    given(workspace, texts, dropped=["other"])
    made = dedup(workspace, files={"decontaminate": [tasks(workspace, {"question": QUESTION, "answer": "14"}, {"question": "别的题目，别的题目，别的题目？"})]})
    rows = {row["ref"]: row for row in read_all(made)}
    assert {ref: row["keep"] for ref, row in rows.items()} == {"bad": False, "good": True, "other": False}
    (rejected,) = read_rejected(made)
    assert (rejected["rule"], rejected["detail"], rejected["survivor"]) == ("contaminated", "task.jsonl#0", None)
    assert texts["bad"][rejected["start"] : rejected["end"]] == QUESTION[:-1] == rejected["excerpt"]
    assert made.manifest["counts"] == {"in": 2, "out": 1, "rejected": {"contaminated": 1}, "removed": {}}
    (report,) = made.stats["decontamination"]
    assert (report["file"], report["items"], report["items_found"], report["documents"]) == ("task.jsonl", 2, 1, 1)
    assert report["examples"] == [{"document": document_id("given", "bad"), "item": 0, "units": 33, "text": QUESTION[:-1]}]
    assert made.stats["levels"]["contaminated"]["documents"] == 1
    assert made.stats["documents"] == 2
    assert made.stats["characters"] == len(texts["bad"]) + len(texts["good"])
    assert made.manifest["layers"] == ["given", "dedup"]


def test_cutting_takes_the_overlap_only(workspace):
    text = prose(50, 300)
    texts = {"bad": f"{text}例题：{QUESTION}解答{text[:50]}", "copy": f"。{QUESTION}。"}
    given(workspace, texts)
    made = dedup(workspace, {"decontaminate_by": "cut"}, files={"decontaminate": [tasks(workspace, {"question": QUESTION})]})
    rows = {row["ref"]: row for row in read_all(made)}
    assert rows["bad"]["text"] == f"{text}例题：？解答{text[:50]}"
    (removed,) = read_removed(made)
    assert (removed["rule"], removed["detail"], removed["start"], removed["text"]) == ("contaminated", "task.jsonl#0", 303, QUESTION[:-1])
    assert [(row["ref"], row["rule"]) for row in read_rejected(made)] == [("copy", "contaminated")]
    assert made.manifest["counts"] == {"in": 2, "out": 1, "rejected": {"contaminated": 1}, "removed": {"contaminated": 1}}


def test_items_that_are_too_short_to_look_for_are_named(workspace):
    given(workspace, {"a": f"{prose(60, 100)}\n首都在哪\n{QUESTION}"})
    path = tasks(workspace, {"question": QUESTION, "answer": "14"}, {"question": "首都在哪", "answer": "北京"}, {"question": "1 + 1", "answer": "2"})
    made = dedup(workspace, files={"decontaminate": [path]})
    (report,) = made.stats["decontamination"]
    assert (report["items"], report["items_found"], report["items_too_short"], report["texts_too_short"]) == (3, 1, 2, 5)
    assert report["short"] == [{"item": 1, "text": "首都在哪\n北京"}, {"item": 2, "text": "1 + 1\n2"}]
    assert any(note.startswith("task.jsonl: 2 of 3 items are not looked for") for note in workspace.notes.notes)
    assert not workspace.notes.warnings
    short = path.with_name("short.jsonl")  # of which nothing is looked for
    short.write_text('{"answer": "14"}\n')
    dedup(workspace, files={"decontaminate": [path, short]})
    assert [w for w in workspace.notes.warnings if w.startswith("short.jsonl: 1 of 1 items are not looked for")]


def test_only_the_fields_that_count(workspace):
    given(workspace, {"a": f"{prose(60, 100)}{QUESTION}"})
    path = tasks(workspace, {"passage": QUESTION, "question": "这道题目在任何文章里都没有出现过"})
    made = dedup(workspace, {"decontaminate_fields": ["question"]}, files={"decontaminate": [path]})
    assert read_rejected(made) == []
    with pytest.raises(InputError, match="no text in the fields answer"):
        dedup(workspace, {"decontaminate_fields": ["answer"]}, files={"decontaminate": [path]})


# --- the same bytes ----------------------------------------------------------------------------------------------------


def corpus():
    chooser = random.Random(8)
    lines = [prose(1000 + i, chooser.randrange(25, 60)) for i in range(60)]
    texts = {f"{i:02d}": "\n".join([prose(i, 150) + prose(100 + i // 2, 70), *chooser.sample(lines, 5)]) for i in range(40)}
    return texts | {"question": f"{prose(900, 80)}{QUESTION}", "all": "\n".join(lines[:8])}


def test_workers_memory_and_a_killed_run_change_no_byte(workspace, tmp_path, monkeypatch):
    made = []
    settings = {"paragraphs": True, "substrings": 50, "boilerplate_documents": 6, "decontaminate_by": "cut"}
    for workers, small in ((1, False), (1, True), (2, False)):
        own = type(workspace)(tmp_path / f"{workers}{small}" / "work")
        own.path.parent.mkdir()
        given(own, corpus(), shards=3)
        given_tests = {"decontaminate": [tasks(own, {"question": QUESTION})]}
        with monkeypatch.context() as patch:
            if small:  # many ranges and many suffix arrays
                patch.setattr("mspt.stages.dedup.cutting.WORKER_MEMORY", 200_000)
            if workers == 1:
                work_inline(patch)
            else:  # the first try ends before texts are rewritten
                patch.setattr("mspt.stages.dedup.substrings.map_units", lambda job, *args, **names: job.map_units(*args, **names))  # small as it is
                patch.setattr("mspt.stages.dedup.cutting.rewrite", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    own.run("dedup", {**settings, "workers": 2}, references={"docs": "given"}, files=given_tests)
                patch.undo()
            made.append(own.run("dedup", {**settings, "workers": workers}, references={"docs": "given"}, files=given_tests))
    assert hashes(made[0]) == hashes(made[1]) == hashes(made[2])
    assert set(made[0].manifest["counts"]["removed"]) == {"boilerplate", "repeated-paragraph", "repeated-substring", "contaminated"}
    assert "repeated-paragraphs" in made[0].manifest["counts"]["rejected"]


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt

"""dedup --against: new documents lose what an earlier artifact already has."""

from __future__ import annotations

import json
import random
import shutil

import pyarrow.parquet as pq
import pytest

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.text.documents import document_id
from support.given import given, hashes, read_all, read_rejected
from support.inline import work_inline

LETTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈"
SETTINGS = {"workers": 1, "threshold": 0.7}


@pytest.fixture(autouse=True)
def _inline(monkeypatch):
    work_inline(monkeypatch)


def dedup(workspace, docs, *, name, against=None, **config):
    references = {"docs": docs} | ({"against": against} if against else {})
    return workspace.run("dedup", {**SETTINGS, **config}, references=references, name=name)


def family(chooser, size):
    """A text and versions of it, each with one more character changed."""
    text = "".join(chooser.choices(LETTERS, k=80))
    versions = [text]
    for _ in range(size - 1):
        place = chooser.randrange(len(text))
        text = text[:place] + chooser.choice(LETTERS) + text[place + 1 + chooser.randrange(2) :]
        versions.append(text)
    return versions


def split_families(seed):
    """Documents of which some copies are old and some new: {source: {ref: text}}."""
    chooser = random.Random(seed)
    found = {"old": {}, "new": {}}
    for number in range(15):
        for version, text in enumerate(family(chooser, chooser.randrange(1, 7))):
            for copy in range(chooser.randrange(1, 3)):
                source = chooser.choice(["old", "new"])
                found[source][f"{number}-{version}-{copy}"] = text if copy == 0 else f" {text}\n"
    found["old"]["short"] = found["new"]["short"] = "短"
    return found


def read_removed(artifact):
    names = sorted(name for name in artifact.files if name.startswith("removed/"))
    return [row for name in names for row in pq.read_table(artifact.root / name).to_pylist()]


def rows_of(texts, source):
    return [{"ref": ref, "text": text, "source": source} for ref, text in texts.items()]


def kept(made):
    return {(row["source"], row["ref"]) for row in read_all(made) if row["keep"]}


@pytest.mark.parametrize("seed", range(3))
def test_old_then_new_equals_one_run_with_old_first(workspace, seed):
    """docs/dedup.md: where old documents come first in policy order. Here: order = source first, old before new."""
    texts = split_families(seed)
    given(workspace, rows_of(texts["old"], "old"), name="o", shards=2)
    given(workspace, rows_of(texts["new"], "new"), name="n", shards=2)
    given(workspace, rows_of(texts["new"], "new") + rows_of(texts["old"], "old"), name="all", shards=3)
    order = {"order": ["source", "longest"], "source_priority": ["old", "new"]}
    old = dedup(workspace, "o", name="dedup-o", **order)
    new = dedup(workspace, "n", name="dedup-n", against="dedup-o", **order)
    whole = dedup(workspace, "all", name="dedup-all", **order)
    assert kept(old) | kept(new) == kept(whole)
    assert len(kept(new)) < len(kept(dedup(workspace, "n", name="alone", **order)))
    clusters = {(row["source"], row["ref"]): row["cluster"] for row in read_all(whole)}
    assert {(row["source"], row["ref"]): row["cluster"] for row in [*read_all(old), *read_all(new)]} == clusters


def test_removals_name_the_old_survivor_and_its_artifact(workspace):
    chooser = random.Random(1)
    one, two = family(chooser, 2), family(chooser, 1)
    given(workspace, {"a": one[0], "b": two[0], "c": two[0]}, name="o")
    given(workspace, {"x": one[1], "y": one[1] + "。", "z": two[0], "own": "".join(chooser.choices(LETTERS, k=50))}, name="n")
    dedup(workspace, "o", name="dedup-o")
    made = dedup(workspace, "n", name="dedup-n", against="dedup-o")
    rows = {row["ref"]: row for row in read_all(made)}
    survivor_of_two = document_id("given", min("bc", key=lambda ref: document_id("given", ref)))
    assert {ref: (row["keep"], row["cluster"]) for ref, row in rows.items()} == {
        "x": (False, document_id("given", "a")),
        "y": (False, document_id("given", "a")),
        "z": (False, survivor_of_two),
        "own": (True, document_id("given", "own")),
    }
    rejected = {row["ref"]: row for row in read_rejected(made)}
    assert {row["detail"] for row in rejected.values()} == {"the survivor is in dedup-o@v1"}
    assert (rejected["z"]["rule"], rejected["x"]["rule"], rejected["x"]["survivor"]) == ("exact-duplicate", "near-duplicate", document_id("given", "a"))
    assert made.manifest["counts"] == {"in": 4, "out": 1, "rejected": {"near-duplicate": 2, "exact-duplicate": 1}, "removed": {}}
    assert made.stats["against"] == {"artifacts": ["dedup-o@v1"], "documents": 2}
    largest = made.stats["largest_clusters"][0]
    assert (largest["documents"], largest["artifact"], largest["excerpt"]) == (3, "dedup-o@v1", one[0])
    assert [record.name for record in made.inputs] == ["against", "docs"]


def test_the_artifacts_that_the_old_one_was_made_against_count_too(workspace):
    chooser = random.Random(2)
    texts = [family(chooser, 1)[0] for _ in range(4)]
    for name, chosen in (("m1", texts[:2]), ("m2", texts[1:3]), ("m3", texts)):
        given(workspace, {str(texts.index(text)): text for text in chosen}, name=name)
    dedup(workspace, "m1", name="d1")
    dedup(workspace, "m2", name="d2", against="d1@v1")
    made = dedup(workspace, "m3", name="d3", against="d2@v1")
    assert [row["ref"] for row in read_all(made) if row["keep"]] == ["3"]
    details = {row["ref"]: row["detail"] for row in read_rejected(made)}
    assert details == {"0": "the survivor is in d1@v1", "1": "the survivor is in d1@v1", "2": "the survivor is in d2@v1"}


def test_documents_that_a_later_level_dropped_are_not_compared_with(workspace):
    chooser = random.Random(4)
    lines = [family(chooser, 1)[0] for _ in range(6)]
    given(workspace, {"whole": "\n".join(lines), "part": "\n".join(lines[:3])}, name="o")
    old = dedup(workspace, "o", name="d", paragraphs=True)
    assert {row["rule"] for row in read_rejected(old)} == {"repeated-paragraphs"}  # the part: every line of it is in the whole
    given(workspace, {"part again": "\n".join(lines[:3]), "whole again": "\n".join(lines)}, name="n")
    made = dedup(workspace, "n", name="e", against="d")
    assert [row["ref"] for row in read_all(made) if row["keep"]] == ["part again"]


def test_an_index_that_cannot_be_compared_with_is_refused(workspace):
    given(workspace, {"a": "甲乙丙丁戊己庚辛"}, name="o")
    dedup(workspace, "o", name="d")
    with pytest.raises(MsptError, match="bands = 14, this run has 10"):
        dedup(workspace, "o", name="e", against="d", bands=10)
    with pytest.raises(MsptError, match="holds no index"):
        dedup(workspace, "o", name="e", against="o")


def test_the_index_is_small_and_does_not_depend_on_shards_or_memory(workspace):
    texts = split_families(5)["new"]
    made = []
    for shards in (1, 3):
        given(workspace, texts, name=f"s{shards}", shards=shards)
        made.append(dedup(workspace, f"s{shards}", name=f"d{shards}", memory=2**29))
    assert [kept(m) for m in made] == [kept(made[0])] * 2
    size = sum(record.bytes for name, record in made[0].files.items() if name.startswith("index/"))
    assert size < 200 * len(kept(made[0])) + 2048  # 14 bands x 12 + 28 bytes a document, and headers
    again = dedup(workspace, "s3", name="again")
    assert hashes(again) == {name.replace("d3", "again"): sha for name, sha in hashes(made[1]).items()}


# --- the levels that change texts --------------------------------------------------------------------------------------


def prose(chooser, size):
    return "".join(chooser.choices(LETTERS, k=size))


def pages(seed, sources=("a", "b", "c")):
    """Pages with lines and stretches of others in them, some made of nothing else; {source: {ref: text}}."""
    chooser = random.Random(seed)
    lines = [prose(chooser, chooser.randrange(25, 60)) for _ in range(25)]
    found = {source: {} for source in sources}
    texts = []
    for number in range(45):
        own = prose(chooser, chooser.choice([0, 40, 150, 300]))
        quoted = chooser.choice(texts) if texts else ""
        start = chooser.randrange(len(quoted) + 1)
        parts = [own, quoted[start : start + chooser.randrange(90)], *chooser.sample(lines, chooser.randrange(1, 5))]
        chooser.shuffle(parts)
        texts.append("\n".join(parts))
        found[chooser.choice(sources)][str(number)] = texts[-1]
    return found


def state(made):
    return {(row["source"], row["ref"]): row["text"] if row["keep"] else None for row in read_all(made)}


LEVELS = {"paragraphs": True, "boilerplate_documents": 0, "substrings": 40, "near": False}


@pytest.mark.parametrize("seed", range(4))
def test_paragraphs_and_substrings_of_old_documents_go_as_in_one_run(workspace, seed):
    """Three artifacts, each against those before it, keep of every document what one run over all keeps."""
    texts = pages(seed)
    order = {"order": ["source", "longest"], "source_priority": ["a", "b", "c"], **LEVELS}
    given(workspace, [row for source in texts for row in rows_of(texts[source], source)], name="all", shards=4)
    whole = dedup(workspace, "all", name="dedup-all", **order)
    parts, before = {}, None
    for source in texts:
        given(workspace, rows_of(texts[source], source), name=source, shards=2)
        made = dedup(workspace, source, name=f"dedup-{source}", against=before, **order)
        parts, before = parts | state(made), f"dedup-{source}"
    assert parts == state(whole)
    alone = state(dedup(workspace, "c", name="alone", **order))
    assert {key: text for key, text in parts.items() if key[0] == "c"} != alone
    assert "repeated-paragraphs" in whole.manifest["counts"]["rejected"]
    assert set(whole.manifest["counts"]["removed"]) == {"repeated-paragraph", "repeated-substring"}


def test_boilerplate_of_old_documents_counts(workspace):
    """Two old documents had the notice and one lost it; with a third it is boilerplate, so that the new one loses it too, and the old ones stay as they are."""
    chooser = random.Random(7)
    notice = "本站所有文章均来自网络，版权归原作者所有，如有侵权请与我们联系。"
    given(workspace, {ref: f"{prose(chooser, 200)}\n{notice}" for ref in "ab"}, name="o")
    given(workspace, {"c": f"{notice}\n{prose(chooser, 100)}"}, name="n")
    config = {"paragraphs": True, "boilerplate_documents": 3}
    old = dedup(workspace, "o", name="d", **config)
    assert sum(notice in row["text"] for row in read_all(old)) == 1
    made = dedup(workspace, "n", name="e", against="d", **config)
    assert made.manifest["counts"]["removed"] == {"boilerplate": 1}
    assert [notice in row["text"] for row in read_all(made)] == [False]


def test_an_old_text_is_compared_as_it_was_before_it_was_cut(workspace):
    """The old text lost a line to another; its copy has the line, and is a copy all the same."""
    chooser = random.Random(8)
    line, long, text = prose(chooser, 40), prose(chooser, 400), prose(chooser, 60)
    given(workspace, {"long": f"{long}\n{line}", "cut": f"{text}\n{line}"}, name="o")
    old = dedup(workspace, "o", name="d", paragraphs=True)
    assert {row["ref"]: row["text"] for row in read_all(old)}["cut"] == text
    given(workspace, {"copy": f"{text}。\n{line}", "two": f"{prose(chooser, 50)}\n{line}"}, name="n")
    made = dedup(workspace, "n", name="e", against="d", paragraphs=True)
    (rejected,) = read_rejected(made)
    assert (rejected["ref"], rejected["rule"], rejected["similarity"], rejected["survivor"]) == ("copy", "near-duplicate", 1.0, document_id("given", "cut"))
    (removed,) = read_removed(made)
    assert (removed["ref"], removed["text"], removed["survivor"]) == ("two", f"\n{line}", document_id("given", "long"))


def test_what_a_test_set_took_from_old_texts_is_no_copy(workspace):
    chooser = random.Random(9)
    question = "小明有十二个苹果，给了小红三个，又买了五个，请问小明现在一共有多少个苹果？"
    task = workspace.path.parent / "task.jsonl"
    task.write_text(json.dumps({"question": question}, ensure_ascii=False), encoding="utf-8")
    given(workspace, {"old": prose(chooser, 200) + question, "gone": question + "完"}, name="o")
    config = {"decontaminate_by": "cut", "substrings": 20}
    workspace.run("dedup", {**SETTINGS, **config}, references={"docs": "o"}, files={"decontaminate": [task]}, name="d")
    given(workspace, {"new": prose(chooser, 200) + question}, name="n")
    made = dedup(workspace, "n", name="e", against="d", **config)
    assert made.manifest["counts"] == {"in": 1, "out": 1, "rejected": {}, "removed": {}}
    old = workspace.store.resolve("d")
    (cuts,) = [name for name in old.files if name.endswith("-cuts.parquet")]
    whole = (old.root / cuts).read_bytes()
    (old.root / cuts).write_bytes(whole[:40] + bytes([whole[40] ^ 255]) + whole[41:])
    with pytest.raises(CheckFailed, match="is corrupt"):
        dedup(workspace, "n", name="f", against="d", **config)
    (old.root / cuts).write_bytes(whole)
    shutil.rmtree(workspace.path / "o")
    with pytest.raises(MsptError, match=r"d@v1 was made of o@v1, which is not there"):
        dedup(workspace, "n", name="f", against="d", **config)


def test_samples_whose_texts_were_cut_are_refused(workspace):
    chooser = random.Random(10)
    line = prose(chooser, 60)
    given(workspace, {str(i): f"{prose(chooser, 100)}\n{line}" for i in range(9)}, name="o")
    dedup(workspace, "o", name="d", paragraphs=True, sample="8")
    with pytest.raises(MsptError, match="made of a sample"):
        dedup(workspace, "o", name="e", against="d@v1")

"""The dedup stage on tiny and on real corpora."""

from __future__ import annotations

import random

import numpy as np
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


LONG = "春天来了，花园里的桃花、杏花、梨花都开了，红的像火，粉的像霞，白的像雪。" * 3
NEAR = LONG.replace("白的像雪", "白得像雪", 1)  # one character of 93 in the folded text without punctuation: 5 shingles of 89 change


def test_every_removal_is_explained(workspace):
    given(workspace, {"a": LONG + "完", "b": NEAR, "c": " " + LONG + "完\n", "d": "完全不同的一篇文章，讲的是怎样修理自行车的链条和刹车。"})
    made = dedup(workspace)
    rows = {row["ref"]: row for row in read_all(made)}
    ids = {ref: document_id("given", ref) for ref in "abcd"}
    survivor, copy = sorted("ac", key=ids.__getitem__)  # equal folded length and source: the smaller id stays
    assert {ref: row["keep"] for ref, row in rows.items()} == {survivor: True, copy: False, "b": False, "d": True}
    assert {ref: row["cluster"] for ref, row in rows.items()} == {survivor: ids[survivor], copy: ids[survivor], "b": ids[survivor], "d": ids["d"]}
    assert (rows[copy]["similarity"], rows["d"]["similarity"], rows[survivor]["similarity"]) == (1.0, None, None)
    rejected = {row["ref"]: row for row in read_rejected(made)}
    assert {ref: row["rule"] for ref, row in rejected.items()} == {copy: "exact-duplicate", "b": "near-duplicate"}
    assert (rejected["b"]["survivor"], rejected["b"]["stage"], rejected["b"]["threshold"]) == (ids[survivor], "dedup", 0.8)
    assert rejected["b"]["value"] == rejected["b"]["similarity"] == rows["b"]["similarity"] >= 0.8
    assert (rejected["b"]["text"], rejected["b"]["excerpt"]) == (NEAR, NEAR[:200])
    assert made.manifest["counts"] == {"in": 4, "out": 2, "rejected": {"exact-duplicate": 1, "near-duplicate": 1}, "removed": {}}
    assert made.stats["cluster_sizes"] == {"3": 1}
    assert made.stats["largest_clusters"] == [{"cluster": ids[survivor], "documents": 3, "source": "given", "excerpt": rows[survivor]["text"][:200]}]


def test_text_is_linked_and_only_a_layer_is_written(workspace):
    before = given(workspace, {"a": LONG, "b": LONG}, shards=2)
    made = dedup(workspace)
    assert made.manifest["layers"] == ["given", "dedup"]
    for name in ("docs-00000.parquet", "docs-00001.parquet", "attributes-given-00000.parquet"):
        assert (made.root / name).stat().st_ino == (before.root / name).stat().st_ino
    names = pq.read_schema(made.root / "attributes-dedup-00001.parquet").names
    assert names == ["keep", "cluster", "similarity", "repeat_ratio"]


def test_documents_dropped_before_are_neither_compared_nor_counted(workspace):
    given(workspace, {"a": LONG + "更长", "b": LONG, "c": LONG}, dropped=["a"])
    made = dedup(workspace)
    rows = {row["ref"]: row for row in read_all(made)}
    assert made.manifest["counts"]["in"] == 2
    assert not rows["a"]["keep"]
    assert rows["a"]["cluster"] is rows["a"]["repeat_ratio"] is None
    assert rows["b"]["keep"] + rows["c"]["keep"] == 1
    again = workspace.run("dedup", {"workers": 1, "threshold": 0.5}, references={"docs": "dedup"}, name="dedup-again")
    after = {row["ref"]: row for row in read_all(again)}
    assert again.manifest["counts"] == {"in": 1, "out": 1, "rejected": {}, "removed": {}}
    assert {ref: (row["keep"], row["cluster"]) for ref, row in after.items()} == {ref: (row["keep"], row["cluster"]) for ref, row in rows.items()}


def test_levels_can_be_switched_off(workspace):
    given(workspace, {"a": LONG, "b": LONG, "c": NEAR, "short": "短", "short2": "短"})
    expected = [({"near": False}, 3, {"exact-duplicate"}), ({"exact": False}, 3, {"near-duplicate"}), ({}, 2, {"exact-duplicate", "near-duplicate"})]
    for config, kept, rules in expected:
        made = dedup(workspace, config)
        assert sum(row["keep"] for row in read_all(made)) == kept
        assert {row["rule"] for row in read_rejected(made)} == rules
    with pytest.raises(MsptError, match="all levels off"):
        dedup(workspace, {"exact": False, "near": False})


def test_source_priority_decides_between_equally_long_copies(workspace):
    given(workspace, [{"ref": str(i), "text": LONG, "source": source} for i, source in enumerate(["web", "books", "wiki"])])
    made = dedup(workspace, {"source_priority": ["wiki", "books"]})
    assert [row["source"] for row in read_all(made) if row["keep"]] == ["wiki"]


def test_newest_and_quality_decide_where_the_columns_are_there(workspace):
    rows = [{"ref": "old", "date": "2019-05-03", "quality": 0.9}, {"ref": "new", "date": "2020", "quality": 0.1}, {"ref": "undated", "quality": 1.0}]
    given(workspace, [{**row, "text": LONG} for row in rows])
    for order, survivor in ((None, "new"), (["quality", "newest"], "undated"), (["longest", "newest"], "new")):
        made = dedup(workspace, {"order": order} if order else {})
        assert [row["ref"] for row in read_all(made) if row["keep"]] == [survivor]
    given(workspace, [{"ref": ref, "text": LONG, "quality": quality} for ref, quality in (("a", 0.2), ("b", None), ("c", 0.7))])
    assert [row["ref"] for row in read_all(dedup(workspace)) if row["keep"]] == ["c"]
    with pytest.raises(MsptError, match="names a criterion twice"):
        dedup(workspace, {"order": ["newest", "newest"]})


def test_copies_of_one_line_empty_tiny_and_huge_documents(workspace):
    texts = {f"line{i:04d}": "同一行，一千次。" for i in range(1000)} | {"empty": "", "empty2": "\n", "one": "一", "two": "二", "x": "x"}
    texts["huge"] = "".join(random.Random(1).choices("的一是不了人在有我他这中大来上个国和也子时道说", k=2_000_000))
    given(workspace, texts, shards=3)
    made = dedup(workspace)
    kept = [row["ref"] for row in read_all(made) if row["keep"]]
    assert sum(ref.startswith("line") for ref in kept) == 1
    assert sum(ref.startswith("empty") for ref in kept) == 1
    assert {"one", "two", "x", "huge"} < set(kept)
    assert made.stats["compared_exactly_only"] == 5
    assert any("too short" in note for note in workspace.notes.notes)
    assert made.stats["cluster_sizes"] == {"2": 1, "1000+": 1}


@pytest.mark.soak
def test_documents_of_fifty_megabytes(workspace):
    letters = np.random.default_rng(2).integers(0x4E00, 0x9FA0, 17_000_000, dtype=np.uint32)
    changed = letters.copy()
    changed[::150] = 0x5929  # 5 of 150 shingles differ: similarity .935
    texts = {name: codes.tobytes().decode("utf-32-le") for name, codes in (("a", letters), ("b", changed), ("c", letters[::-1]))}
    given(workspace, texts | {"empty": "", "one": "一"}, shards=2)
    made = dedup(workspace)
    rows = {row["ref"]: row for row in read_all(made)}
    assert {ref for ref, row in rows.items() if row["keep"]} == {min("ab", key=lambda ref: rows[ref]["id"]), "c", "empty", "one"}
    assert max(row["similarity"] or 0 for row in rows.values()) == pytest.approx(145 / 155, abs=1e-3)


def test_no_documents_at_all(workspace):
    given(workspace, {})
    made = dedup(workspace)
    assert made.manifest["counts"]["in"] == 0
    assert read_all(made) == []


def test_workers_shards_and_a_killed_run_change_no_byte(workspace, tmp_path, monkeypatch):
    chooser = random.Random(4)
    texts = {}
    for i in range(60):
        text = "".join(chooser.choices("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往", k=80))
        for j in range(chooser.randrange(1, 4)):
            texts[f"{i}-{j}"] = text[:40] + chooser.choice("甲乙") * j + text[40:]
    made = []
    for workers in (1, 2):
        own = type(workspace)(tmp_path / str(workers) / "work")
        own.path.parent.mkdir()
        given(own, texts, shards=4)
        with monkeypatch.context() as patch:
            if workers == 1:
                work_inline(patch)
            else:  # the first try ends before anything is published
                patch.setattr("mspt.core.job.Job.link_docs", interrupted)
                with pytest.raises(KeyboardInterrupt):
                    own.run("dedup", {"workers": 2}, references={"docs": "given"})
                patch.undo()
            made.append(own.run("dedup", {"workers": workers}, references={"docs": "given"}))
    assert hashes(made[0]) == hashes(made[1])
    assert 0 < len(read_rejected(made[0])) < len(texts) - 1


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_two_documents_of_one_id_are_refused(workspace):
    given(workspace, [{"ref": "a", "text": LONG}, {"ref": "b", "text": "x"}, {"ref": "a", "text": "别的文字"}], shards=2)
    with pytest.raises(InputError, match=f"2 documents have the id {document_id('given', 'a')}"):
        dedup(workspace)

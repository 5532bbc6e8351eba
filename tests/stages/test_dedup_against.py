"""dedup --against: new documents lose what an earlier artifact already has."""

from __future__ import annotations

import random

import pytest

from mspt.core.errors import MsptError
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
        made.append(dedup(workspace, f"s{shards}", name=f"d{shards}", memory=2**28))
    assert [kept(m) for m in made] == [kept(made[0])] * 2
    size = sum(record.bytes for name, record in made[0].files.items() if name.startswith("index/"))
    assert size < 200 * len(kept(made[0])) + 2048  # 14 bands x 12 + 28 bytes a document, and headers
    again = dedup(workspace, "s3", name="again")
    assert hashes(again) == {name.replace("d3", "again"): sha for name, sha in hashes(made[1]).items()}

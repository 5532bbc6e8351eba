"""Blocks of score, the command that cleans low ones again, and `mspt run` doing it."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mspt.core.store import Store
from mspt.core.text.rules.document_rules import RULES
from support.given import given, hashes, read_all, read_rejected
from support.inline import work_inline

GOOD = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。老人坐在树下，慢慢地喝着茶，说着从前的事情。"
WEAK = "首页 | 登录 | 注册 | 帮助\n上一页 1 2 3 4 5 下一页\n版权所有 联系我们 网站地图 友情链接\n首页 | 登录 | 注册 | 帮助\n上一页 6 7 8 9 下一页\n"
OTHERS_OFF = [f"{rule.name}=off" for rule in RULES if rule.name != "too-short"]
QUOTES = 'it\'s "odd" $HOME `x`; rm #'  # a name that a shell would take apart


def good(number: int) -> str:
    return f"{GOOD}我们走了{'一二三四五六七八九十'[number % 10]}里路，到家的时候天已经黑了。" + "大家都睡了。" * (number // 10)


def weak(number: int) -> str:
    return f"{WEAK} {'伞' * number}"


@pytest.fixture
def docs(workspace, monkeypatch):
    """13 good documents and 9 weak ones of two sources in three shards; one is dropped before."""
    work_inline(monkeypatch)
    rows = [{"ref": f"{QUOTES}{ref}", "text": good(ref), "source": "good", "lang": "zh-Hans", "form": "prose"} for ref in range(13)]
    rows += [{"ref": f"s#{i}", "text": weak(i), "source": "shop", "lang": "zh-Hans", "form": "prose"} for i in range(9)]
    given(workspace, rows[::2] + rows[1::2], shards=3, dropped=["s#3"])
    return workspace


def score(workspace, name=None, **config):
    return workspace.run("score", {"workers": 1, "block_documents": 4, "low_block": 0.5, **config}, references={"docs": "given"}, name=name)


def blocks_by_definition(rows, size):
    """Lists of live rows: sorted by source and ref, cut into `size`."""
    cut: list[list[dict]] = []
    for row in sorted((row for row in rows if row["keep"]), key=lambda row: (row["source"], row["ref"])):
        if not cut or len(cut[-1]) == size or cut[-1][0]["source"] != row["source"]:
            cut.append([])
        cut[-1].append(row)
    return cut


def test_blocks_are_those_of_the_definition(docs):
    made = score(docs)
    rows = read_all(made)
    expected = blocks_by_definition(rows, 4)
    assert [len(block) for block in expected] == [4, 4, 4, 1, 4, 4]
    for number, block in enumerate(expected):
        mean = math.fsum(row["quality"] for row in block) / len(block)
        assert {(row["block"], row["block_quality"]) for row in block} == {(number, mean)}
    assert [(row["block"], row["block_quality"]) for row in rows if not row["keep"]] == [(None, None)]
    table = pq.read_table(made.root / "blocks.parquet").to_pylist()
    assert [(b["source"], b["first_ref"], b["last_ref"], b["documents"], b["characters"]) for b in table] == [
        (e[0]["source"], e[0]["ref"], e[-1]["ref"], len(e), sum(len(row["text"]) for row in e)) for e in expected
    ]
    assert [block["block"] for block in made.stats["low_blocks"]] == [4, 5]
    assert made.stats["blocks"] | {"command": ""} == {
        "documents_each": 4, "below": 0.5, "blocks": 6, "low": 2, "low_documents": 8,
        "low_characters": sum(len(weak(i)) for i in range(9) if i != 3), "command": "",
    }  # fmt: skip


def test_dropped_documents_are_in_no_block(docs):
    made = score(docs, min_quality=0.5)
    assert {row["source"] for row in read_all(made) if row["block"] is not None} == {"good"}
    assert made.stats["blocks"]["low"] == 0
    assert "low_blocks" not in made.stats


def test_the_command_of_the_artifact_cleans_exactly_these_documents(docs):
    made = score(docs)
    low = {row["id"] for block in blocks_by_definition(read_all(made), 4) for row in block if row["block_quality"] < 0.5}
    again = paste(docs.path.parent, made.stats["blocks"]["command"])
    after = {row["id"]: row for row in read_all(again)}
    assert {row["id"] for row in read_rejected(again)} | {id_ for id_, row in after.items() if row["cleaned_again"]} == low
    before = {row["id"]: row["text"] for row in read_all(made)}
    assert {id_: row["text"] for id_, row in after.items() if not row["cleaned_again"]} == {
        row["id"]: before[row["id"]] for row in read_all(made) if row["keep"] and row["id"] not in low
    }
    assert again.name == "clean-strict"
    assert again.manifest["config"]["profile"] == ["strict"]
    assert again.stats["again"]["before"]["documents"] == len(low) == 8


def test_the_command_of_one_block(docs):
    made = score(docs)
    (first, _) = made.stats["low_blocks"]
    again = paste(docs.path.parent, first["command"])
    chosen = {row["ref"] for row in read_rejected(again)} | {row["ref"] for row in read_all(again) if row["cleaned_again"]}
    assert chosen == {"s#0", "s#1", "s#2", "s#4"}


def paste(folder: Path, command: str):
    """Runs a command as a person's shell would, in the folder that holds ./work."""
    shell = f'mspt() {{ "{sys.executable}" -m mspt.cli "$@"; }}\n{command}'
    done = subprocess.run(["sh", "-c", shell], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return Store(folder / "work").resolve("clean-strict")


def test_before_and_after_of_a_second_clean(docs):
    made = score(docs)
    config = {"where": "block_quality < 0.5", "steps": ["rules"], "limit": ["too-short=9999", *OTHERS_OFF]}
    lengths = sorted(row["value"] for row in read_rejected(docs.run("clean", config, references={"docs": "score"}, name="measured")))
    docs.run("clean", {**config, "limit": [f"too-short={lengths[4]}", *OTHERS_OFF]}, references={"docs": "score"}, name="clean-strict")  # the longer half stays
    again = docs.store.resolve("clean-strict")
    rows = [row for row in read_all(made) if row["block_quality"] is not None and row["block_quality"] < 0.5]
    stay = [row for row in read_all(again) if row["cleaned_again"]]
    assert (len(rows), len(stay)) == (8, 4)
    before, after = again.stats["again"]["before"], again.stats["again"]["after"]
    assert before == {
        "documents": len(rows), "characters": sum(len(row["text"]) for row in rows), "quality": round(sum(row["quality"] for row in rows) / len(rows), 4)
    }  # fmt: skip
    assert after == {
        "documents": len(stay), "characters": sum(len(row["text"]) for row in stay), "quality": round(sum(row["quality"] for row in stay) / len(stay), 4)
    }  # fmt: skip
    now = docs.run("score", {"workers": 1, "block_documents": 4}, references={"docs": "clean-strict"}, name="score-strict")
    found = now.stats["second_clean"]
    measured = [row["quality"] for row in read_all(now) if row["cleaned_again"]]
    assert found["before"] == before
    assert found["after"] == {**after, "quality": round(sum(measured) / len(measured), 4)}
    assert any(line.startswith("second clean clean-strict@v1: documents 8 -> ") for line in docs.notes.notes)
    assert any("did not rise" in line for line in docs.notes.warnings) == (found["after"]["quality"] <= before["quality"])


def test_mspt_run_does_it_when_configured(tmp_path):
    lines = [{"text": good(ref), "id": ref} for ref in range(12)]
    (tmp_path / "good.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "shop.jsonl").write_text("".join(json.dumps({"text": weak(i)}) + "\n" for i in range(6)), encoding="utf-8")
    (tmp_path / "mspt.toml").write_text(
        """
        [run]
        steps = ["clean", "score", "clean-strict", "score-strict"]
        [clean]
        paths = ["good.jsonl", "shop.jsonl"]
        steps = ["decode", "language"]
        [score]
        block_documents = 4
        low_block = 0.5
        [clean-strict]
        stage = "clean"
        docs = "score"
        where = "block_quality < 0.5"
        profile = "strict"
        [score-strict]
        stage = "score"
        """,
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, "-m", "mspt.cli", "run"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    store = Store(tmp_path / "work")
    again, now = store.resolve("clean-strict"), store.resolve("score-strict")
    assert again.inputs[0].ref == "score@v1"
    assert again.stats["again"]["before"]["documents"] == 6
    assert {row["source"] for row in read_rejected(again)} == {"shop"}
    assert now.inputs[0].ref == "clean-strict@v1"
    assert {row["source"] for row in read_all(now)} == {"good"}
    assert "score-strict" not in {row["stage"] for row in read_rejected(now)}
    assert f"to clean them again: {store.resolve('score').stats['blocks']['command']}" in " ".join(done.stderr.split())


def test_another_number_of_workers_and_an_interrupted_run_give_the_same_bytes(docs, monkeypatch):
    inline = score(docs)
    places = {}

    from mspt.stages.score import blocks

    real = blocks._list_low

    def stop(job, found):
        places.update({path.name: path.stat().st_size for path in job.scratch("blocks").iterdir()})
        raise KeyboardInterrupt

    monkeypatch.setattr(blocks, "_list_low", stop)
    with pytest.raises(KeyboardInterrupt):
        score(docs, name="again")
    assert sum(size for name, size in places.items() if name.startswith("places")) == 21 * 12
    monkeypatch.setattr(blocks, "_list_low", real)
    resumed = score(docs, name="again")
    assert {name.replace("again", "score"): sha256 for name, sha256 in hashes(resumed).items()} == hashes(inline)
    monkeypatch.undo()
    parallel = score(docs, name="parallel", workers=2)
    assert {name.replace("parallel", "score"): sha256 for name, sha256 in hashes(parallel).items()} == hashes(inline)

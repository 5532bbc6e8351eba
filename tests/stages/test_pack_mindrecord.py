"""pack-mindrecord: every token once, validation apart, the mixture as asked, the same bytes whatever happens on the way."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mspt.core.errors import CheckFailed, MsptError
from mspt.core.tokens import mindrecord
from mspt.core.tokens.indexed import IndexedTokens
from mspt.core.tokens.split import point
from mspt.core.tokens.tokenizer import load
from support.feed import FEED, write_lines

S, D = 128, 16


def files(artifact: Any, split: str) -> list[Path]:
    return [artifact.path(name) for name in sorted(artifact.files) if name.startswith(split) and name.endswith(".mindrecord")]


def read(artifact: Any, split: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    parts = list(mindrecord.read(files(artifact, split)))
    input_ids, labels, ends = (np.concatenate([getattr(part, name) for part in parts]) for name in mindrecord.COLUMNS)
    return input_ids, labels, ends


def provenance(artifact: Any, split: str) -> list[dict[str, Any]]:
    names = [name for name in sorted(artifact.files) if name.startswith(f"rows-{split}")]
    rows: list[dict[str, Any]] = pa.concat_tables([pq.read_table(artifact.path(name)) for name in names]).to_pylist()
    return rows


def sequence_of(chain: Any) -> dict[str, list[int]]:
    sources = {name: IndexedTokens(chain.tokens.path(f"{name}.bin"), chain.tokens.path(f"{name}.idx")) for name in ("topics", "long", "zh")}
    return {row["id"]: sources[row["source"]][row["sequence"]].tolist() for row in pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()}


def test_every_token_of_every_document_is_predicted_once(chain: Any) -> None:
    sequences, seen = sequence_of(chain), Counter()
    for split in ("train", "validation"):
        input_ids, labels, ends = read(chain.mindrecord, split)
        assert labels.shape == input_ids.shape == (len(ends), S)
        assert ends.shape[1] == D
        assert (ends[:, -1] == S).all()
        for line in provenance(chain.mindrecord, split):
            row, start, end, offset = line["row"], line["start"], line["end"], line["document_offset"]
            expected = sequences[line["id"]]
            assert labels[row, start:end].tolist() == expected[offset : offset + end - start]
            assert input_ids[row, start] == (expected[offset - 1] if offset else 2)
            assert input_ids[row, start + 1 : end].tolist() == labels[row, start : end - 1].tolist()
            assert ends[row, line["slot"]] == end
            seen.update((line["id"], position) for position in range(offset, offset + end - start))
        assert (labels != -100).sum() == sum(line["end"] - line["start"] for line in provenance(chain.mindrecord, split))
    assert seen == Counter((id_, i) for id_, sequence in sequences.items() for i in range(len(sequence)))


def test_bytes_of_labels_are_the_texts(chain: Any) -> None:
    sizes: Counter[str] = Counter()
    for split in ("train", "validation"):
        for line in provenance(chain.mindrecord, split):
            sizes[line["id"]] += line["num_bytes"]
    assert sizes == Counter({row["id"]: len(row["text"].encode()) for row in chain.rows})


def test_validation_is_drawn_by_hash_and_clusters_stay_together(chain: Any) -> None:
    cluster = {row["id"]: row.get("cluster") or row["id"] for row in chain.rows}
    held = {line["id"] for line in provenance(chain.mindrecord, "validation")}
    trained = {line["id"] for line in provenance(chain.mindrecord, "train")}
    assert not {cluster[i] for i in held} & {cluster[i] for i in trained}
    assert {i for i, c in cluster.items() if point(c) < 0.05} <= held
    rows = provenance(chain.mindrecord, "validation")
    by_source = Counter({line["source"]: 0 for line in rows})
    for line in rows:
        by_source[line["source"]] += line["end"] - line["start"]
    assert set(by_source) == {"topics", "long", "zh"}
    assert min(by_source.values()) >= S
    assert all(len({line["source"] for line in rows if line["row"] == r}) == 1 for r in {line["row"] for line in rows})


def test_padding_and_report(chain: Any) -> None:
    stats = chain.mindrecord.stats
    assert stats["padding_ratio"]["train"] <= 0.005
    assert stats["rows"]["train"] == len(read(chain.mindrecord, "train")[0])
    assert len(files(chain.mindrecord, "train")) > 1
    assert stats["tokens"]["train"] + stats["tokens"]["validation"] == chain.tokens.stats["tokens"]
    assert stats["mixture"]["zh"]["epochs"] == 1.0
    assert chain.mindrecord.digests["tokenizer"] == chain.tokenizer.digests["tokenizer"]
    assert load(chain.mindrecord.directory).vocab_size == 700
    assert chain.mindrecord.manifest["counts"] == {"in": len(chain.rows), "out": len(chain.rows), "rejected": {}, "removed": {}}


def test_all_ranks_together_read_every_row_once(chain: Any) -> None:
    whole = [row.tobytes() for part in mindrecord.read(files(chain.mindrecord, "train")) for row in part.labels]
    ranks = [row.tobytes() for rank in range(3) for part in mindrecord.read(files(chain.mindrecord, "train"), 3, rank) for row in part.labels]
    assert Counter(ranks) == Counter(whole)


def digests(artifact: Any) -> dict[str, str]:
    return {name: hashlib.sha256(artifact.path(name).read_bytes()).hexdigest() for name in artifact.files}


def pack(chain: Any, name: str, **settings: Any) -> Any:
    common = {"seq_length": S, "max_documents": D, "shard_bytes": 2**16, "validation_share": 0.05}
    return chain.workspace.run("pack-mindrecord", common | settings, references={"docs": "feed", "tokens": "tokenize"}, name=name)


def test_two_workers_write_the_same_bytes(chain: Any) -> None:
    assert digests(pack(chain, "two", workers=2)) == digests(chain.mindrecord)


def test_docs_that_were_not_tokenised_are_refused(chain: Any, tmp_path: Path) -> None:
    other = [{**row, "text": row["text"] + "?"} for row in chain.rows]
    chain.workspace.run(FEED, files={"documents": [write_lines(tmp_path / "other.jsonl", other)]}, name="other")
    with pytest.raises(MsptError, match=r"tokenize@v1 was made from feed@v1, the text of other@v1 is another"):
        chain.workspace.run("pack-mindrecord", {}, references={"docs": "other", "tokens": "tokenize"}, name="refused")


def test_new_weights_pack_a_mixture_without_tokenising_again(chain: Any, corpus: Any, tmp_path: Path) -> None:
    heavier = [{**row, "weight": 5.0 if row["source"] == "zh" and i % 2 else 1.0} for i, row in enumerate(corpus)]
    chain.workspace.run(FEED, {"shard_rows": 60}, files={"documents": [write_lines(tmp_path / "w.jsonl", heavier)]}, name="weighted")
    again = chain.workspace.outcome("tokenize", {}, references={"docs": "weighted", "tokenizer": "train-tokenizer"})
    assert (again.status, again.artifact.ref) == ("up-to-date", chain.tokens.ref)
    settings = {"seq_length": S, "validation_share": 0.05, "target_tokens": 9_000, "shares": ["zh=0.5", "long=0"], "max_epochs": 3}
    mixed = chain.workspace.run("pack-mindrecord", settings, references={"docs": "weighted", "tokens": "tokenize"}, name="mixed")
    assert {line["id"] for line in provenance(mixed, "validation")} == {line["id"] for line in provenance(chain.mindrecord, "validation")}
    found = mixed.stats["mixture"]
    assert (found["long"]["realised"], found["long"]["left_out"]) == (0, found["long"]["documents"])
    assert found["zh"]["wanted"] == 4_500
    assert found["zh"]["epochs"] <= 3
    assert sum(source["realised"] for source in found.values()) == mixed.stats["tokens"]["train"]
    assert mixed.manifest["counts"]["rejected"]["mixture"] == sum(source["left_out"] for source in found.values())
    drawn = Counter(line["id"] for line in provenance(mixed, "train") if line["document_offset"] == 0)
    assert not any(i.startswith("l") for i in drawn)
    heavy, light = (sum(drawn[row["id"]] for row in heavier if row["source"] == "zh" and row["weight"] == value) for value in (5.0, 1.0))
    assert heavy > 2 * light


def test_a_damaged_token_file_is_named(chain: Any) -> None:
    copy = chain.workspace.run("tokenize", {"sample": "60%"}, references={"docs": "feed", "tokenizer": "train-tokenizer"}, name="hurt-tokens")
    path = copy.path("zh.bin")
    raw = bytearray(path.read_bytes())
    raw[10] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"hurt-tokens@v1: zh\.bin is corrupt"):
        chain.workspace.run("pack-mindrecord", {}, references={"docs": "feed", "tokens": copy.ref}, name="never-packed")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shares": ["zh"]}, "'zh' is not NAME=NUMBER"),
        ({"shares": ["fr=0.5"]}, "no source 'fr'"),
        ({"source_epochs": ["zh=0"], "target_tokens": 9_000}, "zh = 0"),
    ],
)
def test_settings_that_make_no_sense(chain: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        pack(chain, "bad", **settings)


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from conftest import Workspace
from support.feed import FEED
workspace = Workspace(Path(sys.argv[1]))
if __name__ == "__main__":
    workspace.run("tokenize", {"workers": 2, "batch": 4}, references={"docs": "feed"})
    workspace.run("pack-mindrecord", {"workers": 2, "seq_length": 128, "max_documents": 16, "shard_bytes": 2**16, "validation_share": 0.05},
                  references={"docs": "feed"})
"""


@pytest.mark.soak
def test_kills_at_random_moments_change_nothing(chain: Any, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for name in ("feed", "train-tokenizer"):
        shutil.copytree(chain.workspace.path / name, work / name, symlinks=True)
    script = tmp_path / "run.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(work), str(Path(__file__).resolve().parents[1])]
    rng, kills = random.Random(9), 0
    while True:
        process = subprocess.Popen(command, start_new_session=True)
        time.sleep(rng.uniform(0.5, 6.0) if kills < 15 else 120)
        if process.poll() is not None:
            assert process.returncode == 0
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
    assert kills > 0
    for name, artifact in (("tokenize", chain.tokens), ("pack-mindrecord", chain.mindrecord)):
        manifest = json.loads((work / name / "v1/artifact.json").read_text())
        assert {f["path"]: f["sha256"] for f in manifest["files"]} == digests(artifact)

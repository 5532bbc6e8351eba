"""Packed rows as their readers take them, damaged ones, and a disk that fills up."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Workspace

from mspt.core.errors import CheckFailed, MachineError
from mspt.core.tokens import mindrecord
from support.disks import resize, small_disk
from support.shelf import look, look_json

S, D = 128, 16
PACK = {"seq_length": S, "max_documents": D, "shard_bytes": 2**16, "validation_share": 0.05}


def train_files(artifact: Any) -> list[str]:
    return [str(artifact.path(n)) for n in sorted(artifact.files) if n.startswith("train-") and n.endswith(".mindrecord")]


def add_offsets(ends: np.ndarray, micro_batches: int) -> np.ndarray:
    """MindFormers' rule for a batch (causal_language_model_dataset.py): inside a micro-batch each row's ends continue from the last entry of the row before."""
    size = len(ends) // micro_batches
    found = []
    for first in range(0, len(ends), size):
        offset = 0
        for row in ends[first : first + size]:
            found.append(row + offset)
            offset = found[-1][-1]
    return np.stack(found)


@pytest.mark.parametrize(("batch", "micro_batches"), [(1, 1), (4, 1), (4, 2)])
def test_mindformers_takes_the_last_column_for_the_segments(chain: Any, batch: int, micro_batches: int) -> None:
    """Written from MindFormers' rules: the last column has D entries, cumulative ends over the flattened micro-batch, non-decreasing, the last one its length;
    attention and positions restart at each; labels are there, so that nothing is shifted or masked by eod.
    """
    import mindspore.dataset as ds

    data = ds.MindDataset(train_files(chain.mindrecord), shuffle=False, columns_list=list(mindrecord.COLUMNS)).batch(batch, drop_remainder=True)
    assert data.get_col_names() == ["input_ids", "labels", "actual_seq_len"]
    for input_ids, labels, ends in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        assert (input_ids.shape, labels.shape, ends.shape) == ((batch, S), (batch, S), (batch, D))
        assert {input_ids.dtype, labels.dtype, ends.dtype} == {np.dtype(np.int32)}
        shifted = add_offsets(ends, micro_batches)
        per_micro = shifted.reshape(micro_batches, -1)
        assert (np.diff(per_micro, axis=1) >= 0).all()
        assert (per_micro[:, -1] == S * batch // micro_batches).all()
        flat_inputs, flat_labels = input_ids.reshape(micro_batches, -1), labels.reshape(micro_batches, -1)
        for inputs, wanted, edges in zip(flat_inputs, flat_labels, per_micro, strict=True):
            begins = np.unique(np.concatenate([[0], edges[:-1]]))
            begins = begins[begins < len(inputs)]
            for begin, end in zip(begins, [*begins[1:], len(inputs)], strict=True):
                kept = wanted[begin:end] != -100
                assert kept.all() or not kept.any()  # padding is a segment of its own
                if kept.all():
                    assert np.array_equal(inputs[begin + 1 : end], wanted[begin : end - 1])
                    assert not (wanted[begin : end - 1] == 2).any()  # eos ends a segment, and only there


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_minddataset_alone_gives_every_row_once_to_all_ranks_together(chain: Any, ranks: int) -> None:
    """MindDataset's own num_shards; where rows do not divide, it repeats the first ones, which the reader leaves out again."""
    import mindspore.dataset as ds

    whole = [row.tobytes() for part in mindrecord.read([Path(f) for f in train_files(chain.mindrecord)]) for row in part.labels]
    bare: Counter[bytes] = Counter()
    for rank in range(ranks):
        data = ds.MindDataset(train_files(chain.mindrecord), columns_list=["labels"], num_shards=ranks, shard_id=rank, shuffle=False)
        bare.update(row[0].tobytes() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert set(bare) == set(whole)
    assert bare.total() - len(whole) == -len(whole) % ranks
    files = [Path(f) for f in train_files(chain.mindrecord)]
    ours = Counter(row.tobytes() for rank in range(ranks) for part in mindrecord.read(files, ranks, rank) for row in part.labels)
    assert ours == Counter(whole)


def copy_of(chain: Any, folder: Path, *names: str) -> Workspace:
    for name in names:
        shutil.copytree(chain.workspace.path / name, folder / "work" / name, symlinks=True)
    return Workspace(folder / "work")


@pytest.mark.parametrize("name", ["train-00000.mindrecord", "train-00000.mindrecord.db", "rows-train-00000.parquet"])
def test_a_changed_shard_is_found_by_verify_and_by_train_before_it_starts(capsys: Any, chain: Any, tmp_path: Path, name: str) -> None:
    workspace = copy_of(chain, tmp_path, "pack-mindrecord")
    path = workspace.store.resolve("pack-mindrecord").path(name)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    found = look(capsys, workspace, "verify", "pack-mindrecord")
    assert found[0] == 5
    assert f"{name} is corrupt" in found[1]
    with pytest.raises(CheckFailed, match=f"{name} is corrupt"):
        workspace.run("train", {"steps": 1, "hidden_size": 32, "layers": 1, "batch_size": 2}, references={"mindrecord": "pack-mindrecord"})
    assert not list((workspace.path / "train").glob("v*/checkpoints/step-*"))


@pytest.mark.parametrize("name", ["zh.idx", "zh.bin", "documents.parquet"])
def test_changed_tokens_are_found_by_verify_and_never_packed(capsys: Any, chain: Any, tmp_path: Path, name: str) -> None:
    workspace = copy_of(chain, tmp_path, "feed", "tokenize")
    path = workspace.store.resolve("tokenize").path(name)
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    assert f"{name} is corrupt" in look(capsys, workspace, "verify", "tokenize")[1]
    with pytest.raises(CheckFailed, match=f"{name} is corrupt"):
        workspace.run("pack-mindrecord", PACK, references={"docs": "feed"})
    assert not list(workspace.path.glob("pack-mindrecord/v1"))


def test_a_full_disk_leaves_a_partial_that_is_finished_later(chain: Any, tmp_path: Path) -> None:
    """In the middle of the shards: what was finished is kept, and the result is that of an undisturbed run."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        workspace = copy_of(chain, disk, "feed", "tokenize")
        used = sum(p.stat().st_size for p in disk.rglob("*") if p.is_file())
        shards = [r.bytes for n, r in chain.mindrecord.files.items() if n.startswith("train-")]
        resize(disk, f"{(used + 900_000 + sum(shards) // 2) // 1024}k")
        with pytest.raises((OSError, MachineError)) as caught:
            workspace.run("pack-mindrecord", {**PACK, "workers": 1}, references={"docs": "feed"})
        assert "No space left" in str(caught.value) or "free" in str(caught.value)
        partial = workspace.path / "pack-mindrecord" / "v1.partial"
        assert partial.is_dir()
        assert not (workspace.path / "pack-mindrecord" / "v1").exists()
        resize(disk, "64m")
        outcome = workspace.outcome("pack-mindrecord", {**PACK, "workers": 1}, references={"docs": "feed"})
        assert {n: r.sha256 for n, r in outcome.artifact.files.items()} == {n: r.sha256 for n, r in chain.mindrecord.files.items()}
        assert not list(outcome.artifact.root.rglob("building*"))


def test_a_row_shows_documents_sources_and_places(capsys: Any, chain: Any) -> None:
    found = look_json(capsys, chain.workspace, "show", "pack-mindrecord", "--row", "0", "--split", "validation")
    assert found["positions"] == S
    assert all({"id", "source", "start", "end", "document_offset", "num_bytes", "text"} <= s.keys() for s in found["segments"])
    assert sum(s["end"] - s["start"] for s in found["segments"]) == S - found["padding"]
    code, _, err = look(capsys, chain.workspace, "show", "pack-mindrecord", "--row", "0", "--split", "test")
    assert (code, "--split train or validation" in err) == (2, True)

"""Rows for masked language models: every token once, in rows of a few lengths, with what masking must respect."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Workspace

from mspt.core.errors import MsptError
from mspt.core.tokens.indexed import IndexedTokens
from mspt.core.tokens.masking import bucket_lengths
from mspt.core.tokens.tokenizer import load
from support.given import given, read_all
from support.shelf import look_json

S = 64
PARAGRAPH = "Rivers run down from the mountains to the sea, and the ships on them carry paper, stones and letters to the towns. "


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    workspace = Workspace(tmp_path_factory.mktemp("mlm") / "work")
    rows: list[dict[str, Any]] = []
    for i in range(60):
        head, body, code = f"Chapter {i} über Flüsse", PARAGRAPH * (1 + i % 7) + str(i), f"x_{i} = f(y)\nreturn x_{i}"
        text = f"{head}\n\n{body}\n\n{code}\n"
        spans = [("h1", 0, len(head)), ("p", len(head) + 2, len(head) + 2 + len(body)), ("pre", len(text) - len(code) - 1, len(text) - 1)]
        spans.insert(2, ("code", len(text) - len(code) - 1, len(text) - 1))
        rows.append({"ref": f"doc{i}", "text": text, "spans": [dict(zip(("tag", "start", "end"), s, strict=True)) for s in spans] if i % 5 else []})
    given(workspace, rows, shards=3)
    workspace.run("train-tokenizer", {"vocab_size": 400, "held_out_share": 0.0}, references={"docs": "given"})
    workspace.run("tokenize", {"workers": 1}, references={"docs": "given"})
    return workspace


def pack(workspace: Any, name: str = "mlm", **settings: Any) -> Any:
    common = {"workers": 1, "objective": "mlm", "seq_length": S, "validation_share": 0.05, "shard_bytes": 2**16}
    return workspace.run("pack-mindrecord", common | settings, references={"docs": "given", "tokens": "tokenize"}, name=name)


def rows_of(artifact: Any, file: str) -> list[dict[str, np.ndarray]]:
    import mindspore.dataset as ds

    return list(ds.MindDataset([str(artifact.path(file))], shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))


def all_rows(artifact: Any) -> list[tuple[str, dict[str, Any], dict[str, np.ndarray]]]:
    """(file, provenance, row) of every row."""
    found = []
    for file in sorted(n for n in artifact.files if n.endswith(".mindrecord")):
        lines = pq.read_table(artifact.path(f"rows-{file.removesuffix('.mindrecord')}.parquet")).to_pylist()
        rows = rows_of(artifact, file)
        assert len(lines) == len(rows)
        found += [(file, line, row) for line, row in zip(lines, rows, strict=True)]
    return found


def test_every_token_once_between_prefix_and_eos(made: Any) -> None:
    packed, tokens = pack(made), made.store.resolve("tokenize")
    stored = IndexedTokens(tokens.path("given.bin"), tokens.path("given.idx"))
    sequences = {row["id"]: stored[row["sequence"]].tolist() for row in pq.read_table(tokens.path("documents.parquet")).to_pylist()}
    seen: Counter[tuple[str, int]] = Counter()
    for file, line, row in all_rows(packed):
        start, end, offset = line["start"], line["end"], line["document_offset"]
        assert start == 1
        assert row["input_ids"][0] == row["input_ids"][end] == 2
        assert row["input_ids"][start:end].tolist() == sequences[line["id"]][offset : offset + end - start]
        assert (row["input_ids"][end + 1 :] == 3).all()
        assert row["attention_mask"].tolist() == [1] * (end + 1) + [0] * (len(row["input_ids"]) - end - 1)
        assert not row["token_type_ids"].any()
        assert f"-L{len(row['input_ids']):05d}-" in file
        seen.update((line["id"], offset + i) for i in range(end - start))
    assert seen == Counter((i, k) for i, sequence in sequences.items() for k in range(len(sequence) - 1))


def test_rows_are_as_short_as_their_bucket_allows(made: Any) -> None:
    lengths = bucket_lengths(S)
    packed = pack(made)
    by_file: dict[str, list[int]] = {}
    for file, line, row in all_rows(packed):
        size = line["end"] + 1
        assert len(row["input_ids"]) == min(length for length in lengths if length >= size)
        by_file.setdefault(file, []).append(size)
    variation = max(np.std(sizes) / np.mean(sizes) for sizes in by_file.values())
    assert variation <= 0.15
    assert packed.stats["length_variation"] == round(variation, 4)
    assert sum(packed.stats["rows_by_length"].values()) == packed.stats["rows"]["train"]


def test_a_masked_phrase_cannot_cross_an_element(made: Any) -> None:
    """The bytes under one span_id lie inside the same elements of the text."""
    packed = pack(made)
    surfaces = load(packed.root).surfaces
    texts = {row["id"]: row for row in read_all(made.store.resolve("given"))}
    several = 0
    for _, line, row in all_rows(packed):
        document = texts[line["id"]]
        raw = document["text"].encode()
        if line["document_offset"]:
            continue  # the byte position of a later piece is not in its row
        elements = np.zeros(len(raw), np.int64)
        for number, span in enumerate(document["spans"] or []):
            elements[len(document["text"][: span["start"]].encode()) : len(document["text"][: span["end"]].encode())] += 1 << number
        at, under = 0, {}
        for position in range(line["start"], line["end"]):
            size = len(surfaces[row["input_ids"][position]])
            here = set(elements[at : at + size].tolist())
            at += size
            if row["labels"][position] == -100:
                continue
            under.setdefault(int(row["span_ids"][position]), set()).update(here)
        assert all(len(kinds) == 1 for kinds in under.values())
        assert 0 not in under
        several += len(under) > 2
    assert several > 20


def test_rates_by_element_and_code_left_out(made: Any) -> None:
    packed = pack(made, "rated", mask_rates=["h1=0.4", "code=0"], mask_rate=0.2)
    rates = Counter(int(r) for _, line, row in all_rows(packed) for r in row["mask_rates"][line["start"] : line["end"]])
    assert set(rates) == {0, 2000, 4000}
    for _, line, row in all_rows(packed):
        inside = slice(line["start"], line["end"])
        assert np.array_equal(row["labels"][inside] == -100, row["mask_rates"][inside] == 0)
        kept = row["labels"][inside] != -100
        assert np.array_equal(row["labels"][inside][kept], row["input_ids"][inside][kept])
        outside = np.ones(len(row["labels"]), bool)
        outside[inside] = False
        assert (row["labels"][outside] == -100).all()
        assert not row["mask_rates"][outside].any()


def test_two_workers_write_the_same_bytes(made: Any) -> None:
    assert {n: r.sha256 for n, r in pack(made).files.items()} == {n: r.sha256 for n, r in pack(made, "two", workers=2).files.items()}


def test_a_row_is_shown_with_its_document(capsys: Any, made: Any) -> None:
    packed = pack(made)
    file, line, _ = all_rows(packed)[-1]
    split = file.split("-")[0]
    found = look_json(capsys, made, "show", packed.ref, "--row", str(line["row"]), "--split", split)
    assert found["segments"][0]["id"] == line["id"]
    assert found["segments"][0]["text"] in next(row["text"] for row in read_all(made.store.resolve("given")) if row["id"] == line["id"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"pack": "concat"}, "hold one document each"),
        ({"format": "megatron"}, "hold one document each"),
        ({"mask_rates": ["code=1.5"]}, "code = 1.5"),
        ({"mask_rates": ["code"]}, "'code' is not NAME=NUMBER"),
        ({"objective": "causal", "mask_rates": ["code=0"]}, "--mask-rates is for masked language models"),
    ],
)
def test_settings_that_make_no_sense(made: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        pack(made, "bad", **settings)


def test_rows_are_numbered_over_all_lengths(made: Any, tmp_path: Path) -> None:
    packed = pack(made)
    for split in ("train", "validation"):
        tables = [pq.read_table(packed.path(n)) for n in sorted(packed.files) if n.startswith(f"rows-{split}-")]
        assert pa.concat_tables(tables).column("row").to_pylist() == list(range(packed.stats["rows"][split]))

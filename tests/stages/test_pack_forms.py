"""Other forms of packed data: one stream, legacy rows, a Megatron blend; phases; copies across the split; a real mixture's windows."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.tokens.indexed import IndexedTokens
from support.feed import FEED, document, write_lines

S, D, EOS = 128, 16, 2


def pack(chain: Any, name: str, **settings: Any) -> Any:
    common = {"workers": 1, "seq_length": S, "max_documents": D, "shard_bytes": 2**16, "validation_share": 0.05}
    references = settings.pop("references", {"docs": "feed", "tokens": "tokenize"})
    return chain.workspace.run("pack-mindrecord", common | settings, references=references, name=name)


def columns(artifact: Any, split: str) -> dict[str, np.ndarray]:
    """Whatever columns the split's files have, through MindDataset."""
    import mindspore.dataset as ds

    files = [str(artifact.path(n)) for n in sorted(artifact.files) if n.startswith(f"{split}-") and n.endswith(".mindrecord")]
    rows = list(ds.MindDataset(files, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True))
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def provenance(artifact: Any, split: str) -> list[dict[str, Any]]:
    names = [name for name in sorted(artifact.files) if name.startswith(f"rows-{split}")]
    rows: list[dict[str, Any]] = pa.concat_tables([pq.read_table(artifact.path(name)) for name in names]).to_pylist()
    return rows


def sequences(chain: Any) -> dict[str, list[int]]:
    opened = {name: IndexedTokens(chain.tokens.path(f"{name}.bin"), chain.tokens.path(f"{name}.idx")) for name in ("topics", "long", "zh")}
    return {row["id"]: opened[row["source"]][row["sequence"]].tolist() for row in pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()}


# --- one stream --------------------------------------------------------------------------------------------------------


def test_a_stream_is_full_but_for_its_last_row(chain: Any) -> None:
    made = pack(chain, "stream", pack="concat")
    found = columns(made, "train")
    padding = (found["labels"] == -100).sum(axis=1)
    crowded = (found["actual_seq_len"][:, D - 2] < S).sum()  # D - 1 documents end the row early
    assert (padding > 0).sum() <= 1 + crowded
    seen: Counter[tuple[str, int]] = Counter()
    expected = sequences(chain)
    for split in ("train", "validation"):
        rows = columns(made, split)
        for line in provenance(made, split):
            offset, length = line["document_offset"], line["end"] - line["start"]
            assert rows["labels"][line["row"], line["start"] : line["end"]].tolist() == expected[line["id"]][offset : offset + length]
            seen.update((line["id"], offset + i) for i in range(length))
    assert seen == Counter((i, k) for i, sequence in expected.items() for k in range(len(sequence)))


def test_legacy_rows_are_one_stream_of_seq_length_and_one(chain: Any) -> None:
    """The classic reading: inputs row[:-1], labels row[1:], documents divided by eos."""
    made = pack(chain, "legacy", pack="concat", layout="legacy")
    found = columns(made, "train")
    assert list(found) == ["input_ids"]
    rows = found["input_ids"]
    assert rows.shape[1] == S + 1
    expected = sequences(chain)
    for line in provenance(made, "train"):
        row, offset, length = rows[line["row"]], line["document_offset"], line["end"] - line["start"]
        assert row[1:][line["start"] : line["end"]].tolist() == expected[line["id"]][offset : offset + length]
        assert row[line["start"]] == (expected[line["id"]][offset - 1] if offset else EOS)
    texts = sum((row["length"] for row in [{"length": line["end"] - line["start"]} for line in provenance(made, "train")]), 0)
    assert texts == made.stats["tokens"]["train"]


def test_legacy_rows_of_pieces_out_of_order_are_refused(chain: Any) -> None:
    with pytest.raises(MsptError, match="must follow each other in one stream"):
        pack(chain, "refused", layout="legacy")


def test_train_says_what_legacy_rows_lack(chain: Any) -> None:
    made = pack(chain, "legacy", pack="concat", layout="legacy")
    from mspt.core.nn.reader import PackedRows

    files = [made.path(n) for n in sorted(made.files) if n.startswith("train-") and n.endswith(".mindrecord")]
    with pytest.raises(InputError, match="has the columns input_ids, packed rows need"):
        PackedRows.open(files, vocab_size=700)


@pytest.mark.parametrize(
    ("form", "message"),
    [({"pack": "concat", "layout": "legacy"}, "--layout legacy"), ({"format": "megatron"}, "--format megatron"), ({"objective": "mlm"}, "--objective mlm")],
)
def test_train_refuses_other_forms_by_name(chain: Any, form: dict[str, str], message: str) -> None:
    from mspt.core.tokens.tokenizer import load
    from mspt.stages.train import open_rows

    made = pack(chain, f"for-{'-'.join(form.values())}", **form)
    with pytest.raises(MsptError, match=f"was packed with {message}, which mspt train does not read"):
        open_rows(made, load(made.directory))


# --- Megatron ----------------------------------------------------------------------------------------------------------


def read_indexed(prefix: Path) -> list[list[int]]:
    """The format read from its definition (Megatron-LM, indexed_dataset.py), not by our own reader."""
    raw = prefix.with_suffix(".idx").read_bytes()
    assert raw[:9] == b"MMIDIDX\0\0"
    assert int.from_bytes(raw[9:17], "little") == 1
    dtype = {8: "<u2", 4: "<i4"}[raw[17]]
    count, documents = (int.from_bytes(raw[at : at + 8], "little") for at in (18, 26))
    lengths = np.frombuffer(raw, "<i4", count, 34)
    pointers = np.frombuffer(raw, "<i8", count, 34 + 4 * count)
    assert np.frombuffer(raw, "<i8", documents, 34 + 12 * count).tolist() == list(range(count + 1))
    data = prefix.with_suffix(".bin").read_bytes()
    return [np.frombuffer(data, dtype, n, p).tolist() for n, p in zip(lengths.tolist(), pointers.tolist(), strict=True)]


def test_a_megatron_blend_holds_the_mixture(chain: Any) -> None:
    settings = {"target_tokens": 9_000, "shares": ["zh=0.5", "long=0"], "max_epochs": 3}
    made = pack(chain, "blend", format="megatron", **settings)
    rows = pack(chain, "blend-rows", **settings)
    expected = sequences(chain)
    drawn = Counter(line["id"] for line in provenance(rows, "train") if line["document_offset"] == 0)
    found: Counter[str] = Counter()
    for source in ("topics", "zh"):
        table = pq.read_table(made.path(f"sequences-train-{source}.parquet")).to_pylist()
        stored = read_indexed(made.path(f"train-{source}"))
        assert stored == [expected[line["id"]] for line in table]
        assert [line["sequence"] for line in table] == list(range(len(table)))
        found.update(line["id"] for line in table)
    assert found == drawn
    assert "train-long.bin" not in made.files
    held = {line["id"] for line in provenance(rows, "validation")}
    assert held == {line["id"] for s in ("topics", "zh", "long") for line in pq.read_table(made.path(f"sequences-validation-{s}.parquet")).to_pylist()}


def test_the_blend_file_is_what_the_loader_reads(chain: Any) -> None:
    """MindFormers' rules: data_path alternates weights that sum to 1 and prefixes; sizes are samples that the sources can give in one epoch."""
    yaml = pytest.importorskip("yaml")
    made = pack(chain, "blend", format="megatron", target_tokens=9_000, shares=["zh=0.5", "long=0"], max_epochs=3)
    loader = yaml.safe_load(made.path("blend.yaml").read_text())["train_dataset"]["data_loader"]
    paths = loader["config"]["data_path"]
    weights, prefixes = [float(w) for w in paths[::2]], paths[1::2]
    assert sum(weights) == pytest.approx(1, abs=1e-5)
    assert {re.sub("^DIR/", "", p) for p in prefixes} == {"train-topics", "train-zh"}
    assert all(f"{re.sub('^DIR/', '', p)}.idx" in made.files for p in prefixes)
    tokens = {p: sum(map(len, read_indexed(made.path(re.sub("^DIR/", "", p))))) for p in prefixes}
    for weight, prefix in zip(weights, prefixes, strict=True):
        assert weight == pytest.approx(tokens[prefix] / sum(tokens.values()), abs=1e-6)
        # one more token than positions: the last label
        assert round(loader["sizes"][0] * weight) * S <= tokens[prefix] + S
    assert loader["config"]["eod"] == EOS
    assert loader["config"]["seq_length"] == S


# --- phases ------------------------------------------------------------------------------------------------------------


def test_phases_follow_each_other_in_the_rows_and_in_training(chain: Any) -> None:
    from mspt.core.tokens.tokenizer import load
    from mspt.stages.train import open_rows

    phases = {"phase": [{"until_tokens": 20_000, "shares": {"zh": 0.7, "long": 0.0}}, {"until_tokens": "45k", "shares": {"topics": 1.0}}]}
    made = pack(chain, "phases", mixture=phases)
    first, second = made.stats["phases"]
    assert first["first_row"] == 0
    longest = max(len(sequence) for i, sequence in sequences(chain).items() if not i.startswith("l"))
    assert abs(first["tokens"] - 20_000) < 2 * longest  # whole documents are drawn
    assert abs(second["tokens"] - 25_000) < 2 * longest
    by_phase: list[Counter[str]] = [Counter(), Counter()]
    for line in provenance(made, "train"):
        by_phase[line["row"] >= second["first_row"]][line["source"]] += line["end"] - line["start"]
    for found, told in zip(by_phase, (first, second), strict=True):
        assert {s: found[s] for s in told["sources"]} == {s: figures["realised"] for s, figures in told["sources"].items()}
    rows = open_rows(made, load(chain.tokens.directory))
    order = rows.order(seed=1, epoch=0)
    assert [set(part) for part in np.split(order, [second["first_row"]])] == [set(range(second["first_row"])), set(range(second["first_row"], rows.num_rows))]
    assert by_phase[0]["long"] == 0
    assert by_phase[0]["zh"] / sum(by_phase[0].values()) == pytest.approx(0.7, abs=0.05)
    assert set(by_phase[1]) == {"topics"}


def test_a_later_phase_takes_what_an_earlier_one_left(chain: Any) -> None:
    half = chain.tokens.stats["tokens"] // 2
    made = pack(chain, "halves", validation_share=0.0, mixture={"phase": [{"until_tokens": half}, {}]})
    second = made.stats["phases"][1]["first_row"]
    sides = [Counter(line["id"] for line in provenance(made, "train") if line["document_offset"] == 0 and (line["row"] >= second) == late) for late in (0, 1)]
    both = sides[0] + sides[1]
    assert set(both) == set(sequences(chain))
    assert set(both.values()) == {1}


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        ({"phase": [{"until_tokens": 500}, {"until_tokens": 400}]}, "do not rise"),
        ({"phase": [{}, {"until_tokens": 400}]}, "do not rise"),
        ({"phase": [{"until_tokens": 500, "share": {"zh": 1}}]}, "phase has no `share`, only until_tokens and shares"),
        ({"phases": []}, "mixture has no `phases`, only phase"),
        ([], "mixture is not a table"),
        ({"phase": {"until_tokens": 500}}, "phase is not a list of tables"),
        ({"phase": [500]}, "phase is not a table"),
        ({"phase": [{"shares": {"zh": float("nan")}}]}, "the share of zh is nan, not a number from 0 to 1"),
        ('{"phase": [{"shares": {"zh": -Infinity}}]}', "the share of zh is -inf"),
        ({"phase": [{"shares": {"zh": True}}]}, "the share of zh is True"),
        ({"phase": [{"until_tokens": 500, "shares": {"fr": 1.0}}]}, "no source 'fr'"),
        ({"phase": [{"until_tokens": 500, "shares": {"zh": 0.7, "long": 0.7}}]}, "sum to 1.4"),
        ("{", "is not valid: not JSON"),
    ],
)
def test_phases_that_make_no_sense(chain: Any, mixture: Any, message: str) -> None:
    with pytest.raises(MsptError, match=message):
        pack(chain, "bad", mixture=mixture)


def test_phases_and_shares_are_one_too_many(chain: Any) -> None:
    with pytest.raises(MsptError, match="both say what is drawn"):
        pack(chain, "bad", shares=["zh=1"], mixture={"phase": [{"until_tokens": 500}]})
    with pytest.raises(MsptError, match="there are no phases then"):
        pack(chain, "bad", weights="off", mixture={"phase": [{"until_tokens": 500}, {}]})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"source_epochs": ["zh=0.5"]}, "source_epochs: without a mixture every document is drawn once"),
        ({"max_epochs": 0.5}, "max_epochs 0.5: without a mixture"),
        ({"mask_rate": 0.3}, "--mask-rate is for masked language models"),
        ({"mask_rates": ["h1=0.3"]}, "--mask-rates is for masked language models"),
        ({"target_tokens": 1}, "no document is left for training"),
        ({"target_tokens": 1, "format": "megatron"}, "no document is left for training"),
    ],
)
def test_settings_without_effect_and_drawings_without_documents_are_refused(chain: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        pack(chain, "bad", **settings)


@pytest.mark.parametrize("form", [{}, {"format": "megatron"}])
def test_where_all_documents_are_copies_it_says_so(chain: Any, tmp_path: Path, form: dict[str, str]) -> None:
    rows = [document(f"copy{i}", "one and the same text in every document of this corpus") for i in range(30)]
    chain.workspace.run(FEED, files={"documents": [write_lines(tmp_path / "copies.jsonl", rows)]}, name="copies")
    chain.workspace.run("tokenize", {"workers": 1}, references={"docs": "copies", "tokenizer": "train-tokenizer"}, name="tokens-of-copies")
    with pytest.raises(MsptError, match=r"no document is left for training: \d+ are word for word in validation") as caught:
        pack(chain, "of-copies", references={"docs": "copies", "tokens": "tokens-of-copies"}, **form)
    assert "mspt dedup" in caught.value.hint


def test_phases_stand_in_the_settings_file(chain: Any, tmp_path: Path) -> None:
    import tomllib

    from mspt.core.config import build_config
    from mspt.stages.pack_mindrecord import PackMindrecordConfig
    from mspt.stages.pack_mindrecord.phases import mixture_settings

    text = '[[pack-mindrecord.mixture.phase]]\nuntil_tokens = "2k"\nshares = { web = 0.25 }\n[[pack-mindrecord.mixture.phase]]\n'
    table = tomllib.loads(text)["pack-mindrecord"]
    config = build_config(PackMindrecordConfig, {**table, "target_tokens": "5k"})
    assert [(p.target_tokens, p.shares) for p in mixture_settings(config).phases] == [(2000, (("web", 0.25),)), (3000, ())]
    flag = build_config(PackMindrecordConfig, {"mixture": json.dumps(table["mixture"]), "target_tokens": 5000})
    assert flag == config


# --- the split ---------------------------------------------------------------------------------------------------------


def test_copies_of_validation_documents_leave_training(chain: Any, corpus: Any, tmp_path: Path) -> None:
    """Without dedup a corpus has the same text under several ids."""
    live = [row for row in corpus if row.get("keep", True)]
    held = {line["id"] for line in provenance(chain.mindrecord, "validation")}
    originals = [row for row in live if row["id"] in held][:5]
    # ids whose own points fall into training
    copies = [document(f"copy-{i}", row["text"], row["source"]) for i, row in enumerate(originals)]
    chain.workspace.run(FEED, {"shard_rows": 60}, files={"documents": [write_lines(tmp_path / "copies.jsonl", [*live, *copies])]}, name="copied")
    chain.workspace.run("tokenize", {"workers": 1}, references={"docs": "copied", "tokenizer": "train-tokenizer"}, name="copied-tokens")
    made = pack(chain, "copied-rows", references={"docs": "copied", "tokens": "copied-tokens"})
    train, validation = ({line["id"] for line in provenance(made, split)} for split in ("train", "validation"))
    out = {row["id"] for row in copies} - train - validation
    texts = {row["id"]: row["text"] for row in [*live, *copies]}
    assert not {texts[i] for i in train} & {texts[i] for i in validation}
    assert out
    assert made.stats["leakage"]["left_out_of_training"] == made.manifest["counts"]["rejected"]["in-validation"] == len(set(texts) - train - validation)
    assert any("word for word in validation" in warning for warning in chain.workspace.notes.warnings)
    assert chain.mindrecord.stats["leakage"]["left_out_of_training"] == 0


def test_validation_is_the_same_whatever_is_drawn(chain: Any) -> None:
    rows = {line["id"] for line in provenance(chain.mindrecord, "validation")}
    for name, settings in {"seeded": {"seed": 7}, "small": {"target_tokens": 4_000}, "once": {"weights": "off"}, "stream": {"pack": "concat"}}.items():
        assert {line["id"] for line in provenance(pack(chain, name, **settings), "validation")} == rows


# --- figures -----------------------------------------------------------------------------------------------------------


def test_tokens_by_length_and_shares_add_up(chain: Any) -> None:
    stats = chain.mindrecord.stats
    lengths = {row["id"]: row["num_tokens"] for row in pq.read_table(chain.tokens.path("documents.parquet")).to_pylist()}
    held = {line["id"] for line in provenance(chain.mindrecord, "validation")}
    expected: Counter[str] = Counter()
    for id_, n in lengths.items():
        if id_ not in held:
            expected[f"<= {1 << (n - 1).bit_length()}"] += n
    assert stats["tokens_by_document_length"] == dict(expected)
    assert sum(source["share"] for source in stats["mixture"].values()) == pytest.approx(1)
    short = sum(n for i, n in lengths.items() if i not in held and n < S // 8)
    assert stats["short_document_share"] == round(short / stats["tokens"]["train"], 4)
    assert stats["longest_document"] == max(lengths.values())


def test_short_documents_are_warned_of(chain: Any) -> None:
    pack(chain, "wide", seq_length=2**20, validation_share=0.0, max_documents=512)
    assert any("shorter than an eighth of a row (131072 tokens)" in warning for warning in chain.workspace.notes.warnings)


def test_long_documents_are_cut_where_something_ends(chain: Any) -> None:
    """Of the pieces that end before their document does, more end a paragraph or sentence than by chance."""
    from mspt.core.tokens.cutting import break_levels
    from mspt.core.tokens.tokenizer import load

    levels = break_levels(load(chain.tokens.directory).surfaces)
    expected = sequences(chain)
    ends = []
    for line in provenance(chain.mindrecord, "train"):
        sequence, last = expected[line["id"]], line["document_offset"] + line["end"] - line["start"]
        if line["source"] == "long" and last < len(sequence):
            ends.append(levels[sequence[last - 1]] > 0)
    by_chance = np.mean([levels[t] > 0 for i, s in expected.items() if i.startswith("l") for t in s])
    assert len(ends) > 100
    assert np.mean(ends) > 2 * by_chance

"""Records of documents: what tokens and docs say of each, in order of the sequences, whatever the shards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash

from mspt.core.errors import InputError
from mspt.core.tokens.documents import ABSENT, TRAIN, Attachment, DocumentReader, append_documents, longest_id
from support.indexed_documents import everything, index, table_of

IDS, SOURCES, TOKENS = ["a", "bb", "c", "d"], ["web", "web", "book", "book"], [5, 6, 30, 8]


@pytest.mark.parametrize("shard", [1, 2, 3, 100])
def test_columns_follow_the_sequences(tmp_path: Path, shard: int) -> None:
    weights = pa.array([4.0, None, 2.0, 1.0], pa.float32())
    found = index(tmp_path, IDS, SOURCES, TOKENS, shard=shard, seed=9, cluster=["y", None, "x", "x"], weight=weights, num_bytes=[9, 11, 60, 15])
    assert (found.sources, found.first) == (("book", "web"), (0, 2, 4))
    records = everything(found)
    assert records["id"].tolist() == [b"c", b"d", b"a", b"bb"]
    assert records["tokens"].tolist() == [30, 8, 5, 6]
    assert records["start"].tolist() == [0, 30, 0, 5]
    assert records["bytes"].tolist() == [60, 15, 9, 11]
    assert records["weight"].tolist() == [2.0, 1.0, 4.0, 1.0]
    assert records["source"].tolist() == [0, 0, 1, 1]
    assert set(records["side"]) == {TRAIN}
    assert records["key"].tolist() == [xxhash.xxh3_64_intdigest(b"mspt held-out\0" + key) for key in (b"x", b"x", b"y", b"bb")]
    assert records["order"].tolist() == [xxhash.xxh3_64_intdigest(id_, seed=9) for id_ in (b"c", b"d", b"a", b"bb")]


def test_without_layers_each_document_stands_for_itself(tmp_path: Path) -> None:
    records = everything(index(tmp_path, IDS, SOURCES, TOKENS))
    assert len(set(records["key"].tolist())) == 4
    assert records["weight"].tolist() == [1.0] * 4


def test_documents_outside_a_sample_are_absent(tmp_path: Path) -> None:
    found = append_documents(tmp_path / "documents", [table_of(IDS, SOURCES, TOKENS)], 2)
    attachment = Attachment(found, 0)
    attachment.add(pa.table({"id": IDS, "source": SOURCES}), np.array([True, False, False, True]))
    attachment.finish()
    assert everything(found)["side"].tolist() == [ABSENT, TRAIN, TRAIN, ABSENT]


def test_tokens_of_a_sample_are_found_among_all_docs(tmp_path: Path) -> None:
    """tokenize --sample: the docs have documents between those that were tokenised."""
    found = append_documents(tmp_path / "documents", [table_of(["b", "e"], ["web"] * 2, [3, 4])], 1)
    attachment = Attachment(found, 0)
    for part in (["a", "b", "c"], ["d"], ["e", "f"]):
        attachment.add(pa.table({"id": part, "source": ["web"] * len(part), "weight": [float(ord(i)) for i in part]}), np.ones(len(part), np.bool_))
    attachment.finish()
    assert everything(found)["weight"].tolist() == [98.0, 101.0]


def test_sequences_without_a_document_are_named(tmp_path: Path) -> None:
    found = append_documents(tmp_path / "documents", [table_of(IDS, SOURCES, TOKENS)], 2)
    attachment = Attachment(found, 0)
    attachment.add(pa.table({"id": ["a", "bb", "c"], "source": SOURCES[:3]}), np.ones(3, np.bool_))
    with pytest.raises(InputError, match="1 token sequences of book belong to no live document"):
        attachment.finish()


def test_a_table_out_of_order_is_refused(tmp_path: Path) -> None:
    table = table_of(IDS, SOURCES, TOKENS)
    with pytest.raises(InputError, match="in order"):
        append_documents(tmp_path / "a", [table.take([1, 0, 2, 3])], 2)
    with pytest.raises(InputError, match="names book twice"):
        append_documents(tmp_path / "b", [table, table.slice(0, 1)], 2)
    with pytest.raises(InputError, match="no token"):
        append_documents(tmp_path / "c", [table_of(["a"], ["web"], [0])], 2)


def test_tables_may_be_cut_anywhere(tmp_path: Path) -> None:
    table = table_of([f"id-{i:04d}" for i in range(50)], ["s" + str(i % 3) for i in range(50)], list(range(1, 51)))
    whole = append_documents(tmp_path / "whole", [table], longest_id([table]))
    parts = append_documents(tmp_path / "parts", [table.slice(i, 7) for i in range(0, 50, 7)], longest_id([table]))
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()
    assert whole.first == parts.first


def test_records_are_read_by_position(tmp_path: Path) -> None:
    reader = DocumentReader(index(tmp_path, IDS, SOURCES, TOKENS))
    assert reader.at([3, 0])["id"].tolist() == [b"bb", b"c"]
    reader.close()


def test_ids_of_any_script_and_length(tmp_path: Path) -> None:
    ids = ["短", "un identifiant bien plus long que les autres", "ñ"]
    assert [i.decode() for i in everything(index(tmp_path, ids, ["web"] * 3, [1, 2, 3]))["id"].tolist()] == ids

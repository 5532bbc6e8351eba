from __future__ import annotations

import gzip

import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES, sniff
from mspt.core.text.containers.streams import ByteStream, open_raw
from mspt.core.text.containers.walk import Leaf, walk
from mspt.core.text.readers.read import READERS, items
from mspt.core.text.readers.record import Fields, Options, Record


def test_types_that_are_not_read_have_a_row_with_type_and_size(read):
    (problem,) = read(b"%PDF-1.7\n" + b"x" * 3000)
    assert (problem.ref, problem.rule, problem.detail, problem.value) == ("f", "unread-type", "pdf", 3009)
    (problem,) = read(b"")
    assert (problem.ref, problem.rule) == ("f", "empty-file")


@pytest.mark.parametrize("name", sorted(READERS))
@pytest.mark.parametrize("data", [b"", b"\0" * 3000, b'"' * 3000, b"\xff\xfe\n\0\r\0" * 500, bytes(range(256)) * 4, b"[{" * 2000, b"\n" * 5000, b"PAR1"])
def test_no_reader_raises_for_what_the_data_is(read, name, data):
    """A type may be told wrongly: by magic bytes, or because the file goes on differently."""
    kind = type(sniff(b"x"))(name, "leaf")
    for keep in (False, True):
        assert all(found.ref.startswith("f") for found in read(data, kind=kind, fields=Fields(keep=keep), max_document_bytes=2048))


def test_every_record_of_a_real_file_is_the_same_when_others_are_left_out(read, shared):
    for path in ("zh_poetry_hans.jsonl.gz", "warc/warcio/test/data/example.warc.gz", "warc/dolma/tests/data/warc/sample-0000.warc.gz"):
        data = gzip.decompress((shared / "data" / path).read_bytes())[:3_000_000]
        assert len(read(data)) > 5


def test_real_files_are_read_through_their_containers(shared, tmp_path):
    count = {}
    for path in ("lid_tatoeba.jsonl.gz", "neardup_spdx_gold_pairs.tsv.gz", "eval/cmrc2018/squad-style-data/cmrc2018_trial.json"):
        leaf = next(walk(open_raw(shared / "data" / path), path))
        assert isinstance(leaf, Leaf)
        found = [item.read() for item in items(leaf, Options(fields=Fields(text="text" if "jsonl" in path else "id_a"), scratch=tmp_path))]
        count[leaf.type.name] = (len(found), sum(isinstance(one, Record) for one in found))
    assert count["jsonl"] == (45_005, 45_005)
    assert count["json"] == (1, 0)
    rows = gzip.decompress((shared / "data/neardup_spdx_gold_pairs.tsv.gz").read_bytes()).count(b"\n") - 1
    assert count["tsv"] == (rows, rows)


def test_a_leaf_that_is_only_partly_read_can_be_drained():
    data = b'{"text": "x"}\n' * 10
    leaf = Leaf("f", sniff(data[:HEAD_BYTES]), ByteStream([data]))
    next(items(leaf))
    leaf.stream.drain()
    assert leaf.stream.position == len(data)

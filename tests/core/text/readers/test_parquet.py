from __future__ import annotations

import datetime
import decimal
import io
import random
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mspt.core.errors import MachineError
from mspt.core.text.containers.sniff import PARQUET
from mspt.core.text.containers.streams import ByteStream, open_raw
from mspt.core.text.containers.walk import Leaf, Problem, walk
from mspt.core.text.readers.parquet import items
from mspt.core.text.readers.record import Fields, Options, Record
from support.packing import zipped

CHINESE = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。"
TEXTS = [f"第{n}行的文字在这里" for n in range(1000)]


def parquet(columns, **options) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, **options)
    return buffer.getvalue()


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd", "gzip"])
def test_rows_are_records_over_all_row_groups(read, compression):
    found = read(parquet({"id": list(range(1000)), "text": TEXTS, "url": ["u"] * 1000}, row_group_size=170, compression=compression))
    assert [record.decoded.text for record in found] == TEXTS
    assert [(record.ref, record.meta, record.url) for record in found] == [(f"f#{n}", {"id": n}, "u") for n in range(1000)]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int16(), pa.string())])
def test_text_of_any_type(read, kind):
    values = pa.array(["一", None, "", "二"]).dictionary_encode() if pa.types.is_dictionary(kind) else pa.array(["一", None, "", "二"]).cast(kind)
    found = read(parquet({"text": values}))
    assert [one.decoded.text if isinstance(one, Record) else one.rule for one in found] == ["一", "no-text", "", "二"]


def test_fields_in_structs_and_columns_with_dots(read):
    rows = [{"page": {"body": "正文", "n": 1, "raw": [1, 2]}, "a.b": "dotted", "from": 7}, {"page": None, "a.b": None, "from": None}]
    columns = {"page": pa.array([row["page"] for row in rows]), "a.b": [row["a.b"] for row in rows], "from": [row["from"] for row in rows]}
    fields = Fields(text="page.body", title="a.b", source="from", meta=("page.n", "page.raw"))
    record, problem = read(parquet(columns), fields=fields)
    assert (record.decoded.text, record.title, record.source, record.meta) == ("正文", "dotted", "7", {"page.n": 1, "page.raw": [1, 2]})
    assert (problem.ref, problem.rule) == ("f#1", "no-text")


def test_all_fields_are_kept_as_json_has_them(read):
    columns = {
        "t": pa.array([1_500_000_000_123_456_789], pa.timestamp("ns")),
        "day": pa.array([datetime.date(2020, 1, 2)]),
        "price": pa.array([decimal.Decimal("1.50")], pa.decimal128(5, 2)),
        "bytes": pa.array([CHINESE.encode("gb18030")]),
        "nan": [float("nan")],
        "list": [[{"a": "x"}, None]],
        "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())),
        "none": pa.nulls(1),
        "yes": [True],
    }
    (record,) = read(parquet(columns), fields=Fields(keep=True))
    assert record.fields == {
        "t": "2017-07-14 02:40:00.123456789",
        "day": "2020-01-02",
        "price": "1.50",
        "bytes": CHINESE,
        "nan": None,
        "list": [{"a": "x"}, None],
        "map": [["k", 1]],
        "none": None,
        "yes": True,
    }
    assert record.meta == {"t": "2017-07-14 02:40:00.123456789", "day": "2020-01-02", "price": "1.50", "bytes": CHINESE, "yes": True}


def test_bytes_that_are_no_utf8_are_decoded(read):
    offsets, data = pa.array([0, 1, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\xffb")
    damaged = pa.Array.from_buffers(pa.string(), 2, [None, offsets, data])  # Arrow does not check
    assert [record.decoded.text for record in read(parquet({"text": pa.array([CHINESE.encode("gb18030")])}))] == [CHINESE]
    first, second = read(parquet({"text": damaged, "other": damaged}))
    assert first.decoded.text == "a"
    assert len(second.decoded.text) == 2


def test_only_what_is_wanted_is_read(tmp_path, monkeypatch):
    path = tmp_path / "x"
    path.write_bytes(
        parquet({"text": TEXTS, "vector": [[float(n)] * 50 for n in range(1000)], "html": [f"<p>{n}" * 500 for n in range(1000)]}, compression="none")
    )
    stream = open_raw(path)
    read_bytes = 0
    original = type(stream.origin).read

    def counted(self, size=-1):
        nonlocal read_bytes
        data = original(self, size)
        read_bytes += len(data)
        return data

    monkeypatch.setattr(type(stream.origin), "read", counted)
    found = [item.read() for item in items(Leaf("f", PARQUET, stream), Options(fields=Fields(meta=())))]
    assert [record.decoded.text for record in found] == TEXTS
    assert read_bytes < path.stat().st_size / 4


def test_without_the_column_of_the_text_there_is_one_row_for_the_file(read):
    (problem,) = read(parquet({"body": ["x"] * 5, "text": [1] * 5}))
    assert (problem.ref, problem.rule, problem.detail) == ("f", "no-text", "column text is int64")
    (problem,) = read(parquet({"body": ["x"] * 5, "id": [1] * 5}))
    assert (problem.ref, problem.rule, problem.detail) == ("f", "no-text", "no field text; there are body, id")


def test_a_text_that_is_too_large_costs_only_its_row(read):
    first, large, last = read(parquet({"text": ["a", "字" * 3000, "z"]}), max_document_bytes=5000)
    assert (first.decoded.text, last.decoded.text) == ("a", "z")
    assert (large.ref, large.rule, large.value, large.threshold, len(large.text)) == ("f#1", "line-too-long", 9000, 5000, 683)


DATA = parquet({"text": TEXTS, "id": list(range(1000))}, row_group_size=250, compression="none", use_dictionary=False)


@pytest.mark.parametrize(
    "data",
    [
        DATA[:-20], DATA[: len(DATA) // 2], DATA[:4], b"PAR1" * 3,
        DATA[:-8] + (10**9).to_bytes(4, "little") + b"PAR1",
        DATA[:-8] + (3).to_bytes(4, "little") + b"PAR1",
        DATA[:-8] + b"\xff\xff\xff\xff" + b"PAR1",
        DATA[:-4] + b"PARE",
    ],
)  # fmt: skip
def test_a_file_whose_end_is_lost_or_wrong_is_corrupt(read, data):
    (problem,) = read(data, kind=PARQUET)
    assert (problem.ref, problem.rule, problem.value) == ("f", "corrupt", len(data))


def damaged_group(number: int) -> bytes:
    """The header of the first page of the texts of a row group overwritten."""
    chunk = pq.read_metadata(io.BytesIO(DATA)).row_group(number).column(0)
    start = chunk.data_page_offset
    return DATA[:start] + b"\xff" * 20 + DATA[start + 20 :]


def test_a_damaged_row_group_costs_only_itself(read):
    found = read(damaged_group(1), kind=PARQUET)
    assert len(found) == 1000
    assert [one.decoded.text for one in found[:250] + found[500:]] == TEXTS[:250] + TEXTS[500:]
    assert [(one.ref, one.rule) for one in found[250:500]] == [(f"f#{n}", "corrupt") for n in range(250, 500)]


def test_any_damage_gives_rows_or_problems():
    data = parquet({"text": TEXTS[:20], "n": list(range(20))}, row_group_size=10)
    for place in range(4, len(data), 13):
        damaged = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
        found = [item.read() for item in items(Leaf("f", PARQUET, ByteStream([damaged])), Options())]
        assert all(isinstance(one, Record | Problem) for one in found)
        assert found


def test_a_file_in_a_container_is_read_from_a_copy(tmp_path):
    path, scratch = tmp_path / "x.zip", tmp_path / "scratch"
    path.write_bytes(zipped({"a.parquet": DATA, "b.txt": b"after it"}))
    scratch.mkdir()
    leaves = walk(open_raw(path), "x.zip")
    leaf = next(leaves)
    assert isinstance(leaf, Leaf)
    found = [item.read() for item in items(leaf, Options(scratch=scratch))]
    assert [record.decoded.text for record in found] == TEXTS
    assert found[3].ref == "x.zip!/a.parquet#3"
    assert [leaf.ref for leaf in leaves] == ["x.zip!/b.txt"]
    assert list(scratch.iterdir()) == []


def test_a_copy_that_a_broken_container_cut_is_told_there_only():
    def chunks() -> Iterator[bytes]:
        yield DATA[:1000]
        raise ValueError("broken off")

    leaf = Leaf("f", PARQUET, ByteStream(chunks()))
    assert [item.read() for item in items(leaf, Options())] == []
    assert leaf.stream.fault is not None


def test_a_file_on_disk_is_hashed_and_counted_as_if_read_in_order(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(parquet({"text": [f"{n}" * 500 for n in range(3000)]}, compression="none"))
    stream = open_raw(path)
    leaf = Leaf("f", PARQUET, stream)
    assert sum(1 for item in items(leaf, Options()) if item.read()) == 3000
    stream.drain()
    assert stream.position == path.stat().st_size
    assert not stream.origin.closed


def test_of_all_row_groups_only_one_is_in_memory():
    """50 groups of 400 kB."""
    text = "".join(random.Random(2).choices("abcdefgh", k=4000))
    data = parquet({"text": [f"{n} {text}" for n in range(5000)]}, row_group_size=100, compression="none")
    before = pa.total_allocated_bytes()
    most = 0
    for item in items(Leaf("f", PARQUET, ByteStream([data])), Options()):
        item.read()
        most = max(most, pa.total_allocated_bytes() - before)
    assert 400_000 < most < 5_000_000


def test_a_disk_that_fails_is_no_property_of_the_data(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    path.write_bytes(DATA)
    stream = open_raw(path)

    def fail(self, size=-1):
        raise MachineError("cannot read", "check the disk")

    monkeypatch.setattr(type(stream.origin), "read", fail)
    with pytest.raises(MachineError):
        [item.read() for item in items(Leaf("f", PARQUET, stream), Options())]


def test_a_row_group_that_unpacks_too_far_is_an_expansion(read):
    (problem,) = read(parquet({"text": ["x" * 30_000_000]}, compression="zstd"))
    assert (problem.ref, problem.rule, problem.threshold) == ("f#0", "expansion", 200)


def repeated(text: str, times: int) -> bytes:
    """A file that holds a text once and says how often it occurs."""
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, pa.schema([("text", pa.string())]), compression="zstd", dictionary_pagesize_limit=2**26) as writer:
        writer.write_table(pa.table({"text": pa.array([text] * times)}))
    return buffer.getvalue()


def test_a_text_that_occurs_for_ever_is_an_expansion_from_some_row_on():
    """100 MB of text in 10 kB. What a ratio of 4,000 and 16 MB beyond it allow is filled by batches of 1,024 rows."""
    text = "".join(random.Random(1).choices("0123456789", k=20_000))
    data = repeated(text, 5000)
    assert 2 * 1024 * len(text) < 4000 * len(data) + 2**24 < 4 * 1024 * len(text)
    found = [item.read() for item in items(Leaf("f", PARQUET, ByteStream([data])), Options(max_expansion=4000))]
    kept = [one.decoded.text for one in found if isinstance(one, Record)]
    assert set(kept) == {text}
    assert 1024 < len(kept) < 4096
    assert {(one.ref, one.rule) for one in found[len(kept) :]} == {(f"f#{n}", "expansion") for n in range(len(kept), 5000)}


def test_a_claim_of_more_rows_than_can_be_is_an_expansion(read):
    (problem,) = read(parquet({"text": pa.array(["x"]).take(pa.array([0] * 1_500_000))}))
    assert (problem.ref, problem.rule) == ("f", "expansion")


def test_thousands_of_columns_are_read(read):
    data = parquet({f"c{n}": ["v"] for n in range(2000)} | {"text": ["x"]})
    (record,) = read(data)
    assert (record.decoded.text, len(record.meta)) == ("x", 2000)


def test_a_file_of_no_rows_gives_nothing(read):
    assert read(parquet({"text": pa.array([], pa.string())})) == []


def test_a_null_cell_is_said_to_be_null(read):
    buffer = io.BytesIO()
    pq.write_table(pa.table({"text": ["a line", None], "id": [1, 2]}), buffer)
    assert [getattr(one, "detail", "") for one in read(buffer.getvalue())] == ["", "field text is null; there are id"]

"""The .bin/.idx format against a writer that follows the format's definition field by field."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from mspt.core.errors import InputError
from mspt.core.tokens.indexed import IndexedTokens, append_tokens, concatenate, token_dtype, write_index, write_index_parts

SEQUENCES = [[5, 6, 2], [2], [], [65499, 0, 7, 2]]


def reference_index(lengths: list[int], code: int, width: int) -> bytes:
    """Megatron-LM's _IndexWriter, written down from its docstring with struct alone."""
    out = b"MMIDIDX\x00\x00" + struct.pack("<Q", 1) + struct.pack("<B", code)
    out += struct.pack("<Q", len(lengths)) + struct.pack("<Q", len(lengths) + 1)
    for length in lengths:
        out += struct.pack("<i", length)
    pointer = 0
    for length in lengths:
        out += struct.pack("<q", pointer)
        pointer += length * width
    for document in range(len(lengths) + 1):
        out += struct.pack("<q", document)
    return out


def write_pair(folder: Path, sequences: list[list[int]], dtype: type) -> tuple[Path, Path]:
    data, index = folder / "a.bin", folder / "a.idx"
    lengths = append_tokens(data, [np.array(s, dtype=np.int64) for s in sequences], np.dtype(dtype))
    write_index(index, lengths, np.dtype(dtype))
    return data, index


@pytest.mark.parametrize(("dtype", "code", "letter"), [(np.uint16, 8, "H"), (np.int32, 4, "i")])
def test_bytes_are_the_formats(tmp_path: Path, dtype: type, code: int, letter: str) -> None:
    data, index = write_pair(tmp_path, SEQUENCES, dtype)
    flat = [token for sequence in SEQUENCES for token in sequence]
    assert data.read_bytes() == struct.pack(f"<{len(flat)}{letter}", *flat)
    assert index.read_bytes() == reference_index([3, 1, 0, 4], code, struct.calcsize(letter))


def test_reader_gives_what_was_written(tmp_path: Path) -> None:
    tokens = IndexedTokens(*write_pair(tmp_path, SEQUENCES, np.uint16))
    assert [tokens[i].tolist() for i in range(len(tokens))] == SEQUENCES
    assert tokens.documents.tolist() == [0, 1, 2, 3, 4]


def test_offsets_are_64_bit(tmp_path: Path) -> None:
    lengths = [2**31 - 1, 2**31 - 1, 5]
    write_index(tmp_path / "big.idx", lengths, np.dtype(np.int32))
    raw = (tmp_path / "big.idx").read_bytes()
    assert struct.unpack_from("<3q", raw, 34 + 12) == (0, 4 * (2**31 - 1), 8 * (2**31 - 1))
    with pytest.raises(InputError, match="2,147,483,648 tokens"):
        write_index(tmp_path / "big.idx", [2**31], np.dtype(np.int32))


def test_sequences_beyond_two_to_the_31_are_read(tmp_path: Path) -> None:
    """A .bin of 10 GiB with holes: what lies behind the 2^31st token, and behind the 2^32nd byte, is what was put there."""
    lengths = [2**31 - 1, 3, 2**29, 4]
    data = tmp_path / "big.bin"
    with data.open("wb") as handle:
        for first, tokens in ((2**31 - 1, [7, 8, 9]), (sum(lengths[:3]), [1, 2, 3, 4])):
            handle.seek(4 * first)
            handle.write(struct.pack(f"<{len(tokens)}i", *tokens))
    write_index(tmp_path / "big.idx", lengths, np.dtype(np.int32))
    tokens = IndexedTokens(data, tmp_path / "big.idx")
    assert (tokens[1].tolist(), tokens[3].tolist()) == ([7, 8, 9], [1, 2, 3, 4])
    assert len(tokens[2]) == 2**29
    assert data.stat().st_blocks * 512 < 2**20


def test_an_index_written_in_pieces_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mspt.core.tokens.indexed._INDEX_STEP", 3)
    lengths = np.arange(1, 12) * 10**8
    write_index(tmp_path / "whole.idx", lengths, np.dtype(np.uint16))
    pieces = [lengths[:4], lengths[4:4], lengths[4:]]
    write_index_parts(tmp_path / "pieces.idx", lambda: iter(pieces), len(lengths), np.dtype(np.uint16))
    assert (tmp_path / "pieces.idx").read_bytes() == (tmp_path / "whole.idx").read_bytes() == reference_index(lengths.tolist(), 8, 2)


def test_two_bytes_below_65500_pieces() -> None:
    assert [token_dtype(v).name for v in (65499, 65500)] == ["uint16", "int32"]


def test_parts_join_to_the_whole(tmp_path: Path) -> None:
    whole, _ = write_pair(tmp_path, SEQUENCES, np.uint16)
    parts = [tmp_path / f"{i}.bin" for i in range(3)]
    for part, sequences in zip(parts, (SEQUENCES[:1], [], SEQUENCES[1:]), strict=True):
        append_tokens(part, [np.array(s) for s in sequences], np.dtype(np.uint16))
    concatenate(parts, tmp_path / "joined.bin")
    assert (tmp_path / "joined.bin").read_bytes() == whole.read_bytes()


def test_damage_is_named(tmp_path: Path) -> None:
    data, index = write_pair(tmp_path, SEQUENCES, np.uint16)
    raw = data.read_bytes()
    data.write_bytes(raw[:-2])
    with pytest.raises(InputError, match=r"a\.bin has 14 bytes, its \.idx describes 16"):
        IndexedTokens(data, index)
    data.write_bytes(raw)
    whole = index.read_bytes()
    for damaged, message in ((whole[:50], "cut off"), (b"X" + whole[1:], "no MMIDIDX"), (whole[:17] + b"\x63" + whole[18:], "dtype code 99")):
        index.write_bytes(damaged)
        with pytest.raises(InputError, match=message):
            IndexedTokens(data, index)

"""Files of runs, their merging by ranges of keys, and ids."""

from __future__ import annotations

import itertools
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest

from mspt.core.dedup.arrays import load_arrays, map_arrays, save_arrays
from mspt.core.dedup.ids import format_ids, parse_ids
from mspt.core.dedup.index import Runs
from mspt.core.dedup.merge import Level, groups, read_groups, write_groups
from mspt.core.dedup.sketch import SketchSettings, make_runs, sketch
from support.judging import save_runs

TEXTS = ["甲乙丙丁戊己庚辛" * 3, "短", "子丑寅卯辰巳午未申酉" * 2, "甲乙丙丁戊己庚辛" * 3, "", "子丑寅卯辰巳午未申酉" * 2 + "戌", "短"]


def by_key(texts, key_of):
    """Positions of texts by key, where two or more share one."""
    found = {}
    for position, text in enumerate(texts):
        found.setdefault(key_of(text), []).append(position)
    return sorted(own for own in found.values() if len(own) > 1)


def as_lists(parts):
    return sorted(own.tolist() for part in parts for own in np.split(part.members, np.cumsum(part.sizes)[:-1]) if len(own))


@pytest.mark.parametrize(("shards", "max_bytes", "parts"), [(1, 2**20, 1), (3, 100, 1), (7, 2**20, 4), (2, 60, 3)])
def test_groups_are_documents_of_equal_keys(tmp_path, shards, max_bytes, parts):
    files = save_runs(tmp_path, TEXTS, SketchSettings(), shards)
    exact = itertools.chain(*(groups(files, Level("exact"), max_bytes, (i, parts)) for i in range(parts)))
    assert as_lists(exact) == by_key(TEXTS, lambda text: text) == [[0, 3], [1, 6]]
    whole = sketch(pa.array(TEXTS), SketchSettings())
    keys = whole.keys[:, 2].tolist()
    long = [i for i in range(len(TEXTS)) if whole.num_shingles[i]]
    expected = sorted([i for i in long if keys[i] == key] for key in {keys[i] for i in long} if sum(keys[i] == key for i in long) > 1)
    assert as_lists(groups(files, Level("band", 2), max_bytes)) == expected
    assert [0, 3] in expected


def test_groups_come_back_from_disk(tmp_path):
    files = save_runs(tmp_path, TEXTS, SketchSettings(), 2)
    members, sizes = tmp_path / "members", tmp_path / "sizes"
    assert write_groups(groups(files, Level("exact"), 60), members, sizes) == 2
    assert as_lists(read_groups(members, sizes)) == [[0, 3], [1, 6]]


def test_selected_runs_are_those_of_the_selected_documents(tmp_path):
    kept = np.array([True, False, True, False, True, True, False])
    make_runs(sketch(pa.array(TEXTS), SketchSettings())).select(kept).save(tmp_path / "index", np.arange(3))
    found, more = Runs.map(tmp_path / "index")
    expected = make_runs(sketch(pa.array([text for text, stays in zip(TEXTS, kept, strict=True) if stays]), SketchSettings()))
    for field in fields(Runs):
        if not field.name.startswith("sample"):
            assert getattr(found, field.name).tolist() == getattr(expected, field.name).tolist(), field.name
    assert (len(found), [array.tolist() for array in more]) == (4, [[0, 1, 2]])


def test_arrays_in_one_file(tmp_path):
    arrays = [np.arange(6, dtype=np.uint32).reshape(2, 3), np.zeros((0, 4)), np.array([], np.uint8), np.array([2**63], np.uint64)]
    save_arrays(tmp_path / "a", arrays)
    for found in (load_arrays(tmp_path / "a"), map_arrays(tmp_path / "a")):
        assert [(a.tolist(), a.dtype, a.shape) for a in found] == [(a.tolist(), a.dtype, a.shape) for a in arrays]
    save_arrays(tmp_path / "b", arrays)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_ids_are_sixteen_bytes():
    names = ["00" * 16, "0123456789abcdef" * 2, "f" * 32]
    ids = parse_ids(pa.chunked_array([names[:1], [], names[1:]], pa.string()))
    assert ids.tolist() == [list(bytes.fromhex(name)) for name in names]
    assert format_ids(ids).to_pylist() == names
    assert format_ids(parse_ids(pa.chunked_array([], pa.string()))).to_pylist() == []
    for wrong in ("t001", "G" + "0" * 31, "A" * 32, None):
        with pytest.raises(ValueError, match="not 32 hexadecimal digits"):
            parse_ids(pa.chunked_array([[names[0], wrong]], pa.string()))

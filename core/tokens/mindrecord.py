"""Rows in MindRecord files.

What the format asks of its writer (measured with MindSpore 2.10):
- a file stores its own base name, in its header and in the SQLite file `<name>.db` beside it: it is written under its final name in a folder
  of its own and moved out whole; a renamed file is refused, a moved one is fine;
- it is at least one header and one page long, 48 MiB with the default sizes: both are set from the size of the rows;
- the header lists every page in about 190 bytes of JSON: pages grow with the file, so that there are at most 64 of them;
- MindDataset refuses files of different page sizes together: one size for all files of a split;
- int32 arrays are stored shorter where their values are small: files are smaller than rows x bytes.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import InputError
from mspt.core.files import fsync_file
from mspt.core.tokens.rows import RowBatch

os.environ.setdefault("GLOG_v", "3")  # MindSpore is talkative at WARNING; it reads this when it is imported

# The last column is the one that MindFormers takes for the segments.
COLUMNS = ("input_ids", "labels", "actual_seq_len")
SUFFIX = ".mindrecord"

_HEADER_BYTES = 32 * 1024  # 64 pages of 190 bytes and the schema; MindRecord's least is 16 KiB
_MAX_PAGES = 64
_MIN_PAGE_BYTES = 64 * 1024  # MindRecord's least is 32 KiB
_MAX_PAGE_BYTES = 256 * 2**20  # MindRecord's own
_READ_ROWS = 256

Array = npt.NDArray[np.int32]


def page_bytes(bytes_of_row: int, rows_per_file: int) -> int:
    """Page size for files of so many rows: a power of two that holds a few rows and keeps the number of pages small."""
    wanted = max(_MIN_PAGE_BYTES, 4 * bytes_of_row, bytes_of_row * rows_per_file // (_MAX_PAGES // 2))
    return int(min(1 << (wanted - 1).bit_length(), _MAX_PAGE_BYTES))


def write(path: Path, batches: Iterable[RowBatch], rows_per_file: int, row_tokens: int, max_documents: int) -> None:
    """Write packed rows: see `write_columns`."""
    shapes = dict(zip(COLUMNS, (row_tokens, row_tokens, max_documents), strict=True))
    write_columns(path, ({name: getattr(batch, name) for name in COLUMNS} for batch in batches), shapes, rows_per_file)


def write_columns(path: Path, batches: Iterable[Mapping[str, Array]], shapes: Mapping[str, int], rows_per_file: int) -> None:
    """Write `<path>` and `<path>.db`. `path` must carry its final name, ending in .mindrecord, in a folder that no reader looks into.

    Args:
        batches: int32 [B, shape] of each column.
        shapes: length of each column's rows, in the order of the columns.
        rows_per_file: of the fullest file that will be read together with this one: it sets the page size, which must be the same in all.
    """
    from mindspore.mindrecord import FileWriter

    for old in (path, database(path)):
        old.unlink(missing_ok=True)
    writer = FileWriter(str(path), shard_num=1)
    writer.set_header_size(_HEADER_BYTES)
    writer.set_page_size(page_bytes(4 * sum(shapes.values()), rows_per_file))
    writer.add_schema({name: {"type": "int32", "shape": [length]} for name, length in shapes.items()}, "packed rows")
    try:
        for batch in batches:
            columns = [(name, batch[name]) for name in shapes]
            writer.write_raw_data([{name: column[i] for name, column in columns} for i in range(len(columns[0][1]))])
        writer.commit()
    except RuntimeError as error:
        if "No free disk" in str(error) or "disk is full" in str(error):  # MindRecord's own words, and SQLite's
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error
        raise
    for new in (path, database(path)):
        new.chmod(path.parent.stat().st_mode & 0o666)  # MindSpore makes them 0600, whatever the umask
        fsync_file(new)


def database(path: Path) -> Path:
    """The SQLite file that belongs to a MindRecord file."""
    return path.with_name(path.name + ".db")


def move(path: Path, target: Path, target_database: Path) -> None:
    """Move a finished pair out of its building folder, the rows first: a .db never stands without them."""
    os.replace(path, target)
    os.replace(database(path), target_database)


def read(paths: Sequence[Path], num_shards: int = 1, shard_id: int = 0, batch_rows: int = _READ_ROWS) -> Iterator[RowBatch]:
    """The rows of `paths` in order, through MindDataset; with `num_shards` those that fall to `shard_id`: over all shards every row once.

    MindDataset itself gives all shards equally many rows and repeats the first ones for it; here empty rows fill up and are left out again.

    Raises:
        InputError: a file is missing, renamed or cut off.
    """
    for path in paths:
        if not path.is_file() or not database(path).is_file():
            raise InputError(f"{path.name}: the file or its .db is missing", "pack again: mspt pack-mindrecord")
    try:
        rows = _dataset(paths, num_shards, shard_id).batch(batch_rows)
        for columns in rows.create_tuple_iterator(num_epochs=1, output_numpy=True):
            batch = RowBatch(*(np.asarray(column) for column in columns))
            real = batch.actual_seq_len[:, -1] > 0
            yield batch if real.all() else RowBatch(*(getattr(batch, name)[real] for name in COLUMNS))
    except RuntimeError as error:
        reason = next((line for line in str(error).splitlines() if "[ERROR]" in line), str(error).splitlines()[0])
        raise InputError(f"{paths[0].name}: MindDataset refuses it: {reason}", "`mspt verify` says which file changed") from error


def _dataset(paths: Sequence[Path], num_shards: int, shard_id: int) -> Any:
    import mindspore.dataset as ds

    plain = ds.MindDataset([str(path) for path in paths], columns_list=list(COLUMNS), shuffle=False, num_parallel_workers=1)
    if num_shards == 1:
        return plain
    missing = -plain.get_dataset_size() % num_shards
    padding: dict[str, Any] = {}
    if missing:
        first = next(plain.create_tuple_iterator(num_epochs=1, output_numpy=True))
        empty = {name: np.zeros_like(value) for name, value in zip(COLUMNS, first, strict=True)}
        padding = {"padded_sample": empty, "num_padded": missing}
    return ds.MindDataset(
        [str(path) for path in paths],
        columns_list=list(COLUMNS),
        shuffle=False,
        num_parallel_workers=1,
        num_shards=num_shards,
        shard_id=shard_id,
        **padding,
    )

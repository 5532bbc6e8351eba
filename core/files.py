"""Files that are whole or not there: written under a temporary name, fsynced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mspt.core.errors import CheckFailed, MachineError

_attempts = itertools.count()
TEMPORARY = ".tmp-"  # in every temporary name; whatever carries it was cut off and is removed by the next run


_SHORT_WRITE = re.compile(r"\d+ requested and \d+ written")


def temporary_name(path: Path) -> Path:
    """A name beside `path` that no other process and no other attempt uses."""
    return path.with_name(f"{path.name}{TEMPORARY}{os.getpid()}-{next(_attempts)}")


def fsync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def fsync_file(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yields a temporary path; at the end of the block what was written there becomes `path` in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        yield temporary
        fsync_file(temporary)
        os.replace(temporary, path)
        fsync_directory(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", errors="surrogatepass")


def read_json(path: Path, removable: Path) -> dict[str, Any]:
    """The JSON object in a file that mspt wrote whole. CheckFailed where it is none (any more), saying what may be removed: the least that repairs it."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise CheckFailed(f"{path} is not valid JSON", f"restore it from a copy, or remove {removable}")
    return value


def sha256_file(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def link_or_copy(source: Path, target: Path) -> None:
    """A hard link, or a copy where the file system has none. An existing `target` is replaced."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(target)
    try:
        try:
            os.link(source, temporary)
        except OSError as error:
            if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP):
                raise
            shutil.copyfile(source, temporary)
            fsync_file(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def remove_temporaries(directory: Path) -> None:
    """Removes what killed attempts left below `directory`."""
    for path in directory.rglob(f"*{TEMPORARY}*"):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def is_disk_full(error: BaseException) -> bool:
    """NumPy's tofile and save say only how much was written, without an errno."""
    if not isinstance(error, OSError):
        return False
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) or (error.errno is None and _SHORT_WRITE.fullmatch(str(error)) is not None)


def is_machine_fault(error: BaseException) -> bool:
    """A file system that refuses: no bug of ours, and nothing that a traceback would tell a person."""
    return is_disk_full(error) or (isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE))


def machine_fault(error: OSError) -> MachineError:
    if is_disk_full(error):
        return MachineError(f"{error.filename or 'a disk'}: {error.strerror}", "free some space (`mspt gc` lists what can go) and run the same command again")
    return MachineError(f"{error.filename or 'a file'}: {error.strerror}", "once that is repaired run the same command again: what was finished is kept")


def disk_full(directory: Path) -> MachineError:
    free = shutil.disk_usage(directory).free
    return MachineError(
        f"the disk of {directory} is full ({free / 1e6:.0f} MB free)",
        "free some space (`mspt gc` lists what can go) and run the same command again: finished units are kept",
    )

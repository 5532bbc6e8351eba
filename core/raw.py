"""Raw inputs: which files a PATH means, what they are called, how they are cut into units, and what was recorded of them.

A unit is cut by the inputs' own content: files in the order of (source, path), closed where a hash of the path says so or when it is large
enough. So an added or removed file changes only the units around it, and all other units keep their bytes.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from mspt.core.config import canonical_json
from mspt.core.errors import InputError, MsptError

UNIT_BYTES = 64 * 2**20  # a unit closes at this size ...
UNIT_CLOSE_ONE_IN = 64  # ... or after a file whose path hash is 0 modulo this: about 64 small files
_SLUG = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class RawFile:
    """One input file. `path` is relative to its PATH argument and is what refs and fingerprints hold; `location` is where it lies now."""

    source: str
    path: str
    location: str
    bytes: int
    mtime_ns: int
    sha256: str = ""

    @property
    def stat(self) -> tuple[str, str, int, int]:
        return (self.source, self.path, self.bytes, self.mtime_ns)

    @property
    def content(self) -> list[Any]:
        """How it counts in a fingerprint."""
        return [self.source, self.path, self.bytes, self.sha256]


@dataclass(frozen=True)
class RawPath:
    """A PATH argument (file, directory or glob), with the name of its source where `--source NAME=PATH` gave one."""

    path: str
    name: str = ""

    @staticmethod
    def parse_source(text: str) -> RawPath:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise MsptError(f"--source {text}: expected NAME=PATH", "for example --source novels=raw/novels")
        if slug(name) != name:
            raise MsptError(f"--source {text}: `{name}` is no source name", f"letters, digits, `.`, `-` and `_`; for example `{slug(name)}`")
        return RawPath(path, name)


def slug(text: str) -> str:
    """A source name: blanks and punctuation become `-`."""
    return _SLUG.sub("-", text).strip("-.") or "source"


def _stem(path: Path) -> str:
    """Base name without the extensions that only say how it is stored."""
    name = path.name
    while True:
        shorter = re.sub(r"\.(gz|bz2|xz|zst|zip|tar|tgz|jsonl|ndjson|json|txt|html?|csv|tsv|warc|parquet)$", "", name, flags=re.IGNORECASE)
        if shorter in ("", name):
            return name
        name = shorter


def name_sources(paths: Sequence[RawPath], base: Path) -> list[tuple[str, list[Path]]]:
    """(source, files and directories that it means) for each PATH argument, globs expanded.

    A source without a name takes the base name of its argument; equal base names take the shortest distinguishing parents.
    """
    expanded = [(raw, _expand(raw.path, base)) for raw in paths]
    unnamed = [Path(os.path.normpath(base / raw.path)) for raw, _ in expanded if not raw.name]
    names = iter(_distinguish(unnamed))
    return [(raw.name or next(names), found) for raw, found in expanded]


def _expand(path: str, base: Path) -> list[Path]:
    full = base / Path(path).expanduser()
    if full.exists():
        return [full]
    found = sorted(Path(p) for p in glob.glob(str(full), recursive=True))
    if not found:
        raise MsptError(f"{path}: no such file or directory, and no file matches it as a pattern", f"paths are relative to {base}")
    return found


def _distinguish(paths: Sequence[Path]) -> list[str]:
    parts = [(*p.parent.parts[1:], _stem(p)) if not glob.has_magic(p.name) else p.parent.parts[1:] for p in paths]
    depth = dict.fromkeys(range(len(paths)), 1)
    while True:
        names = [slug("-".join(part[-depth[i] :])) for i, part in enumerate(parts)]
        clashes = [i for i, name in enumerate(names) if names.count(name) > 1 and depth[i] < len(parts[i]) and len(set(map(str, paths))) == len(paths)]
        if not clashes:
            return names
        for i in clashes:
            depth[i] += 1


def list_files(paths: Sequence[RawPath], base: Path) -> list[RawFile]:
    """Every regular file that the arguments mean, in the order of (source, path). Links to directories and devices are not followed."""
    found: dict[tuple[str, str], RawFile] = {}
    for source, places in name_sources(paths, base):
        for place in places:
            root = place if place.is_dir() else place.parent
            for location in _walk(place):
                relative = os.fsencode(location.relative_to(root)).decode("utf-8", "backslashreplace")
                stat = location.stat()
                file = RawFile(source, relative, str(location), stat.st_size, stat.st_mtime_ns)
                other = found.get((source, relative))
                if other is not None and other.location != file.location:
                    raise MsptError(
                        f"source `{source}` has two files {relative}: {other.location} and {file.location}", "give them different names: --source NAME=PATH"
                    )
                found[source, relative] = file
    if not found:
        raise InputError("the paths hold no file", "give at least one PATH with files in it")
    return [found[key] for key in sorted(found)]


def _walk(place: Path) -> Iterable[Path]:
    if place.is_file():
        yield place
        return
    if not place.is_dir():
        raise MsptError(f"{place} is neither a file nor a directory", "devices, pipes and sockets are not read")
    for directory, folders, names in os.walk(place):
        folders.sort()
        for name in sorted(names):
            path = Path(directory) / name
            if path.is_file():
                yield path


def cut_units(files: Sequence[RawFile]) -> list[list[RawFile]]:
    """Groups of files in order; the cuts depend on nothing but the files of a group and the hash of the path before it."""
    units: list[list[RawFile]] = []
    open_: list[RawFile] = []
    for file in files:
        if open_ and file.source != open_[0].source:
            units.append(open_)
            open_ = []
        open_.append(file)
        closes = xxhash.xxh64_intdigest(f"{file.source}\0{file.path}".encode()) % UNIT_CLOSE_ONE_IN == 0
        if closes or sum(f.bytes for f in open_) >= UNIT_BYTES:
            units.append(open_)
            open_ = []
    return [*units, open_] if open_ else units


def unit_key(files: Sequence[RawFile]) -> str:
    """Name of a unit inside a version: the same files have the same key wherever they stand."""
    text = canonical_json([[f.source, f.path] for f in files])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rehash(file: RawFile) -> RawFile:
    with open(file.location, "rb") as handle:
        return replace(file, sha256=hashlib.file_digest(handle, "sha256").hexdigest())


def write_inputs(path: Path, files: Sequence[RawFile]) -> None:
    """inputs.parquet: source, path, bytes, mtime_ns, sha256."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = ("source", "path", "bytes", "mtime_ns", "sha256")
    types = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string())
    columns = {name: pa.array([getattr(f, name) for f in files], kind) for name, kind in zip(names, types, strict=True)}
    pq.write_table(pa.table(columns), path, compression="zstd")


def read_inputs(path: Path) -> dict[tuple[str, str], RawFile]:
    import pyarrow.parquet as pq

    rows = pq.read_table(path).to_pylist()
    return {(r["source"], r["path"]): RawFile(location="", **r) for r in rows}

"""Raw inputs: which files a PATH means, what they are called, how they are cut into units, and what was recorded of them.

A unit is cut by the inputs' own content: files in the order of (source, path), closed where a hash of the path says so or when it is large
enough. So an added or removed file changes only the units around it, and all other units keep their bytes.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import xxhash

from mspt.core.config import canonical_json
from mspt.core.errors import InputError, MsptError

UNIT_BYTES = 64 * 2**20  # a unit closes at this size ...
UNIT_CLOSE_ONE_IN = 64  # ... or after a file whose path hash is 0 modulo this: about 64 small files
NOT_FILES = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket", stat.S_IFCHR: "character device", stat.S_IFBLK: "block device"}
_SLUG = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class RawFile:
    """One input file. `path` is relative to its PATH argument and is what refs and fingerprints hold; `location` is where it lies now.

    problem: why there is nothing to read at `location`: not-a-file (link, pipe, socket, device) or unreadable (file or folder); `detail` says more.
    Such an entry has 0 bytes, and its sha256 is that of what is said of it.
    """

    source: str
    path: str
    location: str
    bytes: int
    mtime_ns: int
    sha256: str = ""
    problem: str = ""
    detail: str = ""

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


def locate(path: str | Path, base: Path) -> Path:
    """Where a path that a person gave lies. MsptError where none can: an empty one would be the whole folder `base`, "~nobody" is nobody's home."""
    if not str(path):
        raise MsptError("an empty path: nothing to read", "the current folder is `.`; a variable of the shell may be unset")
    try:
        full = base / Path(path).expanduser()
        full.exists()
    except (OSError, RuntimeError) as error:
        raise MsptError(f"{str(path)[:200]}: {getattr(error, 'strerror', None) or error}", f"paths are relative to {base}") from None
    return full


def _expand(path: str, base: Path) -> list[Path]:
    full = locate(path, base)
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


def list_files(paths: Sequence[RawPath], base: Path, *, follow_links: bool = False) -> list[RawFile]:
    """Everything that the arguments mean, in the order of (source, path): regular files, and what is none as an entry with a `problem`.

    Links below a PATH are not followed: what they lead to lies in the same PATH and would be read twice, or elsewhere, where the person did not
    point. follow_links: links to files count as files, and nothing is listed that is none (a model's folder in a cache is made of links).
    """
    found: dict[tuple[str, str], RawFile] = {}
    for source, places in name_sources(paths, base):
        for place in places:
            for file in _entries(source, place, follow_links):
                other = found.get((source, file.path))
                if other is not None and other.location != file.location:
                    raise MsptError(
                        f"source `{source}` has two files {file.path}: {other.location} and {file.location}", "give them different names: --source NAME=PATH"
                    )
                found[source, file.path] = file
    if not found:
        raise InputError("the paths hold no file", "give at least one PATH with files in it")
    return [found[key] for key in sorted(found)]


def _entries(source: str, place: Path, follow_links: bool) -> Iterator[RawFile]:
    """What lies at or below one path, under readable names."""
    start = len(os.fsencode(os.path.join(place, ""))) if place.is_dir() else len(os.fsencode(place)) - len(os.fsencode(place.name))
    found = [(os.fsencode(location)[start:] or b".", location, problem, detail) for location, problem, detail in _walk(place, follow_links)]
    names = _readable([raw for raw, *_ in found])
    for raw, location, problem, detail in found:
        if problem:
            said = hashlib.sha256(f"{problem}: {detail}".encode()).hexdigest()
            yield RawFile(source, names[raw], location, 0, _changed_ns(location), said, problem, detail)
        else:
            status = os.stat(location)
            yield RawFile(source, names[raw], location, status.st_size, status.st_mtime_ns)


def _changed_ns(location: str) -> int:
    try:
        return os.lstat(location).st_mtime_ns
    except OSError:  # below a folder that cannot be entered, or a path that is too long for the system
        return 0


def _readable(raws: Sequence[bytes]) -> dict[bytes, str]:
    """Names as text, each only once: in UTF-8, else in the encoding that all of them together speak for, else with their odd bytes as escapes."""
    names = {raw: raw.decode() for raw in raws if _is_plain(raw)}
    if len(names) == len(raws):
        return names
    from mspt.core.text.containers.names import NameCodec, one_line

    codec, taken = NameCodec(), set(names.values())
    odd = sorted(raw for raw in raws if raw not in names)
    for raw in odd:
        codec.learn(raw)
    for raw in odd:
        name = one_line(codec.decode(raw))
        if name in taken:
            name = one_line(raw.decode("utf-8", "backslashreplace"))
        if name in taken:
            name = f"{name}~{xxhash.xxh3_64_hexdigest(raw)[:8]}"
        names[raw] = name
        taken.add(name)
    return names


def _is_plain(raw: bytes) -> bool:
    try:
        return raw.decode().isprintable()
    except UnicodeDecodeError:
        return False


def _walk(place: Path, follow_links: bool) -> Iterator[tuple[str, str, str]]:
    """(location, problem, detail) of everything at or below a path that is no folder, and of folders that cannot be read."""
    if place.is_file():  # a link that a person named is followed
        yield (str(place), "", "") if follow_links else _file(str(place))
        return
    if not place.is_dir():
        raise MsptError(f"{place} is neither a file nor a directory", "devices, pipes and sockets are not read")
    folders = [str(place)]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                inside = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            if not follow_links:
                yield folder, "unreadable", f"folder: {error.strerror}"
            continue
        folders += [entry.path for entry in reversed(inside) if entry.is_dir(follow_symlinks=False)]
        if follow_links:
            yield from ((entry.path, "", "") for entry in inside if os.path.isfile(entry.path))
        else:
            yield from (_file_or_not(entry) for entry in inside if not entry.is_dir(follow_symlinks=False))


def _file_or_not(entry: os.DirEntry[str]) -> tuple[str, str, str]:
    if entry.is_file(follow_symlinks=False):
        return _file(entry.path)
    try:
        if entry.is_symlink():
            target = os.fsencode(os.readlink(entry.path)).decode("utf-8", "backslashreplace")
            return entry.path, "not-a-file", f"symbolic link to {target if target.isprintable() else ascii(target)[1:-1]}"
        kind = stat.S_IFMT(entry.stat(follow_symlinks=False).st_mode)
    except OSError as error:
        return entry.path, "unreadable", f"{error.strerror}"
    return entry.path, "not-a-file", NOT_FILES.get(kind, "neither file nor folder")


def _file(location: str) -> tuple[str, str, str]:
    return (location, "", "") if os.access(location, os.R_OK) else (location, "unreadable", "file: it may not be read")


def cut_units(files: Sequence[RawFile], unit_bytes: int = UNIT_BYTES) -> list[list[RawFile]]:
    """Groups of files in order; the cuts depend on nothing but the files of a group and the hash of the path before it."""
    units: list[list[RawFile]] = []
    open_: list[RawFile] = []
    for file in files:
        if open_ and file.source != open_[0].source:
            units.append(open_)
            open_ = []
        open_.append(file)
        closes = xxhash.xxh64_intdigest(f"{file.source}\0{file.path}".encode()) % UNIT_CLOSE_ONE_IN == 0
        if closes or sum(f.bytes for f in open_) >= unit_bytes:
            units.append(open_)
            open_ = []
    return [*units, open_] if open_ else units


def unit_key(files: Sequence[RawFile]) -> str:
    """Name of a unit inside a version: the same files have the same key wherever they stand."""
    text = canonical_json([[f.source, f.path] for f in files])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def rehash(file: RawFile) -> RawFile:
    if file.problem:
        return file
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

"""Opens a file with all that lies in it, and checks on the way what must hold for any file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from mspt.core.text.containers.streams import open_raw
from mspt.core.text.containers.walk import Leaf, Limits, Problem, walk


def open_all(folder: Path, data: bytes, limits: Limits = Limits(), ref: str = "raw") -> tuple[dict[str, bytes], list[Problem]]:  # noqa: B008
    """({ref: bytes} of the leaves, the problems). The raw file is hashed whole, no ref comes twice, and nothing is left in `folder`."""
    path = folder / "input"
    path.write_bytes(data)
    leaves, problems = {}, []
    stream = open_raw(path)
    for found in walk(stream, ref, limits, scratch=folder):
        if isinstance(found, Leaf):
            assert found.ref not in leaves
            leaves[found.ref] = b"".join(found.stream.chunks())
        else:
            problems.append(found)
    assert stream.origin is not None
    assert stream.origin.sha256() == hashlib.sha256(data).hexdigest()
    assert [p.name for p in folder.iterdir()] == ["input"]  # names in archives never became files
    return leaves, problems


def rules(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.ref, problem.rule) for problem in problems]

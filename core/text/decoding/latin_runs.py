"""UTF-8 that was read as Latin-1 or cp1252, found run by run, so that one word of a sound line is repaired too: naÃ¯ve, donâ€™t, ä½ å¥½.

The runs of accented characters of a line must all be valid UTF-8. A capital and a closing quote may be that by accident (“AMANHÃ”, „Ä“), so quotation marks
prove nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from mspt.core.text.decoding.suspicion import CP1252_SPECIALS

TO_LATIN_1 = str.maketrans(CP1252_SPECIALS)
HIGH = "\u0080-\u00ff" + "".join(CP1252_SPECIALS)
# The byte 9D is nothing in cp1252, so many readers drop it: what remains of a closing quotation mark is "â€".
LOST_9D = re.compile("â€(?![\x80-\xbf" + "".join(CP1252_SPECIALS) + "])")
HIGH_RUN = re.compile(f"[{HIGH}]+")
QUOTE_MARKS = "‘’“”„‚…–—«»‹›\xa0\xad"
QUOTES = frozenset(QUOTE_MARKS)
MIN_SEQUENCES = 3  # in a line, where the leads are not those of Latin-1 letters: "10 Å²" is sound


def undo_latin_runs(lines: list[str]) -> dict[int, str]:
    """The repaired lines, by number."""
    evidence = {number: _weigh(line) for number, line in enumerate(lines) if not line.isascii() and HIGH_RUN.search(line)}
    proven = sum(_is_proven(found) for found in evidence.values())
    if not proven:
        return {}
    habit = proven > sum(found.against > 0 for found in evidence.values())
    wanted = (number for number, found in evidence.items() if _is_proven(found) or (habit and found.sequences > 0 and not found.against))
    return {number: HIGH_RUN.sub(_unlatin, lines[number]) for number in wanted}


@dataclass
class _Evidence:
    """What the runs of high characters of one line say."""

    sequences: int = 0
    longest: int = 0  # sequences in one run
    strong: bool = False
    against: int = 0


def _weigh(line: str) -> _Evidence:
    found = _Evidence()
    for match in HIGH_RUN.finditer(line):
        run = match[0].lstrip(QUOTE_MARKS) if match[0][0] in QUOTES else match[0]
        if not run:
            continue  # quotation marks on their own speak neither way
        decoded = _as_utf8(run)
        if decoded is None or "\ufffd" in decoded:
            found.against += 1
            continue
        found.sequences += len(decoded)
        found.longest = max(found.longest, len(decoded))
        start = match.end() - len(run)
        found.strong |= _is_strong(run, decoded) or _is_inside_word(line, start, match.end()) or _is_word_of_its_own(line, start)
    return found


def _is_strong(run: str, decoded: str) -> bool:
    """Whether no sound text would have these characters in a row: "Ã©", "â€™", a C1 control behind a letter."""
    if any("\x80" <= char < "\xa0" for char in run):
        return True
    if any(ord(char) >= 0x800 for char in decoded):
        return not QUOTES.issuperset(run[1:])
    return any(lead in "ÂÃ" and tail not in QUOTES for lead, tail in zip(run[::2], run[1::2], strict=False))


def _is_inside_word(line: str, start: int, end: int) -> bool:
    """A capital in the middle of a word of small letters ("hakkÄ±nda")."""
    return line[start].isupper() and (line[start - 1 : start].islower() or line[end : end + 1].islower())


def _is_word_of_its_own(line: str, start: int) -> bool:
    """ "Ã" and a no-break space behind a blank: the word "à"; behind letters it may be the end of a Portuguese word in capitals."""
    return line[start : start + 2] == "Ã\xa0" and line[start - 1 : start] == " "


def _is_proven(found: _Evidence) -> bool:
    return not found.against and (found.strong or (found.sequences >= MIN_SEQUENCES and found.longest >= 2))


def _as_utf8(run: str) -> str | None:
    try:
        return LOST_9D.sub("â€\x9d", run).translate(TO_LATIN_1).encode("latin-1").decode("utf-8")
    except UnicodeError:
        return None


def _unlatin(match: re.Match[str]) -> str:
    run = match[0]
    bare = run.lstrip(QUOTE_MARKS)
    decoded = _as_utf8(run)
    if decoded is not None:
        return decoded
    return run[: len(run) - len(bare)] + (_as_utf8(bare) or bare)

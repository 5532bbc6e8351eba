"""Whether text is Markdown beyond doubt: two kinds of its marks at least, of which comments of programs and plain lists show one at most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

# A heading stands alone: a comment is followed by the line that it is about.
HEADING = re.compile(rb"(?:\A|\n[ \t]*\r?\n)#{1,6}[ \t]{1,4}[^\s#][^\n]{0,300}\n[ \t]*\r?\n")
FENCE = re.compile(rb"(?m)^ {0,3}(?:```|~~~)[ \t]*[\w+#.{}-]{0,30}[ \t]*\r?$")
LINK = re.compile(rb"\]\((?:https?://|mailto:|\.{0,2}/|#|[\w.%/-]{1,200}\.(?:md|html?|png|jpe?g|gif|svg)\b)[^()\s]{0,500}")
TABLE = re.compile(rb"(?m)^[ \t]{0,3}\|?[ \t]{0,20}:?-{3,100}:?[ \t]{0,20}\|[ \t|:-]{0,500}\r?$")
BOLD = re.compile(rb"(?<![\w*\\/])\*\*[^\s*][^*\n]{0,200}\*\*(?![\w*])")
ITEM = re.compile(rb"(?m)^ {0,3}[-*+][ \t]{1,3}[^\s-]")

FENCED = re.compile(rb"[ \t]*(```|~~~)")
CODE = re.compile(rb"[ \t]*(?:(?:def|class|import|from|return|elif|raise|assert|endif|set|message)\b[ (\w.]|@\w|[\w.]{1,60}(?:\[[^\]\n]{0,60}\])? [+*/-]?= \S)")
MAX_STATEMENT = 300  # characters before the end of a statement

MIN_KINDS = 2
MIN_ITEMS = 3
MAX_CODE_SHARE = 0.15  # of the lines outside fences; programs that quote Markdown in their comments have .17 and more (site-packages)


def is_markdown(head: bytes) -> bool:
    """Whether `head` (in an encoding that keeps ASCII) is Markdown."""
    structure = islice((sign for sign in (_has_heading, _has_fences, _has_table) if sign(head)), MIN_KINDS)
    found = sum(1 for _ in structure)
    if not found or found + sum(sign(head) for sign in (_has_links, _has_items) if found < MIN_KINDS) < MIN_KINDS:
        return False
    lines = [line for line in _outside_fences(head.split(b"\n")) if line.strip()]
    return sum(map(_is_code, lines)) <= MAX_CODE_SHARE * len(lines)


def _outside_fences(lines: list[bytes]) -> Iterator[bytes]:
    """The lines outside fenced blocks, and what stands behind the mark that closes one."""
    place = 0
    while place < len(lines):
        fence = FENCED.match(lines[place])
        closing = _closing(lines, place, fence[1]) if fence else None
        if closing:
            place, rest = closing
            yield rest
        else:
            yield lines[place]
        place += 1


def _closing(lines: list[bytes], opening: int, mark: bytes) -> tuple[int, bytes] | None:
    """The number of the line that closes a block, and what stands behind its mark; None where none does."""
    for place in range(opening + 1, len(lines)):
        if mark in lines[place] and (line := lines[place].lstrip(b" \t")).startswith(mark):
            return place, line[len(mark) :]
    return None


def _is_code(line: bytes) -> bool:
    if CODE.match(line):
        return True
    statement = line.removesuffix(b"\r").strip(b" \t")
    end = 1 if statement.endswith((b";", b"{", b"}")) else 2 if statement.endswith(b"):") else 0
    return end > 0 and len(statement) - end <= MAX_STATEMENT


def _has_heading(head: bytes) -> bool:
    return b"#" in head and HEADING.search(head) is not None


def _has_fences(head: bytes) -> bool:
    # One byte is looked for at ten times the speed of three.
    has_mark = (b"`" in head and b"```" in head) or (b"~" in head and b"~~~" in head)
    return has_mark and sum(1 for _ in islice(FENCE.finditer(head), 2)) > 1


def _has_table(head: bytes) -> bool:
    return b"|" in head and b"--" in head and TABLE.search(head) is not None


def _has_links(head: bytes) -> bool:
    return LINK.search(head) is not None


def _has_items(head: bytes) -> bool:
    return b"**" in head and BOLD.search(head) is not None and len(ITEM.findall(head)) >= MIN_ITEMS

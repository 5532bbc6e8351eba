r"""Escape residues: text that was written for a program (JSON, Python) and never read back: 第一行\n第二行, It\u2019s, \"yes\", \xe4\xb8\xad.

They are undone where the whole document shows the habit: where the escape stands *instead of* the character, not beside it. A JSON string has no line end of
its own, no bare quote and, as most programs write it, no character beyond ASCII. Who writes *about* escapes writes lines, quotes and characters as everybody
does, and names escapes one by one, between quotes or blanks. In doubt they stay; in code, addresses and paths always.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from mspt.core.text.normal.document import Document, Edits
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import Regions, verbatim
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit

FORMS = frozenset({"prose", "verse"})  # an escaped line end keeps the row of a table together; markup has backslashes of its own
MIN_ESCAPES = {"line": 3, "quote": 4, "apostrophe": 3, "unicode": 3, "bytes": 3}  # that make a habit; quotes come in pairs, and \/ is none by itself
MANY_ESCAPES = 20  # so many are a habit even where the text speaks of escapes (ABOUT)
MAX_BARE = 0.05  # bare characters for each escaped one of its kind
MIN_UNDERSTOOD = 0.9  # of the backslashes: LaTeX, regular expressions and paths have others
MIN_EMBEDDED = 0.8  # of the escapes: those that are not named between blanks or quotes
MAIN_SHARE, SOLE_SHARE = 0.3, 0.6  # of the characters, from which on many escapes, and few, are what a text is made of, whatever stands around them
ABOUT = re.compile(
    r"\b(?:escap(?:e|ing) (?:sequence|character|code)|escaped|unescap|backslash|regexp?\b|regular expression|unicode|utf-?8|codecs?\b|ascii\b|json\b|html|"
    r"xml\b|css\b|markdown|bbcode|(?:percent|url)[- ]?(?:en|de)cod|(?:character|named) (?:entit|reference)|newlines?\b|line ?feed|tags?\b|string literal|"
    r"printf|(?:for|in|is|as|bold|and) (?:bold|italics?)\b|ampersand|in the shell\b)",
    re.ASCII,
)
ABOUT_HAN = re.compile(
    "转义|轉義|跳脫|反斜|正则表达|正規表|正則表|换行[符写用]|換行[符寫用]|编码|編碼|解码|解碼|字符串|字串|标签|標籤|实体引用|字符实体|变粗|變粗|加粗|变斜|變斜|粗体|粗體|斜体|斜體|下划线"
)
ASCII_RUN = re.compile("[ -~]{3,}")

# Escaped once: \n and \"; twice: \\n and \\\"; three times: \\\\n and \\\\\\\".
LEVELS = (1, 2, 3)
# Commands of TeX that begin like an escape; \to and \ni cannot be told from a tab and "o", a line end and "i".
TEX = (
    r"(?:n(?:abla|e|eq|eg|i|ot|otin|u|mid|leq|geq|ewline|onumber|oindent|ewcommand|ormalsize)|t(?:ext\w{0,6}|heta|au|an|anh|imes|o|op|ilde|riangle|itle|iny)"
    r"|r(?:ho|ight\w{0,8}|angle|ceil|floor|ef|m|enewcommand))(?![A-Za-z])"
)
RUN = re.compile(r"\\+")
ACCENT = re.compile(r"[A-Za-z]\\+(?:\"[A-Za-z{]|'[aeiouyAEIOUY{])|(?<![^\n])[.']\\+\"")  # G\"odel and caf\'e are TeX, .\" is roff
DATA = re.compile(r'\s*[\[{]\s*["\[{]')  # JSON itself
JSON_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}|[^u])")
LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
# Between what an escape stands that is named: "\n", [^\n], the \n character. A quote behind it may also open what follows: end.\n"And
NAMED_BEFORE = re.compile(r"[\s\"'“‘「『`(\[{（【《<^|=+,，、]")
NAMED_AFTER = re.compile(r"[\s`)\]}）】》>|,.;:，。；：、”’」』+*?]|[\"'](?![A-Za-z\u3400-\u9fff])|\Z")
# What Python's repr escapes where it leaves Han as they are: blanks, marks that show nothing, private use.
UNPRINTED = re.compile("[\x80-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ue000-\uf8ff\ufeff]")
LOWER = re.compile("[a-z]")
UNSAFE = re.compile(r"[A-Za-z0-9\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")  # nobody need escape a letter, and with a backslash or a digit a new escape could arise


class Escape(NamedTuple):
    """A run of escapes of one kind, text[start:end]: how many, and what they stand for; "" where they stand for nothing."""

    kind: str
    start: int
    end: int
    number: int
    characters: str


def backslashes(document: Document) -> Edits:
    r"""\n, \t, \r, \", \', \/, \u4e2d (surrogates in pairs) and \xe4\xb8\xad (UTF-8) undone. Idempotent."""
    return settled(document, lambda one: [Edit(escape.start, escape.end, escape.characters) for escape in residues(one)])


def residues(document: Document) -> list[Escape]:
    """The runs of backslash escapes that are to be undone."""
    text = document.text
    if document.form not in FORMS or DATA.match(text):
        return []
    if "\n" not in text and (escapes := _json_string(text)):
        return escapes
    regions = verbatim(document)
    runs = sum(1 for run in RUN.finditer(text) if not regions.touch(*run.span()))
    for level in LEVELS:
        escapes = list(_escapes(text, level, regions))
        if runs and sum(one.number for one in escapes if one.characters) >= MIN_UNDERSTOOD * runs:
            habits = _habits(text, escapes)
            return [one for one in escapes if one.kind in habits and one.characters]
    return []


def _json_string(text: str) -> list[Escape]:
    """The escapes of a text that is, between quotes, a JSON string of many lines. Whatever it holds was escaped with it, programs too."""
    lines = sum(1 for match in JSON_ESCAPE.finditer(text) if match[0] == "\\n")
    try:
        if lines >= MANY_ESCAPES:
            json.loads(f'"{text}"', strict=False)
            return [Escape("json", *match.span(), 1, json.loads(f'"{match[0]}"')) for match in JSON_ESCAPE.finditer(text)]
    except ValueError:
        pass
    return []


@cache
def _pattern(level: int) -> re.Pattern[str]:
    plain, quote = 2 ** (level - 1), 2**level - 1
    again = rf"\\{{{plain}}}"
    return re.compile(
        r"\\(?<!\\\\)(?:"
        rf"\\{{{plain - 1}}}(?:(?P<unicode>u[0-9a-fA-F]{{4}}(?:{again}u[0-9a-fA-F]{{4}})*+)|(?P<bytes>x[0-9a-fA-F]{{2}}(?:{again}x[0-9a-fA-F]{{2}})*+)"
        rf"|(?P<line>(?!{TEX})[ntr](?:{again}(?!{TEX})[ntr])*+))|\\{{{quote - 1}}}(?:(?P<quote>\")|(?P<apostrophe>')|(?P<slash>/)))"
    )


def _escapes(text: str, level: int, regions: Regions) -> Iterator[Escape]:
    reached = 0
    for match in _pattern(level).finditer(text):
        kind, start, end, behind_escape, reached = match.lastgroup or "", match.start(), match.end(), match.start() == reached, match.end()
        if regions.touch(start, end):
            continue
        parts = match[kind].split("\\" * 2 ** (level - 1)) if kind in ("unicode", "bytes", "line") else [match[kind]]
        characters = _read(kind, parts)
        is_other = UNSAFE.search(characters) if kind in ("unicode", "bytes") else not behind_escape and ACCENT.match(text, max(0, start - 1))
        yield Escape(kind, start, end, len(parts), "" if is_other else characters)


def _read(kind: str, parts: list[str]) -> str:
    """What escapes stand for; "" where they are no characters."""
    try:
        if kind == "unicode":
            return b"".join(int(part[1:], 16).to_bytes(2, "little") for part in parts).decode("utf-16-le")
        if kind == "bytes":
            octets = bytes(int(part[1:], 16) for part in parts)
            return octets.decode("latin-1" if all(one in b"\x85\xa0\xad" for one in octets) else "utf-8")
    except UnicodeDecodeError:
        return ""
    return "".join(LETTERS.get(part, part) for part in parts)


def _habits(text: str, escapes: list[Escape]) -> set[str]:
    """The kinds whose escapes stand instead of the characters; where one kind is plain, fewer of another will do."""
    by_kind: dict[str, list[Escape]] = {}
    for one in escapes:
        if one.characters:
            by_kind.setdefault(one.kind, []).append(one)
    consistent = {kind: sum(one.number for one in some) for kind, some in by_kind.items() if _stand_instead(text, kind, some)}
    plain = [number for kind, number in consistent.items() if number >= MIN_ESCAPES.get(kind, len(text))]
    if not plain or (max(plain) < MANY_ESCAPES and is_about_escapes(text)):
        return set()
    return set(consistent)


@lru_cache(maxsize=2)  # several steps ask
def is_about_escapes(text: str) -> bool:
    """Whether a text speaks of escapes, encodings or markup."""
    latin = text if text.isascii() else "\n".join(ASCII_RUN.findall(text))
    return ABOUT.search(latin.lower()) is not None or ABOUT_HAN.search(text) is not None


def _stand_instead(text: str, kind: str, escapes: list[Escape]) -> bool:
    number = sum(one.number for one in escapes)
    if kind in ("quote", "apostrophe", "slash"):
        return text.count(escapes[0].characters) - number <= MAX_BARE * number
    if kind == "line":
        if 2 * sum(1 for one in escapes if LOWER.match(text, one.end)) > len(escapes):
            return False  # commands of TeX, paths of Windows
        written, bare_ends = sum(one.characters.count("\n") for one in escapes), text.count("\n")
        return written >= bare_ends and ((written >= MANY_ESCAPES and bare_ends <= MAX_BARE * written) or are_embedded(text, escapes))
    is_main = sum(one.end - one.start for one in escapes) >= (MAIN_SHARE if number >= MANY_ESCAPES else SOLE_SHARE) * len(text)
    return bare(text, "".join(one.characters for one in escapes)) <= MAX_BARE * number and (is_main or are_embedded(text, escapes))


def are_embedded(text: str, escapes: list[Escape]) -> bool:
    named = sum(1 for one in escapes if (one.start == 0 or NAMED_BEFORE.match(text, one.start - 1)) and NAMED_AFTER.match(text, one.end))
    return named <= (1 - MIN_EMBEDDED) * len(escapes)


def bare(text: str, undone: str) -> int:
    """How many characters of `text` are of the kinds of those that were escaped: beyond ASCII, blanks beyond ASCII, and each of ASCII by itself."""
    number = sum(map(text.count, {one for one in undone if one.isascii()}))
    blanks = 0 if text.isascii() else sum(1 for _ in UNPRINTED.finditer(text))
    if UNPRINTED.search(undone):
        number += blanks
    if any(not one.isascii() and not UNPRINTED.match(one) for one in undone):
        number += int(np.count_nonzero(code_points(text) >= 0x80)) - blanks
    return number

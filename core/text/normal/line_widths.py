"""What the lines of a text are as lines of wrapped prose: where their words begin and end, how wide they are, whether they may be prose at all, and what their
first and last characters say. One compiled pass."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel
from mspt.core.text.normal.classes import set_bits
from mspt.core.text.script import Codes

MAX_WIDTH = 110  # columns that a line of wrapped prose may have; a Han character takes two
LONGEST_WORD = 30
SLACK = 2  # columns by which a line of Han may fall short: for an odd letter, or a mark that may not begin a line
MIN_FOR_SIGN = 10  # characters of prose for each sign of a program
MAX_CLOSERS = 3  # behind the end of a sentence
MAX_ROMAN = 5  # digits of the number of an item

# Bits of characters.
(HAN, MARK, WIDE, BLANK, LETTER, DRAWN, END, CLOSER, SPACE, RULE, SIGN, SMALL, CAPITAL, CASELESS, UNSPACED, OPENS, CLOSES, OF_BOTH, BEFORE_WORD, BEHIND_WORD,
 STARTS, PIPE) = (1 << bit for bit in range(22))  # fmt: skip
HAN_CHARACTERS = "\u3005\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
MARK_CHARACTERS = "\u2018-\u201d\u2026\u3001\u3002\u3008-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
CHARACTERS = {
    HAN: HAN_CHARACTERS,
    MARK: MARK_CHARACTERS,
    WIDE: f"{HAN_CHARACTERS}{MARK_CHARACTERS}\u2014\u2e80-\u3000\uff01-\uff60\uac00-\ud7a3",
    BLANK: "\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",  # as str.strip has it
    LETTER: "A-Za-z",
    DRAWN: "\t\u2500-\u257f",  # tables are drawn with it
    END: ".!?。！？…:：;；",
    CLOSER: "\"'”’)）」』]",
    SPACE: " ",
    RULE: "-.=_*",
    SIGN: "(){}[]=;<>_\\$`",  # of programs
    SMALL: "a-z",
    CAPITAL: "A-Z",
    CASELESS: "\x00-\x7f\u2010-\u2027\u2030-\u205e\u2e80-\ua4cf\uac00-\ud7a3\uff01-\uff20\uff3b-\uff40\uff5b-\uffdc\U00020000-\U0003134f",  # or of ASCII
    UNSPACED: "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\uac00-\ud7ff",  # Thai to Khmer; Hangul, which breaks inside words too
    OPENS: '"“「『‘',  # quotations; and what closes them, or ends a sentence
    CLOSES: '"”」』’.!?。！？…',
    OF_BOTH: "\u2018\u2019\u201c\u201d\u2026",  # quotes and ellipses, which Western text has as Chinese has
    BEFORE_WORD: '"“‘”「『《',  # before the first word of a line of prose, and behind it
    BEHIND_WORD: ",;!?'’\"”",
    STARTS: "acdefips#%;/*",  # statements
    PIPE: "|",
}
# Bits of lines.
(PROSE, SENTENCE, FINISHED, PLAIN, PROGRAM, UPPER, HALF_WORD, STARTS_SMALL, STARTS_QUOTE, ENDS_QUOTE, STARTS_UNSPACED, ENDS_UNSPACED, ASK_CASE, ASK_FIRST,
 ASK_STATEMENT) = (1 << bit for bit in range(15))  # fmt: skip
# How the lines begin that line_joining.STATEMENT matches.
STATEMENT_STARTS = (
    *("from ", "import ", "assert", "def", "class", "function", "static", "const", "public", "private", "elif", "else:", "end", "set("),
    *("#", "%", ";", "//", "/*", "*/"),
)


class Lines(NamedTuple):
    """Of each line between newlines: text[start:end] without the blanks at both ends; indent, blanks before it; columns, with the indent; limit: the largest
    width in which its first word does not fit on the line before, 0 where one of the two is blank; flags. All [lines].

    Flags: PROSE, it may be; SENTENCE, it has words enough for one; FINISHED, it ends one; PLAIN, it begins with a plain word and is no item; PROGRAM, it has
    too many signs of one; UPPER, as str.isupper has it; HALF_WORD, it ends with a hyphen, dash or slash that belongs to a word; STARTS_*, ENDS_*: what its
    first and last characters are. ASK_*: this pass does not know whether its case is UPPER, its first letter small, it a statement and so PROGRAM.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    indents: NDArray[np.int32]
    columns: NDArray[np.int32]
    limits: NDArray[np.int32]
    flags: NDArray[np.int32]


def measure_lines(codes: Codes, most_overlong: float = 1.0) -> Lines | None:
    """The lines of a text; None where more of it than this share stands in lines of prose longer than MAX_WIDTH, which is told early."""
    measured = np.empty((6, num_line_ends(codes) + 1), dtype=np.int32)
    return Lines(*measured) if _measure(codes, character_table(), _statement_starts(), int(most_overlong * codes.size), measured) else None


@kernel
def num_line_ends(codes: Codes) -> int:
    """How many newlines there are."""
    number = 0
    for code in codes:
        number += code == 10
    return number


@cache
def character_table() -> NDArray[np.uint32]:
    """[0x110000]: the bits of each character."""
    table = np.zeros(0x110000, dtype=np.uint32)
    for bit, charset in CHARACTERS.items():
        set_bits(table, charset, bit)
    return table


@cache
def _statement_starts() -> NDArray[np.uint32]:
    """[starts, characters], 0 behind each."""
    starts = np.zeros((len(STATEMENT_STARTS), 1 + max(map(len, STATEMENT_STARTS))), dtype=np.uint32)
    for row, start in zip(starts, STATEMENT_STARTS, strict=True):
        row[: len(start)] = [ord(character) for character in start]
    return starts


@kernel
def _measure(codes: Codes, table: NDArray[np.uint32], statement_starts: NDArray[np.uint32], most_overlong: int, measured: NDArray[np.int32]) -> bool:
    """Fills `measured`, [6, lines]; False as soon as more characters than `most_overlong` stand in lines of prose that are too long."""
    has_han = False
    for code in codes:
        if code >= 0x80 and table[code] & HAN:
            has_han = True
            break
    begin = overlong = 0
    for line in range(measured.shape[1]):
        stop = begin
        while stop < codes.size and codes[stop] != 10:
            stop += 1
        start, end = begin, stop
        while start < end and table[codes[start]] & BLANK:
            start += 1
        while end > start and table[codes[end - 1]] & BLANK:
            end -= 1
        measured[0, line], measured[1, line], measured[2, line] = start, end, start - begin
        measured[3, line] = measured[4, line] = measured[5, line] = 0
        if start < end:
            _measure_words(codes, table, begin, has_han, measured[:, line])
            if measured[3, line] > MAX_WIDTH and measured[5, line] & PROSE:
                overlong += end - start
                if overlong > most_overlong:
                    return False
            if line and measured[3, line - 1]:
                ends_in_han = has_han and table[codes[measured[1, line - 1] - 1]] & HAN
                measured[4, line] = measured[3, line - 1] + _first_word(codes[start:end], table, has_han, ends_in_han)
            measured[5, line] |= _borders(codes, table, statement_starts, start, end)
        else:
            measured[0, line], measured[1, line], measured[2, line] = begin, begin, 0
        begin = stop + 1
    return True


@kernel
def _measure_words(codes: Codes, table: NDArray[np.uint32], begin: int, has_han: bool, measured: NDArray[np.int32]) -> None:
    """The columns and flags of a line that is not blank, by all of its characters."""
    start, end = measured[0], measured[1]
    spaces = wide = han = pipes = signs = some = gaps = before = before_that = 0
    caseless = CASELESS  # as long as all are
    is_prose = codes[begin] != 9 and codes[end - 1] != 92 and codes[end - 1] != 123 and codes[end - 1] != 125  # a tab; \ { }
    for place in range(start, end):
        bits = int(np.int64(table[codes[place]]))
        spaces += bits & SPACE
        gaps |= bits & before & before_that  # three blanks in a row
        signs += bits & SIGN
        pipes += bits & PIPE
        some |= bits
        caseless &= bits
        before_that, before = before, bits
        if bits & (RULE | WIDE | HAN):
            wide += (bits & WIDE) != 0
            han += (bits & HAN) != 0
            if bits & RULE and _is_rule(codes, start, place):
                is_prose = False
    columns = end - begin
    measured[3] = columns + wide if has_han and han and columns <= MAX_WIDTH else columns
    flags = PROSE if is_prose and pipes <= PIPE and not gaps & SPACE and not some & DRAWN else 0
    flags |= SENTENCE if spaces >= 2 * SPACE or (has_han and han) else 0
    flags |= PROGRAM if signs * MIN_FOR_SIGN > SIGN * (end - start) else 0
    if not some & SMALL:
        flags |= ASK_CASE if caseless == 0 else UPPER if some & CAPITAL else 0
    measured[5] = flags


@kernel
def _is_rule(codes: Codes, start: int, place: int) -> bool:
    """Whether four signs in a row, or three hyphens or asterisks with a blank between them, end at `place`."""
    code = codes[place]
    if place >= start + 3 and codes[place - 1] == code and codes[place - 2] == code and codes[place - 3] == code:
        return True
    if (code != 45 and code != 42) or place < start + 4:
        return False
    return bool(codes[place - 1] == 32 and codes[place - 2] == code and codes[place - 3] == 32 and codes[place - 4] == code)


@kernel
def _borders(codes: Codes, table: NDArray[np.uint32], statement_starts: NDArray[np.uint32], start: int, end: int) -> int:
    """The flags of a line that is not blank, by its first and last characters."""
    first, last = int(np.int64(table[codes[start]])), int(np.int64(table[codes[end - 1]]))
    flags = PLAIN if first & BEFORE_WORD or (first & LETTER and _is_plain(codes, table, start, end)) else 0
    closers = end - 1
    while closers > start and closers >= end - MAX_CLOSERS and table[codes[closers]] & CLOSER:
        closers -= 1
    flags |= FINISHED if table[codes[closers]] & END else 0
    flags |= HALF_WORD if _is_half_word(codes, table, start, end) else 0
    flags |= STARTS_SMALL if first & SMALL else 0 if first & CASELESS else ASK_FIRST
    flags |= (STARTS_QUOTE if first & OPENS else 0) | (ENDS_QUOTE if last & CLOSES else 0)
    flags |= (STARTS_UNSPACED if first & UNSPACED else 0) | (ENDS_UNSPACED if last & UNSPACED else 0)
    if first & STARTS:
        for row in statement_starts:
            k = 0
            while row[k] != 0 and start + k < end and codes[start + k] == row[k]:
                k += 1
            if row[k] == 0:
                flags |= ASK_STATEMENT
                break
    return flags


@kernel
def _is_plain(codes: Codes, table: NDArray[np.uint32], start: int, end: int) -> bool:
    """Whether a line, beginning with a letter, begins with a word of letters and hyphens with a blank or mark behind it as in prose."""
    word = start
    while word < end and (table[codes[word]] & LETTER or codes[word] == 45):
        word += 1
    if word == end:
        return False
    code = codes[word]
    if code == 46 or code == 41 or code == 93:  # . ) ]
        return (word + 1 == end or codes[word + 1] == 32) and not _is_number(codes, start, word)
    return bool(table[code] & BEHIND_WORD or (code == 32 and codes[word + 1] != 61))


@kernel
def _is_number(codes: Codes, start: int, end: int) -> bool:
    """Whether a word may number an item: one letter, or up to five of Roman digits."""
    for i in range(start, end):
        code = codes[i] | np.uint32(0x20)
        if code != 0x69 and code != 0x76 and code != 0x78:  # i, v, x
            return end - start == 1
    return end - start <= MAX_ROMAN


@kernel
def _is_half_word(codes: Codes, table: NDArray[np.uint32], start: int, end: int) -> bool:
    """Whether a line ends with one or two hyphens, a dash or a slash and no blank before it: a dash without blanks, of which nobody knows, is one too."""
    last, before = codes[end - 1], end - 2
    if last != 45 and last != 47 and last != 0x2013 and last != 0x2014:
        return False
    if last == 45 and before >= start and codes[before] == 45:
        before -= 1
    return before < start or not (table[codes[before]] & BLANK or codes[before] == 45)


@kernel
def _first_word(words: Codes, table: NDArray[np.uint32], has_han: bool, ends_in_han: bool) -> int:
    """The columns that the first word would take on the line before; lines may be broken beside Han characters."""
    if has_han and table[words[0]] & (HAN | MARK):
        return 1 + SLACK
    length = 0
    while length < min(words.size, LONGEST_WORD) and words[length] != 32 and not (has_han and table[words[length]] & HAN):
        length += 1
    return length - 1 if ends_in_han else length

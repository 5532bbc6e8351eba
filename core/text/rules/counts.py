"""What a scan counts: characters by class, and beside them sentences, marks, tokens, words and lines; here the first four."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mspt.core.kernel import kernel, part
from mspt.core.text.rules.characters import CLASS_BITS, CLOSES, DIGIT, DRAWN, ENDS, HAN, LINE_END, LINK, NUM_CLASSES, STOP

PATH_PART = 30  # characters between two slashes of a path; base64 has 64
LANES = 4
DRAWN_RUN = 4  # as many of one drawing mark are a line, which counts as one mark

# What is counted beside the classes of characters.py, in places behind them.
# WORDS are those with a letter that are no part of a name; ENDED, ELLIPSIS, BULLET, LINKED and SHORT count LINES that end a sentence, end with an ellipsis,
# open with a bullet, hold nothing beside links, are short, end no sentence and hold fewer than two function words.
(STOP_CHARACTERS, STOP_WORDS, ALL_WORDS, WORDS, WORD_LETTERS, SENTENCES, ELLIPSES, HASHES, TOKEN_START, TOKEN_END,
 LINES, ENDED_LINES, ELLIPSIS_LINES, BULLET_LINES, LINKED_LINES, SHORT_LINES) = range(NUM_CLASSES, NUM_CLASSES + 16)  # fmt: skip
NUM_COUNTS = NUM_CLASSES + 16


@kernel
def count_classes(entries: NDArray[np.uint16], counts: NDArray[np.int64]) -> None:
    """Characters by class, and function words among those that are Han."""
    found = np.zeros((LANES, 2 * NUM_CLASSES), np.int64)  # by class and STOP, in lanes, so that no addition waits for the one before
    for i in range(len(entries)):
        found[i & (LANES - 1), entries[i] & (CLASS_BITS | STOP)] += 1
    for lane in range(LANES):
        for kind in range(NUM_CLASSES):
            counts[kind] += found[lane, kind] + found[lane, kind | STOP]
        counts[STOP_CHARACTERS] += found[lane, HAN | STOP]


@part
def count_mark(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: NDArray[np.int64], i: int) -> None:
    """Count what the mark at `i` is beside its class: part of a drawn line, end of a sentence, ellipsis, number sign."""
    code, entry = codes[i], entries[i]
    kind = entry & CLASS_BITS
    same = 1
    while same <= DRAWN_RUN and i - same >= 0 and codes[i - same] == code:
        same += 1
    if entry & DRAWN and same >= DRAWN_RUN:
        counts[kind] -= 1 if same > DRAWN_RUN else DRAWN_RUN - 1  # the first stays
    if entry & ENDS and kind < LINK:
        following = entries[i + 1] if i + 1 < len(codes) else np.uint16(LINE_END)
        if not following & ENDS and (code != 0x2E or following & CLASS_BITS <= LINE_END or following & CLOSES):
            counts[SENTENCES] += 1
        counts[ELLIPSES] += is_ellipsis(code, same) and (same == 1 or same == 3)
    elif code == 0x23 and kind < LINK:
        counts[HASHES] += 1


@part
def end_token(codes: NDArray[np.uint32], entries: NDArray[np.uint16], counts: NDArray[np.int64], start: int, end: int) -> int:
    """Note a token, [start, end), that is longer than those so far, unless it is a path or nothing but marks; the length of the longest."""
    slashes, alphanumeric = 0, False
    for i in range(start, end):
        slashes += codes[i] == 0x2F or codes[i] == 0x5C
        alphanumeric |= HAN <= entries[i] & CLASS_BITS <= DIGIT
    if alphanumeric and slashes * PATH_PART <= end - start:
        counts[TOKEN_START], counts[TOKEN_END] = start, end
    return int(counts[TOKEN_END] - counts[TOKEN_START])


@part
def is_ellipsis(code: np.uint32, same: int) -> bool:
    """Whether the mark makes an ellipsis, being the `same`-th in a row: ... 。。。 ．．． …"""
    return bool(code == 0x2026 or code == 0x22EF or (same >= 3 and (code == 0x2E or code == 0x3002 or code == 0xFF0E)))

"""Damaged text in encodings of two and more bytes: a wrong byte costs itself, not the rest of its line.

In GBK, Big5, Shift_JIS and their kin nothing marks the first byte of a character. A wrong byte that swallows a first byte leaves its second one to pair up
with the next first byte, and so on: 他在这里 becomes �谡饫�, with or without a U+FFFD in the end. So suspicious lines are read again along the most probable
way through their bytes (dynamic programming over single bytes, pairs, quads, and bad bytes that become U+FFFD). UTF-16 that lost a byte is read on at
the other parity from there on.
"""

from __future__ import annotations

import codecs
import re
from array import array
from functools import cache

import numpy as np
from numpy.typing import NDArray

from mspt.core.text.decoding.charsets import plausible_units
from mspt.core.text.decoding.likelihood import costs_of, model_of
from mspt.core.text.script import code_points

REPLACEMENT = "\ufffd"
EURO, EURO_BYTE = "€", 0x80  # Windows writes the euro into GBK so, and browsers read it; Python does not
BAD_BYTE = 26.0  # bits: more than any character costs, less than two of what misaligned bytes make
OTHER_ALPHABET = 8.0  # bits that a Greek or Cyrillic letter costs more, which two halves of characters soon are
# Misaligned text costs 14 to 17 bits a character, sound text 8 to 11: a line that has WINDOW such characters in a row is read again.
WINDOW, SUSPICIOUS = 10, 13.0
MIN_GAIN = 40.0  # bits, where the line reads without an error as it is
MODEL_CHARACTERS = 4096  # of the text, to tell the language
BLOCK_BYTES, OVERLAP_BYTES = 64 * 1024, 64  # of a long line that is read again at once, and what is looked at beyond
# What may be read again, at a second a megabyte: beyond it, the encoding is a wrong guess.
MAX_AGAIN_BYTES, MAX_AGAIN_SHARE = 256 * 1024, 0.2
SURROGATES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
MIN_RUN, MAX_SHIFTS = 16, 64  # units of UTF-16 that speak for the other parity; how often that is looked for


def _replace(error: UnicodeError) -> tuple[str, int]:
    """As "replace" does, but for the euro."""
    assert isinstance(error, UnicodeDecodeError)
    return (EURO, error.start + 1) if _is_euro(error.encoding, error.object[error.start]) else (REPLACEMENT, error.end)


def _is_euro(codec: str, byte: int) -> bool:
    return byte == EURO_BYTE and codec == "gb18030"


codecs.register_error("mspt.replace", _replace)


def read_damaged(data: bytes, codec: str) -> str:
    """`data` by a codec of two-byte characters, with U+FFFD for no more than what is wrong."""
    text = data.decode(codec, "mspt.replace")
    model = model_of(text[:MODEL_CHARACTERS])
    flagged = _suspicious_positions(text, model)
    if not len(flagged):
        return text
    lines, naive = data.split(b"\n"), text.split("\n")
    if len(lines) != len(naive):
        return text
    ends = np.cumsum([len(line) + 1 for line in naive])
    left = max(MAX_AGAIN_BYTES, round(MAX_AGAIN_SHARE * len(data)))
    for number in np.unique(np.searchsorted(ends, flagged, side="right")).tolist():
        naive[number], read = _mend(lines[number], codec, model, left)
        left -= read
        if left <= 0:
            break
    return "\n".join(naive)


def _suspicious_positions(text: str, model: str) -> NDArray[np.int64]:
    """Of the characters that are U+FFFD or begin a run of WINDOW improbable ones."""
    wide = np.flatnonzero(code_points(text) >= 0x80)
    bad = np.array([match.start() for match in re.finditer(REPLACEMENT, text)], dtype=np.int64)
    if len(wide) < WINDOW:
        return bad
    sums = np.concatenate(([0.0], np.cumsum(costs_of(text, model)[wide], dtype=np.float64)))
    begins = np.flatnonzero(sums[WINDOW:] - sums[:-WINDOW] > SUSPICIOUS * WINDOW)
    return np.concatenate((bad, wide[begins], wide[begins + WINDOW - 1]))


def _mend(line: bytes, codec: str, model: str, left: int) -> tuple[str, int]:
    """The line, block by block, and how many bytes were read again, at most about `left`."""
    parts, start, again = [], 0, 0
    while start < len(line):
        block = line[start : start + BLOCK_BYTES + OVERLAP_BYTES]
        until = len(block) if start + len(block) == len(line) else BLOCK_BYTES
        text, used = _read_on(block, until, codec)
        if again < left and len(_suspicious_positions(text, model)):
            text, used = _read_again(block, until, text, codec, model)
            again += len(block)
        parts.append(text)
        start += used or 1
    return "".join(parts), again


def _read_on(block: bytes, until: int, codec: str) -> tuple[str, int]:
    """The text of the block up to the last whole character within `until` bytes, and how many bytes that are."""
    decoder = codecs.getincrementaldecoder(codec)("mspt.replace")
    text = decoder.decode(block[:until], until == len(block))
    return text, until - len(decoder.getstate()[0])


def _read_again(block: bytes, until: int, naive: str, codec: str, model: str) -> tuple[str, int]:
    cost, width, bad = _most_probable(block, codec, model)
    if REPLACEMENT not in naive and cost > float(costs_of(block.decode(codec, "replace"), model).sum()) - MIN_GAIN:
        return _read_on(block, until, codec)
    return _spell(block, until, width, bad, codec)


def _most_probable(line: bytes, codec: str, model: str) -> tuple[float, bytearray, bytearray]:
    """Cost of the cheapest way through the bytes; the width of the unit at each byte, and whether it is a bad byte."""
    single, pair = _unit_costs(codec, model)
    size = len(line)
    best = array("d", [0.0]) * (size + 4)  # best[i]: cost of the rest from byte i on; the last ones stand for units that would not end
    bad = bytearray(size + 1)
    width = bytearray(size + 1)  # of the unit at byte i
    best[size + 1] = best[size + 2] = best[size + 3] = float("inf")
    for i in range(size - 1, -1, -1):
        first = line[i]
        cost, units = best[i + 1] + single[first], 1
        if first >= 0x80:
            if i + 1 < size and (two := best[i + 2] + pair[first << 8 | line[i + 1]]) < cost:
                cost, units = two, 2
            if longer := _longer(line, i, codec, model):
                length, price = longer
                if best[i + length] + price < cost:
                    cost, units = best[i + length] + price, length
            if best[i + 1] + BAD_BYTE < cost:
                cost, units, bad[i] = best[i + 1] + BAD_BYTE, 1, 1
        best[i], width[i] = cost, units
    return best[0], width, bad


def _spell(line: bytes, until: int, width: bytearray, bad: bytearray, codec: str) -> tuple[str, int]:
    """The text of the units that begin within `until` bytes, and where they end."""
    parts, start, i = [], 0, 0  # start: of the sound bytes that are not yet read
    while i < until:
        if bad[i]:
            parts += [line[start:i].decode(codec, "replace"), EURO if _is_euro(codec, line[i]) else REPLACEMENT]
            start = i + 1
        i += width[i]
    parts.append(line[start:i].decode(codec, "replace"))
    return "".join(parts), i


def _longer(line: bytes, i: int, codec: str, model: str) -> tuple[int, float] | None:
    """Length and cost of a character of more than two bytes at `i`: four in GB18030 (the second a digit), three in EUC-JP (behind 0x8F)."""
    if codec == "gb18030" and 0x30 <= line[i + 1 : i + 2].ljust(1)[0] <= 0x39:
        unit = line[i : i + 4]
    elif line[i] == 0x8F and codec.startswith("euc_j"):
        unit = line[i : i + 3]
    else:
        return None
    cost = _unit_cost(unit, codec, model)
    return None if cost is None else (len(unit), cost)


@cache
def _unit_costs(codec: str, model: str) -> tuple[list[float], list[float]]:
    """Costs of single bytes [256] and of pairs [65536]; infinite for what is no character."""
    single = [_unit_cost(bytes([byte]), codec, model) for byte in range(256)]
    pair: list[float | None] = [None] * 0x8000
    for first in range(0x80, 0x100):
        pair += [_unit_cost(bytes([first, second]), codec, model) if second >= 0x30 else None for second in range(256)]
    return [_or_infinite(cost) for cost in single], [_or_infinite(cost) for cost in pair]


def _or_infinite(cost: float | None) -> float:
    return float("inf") if cost is None else cost


def _unit_cost(unit: bytes, codec: str, model: str) -> float | None:
    try:
        text = unit.decode(codec)
    except UnicodeDecodeError:
        return None
    if len(text) > 2:
        return None
    return float(costs_of(text, model).sum()) + (OTHER_ALPHABET if "\u0370" <= text <= "\u052f" else 0.0)


# --- UTF-16 and UTF-32 -------------------------------------------------------------------------------------------------


def read_wide(data: bytes, codec: str) -> str:
    """UTF-16 or UTF-32 that may have lost a byte somewhere, or gained one: one U+FFFD stands there, and the rest is read on."""
    width = 4 if codec.startswith("utf-32") else 2
    dtype, parts, start = f"{'<' if codec.endswith('le') else '>'}u{width}", [], 0
    for _ in range(MAX_SHIFTS):
        found = [shift for distance in range(1, width) if (shift := _first_shift(data, start, distance, dtype))]
        if not found:
            break
        end, resumed = min(found)
        parts += [data[start:end].decode(codec, "replace"), REPLACEMENT]
        start = resumed
    return "".join(parts) + data[start:].decode(codec, "replace")


def _first_shift(data: bytes, start: int, distance: int, dtype: str) -> tuple[int, int] | None:
    """Where units begin to make more sense `distance` bytes further on, for at least MIN_RUN of them: the end of the sound ones, and where to resume."""
    here, there = _plausible(data, start, dtype), _plausible(data, start + distance, dtype)
    size = min(len(here), len(there))
    lead = np.cumsum(here[:size].astype(np.int32) - there[:size])  # falls where the other alignment is better
    fallen = np.maximum.accumulate(np.maximum(lead, 0)) - lead >= MIN_RUN
    if not size or not fallen.any():
        return None
    until = lead[: int(np.argmax(fallen))]
    width, peak = int(dtype[2]), int(until.max(initial=0))
    sound = len(until) - int(np.argmax(until[::-1] == peak)) if peak and len(until) else 0  # units up to the last peak before the fall
    return start + width * sound, start + width * sound + distance


def _plausible(data: bytes, start: int, dtype: str) -> NDArray[np.bool_]:
    count = max(0, len(data) - start) // int(dtype[2])
    return plausible_units(np.frombuffer(data, dtype=dtype, count=count, offset=start)) if count else np.zeros(0, dtype=np.bool_)


# --- UTF-8 -------------------------------------------------------------------------------------------------------------


def join_surrogates(data: bytes) -> bytes:
    """UTF-8 in which Java or Oracle wrote characters beyond the basic plane as two halves of three bytes each."""
    return SURROGATES.sub(_join, data)


def _join(pair: re.Match[bytes]) -> bytes:
    return pair[0].decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass").decode("utf-16").encode()

"""What bytes say about their own encoding: byte order marks, declarations, the pattern of NULs; and the codec behind a declared name."""

from __future__ import annotations

import codecs
import re

import numpy as np
import numpy.typing as npt

BOMS = (  # longest first: the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (b"\x84\x31\x95\x33", "gb18030"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Declared names mean what browsers make of them (WHATWG Encoding Standard, section 4.2): the superset that pages really use.
SUPERSETS = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "cp950",
    "shift_jis": "cp932",
    "shift_jisx0213": "shift_jis_2004",
    "euc_jisx0213": "euc_jis_2004",
    "euc_kr": "cp949",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "utf-8-sig": "utf-8",
    "utf-16": "utf-8",  # a declaration that can be read byte by byte is not in UTF-16
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
ALIASES = {  # names seen in pages that Python does not know
    "x-gbk": "gb18030",
    "gb_2312-80": "gb18030",
    "gb2312-80": "gb18030",
    "gb-2312": "gb18030",
    "cn-gb": "gb18030",
    "big-5": "cp950",
    "cn-big5": "cp950",
    "x-x-big5": "cp950",
    "x-sjis": "cp932",
    "x-euc-jp": "euc_jp",
    "windows-949": "cp949",
    "utf_8": "utf-8",
    "unicode": "utf-8",
}
# Codecs that read most bytes alike, the usual one first: which one it is, the rare characters say. Of Big5, cp950 has the punctuation of Taiwan and browsers,
# big5hkscs the characters of Hong Kong.
DIALECTS = (
    ("cp950", "big5hkscs"),
    ("cp932", "shift_jis_2004"),
    ("euc_jp", "euc_jis_2004"),
    ("cp1251", "kz1048", "ptcp154"),
    ("koi8-r", "koi8-u", "koi8-t"),
    ("cp866", "cp1125"),
)
MULTI_BYTE = frozenset({"gb18030", "cp950", "big5hkscs", "cp932", "shift_jis_2004", "euc_jp", "euc_jis_2004", "cp949", "johab"})

DECLARATION_BYTES = 32 * 1024
DECLARATION = re.compile(
    rb"""<\?xml\b[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}["']([\w.:-]{1,40})"""
    rb"""|<meta\b[^>]{0,500}?\bcharset\s{0,9}=\s{0,9}["']?\s{0,9}([\w.:-]{1,40})""",
    re.IGNORECASE,
)
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)

# C0 controls that no text in a byte-wise encoding holds. UTF-16 of Chinese does: each low byte is one with probability 27/256.
CONTROLS = bytes([*range(0x01, 0x08), *range(0x0E, 0x1B), *range(0x1C, 0x20)])
PATTERN_BYTES = 64 * 1024
MIN_CONTROL_SHARE = 0.015  # Chinese has .05, kana .03 by their marks; below, `decode` weighs the readings, so that a stray control in KOI8 is no proof
MIN_CERTAIN_SHARE = 0.2  # with fewer, bytes that are valid UTF-8 or nearly all ASCII are just that, with stray NULs; ASCII in UTF-16 has half
MAX_ASCII_SHARE = 0.85  # Chinese in UTF-16 has about .5 of bytes that look like ASCII, kana .65
MIN_PLAUSIBLE_SHARE = 0.9  # the right reading has > .99, the swapped one of Han about .35, random bytes .55


def dialects_of(codec: str) -> tuple[str, ...]:
    """The codecs that may be meant where `codec` is named, itself included."""
    return next((family for family in DIALECTS if codec in family), (codec,))


def codec_of(label: str) -> str | None:
    """The Python codec that a declared charset name stands for, or None for an unknown one."""
    name = label.strip().lower()
    if name in ALIASES:
        return ALIASES[name]
    try:
        codec = codecs.lookup(name)
        b"a".decode(name, "replace")  # refuses codecs that do not make text of bytes: hex, rot13, zlib
    except (LookupError, ValueError):
        return None
    if codec.name in {"utf-7", "idna", "punycode", "undefined", "raw-unicode-escape", "unicode-escape", "mbcs", "oem"}:
        return None
    return SUPERSETS.get(codec.name, codec.name)


def declared_charset(data: bytes) -> str | None:
    """The codec that an XML declaration or a meta element in the head of a page names, if any that is known."""
    head = COMMENT.sub(b"", data[:DECLARATION_BYTES])
    names = ((match[1] or match[2]).decode("ascii", "ignore") for match in DECLARATION.finditer(head))
    return next((codec for name in names if (codec := codec_of(name))), None)


def byte_order_mark(data: bytes) -> tuple[bytes, str] | None:
    """The mark that `data` begins with and its codec, if any."""
    return next((entry for entry in BOMS if data.startswith(entry[0])), None)


def control_share(data: bytes) -> float:
    """Share of C0 controls other than NUL, blanks, backspace and escape: 0 in text, about .1 in compressed data."""
    return num_controls(data) / len(data) if data else 0.0


def num_controls(data: bytes) -> int:
    """C0 controls other than NUL, blanks, backspace and escape."""
    return len(data) - len(data.translate(None, CONTROLS))


def unicode_by_pattern(data: bytes) -> str | None:
    """utf-16-le/be or utf-32-le/be when bytes without a mark can only be that, else None.

    Read as code units in the right order nearly all lie where scripts are; and bytes occur (NUL, C0 controls) that other texts do not have. Where a byte
    is missing in the middle, that holds for the beginning only.
    """
    return _unicode_by_pattern(data[:PATTERN_BYTES]) or _unicode_by_pattern(data[: min(PATTERN_BYTES // 16, len(data) // 3)])


def _unicode_by_pattern(data: bytes) -> str | None:
    sample = data[: len(data) // 4 * 4] if len(data) >= 8 else data[: len(data) // 2 * 2]
    odd = control_share(sample) + sample.count(0) / max(1, len(sample))
    if odd < MIN_CONTROL_SHARE or (odd < MIN_CERTAIN_SHARE and (_is_utf8(sample) or _ascii_share(sample) > MAX_ASCII_SHARE)):
        return None
    scores = {name: _plausible_share(sample, dtype) for name, dtype in _UNITS.items() if len(sample) % int(dtype[2]) == 0}
    best = max(scores, key=lambda name: scores[name])  # on a tie the first: 32 bits before 16, little before big
    return best if scores[best] >= MIN_PLAUSIBLE_SHARE else None


def _is_utf8(sample: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # at its end a character may be cut
    except UnicodeDecodeError:
        return False
    return True


def _ascii_share(sample: bytes) -> float:
    return sum(sample.translate(_IS_ASCII)) / len(sample)


_IS_ASCII = bytes(0x20 <= byte < 0x7F or byte in b"\t\n\r" for byte in range(256))
_UNITS = {"utf-32-le": "<u4", "utf-32-be": ">u4", "utf-16-le": "<u2", "utf-16-be": ">u2"}


def _plausible_units() -> npt.NDArray[np.bool_]:
    """Which of the first 65,536 code points running text is made of: blanks, scripts, punctuation; the surrogates of rare Han and emoji."""
    table = np.zeros(0x10000, dtype=bool)
    table[[0x09, 0x0A, 0x0D]] = True
    for first, last in (
        *((0x20, 0x7E), (0xA0, 0x017F), (0x0370, 0x052F), (0x0591, 0x06FF), (0x0900, 0x0DFF), (0x0E01, 0x0E5B), (0x10A0, 0x11FF), (0x1E00, 0x1FFF)),
        *((0x2010, 0x206F), (0x20A0, 0x26FF), (0x3000, 0x30FF), (0x3105, 0x312F), (0x3400, 0x4DBF), (0x4E00, 0x9FFF)),
        *((0xAC00, 0xD7A3), (0xD83C, 0xD87F), (0xDC00, 0xDFFF), (0xFE10, 0xFE4F), (0xFF01, 0xFFEF)),
    ):
        table[first : last + 1] = True
    return table


_PLAUSIBLE = _plausible_units()


def _plausible_share(sample: bytes, dtype: str) -> float:
    return float(plausible_units(np.frombuffer(sample, dtype=dtype)).mean())


def plausible_units(units: npt.NDArray[np.uint16] | npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which of the code units of UTF-16 or UTF-32 lie where scripts are."""
    if units.dtype.itemsize == 2:
        return _PLAUSIBLE[units]
    supplementary = (units >= 0x1F000) & (units < 0x32000)  # emoji, rare Han
    found: npt.NDArray[np.bool_] = _PLAUSIBLE[np.minimum(units, 0xFFFF)] & (units < 0x10000) | supplementary
    return found

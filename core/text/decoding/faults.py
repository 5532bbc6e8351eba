"""The ways in which text is misread, and the way back: what a line was before, if it can have been anything."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Fault(NamedTuple):
    """Text written in one encoding and read in another; or read as `through`, saved as UTF-8, and that read in another."""

    written: str
    read: str
    through: str = ""

    def __str__(self) -> str:
        return f"{self.written} read as {self.through}, saved as utf-8 and read as {self.read}" if self.through else f"{self.written} read as {self.read}"

    @property
    def codecs(self) -> tuple[str, ...]:
        """That read what was written."""
        return CODECS.get(self.written, (self.written,))


# What may have been written, by what it may have been read as, if whole phrases can come through without a loss. The names are those of the families in
# CODECS. Of UTF-8 of Latin-1 every pair of bytes is a character of GBK: 你好 becomes ÄãºÃ and then 脛茫潞脙.
FAULTS = tuple(
    Fault(written, *read.split(" of ", 1))
    for read, many in {
        "cp1252": ("gbk", "big5", "shift_jis", "euc-jp", "euc-kr", "cp1251", "koi8-r", "cp866", "iso8859-5"),
        "gbk": ("utf-8", "big5", "shift_jis", "euc-jp", "euc-kr"),
        "big5": ("gbk", "euc-kr"),
        "shift_jis": ("utf-8", "gbk", "big5"),
        "euc-kr": ("gbk",),
        "euc-jp": ("gbk",),
        "cp1251": ("utf-8", "koi8-r", "cp866", "iso8859-5"),
        "koi8-r": ("utf-8", "cp1251", "cp866", "iso8859-5"),
        "cp866": ("utf-8", "cp1251", "koi8-r"),
        "iso8859-5": ("cp1251", "koi8-r"),
        **dict.fromkeys(("cp437", "cp850", "cp1250", "mac-roman"), ("utf-8",)),
        "gbk of cp1252": ("utf-8", "gbk", "big5", "shift_jis"),
    }.items()
    for written in many
)
CODECS = {
    "gbk": ("gb18030",), "big5": ("cp950", "big5hkscs"), "shift_jis": ("cp932",), "euc-jp": ("euc_jp",), "euc-kr": ("cp949",),
    "koi8-r": ("koi8-r", "koi8-u"),
}  # fmt: skip
SINGLE_BYTE = ("cp1252", "cp1251", "koi8-r", "cp866", "iso8859-5", "cp437", "cp850", "cp1250", "mac-roman")


def undone(fault: Fault, line: str, is_cut: bool = False) -> str | None:
    """What the line was before: its characters are all of the encoding that it was read as, its bytes all valid in the one it was written in.

    is_cut: at its end a character may be cut in half.
    """
    if "\ufffd" in line:
        return None  # some of it is gone
    if fault.through:
        saved = undone(Fault("utf-8", fault.read), line, is_cut)
        return None if saved is None else undone(Fault(fault.written, fault.through), saved, is_cut)
    for raw in raw_bytes(fault.read, line):
        for codec in fault.codecs:
            try:
                fixed = codecs.getincrementaldecoder(codec)().decode(raw, not is_cut)
            except UnicodeDecodeError:
                continue
            if "\ufffd" not in fixed:  # 锟斤拷: what it was is gone
                return fixed
    return None


def raw_bytes(read: str, line: str) -> Iterator[bytes]:
    """The bytes that the line may have been."""
    if read in SINGLE_BYTE:
        yield from _encoded(line, _bytes_of(read))
        return
    for codec in CODECS[read]:
        try:
            raw = line.encode(codec)
        except UnicodeEncodeError:
            continue
        yield raw
        if read == "gbk" and b"\xa2\xe3" in raw:
            yield raw.replace(b"\xa2\xe3", b"\x80")  # Windows reads the byte 0x80 of GBK as the euro sign


def _encoded(line: str, table: dict[int, int]) -> Iterator[bytes]:
    with_errors = codecs.charmap_encode(line, "ignore", table)[0]
    if len(with_errors) == len(line):
        yield with_errors


@cache
def _bytes_of(codec: str) -> dict[int, int]:
    """By character: the byte that reads as it; bytes that the codec does not define read as C1 controls, and cp1252 is Latin-1 besides."""
    table = {byte: byte for byte in range(0x80 if codec != "cp1252" else 0x100)}
    for byte in range(0x80, 0x100):
        table[ord(bytes([byte]).decode(codec, "ignore") or chr(byte))] = byte
    return table

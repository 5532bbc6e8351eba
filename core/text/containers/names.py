"""File names as they appear in refs: decoded, on one line, each only once.

Names are bytes in an encoding that nothing tells: UTF-8 if they are valid UTF-8, else what all names of one archive (or one folder on disk)
together speak for, as decode sees it. Names are never used as paths.
"""

from __future__ import annotations

import re
from array import array

import xxhash

from mspt.core.text.decoding.charsets import MULTI_BYTE
from mspt.core.text.decoding.decode import decode

MAX_NAME = 1000  # characters of a member's name that enter a ref ...
MAX_BYTES = 4 * MAX_NAME  # ... which no encoding takes more bytes for
MAX_PART_BYTES = 255  # of a name between slashes, on nearly all file systems: what is longer is no name and no evidence
EVIDENCE_BYTES = 8 * 1024  # of all names together: decode is sure long before
MIN_EVIDENCE = 6  # bytes beyond ASCII from which on a guessed single-byte encoding is believed: from one name 92 of 120 guesses are right, from four 113 of 120
# Where nothing is believed: encodings that fit, and the lead bytes of their common characters (the first level of GB2312 and of Big5, with marks).
FALLBACKS = (("gb18030", "gb2312", (0xA1, 0xD7)), ("big5hkscs", "big5", (0xA1, 0xC6)))
MIN_COMMON_SHARE = 0.5
CONTROL = re.compile("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029]")
ASCII = bytes(range(0x80))
WIDE = re.compile("[^\x00-\x7f]")
# One wide character inside a word: what "Übersicht" and "Größe" look like in GBK or Shift-JIS. Theirs stand together, or beside digits.
GLUED = re.compile("(?<=[A-Za-z])[^\x00-\x7f](?![^\x00-\x7f])|(?<![^\x00-\x7f])[^\x00-\x7f](?=[A-Za-z])")
MAX_GLUED_SHARE = 0.5


class NameCodec:
    """The encoding of names that are not UTF-8, from all of them that were learnt so far. last: what is taken when nothing else fits."""

    def __init__(self, last: str = "") -> None:
        self._last = last
        self._evidence = bytearray()
        self._judged = 0  # how much of the evidence the guess rests on
        self._codec = ""

    def learn(self, raw: bytes) -> None:
        for part in raw[:MAX_BYTES].split(b"/"):
            if len(self._evidence) < EVIDENCE_BYTES and not part.isascii() and len(part) <= MAX_PART_BYTES and _strict(part, "utf-8") is None:
                self._evidence += part + b"\n"

    def decode(self, raw: bytes) -> str:
        """The name in the encoding of the others, else in one that suits it, else with its odd bytes as escapes. Folder by folder."""
        return "/".join(self._decode(part) for part in raw[:MAX_BYTES].split(b"/"))

    def _decode(self, raw: bytes) -> str:
        if raw.isascii():
            return raw.decode("ascii")
        codec = self._guess()
        if codec in MULTI_BYTE and max(raw) < 0xE0 and (text := _strict(raw, codec)) is not None:
            return text  # some words of GBK are valid UTF-8 of two-byte sequences by accident
        for candidate in ("utf-8", codec):
            if candidate and (text := _strict(raw, candidate)) is not None:
                return text
        for codec, small, leads in FALLBACKS:
            if (text := _strict(raw, codec)) is not None and _is_wide(text) and _common_share(text, small, leads) >= MIN_COMMON_SHARE:
                return text
        return raw.decode(self._last) if self._last else raw.decode("utf-8", "backslashreplace")

    def _guess(self) -> str:
        if len(self._evidence) >= 2 * self._judged and self._evidence:  # anew when it has doubled: names of a tar come one by one
            self._judged = len(self._evidence)
            found = decode(bytes(self._evidence))
            believed = _is_wide(found.text) if found.encoding in MULTI_BYTE else len(self._evidence.translate(None, ASCII)) >= MIN_EVIDENCE
            self._codec = found.encoding if believed and not found.replaced else ""
        return self._codec


def _strict(raw: bytes, codec: str) -> str | None:
    try:
        return raw.decode(codec)
    except UnicodeDecodeError:
        return None


def _is_wide(text: str) -> bool:
    """Whether the characters beyond ASCII stand as in East Asian names, not as letters of Western words."""
    return len(GLUED.findall(text)) < MAX_GLUED_SHARE * len(WIDE.findall(text))


def _common_share(text: str, codec: str, leads: tuple[int, int]) -> float:
    """Share of the characters beyond ASCII whose first byte in `codec` lies within `leads`."""
    beyond = [char.encode(codec, "ignore") for char in text if char > "\x7f"]
    return sum(len(raw) == 2 and leads[0] <= raw[0] <= leads[1] for raw in beyond) / max(1, len(beyond))


def one_line(name: str) -> str:
    """Control characters and line separators as escapes."""
    return CONTROL.sub(lambda match: ascii(match[0])[1:-1].replace("\\n", "\\x0a").replace("\\r", "\\x0d").replace("\\t", "\\x09"), name)


class Names:
    """Names of an archive's members as they stand in refs. The member number 7 gets "~7" if its name was there before."""

    def __init__(self, last: str = "") -> None:
        self.codec = NameCodec(last)
        self._seen = Fingerprints()
        self._taken = 0

    def take(self, raw: bytes | str) -> str:
        """The name of the next member; a str is a name whose encoding is known."""
        self._taken += 1
        text = raw if isinstance(raw, str) else self.codec.decode(raw)
        text = text.encode("utf-8", "backslashreplace").decode()  # lone surrogates of UTF-16 names
        # "!/" separates a container from its member, so no member may have it in its own name
        name = one_line(text.removeprefix("./")[:MAX_NAME]).replace("!/", "%21/")
        while not self._seen.add(name):
            name = f"{name}~{self._taken}"
        return name

    def take_next(self, raw: bytes) -> str:
        """The same where names come one by one: this one counts as evidence too."""
        self.codec.learn(raw)
        return self.take(raw)


class Fingerprints:
    """A set of strings by their 64-bit hashes: ten million names take 134 MB (201 while it grows), a set of integers 850."""

    def __init__(self) -> None:
        self._table = array("Q", bytes(8 * 64))  # open addressing; 0 is a free place
        self._count = 0

    def add(self, text: str) -> bool:
        """Whether it is new."""
        if 5 * self._count >= 3 * len(self._table):
            self._grow()
        return self._put(xxhash.xxh3_64_intdigest(text.encode()) or 1)

    def _put(self, key: int) -> bool:
        mask = len(self._table) - 1
        place = key & mask
        while (found := self._table[place]) != key:
            if not found:
                self._table[place] = key
                self._count += 1
                return True
            place = (place + 1) & mask
        return False

    def _grow(self) -> None:
        old, self._count = self._table, 0
        self._table = array("Q", bytes(16 * len(old)))
        for key in old:
            if key:
                self._put(key)

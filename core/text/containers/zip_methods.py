"""How the members of a zip may be packed (PKWARE APPNOTE.TXT, 4.4.5), as decompressors with the manners of bz2's."""

from __future__ import annotations

import bz2
import lzma
from typing import Any

from mspt.core.text.containers.compression import CODECS, DEFLATE, DICTIONARY_BYTES, Codec
from mspt.core.text.containers.streams import CHUNK, Broken, Fault

STORED, DEFLATED, DEFLATE64, BZIP2, LZMA, ZSTD, XZ, AES = 0, 8, 9, 12, 14, 93, 95, 99


class _Lzma:
    """LZMA as zip has it: a head of its own (5.8.8), then a raw stream that ends by a mark or by its known size."""

    def __init__(self) -> None:
        self._inner: lzma.LZMADecompressor | None = None
        self._head = b""

    @property
    def eof(self) -> bool:
        return self._inner is not None and self._inner.eof

    @property
    def needs_input(self) -> bool:
        return self._inner is None or self._inner.needs_input

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data if self._inner is not None else b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        if self._inner is None:
            self._head += data
            if len(self._head) < 9:
                return b""
            self._inner, data = self._open(self._head[4:9]), self._head[9:]
        return self._inner.decompress(data, max_length)

    def _open(self, properties: bytes) -> lzma.LZMADecompressor:
        rest, literal_context = divmod(properties[0], 9)
        position, literal_position = divmod(rest, 5)
        dictionary = int.from_bytes(properties[1:5], "little")
        if dictionary > DICTIONARY_BYTES:
            raise Broken(Fault("unsupported", f"a dictionary of {dictionary} bytes", dictionary, DICTIONARY_BYTES))
        lzma1 = {"id": lzma.FILTER_LZMA1, "dict_size": max(4096, dictionary), "lc": literal_context, "lp": literal_position, "pb": position}
        return lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[lzma1])


class _Deflate64:
    """py7zr's inflater, which has neither max_length nor an end: the member's sizes are its end."""

    eof, needs_input, unused_data = False, True, b""

    def __init__(self) -> None:
        from py7zr.compressor import Deflate64Decompressor

        self._inner: Any = Deflate64Decompressor()  # type: ignore[no-untyped-call]

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return bytes(self._inner.decompress(data))


class _Stored:
    eof, needs_input, unused_data = False, True, b""

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        return data


METHODS = {
    STORED: Codec("stored", _Stored, feed_bytes=CHUNK),
    DEFLATED: DEFLATE,
    DEFLATE64: Codec("deflate64", _Deflate64),
    BZIP2: Codec("bzip2", bz2.BZ2Decompressor),
    LZMA: Codec("lzma", _Lzma),
    ZSTD: CODECS["zstd"],
    XZ: CODECS["xz"],
}
ENDLESS = (STORED, DEFLATE64, LZMA)  # end where their known size is reached

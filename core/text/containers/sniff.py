"""What a file is, by its content: magic numbers first, then whether it is text and of which kind. Names are never asked."""

from __future__ import annotations

import codecs
import re
import tarfile
from dataclasses import dataclass
from typing import Literal

import orjson

from mspt.core.text.containers.base64_stream import block_of
from mspt.core.text.containers.mbox import is_mbox
from mspt.core.text.containers.mime import is_message
from mspt.core.text.containers.text_codings import is_json_sequence, is_quoted_printable
from mspt.core.text.decoding.charsets import byte_order_mark, control_share, unicode_by_pattern
from mspt.core.text.decoding.decode import decode
from mspt.core.text.markdown import is_markdown
from mspt.core.text.readers.delimited import find_form, may_begin_table

HEAD_BYTES = 64 * 1024  # how much of a file `sniff` wants to see
MAX_CONTROL_SHARE = 0.02  # NULs included; compressed or random bytes have .10
MAX_NUL_SHARE = 0.3  # of long runs, which are survived inside text (preallocated logs); an image of zeros is not text, objects of JSON are
NUL_RUN = re.compile(rb"\x00{16,}")

Role = Literal["stream", "archive", "leaf", "unread"]


@dataclass(frozen=True)
class FileType:
    """A detected type. role: stream (one compressed stream), archive (many members), leaf (text of some kind), unread (recognised, not read)."""

    name: str
    role: Role


GZIP, BZIP2, XZ, ZSTD = (FileType(name, "stream") for name in ("gzip", "bzip2", "xz", "zstd"))
BASE64, QUOTED_PRINTABLE, JSON_SEQUENCE = (FileType(name, "stream") for name in ("base64", "quoted-printable", "json-seq"))
ZIP, TAR, SEVEN_ZIP, MBOX, MESSAGE = (FileType(name, "archive") for name in ("zip", "tar", "7z", "mbox", "message"))
TEXT, MARKDOWN, HTML, JSONL, JSON, CSV, TSV = (FileType(name, "leaf") for name in ("text", "markdown", "html", "jsonl", "json", "csv", "tsv"))
PARQUET, WARC, ARC = (FileType(name, "leaf") for name in ("parquet", "warc", "arc"))
EMPTY = FileType("empty", "unread")
BINARY = FileType("binary", "unread")

MAGICS: tuple[tuple[int, bytes, FileType], ...] = (
    (0, b"\x1f\x8b\x08", GZIP),
    (0, b"BZh", BZIP2),
    (0, b"\xfd7zXZ\x00", XZ),
    (0, b"\x28\xb5\x2f\xfd", ZSTD),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"7z\xbc\xaf\x27\x1c", SEVEN_ZIP),
    (257, b"ustar", TAR),
    (0, b"PAR1", PARQUET),
    (0, b"WARC/0.", WARC),
    (0, b"WARC/1.", WARC),
    (0, b"filedesc://", ARC),
    *(
        (offset, magic, FileType(name, "unread"))
        for offset, magic, name in (
            (0, b"%PDF-", "pdf"),
            (0, b"%!PS", "postscript"),
            (0, b"{\\rtf", "rtf"),
            (0, b"\x89PNG\r\n\x1a\n", "png"),
            (0, b"\xff\xd8\xff", "jpeg"),
            (0, b"GIF87a", "gif"),
            (0, b"GIF89a", "gif"),
            (0, b"II*\x00", "tiff"),
            (0, b"MM\x00*", "tiff"),
            (0, b"8BPS\x00", "photoshop"),
            (0, b"AT&TFORM", "djvu"),
            (8, b"WEBP", "webp"),
            (8, b"WAVE", "wav"),
            (8, b"AVI ", "avi"),
            (4, b"ftyp", "mp4"),
            (0, b"\x1aE\xdf\xa3", "matroska"),
            (0, b"OggS", "ogg"),
            (0, b"fLaC\x00", "flac"),
            (0, b"ID3\x03", "mp3"),
            (0, b"ID3\x04", "mp3"),
            (0, b"FLV\x01", "flv"),
            (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
            (0, b"Rar!\x1a\x07", "rar"),
            (0, b"MSCF\x00", "cab"),
            (0, b"!<arch>\n", "ar"),
            (0, b"\xed\xab\xee\xdb", "rpm"),
            (0, b"070701", "cpio"),
            (0, b"\x04\x22\x4d\x18", "lz4"),
            (0, b"\x1f\x9d", "compress"),
            (0, b"\xff\x06\x00\x00sNaPpY", "snappy"),
            (0, b"\x7fELF", "elf"),
            (0, b"\xfe\xed\xfa", "mach-o"),
            (0, b"\xcf\xfa\xed\xfe", "mach-o"),
            (0, b"\xca\xfe\xba\xbe", "java-class"),
            (0, b"\x00asm", "wasm"),
            (0, b"dex\n03", "dex"),
            (0, b"SQLite format 3\x00", "sqlite"),
            (0, b"ARROW1\x00\x00", "arrow"),
            (0, b"Obj\x01", "avro"),
            (0, b"\x89HDF\r\n\x1a\n", "hdf5"),
            (0, b"\x93NUMPY", "numpy"),
            (0, b"wOFF", "font"),
            (0, b"wOF2", "font"),
            (0, b"OTTO\x00", "font"),
            (0, b"\x00\x01\x00\x00\x00", "font"),
        )
    ),
)
# Two letters are no proof while the bytes are text.
WEAK_MAGICS = ((b"MZ", FileType("pe", "unread")), (b"BM", FileType("bmp", "unread")), (b"\x80\x04\x95", FileType("pickle", "unread")))
OFFICE_MEMBERS = (  # the first member of a zip that is an office file; EPUB and JAR are read like any zip
    (b"[Content_Types].xml", "ooxml"),
    (b"_rels/", "ooxml"),
    (b"docProps/", "ooxml"),
    (b"mimetypeapplication/vnd.", "opendocument"),
)
SHORT_MAGICS = ("compress",)  # two bytes: what decoded base64 begins with by chance
SKIPPABLE_ZSTD = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")

# Ahead of the root element: blanks, XML declaration, comments, doctype. Bounded, so that an endless comment costs no time.
PROLOG = re.compile(rb"(?:\s+|<\?.{0,500}?\?>|<!--.{0,5000}?-->|<!DOCTYPE\b[^>]{0,500}>)*", re.IGNORECASE | re.DOTALL)
ROOT = re.compile(rb"<(?:\w{1,20}:)?(\w[\w.-]{0,40})[\s/>]")
ROOT_ON = re.compile(rb"<[^<>]*+(?:<|>\s*+<|\Z)")  # the root's tag, and another behind it; it may be longer than what is looked at
PAGE_END = re.compile(r"</(?:html|body)\s*>\s*\Z", re.IGNORECASE)
DOCTYPE_HTML = re.compile(rb"<!DOCTYPE\s+html\b", re.IGNORECASE)
PAGE_TAG = re.compile(rb"(?:^|[\n>])\s{0,20}<(?:html|head|body)\b[^<>]{0,300}>", re.IGNORECASE)
QUOTES = re.compile(rb"\"\"\"|'''|`")  # a page quoted in a program or in Markdown
FIELD = re.compile(rb"(?:[\"',]|\S\t) {0,20}(?:<!DOCTYPE\s|<(?:html|head|body)\b)", re.IGNORECASE)  # a page in a row of CSV or TSV
ANY_TAG = re.compile(rb"</?[a-z][a-z0-9]{0,10}(?:\s[^<>]{0,300})?/?>", re.IGNORECASE)
FRAGMENT = re.compile(rb"\s*<(?:div|p|table|font|center|span|ul|ol|h[1-6]|script|style|title|meta|link|a|img|article|section)\b", re.IGNORECASE)
PAGE_HEAD = 8192  # characters of a text in which a page's element is looked for
FRAGMENT_LINE_SHARE = 0.5  # of the lines begin with a tag: Markdown that opens with a centred logo has few
JSON_START = re.compile(rb'\s*(?:\[\s*)?\{\s*(?:"(?:[^"\\]|\\.){0,200}"\s*:|\})')
WIDE = re.compile(rb"[\x80-\xff].", re.DOTALL)  # a character of East Asian encodings; its second byte may be "|"
ABOVE_BYTES = 8192  # in which the first line of a table is sought
JSONL_LINES = 20  # lines looked at


def sniff(head: bytes) -> FileType:
    """The type of a file that begins with `head` (its first HEAD_BYTES; fewer only if it is shorter)."""
    return _sniff(head, len(head) < HEAD_BYTES)


def _sniff(head: bytes, is_whole: bool) -> FileType:
    """is_whole: whether the file ends where `head` does."""
    if not head:
        return EMPTY
    for offset, magic, kind in MAGICS:
        if head.startswith(magic, offset):
            return _office(head) if kind == ZIP else kind
    if SKIPPABLE_ZSTD.match(head):
        return ZSTD
    if _is_old_tar(head):
        return TAR
    if is_json_sequence(head):
        return JSON_SEQUENCE
    if (readable := _as_bytes_of_text(head)) is not None:
        return _kind_of_text(readable, is_whole)
    return next((kind for magic, kind in WEAK_MAGICS if head.startswith(magic)), BINARY)


def _office(head: bytes) -> FileType:
    first = head[30:200]  # name of the first member, then its content if it is stored
    return next((FileType(name, "unread") for start, name in OFFICE_MEMBERS if first.startswith(start)), ZIP)


def _is_old_tar(head: bytes) -> bool:
    """A tar header without magic (before POSIX): its checksum, over 512 bytes, is proof enough."""
    if len(head) < 512 or not head[0]:
        return False
    try:
        info = tarfile.TarInfo.frombuf(head[:512], "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return info.name != ""


def _as_bytes_of_text(head: bytes) -> bytes | None:
    """The head in an encoding that keeps ASCII (UTF-16/32 are turned into UTF-8), or None if it is no text."""
    if found := byte_order_mark(head):
        mark, codec = found
        body = head[len(mark) :]
        return body.decode(codec, "ignore").encode("utf-8", "ignore") if codec.startswith("utf-") else body
    has_nul, controls = b"\0" in head, control_share(head)
    if (has_nul or controls > 0) and (codec := unicode_by_pattern(head) or ""):
        return head.decode(codec, "ignore").encode("utf-8", "ignore")
    if not has_nul:
        return head if controls <= MAX_CONTROL_SHARE else None
    kept = NUL_RUN.sub(b"", head)
    is_text = control_share(kept) + kept.count(0) / max(1, len(kept)) <= MAX_CONTROL_SHARE
    return kept if is_text and (len(head) - len(kept) <= MAX_NUL_SHARE * len(head) or JSON_START.match(kept)) else None


def _kind_of_text(head: bytes, is_whole: bool) -> FileType:
    if JSON_START.match(head):
        return _kind_of_json(head, is_whole)
    if is_mbox(head):
        return MBOX
    if is_message(head):
        return MESSAGE
    if is_quoted_printable(head):
        return QUOTED_PRINTABLE
    page = PAGE_TAG.search(head, 0, 1024)
    is_quoted = page and (QUOTES.search(head, 0, page.start()) or FIELD.search(head, 0, page.end()))
    if head.lstrip()[:1] == b"<" or (page and not is_quoted):  # a server's warning may stand before the page
        return _kind_of_markup(head)
    if (block := block_of(head, is_whole)) is not None and _is_known(block):
        return BASE64
    if (table := _kind_of_table(head, is_whole)) is not None:
        return table
    return MARKDOWN if is_markdown(head) else TEXT


def _kind_of_markup(head: bytes) -> FileType:
    start = PROLOG.match(head)
    prolog_end = start.end() if start else 0
    root = ROOT.match(head, prolog_end)
    if DOCTYPE_HTML.search(head, 0, max(1024, prolog_end)) or (root and root[1].lower() == b"html"):
        return HTML
    if head[:prolog_end].lstrip().startswith(b"<?xml") or (root and root[1].lower() in (b"svg", b"rss", b"feed", b"rdf", b"urlset")):
        return FileType("xml", "unread")
    if (page := PAGE_TAG.search(head, 0, 4096)) and not QUOTES.search(head, prolog_end, page.start()):
        return HTML
    return HTML if FRAGMENT.match(head, prolog_end) and _is_mostly_tags(head) else TEXT


def _is_mostly_tags(head: bytes) -> bool:
    lines = [line.lstrip() for line in head.splitlines() if line.strip()]
    return sum(1 for line in lines if ANY_TAG.match(line)) >= FRAGMENT_LINE_SHARE * len(lines)


def is_page(text: str) -> bool:
    """Whether a text is a whole web page: it begins with a doctype or the page's own element, after comments and a declaration at most, and then goes on
    with markup or ends with that element. A sentence about `<html>` may begin with it too."""
    start = text[:PAGE_HEAD].lstrip("\ufeff \t\r\n")
    if start[:1] != "<":
        return False
    head = start.encode("utf-8", "replace")
    prolog = PROLOG.match(head)
    assert prolog is not None
    root = ROOT.match(head, prolog.end())
    if root and root[1].lower() in (b"html", b"head", b"body"):
        return ROOT_ON.match(head, prolog.end()) is not None or PAGE_END.search(text, max(0, len(text) - PAGE_HEAD)) is not None
    return bool(DOCTYPE_HTML.search(head, 0, prolog.end()) and (root or PAGE_END.search(text, max(0, len(text) - PAGE_HEAD))))


def _kind_of_json(head: bytes, is_whole: bool) -> FileType:
    """jsonl when whole lines are objects, or when the first line is longer than the head; else one big JSON value."""
    complete = [line for line in head.splitlines()[: JSONL_LINES + 1] if line.strip()]
    if len(complete) > 1 or is_whole:
        ends = head.endswith((b"\n", b"\r")) or is_whole or len(complete) > JSONL_LINES
        whole = complete if ends else complete[:-1]
        return JSONL if 2 * sum(map(_is_object, whole)) >= len(whole) else JSON
    return JSONL if head.lstrip()[:1] == b"{" else JSON


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:  # bad lines are the reader's business, here they only count as not JSON
        return line.lstrip()[:1] == b"{" and line.rstrip()[-1:] == b"}"


def _is_known(block: bytes) -> bool:
    """Whether decoded base64 is something: of a type that has a mark of its own, or text in UTF-8."""
    kind = _sniff(block, is_whole=False)
    if kind == TEXT:
        return codecs.getincrementaldecoder("utf-8")("replace").decode(block).count("\ufffd") == 0  # at its end a character may be cut
    return kind not in (EMPTY, BINARY, *(weak for _, weak in WEAK_MAGICS)) and kind.name not in SHORT_MAGICS


def _kind_of_table(head: bytes, is_whole: bool) -> FileType | None:
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        if not may_begin_table(WIDE.sub(b"", head[:ABOVE_BYTES]).decode("ascii", "replace")):
            return None
        text = decode(head).text
    form = find_form(text, is_whole) if may_begin_table(text) else None
    return None if form is None else TSV if form.delimiter == "\t" else CSV

"""The parts of a message of RFC 822 and MIME: a mail, or a page that a browser saved with all that belongs to it (.mht), through Python's email package.

A message is told by a head of header lines that name MIME, or who sent it when and about what. Of `multipart/alternative` the last form that is read by people
and says something is taken, which RFC 2046 (5.1.4) has be the most faithful one: no calendar of an invitation, no page that is empty. The others are rows, as
are images and all else that is no text, and what stands before the first part and behind the last. Text in a declared charset comes as UTF-8.
"""

from __future__ import annotations

import binascii
import email.errors
import email.policy
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser

from mspt.core.text.containers.archives import Member
from mspt.core.text.containers.names import one_line
from mspt.core.text.containers.streams import MAX_DETAIL, ByteStream, Fault, fault_of
from mspt.core.text.decoding.charsets import codec_of

MAX_MESSAGE_BYTES = 32 * 2**20  # held as one, at some five times its size
MAX_BOUNDARIES = 100  # declared: each open one is asked of every line
FIELD_LINE = rb"[!-9;-~]{1,60}:[^\r\n]{0,2000}\r?\n"
HEADERS = re.compile(rb"(?:\s{0,20})(?:From [^\r\n]{1,200}\r?\n)?((?:%b(?:[ \t][^\r\n]{0,2000}\r?\n){0,200}){2,300})\r?\n" % FIELD_LINE)
MIME = re.compile(rb"^(?:MIME-Version:[ \t]*[\d(]|Content-Type:[ \t]*multipart/)", re.IGNORECASE | re.MULTILINE)
KIND = re.compile(rb"^(?:Content-Type|Content-Transfer-Encoding):", re.IGNORECASE | re.MULTILINE)
DATE = rb"Date:[ \t]*(?:[A-Z][a-z]{2},[ \t]*)?\d{1,2} [A-Z][a-z]{2} \d{2,4}"
SENT = tuple(re.compile(rb"^" + start, re.IGNORECASE | re.MULTILINE) for start in (b"From:", DATE, b"(?:Subject|Message-ID|Received):"))
BOUNDARY = re.compile(rb"boundary[ \t]*=", re.IGNORECASE)
OF_PROGRAMS = re.compile(r"/(?:css|(?:x-)?(?:java|ecma)script)\Z")  # what a saved page needs to look as it did
FOR_PEOPLE = frozenset({"text/plain", "text/html", "text/enriched", "text/richtext", "text/markdown"})
SAYS = re.compile(rb"(?:<[^<>]*+>|&nbsp;|&#160;|\xc2?\xa0|\s)*+[^\s]")  # more than tags and blanks
NO_BASE64 = re.compile(rb"[^A-Za-z0-9+/]+")
LOST = (email.errors.InvalidBase64PaddingDefect, email.errors.InvalidBase64CharactersDefect, email.errors.InvalidBase64LengthDefect)
CUT = (email.errors.CloseBoundaryNotFoundDefect, email.errors.StartBoundaryNotFoundDefect)


def is_message(head: bytes) -> bool:
    """Whether bytes begin with headers that name MIME and what the body is in, or those of a mail."""
    found = HEADERS.match(head)
    return bool(found and ((MIME.search(found[1]) and KIND.search(found[1])) or all(pattern.search(found[1]) for pattern in SENT)))


def message_members(stream: ByteStream) -> Iterator[Member | Fault]:
    """The parts that hold something, named by their number, counted from 0, in the order of the message."""
    data = stream.read(MAX_MESSAGE_BYTES + 1)
    boundaries = len(BOUNDARY.findall(data))
    if len(data) > MAX_MESSAGE_BYTES:
        stream.drain()
        yield Fault("unsupported", "bytes of one message", stream.position, MAX_MESSAGE_BYTES)
    elif boundaries > MAX_BOUNDARIES:
        yield Fault("unsupported", "parts that hold parts, of one message", boundaries, MAX_BOUNDARIES)
    else:
        yield from _members(data, stream)


def _members(data: bytes, stream: ByteStream) -> Iterator[Member | Fault]:
    try:
        parts = list(_parts(BytesParser(policy=email.policy.compat32).parsebytes(data), is_chosen=True))
    except Exception as error:  # over hostile headers the package stumbles in many ways
        yield fault_of(error)
        return
    is_cut = False
    for number, (part, is_chosen) in enumerate(parts):
        is_cut |= any(isinstance(defect, CUT) for defect in part.defects)
        name = f"{number}"
        if part.is_multipart():
            yield from _around(part, name)
            continue
        if not is_chosen:
            yield Member(name, Fault("alternative", one_line(f"{part.get_content_type()}, which another part holds in another form")))
            continue
        if OF_PROGRAMS.search(part.get_content_type()):
            yield Member(name, Fault("not-content", one_line(part.get_content_type())))
            continue
        content, fault = _content(part)
        yield Member(name, ByteStream([content], under=stream) if content or not fault else fault)
        if content and fault:
            yield fault
    if is_cut:
        yield Fault("truncated", "a message of several parts whose end is missing")


def _parts(part: Message, is_chosen: bool) -> Iterator[tuple[Message, bool]]:
    """The part and those in it, and whether each is to be read."""
    yield part, is_chosen
    children = [child for child in part.get_payload() if isinstance(child, Message)] if part.is_multipart() else []
    last = _form_for_people(children) if part.get_content_type() == "multipart/alternative" else None
    for child in children:
        yield from _parts(child, is_chosen and last in (None, child))


def _form_for_people(forms: list[Message]) -> Message | None:
    """The last form that says something to people, else the last that is text."""
    for test in (_speaks, _is_text):
        if found := next((form for form in reversed(forms) if any(map(test, form.walk()))), None):
            return found
    return None


def _speaks(part: Message) -> bool:
    return part.get_content_type() in FOR_PEOPLE and SAYS.match(_content(part)[0]) is not None


def _is_text(part: Message) -> bool:
    return part.get_content_maintype() == "text"


def _around(part: Message, name: str) -> Iterator[Member]:
    """What stands before the first of several parts and behind the last: said to readers that do not know MIME (RFC 2046, 5.1.1)."""
    for where, text in (("before the first part", part.preamble), ("behind the last part", part.epilogue)):
        if text and text.strip():
            said = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").strip()  # the package has odd bytes as surrogates
            yield Member(name, Fault("not-content", f"{where}: {one_line(said[:MAX_DETAIL])}", len(said)))


def _content(part: Message) -> tuple[bytes, Fault | None]:
    """The bytes of a part, text in UTF-8 where its charset is known; and what was wrong with how they were coded."""
    try:
        data = part.get_payload(decode=True)
        charset = part.get_content_charset() or ""
    except Exception as error:
        return b"", fault_of(error)
    raw = data if isinstance(data, bytes) else b""
    if any(isinstance(defect, email.errors.InvalidBase64LengthDefect) for defect in part.defects):
        raw = _cut_base64(raw)
    lost = next((defect for defect in part.defects if isinstance(defect, LOST)), None)
    fault = Fault("corrupt", f"a part of a message: {type(lost).__name__}") if lost else None
    codec = codec_of(charset) if charset and part.get_content_maintype() == "text" else None
    if codec and codec != "utf-8":
        try:
            return raw.decode(codec).encode(), fault
        except UnicodeError:
            pass  # the bytes are in something else, which whoever decodes them finds out
    return raw, fault


def _cut_base64(data: bytes) -> bytes:
    """What base64 that was cut off holds, up to its last whole group of four, which the package gives back as it was."""
    digits = NO_BASE64.sub(b"", data)
    return binascii.a2b_base64(digits[: len(digits) // 4 * 4])

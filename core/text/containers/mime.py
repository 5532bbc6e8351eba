"""The parts of a message of RFC 822 and MIME: a mail, or a page that a browser saved with all that belongs to it (.mht), through Python's email package.

A message is told by a head of header lines that name MIME, or who sent it when and about what. Of `multipart/alternative` the last form that is text is read,
which RFC 2046 (5.1.4) has be the most faithful one; the others are rows, as are images and all else that is no text. Text in a declared charset comes as
UTF-8.
"""

from __future__ import annotations

import email.errors
import email.policy
import re
from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser

from mspt.core.text.containers.archives import Member
from mspt.core.text.containers.names import one_line
from mspt.core.text.containers.streams import ByteStream, Fault, fault_of
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
        if part.is_multipart():
            continue
        name = f"{number}"
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
    last = None
    if part.get_content_type() == "multipart/alternative":
        last = next((child for child in reversed(children) if _holds_text(child)), None)
    for child in children:
        yield from _parts(child, is_chosen and last in (None, child))


def _holds_text(part: Message) -> bool:
    return any(one.get_content_maintype() == "text" for one in part.walk())


def _content(part: Message) -> tuple[bytes, Fault | None]:
    """The bytes of a part, text in UTF-8 where its charset is known; and what was wrong with how they were coded."""
    try:
        data = part.get_payload(decode=True)
        charset = part.get_content_charset() or ""
    except Exception as error:
        return b"", fault_of(error)
    raw = data if isinstance(data, bytes) else b""
    lost = next((defect for defect in part.defects if isinstance(defect, LOST)), None)
    fault = Fault("corrupt", f"a part of a message: {type(lost).__name__}") if lost else None
    codec = codec_of(charset) if charset and part.get_content_maintype() == "text" else None
    if codec and codec != "utf-8":
        try:
            return raw.decode(codec).encode(), fault
        except UnicodeError:
            pass  # the bytes are in something else, which whoever decodes them finds out
    return raw, fault

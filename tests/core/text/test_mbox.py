"""Mailboxes that Python's mailbox module writes, and old ones by hand, read back message by message."""

from __future__ import annotations

import mailbox
import random
from email.message import EmailMessage, Message

import pytest

from mspt.core.text.containers.mime import MAX_MESSAGE_BYTES
from mspt.core.text.containers.sniff import sniff

HEAD = "From: keeper@example.org\nDate: Tue, 4 Mar 1997 09:12:44 +0800\nSubject: nets\n\n"
POSTMARK = "From keeper@example.org Tue Mar  4 09:12:44 1997\n"


def plain(text: str) -> Message:
    """A mail from before MIME."""
    message = Message()
    message["From"], message["Date"], message["Subject"] = "keeper@example.org", "Tue, 4 Mar 1997 09:12:44 +0800", "nets"
    message.set_payload(text)
    return message


def modern(text: str, charset: str) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = "春天", "keeper@example.org"
    message.set_content(text, charset=charset, cte="base64")
    return message


@pytest.fixture
def packed(tmp_path_factory):
    """Bytes of a mailbox with these messages."""

    def pack(*messages: Message) -> bytes:
        path = tmp_path_factory.mktemp("mailbox") / "box"
        box = mailbox.mbox(path)
        for message in messages:
            box.add(message)
        box.close()
        return path.read_bytes()

    return pack


def texts(leaves: dict[str, bytes]) -> list[str]:
    return [data.decode().removesuffix("\n").removesuffix("\n") for data in leaves.values()]


def test_each_message_is_one(opened, packed):
    written = ["The nets are torn.\n\nFrom now on we mend them at night.", "春天来了，花都开了。", "Third.", "春天來了。"]
    raw = packed(plain(written[0]), modern(written[1], "gb18030"), plain(written[2]), modern(written[3], "big5"))
    assert sniff(raw).name == "mbox"
    leaves, problems = opened(raw)
    assert problems == []
    assert list(leaves) == [f"raw!/{number}!/0" for number in range(4)]
    assert texts(leaves) == written


def test_messages_of_any_length_wherever_a_chunk_ends(opened, packed):
    chooser = random.Random(5)
    written = [f"{number} " + "net " * chooser.randrange(1, 900) + "end" for number in range(600)]
    leaves, problems = opened(packed(*map(plain, written)))
    assert (texts(leaves), problems) == (written, [])


def test_a_message_too_large_is_a_row_and_the_others_stay(opened):
    raw = "\n".join((POSTMARK + HEAD + "before\n", POSTMARK + HEAD + "x" * 79 * (MAX_MESSAGE_BYTES // 79 + 1) + "\n", POSTMARK + HEAD + "behind\n")).encode()
    leaves, problems = opened(raw)
    assert texts(leaves) == ["before", "behind"]
    assert problems == [("raw!/1", "unsupported")]


def test_a_quoted_postmark_begins_no_message(opened):
    body = "He wrote:\n\nFrom the keeper on Tuesday at 09:12\nand then:\n\n>From keeper@example.org Tue Mar  4 09:12:44 1997\nSubject: nets\n"
    leaves, _ = opened((POSTMARK + HEAD + body).encode())
    assert texts(leaves) == [body.replace(">From", "From").rstrip("\n")]


def test_a_mail_from_before_mime_loses_its_head(opened):
    assert opened((HEAD + "The nets are torn.\n").encode()) == ({"raw!/0": b"The nets are torn.\n"}, [])


@pytest.mark.parametrize(
    "text",
    [
        "From Tuesday 09:12 on\nNote: bring your own nets.\n",
        POSTMARK + "and that was all that the letter said.\n",
        "From: a reader\nDate: unknown\nSubject: nets\n\nMy dear keeper\n",
    ],
)
def test_text_that_is_none(text):
    assert sniff(text.encode()).name == "text"

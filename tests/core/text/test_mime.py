"""Messages written by Python's email package and by hand, read back part by part; quoted-printable; JSON text sequences."""

from __future__ import annotations

import json
import quopri
from email.message import EmailMessage

import pytest

from mspt.core.text.containers.mime import MAX_BOUNDARIES, MAX_MESSAGE_BYTES
from mspt.core.text.containers.sniff import sniff

TEXT = "春天来了，花园里的花都开了。孩子们在河边跑来跑去。\n" * 20
PAGE = f"<html><head><title>春天</title></head><body><p>{TEXT}</p></body></html>"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def mail(text: str, charset: str = "utf-8", cte: str = "quoted-printable") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "春天", "keeper@example.org", "ferry@example.org"
    message.set_content(text, charset=charset, cte=cte)
    return message


@pytest.mark.parametrize("charset", ["utf-8", "gb18030", "big5", "euc-kr", "iso-2022-jp"])
@pytest.mark.parametrize("cte", ["quoted-printable", "base64"])
def test_a_mail_of_one_part(opened, charset, cte):
    text = {"big5": "春天來了，花都開了。\n" * 30, "euc-kr": "봄이 왔다. 꽃이 피었다.\n" * 30, "iso-2022-jp": "春が来た。花が咲いた。\n" * 30}.get(
        charset, TEXT
    )
    leaves, problems = opened(mail(text, charset, cte).as_bytes())
    assert problems == []
    assert {ref: data.decode() for ref, data in leaves.items()} == {"raw!/0": text}


def test_of_two_forms_the_last_is_read_and_the_other_is_a_row(opened):
    message = mail("Your reader shows no pages.\n")
    message.add_alternative(PAGE, subtype="html", charset="gb18030", cte="base64")
    message.add_attachment(PNG, maintype="image", subtype="png")
    leaves, problems = opened(message.as_bytes())
    # 0 the message, 1 its two forms, 2 plain, 3 page, 4 image
    assert leaves == {"raw!/3": PAGE.encode() + b"\n", "raw!/4": PNG}
    assert problems == [("raw!/2", "alternative")]


def test_of_several_forms_none_that_says_nothing_to_people_is_read(opened):
    plain = "The ferry leaves at ten on Thursday.\n"
    invitation = mail(plain)
    invitation.add_alternative("BEGIN:VCALENDAR\nEND:VCALENDAR\n", subtype="calendar")
    assert opened(invitation.as_bytes()) == ({"raw!/1": plain.encode()}, [("raw!/2", "alternative")])
    empty = mail(plain)
    empty.add_alternative("<html><body>\n<p>&nbsp;</p></body></html>\n", subtype="html")
    assert opened(empty.as_bytes()) == ({"raw!/1": plain.encode()}, [("raw!/2", "alternative")])
    calendar = mail("<p> </p>\n")
    calendar.add_alternative("BEGIN:VCALENDAR\nEND:VCALENDAR\n", subtype="calendar")
    assert opened(calendar.as_bytes())[1] == [("raw!/1", "alternative")]  # the last that is text


def test_what_stands_around_the_parts_has_rows(opened):
    message = mail("One.\n")
    message.make_mixed()
    message.preamble, message.epilogue = "This is a message of several parts.\n", "Sent by a \udcff list.\n"
    leaves, problems = opened(message.as_bytes())
    assert leaves == {"raw!/1": b"One.\n"}
    assert [rule for _, rule in problems] == ["not-content", "not-content"]


def test_base64_that_was_cut_off_is_read_up_to_there(opened):
    whole = mail(TEXT, cte="base64").as_bytes()
    head, _, body = whole.partition(b"\n\n")
    digits = body.replace(b"\n", b"")[:1001]  # 250 groups of four, three bytes each, and one digit
    leaves, problems = opened(head + b"\n\n" + digits)
    assert leaves == {"raw!/0": TEXT.encode()[:750]}
    assert [rule for _, rule in problems] == ["corrupt"]


def test_a_page_as_a_browser_saves_it(opened):
    body = quopri.encodestring(PAGE.encode()).replace(b"\n", b"\r\n").decode()
    saved = (
        "From: <Saved by Blink>\r\nSnapshot-Content-Location: https://example.org/\r\nSubject: =?utf-8?Q?=E6=98=A5=E5=A4=A9?=\r\nMIME-Version: 1.0\r\n"
        'Content-Type: multipart/related;\r\n\ttype="text/html";\r\n\tboundary="----MultipartBoundary--x----"\r\n\r\n\r\n'
        "------MultipartBoundary--x----\r\nContent-Type: text/html\r\nContent-ID: <frame@mhtml.blink>\r\nContent-Transfer-Encoding: quoted-printable\r\n"
        f"Content-Location: https://example.org/\r\n\r\n{body}\r\n------MultipartBoundary--x----\r\nContent-Type: text/css\r\n\r\np {{ color: red }}\r\n"
        "------MultipartBoundary--x------\r\n"
    ).encode()
    leaves, problems = opened(saved)
    assert {ref: data.decode().replace("\r\n", "\n").strip() for ref, data in leaves.items()} == {"raw!/1": PAGE}
    assert problems == [("raw!/2", "not-content")]  # the style sheet


@pytest.mark.parametrize(
    "text",
    [
        "From: a reader\nTo: the keeper\n\nMy dear keeper, how are you?\n",  # a letter
        "Content-Type: what a header says of its body\n\nMIME-Version: is another.\n",
        "title: a page\ndate: 2020-01-01\n\n# Heading\n\ntext\n",
        "MIME-Version: 1.0 is what the header says.\nSo it stands in RFC 2045.\n\nText\n",
        "x = 1\ny=2\nurl?a=3D&b=4\n" * 30,
    ],
)
def test_text_that_is_none(text):
    assert sniff(text.encode()).name in ("text", "markdown")


def test_a_message_that_is_cut_gives_what_it_has(opened):
    message = mail(TEXT)
    message.add_attachment(TEXT * 50, subtype="plain")
    raw = message.as_bytes()
    leaves, problems = opened(raw[: len(raw) // 2])
    assert leaves["raw!/1"].decode() == TEXT
    assert problems == [("raw", "truncated")]


def test_damaged_base64_is_told(opened):
    raw = mail(TEXT, cte="base64").as_bytes()
    head, _, body = raw.partition(b"\n\n")
    _, problems = opened(head + b"\n\n" + body[:400])
    assert problems == [("raw", "corrupt")]


def test_hostile_messages_cost_a_row(opened):
    head = b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=a\n\n"
    nested = head + b"".join(b"--%d\nContent-Type: multipart/mixed; boundary=%d\n\n" % (i, i + 1) for i in range(MAX_BOUNDARIES + 1))
    assert opened(nested) == ({}, [("raw", "unsupported")])
    assert opened(head + b"x" * MAX_MESSAGE_BYTES) == ({}, [("raw", "unsupported")])
    leaves, problems = opened(head + b"--a\n\nx\n" * 20_000)
    assert ("raw", "members") in problems or len(leaves) == 20_000


def test_a_quoted_printable_body(opened):
    coded = quopri.encodestring(TEXT.encode())
    assert sniff(coded).name == "quoted-printable"
    assert opened(coded) == ({"raw": TEXT.encode()}, [])
    long = (TEXT * 2000).encode()
    assert opened(quopri.encodestring(long)) == ({"raw": long}, [])


def test_a_sequence_of_json_texts(opened):
    records = [{"text": f"第{n}句话，有\\n换行。", "id": n} for n in range(100)]
    sequence = b"".join(b"\x1e" + json.dumps(one).encode() + b"\n" for one in records)
    assert sniff(sequence).name == "json-seq"
    leaves, problems = opened(sequence)
    assert problems == []
    assert [json.loads(line) for line in leaves["raw"].splitlines()] == records
    leaves, _ = opened(sequence.replace(b"\n", b""))  # texts that were cut, by RFC 7464, section 2.3
    assert [json.loads(line) for line in leaves["raw"].splitlines() if line] == records

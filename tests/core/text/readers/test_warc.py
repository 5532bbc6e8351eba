from __future__ import annotations

import contextlib
import gzip
import io
import json

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from mspt.core.text.containers.sniff import WARC
from mspt.core.text.containers.streams import ByteStream, open_raw
from mspt.core.text.containers.walk import Leaf, Problem, walk
from mspt.core.text.readers.read import items
from mspt.core.text.readers.record import Fields, Options, Record

PAGE = "<html><head><title>花园</title></head><body><p>春天来了，花园里的花都开了。孩子们在草地上跑来跑去。</p></body></html>"


def record(
    kind: str = "response", block: bytes = b"", url: str = "http://x.example/", version: bytes = b"1.0", length: bytes | None = None, **headers: str
) -> bytes:
    lines = [b"WARC/" + version, b"WARC-Type: " + kind.encode(), b"WARC-Target-URI: " + url.encode(), b"WARC-Date: 2020-01-02T03:04:05Z"]
    lines += [f"{name.replace('_', '-')}: {value}".encode() for name, value in headers.items()]
    return b"\r\n".join([*lines, b"Content-Length: " + (b"%d" % len(block) if length is None else length), b"", block, b"", b""])


def http(body: bytes, headers: str = "", status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + body


def page(number: int = 0) -> bytes:
    return record(block=http(f"<html><body>{number}</body></html>".encode(), "Content-Type: text/html\r\n"))


def told(found: list[Record | Problem]) -> list[str]:
    return [one.decoded.text if isinstance(one, Record) else one.rule for one in found]


def test_every_record_has_a_row_and_a_response_is_a_page(read):
    data = b"".join(
        [
            record("warcinfo", b"software: x\r\n"),
            record("request", b"GET / HTTP/1.1\r\n\r\n"),
            record(block=http(PAGE.encode()), WARC_Record_ID="<urn:uuid:1>", WARC_IP_Address="1.2.3.4"),
            record("metadata", b"a: b\r\n"),
            record("revisit", http(b"")),
            record("resource", "一个文件".encode(), url="file:///a", Content_Type="text/plain"),
            record("conversion", "纯文本".encode(), url="http://y.example/"),
            record("strange", b""),
        ]
    )
    found = read(data)
    assert told(found) == ["not-content", "not-content", PAGE, "not-content", "revisit", "一个文件", "纯文本", "not-content"]
    assert [one.ref for one in found] == [f"f#{number}" for number in range(8)]
    assert (found[2].markup, found[2].url) == (True, "http://x.example/")
    assert found[2].meta == {"id": "<urn:uuid:1>", "date": "2020-01-02T03:04:05Z", "ip": "1.2.3.4"}
    assert (found[5].markup, found[6].url, found[1].detail) == (False, "http://y.example/", "request")


@pytest.mark.parametrize("version", [b"0.17", b"0.18", b"1.0", b"1.1"])
def test_versions(read, version):
    assert told(read(record(block=http(PAGE.encode()), version=version) * 2)) == [PAGE, PAGE]


def test_what_the_server_says_and_what_the_bytes_say(read):
    cases = [
        (http(PAGE.encode("gb18030"), "Content-Type: text/html; charset=GB2312\r\n"), PAGE),
        (http(PAGE.encode("big5", "ignore"), "Content-Type: text/html; charset=big5\r\n"), PAGE.encode("big5", "ignore").decode("big5")),
        (http(gzip.compress(PAGE.encode()), "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), PAGE),
        (http(b'{"text": "of an API", "n": 1}', "Content-Type: text/html\r\n"), "of an API"),
        (http(b'[{"text": "a"},\n {"text": "b"}]'), "unread-type"),
        (http(b"a,b\n1,2\n3,4\n", "Content-Type: text/csv\r\n"), "a,b\n1,2\n3,4\n"),
        (http(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "Content-Type: text/html\r\n"), "unread-type"),
        (http(b"%PDF-1.7\nx"), "unread-type"),
        (http(b""), "empty-file"),
        (http(PAGE.encode(), status="404 Not Found"), "http-status"),
        (http(b"", "Location: /x\r\n", "301 Moved"), "http-status"),
        (PAGE.encode(), PAGE),
        (b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n" + PAGE.encode(), PAGE),
        (b"HTTP/1.1 banana\r\n\r\n" + PAGE.encode(), "http-status"),
    ]
    found = read(b"".join(record(block=block) for block, _ in cases))
    assert told(found) == [expected for _, expected in cases]
    assert (found[6].detail, found[7].detail, found[9].value) == ("png", "pdf", 404)
    assert found[3].meta == {"date": "2020-01-02T03:04:05Z", "n": 1}


def test_names_are_no_documents(read):
    found = read(record(block=b"20200101\nx.example. 300 IN A 1.2.3.4\n", Content_Type="text/dns", url="dns:x.example") + page())
    assert [one.rule for one in found[:1]] == ["not-content"]


def test_a_record_in_segments_is_told(read):
    found = read(record(block=http(PAGE.encode()), WARC_Segment_Number="1") + record("continuation", b"rest", WARC_Segment_Number="2"))
    assert told(found) == ["unsupported", "not-content"]


def test_a_body_that_breaks_off_is_read_as_far_as_it_goes(read):
    (found,) = read(record(block=http(gzip.compress(PAGE.encode() * 500)[:-200], "Content-Encoding: gzip\r\n")))
    assert found.decoded.text.startswith(PAGE)
    assert found.meta["fault"].startswith("gzip: ")


@pytest.mark.parametrize("length", [b"-5", b"", b"abc", b"5 5", b"1e3", b"99999999999999999999"])
def test_a_length_that_is_none_costs_only_its_record(read, length):
    found = read(page(1) + record(block=http(b"lost"), length=length) + page(2))
    assert told(found) == ["<html><body>1</body></html>", "bad-record", "<html><body>2</body></html>"]
    assert "lost" in found[1].text


@pytest.mark.parametrize("wrong", [-30, -3, 3, 30, 300])
def test_a_wrong_length_costs_nothing(read, wrong):
    block = http(PAGE.encode())
    found = read(page(1) + record(block=block, length=b"%d" % (len(block) + wrong)) + page(2) + page(3))
    texts = [text.strip() for text in told(found)]  # a length of a few bytes too many takes in the line ends behind it
    assert texts == ["<html><body>1</body></html>", PAGE, "<html><body>2</body></html>", "<html><body>3</body></html>"]


def test_a_wrong_length_of_an_empty_record_costs_nothing_else(read):
    assert told(read(record("metadata", b"", length=b"300")[:-4] + page(1) + page(2))) == [
        "not-content",
        "<html><body>1</body></html>",
        "<html><body>2</body></html>",
    ]


def test_wrong_lengths_by_the_thousand_are_read_in_linear_time():
    """Each claims 10 MB, which are there: 20,000 times 10 MB must not be copied."""
    data = record("metadata", b"x", length=b"10000000") * 20_000 + page(1) + bytes(12_000_000)
    found = [item.read() for item in items(Leaf("f", WARC, ByteStream([data[i : i + 262_144] for i in range(0, len(data), 262_144)])))]
    assert told(found) == ["not-content"] * 20_000 + ["<html><body>1</body></html>", "bad-record"]


def test_bytes_between_records_are_told(read):
    found = read(page(1) + b"garbage\n" * 10 + page(2) + b"\r\n\r\n\r\n" + page(3) + bytes(5000))
    assert told(found) == ["<html><body>1</body></html>", "bad-record", "<html><body>2</body></html>", "<html><body>3</body></html>", "bad-record"]
    assert (found[1].value, found[4].value) == (80, 5000)


@pytest.mark.parametrize("left", [20, 100, 140, 190])
def test_the_end_of_a_cut_file_is_told_and_what_is_before_it_is_read(read, left):
    cut = page(3)[:left]
    assert (page(3).index(b"\r\n\r\n"), len(page(3))) == (118, 197)
    assert told(read(page(1) + page(2) + cut)) == ["<html><body>1</body></html>", "<html><body>2</body></html>", "truncated"]


def test_a_record_that_is_too_large_is_passed_over(read):
    large = record(block=http(b"x" * 500_000))
    found = read(page(1) + large + page(2), max_document_bytes=100_000)
    assert told(found) == ["<html><body>1</body></html>", "too-large", "<html><body>2</body></html>"]
    assert (found[1].value, found[1].threshold) == (500_019, 100_000)
    (bomb,) = read(record(block=http(gzip.compress(bytes(10**7)), "Content-Encoding: gzip\r\n")), max_document_bytes=100_000)
    assert (bomb.rule, bomb.threshold) == ("too-large", 100_000)


def test_headers_without_end_and_empty_headers(read):
    found = read(b"WARC/1.0\r\n" + b"X: y\r\n" * 20_000 + page(1) + b"WARC/1.0\r\n\r\n" + page(2))
    assert told(found) == ["bad-record", "<html><body>1</body></html>", "bad-record", "<html><body>2</body></html>"]


def test_a_warc_inside_a_record_is_content(read):
    """Its inner records look like the next ones, but the length says otherwise, and fits."""
    inner = b"text of an archive:\r\n" + page(7) + page(8)
    assert told(read(page(1) + record("resource", inner) + page(2)))[1] == inner.decode()
    assert len(read(page(1) + record("resource", inner) + page(2))) == 3


def test_arc(read):
    about = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n\n"
    head = b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain %d\n%b" % (len(about), about)
    block = http(PAGE.encode(), "Content-Type: text/html\r\n")
    good = b"http://x.example/a b 1.2.3.4 20200102030405 text/html %d\n%b\n" % (len(block), block)
    bad = b"http://x.example/ 1.2.3.4 20200102030405 text/html -7\nlost\n"
    found = read(head + b"\n" + good + bad + good)
    assert told(found) == ["not-content", PAGE, "bad-record", PAGE]
    assert (found[1].ref, found[1].url, found[1].meta) == ("f#1", "http://x.example/a b", {"date": "20200102030405", "ip": "1.2.3.4"})


def test_version_2_of_arc(read):
    head = b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 200 - - 0 x.arc 9\n2 0 Test\n\n"
    block = http(PAGE.encode())
    line = b"http://x.example/ 1.2.3.4 20200102030405 text/html 200 ABC - 123 x.arc %d\n" % len(block)
    assert told(read(head + b"\n" + line + block + b"\n")) == ["not-content", PAGE]


def test_all_headers_are_kept_on_demand(read):
    (found,) = read(record(block=http(PAGE.encode(), "Content-Type: text/html\r\n")), fields=Fields(keep=True))
    assert found.fields == {"date": "2020-01-02T03:04:05Z", "url": "http://x.example/", "type": "text/html"}


def of_warcio(raw: bytes) -> list[tuple[str, str, bytes]]:
    """(type, status, decoded body) of every record, by warcio."""
    found = []
    with contextlib.redirect_stderr(io.StringIO()):
        for one in ArchiveIterator(io.BytesIO(raw)):
            status = one.http_headers.get_statuscode() if one.http_headers else ""
            found.append((one.rec_type, status, one.content_stream().read()))
    return found


def test_every_record_of_the_real_files_is_there(shared, tmp_path):
    """Count and payload of each record as warcio has them; the JSON of three of them has no text."""
    count = 0
    for path in sorted((shared / "data/warc").rglob("*")):
        if not path.name.endswith((".warc", ".warc.gz", ".arc.gz")):
            continue
        expected = of_warcio(path.read_bytes())
        leaf = next(walk(open_raw(path), "f"))
        assert isinstance(leaf, Leaf)
        found = [item.read() for item in items(leaf, Options(scratch=tmp_path))]
        assert len(found) == len(expected), path.name
        for one, (kind, status, body) in zip(found, expected, strict=True):
            if isinstance(one, Record):
                assert (kind, status) in {("response", "200"), ("resource", "")}
                assert one.decoded.text == body.decode(one.decoded.encoding), one.ref
                count += 1
            else:
                assert one.rule == {"revisit": "revisit", "response": "no-text"}.get(kind, "not-content")
                assert kind != "response" or "text" not in json.loads(body)
    assert count == (22 + 2) + 1 + 1 + 1 + 1 + 1  # by hand: responses and resources of status 200, file by file


def test_what_warcio_writes_is_read_back(read):
    buffer = io.BytesIO()
    writer = WARCWriter(buffer, gzip=False)
    bodies = [f"<html><body>{'字' * number}</body></html>" for number in range(1, 30)]
    for number, body in enumerate(bodies):
        headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html; charset=utf-8")], protocol="HTTP/1.1")
        written = writer.create_warc_record(f"http://x.example/{number}", "response", payload=io.BytesIO(body.encode()), http_headers=headers)
        writer.write_record(written)
    assert told(read(buffer.getvalue())) == bodies


def test_a_gzip_that_is_cut_leaves_what_was_before_it(tmp_path):
    whole = b"".join(gzip.compress(page(number)) for number in range(20))
    for name, data in (("members", whole[:-40]), ("one", gzip.compress(b"".join(map(page, range(20))))[:-40])):
        path = tmp_path / name
        path.write_bytes(data)
        found: list[Record | Problem] = []
        for leaf in walk(open_raw(path), "f"):
            found += [item.read() for item in items(leaf)] if isinstance(leaf, Leaf) else [leaf]
        records = [one for one in found if isinstance(one, Record)]
        assert [one.decoded.text for one in records] == [f"<html><body>{number}</body></html>" for number in range(len(records))]
        assert len(records) >= (19 if name == "members" else 1)
        assert {(one.ref, one.rule) for one in found if isinstance(one, Problem)} == {(f"f#{len(records)}", "truncated"), ("f", "truncated")}


def test_no_damage_raises(read):
    data = page(1) + record(block=http(gzip.compress(PAGE.encode()), "Content-Encoding: gzip\r\n")) + page(2)
    for place in range(0, len(data), 7):
        assert read(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :], kind=WARC)

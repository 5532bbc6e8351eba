from __future__ import annotations

import gzip
import random
import sqlite3
import sys

import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES, sniff
from support.packing import COMPRESSORS, tar, zipped

CHINESE = "春眠不觉晓，处处闻啼鸟。\n夜来风雨声，花落知多少。\n" * 20


def kind(data: bytes) -> str:
    return sniff(data[:HEAD_BYTES]).name


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressed_streams(name):
    assert kind(COMPRESSORS[name](b"x" * 1000)) == name


def test_archives_and_what_only_looks_like_a_zip():
    assert kind(tar({"a": b"x"})) == "tar"
    assert kind(zipped({"a.txt": b"x"})) == "zip"
    assert kind(zipped({})) == "zip"
    assert kind(zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w/>"})) == "ooxml"
    assert kind(zipped({"mimetype": b"application/vnd.oasis.opendocument.text"}, method=0)) == "opendocument"


def test_a_tar_from_before_posix_has_no_magic():
    block = bytearray(tar({"old.txt": b"x"})[:512])
    block[257:265] = bytes(8)
    block[148:156] = b"%06o\0 " % (sum(block[:148]) + 8 * 32 + sum(block[156:]))
    assert kind(bytes(block) + b"x" + bytes(511 + 1024)) == "tar"


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"%PDF-1.7\n", "pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "jpeg"),
        (b"GIF89a\x01\0", "gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 ", "webp"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "ole"),
        (b"Rar!\x1a\x07\x01\0", "rar"),
        (b"\0\0\0\x18ftypmp42", "mp4"),
        (b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0\xb8" + bytes(40), "pe"),
        (b"{\\rtf1\\ansi hello}", "rtf"),
        (b"", "empty"),
        (b"\x01\x02\x03\x04" * 50, "binary"),
        (bytes(5000), "binary"),
    ],
)
def test_what_is_recognised_but_not_read(head, name):
    assert kind(head) == name
    assert sniff(head).role == "unread"


@pytest.mark.parametrize(
    ("head", "name", "role"),
    [
        (b"7z\xbc\xaf\x27\x1c\0\x04", "7z", "archive"),
        (b"PAR1\x15\x04", "parquet", "leaf"),
        (b"WARC/1.0\r\nWARC-Type: warcinfo\r\n", "warc", "leaf"),
        (b"WARC/0.17\r\nWARC-Type: warcinfo\r\n", "warc", "leaf"),
        (b"filedesc://x.arc.gz 127.0.0.1", "arc", "leaf"),
        (b"id,text\n1,words\n2,more words\n", "csv", "leaf"),
        (b"id\ttext\n1\twords\n2\tmore words\n", "tsv", "leaf"),
        (b"# Title\n\nSee [it](http://x.example/).\n", "markdown", "leaf"),
        (b'{\n "a": 1\n}\n', "json", "leaf"),
    ],
)
def test_what_holds_records(head, name, role):
    assert (kind(head), sniff(head).role) == (name, role)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig", "gb18030", "big5"])
def test_tables_and_lines_of_json_in_any_encoding(encoding):
    rows = "".join(f"{n},春天來了，花園裡的花都開了,http://x.example/{n}\n" for n in range(30))
    assert kind(f"编号,正文,链接\n{rows}".encode(encoding, "ignore")) == "csv"
    assert kind(f"id,text,url\r{rows}".replace("\n", "\r").encode(encoding)) == "csv"
    assert kind("".join(f'{{"text": "第{n}行"}}\r' for n in range(30)).encode(encoding)) == "jsonl"


def test_real_programs_and_databases(tmp_path):
    with open(sys.executable, "rb") as file:
        assert kind(file.read(HEAD_BYTES)) == "elf"
    with sqlite3.connect(tmp_path / "x.db") as db:
        db.execute("create table t (a)")
    assert kind((tmp_path / "x.db").read_bytes()) == "sqlite"
    assert kind(random.Random(0).randbytes(5000)) == "binary"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030", "hz"])
def test_text_in_any_encoding_is_text(encoding):
    assert kind(CHINESE.encode(encoding)) == "text"


def test_two_letters_are_no_proof_of_a_program():
    assert kind(b"MZ was the mark of Mark Zbikowski.\n") == "text"
    assert kind(b"BM25 is a ranking function.\n") == "text"


def test_runs_of_nul_inside_text_are_survived():
    assert kind(b"a line of a log\n" * 200 + bytes(500) + b"another line\n" * 100) == "text"


@pytest.mark.parametrize(
    "page",
    [
        "<!DOCTYPE html><html><body><p>x</p></body></html>",
        "\ufeff  <!-- made by hand -->\n<html lang=zh><head></head></html>",
        '<?xml version="1.0" encoding="gb2312"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0">\n<html xmlns="http://www.w3.org/1999/xhtml"></html>',
        "Warning: mysql_connect() failed in /var/www/x.php on line 3\n<html><head><title>x</title></head></html>",
        "<div class='a'>\n<p>one</p>\n<p>two</p>\n</div>",
        "<HTML><BODY>x",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_pages(page, encoding):
    assert kind(page.encode(encoding)) == "html"


@pytest.mark.parametrize(
    "text",
    [
        '<p align="center"><img src="logo.png"></p>\n\n# Title\n\nA project that does things.\n\n- one\n- two\n\n## More\n\ntext\n',
        'PAGE = """\n<!DOCTYPE html>\n<html>\n<body></body>\n"""\n\ndef f():\n    return PAGE\n',
        "# How to write a page\n\n```html\n<html>\n<body>\n</body>\n```\n",
        "<<三国演义>>第一回\n话说天下大势，分久必合，合久必分。\n",
        "a < b and b > c\n",
    ],
)
def test_text_that_only_holds_tags(text):
    assert kind(text.encode()) in ("text", "markdown")


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ('{{"text": {page}}}\n{{"text": "two"}}\n', "jsonl"),
        ('{{"url": "http://a.b", "html": "\\n{plain}"}}\n{{"html": ""}}\n', "jsonl"),
        ('{{"html": {page}}}', "jsonl"),
        ("id,html\n1,{page}\n2,{page}\n3,x\n", "csv"),
        ("id\thtml\n1\t{plain}\n2\t{plain}\n3\tx\n", "tsv"),
    ],
)
def test_pages_in_fields_of_records_make_no_page_of_the_file(rows, name):
    plain = "<!DOCTYPE html><html><head><title>x</title></head><body><p>one</p></body></html>"
    for page in (plain, plain.removeprefix("<!DOCTYPE html>")):
        assert kind(rows.format(page=f'"{page}"', plain=page).encode()) == name


def test_xml_is_no_page():
    assert kind(b'<?xml version="1.0"?>\n<rss version="2.0"><channel><title>x</title></channel></rss>') == "xml"
    assert kind(b'<svg xmlns="http://www.w3.org/2000/svg"><path d="M0"/></svg>') == "xml"


def test_json_lines_and_json():
    lines = b"".join(b'{"text": "line %d"}\n' % i for i in range(5))
    assert kind(lines) == "jsonl"
    assert kind(b"\xef\xbb\xbf" + lines) == "jsonl"
    assert kind(lines.decode().encode("utf-16")) == "jsonl"
    assert kind(b'{"text": "cut off...\n' + lines) == "jsonl"
    assert kind(b'{"text": "' + b"x" * 2 * HEAD_BYTES + b'"}\n') == "jsonl"  # the first line is longer than what sniff sees
    assert kind(b'{\n  "a": 1,\n  "b": {"c": 2}\n}\n') == "json"
    assert kind(b'[\n{"text": "x"},\n{"text": "y"}\n]\n') == "json"
    assert kind(b"{% block %}\nno JSON\n") == "text"


def test_lines_of_json_survive_more_nuls_than_text():
    lines = b"".join(b'{"text": "\xe4\xbb\x8a\xe5\xa4\xa9 %d"}\n' % number for number in range(20))
    assert kind(lines + b"\0" * 5000 + b"\n" + lines) == "jsonl"  # a crashed writer left them
    assert kind(b"some text\n" * 20 + b"\0" * 5000) == "binary"
    assert kind(b"\0" * 5000 + bytes(range(1, 32)) * 20 + lines) == "binary"


def test_every_real_page_and_json_lines_file_of_the_shared_data_is_told(shared):
    for pattern, name in (("*/html/*.html.gz", "html"), ("*.jsonl.gz", "jsonl")):
        for path in sorted((shared / "data").glob(pattern)):
            with gzip.open(path) as file:
                assert kind(file.read(HEAD_BYTES)) == name, path.name
    for path in (shared / "data/lid_udhr").glob("*.txt"):
        if path.stat().st_size:
            assert kind(path.read_bytes()) == "text", path.name


def test_hostile_heads_are_told_in_bounded_time():
    markup = (b"<", b"<!--", b"<a ", b"# a\n\n", b"| ", b"data:", b"-----BEGIN ")
    pieces = (b"[{", b'"', b",", b"\t", b"A", b"Ab1", b"a,b\n", b'a,"', b"{" * 50, b"\n", b"\xff", b'{"a":', *markup)
    for piece in pieces:
        assert kind((piece * HEAD_BYTES)[:HEAD_BYTES])

from __future__ import annotations

import pytest


def test_one_plain_text_is_one_record(read):
    text = "春天来了，花园里的花都开了。老人坐在树下，慢慢地喝着茶。\n" * 20
    (record,) = read(text.encode("gb18030"))
    assert (record.ref, record.decoded.encoding, record.decoded.text) == ("f#0", "gb18030", text)


def test_markdown_is_plain_text(read):
    text = "# Title\n\nSee [here](http://example.org/).\n\n```sh\nls\n```\n"
    (record,) = read(text.encode())
    assert (record.decoded.text, record.markup) == (text, False)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "big5", "utf-16", "utf-32-be", "utf-16-le"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_huge_text_is_cut_at_blank_lines_and_loses_nothing(read, encoding, end):
    paragraphs = [f"第{i}段。" + "這是一段很長的文字，" * 10 + end * 2 for i in range(100)]
    text = "".join(paragraphs)
    found = read(text.encode(encoding), max_document_bytes=4096)
    assert [record.ref for record in found] == [f"f#{i}" for i in range(len(found))]
    assert len(found) > 4
    assert "".join(record.decoded.text for record in found) == text
    assert all(record.decoded.text.endswith(end * 2) for record in found)


@pytest.mark.parametrize("text", ["一行很短\n" * 3000, "没有换行的文字" * 3000])
@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le"])
def test_without_blank_lines_it_is_cut_at_line_ends_else_between_characters(read, text, encoding):
    found = read(text.encode(encoding), max_document_bytes=5000)
    assert "".join(record.decoded.text for record in found) == text
    assert all(record.decoded.text.endswith("\n") for record in found) or "\n" not in text


def test_a_piece_is_decoded_as_the_first_one_was(read):
    """The last piece alone is too short to tell its encoding: two characters of Big5."""
    text = "春天來了，花園裡的花都開了，老人坐在樹下。\n" * 200 + "\n" + "牟嗶\n"
    found = read(text.encode("big5"), max_document_bytes=len(text[:-3].encode("big5")))
    assert len(found) == 2
    assert found[0].decoded.encoding == found[1].decoded.encoding
    assert found[-1].decoded.text == "牟嗶\n"

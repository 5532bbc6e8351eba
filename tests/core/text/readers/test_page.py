from __future__ import annotations


def test_a_page_is_one_record_with_its_markup(read):
    page = "<html><head><meta charset=gbk></head><body>网页</body></html>"
    (record,) = read(page.encode("gbk"))
    assert (record.ref, record.markup, record.decoded.text) == ("f#0", True, page)


def test_a_page_that_is_too_large_is_rejected(read):
    (problem,) = read(b"<html><body>" + b"x" * 5000, max_document_bytes=4096)
    assert (problem.ref, problem.rule, problem.value, problem.threshold) == ("f", "too-large", 5012, 4096)

from __future__ import annotations

import pytest

from mspt.core.text.readers.fields import as_decoded, find, meta_of, record_of, scalar, shown
from mspt.core.text.readers.record import Fields


def test_a_field_is_found_by_its_name_before_its_path():
    value = {"a": {"b": {"c": 1}, "b.c": 2}, "a.b": 3}
    assert [find(value, name) for name in ("a.b", "a.b.c", "a", "x", "a.x", "a.b.c.d")] == [3, 2, value["a"], None, None, None]
    assert find({"a": 1}, "a.b") is None


def test_surrogates_are_joined_or_replaced():
    assert scalar("a\ud83d\ude00b\ud83d") == "a\U0001f600b\ufffd"


def test_numbers_serve_as_address_title_and_source_truth_values_do_not():
    fields = Fields(title="n", url="yes", source="f")
    record = record_of("r", {"text": "x", "n": 12, "yes": True, "f": 0.5}, fields, as_decoded("x", "utf-8"), "")
    assert (record.title, record.url, record.source) == ("12", "", "0.5")


def test_meta_is_what_is_short_or_named_and_has_no_place_of_its_own():
    value = {"text": "x", "url": "u", "from": "s", "id": 7, "ok": True, "long": "x" * 1001, "list": [1], "none": None}
    assert meta_of(value, Fields(source="from")) == {"id": 7, "ok": True}
    assert meta_of(value, Fields(meta=("list", "long", "none", "url"))) == {"list": [1], "long": "x" * 1001, "url": "u"}
    assert meta_of(value, Fields(meta=())) == {}


def test_what_is_missing_is_said_with_what_there_is():
    problem = record_of("r", {"b": 1, "a": 2}, Fields(text="body"), None, "shown")
    assert (problem.rule, problem.detail, problem.text) == ("no-text", "no field body; there are a, b", "shown")


def test_what_is_null_or_no_text_is_said_so():
    assert record_of("r", {"text": None, "a": 2}, Fields(), None, "").detail == "field text is null; there are a"
    assert record_of("r", {"text": 5}, Fields(), None, "").detail == "field text is int, not text"


@pytest.mark.parametrize(
    ("text", "is_page"),
    [
        ("<html><body><p>text</p></body></html>", True),
        ("\ufeff\n <!-- saved --><?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'><p>text", True),
        ("<BODY class='a'>text</BODY>", True),
        ("<p>a part of a page</p><div>more</div>", False),  # its tags are residues
        ("Write <html> first, then <body>.", False),
        ("```\n<html>\n```", False),
        ("<html> is the first tag of a page, and <body> follows.", False),
        ("<!DOCTYPE html>\nis how you begin. Then comes <html>.", False),
        ("<html>text</html>\n", True),
        ("<!DOCTYPE html>text<br>text</body>", True),
        ("<htmlish>text</htmlish>", False),
        ("", False),
    ],
)
def test_a_text_that_is_a_whole_page_is_one(text, is_page):
    record = record_of("r", {"text": text}, Fields(), as_decoded(text, "utf-8"), "")
    assert (record.markup, record.in_field) == (is_page, is_page)
    assert not record_of("r", {"text": text}, Fields(pages=False), as_decoded(text, "utf-8"), "").markup


def test_what_is_shown_is_short_and_always_text():
    assert shown(b"\xff" + b"x" * 5000) == "\ufffd" + "x" * 2047

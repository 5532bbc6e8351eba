from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path

import pytest

from mspt.core.text.cleaning import Recipe, clean
from mspt.core.text.decoding.decode import decode
from mspt.core.text.form import detect_form
from mspt.core.text.outcomes import Document, Rejection
from mspt.core.text.readers.record import Record
from mspt.core.text.rules.document_rules import DEFAULT

POEM = "春天来了，花园里的花都开了。\n孩子们在草地上跑来跑去，大家都很高兴。\n老人坐在树下，慢慢地喝着茶，说着从前的事情。\n"


def record(data: bytes, *, markup: bool = False, ref: str = "f#0", **fields) -> Record:
    return Record(ref, decode(data, markup=markup), markup, **fields)


def test_a_plain_text_becomes_a_document():
    found = clean(record(POEM.replace("\n", "\r\n").encode("gb18030"), title="T", meta={"id": "a"}))
    assert isinstance(found, Document)
    assert (found.text, found.encoding, found.language.tag, found.title, found.meta) == (POEM.rstrip(), "gb18030", "zh-Hans", "T", '{"id":"a"}')
    assert found.changed["line_ends"] == 3


def test_a_page_gives_text_structure_and_what_it_says_of_itself():
    page = f"""<html lang=zh><head><meta charset=gbk><title>花园</title><script>alert("x")</script><style>p {{}}</style></head>
        <body><h1>花园</h1><p>{POEM}</p><p>{POEM}</p></body></html>"""
    found = clean(record(page.encode("gbk"), markup=True), Recipe(mode="page"))
    assert "alert" not in found.text
    assert found.title == "花园"
    assert [found.text[span.start : span.end] for span in found.spans if span.tag == "h1"] == ["花园"]


def test_the_record_s_own_title_and_address_come_first():
    page = b"<html><head><title>page</title><link rel=canonical href='http://page/'></head><body><p>" + POEM.encode() + b"</p></body></html>"
    found = clean(record(page, markup=True, title="record", url="http://record/"), Recipe(mode="page"))
    assert (found.title, found.url) == ("record", "http://record/")


def test_personal_data_is_masked_in_the_title_and_the_record_s_fields_too():
    meta = {"id": "13812345678", "author": "李四 13812345678", "phones": [13912345678, 5], "more": {"mail": "li.si@163.com"}, "stars": 4.5, "ok": True}
    found = clean(record(POEM.encode(), title="热线：13912345678", url="http://a/?u=li.si@163.com", meta=meta), Recipe(pii="redact"))
    assert found.title == "热线：[phone]"
    assert json.loads(found.meta) == {
        "id": "13812345678", "author": "李四 [phone]", "phones": ["[phone]", 5], "more": {"mail": "[email]"}, "stars": 4.5, "ok": True,
    }  # fmt: skip
    assert found.url == "http://a/?u=li.si@163.com"
    page = f"<html><head><title>联系 li.si@163.com</title></head><body><p>{POEM}</p></body></html>"
    assert clean(record(page.encode(), markup=True), Recipe(mode="page", pii="redact")).title == "联系 [email]"
    assert clean(record(page.encode(), markup=True), Recipe(mode="page", pii="flag")).title == "联系 li.si@163.com"


def test_doubts_about_the_decoding_stand_in_meta():
    short = clean(record("This file has settings, which are read at the start of the program: 数据 and nothing else.".encode("gbk")))
    assert short.encoding_unsure
    assert json.loads(short.meta) == {"encoding_unsure": True}
    lines = (POEM * 20).encode("gb18030").split(b"\n")
    lines[3], lines[7] = lines[3][:9] + b"\xff" + lines[3][9:], b"\xff" + lines[7] + b"\xff"
    damaged = clean(record(b"\n".join(lines), meta={"id": 1}), Recipe(steps=("decode",)))
    assert not damaged.encoding_unsure
    assert json.loads(damaged.meta) == {"id": 1, "bad_lines": 2}
    mangled = clean(record(POEM.encode().decode("latin-1").encode()))
    assert json.loads(mangled.meta) == {"repaired": ["utf-8 read as cp1252"]}


def test_mojibake_is_repaired_before_anything_judges_it():
    found = clean(record(POEM.encode().decode("latin-1").encode()))
    assert (found.text, found.repaired) == (POEM.rstrip(), ("utf-8 read as cp1252",))


@pytest.mark.parametrize(
    ("data", "markup", "step", "rule"),
    [
        ((POEM + "\ufffd" * 5).encode(), False, "decode", "undecodable"),
        ((POEM + "锟斤拷" * 9).encode(), False, "decode", "mojibake"),
        ((POEM + "\x01\x02\x03" * 9).encode(), False, "decode", "binary"),
        (b"<html><head><script>only()</script></head><body></body></html>", True, "extract", "no-content"),
        ("太短".encode(), False, "rules", "too-short"),
    ],
)
def test_who_says_no_and_why(data, markup, step, rule):
    found = clean(record(data, markup=markup))
    assert isinstance(found, Rejection)
    assert (found.step, found.rule) == (step, rule)
    assert found.text


def test_a_rejection_carries_what_was_measured():
    found = clean(record("太短".encode()), Recipe(profile=DEFAULT.changed({"too-short": 7})))
    assert (found.value, found.threshold, found.text) == (2, 7, "太短")


def test_other_languages_are_rejected_when_asked():
    recipe = Recipe(languages=("zh", "en"))
    assert isinstance(clean(record(POEM.encode()), recipe), Document)
    french = clean(record("Il fait beau aujourd'hui et nous allons nous promener dans la forêt.".encode()), recipe)
    assert (french.step, french.rule, french.detail) == ("language", "language", "fr")


def test_a_file_name_hints_at_a_programming_language():
    code = b"import os\n\n\ndef main():\n    print(os.name)\n    return 0\n\n\nif __name__ == '__main__':\n    main()\n"
    found = clean(record(code, ref="src.tar!/pkg/tool.py#0"))
    assert (found.form.form, found.form.programming_language, found.language.tag) == ("code", "python", "zxx")
    assert found.text == code.decode().rstrip()


def test_a_page_that_could_not_be_read_to_its_end_says_so():
    page = b"<html><body><p>" + POEM.encode() + b"</p>" + b"<div>" * 100_000 + b"deep</body></html>"
    found = clean(record(page, markup=True), Recipe(mode="page"))
    assert isinstance(found, Document)
    assert [part.rule for part in found.left_out] == ["unread-rest"]


def test_records_and_recipes_cross_process_borders():
    for value in (record(POEM.encode()), Recipe(), clean(record(POEM.encode()))):
        assert pickle.loads(pickle.dumps(value)) == value


HEAD = POEM + "船夫把绳子系在木桩上，抬头看了看天色，说今晚恐怕要下雨了。\n渡口对面的小店已经点起了灯，老板娘正在门口收衣服，远远地向我们招手。\n"
TAIL = "第二天早晨雨停了，河水涨了许多，桥被冲走了一半，村里的人都出来帮忙修桥。\n到了中午，木匠带着两个徒弟也赶来了，大家一边干活一边唱歌，太阳落山才回家。\n"
BADGE = "[![build](https://a.example/b.svg)](https://a.example/build)"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (f"{BADGE}\n\n# The garden\n\n{HEAD}", f"# The garden\n\n{HEAD}"),  # no blank line where the text begins now
        (f"{HEAD}key: {'aB3x' * 300}\n{TAIL}", f"{HEAD}key:\n{TAIL}"),  # no blank at the line's end
        (f"{HEAD}\n\n{BADGE}\n\n\n{TAIL}", f"{HEAD}\n\n{TAIL}"),
    ],
)
def test_what_a_cut_leaves_behind_is_tidied_and_cleaning_again_changes_nothing(written: str, expected: str) -> None:
    found = clean(record(written.encode()))
    assert isinstance(found, Document)
    assert found.text == expected.rstrip("\n")
    assert [written[written.index(part.text) :][: len(part.text)] for part in found.left_out] == [part.text for part in found.left_out] != []
    again = clean(record(found.text.encode()))
    assert (again.text, again.left_out, dict(again.changed)) == (found.text, (), {})
    untidied = clean(record(written.encode()), Recipe(steps=("decode", "language", "rules")))
    assert len(untidied.text) > len(found.text)


def test_fences_of_windows_are_fences() -> None:
    """Their lines end with CR LF, and the form is told before those are written as others are."""
    prose = "# Training\n\nThe network is trained on one card, and the loss is printed after each step.\n\n"
    program = "```python\nimport os\n\ndef main(size):\n    count = size * 2\n    return count\n\nif __name__ == '__main__':\n    main(3)\n```\n\n"
    written = (prose + program) * 3
    assert detect_form(written.replace("```", "")).form == "code"
    for text in (written, written.replace("\n", "\r\n")):
        assert detect_form(text).form == "prose"


@pytest.mark.parametrize("name", ["en_techdocs", "zh_manpages_hans"])
def test_cleaning_real_documents_again_changes_nothing(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        once = [clean(record(json.loads(line)["text"].encode())) for line in lines]
    kept = [one for one in once if isinstance(one, Document)]
    assert len(kept) > 300
    assert not [one.text[:80] for one in kept if clean(record(one.text.encode()), spans=one.spans).text != one.text]

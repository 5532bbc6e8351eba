from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES, sniff
from mspt.core.text.readers.delimited import find_form


def form(text: str, is_whole: bool = True) -> str | None:
    found = find_form(text, is_whole)
    return found and found.delimiter


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("id,text\n1,hello\n", ","),
        ('text,label\n"He said, ""no""",1\n"two\nlines",0\n', ","),
        ("question;answer\nWhat is it?;A thing.\nWho is it?;Nobody.\n", ";"),
        ("标题,正文\n春天,花园里的花都开了\n夏天,孩子们在河里游泳\n", ","),
        (",text,label\n0,some words,1\n1,other words,0\n", ","),
        ("First Name,Birth date\nAda,1815-12-10\nAlan,1912-06-23\n", ","),
        ("prompt\tresponse\nsay a\ta b c\nsay b\tb c d\nsay c\tc d e\n", "\t"),
        ("sepal.length|sepal.width\n5.1|3.5\n4.9|3.0\n", "|"),
        ("a,b,c\n1,2,3\n" * 1 + "4,5\n" + "1,2,3\n" * 8, ","),
    ],
)
def test_tables_with_a_header(text, delimiter):
    assert form(text) == delimiter


@pytest.mark.parametrize(
    "text",
    [
        "Hello, world\nGood night, moon\n",
        "床前明月光,疑是地上霜\n举头望明月,低头思故乡\n",
        "春眠不觉晓,处处闻啼鸟\n夜来风雨声,花落知多少\n" * 5,
        "import os,sys\nimport re,json\nx = 1,2\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "a | b\n--- | ---\n1 | 2\n3 | 4\n",
        "mov eax,1\nmov ebx,2\nint 80\n",
        "eng\tHello there\neng\tGood night\nfra\tBonjour\n",
        "Smith,John\nDoe,Jane\nRoe,Richard\n",
        "all:\n\tcc -o x x.c\n\nclean:\n\trm x\n",
        "for (;;) {\n  a; b;\n}\n",
        "2020-01-01,5\n2020-01-02,6\n",
        "Well, yes\nNo, never\nMaybe, some day\n",
        "one,two\n",
        "10:00,Alice,Hello\n10:01,Bob,Hi\n",
        "name, which is long\nother, with more words\nthird, and so on\n",
        "the\tDT\ndog\tNN\nbarks\tVBZ\n\na\tDT\n",
        "\n\nHello, world\nGood night, moon\n",
        "# A title, and more of it\nHello, world\nGood night, moon\n",
        "# A title\n\nname,value\nthat, or this\n",
        "#!/bin/sh\n# copies a,b\ncp a,b c,d\ncp e,f g,h\n",
        "sep=;\nnothing of the kind\n",
    ],
)
def test_text_with_commas_and_tabs_is_no_table(text):
    assert form(text) is None


def test_the_head_of_a_large_table_may_end_anywhere():
    text = "id,text,url\n" + "".join(f'{n},"words, and\nwords",http://x/{n}\n' for n in range(50))
    for end in range(200, len(text), 37):
        assert form(text[:end], is_whole=False) == ","
    assert form('id,text\n1,"a cell that is longer than what is looked at', is_whole=False) == ","


def test_nothing_in_the_standard_library_is_a_table():
    folder = Path(sysconfig.get_paths()["stdlib"])
    paths = sorted(path for part in ("*.py", "email/*.py", "json/*.py", "asyncio/*.py", "encodings/*.py", "lib2to3/*.txt") for path in folder.glob(part))
    assert len(paths) > 200
    assert [path.name for path in paths if sniff(path.read_bytes()[:HEAD_BYTES]).name in ("csv", "tsv", "base64")] == []

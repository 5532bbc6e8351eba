"""Decoding, judged by real text written in an encoding of our choice: the right answer is what we wrote."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterator

import pytest

from mspt.core.text.decode import EVIDENCE_BYTES, decode, evidence_of

HANS = "开发者可以使用以下命令安装软件包。如果系统中没有安装编译器，请先阅读安装指南，然后再继续进行下一步操作。" * 3
HANT = "開發者可以使用以下命令安裝軟體套件。如果系統中沒有安裝編譯器，請先閱讀安裝指南，然後再繼續進行下一步操作。" * 3
JAPANESE = "ソフトウェアをインストールするには、次のコマンドを実行してください。詳しい説明は、付属の文書に書かれています。" * 3
KOREAN = "소프트웨어를 설치하려면 다음 명령을 실행하십시오. 자세한 설명은 함께 제공되는 문서에 있습니다. " * 3
RUSSIAN = "Чтобы установить программу, выполните следующую команду. Подробное описание находится в прилагаемой документации. " * 3
FRENCH = "Pour installer le logiciel, exécutez la commande suivante. La description détaillée se trouve à côté, déjà prête. " * 3

WRITTEN = [
    *((HANS, codec) for codec in ("gb2312", "gbk", "gb18030", "hz", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be")),
    *((HANT, codec) for codec in ("big5", "big5hkscs", "cp950", "gbk", "utf-16-le", "utf-8")),
    *((JAPANESE, codec) for codec in ("shift_jis", "cp932", "euc_jp", "iso2022_jp", "utf-16-be")),
    *((KOREAN, codec) for codec in ("euc_kr", "cp949", "utf-16-le")),
    *((RUSSIAN, codec) for codec in ("cp1251", "koi8-r", "cp866", "iso8859-5")),
    *((FRENCH, codec) for codec in ("cp1252", "iso8859-15", "utf-8")),
]


@pytest.mark.parametrize(("text", "codec"), WRITTEN)
@pytest.mark.parametrize("head", ["", "plain ASCII before it\n" * 700], ids=["", "15-kB-ASCII-head"])
def test_text_comes_back_whatever_it_was_written_in(text, codec, head):
    found = decode((head + text).encode(codec))
    assert found.text == head + text
    assert found.replaced == found.bad_lines == 0


@pytest.mark.parametrize(("text", "codec"), [(HANS, "gb18030"), (HANT, "big5"), (JAPANESE, "euc_jp"), (KOREAN, "cp949"), (HANS, "utf-8")])
def test_a_wrong_byte_costs_only_its_line(text, codec):
    lines = [f"{i} {text}" for i in range(9)]
    raw = [line.encode(codec) for line in lines]
    raw[4] = raw[4][:50] + b"\xff" + raw[4][51:]
    found = decode(b"\n".join(raw))
    got = found.text.split("\n")
    assert got[:4] + got[5:] == lines[:4] + lines[5:]
    assert found.bad_lines == 1
    assert found.replaced_ratio < 0.01
    assert got[4].count("\ufffd") == found.replaced


@pytest.mark.parametrize(
    ("declared", "codec", "text"),
    [("gb2312", "utf-8", HANS), ("utf-8", "gbk", HANS), ("big5", "gbk", HANS), ("iso-8859-1", "gbk", HANS), ("gbk", "big5", HANT), ("utf-8", "big5", HANT)],
)
def test_wrong_declarations_are_overruled(declared, codec, text):
    page = f"<html><head><meta charset={declared}></head><body>{text}</body></html>"
    assert decode(page.encode(codec), markup=True).text == page


def test_a_declaration_decides_where_the_bytes_do_not():
    page = "<meta charset=iso-8859-2><p>Zażółć gęślą jaźń</p>"
    found = decode(page.encode("iso8859-2"), markup=True)
    assert (found.text, found.evidence) == (page, "declared")


def test_two_bytes_that_are_utf_8_and_gbk_follow_the_declaration():
    """C4 A3 is 模 in GBK and U+0123 in UTF-8."""
    raw = b"<meta charset=gbk><p>\xc4\xa3</p>"
    assert "模" in decode(raw, markup=True).text
    assert "\u0123" in decode(raw).text


def test_what_no_encoding_explains_has_a_high_ratio():
    raw = ("普通的文字" * 40).encode()
    broken = bytes(byte if i % 16 else 0xFF for i, byte in enumerate(raw))
    assert decode(broken).replaced_ratio > 0.01


def test_the_encoding_of_the_part_before_is_kept_where_it_fits():
    raw = "naïve".encode("cp1252")  # alone too short to tell
    assert decode(raw, preferred="cp1252").text == "naïve"
    assert decode(HANS.encode("gbk"), preferred="utf-8").text == HANS


def test_evidence_is_taken_from_the_whole_document():
    parts = [f"{i:04d} " + "字" * 10 + "。 " + "ascii " * 30 for i in range(400)]
    evidence = evidence_of("".join(parts).encode("gbk"), EVIDENCE_BYTES[-1]).decode("gbk", "ignore")
    assert len(evidence.encode("gbk")) <= EVIDENCE_BYTES[-1] + 1000
    numbers = [int(word) for word in re.findall(r"\d{4}", evidence)]
    assert min(numbers) < 10
    assert max(numbers) > 380


def test_long_words_behind_a_bad_byte_cost_no_more_than_their_length():
    """A pattern that tried every start took 62 s for this; the evidence is the odd bytes with their surroundings, not the words."""
    data = b"\xb9\xfe \n" + b"x" * 2_000_000 + b"\n" + b"y" * 100_000 + "漢字".encode("gbk") + b"z" * 100_000
    assert evidence_of(data, 8192) == b"\xb9\xfe " + b" " + b"y" * 24 + "漢字".encode("gbk") + b"z" * 25  # one more: it could be the second half of a character


def samples(path, size: int, number: int) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        texts = [json.loads(line)["text"] for line in file]
    random.Random(7).shuffle(texts)
    yield from [text[:size] for text in texts if len(text) >= size][:number]


@pytest.mark.parametrize(("name", "codecs"), [("zh_wiki_hans", ("gb18030", "utf-16-le", "utf-16-be")), ("zh_wiki_hant", ("big5", "gb18030", "utf-16-le"))])
def test_real_chinese_of_200_characters(shared, name, codecs):
    texts = list(samples(shared / f"data/{name}.jsonl.gz", 200, 60))
    assert len(texts) == 60
    for codec in codecs:
        written = [text.encode(codec, "ignore") for text in texts]
        right = sum(decode(raw).text == raw.decode(codec) for raw in written)
        assert right >= 59, (codec, right)

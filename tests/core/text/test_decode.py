"""Decoding, judged by real text written in an encoding of our choice: the right answer is what we wrote."""

from __future__ import annotations

import gzip
import json
import random
import struct
import zlib
from collections.abc import Iterator

import pytest

from mspt.core.text.decoding.decode import decode
from support.encodings import TEXTS

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


@pytest.mark.parametrize("codec", ["gb18030", "cp950", "cp932", "euc_jp", "cp949"])
@pytest.mark.parametrize("wrong", [b"\xff", b"\x80", b"x", b"5", b"", b"\xb0\xa1\xb0"], ids=repr)
def test_a_wrong_byte_does_not_shift_the_rest_of_a_line(codec, wrong):
    """Instead of a first byte, so that the second one seems to begin the next character, and so on to the line's end."""
    text = {"gb18030": HANS, "cp950": HANT, "cp949": KOREAN.replace(" ", "")}.get(codec, JAPANESE)
    head, tail = text[:60].encode(codec), text[60:].encode(codec)
    found = decode(head + wrong + tail[1:])
    assert found.text.startswith(text[:59])
    assert found.text.endswith(text[62:])
    assert abs(len(found.text) - len(text)) <= 3


@pytest.mark.parametrize("rule", ["-" * 60, "*" * 70, "=" * 80, "/" * 64, "." * 50, "0" * 40, "\n" * 30, "_" * 2000, "- " * 40])
@pytest.mark.parametrize(
    ("text", "codec"), [("* 作者：王小明 张三", "gb18030"), ("表头一 | 表头二\n数量 | 名称", "gb18030"), ("* 作者：王小明 張三豐", "big5")]
)
def test_a_rule_of_ascii_marks_is_no_utf_16(rule, text, codec):
    """Two dashes are a letter of Georgian in UTF-16, two stars a sign of mathematics."""
    for whole in (f"{rule}\n{text}\n{rule}\n", f" {rule}\n{text}\n", f"{text}\n{rule}\n{rule}\n"):
        assert decode(whole.encode(codec)).text == whole


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_wide_units_are_read_on_behind_a_byte_too_many_or_too_few(codec, mark):
    head, tail = (mark + HANS).encode(codec), ("\n" + HANS).encode(codec)
    for raw in (head + b"\x41" + tail, head[:-1] + tail):
        found = decode(raw)
        assert found.text.startswith(HANS[:-6])
        assert found.text.endswith(HANS[6:])
        assert found.bad_lines <= 2


LABELS = ("gb2312", "gbk", "gb18030", "big5", "big5-hkscs", "shift_jis", "euc-jp", "iso-2022-jp", "euc-kr", "utf-8", "utf-16", "iso-8859-1", "windows-1252",
          "us-ascii", "windows-1251", "koi8-r", "iso-8859-5", "windows-1250", "windows-1253", "hz-gb-2312", "no-such-charset")  # fmt: skip


@pytest.mark.parametrize(
    ("language", "codecs"),
    [
        ("zh-Hans", ("gb2312", "gbk", "gb18030", "utf-8", "hz")), ("zh-Hant", ("big5", "gbk", "utf-8")), ("ja", ("shift_jis", "euc_jp", "iso2022_jp", "utf-8")),
        ("ko", ("euc_kr", "utf-8")), ("ru", ("cp1251", "koi8-r", "iso8859-5", "cp866", "utf-8")), ("uk", ("cp1251", "koi8-u", "utf-8")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["page", "transport", "both"])
def test_wrong_declarations_are_overruled_and_right_ones_respected(language, codecs, place):
    for codec in codecs:
        for label in (*LABELS, codec):
            meta = f'<meta http-equiv="Content-Type" content="text/html; charset={label}">' if place != "transport" else ""
            raw = f"<html><head>{meta}<title>1</title></head><body>{TEXTS[language][:120]}</body></html>".encode(codec, "ignore")
            found = decode(raw, markup=True, declared=label if place != "page" else "")
            assert found.text == raw.decode(codec), (codec, label, found.encoding)


def test_the_transport_comes_before_the_page_and_a_mark_before_both():
    page = "<meta charset=windows-1257><p>ação</p>"
    raw = page.encode("cp1252")
    assert decode(raw, markup=True, declared="iso-8859-15").encoding == "iso8859-15"
    assert decode(raw, markup=True).encoding == "cp1257"
    assert decode(raw, markup=True, declared="no-such-charset").encoding == "cp1257"
    assert decode(b"\xef\xbb\xbf" + page.encode(), markup=True, declared="iso-8859-15").text == page


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


EBCDIC_TEXT = "THE STATION MASTER SWEEPS THE PLATFORM. At noon he drinks a cup of tea and looks at the valley behind the rails, for 37 years now."


@pytest.mark.parametrize("codec", ["cp037", "cp500", "cp1140"])
def test_ebcdic_is_read_as_such(codec):
    assert decode(EBCDIC_TEXT.encode(codec)).text == EBCDIC_TEXT


@pytest.mark.parametrize("text", ["a@b.example\n" * 50, "@" * 500, "@@@@ @@ @@@\n" * 40])
def test_at_signs_are_no_ebcdic(text):
    assert decode(text.encode()).text == text


@pytest.mark.parametrize("kind", ["random", "compressed", "numbers", "high bytes"])
def test_what_is_no_text_does_not_pass_for_one(kind):
    chooser = random.Random(3)
    data = {
        "random": chooser.randbytes(4000),
        "compressed": zlib.compress(chooser.randbytes(500) * 3),
        "numbers": b"".join(struct.pack("<d", chooser.gauss(0, 1)) for _ in range(400)),
        "high bytes": bytes(chooser.randrange(0x80, 0x100) for _ in range(2000)),
    }[kind]
    assert decode(data).replaced_ratio > 0.01


def test_utf_8_of_java_is_read():
    """Two surrogates of three bytes each, where UTF-8 has one character of four."""
    smile = b"\xed\xa0\xbd\xed\xb8\x80"
    assert decode("表情".encode() + smile).text == "表情😀"
    found = decode(HANS.encode() + smile + b" \xed\xa0\xbd!")
    assert found.text.startswith(HANS + "😀 ")
    assert found.bad_lines == 1  # of the half at the end


def test_a_few_words_are_marked_as_of_low_confidence():
    assert decode("中文".encode("gbk")).low_confidence
    assert not decode(HANS.encode("gbk")).low_confidence
    assert not decode("中文".encode()).low_confidence
    assert not decode(b"plain ASCII").low_confidence


def test_the_encoding_of_the_part_before_is_kept_where_it_fits():
    raw = "naïve".encode("cp1252")  # alone too short to tell
    assert decode(raw, preferred="cp1252").text == "naïve"
    assert decode(HANS.encode("gbk"), preferred="utf-8").text == HANS


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


@pytest.mark.parametrize("control", [b"\x05", b"\x11\x06"])
@pytest.mark.parametrize(
    ("text", "codec"),
    [
        ("他在這裡寫了很多關於音樂節的文字，音樂節是世界上歷史最悠久的古典音樂節，每年都有很多人來參加。", "gb18030"),
        ("人生來都是善的，這是孟子說的話，後來的人對這句話有很多不同的看法，但是大家都知道這句話是他說的。", "cp950"),
        ("나는 한국에 가서 맛있는 것을 먹고 싶다. 그것은 나의 오랜 꿈이고 친구들도 함께 가고 싶어 한다.", "cp949"),
    ],
)
def test_a_stray_control_makes_no_utf_16(text, codec, control):
    """Of a short text one control byte is as many as Chinese in UTF-16 has."""
    raw = text.encode(codec)
    middle = len(text[: len(text) // 2].encode(codec))
    assert decode(raw[:middle] + control + raw[middle:]).text.replace(control.decode(), "") == text


def test_a_line_of_japanese_with_a_wrong_byte_is_not_read_in_gbk():
    """GBK has the kana where EUC-JP has them, so the kanji alone tell them apart."""
    text = "これは強い人が使う言葉だと彼は言った。"
    raw = bytearray(text.encode("euc_jp"))
    raw[9] = 0xFA
    found = decode(bytes(raw))
    assert found.encoding.startswith("euc_j")
    assert found.text.endswith(text[6:])

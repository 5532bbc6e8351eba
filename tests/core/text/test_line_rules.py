"""What is cut out of documents that stay, and what is not."""

from __future__ import annotations

import base64
import time
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.text.rules.line_rules import Cut, cut_lines, without_cuts

BEFORE = "The ferry leaves at seven and comes back at noon, so there is time enough to walk around the island."
LINES = ["Accept all cookies", "We use cookies.", "Please enable JavaScript.", "Lorem ipsum dolor sit amet", "Home | Contact us", "https://a.b/c",
         "[a](b) | [c](d)", "QUJD" * 300, "plain", "中文一句。", "", " ", "cookies " * 60]  # fmt: skip
AFTER = "岛上没有商店，出发之前记得带够水和干粮，天黑以后码头不亮灯。"


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("Please enable JavaScript to continue.", "javascript-required"),
        ("You need to enable JavaScript to run this app.", "javascript-required"),
        ("JavaScript is disabled in your browser.", "javascript-required"),
        ("This site requires Javascript to work properly.", "javascript-required"),
        ("您的浏览器不支持JavaScript，部分功能无法使用。", "javascript-required"),
        ("請啟用 JavaScript 以瀏覽本頁面", "javascript-required"),
        ("We use cookies to improve your experience.", "cookie-notice"),
        ("By continuing to browse, you agree to our use of cookies.", "cookie-notice"),
        ("Accept all cookies", "cookie-notice"),
        ("Cookie settings", "cookie-notice"),
        ("本站使用Cookie来提升您的体验，继续浏览即表示您同意。", "cookie-notice"),
        ("Lorem ipsum dolor sit amet, consectetur adipiscing elit.", "lorem-ipsum"),
        ("Home | About us | Contact | Privacy Policy", "footer"),
        ("© 2021 All rights reserved | Terms of Use", "footer"),
        ("关于我们 | 联系我们 | 隐私政策", "footer"),
        ("版权所有 沪ICP备20012345号-2", "footer"),
        ("[Home](/) | [News](/news) | [Shop](/shop)", "links-only"),
        ("[![build](https://a.example/b.svg)](https://a.example)", "links-only"),
    ],
)
def test_notices_are_cut_with_their_line_end(line: str, rule: str) -> None:
    text = f"{BEFORE}\n{line}\n{AFTER}"
    start = len(BEFORE) + 1
    assert cut_lines(text) == [Cut(start, start + len(line) + 1, rule)]
    assert without_cuts(text, cut_lines(text)) == f"{BEFORE}\n{AFTER}"


@pytest.mark.parametrize(
    "line",
    [
        "JavaScript and Python are the two languages that most beginners start with, and for good reasons.",
        "The older standard of JavaScript had no modules, which is why so many tools were written to join files.",
        "JavaScript 是一种解释执行的语言，最初用来给网页加上简单的交互。",
        "Grandmother's cookies were famous in the whole valley, and she never told anyone what was in them.",
        "How do we use cookies?",
        "浏览器如何使用Cookie记住登录状态？",
        "A cookie is a small piece of text that the server asks the browser to keep.",
        "The phrase lorem ipsum is older than most printers think.",
        "Nobody reads a privacy policy to its end.",
        "He asked me to contact the harbour office.",
        "https://a.example/only/one",
        "See [the manual](https://a.example/manual) for more.",
        "- [Installing](install.md)",
        "![A map of the island](map.png)",
        "互联网信息服务备案号（ICP备案）是网站在国内运营必须取得的编号，没有它的网站不能开通。",
    ],
)
def test_what_is_written_about_such_things_stays(line: str) -> None:
    assert cut_lines(f"{BEFORE}\n{line}\n{AFTER}") == []


def test_three_addresses_in_a_row_are_links_only() -> None:
    addresses = ["https://a.example/1", "- https://b.example/2", "", "www.c.example"]
    text = "\n".join([BEFORE, *addresses, AFTER])
    assert [text[cut.start : cut.end] for cut in cut_lines(text)] == ["https://a.example/1\n", "- https://b.example/2\n", "www.c.example\n"]
    assert cut_lines("\n".join([BEFORE, *addresses[:2], AFTER, addresses[3]])) == []


def test_a_long_token_is_cut_out_of_its_line() -> None:
    token = "QUJD" * 300
    text = f"{BEFORE * 3} {token} {AFTER}"
    assert cut_lines(text) == [Cut(len(BEFORE) * 3 + 1, len(BEFORE) * 3 + 1 + 1200, "long-token")]
    assert cut_lines(f"{BEFORE} {token}") == []  # hardly anything else: for the rules to judge
    assert cut_lines(f"{BEFORE * 3} https://a.example/{token}") == []
    assert cut_lines("长" * 3000) == []


def test_a_line_of_percent_signs_costs_a_short_chinese_text_nothing_else() -> None:
    text = "春天来了，花园里的花都开了，孩子们在河边跑来跑去，老人坐在树下慢慢地喝着茶，说着从前的故事，谁也不急着回家，太阳慢慢地落到山的后面去了。"
    encoded = quote("的一是不了" * 180)
    assert len(encoded) == 8100
    assert without_cuts(f"{text}\n{encoded}\n", cut_lines(f"{text}\n{encoded}\n")) == f"{text}\n"
    assert cut_lines(f"{text[:40]}\n{encoded}\n") == []


def test_only_prose_is_cut_and_of_code_a_long_licence() -> None:
    notice = "Please enable JavaScript to continue."
    assert all(cut_lines(f"{BEFORE}\n{notice}", form=form) == [] for form in ("code", "markup", "table", "verse"))
    licence = "# Copyright 2020 Somebody\n# " + "Permission is hereby granted to use this file. " * 10 + "\n"
    assert cut_lines(f"{licence}import os\n", form="code") == [Cut(0, len(licence), "licence-header")]


def test_a_page_of_nothing_else_is_cut_to_nothing() -> None:
    text = "Accept all cookies\nHome | Contact us"
    assert without_cuts(text, cut_lines(text)) == ""


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_cuts_are_in_order_apart_and_of_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    cuts = cut_lines(text)
    borders = [border for cut in cuts for border in (cut.start, cut.end)]
    assert borders == sorted(borders)
    assert all(0 <= cut.start < cut.end <= len(text) for cut in cuts)
    assert len(without_cuts(text, cuts)) == len(text) - sum(cut.end - cut.start for cut in cuts)


@pytest.mark.parametrize(
    "unit",
    [
        "cookies ",
        "javascript ",
        "ipsum dolor ",
        "](",
        "[a](b) | ",
        "http://",
        "www.",
        "[![",
        "about us ",
        "ICP",
        "We use ",
        "a",
        "#\n",
        "//\n",
        "/*",
        "copyright\n",
    ],
)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    for form in ("prose", "code"):
        times = []
        for size in (100_000, 400_000):
            start = time.process_time()
            cut_lines(unit * (size // len(unit)), form=form)
            times.append(time.process_time() - start)
        assert times[1] < 16 * max(times[0], 0.02)


@pytest.mark.parametrize(("prefix", "width"), [("", 76), ("> ", 64), ("", 1000)])
def test_blocks_of_base64_are_cut(prefix, width):
    encoded = base64.b64encode(bytes(range(256)) * 20).decode()
    lines = "\n".join(prefix + encoded[i : i + width] for i in range(0, len(encoded), width))
    text = f"{BEFORE}\n{lines}\n{BEFORE}"
    cuts = cut_lines(text)
    assert {cut.rule for cut in cuts} == {"encoded-lines"}
    assert without_cuts(text, cuts) == f"{BEFORE}\n{BEFORE}"
    assert without_cuts(lines, cut_lines(lines)) == ""


@pytest.mark.parametrize("line", ["ACGT" * 16, "0123456789abcdef" * 4, "ABCDE " * 12, "a/b/c-d_e" * 9])
def test_genes_hashes_and_the_like_are_not(line):
    assert cut_lines(f"{BEFORE}\n{line}\n{line}\n{line}\n{BEFORE}") == []

"""Our own pages, written for these tests: news, threads, questions, documentation, tables, encyclopaedias, front pages; old and new markup."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mspt.core.text.html.extract import extract

PAGES = Path(__file__).parent / "pages"
NAMES = sorted(file.stem for file in PAGES.glob("*.html"))


def test_there_are_enough_of_them_and_most_are_chinese() -> None:
    assert len(NAMES) >= 30
    assert sum(name.startswith("zh") for name in NAMES) >= 2 / 3 * len(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_main_text_is_what_a_reader_would_copy(name: str) -> None:
    page = extract((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    assert page.text == (PAGES / f"{name}.txt").read_text(encoding="utf-8").strip("\n")


@pytest.mark.parametrize("name", sorted(file.name.removesuffix(".spans.json") for file in PAGES.glob("*.spans.json")))
def test_spans_name_the_elements(name: str) -> None:
    page = extract((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    expected = json.loads((PAGES / f"{name}.spans.json").read_text(encoding="utf-8"))
    assert [[tag, page.text[start:end]] for tag, start, end in page.spans] == expected


@pytest.mark.parametrize(
    ("name", "date", "url", "lang"),
    [
        ("zh-news-modern", "2023-04-18T09:26:00+08:00", "https://news.example.cn/2023/04/18/cable.html", "zh-CN"),
        ("zh-news-old-table", "2004-06-03T10:12:45", "", ""),
        ("zh-news-hant", "2011-11-06T18:32", "", "zh-Hant-TW"),
        ("zh-gov-notice", "2021-09-15T17:20", "", ""),
        ("zh-blog-comments", "2015-11-08T22:10:00+08:00", "", "zh-Hans"),
        ("en-news", "2019-03-14T06:30:00Z", "https://post.example.org/ferry", "en"),
        ("en-blog", "2014-06-02", "", ""),
        ("en-old-layout", "1998-05-03", "", ""),
        ("zh-poem", "", "", ""),
    ],
)
def test_what_a_page_says_of_itself(name: str, date: str, url: str, lang: str) -> None:
    page = extract((PAGES / f"{name}.html").read_text(encoding="utf-8"))
    assert (page.date, page.url, page.lang) == (date, url, lang)


@pytest.mark.parametrize("name", NAMES)
def test_everything_that_is_shown_is_in_the_text_of_the_whole_page(name: str) -> None:
    markup = (PAGES / f"{name}.html").read_text(encoding="utf-8")
    whole, article = extract(markup, mode="page"), extract(markup)
    if not article.text or "articleBody" in markup:
        return
    assert len(whole.text) >= len(article.text)
    letters = "".join(whole.text.split())
    assert all("".join(line.split()) in letters or line.startswith("@") for line in article.text.split("\n") if "[1]" not in line and "[2]" not in line)
    assert not whole.removed

"""What pages say of themselves, against dates worked out by hand."""

from __future__ import annotations

import pytest

from mspt.core.text.html.extract import extract
from mspt.core.text.html.head import read_date

TEXT = "<p>城市南部的老图书馆在上周重新开放，第一天就迎来了三千多名读者，许多人清晨便在门外排起长队。</p>"


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("2012-01-17 20:40 来源：某某网", "2012-01-17T20:40"),
        ("2012年01月12日15:03", "2012-01-12T15:03"),
        ("2012年1月9日 星期一", "2012-01-09"),
        ("发布时间：2012/1/9 08:05:33", "2012-01-09T08:05:33"),
        ("2012.1.9", "2012-01-09"),
        ("2023-04-18T09:26:00+08:00", "2023-04-18T09:26:00+08:00"),
        ("2023-04-18T09:26:00.000Z", "2023-04-18T09:26:00Z"),
        ("2023-04-18T01:26:00+0000", "2023-04-18T01:26:00+00:00"),
        ("20230418", "2023-04-18"),
        ("20230418092601", "2023-04-18T09:26:01"),
        ("November 19th, 2019 at 8:40 AM", "2019-11-19"),
        ("Sat Feb 02, 2008 7:14 pm", "2008-02-02"),
        ("20 Nov, 2019 05:47", "2019-11-20"),
        ("2012-02-30", ""),
        ("2012-13-01", ""),
        ("第2012008期", ""),
        ("电话：021-52921234", ""),
        ("三天前", ""),
        ("1911-10-10", ""),
    ],
)
def test_dates_are_read_as_written(written: str, date: str) -> None:
    assert read_date(written) == date


@pytest.mark.parametrize(
    ("head", "body", "date"),
    [
        ("<meta property=article:published_time content='2020-05-01T10:00:00+08:00'>", "<p>2019-01-01</p>", "2020-05-01T10:00:00+08:00"),
        ("<meta name=PubDate content='2021-09-15 17:20'>", "", "2021-09-15T17:20"),
        ('<script type="application/ld+json">[{"@graph":[{"@type":["NewsArticle"],"datePublished":"2019-03-14"}]}]</script>', "", "2019-03-14"),
        ('<script type="application/ld+json">{"@type":"Person","datePublished":"2019-03-14"}</script>', "", ""),
        ('<script type="application/ld+json">{"@type":"NewsArticle","datePublished":"2019-03-14"</script>', "", ""),
        ("", "<time>昨天</time><time pubdate datetime='2018-08-08'>八月</time>", "2018-08-08"),
        ("", "<p class=info>2012-01-17 18:10 来源：某某网</p>", "2012-01-17T18:10"),
        ("", "<p>他在2012-01-17那天离开，再也没有回来。</p>", ""),
        ("<meta name=date content='not a date'>", "<p>2012年1月17日</p>", "2012-01-17"),
    ],
)
def test_the_date_comes_from_the_most_exact_statement(head: str, body: str, date: str) -> None:
    assert extract(f"<html><head>{head}</head><body><h1>老图书馆重新开放</h1>{body}<div>{TEXT}{TEXT}</div></body></html>").date == date


def test_the_date_nearest_the_text_wins() -> None:
    page = f"<body><p>今天是2024年6月1日</p><h1>老图书馆重新开放</h1><p>2012-01-17</p><div>{TEXT}{TEXT}</div><p>2013-02-03</p></body>"
    assert extract(page).date == "2012-01-17"


@pytest.mark.parametrize(
    ("head", "title", "url", "lang"),
    [
        ("<title> 甲\n 乙 </title>", "甲 乙", "", ""),
        ("<meta property=og:title content='丙'><title>甲</title>", "丙", "", ""),
        ("<link rel=canonical href=' https://example.org/a '>", "", "https://example.org/a", ""),
        ("<link rel=canonical href='/a'><meta property=og:url content='https://example.org/b'>", "", "https://example.org/b", ""),
        ("<link rel=canonical href='/a'>", "", "/a", ""),
        ("<meta http-equiv=content-language content='zh-TW'>", "", "", "zh-TW"),
        ("<meta property=og:locale content='zh_CN'>", "", "", "zh_CN"),
    ],
)
def test_title_address_and_language_are_what_is_stated(head: str, title: str, url: str, lang: str) -> None:
    page = extract(f"<html><head>{head}</head><body>{TEXT}</body></html>")
    assert (page.title, page.url, page.lang) == (title, url, lang)


def test_hostile_data_is_left_out() -> None:
    deep = "[" * 100_000
    page = extract(f"<script type='application/ld+json'>{deep}</script><script type='application/ld+json'>{'{' * 9}</script><p>{TEXT}</p>")
    assert "老图书馆" in page.text

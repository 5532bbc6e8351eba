"""The choice of the main text: what stands around it, inside it and behind it."""

from __future__ import annotations

import pytest

from mspt.core.text.html.extract import extract

FIRST = "<p>城市南部的老图书馆在上周重新开放，第一天就迎来了三千多名读者。</p>"
SECOND = "<p>馆长介绍说，修缮工程历时两年，保留了原有的木质楼梯和彩色玻璃。</p>"
LINKS = {
    "list": "<ul><li><a href=1>另一条新闻的标题很长很长</a><li><a href=2>又一条新闻的标题也很长</a></ul>",
    "lines": "<div><a href=1>另一条新闻的标题很长很长</a><br><a href=2>又一条新闻的标题也很长</a></div>",
    "table with dates": "<table><tr><td><a href=1>另一条新闻的标题很长很长</a><td>01-12<tr><td><a href=2>又一条新闻的标题也很长</a><td>01-11</table>",
    "menu": "<div><a href=1>新闻</a> <a href=2>财经</a> <a href=3>体育</a> <a href=4>科技</a></div>",
    "labelled": "<h3>相关新闻</h3><ul><li><a href=1>另一条新闻的标题很长很长</a> (01/12)<li><a href=2>又一条新闻的标题</a> (01/11)</ul>",
    "one line": "<p>相关阅读：<a href=1>另一条新闻的标题</a> <a href=2>又一条新闻的标题</a></p>",
}


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_links_to_other_pages_go_wherever_they_stand(name: str, place: int) -> None:
    parts = [FIRST, SECOND]
    parts.insert(place, LINKS[name])
    page = extract(f"<h1>老图书馆</h1><div>{''.join(parts)}</div>")
    assert page.text == f"老图书馆\n\n{FIRST[3:-4]}\n\n{SECOND[3:-4]}"


def test_links_that_a_sentence_announces_stay() -> None:
    page = extract(f"<div>{FIRST}<p>读者可以在下面这几个地方借书，也可以还书：</p><ul><li><a href=1>城南分馆</a><li><a href=2>河东分馆</a></ul>{SECOND}</div>")
    assert "城南分馆\n河东分馆" in page.text


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>只有一句话。</p>", "只有一句话。"),
        ("<div>几个词</div>", "几个词"),
        ("<div>水退了<br>石阶一级一级<br>露出来</div>", "水退了\n石阶一级一级\n露出来"),
        ("<form><p>整个页面都在表单里，这是老式网站常见的做法，文字照样要留下。</p></form>", "整个页面都在表单里，这是老式网站常见的做法，文字照样要留下。"),
        ("<div class=sidebar><p>名字起错了的正文，它仍然是这一页唯一的正文，不能丢掉。</p></div>", "名字起错了的正文，它仍然是这一页唯一的正文，不能丢掉。"),
        ("<ul><li>苹果<li>梨<li>桃</ul>", "苹果\n梨\n桃"),
        ("<table><tr><td>甲<td>1<tr><td>乙<td>2</table>", "甲 | 1\n乙 | 2"),
        ("<pre>x = 1</pre>", "x = 1"),
        ("<a href=1>首页</a> <a href=2>新闻</a>", ""),
    ],
)
def test_a_page_with_words_gives_them(markup: str, text: str) -> None:
    assert extract(f"<body>{markup}</body>").text == text


def test_short_lines_beside_the_prose_of_one_element_belong_to_it() -> None:
    page = extract(f"<div><p>本周热词</p>{FIRST}<p>楼梯(12)</p><p>玻璃(7)</p></div><div><p>别处的短行</p></div>")
    assert page.text == f"本周热词\n\n{FIRST[3:-4]}\n\n楼梯(12)\n\n玻璃(7)"


def test_prose_far_behind_the_article_is_not_part_of_it() -> None:
    scraps = "".join(f"<p>短行{i}</p>" for i in range(12))
    page = extract(f"<div><div>{FIRST}{SECOND}</div><div>{scraps}</div><div><p>本公司成立于某年，主营某业务，欢迎各界朋友前来洽谈。</p></div></div>")
    assert "本公司" not in page.text
    assert "木质楼梯" in page.text


def test_a_heading_left_without_its_section_goes() -> None:
    links = "<ul><li><a href=1>河东分馆</a></ul>"
    page = extract(f"<h1>老图书馆</h1><div>{FIRST}<h2>参见</h2>{links}<h2>历史</h2>{SECOND}<h2>外部链接</h2>{links}</div>")
    assert "参见" not in page.text
    assert "外部链接" not in page.text
    assert "历史\n\n馆长" in page.text
    assert {one.rule for one in page.removed} == {"bare-heading"}


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("老图书馆重新开放_城市新闻网", "<h1>老图书馆重新开放</h1>"),
        ("城市新闻网 - 老图书馆重新开放", "<h1><a href=/>城市新闻网</a></h1><h2>老图书馆重新开放</h2>"),
        ("旧馆 | 慢慢写", "<h1>慢慢写</h1><h1>旧馆</h1>"),
        ("城市新闻网", "<h1>老图书馆重新开放</h1>"),
        ("第三章 雨夜_长河渡最新章节_书海阁", "<h1>第三章 雨夜</h1>"),
    ],
)
def test_the_headline_opens_the_text(title: str, heading: str) -> None:
    wanted = heading.rsplit("</", 1)[0].rsplit(">", 1)[1]
    assert extract(f"<title>{title}</title>{heading}<div>{FIRST}{SECOND}</div>").text.split("\n\n")[0] == wanted


def test_a_path_through_the_site_is_no_headline() -> None:
    page = extract(f"<title>老图书馆重新开放</title><p>首页 > 新闻 > 老图书馆重新开放</p><div><b>老图书馆重新开放</b></div><div>{FIRST}{SECOND}</div>")
    assert page.text.startswith("老图书馆重新开放\n")

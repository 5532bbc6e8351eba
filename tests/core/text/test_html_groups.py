"""Threads, whose posts are the text, and lists of other pages, which are none."""

from __future__ import annotations

import pytest

from mspt.core.text.html.extract import extract

POSTS = ["周末想带孩子出去玩，不想太远，大家推荐一下。", "水库那边不错，可以钓鱼，中午在农家吃饭。", "湿地公园啊。", "好，就去水库，谢谢！"]


def thread(name: str, *, date: str = "2014-09-0{} 12:30", title: str = "", inside: str = "") -> str:
    posts = "".join(
        f"<div class='post p{i}'><a href=/u/{i}>用户{i}</a><span>{date.format(i + 1)}</span>{title.format(i)}<div class='{name}'>{text}</div></div>"
        for i, text in enumerate(POSTS)
    )
    top = "<title>周末去哪儿玩 - 老地方</title><div class=nav><a href=/>首页</a></div><h1>周末去哪儿玩</h1>"
    return f"{top}{inside}<div>{posts}</div><div class=foot>老地方</div>"


@pytest.mark.parametrize("name", ["reply_content", "t_f", "comment", "body-7"])
def test_all_posts_are_kept_however_short_and_however_named(name: str) -> None:
    assert extract(thread(name)).text == "\n\n".join(["周末去哪儿玩", *POSTS])


def test_what_readers_say_below_an_article_is_not() -> None:
    article = "<div><p>小城通了高铁，首趟列车上午九点驶出车站。</p><p>从这里到省城只要四十分钟，票价五十元。</p></div>"
    assert (
        extract(thread("comment", inside=article)).text == "周末去哪儿玩\n\n小城通了高铁，首趟列车上午九点驶出车站。\n\n从这里到省城只要四十分钟，票价五十元。"
    )


def test_a_list_of_linked_titles_is_no_thread() -> None:
    page = extract(thread("summary", title="<h3><a href=/n/{0}>一条新闻的标题在这里{0}</a></h3>"))
    assert not any(text in page.text for text in POSTS)


def test_paragraphs_without_dates_between_them_are_no_posts() -> None:
    page = extract("<h1>周末</h1><div>" + "".join(f"<h2>第{i}节</h2><div class=para>{text}</div>" for i, text in enumerate(POSTS)) + "</div>")
    assert "第2节\n\n湿地公园啊。" in page.text


def test_brothers_without_names_are_posts_too() -> None:
    rows = "".join(f"<table><tr><td>用户{i}<td>发表于 2005-4-{i + 1}<hr>{text}</table>" for i, text in enumerate(POSTS))
    assert extract(f"<h1>周末去哪儿玩</h1>{rows}").text.split("\n\n")[-4:] == POSTS


def test_teasers_inside_an_article_go_and_the_article_stays() -> None:
    card = "<div class=card><h4><a href=/{0}>另一条新闻的标题{0}</a></h4><p>一两句话，说的是别的事情……</p></div>"
    article = "<p>小城通了高铁，首趟列车上午九点驶出车站，站台上站满了人。</p>"
    page = extract(f"<h1>小城</h1><div>{article}<div>{''.join(card.format(i) for i in range(4))}</div>{article.replace('小城', '县城')}</div>")
    assert "另一条" not in page.text
    assert page.text.count("高铁") == 2

"""Pages to text: structure by hand-worked expectations, main text by real pages with gold answers, and nothing that is no text."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mspt.core.text.html import MAX_DEPTH_PROBLEM, Page, extract


def tagged(page: Page) -> list[tuple[str, str]]:
    return [(tag, page.text[start:end]) for tag, start, end in page.spans]


STRUCTURE = """<html lang="zh-CN"><head><title>说明 - 某站</title><link rel="canonical" href="https://example.org/a"></head><body>
<h1>说明</h1>
<p>第一段，
用 <code>pip  install</code> 安装。<br>同一段的第二行。</p>
<ul><li>甲<li><p>乙一</p><p>乙二</p></ul>
<blockquote>引文 <p>两段</p></blockquote>
<pre>
def f(a):
\treturn  a   # &lt;b&gt;
</pre>
<table><tr><th>名<th>值<tr><td>x<td>1</table>
<div>散文<div>里面</div>外面</div></body></html>"""


def test_structure_becomes_text_and_spans() -> None:
    page = extract(STRUCTURE, mode="page")
    assert page.text == (
        "说明\n\n第一段，用 pip install 安装。\n同一段的第二行。\n\n甲\n\n乙一\n\n乙二\n\n引文\n\n两段\n\n"
        "def f(a):\n\treturn  a   # <b>\n\n名\t值\nx\t1\n\n散文\n\n里面\n\n外面"
    )
    assert tagged(page) == [
        ("h1", "说明"),
        ("p", "第一段，用 pip install 安装。\n同一段的第二行。"),
        ("code", "pip install"),
        ("li", "甲"),
        ("li", "乙一\n\n乙二"),
        ("p", "乙一"),
        ("p", "乙二"),
        ("blockquote", "引文\n\n两段"),
        ("p", "两段"),
        ("pre", "def f(a):\n\treturn  a   # <b>"),
        ("tr", "名\t值"),
        ("tr", "x\t1"),
        ("p", "散文"),
        ("p", "里面"),
        ("p", "外面"),
    ]
    assert (page.title, page.url, page.lang, page.problem) == ("说明 - 某站", "https://example.org/a", "zh-CN", "")


def test_white_space_is_what_a_browser_shows_but_not_between_han() -> None:
    assert extract("<p>two\n  words <b> and</b> one&nbsp;more</p><p>汉字\n  换行，\n继续 Latin\nend", mode="page").text == (
        "two words and one more\n\n汉字换行，继续 Latin end"
    )


def test_a_double_break_ends_a_paragraph() -> None:
    page = extract("<div>一行<br>二行<br><br>　　新段</div>", mode="page")
    assert tagged(page) == [("p", "一行\n二行"), ("p", "新段")]


def test_a_layout_table_is_no_data() -> None:
    page = extract("<table><tr><td><p>左一</p><p>左二</p></td><td>右</td></tr><tr><td>下</td><td>下右</td></tr></table>", mode="page")
    assert page.text == "左一\n\n左二\n\n右\n\n下\n\n下右"
    assert {span.tag for span in page.spans} == {"p"}


HIDDEN = [
    "<script>var hidden=1</script>",
    "<style>.hidden{color:red}</style>",
    "<!-- hidden -->",
    "<template><p>hidden</template>",
    "<noscript>hidden</noscript>",
    "<div hidden>hidden</div>",
    "<div style='DISPLAY : none'>hidden</div>",
    "<span style='visibility:hidden'>hidden</span>",
    "<span style='font-size:0px'>hidden</span>",
    "<p style='position:absolute; left:-9999px'>hidden</p>",
    "<i aria-hidden='true'>hidden</i>",
    "<svg><title>hidden</title><text>hidden</text></svg>",
    "<select><option>hidden</select>",
    "<textarea>hidden</textarea>",
    "<iframe>hidden</iframe>",
    "<script>document.write('<p>hidden<\\/p>')</script>",
    "<script><!--\nif (a<b) hidden();\n//--></script>",
    "<SCRIPT type='text/template'><b>hidden</b></SCRIPT >",
    "<?php hidden ?>",
    "<![CDATA[ hidden ]]>",
]


@pytest.mark.parametrize("part", HIDDEN)
@pytest.mark.parametrize("mode", ["article", "page"])
def test_what_nobody_sees_is_no_text(part: str, mode: str) -> None:
    shown = "Visible words make a sentence here, and it goes on long enough to count as prose for anybody."
    page = extract(f"<body><div><p>{shown}</p>{part}<p>{shown}</p></div></body>", mode=mode)  # type: ignore[arg-type]
    assert "hidden" not in page.text
    assert page.text.count(shown) == 2


ARTICLE = (
    "<p>城市南部的老图书馆在上周重新开放，第一天就迎来了三千多名读者，许多人清晨便在门外排起长队。</p>"
    "<p>馆长介绍说，修缮工程历时两年，保留了原有的木质楼梯和彩色玻璃，同时增加了电梯与无障碍通道。</p>"
)
FURNITURE = {
    "nav": "<nav><a href=/>首页</a> <a href=/n>新闻</a></nav>",
    "menu by name": "<div class='top-menu'><span>频道一</span><span>频道二，欢迎您的到来，请点击这里查看更多精彩内容。</span></div>",
    "link list": "<ul><li><a href=1>另一条新闻的标题很长很长很长</a><li><a href=2>又一条新闻的标题也很长很长</a></ul>",
    "aside": "<aside>编辑推荐：这本书值得一读，内容丰富，文字流畅，欢迎选购。</aside>",
    "footer": "<footer>版权所有，未经许可，不得转载，违者必究，保留所有权利。</footer>",
    "cookies": "<div id='cookie-consent'>我们使用 cookie，继续浏览即表示您同意我们的隐私政策，谢谢。</div>",
    "related": "<div class='related-articles'><p>相关阅读：博物馆夜间开放，市民反应热烈，门票一票难求。</p></div>",
    "comments": "<section class='comments'><p>网友甲：写得真好，支持一下，希望以后多写这样的文章。</p></section>",
}


@pytest.mark.parametrize("name", FURNITURE)
@pytest.mark.parametrize("place", ["before", "after", "inside"])
def test_page_furniture_is_left_out_of_the_article(name: str, place: str) -> None:
    first, second = ARTICLE.split("</p>")[:2]
    part = FURNITURE[name]
    inner = f"{first}</p>{part if place == 'inside' else ''}{second}</p>"
    page = extract(f"<body>{part if place == 'before' else ''}<div class=content>{inner}</div>{part if place == 'after' else ''}</body>")
    assert page.text == f"{first}\n\n{second}".replace("<p>", "")


def test_the_headline_is_found_above_the_article() -> None:
    page = extract(f"<title>老图书馆重新开放_城市新闻网</title><div><a href=/>首页</a></div><h1>老图书馆重新开放</h1><p>来源</p><div>{ARTICLE}</div>")
    assert tagged(page)[0] == ("h1", "老图书馆重新开放")
    assert "来源" not in page.text


@pytest.mark.parametrize(
    "markup", ["", " \n", "<", "<>", "</html>", "<!-- open", "<script>open", "\0", "&", "&#0;&#xD800;&#99999999;", "<frameset><frame src=a>"]
)
def test_pages_without_text_are_empty(markup: str) -> None:
    assert extract(markup).text == ""
    assert extract(markup.encode()).text == ""


def test_broken_markup_keeps_its_words() -> None:
    assert extract("<p>a<b>b<p>c</b></i></div>d<table><td>e<p>f", mode="page").text.split() == ["ab", "cd", "e", "f"]
    assert extract("a\0b &lt;&nbsp;&copy; &bogus; &#20013;", mode="page").text == "ab < © &bogus; 中"


def test_bytes_are_read_by_the_given_or_the_stated_encoding() -> None:
    html = "<html><head><meta charset='gb2312'></head><body><p>中文页面</p></body></html>"
    assert extract(html.encode("gb18030"), mode="page").text == "中文页面"
    assert extract(html.encode("utf-8"), mode="page", encoding="utf-8").text == "中文页面"  # what the decoder found overrules the page
    assert extract(html, mode="page").text == "中文页面"


@pytest.mark.parametrize("opening", ["<div>", "<table><tr><td>", "<ul><li>", "<b>", "<blockquote>", "<a href=x>", "<p><span>"])
def test_deep_nesting_neither_crashes_nor_passes_unseen(opening: str) -> None:
    page = extract("<p>first</p>" + opening * 100_000 + "last", mode="page")
    assert page.text.startswith("first")
    assert (page.problem == MAX_DEPTH_PROBLEM) != page.text.endswith("last")


@pytest.mark.parametrize("unit", ["<!--", "<p>a", "<td>a", "<code>x", "<br>", "<a href=x>b</a> ", "<li>一", "&amp;", "<script>", "<div style='", "a\n "])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    extract(unit * 20_000)  # a quadratic step would not end within the patience of anybody
    extract(unit * 20_000, mode="page")


# ---- real pages ----

RESIDUE = re.compile(
    r"\bfunction\s*\w*\s*\([\w\s,]*\)\s*\{|\bvar\s+[\w$]+\s*=|\bdocument\.(?:write|getElement|cookie)|\bwindow\.\w+\s*[=(]|<!--|-->|//\]\]>|<!\[CDATA"
    r"|\{\s*(?:display|color|margin|font-size|background)\s*:|@media\b|</?(?:div|span|p|a|script|style|br|td)\b[^>]*>|\$\(\s*['\"(]"
)


def gold_pages(folder: Path, step: int) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.glob("*.html.gz"))[::step]:
        raw = gzip.decompress(file.read_bytes())
        text = raw.decode("utf-8", "replace")
        yield file.name.removesuffix(".html.gz"), text if text.count("\ufffd") * 500 < len(text) else raw.decode("gb18030", "replace")


def test_the_detector_of_residue_detects() -> None:
    for residue in ("function go(a, b) {", "var x = 1", "document.write(1)", "{ display: none }", "<div class=x>", "$('#a')"):
        assert RESIDUE.search(residue)


@pytest.mark.parametrize("folder", ["html_article_gold", "html_zh_news"])
@pytest.mark.parametrize("mode", ["article", "page"])
def test_real_pages_leave_no_residue(shared: Path, folder: str, mode: str) -> None:
    for name, html in gold_pages(shared / "data" / folder / "html", 4):
        page = extract(html, mode=mode)  # type: ignore[arg-type]
        code = [(start, end) for tag, start, end in page.spans if tag in ("pre", "code")]
        found = [match for match in RESIDUE.finditer(page.text) if not any(start <= match.start() < end for start, end in code)]
        assert not found, (name, found)


def f1(pages: dict[str, str], gold: dict[str, str], shingles: Callable[[str], Counter[object]]) -> float:
    """Precision and recall averaged over the pages, then F1, as ../shared/tools/score_html.py defines it."""
    precision = recall = 0.0
    for name, text in pages.items():
        want, got = shingles(gold[name]), shingles(text)
        both = (want & got).total()
        precision, recall = precision + both / max(1, got.total()), recall + both / max(1, want.total())
    return 2 * precision * recall / (precision + recall) / len(pages)


def test_english_articles_against_gold(shared: Path) -> None:
    folder = shared / "data" / "html_article_gold"
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    gold = {name: entry["articleBody"] for name, entry in truth.items()}

    def shingles(text: str) -> Counter[object]:
        words = re.findall(r"\w+", text)
        return Counter(tuple(words[i : i + 4]) for i in range(max(1, len(words) - 3)))

    pages = {name: extract(html).text for name, html in gold_pages(folder / "html", 2)}
    assert f1(pages, gold, shingles) >= 0.91  # .939 over all 65


def test_chinese_articles_against_gold(shared: Path) -> None:
    folder = shared / "data" / "html_zh_news"
    gold = {file.stem: file.read_text(encoding="utf-8") for file in (folder / "gold").glob("*.txt")}

    def shingles(text: str) -> Counter[object]:
        text = re.sub(r"\s", "", text)
        return Counter(text[i : i + 5] for i in range(max(1, len(text) - 4)))

    pages = {name: extract(html).text for name, html in gold_pages(folder / "html", 2)}
    assert f1(pages, gold, shingles) >= 0.84  # .890 over all 66

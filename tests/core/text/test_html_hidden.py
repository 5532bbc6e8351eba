"""What nobody sees: by style, class, colour and the page's own rules; and what only looks like it."""

from __future__ import annotations

import pytest

from mspt.core.text.html.extract import extract

SHOWN = "看得见的句子在这里，一句接着一句，读起来像一段正文。"


def seen(part: str, head: str = "", body: str = "") -> bool:
    page = extract(f"<html><head>{head}</head><body {body}><div><p>{SHOWN}</p>{part}<p>{SHOWN}</p></div></body></html>", mode="page")
    assert page.text.count(SHOWN) == 2
    return "隐" in page.text


@pytest.mark.parametrize(
    "style",
    [
        "display:none",
        "DISPLAY : NONE !important",
        "visibility:hidden",
        "visibility: collapse",
        "font-size:0",
        "font-size:0px;color:red",
        "font-size:1px",
        "font:0/0 a",
        "position:absolute;left:-9999px",
        "text-indent:-9999em",
        "top:-1000px",
        "margin-left:-2000px",
        "opacity:0",
        "opacity: 0.0;",
        "clip:rect(0 0 0 0)",
        "clip: rect(1px,1px,1px,1px)",
        "clip-path: inset(50%)",
        "color:transparent",
        "height:0;overflow:hidden",
        "max-height: 0px; overflow: hidden",
        "color:#fff;background:#FFFFFF",
        "color:white;background-color:rgb(255, 255, 255)",
        "background:#336699;color:#369",
    ],
)
def test_styles_that_hide(style: str) -> None:
    assert not seen(f"<p style='{style}'>隐</p>")
    assert not seen(f"<span style='{style}'>隐</span>")


@pytest.mark.parametrize(
    "style",
    [
        "display:block",
        "font-size:10px",
        "font-size:1em",
        "font-size:100%",
        "font-size:1.2em",
        "left:50%;margin-left:-480px",
        "opacity:0.5",
        "opacity:1",
        "line-height:0",
        "height:0",
        "color:#fff;background:#000",
        "color:#fff",
        "color:white;background:url(x.png)",
        "text-indent:-2em",
        "border-color:transparent",
        "min-height:0;overflow:hidden",
    ],
)
def test_styles_that_do_not(style: str) -> None:
    assert seen(f"<p class=x style='{style}'>隐</p>", "<link rel=stylesheet href=x.css>")


@pytest.mark.parametrize("names", ["sr-only", "a screen-reader-text b", "visually-hidden", "jammer", "headerlink", "mw-editsection", "katex-html"])
def test_classes_of_settled_meaning(names: str) -> None:
    assert not seen(f"<span class='{names}'>隐</span>")
    assert seen("<span class='visually-shown'>隐</span>")


@pytest.mark.parametrize(
    ("rules", "hidden"),
    [
        (".k9{display:none}", True),
        ("p{color:red} /* x */ span.k9 , .b { color:red; DISPLAY:none }".replace("DISPLAY", "display"), True),
        ("#i7{visibility:hidden}", True),
        (".k9 .x{display:none}", False),
        (".k9:hover{display:none}", False),
        ("@media print{.k9{display:none}}", False),
        ("@media print{p{margin:0}} .k9{font-size:0}", True),
        (".k9{display:block}", False),
        ("/* .k9{display:none} */", False),
    ],
)
def test_the_page_s_own_rules(rules: str, hidden: bool) -> None:
    assert seen("<span class=k9 id=i7>隐</span>", f"<style>{rules}</style>") is not hidden


@pytest.mark.parametrize(
    ("part", "head", "body", "hidden"),
    [
        ("<font color=#FFFFFF>隐</font>", "", "bgcolor=#ffffff", True),
        ("<font color=white>隐</font>", "", "", True),  # the ground of a page that says nothing
        ("<font color=white>隐</font>", "", "bgcolor=black", False),
        ("<table bgcolor=navy><tr><td><font color=white>隐</font></table>", "", "bgcolor=white", False),
        ("<p class=head><font color=white>隐</font>", "<link rel=stylesheet href=x.css>", "bgcolor=white", False),  # the class may colour the ground
        ("<p class=head><font color=white>隐</font>", "", "bgcolor=white", True),
        ("<p class=head><font color=white>隐</font>", "<style>.head{background:#000}</style>", "bgcolor=white", False),
    ],
)
def test_text_of_the_colour_of_its_ground(part: str, head: str, body: str, hidden: bool) -> None:
    assert seen(part, head, body) is not hidden


def test_a_formula_behind_its_picture_is_read() -> None:
    page = extract(
        "<p>设<span style='display:none'><math alttext='x^2'><mi>x</mi></math></span><img class=mwe-math-fallback-image-inline alt='x^2'>为正。</p>",
        mode="page",
    )
    assert page.text == "设$x^2$为正。"

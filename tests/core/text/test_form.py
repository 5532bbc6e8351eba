"""Forms of texts: prose unless the evidence is plain."""

from __future__ import annotations

import gzip
import inspect
import json
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from mspt.core.text.form import Form, detect_form, fenced_blocks, without

C = """/* Copyright: some words of a licence,
 * which go on here. */
#include <stdio.h>

int main(void) {
    int total = 0;
    for (int i = 0; i < 10; i++) total += i;
    printf("%d\\n", total);
    return 0;
}
"""
JAVASCRIPT = """const fs = require('fs');

function read(path) {
  return fs.readFileSync(path, 'utf8');
}

module.exports = { read };
"""
SHELL = """#!/usr/bin/env bash
# words words words
say hello to everybody
"""
HTML = "<!DOCTYPE html>\n<html>\n<body>\n<p>Words and words</p>\n<div>\nmore words\n</div>\n</body>\n</html>"
ROFF = ".TH AC 1\n.SH NAME\nac - print statistics\n.SH DESCRIPTION\n.B ac\nprints a report\n.PP\nand more"
CSV = "name,price,stock\napple,1.5,10\npear,2.0,7\nplum,0.8,30"
POEM = "床前明月光，疑是地上霜。\n举头望明月，低头思故乡。"
SONNET = """Shall roads be longer than the day is bright,
And every hill a question put to me,
When all the valley folds into the night
And lamps are sparks upon a darkened sea?
So let me walk beside the river's bend,
With nothing in my hands but evening air,
And count the bridges to the journey's end,
For those who wait will surely find me there."""
MARKDOWN = "# 标题\n\n先安装，再运行：\n\n```python\nimport os\nprint(os.name)\nx = 1\n```\n\n- 第一条说明\n- 第二条说明\n\n然后检查结果。"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (C, Form("code", "c")),
        (JAVASCRIPT, Form("code", "javascript")),
        (SHELL, Form("code", "shell")),
        (textwrap.dedent(inspect.getsource(textwrap.TextWrapper)), Form("code", "python")),
        (HTML, Form("markup")),
        (ROFF, Form("markup")),
        (CSV, Form("table")),
        (POEM, Form("verse")),
        ("天正開初節，日觀上重輪。\n百靈滋景祚，萬玉慶惟新。\n德輝覃率[土]，相賀奉還淳。", Form("verse")),  # a character that the editor mended
        (SONNET, Form("verse")),
        (MARKDOWN, Form("prose")),
        ("One line; of prose {with} (odd) marks = signs.", Form("prose")),
        ("First, we look; then we leap;\nsecond, we rest;\nthird, we go home;\nand that is all;", Form("prose")),
        ("他来了。\n你好吗？\n很好。\n再见。", Form("prose")),
        ("", Form("prose")),
        ("\n \n", Form("prose")),
    ],
)
def test_forms(text: str, form: Form) -> None:
    assert detect_form(text) == form


CI = "昨夜雨疏风骤，浓睡不消残酒。\n试问卷帘人，却道海棠依旧。\n知否，知否？\n应是绿肥红瘦。"
LONG_CI = "大江东去，浪淘尽、千古风流人物。\n故垒西边，人道是、三国周郎赤壁。\n乱石穿空，惊涛拍岸，卷起千堆雪。\n江山如画，一时多少豪杰。"
QU = "枯藤老树昏鸦，小桥流水人家，古道西风瘦马。\n夕阳西下，断肠人在天涯。\n峰峦如聚，波涛如怒，山河表里潼关路。\n望西都，意踌躇。"
NAVIGATION = "首页，新闻，视频，图片。\n登录，注册，帮助，反馈。\n公司，招聘，地图，联系。\n北京，上海，广州，深圳。"
GOODS = "苹果、香蕉、葡萄、西瓜。\n白菜、萝卜、茄子、土豆。\n牛肉、羊肉、猪肉、鸡蛋。\n大米、面粉、花生、绿豆。"
NAMES = "王建国、李淑芬、张志强，副主任。\n陈美玲、刘大伟、赵小红，干事长。\n孙德海、周文斌、吴秀英，委员会。\n郑国栋、冯桂兰、褚卫东，理事会。"
DIALOGUE = "他来了，我们走吧。\n你吃过饭了吗？还没有呢。\n那就一起吃吧，我请你。\n好的，谢谢你了。\n这家店的菜很好吃，我常来。"
NOTICES = "请勿吸烟，请勿拍照。\n保持安静，不要在馆内大声喧哗打闹。\n爱护图书，不得涂写。\n借书期限为三十天，逾期罚款。"
REFRAIN = "加入购物车，立即购买。\n加入购物车，立即购买。\n加入购物车，立即购买。\n加入购物车，立即购买。\n查看详情，继续浏览。"
SLOGANS = "产品质量好。\n价格最便宜。\n服务也周到。\n欢迎来电话。\n送货到家门口。\n安装不收费用。\n保修期三年。\n假一赔十。"
UNFINISHED = "春风又绿江南岸，岸边\n明月何时，照我还家\n山寺月中寻桂子，飘香\n郡亭枕上，看潮头来去"


@pytest.mark.parametrize("text", [CI, LONG_CI, QU], ids=["ci", "long ci", "qu"])
def test_verse_of_irregular_lines_is_verse(text: str) -> None:
    assert detect_form(text) == Form("verse")


@pytest.mark.parametrize("text", [NAVIGATION, GOODS, NAMES, DIALOGUE, NOTICES, REFRAIN, SLOGANS, UNFINISHED])
def test_lists_and_talk_in_short_lines_are_no_verse(text: str) -> None:
    assert detect_form(text) == Form("prose")


def test_a_name_is_a_hint_and_no_more() -> None:
    scarce = "This module explains itself at length, in sentences that are prose.\n" * 6 + "x = 1\ny = f(x)\nprint(y)\n"
    assert detect_form(scarce) == Form("prose")
    assert detect_form(scarce, name="a/setup.py") == Form("code", "python")
    assert detect_form("Only prose here.\nAnd here.\nAnd nothing else.", name="setup.py") == Form("prose")


def test_fences_open_and_close() -> None:
    text = "a\n```py\n1\n```\nb\n~~~\n```\n~~~\nc\n```\nnever closed"
    assert [text[start:end] for start, end in fenced_blocks(text)] == ["```py\n1\n```", "~~~\n```\n~~~"]
    assert without(text, fenced_blocks(text)) == "a\n\nb\n\nc\n```\nnever closed"


@pytest.mark.parametrize("unit", ["```x\n", '"""', "/*", "a, b;\n", "<a", "( ", "=" * 50 + "\n"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    detect_form(unit * 50_000)


@pytest.mark.parametrize("name", ["zh_wiki_hans", "zh_novels", "en_wikitext2", "en_public_domain"])
def test_real_prose_is_prose(shared: Path, name: str) -> None:
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        assert {detect_form(json.loads(line)["text"]).form for _, line in zip(range(60), lines, strict=False)} == {"prose"}


def test_the_standard_library_is_python() -> None:
    files = sorted(Path(inspect.__file__).parent.glob("*.py"))[::6]
    found = Counter(detect_form(file.read_text(encoding="utf-8", errors="replace")) for file in files)
    assert found[Form("code", "python")] >= 0.9 * len(files), found

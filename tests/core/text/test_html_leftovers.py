"""Lines that templates leave, and sentences that only mention the same words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from mspt.core.errors import MsptError
from mspt.core.text.html import extract
from mspt.core.text.html_leftovers import ANY, load_rules

RULES = load_rules()

LEFTOVERS = {
    "editor": ["责任编辑：王小明", "（责任编辑：关婧）", "[責任編輯：林大同]", "编辑：米兰 来源：中国某网", "校对/李四", "(曹文明 編輯)", "【责编 张三】"],
    "byline": ["来源：某某日报", "作者：李雷", "記者林佳穎", "文/记者 范维", "By Anna Holt", "（某某晚报）", "Associated Press writers A. Bee and C. Dee contributed to this report."],
    "date-line": ["2012-01-17 20:40 来源：某某网", "发布时间： 2012-01-17 20:52", "2012年01月12日15:03", "發佈日期：2011/11/06", "November 19th, 2019 at 8:40 AM", "05/10/2018 - Posted"],
    "breadcrumb": ["您现在的位置：首页 > 社会 > 正文", "首頁 » 新聞 » 本地", "Home > News > Local"],
    "counter": ["阅读(1024)", "已有12人评论", "分享 88", "人氣：120", "3.2万阅读", "12 likes", "Comments (3)", "Image 2 of 8", "412 人赞同了该回答"],
    "floor": ["沙发", "3楼", "第12楼", "#27", "12#", "板凳", "来自 iPhone客户端", "发表于 2005-4-2 10:21", "樓主", "编辑 引用 回复", "本帖最后由 某人 于 2014-5-20 08:15 编辑"],
    "signature": ["签名：一花一世界", "个性签名：慢慢走", "Sent from my phone", "积分: 1203", "等级：新手上路"],
    "share": ["分享到： 新浪微博 腾讯微博", "微信扫一扫，分享到朋友圈", "【打印】【收藏】【关闭】", "字号：大 中 小", "分享至Facebook", "Share this article", "Facebook Twitter WhatsApp"],
    "follow": [
        "更多精彩内容，请关注本报官方微信公众号", "关注公众号：厨房笔记", "QQ群：123456789", "欢迎加入读者交流QQ群：123456789，一起讨论", "歡迎加入我們的Facebook粉絲專頁",
        "本报已开设官方微博，欢迎关注", "新闻热线：000-1234567",
    ],
    "click": ["点击进入专题", "點擊查看更多", "阅读全文", "展开全文", "繼續閱讀", "下一页", "1 2 3 下一页", "Read more", "Continue reading »", "Advertisement", "上一篇：腌萝卜"],
    "newsletter": [
        "Sign up for our newsletter", "Subscribe to get our stories in your inbox every morning", "订阅我们的电子报", "登录后可以发表评论", "我要评论", "This site uses cookies.",
        "Your email address will not be published.",
    ],
    "copyright": [
        "Copyright © 2012 某某网 All Rights Reserved", "版权所有 不得转载", "京ICP备00000000号-1", "某公网安备 00000000000号", "信息网络传播视听节目许可证号：0000000", "(c) 2009 A. Author",
        "著作權所有，翻印必究", "未经授权，严禁转载",
    ],
    "reprint": ["转载请注明出处", "轉載請註明來源", "本文转载自某某网", "本文链接：https://example.cn/a/1", "欢迎转载，请注明本文链接。"],
    "disclaimer": [
        "免责声明：本文仅代表作者本人观点，与本网无关。", "本文不构成投资建议，投资有风险，入市需谨慎。", "如有侵权，请联系我们删除。", "免責聲明：本文所載資料僅供參考。",
        "The views expressed here are those of the author alone.", "以上内容仅供参考",
    ],
    "related": ["相关阅读", "相关新闻：", "延伸閱讀", "猜你喜欢", "热门文章", "Related stories", "You may also like", "Don't miss", "Read more: Bridge repairs delayed again"],
    "readers": ["网友评论", "最新评论（12）", "12 comments"],
    "last-change": ["Last updated 3 May 1998.", "最后修订于2019年5月2日"],
    "separator": ["＊＊＊＊＊＊", "-----", "• • •"],
}  # fmt: skip

SENTENCES = [
    "责任编辑要对稿件的每一处事实负责，这是报社的老规矩。", "他在编辑部工作了三十年，当过记者，也当过责任编辑。", "主编说：“稿子可以慢，但不能错。”", "文物局来源不明的收入引起了审计部门的注意。",
    "来源于山泉的水经过三级沉淀，流进村里的水塔。", "公众号的文章写得再好，没有人转载也传不远。", "关注弱势群体，是每一个媒体人的责任，我们一直在做。", "他在QQ群里认识了现在的妻子，两个人都爱下棋。",
    "工信部昨天公布了ICP备案的最新数据，全国网站总数比去年同期增长一成。", "点击鼠标就能买到车票，这在十年前是不敢想的。", "我们走到三楼，敲了敲门，没有人应。", "那张沙发是祖父留下的，弹簧已经坏了。",
    "分享是一种美德，老师这样告诉孩子们。", "版权所有者可以依法要求赔偿，法院支持了原告的请求。", "作者认为，城市的更新不应以拆除为代价。", "2012年1月17日，科考队在冰盖上扎下营地，准备过冬。",
    "外交部发言人表示，中方对此声明感到遗憾，希望有关各方保持克制。", "他声明：“我从来没有说过这样的话，也不会这样做。”", "投资有风险，但不投资也有风险，经济学家这样提醒听众，并举了三个例子来说明。",
    "相关部门已经介入调查，结果将在一周之内公布。", "阅读使人充实，讨论使人机智，写作使人精确。", "下一页日记里，他写到了那场大雪，字迹潦草得几乎认不出来。", "讀者來信說，希望報紙能夠多登一些本地的新聞。",
    "編輯部收到了上百封來信，其中一半是學生寫的。", "Read more books, he told them, and fewer summaries of books, because the summary leaves out the weather.", "She subscribed to the idea that nothing is ever finished.",
    "Copyright law was the subject of the third lecture, and the hall was full.", "The comments of the jury were brief and kind.", "He shares a birthday with his grandmother.", "Follow the path along the canal until you reach the second bridge.",
    "By the time we arrived the shop had closed.", "Related stories circulated in the village for years; nobody believed them.", "The source of the river lies above the tree line.", "Home is where the cat sleeps.",
]  # fmt: skip


@pytest.mark.parametrize(("rule", "line"), [(rule, line) for rule, lines in LEFTOVERS.items() for line in lines])
def test_a_line_of_a_template_is_found(rule: str, line: str) -> None:
    assert rule in [found.name for found in RULES.matches(line)]


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_sentence_with_the_same_words_stays(sentence: str) -> None:
    assert [found.name for found in RULES.matches(sentence) if found.where == ANY] == []
    assert RULES.tail(sentence) is None
    page = extract(f"<div><p>{sentence}</p><p>他合上书，窗外的雨已经停了，街上又有了人声。</p></div>")
    assert sentence in page.text


def test_every_rule_has_examples() -> None:
    assert {rule.name for rule in RULES.lines} == set(LEFTOVERS)


@pytest.mark.parametrize(
    ("text", "rest", "rule"),
    [
        ("最小的只有十九岁。（编辑 林海）", "最小的只有十九岁。", "editor"),
        ("他说完就走了。责任编辑：林海", "他说完就走了。", "editor"),
        ("她笑了笑。(林海 編輯)", "她笑了笑。", "editor"),
        ("The council voted on Monday. Read more", "The council voted on Monday.", "click"),
        ("节目将在晚上播出。[详细]", "节目将在晚上播出。", "click"),
    ],
)
def test_the_tail_of_a_paragraph_is_cut_off(text: str, rest: str, rule: str) -> None:
    found = RULES.tail(text)
    assert found is not None
    assert (found[0].name, text[: found[1]]) == (rule, rest)


@pytest.mark.parametrize("text", ["他对记者说（编辑部的门开着）", "本书由三位作者（编辑、画家和诗人）合写。", "她读完了全文。"])
def test_a_tail_that_is_part_of_the_sentence_stays(text: str) -> None:
    assert RULES.tail(text) is None


def test_what_was_cut_is_reported_with_its_place() -> None:
    body = "<p>山路修通了，村里第一次开进了货车，孩子们跑出来看，大人们也跟着跑出来。</p>"
    page = extract(f"<div>{body}<p>关注公众号：山里人家</p>{body.replace('山路', '水渠')}<p>（责任编辑：何田）</p></div>")
    assert (
        page.text
        == "山路修通了，村里第一次开进了货车，孩子们跑出来看，大人们也跟着跑出来。\n\n水渠修通了，村里第一次开进了货车，孩子们跑出来看，大人们也跟着跑出来。"
    )
    assert [(one.rule, one.text) for one in page.removed] == [("follow", "关注公众号：山里人家"), ("editor", "（责任编辑：何田）")]
    assert page.text[page.removed[0].position :].startswith("水渠")
    assert page.removed[1].position == len(page.text)
    whole = extract(f"<div>{body}<p>（责任编辑：何田）</p></div>", mode="page")
    assert "责任编辑" in whole.text
    assert whole.removed == ()


def test_a_page_about_rights_keeps_its_text() -> None:
    page = extract("<h1>版权声明</h1><div><p>本站所有内容版权归本站所有。</p><p>未经授权，不得转载本站文章。</p><p>如有侵权，请联系我们删除。</p></div>")
    assert page.text.count("。") == 3


def test_data_and_code_are_no_leftovers() -> None:
    page = extract("<p>下表列出每一页的编号，读者可以按编号查找。</p><table><tr><th>页<th>名<tr><td>1<td>首页<tr><td>2<td>分享</table><pre>3\n下一页</pre>")
    assert "1 | 首页\n2 | 分享" in page.text
    assert page.text.endswith("3\n下一页")


def test_real_prose_holds_none(shared: Path) -> None:
    lines = []
    with gzip.open(shared / "data" / "zh_novels.jsonl.gz", "rt", encoding="utf-8") as handle:
        for record in handle:
            lines += [line.strip() for line in json.loads(record)["text"].split("\n") if line.strip()]
            if len(lines) > 8_000:
                break
    found = [line for line in lines if any(rule.where == ANY for rule in RULES.matches(line))]
    assert len(found) <= len(lines) / 2000, found[:10]


def test_users_add_rules_and_replace_them(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        '[[line]]\nname = "slogan"\nmax_units = 60\npatterns = ["某某网，让世界听见$"]\n\n[[line]]\nname = "floor"\nmax_units = 0\npatterns = ["x"]\n'
    )
    rules = load_rules(mine)
    assert [rule.name for rule in rules.matches("某某网，让世界听见")] == ["slogan"]
    assert rules.matches("3楼") == ()
    assert load_rules().matches("3楼") != ()
    body = "<p>山路修通了，村里第一次开进了货车，孩子们跑出来看，大人们也跟着跑出来。</p>"
    assert [one.rule for one in extract(f"<div>{body}<p>某某网，让世界听见</p></div>", rules=rules).removed] == ["slogan"]


@pytest.mark.parametrize(
    "text",
    [
        "[[line]]\nname = 'x'\n",
        "[[line]]\nname='x'\nmax_units=1\npatterns=['(']\n",
        "[[line]]\nname='x'\nmax_units=1\nwhere='top'\npatterns=['x']\n",
        "nonsense",
    ],
)
def test_a_file_that_holds_no_rules_is_a_person_s_mistake(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(MsptError, match=r"bad\.toml"):
        load_rules(path)


@pytest.mark.parametrize("unit", ["1 ", "1", "> ", "分享", "(", "。", "a@", "相关", "下一页 ", "2012-", "© "])
def test_hostile_lines_take_no_time(unit: str) -> None:
    for length in (50, 333, 999):
        RULES.matches((unit * length)[:length])
        RULES.tail((unit * length)[:length])

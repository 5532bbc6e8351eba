"""Lines that templates leave, and sentences that only mention the same words."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from pathlib import Path

import pytest

from mspt.core.errors import MsptError
from mspt.core.text.html.extract import extract
from mspt.core.text.html.leftovers import ANY, load_rules
from mspt.core.text.html.pattern_check import ends_in_time

RULES = load_rules()

EXAMPLES = tomllib.loads(Path(__file__).with_name("html_leftovers.toml").read_text(encoding="utf-8"))
LEFTOVERS: dict[str, list[str]] = EXAMPLES["lines"]
SENTENCES: list[str] = EXAMPLES["prose"]["sentences"]


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
        "[[lines]]\nname='x'\nmax_units=1\npatterns=['x']\n",
        "[[line]]\nname='x'\nmax_units=1\npatterns=[]\n",
        "[[line]]\nname='x'\nmax_units=1\npatterns='小编'\n",
        "[[line]]\nname='x'\nmax_units=-5\npatterns=['x']\n",
        "[[tail]]\nname=''\npatterns=['x']\n",
    ],
)
def test_a_file_that_holds_no_rules_is_a_person_s_mistake(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(MsptError, match=r"bad\.toml"):
        load_rules(path)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:编辑)+(?:编辑)*(?:(?:编辑)+)+$", r"(\\d+|\\w+)*:$", "(x|xx)+y", r"^(\\s*\\S+)*$(?<=\\x02)", "([a-c]+-?)+!"])
def test_a_pattern_that_does_not_end_is_a_person_s_mistake(tmp_path: Path, pattern: str) -> None:
    path = tmp_path / "mine.toml"
    for table in ("[[line]]\nname = 'slow'\nmax_units = 60", "[[tail]]\nname = 'slow'"):
        path.write_text(f'{table}\npatterns = ["{pattern}"]\n')
        load_rules.cache_clear()
        with pytest.raises(MsptError, match="slow: its pattern does not end"):
            load_rules(path)


def test_patterns_as_they_are_written_end_in_time() -> None:
    shipped = [rule.pattern for rule in (*RULES.lines, *RULES.tails)]
    more = [re.compile(one) for one in (r"(?:\d+[.,])+\d+", r".*责任编辑.*：.*", r"\w+(?:\s+\w+){0,5}$", r"(?:https?://)?(?:[\w-]+\.)+\w{2,6}(?:/\S*)?")]
    assert all(map(ends_in_time, [*shipped, *more]))


@pytest.mark.parametrize("unit", ["1 ", "1", "> ", "分享", "(", "。", "a@", "相关", "下一页 ", "2012-", "© "])
def test_hostile_lines_take_no_time(unit: str) -> None:
    for length in (50, 333, 999):
        RULES.matches((unit * length)[:length])
        RULES.tail((unit * length)[:length])

"""The table of rules: each fires on what it is about and says what it measured; profiles, languages, forms; time and real documents."""

from __future__ import annotations

import base64
import gzip
import json
import pickle
import re
import time
from collections import Counter
from pathlib import Path

import pytest

from mspt.core.errors import MsptError
from mspt.core.text.form import detect_form
from mspt.core.text.language.identify import identify
from mspt.core.text.normal.normalize import normalize
from mspt.core.text.rules.document_rules import DEFAULT, KEEP, KINDS, PROFILES, RULES, STRICT, judge, measure
from mspt.core.text.rules.line_rules import cut_lines, without_cuts

SOUND = "城市南部的老图书馆在上周重新开放，第一天就迎来了三千多名读者。馆长说，修缮工程历时两年，保留了木质楼梯和彩色玻璃。"
LINES = [
    "清晨的菜市场里，卖豆腐的老人最先点起了灯。",
    "河水涨上来以后，渡口的石阶只剩下三级。",
    "孩子们把风筝挂在电线上，谁也不敢去取。",
    "医生说她的咳嗽不要紧，多喝水就会好。",
    "那座钟楼停了很多年，指针一直指着四点。",
    "火车晚点两个小时，候车室里坐满了人。",
    "他把旧自行车擦得发亮，却再也没有骑过。",
    "雨下了一整夜，院子里的石榴落了一地。",
    "邻居送来一碗饺子，说是按家乡的做法包的。",
    "老师翻开点名册，念到最后一个名字时停住了。",
    "冬天的湖面结了冰，有人在上面凿洞钓鱼。",
    "信封里没有信，只有一张褪色的照片。",
]
FRUIT = (
    "苹果 香蕉 橘子 葡萄 西瓜 草莓 樱桃 菠萝 芒果 荔枝 龙眼 柚子 石榴 柿子 桃子 杏子 李子 梨子 枣子 核桃 花生 "
    "瓜子 栗子 榛子 松子 开心果 腰果 杏仁 黑加仑 蓝莓 山楂 杨梅 枇杷 番茄 黄瓜 茄子 冬瓜 南瓜 白菜 菠菜 芹菜 萝卜"
)
AGAIN = "同一行反复出现，占去了全文的大部分篇幅，没有新的内容。"
WORDS = "The mill at the lower bridge was built by two brothers who had never agreed on anything else in all their lives, and it still stands."


def test_sound_documents_stay() -> None:
    assert judge(SOUND) == KEEP
    assert judge("\n".join(LINES)) == KEEP
    assert judge(WORDS, language="en") == KEEP


@pytest.mark.parametrize(
    ("text", "rule", "value"),
    [
        ("短文。", "too-short", 3),
        ("a b " * 9, "too-short", 18),
        (SOUND[:49] + "\ufffd", "replacement", 1 / 50),
        (SOUND[:45] + "\ue000" * 5, "private-use", 5 / 50),
        ("Lorem ipsum dolor sit amet, consectetur adipiscing elit.", "lorem-ipsum", 1),
        ("一二三四五" + "：" * 20, "few-letters", 5 / 25),
        ("字" * 12 + "★" * 8, "symbols", 8 / 20),
        ("价格 12345 67890 24680，合计 13579", "digits", 20 / 25),
        (SOUND + " " + base64.b64encode(bytes(range(256)) * 4).decode(), "long-token", 1368),
        ("\n".join(LINES[:3] + ["同一行"] * 9), "repeated-lines", 8 / 12),
        # 8 different lines, and one of 27 characters eight times: 7 of 16 lines, but more than half of the characters, are repeated.
        ("\n".join(LINES[:8] + [AGAIN] * 8), "repeated-line-characters", 7 * 27 / (8 * 27 + sum(map(len, LINES[:8])))),
        ("哈" * 90, "top-2-gram", 1),
        ("新闻\n体育\n财经\n科技\n汽车\n房产\n教育\n旅游\n健康\n时尚", "short-lines", 1),
        ("\n".join(f"[文{number}](/a/{number})" for number in "甲乙丙丁戊己庚辛壬癸子丑"), "link-lines", 1),
        ("\n".join(f"他说到这里就停下来，第{number}次……" for number in "一二三四五"), "ellipsis-lines", 1),
        ("a b c d e f g h i j k l m n o p q r s t u v w x y z " * 2, "short-words", 1),
        ("# " * 30 + "".join(LINES[:6]), "hashes", 30 / (sum(len(re.sub("[，。]", "", line)) for line in LINES[:6]) / 1.5)),
        ("……然后" * 30 + SOUND, "ellipses", None),
        (" ".join("".join(re.findall("[a-z]", WORDS * 8))[i : i + 11] for i in range(0, 660, 11)), "long-words", 11),
        (FRUIT, "few-stop-words", 0),
    ],
)  # fmt: skip
def test_each_rule_says_what_it_measured(text: str, rule: str, value: float | None) -> None:
    language = "zh" if re.search("[一-龥]", text) else "en"
    found = judge(text, language=language)
    assert (found.keep, found.rule) == (False, rule)
    assert found.threshold == DEFAULT.limit(next(each for each in RULES if each.name == rule), language)
    if value is not None:
        assert found.value == pytest.approx(value)
    assert judge(text, language=language, profile=DEFAULT.changed({rule: None})).rule != rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (WORDS, "few-words"),
        (f"{WORDS} {WORDS[::-1]} and so on and on, without any end to it at all", "few-sentences"),
        ("\n".join(line.rstrip("。") + "，这件事大家后来说了很久" for line in LINES) + "。好。对。", "few-sentence-ends"),
        ("\n".join(f"- {line}" for line in LINES), "bullets"),
    ],
)
def test_rules_that_only_strict_has(text: str, rule: str) -> None:
    assert judge(text).keep
    assert judge(text, profile=STRICT).rule == rule


def test_the_place_is_shown() -> None:
    text = f"{SOUND}\n{'x' * 1500}\n{SOUND}"
    found = judge(text)
    assert (found.rule, text[found.start : found.end], found.detail) == ("long-token", "x" * 1500, "x" * 40)
    text = "\n".join(LINES[:3] + ["同一行"] * 9)
    found = judge(text)
    assert (text[found.start : found.end], found.detail) == ("同一行", "9 times")
    found = judge(SOUND + "哈" * 300)
    assert (found.rule, (SOUND + "哈" * 300)[found.start : found.end]) == ("top-2-gram", "哈" * 3)


def test_code_is_not_judged_as_prose() -> None:
    code = "x = [\n" + "    value(1), value(2), value(3),\n" * 40 + "]\n"
    assert not judge(code).keep
    assert judge(code, form="code").keep
    fenced = f"{SOUND}\n\n```\n{code}```\n\n{LINES[0]}"
    assert judge(fenced).keep


@pytest.mark.parametrize("form", ["verse", "markup", "table", "code"])
def test_forms_are_judged_by_what_fits_them(form: str) -> None:
    menu = "\n".join(["新闻", "体育", "财经", "科技", "汽车", "房产", "教育", "旅游", "健康", "时尚"])
    assert not judge(menu).keep
    assert judge(menu, form=form).keep
    assert judge("太短", form=form).rule == "too-short"
    assert {rule.name for rule in RULES if form in rule.forms} >= {"too-short", "replacement", "private-use"}


def test_links_and_drawn_lines_do_not_count() -> None:
    assert judge(f"{SOUND}\nhttps://example.org/{'a' * 2000}").keep
    assert judge(f"{SOUND}\n{'-' * 3000}\n{SOUND[::-1]}").keep
    assert judge("http://a.example/ http://b.example/").rule == "too-short"


def test_private_use_that_normalisation_removed_counts() -> None:
    assert judge(SOUND[:50], private_use=10).rule == "private-use"
    assert judge(SOUND[:50], private_use=1).keep


def test_limits_follow_the_language() -> None:
    french = (
        "Le moulin du pont fut construit par deux frères qui ne s'étaient jamais accordés sur rien, et chaque année encore on y moud le blé noir du "
        "village voisin. Personne ne sait plus pourquoi ils choisirent cette rive plutôt que celle où passait la route vers la ville, mais le moulin "
        "tourne toujours et sa roue grince."
    )
    assert judge(french, language="fr").keep
    assert judge(french, language="en").rule == "few-stop-words"
    assert judge(french).keep  # nobody said which language


def test_profiles_and_changes() -> None:
    assert PROFILES["default"] is DEFAULT
    changed = DEFAULT.changed({"too-short": 100, "too-short.zh": 5, "digits.en": None})
    assert [changed.limit(RULES[0], kind) for kind in KINDS] == [5, 100, 100, 100]
    assert judge("短文一篇。", language="zh", profile=changed).keep
    assert judge(WORDS[:60], language="en", profile=changed).rule == "too-short"
    assert changed.changed({"digits": 0.1}).changed({}) == changed.changed({"digits": 0.1})
    assert pickle.loads(pickle.dumps(changed)) == changed
    assert hash(changed) == hash(DEFAULT.changed({"digits.en": None, "too-short.zh": 5, "too-short": 100}))


@pytest.mark.parametrize(("name", "hint"), [("repeated-line", "repeated-lines"), ("nonsense", "too-short, replacement"), ("digits.fr", "digits.zh, digits.en")])
def test_a_wrong_name_is_a_person_s_mistake(name: str, hint: str) -> None:
    with pytest.raises(MsptError) as raised:
        DEFAULT.changed({name: 1})
    assert hint in raised.value.hint


def test_the_table_is_whole() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.source
        for kind in KINDS:
            default, strict = DEFAULT.limit(rule, kind), STRICT.limit(rule, kind)
            assert default is None or (strict is not None and (strict >= default if rule.bound == "min" else strict <= default)), rule.name  # never looser


def test_measures_are_those_that_apply() -> None:
    assert set(measure("x = 1", form="code")) <= {rule.name for rule in RULES if "code" in rule.forms}
    assert "long-words" not in measure(SOUND * 3)
    assert measure("")["too-short"] == 0


@pytest.mark.parametrize(
    "unit", ["a", "字", "-", "](", "[", "a://", "\n", "ab\n", " ", "a ", "0", "`", "`a` ", "<a ", ":a:`", "www.", "．", "ipsum", "a b\n\n"]
)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    judge(unit * 1000)
    times = []
    for size in (100_000, 400_000):
        text = unit * (size // len(unit))
        start = time.process_time()
        verdict = judge(text)
        times.append(time.process_time() - start)
        assert not verdict.keep or "`" in unit  # what is all code is not judged as prose
    assert times[1] < 16 * max(times[0], 0.02)  # four times the text: quadratic time would be sixteen times as long, and here 0.3 s are allowed


@pytest.mark.parametrize("name", ["zh_novels", "zh_wiki_hans", "zh_wiki_hant", "zh_techdocs", "en_public_domain", "en_wikitext2", "en_techdocs"])
def test_real_documents_are_kept(shared: Path, name: str) -> None:
    """At most 1 % of sound sets is rejected, length aside."""
    found: Counter[str] = Counter()
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(100), lines, strict=False):
            form = detect_form(text := json.loads(line)["text"]).form
            written = normalize(text, form=form)
            rest = without_cuts(written.text, cut_lines(written.text, form=form))
            found[judge(rest, form=form, language=identify(rest, form).tag, private_use=written.counts.get("private_use", 0)).rule] += 1
    assert found.total() - found[""] - found["too-short"] <= 0.01 * found.total(), found

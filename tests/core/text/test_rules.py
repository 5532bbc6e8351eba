"""Rules on documents made to break one of them, and on sound ones that must stay."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from dataclasses import fields
from pathlib import Path

import pytest

from mspt.core.text.form import detect_form
from mspt.core.text.normalize import normalize
from mspt.core.text.rules import KEEP, RULES, Thresholds, judge, measure

SOUND = "城市南部的老图书馆在上周重新开放，第一天就迎来了三千多名读者。馆长说，修缮工程历时两年，保留了木质楼梯和彩色玻璃。"
LINES = [f"第{number}行写着与别处不同的内容，谈的是{topic}。" for number, topic in enumerate("天地玄黄宇宙洪荒日月盈昃")]


def test_sound_documents_stay() -> None:
    assert judge(SOUND) == KEEP
    assert judge("\n".join(LINES)) == KEEP


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
        ("\n".join(LINES[:4] + ["同一行反复出现，占去了全文的大部分篇幅，没有新的内容。"] * 8), "repeated-lines", None),
        ("哈哈哈哈哈" * 20, "repeated-n-grams", None),
    ],
)
def test_each_rule_says_what_it_measured(text: str, rule: str, value: float | None) -> None:
    found = judge(text)
    limit = next(each.threshold for each in RULES if each.name == rule)
    assert (found.keep, found.rule, found.threshold) == (False, rule, float(getattr(Thresholds(), limit)))
    if value is not None:
        assert found.value == pytest.approx(value)
    # With that one limit out of the way the document stays, or another rule speaks.
    loosened = Thresholds(**{limit: 0 if limit.startswith("min_") else 10**9})
    assert judge(text, thresholds=loosened).rule != rule


def test_shares_of_repetition_by_hand() -> None:
    twice = "\n".join(["甲乙丙丁", "一二三四五六", "甲乙丙丁", "子丑"])  # 4 of 16 characters stand in a line seen before
    assert measure(twice)["repeated-lines"] == pytest.approx(4 / 16)
    paragraphs = "\n\n".join(["甲乙丙丁", "一二三四五六", "一二三四五六", "子丑"])
    assert measure(paragraphs)["repeated-paragraphs"] == pytest.approx(6 / 18)
    # A period of 20 distinct characters, 5 times: 100 - 15 shingles of 16, of which 20 are different.
    assert measure("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往" * 5)["repeated-n-grams"] == pytest.approx(1 - 20 / 85)


def test_the_place_is_shown() -> None:
    text = f"{SOUND}\n{'x' * 1500}\n{SOUND}"
    found = judge(text)
    assert (found.rule, text[found.start : found.end]) == ("long-token", "x" * 1500)
    filler = f"{SOUND} lorem ipsum dolor"
    found = judge(filler)
    assert filler[found.start : found.end] == "orem ipsum"


def test_code_is_not_judged_as_prose() -> None:
    code = "x = [\n" + "    0x00, 0x01, 0x02, 0x03,\n" * 40 + "]\n"
    assert not judge(code).keep
    assert judge(code, form="code").keep


def test_links_and_drawn_lines_do_not_count() -> None:
    assert judge(f"{SOUND}\nhttps://example.org/{'a' * 2000}").keep
    assert judge(f"{SOUND}\n{'-' * 3000}\n{SOUND[::-1]}").keep


def test_private_use_that_normalisation_removed_counts() -> None:
    assert judge(SOUND[:50], private_use=10).rule == "private-use"
    assert judge(SOUND[:50], private_use=1).keep


def test_every_threshold_belongs_to_one_rule() -> None:
    assert sorted(rule.threshold for rule in RULES) == sorted(field.name for field in fields(Thresholds))
    assert len({rule.name for rule in RULES}) == len(RULES)


@pytest.mark.parametrize("unit", ["a", "字", "-", "](", "a://", "\n", "ab\n", " ", "0"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    assert not judge(unit * 300_000).keep


@pytest.mark.parametrize("name", ["zh_novels", "zh_wiki_hans", "zh_wiki_hant", "zh_techdocs", "en_public_domain", "en_wikitext2", "en_techdocs"])
def test_real_documents_are_kept(shared: Path, name: str) -> None:
    """At most 1 % of sound sets is rejected, length aside."""
    found: Counter[str] = Counter()
    with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(200), lines, strict=False):
            form = detect_form(text := json.loads(line)["text"]).form
            written = normalize(text, form=form)
            found[judge(written.text, form=form, private_use=written.counts.get("private_use", 0)).rule] += 1
    assert found.total() - found[""] - found["too-short"] <= 0.01 * found.total(), found

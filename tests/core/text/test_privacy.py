"""Personal data is found, counted and replaced, other digits stay: by hand, and on seeded sentences of every kind and of all that looks alike."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.text.privacy.personal_numbers import Found
from mspt.core.text.privacy.privacy import KINDS, MAX_CHARACTERS, count, find, mask, redact
from mspt.core.text.spans import Span
from support.personal import NEGATIVES, POSITIVES, negatives, positives


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("写信给 li.lei+a@mail.example.com.cn。", "写信给 [email]。"),
        ("邮箱zhang@qq.com，", "邮箱[email]，"),
        ("VX：abc49184 or call, 加v li_61339 ok", "VX：[wechat] or call, 加v [wechat] ok"),
        ("微信：please scan the code, 微信 openid_1 is a field", "微信：please scan the code, 微信 openid_1 is a field"),
        ("Q Q：26060635，q q 8034435", "Q Q：[qq]，q q [qq]"),
        ("FAQ Q 26060635 IQ Q:12345", "FAQ Q 26060635 IQ Q:12345"),
        ("样本 0818 8006 6046 1635，电话 0818 8006604 8006605", "样本 0818 8006 6046 1635，电话 [landline] 8006605"),
        ("手机13812345678，或 +86 138-1234-5678、0086 13912345678。", "手机[phone]，或 [phone]、[phone]。"),
        ("13812345678 13912345678/13712345678", "[phone] [phone]/[phone]"),
        ("（010）62345678-8001 0755-8888 8888 0086-755-88888888", "[landline] [landline] [landline]"),
        ("身份证11010519491231002X号", "身份证[id]号"),  # the example of GB 11643-1999
        ("身份证：11010519491231002x", "身份证：[id]"),
        ("卡号 4111 1111 1111 1111，另一张5500-0000-0000-0004", "卡号 [card]，另一张[card]"),
        ("来自 47.96.100.23 的访问，http://47.96.100.23:8080/", "来自 [ip] 的访问，http://[ip]:8080/"),
        ("DNS 2001:4860:4860::8844", "DNS [ip]"),
        ("QQ：123456789，扣扣12345678", "QQ：[qq]，扣扣[qq]"),
        ("微信号 abc_123，加微信zhangsan88，加V：lisi_99", "微信号 [wechat]，加微信[wechat]，加V：[wechat]"),
        ("QQ/微信：123456789 微信同号13812345678", "QQ/微信：[wechat] 微信同号[phone]"),
        ("车牌京A·12345与粤BD12345、沪A12345D", "车牌[plate]与[plate]、[plate]"),
        ("export AWS_KEY=AKIAIOSFODNN7EXAMPLE", "export AWS_KEY=[secret]"),
        ("13812345678@qq.com", "[email]"),  # the longer of two that overlap
        ("QQ:13812345678", "QQ:[qq]"),  # what the label says
    ],
)
def test_personal_data_is_replaced(text: str, expected: str) -> None:
    assert redact(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "110105194912310021 与 110105194913310029",  # wrong check character; no 13th month
        "4111111111111112",  # fails Luhn
        "12812345678 与 138123456789 与 1381234567",  # no mobile prefix; too long; too short
        "300.1.1.1 版本 1.2.3.4.5 v1.2.3.4 8.8.8.8",
        "192.168.10.1 10.0.0.5 127.0.0.1 203.0.113.7 fe80::1 2001:db8::1",  # private, loopback, documentation, link-local
        "订单 20231112123456，时间戳 1700000000000，圆周率 3.14159265358979323846",
        "订单号13812345678，共13800000000个",
        "133 1849 0566 6370 8597 与 150-20230101",  # groups of a longer row; a date
        "a@b, @name, 张三@公司, logo@2x.png, git@github.com:user/repo.git",
        "0xdeadbeef12345678901234",
        "QQ2012正式版，QQ音乐10000首，微信 Android 8.0.1，wx.request，微信公众号：mindspore",
        "北京A12345 京ICP备12345678号 国道G318",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_found_in_order_with_their_kinds() -> None:
    text = "电话13812345678，邮箱a1@qq.com"
    found = find(text)
    assert found == [Found("phone", 2, 13), Found("email", 16, 25)]
    assert [text[one.start : one.end] for one in found] == ["13812345678", "a1@qq.com"]
    assert count([*found, found[0]]) == {"email": 1, "phone": 2}  # in the order of KINDS


def test_masking_moves_spans() -> None:
    text = "标题\n电话13812345678，微信号 abc_123\n结尾"
    masked = mask(text, (Span("h1", 0, 2), Span("p", 3, 28), Span("p", 29, 31)))
    assert masked.text == "标题\n电话[phone]，微信号 [wechat]\n结尾"
    assert [masked.text[span.start : span.end] for span in masked.spans] == ["标题", "电话[phone]，微信号 [wechat]", "结尾"]
    assert masked.counts == {"wechat": 1, "phone": 1}


@pytest.fixture(scope="module")
def scores() -> dict[str, tuple[int, int, int]]:
    """Of each kind: found rightly, found wrongly, missed."""
    right, wrong, missed = Counter[str](), Counter[str](), Counter[str]()
    samples = [sample for kind in POSITIVES for sample in positives(kind, 300, seed=7)] + list(negatives(300 * len(NEGATIVES), seed=7))
    for sample in samples:
        found, expected = {tuple(one) for one in find(sample.text)}, set(sample.personal)
        right.update(kind for kind, _, _ in found & expected)
        wrong.update(kind for kind, _, _ in found - expected)
        missed.update(kind for kind, _, _ in expected - found)
    return {kind: (right[kind], wrong[kind], missed[kind]) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_precision_and_recall_of_each_kind(scores: dict[str, tuple[int, int, int]], kind: str) -> None:
    right, wrong, missed = scores[kind]
    assert right + missed == 300
    assert right / (right + wrong) >= 0.98
    assert right / (right + missed) >= 0.98


def test_real_text_is_not_full_of_persons(shared: Path) -> None:
    """Encyclopaedia, novels and poems hold years, numbers and names of songs, and nobody's telephone."""
    for name in ("zh_wiki_hans", "zh_wiki_hant", "zh_poetry_hans"):
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            assert not [one for line in lines for one in find(json.loads(line)["text"])]


@given(st.text("1358 -.@Qq微信:：京A信key=sk_abc()+", max_size=80))
def test_what_is_found_is_sorted_disjoint_and_gone_after_masking(text: str) -> None:
    found = find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert all(one.end <= two.start for one, two in pairwise(found))
    assert sum(mask(text).counts.values()) == len(found)
    assert redact(text) == mask(text).text


HOSTILE = [
    *("1", "1 ", "a", "a@", "a.", "a@a.", "1.1.", "-", "1-", "+1", "0.0.0.", "138 1234 ", "13812345678 ", "6222 ", "(010)", "QQ1", "微信a", "京A1"),
    *("2001:a:", "=a", "key=A1b2C3d4E5f6G7h8 ", "sk-", "eyJ", "-----BEGIN PRIVATE KEY-----\n", "加v", "token='"),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    found = find(unit * (100_000 // len(unit)) + "@\ud800")
    assert all(one.end - one.start <= MAX_CHARACTERS for one in found)

"""Personal data is replaced, other digits stay. The numbers are the standards' own examples or made to pass and fail their checks."""

from __future__ import annotations

import pytest

from mspt.core.text.privacy import is_identity_number, passes_luhn, redact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("写信给 li.lei+a@mail.example.com.cn。", "写信给 [email]。"),
        ("邮箱zhang@qq.com，", "邮箱[email]，"),
        ("手机13812345678，或 +86 138-1234-5678、0086 13912345678。", "手机[phone]，或 [phone]、[phone]。"),
        ("身份证11010519491231002X号", "身份证[id]号"),  # the example of GB 11643-1999
        ("身份证：11010519491231002x", "身份证：[id]"),
        ("卡号 4111 1111 1111 1111，另一张5500-0000-0000-0004", "卡号 [card]，另一张[card]"),
        ("来自 192.168.10.1 的访问", "来自 [ip] 的访问"),
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
        "300.1.1.1 版本 1.2.3.4.5 v1.2.3.4",
        "订单 20231112123456，时间戳 1700000000000，圆周率 3.14159265358979323846",
        "a@b, @name, 张三@公司",
        "0xdeadbeef12345678901234",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redact(text) == text


def test_checks_by_hand() -> None:
    assert passes_luhn("79927398713")  # the example of ISO/IEC 7812-1
    assert not passes_luhn("79927398710")
    assert is_identity_number("11010519491231002X")
    assert not is_identity_number("110105194912310020")


@pytest.mark.parametrize("unit", ["1", "1 ", "a", "a@", "a.", "a@a.", "1.1.", "-", "1-", "+1"])
def test_hostile_repetition_takes_linear_time(unit: str) -> None:
    redact(unit * 100_000 + "@")

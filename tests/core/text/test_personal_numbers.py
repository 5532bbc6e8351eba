"""Check digits by the standards' own examples, ranges and labels by hand."""

from __future__ import annotations

import pytest

from mspt.core.text.privacy.personal_numbers import find_numbers, is_identity_number, passes_luhn


def kinds(text: str) -> set[tuple[str, str]]:
    return {(one.kind, text[one.start : one.end]) for one in find_numbers(text)}


def test_checks_by_hand() -> None:
    assert passes_luhn("79927398713")  # the example of ISO/IEC 7812-1
    assert not passes_luhn("79927398710")
    assert is_identity_number("11010519491231002X")
    assert not is_identity_number("110105194912310020")
    assert not is_identity_number("99010519491231002X")  # no such province


@pytest.mark.parametrize(
    "number", ["13012345678", "14512345678", "16612345678", "17812345678", "19912345678", "138-1234-5678", "138 1234 5678", "138-12345678"]
)
def test_mobile_numbers(number: str) -> None:
    assert kinds(f"打{number}。") == {("phone", number)}
    assert kinds(f"打+86 {number}。") == {("phone", f"+86 {number}")}


@pytest.mark.parametrize(
    "number",
    ["11012345678", "15412345678", "16112345678", "13812345678.5", "¥13812345678", "a13812345678", "13812345678-1", "no. 13812345678", "13812345678元"],
)
def test_what_is_no_mobile_number(number: str) -> None:
    assert kinds(number) == set()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("010-62345678", "010-62345678"),
        ("(0571)8795123", "(0571)8795123"),  # seven digits behind a long area code
        ("+86-10-62345678", "+86-10-62345678"),
        ("电话02162345678", "02162345678"),
        ("0755 8765 4321转12", "0755 8765 4321转12"),
    ],
)
def test_landlines(text: str, number: str) -> None:
    assert kinds(text) == {("landline", number)}


@pytest.mark.parametrize("text", ["02162345678", "010-6234567", "0200-62345678", "010-12345678", "编号010-62345678", "2010-62345678"])
def test_what_is_no_landline(text: str) -> None:
    """Unlabelled and without a sign between; too short; no area; no number begins with 1; a label; part of a number."""
    assert kinds(text) == set()


def test_cards_are_told_by_issuer_or_by_label() -> None:
    unknown = "8000000000000003"  # passes Luhn: 8 doubled is 16, 1 + 6 + 3 = 10
    assert passes_luhn(unknown)
    assert kinds(unknown) == set()
    assert kinds("4111111111111111") == {("card", "4111111111111111")}
    assert kinds("订单号4111111111111111") == set()
    labelled = "9000000000000001"  # 9 doubled is 18, 1 + 8 + 1 = 10
    assert kinds(f"卡号：{labelled}") == {("card", labelled)}
    assert kinds(labelled) == set()


def test_addresses_that_look_like_versions_are_none() -> None:
    assert kinds("47.96.100.23") == {("ip", "47.96.100.23")}
    for text in ("v47.96.100.23", "版本：47.96.100.23", "pkg==47.96.100.23", "pkg-47.96.100.23", "47.96.100.23.1", "1.2.3.4", "lib/47.96.100.23/x"):
        assert kinds(text) == set()


def test_plates() -> None:
    for text in ("京A12345", "粤B·D1234", "沪AD12345", "苏E12345F", "川A1234学"):
        assert kinds(f"一辆{text}的车") == {("plate", text)}
    for text in ("京I12345", "京AABCDE", "京A1234", "京A123456", "最新A12345", "京A12345-1"):
        assert kinds(text) == set()

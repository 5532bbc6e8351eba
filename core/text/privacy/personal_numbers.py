"""Numbers that lead to a person: mainland telephones, identity numbers, bank cards, public Internet addresses, number plates.

What a run of digits is, its grouping, its ranges and its check digit decide; and the word before or the unit behind it where that is not enough:
an order number may look like a telephone. Every pattern is bounded, so the time is linear.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Found(NamedTuple):
    """Something personal at text[start:end]; `kind` is one of `mspt.core.text.privacy.privacy.KINDS`."""

    kind: str
    start: int
    end: int


CANDIDATE = re.compile(r"[0-9][0-9 .()（）-]{6,}")  # everything but plates is in one: a first look that leaves most text out
NO_DIGITS = dict.fromkeys(map(ord, " .()（）-"))
MIN_DIGITS = 9  # a landline behind +86 has ten, one of which may stand before
BEFORE, BEHIND = 6, 8  # characters around a candidate that may belong to it: "(+86) ", "X", an extension
CONTEXT = 16  # characters before a number in which a label is looked for

# No part of a longer number, word or path on the left and on the right. ASCII only: Chinese writes numbers without blanks.
LEFT = r"(?<![A-Za-z0-9_.#$¥￥-])(?<![A-Za-z_]/)"
RIGHT = r"(?!-?[A-Za-z0-9_]|\.[0-9])"
GROUPED_RIGHT = r"(?!-?[A-Za-z0-9_]|[ .-][0-9])"

DATE = "(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])"
# Mainland mobile numbers by their allotted beginnings (MIIT, 2023), alone or in groups of 3-4-4 or 3-8.
MOBILE = re.compile(
    LEFT + r"(?P<country>[(（]?(?:\+|00)?86[)）]?[ -]?)?1(?:3[0-9]|4[014-9]|5[0-35-9]|6[2567]|7[0-8]|8[0-9]|9[0-35-9])"
    rf"(?:[0-9]{{8}}{RIGHT}|(?P<gap>[ -])[0-9]{{4}}(?P=gap)[0-9]{{4}}{GROUPED_RIGHT}|-(?!{DATE})[0-9]{{8}}{GROUPED_RIGHT})"
)
# Area codes of the mainland, less the 0: 10 and 2x with eight digits behind them, the others with seven or eight; a number never begins with 0, 1, 9.
SHORT_AREA = "(?:10|2[0-57-9])"
LONG_AREA = (
    "(?:3(?:1[0-9]|35|49|5[0-9]|7[0-9]|9[1-8])|4(?:1[0-9]|2[179]|3[0-9]|5[0-9]|6[4789]|7[0-9]|8[23])|5(?:1[0-9]|2[37]|3[0-9]|4[36]|5[0-9]|6[1-6]|7[0-9]|80"
    "|9[0-9])|6(?:3[1-5]|6[0238]|9[12])|7(?:01|1[0-9]|2[248]|3[0-9]|4[3-6]|[567][0-9]|9[0-9])|8(?:1[2-8]|2[5-7]|3[0-9]|5[0-9]|7[0-9]|8[3678]|9[1-8])"
    "|9(?:[013][0-9]|4[13]|5[1-5]|7[0-9]|9[0-9]))"
)
EIGHT_DIGITS, SEVEN_OR_EIGHT = "[2-8][0-9]{3}[ -]?[0-9]{4}", "[2-8][0-9]{2,3}[ -]?[0-9]{4}"
LANDLINE = re.compile(
    LEFT + r"(?:(?P<country>(?:\+|00)86[ -]?(?:\(0\))?)|[(（]0|0)"
    rf"(?:{SHORT_AREA}(?P<gap>[)）]?[ -]?){EIGHT_DIGITS}|{LONG_AREA}(?P<long_gap>[)）]?[ -]?){SEVEN_OR_EIGHT})(?:(?:-|转)[0-9]{{1,6}})?{RIGHT}"
)
IDENTITY = re.compile(LEFT + r"[1-8][0-9]{5}([ -]?)(?:19|20)[0-9]{6}\1[0-9]{3}[0-9Xx]" + RIGHT)
ID_BODY = re.compile(f"(?:1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3])[0-9]{{4}}{DATE}[0-9]{{3}}[0-9X]")
# GB 11643-1999: ISO 7064 MOD 11-2 over the first 17 digits.
ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
ID_CHECKS = "10X98765432"
CARD = re.compile(
    LEFT + rf"(?:[2-69][0-9]{{13,18}}{RIGHT}|(?<![0-9][ -])[2-69][0-9]{{3}}([ -])[0-9]{{4}}\1[0-9]{{4}}\1[0-9]{{4}}(?:\1[0-9]{{1,3}})?{GROUPED_RIGHT})"
)
# ISO/IEC 7812 by issuer: UnionPay (16 to 19 digits), ICBC's old 9558, Visa, Mastercard, American Express, JCB, Discover, Diners.
ISSUED = re.compile(
    r"62\d{14,17}|9558\d{15}|4\d{15}|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}"
)
OCTET = r"(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
IPV4 = re.compile(
    r"(?<![A-Za-z0-9_.])(?<![A-Za-z]-)(?<![<>=~!]=)(?<![<>~^])(?<![A-Za-z0-9_]/)"
    rf"{OCTET}\.{OCTET}\.{OCTET}\.{OCTET}(?!\.?[A-Za-z0-9_]|-[A-Za-z])"
)
# Name servers that everyone writes down; those of parts up to MAX_VERSION_PART need no entry.
NAME_SERVERS = frozenset({"114.114.114.114", "114.114.115.115", "223.5.5.5", "223.6.6.6", "119.29.29.29", "180.76.76.76", "208.67.222.222", "208.67.220.220"})
MAX_VERSION_PART = 31  # four parts up to here are as likely a version or a section; of random public addresses 1 in 4,000
IPV6 = re.compile(r"[23](?<![A-Za-z0-9_:.].)[0-9A-Fa-f]{3}:[0-9A-Fa-f:]{2,35}(?![A-Za-z0-9_:])")  # 2000::/3, all that is routed today

GROUP_BEFORE, GROUP_BEHIND = re.compile(r"[0-9][ -]\Z"), re.compile(r" [0-9]{4}(?![0-9-])")
# What stands before a number that is none of a person's; the end of the context is what counts.
SERIAL_LABEL = re.compile(
    r"(?i:订单|单号|编号|流水|序列|货号|批号|批次|条码|条形码|运单|快递|合同|发票|文号|型号|主键|时间戳|第|\b(?:order|serial|invoice|batch|tracking|timestamp|isbn|issn|doi|sku|sn|s/n|uid|no|ref|lot))"
    r"[号码数]{0,2}[\s:：#＃.=是为]{0,3}(?i:no\.?|id|number)?[\s:：#＃.=是为]{0,3}\Z"
)
CARD_LABEL = re.compile(r"(?i:卡号?|[账帐][号户]|card(?: ?(?:no\.?|number))?)[\s:：为是]{0,4}\Z")
PHONE_LABEL = re.compile(r"(?i:电话|座机|传真|热线|致电|拨打|固话|tel|phone|fax)[号码\s:：.为是]{0,4}\Z")
VERSION_LABEL = re.compile(r"(?i:版本|升级[到至]|更新[到至]|固件|\b(?:v|ver|version|release|build|rev|revision|firmware|sdk))[号\s:：.为是(（]{0,3}\Z")
UNIT = re.compile(r"\s?(?:[万亿千百]|[美日欧港]?元|字节|[人次个股吨秒条台件年参%％倍]|毫秒|bytes?\b|[KMGT]i?B\b|ms\b)")

PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
NEW_ENERGY = r"[A-HJK][A-HJ-NP-Z0-9][0-9]{4}|[0-9]{5}[A-HJK]"  # GA 36-2018: eight characters with the province's
PLATE = re.compile(rf"[{PROVINCES}][A-HJ-Z][·•・‧ -]?(?:{NEW_ENERGY}|[A-HJ-NP-Z0-9]{{4}}(?:[A-HJ-NP-Z0-9]|[挂学警港澳]))(?![A-Za-z0-9_]|-[A-Za-z0-9])")
MIN_PLATE_DIGITS = 3  # GA 36-2018: at most two letters among the five
# Words that end in a province's character: what follows them is a model or a flight, not a plate.
WORD_ENDS = {
    "京": "北东南燕", "津": "天", "渝": "成", "豫": "犹", "云": "里讯多白风乌浮星", "黑": "漆乌抹", "新": "最全更创重清崭革刷翻迎维焕", "苏": "江复紫",
    "贵": "宝珍昂富高尊可名", "青": "年知海常丹踏", "藏": "西收宝隐珍埋典馆", "川": "四银山百冰平", "宁": "安南辽列西海康", "吉": "安大", "甘": "不",
    "蒙": "内启", "晋": "魏西东", "桂": "肉月", "冀": "希", "鲁": "粗齐", "辽": "宋",
}  # fmt: skip


def find_numbers(text: str) -> Iterator[Found]:
    """Telephones, identity numbers, cards, addresses and plates, in no order; they may overlap."""
    for candidate in CANDIDATE.finditer(text):
        start, end = max(0, candidate.start() - BEFORE), min(len(text), candidate.end() + BEHIND)
        for kind, (pattern, is_one) in NUMBERS.items() if len(candidate[0].translate(NO_DIGITS)) >= MIN_DIGITS else ():
            yield from (Found(kind, *match.span()) for match in pattern.finditer(text, start, end) if is_one(match))
        if candidate[0].count(".") >= 3:
            yield from (Found("ip", *match.span()) for match in IPV4.finditer(text, start, end) if _is_public_4(match))
    yield from (Found("ip", *match.span()) for match in IPV6.finditer(text) if _is_public_6(match))
    yield from (Found("plate", *match.span()) for match in PLATE.finditer(text) if _is_plate(match))


def _is_mobile(match: re.Match[str]) -> bool:
    if match["country"]:
        return True
    if match["gap"] and _follows_group(match):
        return False
    return not (SERIAL_LABEL.search(_context(match)) or UNIT.match(match.string, match.end()))


def _is_landline(match: re.Match[str]) -> bool:
    if not match["country"] and "" in (match["gap"], match["long_gap"]):  # 01087654321 is a number like any other unless it is called a telephone
        return PHONE_LABEL.search(_context(match)) is not None
    in_row = " " in (match["gap"], match["long_gap"]) and not match["country"] and (_follows_group(match) or GROUP_BEHIND.match(match.string, match.end()))
    return not (in_row or SERIAL_LABEL.search(_context(match)))


def _follows_group(match: re.Match[str]) -> bool:
    """Whether a number is the tail of a row of groups of digits."""
    return GROUP_BEFORE.search(match.string, max(0, match.start() - 2), match.start()) is not None


def _is_identity(match: re.Match[str]) -> bool:
    return is_identity_number(_digits(match))


def _is_card(match: re.Match[str]) -> bool:
    digits, context = _digits(match), _context(match)
    if not passes_luhn(digits) or SERIAL_LABEL.search(context):
        return False
    return ISSUED.fullmatch(digits) is not None or (len(digits) >= 15 and CARD_LABEL.search(context) is not None)


def _is_public_4(match: re.Match[str]) -> bool:
    parts = [int(part) for part in match.groups()]
    if max(parts) <= MAX_VERSION_PART or match[0] in NAME_SERVERS or VERSION_LABEL.search(_context(match)):
        return False
    return _is_public(match[0])


def _is_public_6(match: re.Match[str]) -> bool:
    try:
        return _is_public(match[0]) and ("::" in match[0] or re.search("[A-Fa-f]", match[0]) is not None)
    except ValueError:
        return False


def _is_public(address: str) -> bool:
    """Whether an address is routed: not private, loopback, link-local, documentation (RFC 5737, 3849), multicast or reserved."""
    parsed = ipaddress.ip_address(address)
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


def _is_plate(match: re.Match[str]) -> bool:
    before = match.string[match.start() - 1 : match.start()]
    return sum(map(str.isdigit, match[0])) >= MIN_PLATE_DIGITS and not (before and before in WORD_ENDS.get(match[0][0], ""))


NUMBERS: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], bool]]] = {
    "phone": (MOBILE, _is_mobile), "landline": (LANDLINE, _is_landline), "id": (IDENTITY, _is_identity), "card": (CARD, _is_card),
}  # fmt: skip


def _context(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - CONTEXT) : match.start()].rpartition("\n")[2]


def _digits(match: re.Match[str]) -> str:
    return match[0].replace(" ", "").replace("-", "").upper()


def is_identity_number(number: str) -> bool:
    """Whether 18 characters are a resident identity number: region, date of birth, serial, check character (GB 11643-1999)."""
    if not ID_BODY.fullmatch(number):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(ID_WEIGHTS, number[:17], strict=True))
    return ID_CHECKS[total % 11] == number[17]


def passes_luhn(digits: str) -> bool:
    """Whether the last digit checks the others (ISO/IEC 7812, annex B)."""
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0

"""Personal data out of excerpts and views. (What `clean` removes from training text is another matter.)

Numbers are looked up once, as runs of digits that may be grouped by single blanks or hyphens; what a run is, its length and its check digits
decide. So every pattern is bounded and the time linear.
"""

from __future__ import annotations

import re

EMAIL = re.compile(r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])", re.ASCII)
IPV4 = re.compile(r"(?<![\w.])(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\.?\w)", re.ASCII)
# Digits in groups; the number of a mobile phone may carry the country's code.
NUMBER = re.compile(r"(?<![\w.+-])\+?\d(?:[ -]?\d){9,30}[Xx]?(?![\w-])", re.ASCII)

MOBILE = re.compile(r"(?:\+?86|0086)?1[3-9]\d{9}")  # mainland China: 11 digits that begin with 13 to 19
ID_BODY = re.compile(r"[1-8]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]")
# GB 11643-1999: ISO 7064 MOD 11-2 over the first 17 digits.
ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
ID_CHECKS = "10X98765432"
CARD = re.compile(r"[2-6]\d{12,18}")  # ISO/IEC 7812: 13 to 19 digits; 2 to 6 are banks and merchants


def redact(text: str) -> str:
    """`text` with e-mail addresses, mainland mobile numbers, 18-digit identity numbers, bank cards and IPv4 addresses replaced by [email],
    [phone], [id], [card], [ip]. Numbers are checked (check digit, Luhn, ranges), so that other digits stay."""
    if "@" in text:
        text = EMAIL.sub("[email]", text)
    return NUMBER.sub(_number, IPV4.sub(_address, text))


def _address(match: re.Match[str]) -> str:
    return "[ip]" if all(int(part) < 256 for part in match.groups()) else match[0]


def _number(match: re.Match[str]) -> str:
    digits = match[0].replace(" ", "").replace("-", "").upper()
    if MOBILE.fullmatch(digits):
        return "[phone]"
    if is_identity_number(digits):
        return "[id]"
    return "[card]" if CARD.fullmatch(digits) and passes_luhn(digits) else match[0]


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

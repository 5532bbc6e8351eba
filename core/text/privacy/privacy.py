"""Personal data in text: found, counted, and replaced by typed placeholders such as [email] and [phone].

What is looked for is what a person can be reached or robbed by: addresses, numbers and keys, never names. Each kind has a form that can be
checked, so that other digits stay: of 1,000 generated sentences of each kind and 10,000 with order numbers, dates, versions, hashes and the like
(tests/support/personal.py) precision and recall of every kind are above .98. Chinese without digits and Latin letters costs next to nothing: 500 MB/s.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import ahocorasick_rs

from mspt.core.text.privacy.credentials import BLOCK_PREFIX, MAX_KEY_CHARACTERS, PREFIXES, assigned_values, block_at, key_at
from mspt.core.text.privacy.personal_numbers import Found, find_numbers
from mspt.core.text.spans import Edit, Span, edit

# In the order in which two readings of the same characters are preferred: what a label says, then what a check digit says.
KINDS = ("secret", "email", "qq", "wechat", "id", "card", "phone", "landline", "ip", "plate")
MAX_CHARACTERS = MAX_KEY_CHARACTERS + 200  # nothing that is found is longer: whoever cuts text must look this far beyond the cut

ASCII_WORD = re.compile("[0-9A-Za-z]{2}")  # every kind has one: most Chinese is done with after this look, at 500 MB/s
SURROGATE = re.compile("[\ud800-\udfff]")
LOCAL_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.+-"
DOMAIN = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}([A-Za-z]{2,24})(?![A-Za-z0-9]|-[A-Za-z0-9])(?!:[A-Za-z0-9_/~])")
MAX_LOCAL = 64  # RFC 5321
# What ends like a domain and is a file: logo@2x.png.
FILE_SUFFIXES = frozenset({"png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "ico", "js", "ts", "css", "html", "json", "xml", "txt", "pdf", "exe", "java"})

QQ_LABELS = ("QQ", "Qq", "qq", "扣扣", "企鹅")
QQ = re.compile(
    r"..(?:群号?|号码?)?[ \t]{0,3}(?:[:：是为]|号为)?[ \t]{0,3}(?P<value>[1-9][0-9]{4,10})"
    r"(?![A-Za-z0-9_@-]|\.[0-9]| ?(?:[万亿千人个名年版元位次级天分套款%％]|用户))"
)
WECHAT_LABELS = ("微信", "薇信", "威信", "WeChat", "Wechat", "wechat", "WECHAT", "V信", "v信", "VX", "vx", "Vx", "WX", "wx")
ADDED_LABELS = tuple(f"{add}{v}" for add in ("加", "加 ", "+", "＋") for v in "Vv")  # 加v abc_123
WECHAT = re.compile(
    r"(?:微信|薇信|威信|[Ww]e[Cc]hat|WECHAT|[Vv]信|[VvWw][Xx]|(?<=[加+＋ ])[Vv])(?P<sure>号码?|[账帐]号|[ ]?(?:ID|id|Id))?"
    r"(?P<gap>[ \t]{0,3}[:：是为]?[ \t]{0,3})"
    r"(?P<value>[A-Za-z][A-Za-z0-9_-]{5,19}|[1-9][0-9]{5,10})(?![A-Za-z0-9_@/(-]|\.[A-Za-z0-9])(?P<goes_on> [A-Za-z])?"
)
# What follows 微信 in text about the product.
PRODUCT_WORDS = frozenset(
    {"android", "iphone", "windows", "harmony", "wechat", "weixin", "official", "openid", "unionid", "moments", "payment", "payments", "redirect"}
)


class Masked(NamedTuple):
    """Text with placeholders, its spans moved along, and how many of each kind there were (kinds that occurred, in the order of KINDS)."""

    text: str
    spans: tuple[Span, ...]
    counts: Mapping[str, int]


def find(text: str) -> list[Found]:
    """Everything personal in `text`, in order and without overlaps: of two that overlap the one that begins first, then the longer, then by KINDS."""
    if not ASCII_WORD.search(text):
        return []
    every = [*_announced(text), *find_numbers(text), *(Found("secret", start, end) for start, end in assigned_values(text))]
    every.sort(key=lambda one: (one.start, -one.end, KINDS.index(one.kind)))
    chosen: list[Found] = []
    for one in every:
        if not chosen or one.start >= chosen[-1].end:
            chosen.append(one)
    return chosen


def count(found: Sequence[Found]) -> dict[str, int]:
    """How many of each kind, only kinds that occur, in the order of KINDS."""
    numbers = Counter(one.kind for one in found)
    return {kind: numbers[kind] for kind in KINDS if numbers[kind]}


def mask(text: str, spans: Sequence[Span] = ()) -> Masked:
    """`text` with everything personal replaced by its kind in brackets."""
    found = find(text)
    masked, moved = edit(text, spans, [Edit(one.start, one.end, f"[{one.kind}]") for one in found])
    return Masked(masked, moved, count(found))


def redact(text: str) -> str:
    """`text` as a view may show it: everything personal replaced by its kind in brackets."""
    return mask(text).text


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a record with everything personal in their values replaced; `id` stays, by which a document is taken down."""
    return {name: value if name == "id" else _redacted(value) for name, value in fields.items()}


def _redacted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _redacted(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(part) for part in value]
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, int) and not isinstance(value, bool):
        written = str(value)
        return value if (masked := redact(written)) == written else masked
    return value


def _email_at(text: str, sign: int) -> tuple[int, int] | None:
    """The e-mail address around the sign. Its name is read backwards, so that a long word costs nothing."""
    before = text[max(0, sign - MAX_LOCAL - 1) : sign]
    local = before[len(before.rstrip(LOCAL_CHARACTERS)) :]
    start = sign - len(local.lstrip(".+-_"))
    domain = DOMAIN.match(text, sign + 1)
    if not domain or start == sign or len(local) > MAX_LOCAL or domain[1].lower() in FILE_SUFFIXES:
        return None
    return start, domain.end()


def _qq_at(text: str, label: int) -> tuple[int, int] | None:
    match = None if _is_in_word(text, label) else QQ.match(text, label)
    return match.span("value") if match else None


def _spaced_qq_at(text: str, label: int) -> tuple[int, int] | None:
    match = None if _is_in_word(text, label) else QQ.match(text, label + 1)
    return match.span("value") if match else None


def _wechat_at(text: str, label: int) -> tuple[int, int] | None:
    """The account behind a label: one that is called so, that has a sign between, or that is at least no word."""
    match = None if _is_in_word(text, label) else WECHAT.match(text, label)
    if match is None:
        return None
    value = match["value"]
    told = bool(match["sure"] or match["gap"].strip() or text[max(0, label - 2) : label].rstrip()[-1:] in tuple("加+＋"))
    if value.isalpha():  # 微信：please scan the code
        return match.span("value") if told and not match["goes_on"] and value.lower() not in PRODUCT_WORDS else None
    is_name = value.islower() and text[label + 1] == "信" and not match["goes_on"]  # 微信 8 and wx_1 are versions and variables
    return match.span("value") if told or is_name else None


def _added_at(text: str, start: int) -> tuple[int, int] | None:
    return _wechat_at(text, start + (2 if text[start + 1] == " " else 1))


def _is_in_word(text: str, start: int) -> bool:
    return start > 0 and text[start].isascii() and text[start - 1].isascii() and text[start - 1].isalnum()


Reader = Callable[[str, int], tuple[int, int] | None]
# What a piece of text announces: kind, and what reads it from there.
SIGNS: Mapping[str, tuple[str, Reader]] = {
    **dict.fromkeys(("@", "＠"), ("email", _email_at)),
    **dict.fromkeys(QQ_LABELS, ("qq", _qq_at)),
    **dict.fromkeys(("Q Q", "q q"), ("qq", _spaced_qq_at)),
    **dict.fromkeys(WECHAT_LABELS, ("wechat", _wechat_at)),
    **dict.fromkeys(ADDED_LABELS, ("wechat", _added_at)),
    **dict.fromkeys(PREFIXES, ("secret", key_at)),
    BLOCK_PREFIX: ("secret", block_at),
}
READERS = tuple(SIGNS.values())


@cache
def _signs() -> ahocorasick_rs.AhoCorasick:
    return ahocorasick_rs.AhoCorasick(list(SIGNS))


def _announced(text: str) -> Iterator[Found]:
    """What a label, a sign or a prefix announces. All are looked for in one pass: 250 MB/s, where a pattern for each group has 25 to 75."""
    for sign, start, _ in _signs().find_matches_as_indexes(SURROGATE.sub("\ufffd", text), overlapping=True):
        kind, read = READERS[sign]
        if (found := read(text, start)) is not None:
            yield Found(kind, *found)

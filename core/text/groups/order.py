"""What records are ordered by, and the windows that cut an entity's time.

    read_order("2025-03-04 08:05", Window.parse("7d"))  ->  Order(1741075500, 0, True)
    Window.parse("7d").of(1741075500)                   ->  1740614400, the start of the window: Thursday 2025-02-27, 00:00 UTC

An order value is a whole number of seconds (of a plain number: of ones) and billionths: exact, alike on every machine, and compared as two integers.
Windows tumble: each begins where the last one ends, and all are counted from the Unix epoch in UTC. So the window of a record depends on nothing but its
own time. (Counted from an entity's first record, one older record that arrives later would shift every window, and change every document, behind it.)
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

Unit = Literal["s", "ms", "us", "ns"]

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
UNIT_EXPONENT: dict[str, int] = {"s": 0, "ms": -3, "us": -6, "ns": -9}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # of the years 1 and 9999, as far as calendars go here
MAX_WHOLE = 2**63
BILLION = 10**9
MAX_CHARACTERS = 64  # of an order value that is a text
MAX_EXPONENT = 40
TOO_LARGE = "a number beyond 64 bits"

NUMBER = re.compile(r"([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?", re.ASCII)
ZONE = r"\s*(?P<zone>[Zz]|UTC|[+-]\d{2}:?\d{2}|[+-]\d{2})?"
# Year first, which is the one order of the parts that cannot be misread; 2025年3月4日 is written so too, once its signs are hyphens.
CALENDAR = re.compile(
    r"(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})"
    r"(?:(?:[Tt]|\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?" + ZONE + ")?",
    re.ASCII,
)
# 20250304, 20250304080500: read as a number, a date of this century would be a day of August 1970
COMPACT = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)"
    r"(?:[Tt]?(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)(?P<fraction>)" + ZONE + ")?",
    re.ASCII,
)
CHINESE_DATE = str.maketrans({"年": "-", "月": "-", "日": " "})


class Order(NamedTuple):
    """Where a record stands: seconds since the epoch (is_time) or a plain number, cut into whole ones and billionths of one."""

    whole: int
    billionths: int
    is_time: bool


@dataclass(frozen=True)
class Window:
    """size: seconds (is_time) or ones; 0: one window that holds everything. text: as a person wrote it."""

    size: int = 0
    is_time: bool = False
    text: str = ""

    @classmethod
    def parse(cls, value: Any) -> Window:
        """'7d' (s, m, h, d, w), '1000' or 1000 for plain numbers, '' for no windows. ValueError for anything else."""
        text = str(value).strip().lower()
        match = re.fullmatch(r"([1-9]\d{0,11})\s*([smhdw]?)", text, re.ASCII)
        if not text or match is None or isinstance(value, bool):
            if text:
                raise ValueError("expected a window such as 7d, 12h, 30m or 1w, or a whole number where the order is one")
            return cls()
        size = int(match[1]) * SECONDS.get(match[2], 1)
        if match[2] and size > LAST_SECOND:
            raise ValueError("a window is shorter than 8,000 years")
        return cls(size, bool(match[2]), match[1] + match[2])

    def start_of(self, whole: int) -> int:
        """Start of the window that holds a record at `whole`."""
        return whole - whole % self.size if self.size else 0


NO_WINDOW = Window()


def window_text(value: Any) -> str:
    """The setting as it is kept: "7 D" -> "7d". ValueError where it is no window."""
    return Window.parse(value).text


def label(whole: int, billionths: int, is_time: bool) -> str:
    """A place in the order, for people: 2025-03-04T08:05:00Z, or the number."""
    fraction = f".{billionths:09d}".rstrip("0") if billionths else ""
    if not is_time:
        return f"{whole}{fraction}" if whole >= 0 or not billionths else _negative(whole, billionths)
    whole = min(max(whole, FIRST_SECOND), LAST_SECOND)  # a window may begin before the year 1 and end behind 9999
    return f"{(EPOCH.replace(tzinfo=None) + timedelta(seconds=whole)).isoformat()}{fraction}Z"


def _negative(whole: int, billionths: int) -> str:
    total = -(whole * BILLION + billionths)
    return f"-{total // BILLION}.{total % BILLION:09d}".rstrip("0")


def read_order(value: Any, window: Window = NO_WINDOW, unit: Unit = "s") -> Order | str:
    """The order that a field's value says, or why it says none.

    Numbers are `unit`s since the epoch where the window is one of time, else plain numbers; texts may hold either, or a date. Dates without a zone are UTC.
    """
    if value is None:
        return "there is no value"
    if isinstance(value, bool | dict | list | bytes):
        return f"a {type(value).__name__} is no order"
    if isinstance(value, date):  # datetime is one
        return _of_date(value, window)
    if isinstance(value, int) and not -MAX_WHOLE <= value < MAX_WHOLE:
        return TOO_LARGE  # and perhaps longer than Python writes in digits
    if type(value) is int and unit == "s" and (not window.is_time or not _is_compact(value)):
        return _in_range(Order(value, 0, window.is_time))
    text = str(value).strip()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(CHINESE_DATE).strip()
    if not text or len(text) > MAX_CHARACTERS:
        return "there is no value" if not text else f"longer than {MAX_CHARACTERS} characters"
    return _of_text(text, window, unit)


def _of_text(text: str, window: Window, unit: Unit) -> Order | str:
    match = CALENDAR.fullmatch(text) or (COMPACT.fullmatch(text) if window.is_time and unit == "s" else None)
    if match and (found := _of_calendar(match)) is not None:
        return _as_dated(found, window)
    if match := NUMBER.fullmatch(text):
        return _of_number(match, window, unit)
    return f"`{text}` is neither a number nor a date"


def _of_number(match: re.Match[str], window: Window, unit: Unit) -> Order | str:
    """Digits behind the ninth after the point do not count."""
    sign, digits, decimals = match[1], match[2], match[3] or ""
    exponent = int(match[4] or 0) + (UNIT_EXPONENT[unit] if window.is_time else 0)
    if abs(exponent) > MAX_EXPONENT:
        return f"`{match[0]}` is out of range"
    shift = 9 + exponent - len(decimals)
    size = int(digits + decimals)
    total = size * 10**shift if shift >= 0 else size // 10**-shift
    whole, billionths = divmod(-total if sign == "-" else total, BILLION)
    return _in_range(Order(whole, billionths, window.is_time))


def _of_calendar(match: re.Match[str]) -> Order | None:
    """None where the calendar has no such day or hour."""
    year, month, day, hour, minute, second, fraction, zone = match.group("year", "month", "day", "hour", "minute", "second", "fraction", "zone")
    try:
        moment = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), tzinfo=UTC)
    except ValueError:
        return None
    billionths = int(f"{fraction:0<9.9}") if fraction else 0
    offset = _offset(zone) if zone else 0
    return None if offset is None else Order(_seconds(moment) - offset, billionths, True)


def _offset(zone: str) -> int | None:
    """Seconds east of UTC; None beyond 15 hours, further than any zone."""
    if zone in ("Z", "z", "UTC"):
        return 0
    digits = zone[1:].replace(":", "")
    seconds = int(digits[:2]) * 3600 + int(digits[2:] or 0) * 60
    if seconds > 15 * 3600 or int(digits[2:] or 0) > 59:
        return None
    return -seconds if zone[0] == "-" else seconds


def _of_date(value: date, window: Window) -> Order | str:
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value.replace(tzinfo=UTC) if value.tzinfo is None else value
    return _as_dated(Order(_seconds(moment), moment.microsecond * 1000, True), window)


def _seconds(moment: datetime) -> int:
    since = moment - EPOCH
    return since.days * 86_400 + since.seconds


def _as_dated(found: Order, window: Window) -> Order | str:
    return _in_range(found) if window.is_time or not window.size else f"a date, where the window of {window.text} asks for a number"


def _in_range(found: Order) -> Order | str:
    if found.is_time and not FIRST_SECOND <= found.whole <= LAST_SECOND:
        return "a time beyond the years 1 to 9999; --order-unit says whether numbers are ms, us or ns"
    return found if -MAX_WHOLE <= found.whole < MAX_WHOLE else TOO_LARGE


def _is_compact(value: int) -> bool:
    """Whether a number has the length of a date such as 20250304, or of one with its time."""
    return 19_000_000 <= value < 21_000_000 or 19_000_000_000_000 <= value < 21_000_000_000_000

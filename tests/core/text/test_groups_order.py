"""Order values and windows. Seconds are those of `date -u -d ... +%s`."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.text.groups.order import Order, Window, label, read_order, window_text

WEEK = Window.parse("7d")
FIVE_PAST_EIGHT = 1741075500  # 2025-03-04 08:05:00 UTC


@pytest.mark.parametrize(
    "value",
    [
        "2025-03-04 08:05", "2025-03-04 08:05:00", "2025-03-04T08:05:00Z", " 2025-03-04T16:05:00+08:00 ", "2025-03-04T03:05:00-0500", "2025-03-04 13:50+05:45",
        "2025/3/4 8:05", "2025.03.04 08:05:00.000", "2025年3月4日 8:05", "2025年03月04日08:05:00",
        "２０２５－０３－０４　０８：０５", "20250304080500", "20250304T080500Z",
        20250304080500, FIVE_PAST_EIGHT, float(FIVE_PAST_EIGHT), str(FIVE_PAST_EIGHT), f"{FIVE_PAST_EIGHT}.000", "1.7410755e9", Decimal(FIVE_PAST_EIGHT),
        datetime(2025, 3, 4, 8, 5), datetime(2025, 3, 4, 16, 5, tzinfo=timezone(timedelta(hours=8))),
    ],
)  # fmt: skip
def test_one_moment_in_every_writing(value):
    assert read_order(value, WEEK) == Order(FIVE_PAST_EIGHT, 0, True)


@pytest.mark.parametrize("value", ["2025-03-04", "2025/3/4", "2025年3月4日", "20250304", 20250304, date(2025, 3, 4)])
def test_a_date_is_its_first_second(value):
    assert read_order(value, WEEK) == Order(1741046400, 0, True)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "no value"), ("", "no value"), (" \u3000", "no value"), (True, "bool"), ([1], "list"), ({"s": 1}, "dict"), ("待定", "neither"), 
        ("昨天", "neither"),
        ("2025-02-30", "neither"), ("2025-13-01", "neither"), ("04/03/2025", "neither"), ("2025-03-04 25:00", "neither"), ("2025-03/04", "neither"),
        ("2025-03-04T08:05:00+99:00", "neither"), (float("nan"), "neither"), (float("inf"), "neither"), ("12 apples", "neither"), ("1_000", "neither"),
        ("9" * 65, "longer than 64"), ("1e999", "out of range"), ("2025-03-04" + " " * 60 + "x", "longer than 64"), 
        pytest.param(10**400, "64 bits", id="huge"), pytest.param(-(10**5000), "64 bits", id="low"), (10**15, "years 1 to 9999"),
        (1741075500000, "ms, us or ns"), ("0001-01-01 00:00+08:00", "years 1 to 9999"),
    ],
)  # fmt: skip
def test_what_says_no_order_says_why(value, reason):
    found = read_order(value, WEEK)
    assert isinstance(found, str)
    assert reason in found


@pytest.mark.parametrize(("value", "unit"), [(1741075500250, "ms"), ("1741075500250000", "us"), (1741075500250000000, "ns"), ("1741075500.25", "s")])
def test_numbers_in_other_units(value, unit):
    assert read_order(value, WEEK, unit) == Order(FIVE_PAST_EIGHT, 250_000_000, True)


def test_nanoseconds_order_what_microseconds_would_not():
    first, second = (read_order(f"2025-03-04T08:05:00.12345678{digit}Z", WEEK) for digit in "89")
    assert first < second
    assert second.billionths == 123_456_789


def test_plain_numbers_without_a_window_of_time():
    thousand = Window.parse(1000)
    assert read_order("20250304", thousand) == Order(20250304, 0, False)  # no date here
    assert read_order(-1.5, thousand) == Order(-2, 500_000_000, False)
    assert read_order(2**63 - 1, thousand) == Order(2**63 - 1, 0, False)
    assert read_order(2**63, thousand) == "a number beyond 64 bits"
    assert read_order("2025-03-04", thousand) == "a date, where the window of 1000 asks for a number"
    assert read_order("2025-03-04") == Order(1741046400, 0, True)  # no windows: either will do


@pytest.mark.parametrize(
    ("text", "size", "is_time"),
    [
        ("7d", 604_800, True),
        ("1w", 604_800, True),
        ("36h", 129_600, True),
        (" 15 M ", 900, True),
        ("1s", 1, True),
        ("250", 250, False),
        (250, 250, False),
        ("", 0, False),
    ],
)
def test_windows_are_read(text, size, is_time):
    window = Window.parse(text)
    assert (window.size, window.is_time) == (size, is_time)
    assert Window.parse(window_text(text)) == window


@pytest.mark.parametrize("text", ["0", "0d", "-7d", "7 days", "1.5h", "7y", "d", "7d7d", True, "9999999w", None])
def test_what_is_no_window_is_refused(text):
    with pytest.raises(ValueError, match="window"):
        Window.parse(text)


def test_windows_are_counted_from_the_epoch():
    assert WEEK.start_of(0) == 0
    assert WEEK.start_of(604_799) == 0
    assert WEEK.start_of(604_800) == 604_800
    assert WEEK.start_of(-1) == -604_800  # 1969 has windows too
    assert label(WEEK.start_of(FIVE_PAST_EIGHT), 0, True) == "2025-02-27T00:00:00Z"  # a Thursday, as 1970-01-01 was
    assert datetime(2025, 2, 27).weekday() == datetime(1970, 1, 1).weekday() == 3


def test_labels():
    assert label(FIVE_PAST_EIGHT, 0, True) == "2025-03-04T08:05:00Z"
    assert label(FIVE_PAST_EIGHT, 250_000_000, True) == "2025-03-04T08:05:00.25Z"
    assert label(-62_135_596_800 - 5, 0, True) == "0001-01-01T00:00:00Z"  # where a window may begin, but no calendar does
    assert [label(*order) for order in ((12, 0, False), (12, 500_000_000, False), (-2, 500_000_000, False), (-2, 0, False))] == ["12", "12.5", "-1.5", "-2"]


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)), st.integers(-14 * 60, 14 * 60))
def test_iso_with_any_zone_against_datetime(moment, minutes):
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    since = aware - datetime(1970, 1, 1, tzinfo=UTC)
    expected = Order(since // timedelta(seconds=1), since % timedelta(seconds=1) // timedelta(microseconds=1) * 1000, True)
    assert read_order(aware.isoformat(), WEEK) == expected
    assert read_order(aware, WEEK) == expected
    assert datetime.fromisoformat(label(*expected)) == aware


@given(st.decimals(-(10**15), 10**15, places=9), st.decimals(-(10**15), 10**15, places=9))
def test_orders_compare_as_the_numbers_do(first, second):
    assert (read_order(str(first), Window.parse(10)) < read_order(str(second), Window.parse(10))) == (first < second)


@given(st.one_of(st.text(), st.integers(), st.floats(), st.binary(), st.none(), st.lists(st.integers()), st.from_regex(r"\d{4}[-/.年]\d{1,2}[-/.月]\d+.*")))
def test_nothing_raises(value):
    for window in (WEEK, Window.parse(10), Window()):
        assert isinstance(read_order(value, window), Order | str)

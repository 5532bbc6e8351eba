"""The order in which documents are considered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mspt.core.dedup.policy import Standing, date_numbers, policy_order, quality_numbers, source_ranks
from support.judging import CRITERIA


def ids(*numbers):
    return np.array([[0] * 15 + [number] for number in numbers], np.uint8)


def test_longest_then_source_then_newest_then_quality_then_id():
    rows = [  # length, source, date, quality, id; in the order expected
        (9, "web", None, None, 9),
        (5, "wiki", "2001", 0.1, 8),
        (5, "books", "2020-02-03", 0.1, 7),
        (5, "books", "2020-02", 0.9, 6),
        (5, "books", "2020-02", 0.8, 1),
        (5, "books", "2020-02", 0.8, 5),
        (5, "books", None, 0.7, 4),
        (5, "books", "long ago", None, 2),
        (5, "web", "2024-01-01", 1.0, 0),
    ]
    shuffled = np.array([4, 2, 8, 0, 6, 1, 5, 3, 7])
    lengths, sources, dates, qualities, numbers = zip(*[rows[i] for i in shuffled], strict=True)
    standing = Standing(
        np.array(lengths), source_ranks(sources, ["wiki", "books"]), date_numbers(pa.array(dates)), quality_numbers(pa.array(qualities)), ids(*numbers)
    )
    assert shuffled[policy_order(standing, CRITERIA)].tolist() == list(range(len(rows)))
    by_date = shuffled[policy_order(standing, ("newest",))].tolist()  # the others do not count: then by id
    assert by_date == [8, 2, 4, 5, 3, 1, 7, 6, 0]


def test_dates_are_read_as_far_as_they_go():
    dates = pa.chunked_array([["2019", "2019-05", "2019-05-03"], ["2019-05-03T10:11:12+08:00", "2019-05-03 10:11", "3 May 2019", "", None]])
    expected = [20190000000000, 20190500000000, 20190503000000, 20190503101112, 20190503101100, 0, 0, 0]
    assert date_numbers(dates).tolist() == expected


def test_ids_compare_as_their_hexadecimal_digits():
    standing = Standing(np.ones(3, np.int64), np.zeros(3, np.int32), np.zeros(3, np.int64), np.zeros(3), np.zeros((3, 16), np.uint8))
    standing.ids[:] = [list(bytes.fromhex(name)) for name in ("ff" + "00" * 15, "00" * 8 + "ff" + "00" * 7, "00" * 15 + "01")]
    assert policy_order(standing, ()).tolist() == [2, 1, 0]

"""Grouping records by entity and window: keys, order, windows, parts, refs, and that nothing depends on how the work was cut."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.text.groups.groups import Group, Grouping, Tally, groups, map_group
from mspt.core.text.groups.order import Window
from mspt.core.text.groups.sort import RunWriter, merged
from mspt.core.text.mapping import Mapped, Refusal, load_map

DAY = Grouping(group_by="user", order_by="at", window=Window.parse("1d"))


def group(records: list[tuple[Mapping[str, Any], str, str]], grouping: Grouping = DAY, **options: Any) -> list[Group]:
    """Groups of (fields, source, ref), sorted in memory."""
    rows = [grouping.row(*record) for record in records]
    assert not [row for row in rows if isinstance(row, Refusal)]
    return list(groups(sorted(rows), grouping, **options))


def events(*records: tuple[str, str], **more: Any) -> list[tuple[dict[str, Any], str, str]]:
    return [({"user": user, "at": at, "n": n, **more}, "s", f"f#{n}") for n, (user, at) in enumerate(records)]


def brief(found: list[Group]) -> list[tuple[str, list[int]]]:
    return [(one.ref, [record["n"] for record in one.records]) for one in found]


# --- groups and windows ------------------------------------------------------------------------------------------------


def test_a_group_is_one_entity_in_one_window_in_order():
    found = group(
        events(
            ("b", "2025-03-04 12:00"), ("a", "2025-03-04 23:59:59"), ("a", "2025-03-05"), ("a", "2025-03-04T00:00:00Z"), ("b", "2025-03-04T08:00:00+08:00"),
            ("a", "2025-03-04 08:00"),
        )
    )  # fmt: skip
    assert brief(found) == [("a@2025-03-04T00:00:00Z", [3, 5, 1]), ("a@2025-03-05T00:00:00Z", [2]), ("b@2025-03-04T00:00:00Z", [4, 0])]
    first = found[0]
    assert (first.start, first.end) == ("2025-03-04T00:00:00Z", "2025-03-05T00:00:00Z")
    assert first.order == ["2025-03-04T00:00:00Z", "2025-03-04T08:00:00Z", "2025-03-04T23:59:59Z"]
    assert first.meta == {"group": "a", "start": first.start, "end": first.end, "records": 3}


def test_without_windows_all_of_an_entity_is_one_group():
    grouping = Grouping(group_by="user", order_by="at")
    (found,) = group(events(("a", "2025-03-04"), ("a", "1999-01-01"), ("a", "2030-01-01 00:00:00.5")), grouping)
    assert brief([found]) == [("a@all", [1, 0, 2])]
    assert (found.start, found.end) == ("1999-01-01T00:00:00Z", "2030-01-01T00:00:00.5Z")
    numbers = [({"user": "a", "at": at, "n": n}, "s", f"f#{n}") for n, at in enumerate(["10", "-1.5", "9"])]
    (found,) = group(numbers, grouping)
    assert ([record["n"] for record in found.records], found.order) == ([1, 2, 0], ["-1.5", "9", "10"])


def test_without_an_order_records_stand_as_in_their_files():
    grouping = Grouping(group_by="user")
    records = [({"user": "a", "n": n}, source, ref) for n, (source, ref) in enumerate([("t", "f#0"), ("s", "g#10"), ("s", "g#9"), ("s", "f#11"), ("s", "f")])]
    (found,) = group(records, grouping)
    assert [record["n"] for record in found.records] == [4, 3, 2, 1, 0]
    assert (found.source, found.ref, found.start, found.end, found.meta) == ("s", "a@all", "", "", {"group": "a", "records": 5})


def test_ties_are_broken_by_source_and_ref_and_line_numbers_are_numbers():
    at = "2025-03-04"
    records = [({"user": "a", "at": at, "n": n}, source, ref) for n, (source, ref) in enumerate([("t", "f#1"), ("s", "f#10"), ("s", "f#9"), ("s", "e#99")])]
    assert brief(group(records)) == [("a@2025-03-04T00:00:00Z", [3, 2, 1, 0])]


def test_plain_numbers_have_windows_too():
    grouping = Grouping(group_by="user", order_by="at", window=Window.parse("100"))
    records = [({"user": "a", "at": at, "n": n}, "s", f"f#{n}") for n, at in enumerate([99, 100, "199.5", -1, 0])]
    assert brief(group(records, grouping)) == [("a@-100", [3]), ("a@0", [4, 0]), ("a@100", [1, 2])]


def test_an_older_record_changes_no_other_group():
    old = events(("a", "2025-03-04 05:00"), ("a", "2025-03-05 05:00"))
    new = [*old, ({"user": "a", "at": "2025-03-03 23:00", "n": 9}, "s", "g#0")]
    assert brief(group(new))[1:] == brief(group(old))


def test_groups_that_are_too_large_are_cut_and_say_so():
    records = events(*[("a", f"2025-03-04 00:00:{n:02d}") for n in range(7)], ("b", "2025-03-04"))
    cut = group(records, Grouping(group_by="user", order_by="at", window=Window.parse("1d"), max_records=3))
    at = "2025-03-04T00:00:00Z"
    assert brief(cut) == [(f"a@{at}", [0, 1, 2]), (f"a@{at}~2", [3, 4, 5]), (f"a@{at}~3", [6]), (f"b@{at}", [7])]
    assert [(one.part, one.is_cut, one.meta.get("part")) for one in cut] == [(1, True, 1), (2, True, 2), (3, False, 3), (1, False, None)]
    exact = group(records[:6], Grouping(group_by="user", order_by="at", window=Window.parse("1d"), max_records=3))
    assert [one.is_cut for one in exact] == [True, False]
    by_bytes = group(records, max_bytes=2 * len(json.dumps(records[0][0], separators=(",", ":"))))
    assert [len(one.records) for one in by_bytes] == [2, 2, 2, 1, 1]
    huge = group(events(("a", "2025-03-04"), ("a", "2025-03-04"), text="长" * 1000), max_bytes=10)
    assert [len(one.records) for one in huge] == [1, 1]  # a record is never cut


# --- keys --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "entity"),
    [
        ("甲", "甲"),
        (" a b\u3000", "a b"),
        (17, "17"),
        (17.0, "17"),
        (1.5, "1.5"),
        ("017", "017"),
        (-(10**30), "-1" + "0" * 30),
        ("a\ud800", "a\ufffd"),
        (b"x", "x"),
    ],
)
def test_entities(value, entity):
    assert Grouping(group_by="user").row({"user": value}, "s", "f#0")[0] == entity


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({}, Refusal("no-group-key", "card.user: there is no value")),
        ({"card": {"user": None}}, Refusal("no-group-key", "card.user: there is no value")),
        ({"card": {"user": " \t"}}, Refusal("no-group-key", "card.user: it is empty")),
        ({"card": {"user": float("nan")}}, Refusal("no-group-key", "card.user: it is empty")),
        ({"card": {"user": float("-inf")}}, Refusal("no-group-key", "card.user: it is empty")),
        ({"card": {"user": True}}, Refusal("no-group-key", "card.user: a bool names no entity")),
        ({"card": {"user": ["a"]}}, Refusal("no-group-key", "card.user: a list names no entity")),
        ({"card": {"user": "x" * 1001}}, Refusal("no-group-key", "card.user: 1001 characters; at most 1000 name an entity")),
        ({"card": {"user": object()}}, Refusal("no-group-key", "card.user: a value of type object, which JSON cannot hold")),
        ({"card": {"user": "a"}}, Refusal("bad-order-value", "at: there is no value")),
        ({"card": {"user": "a"}, "at": "soon\ud800"}, Refusal("bad-order-value", "at: `soon\ufffd` is neither a number nor a date")),
        ({"card": {"user": "a"}, "at": 1, "x": object()}, Refusal("bad-fields", "a value of type object, which JSON cannot hold")),
    ],
)  # fmt: skip
def test_records_that_cannot_be_grouped(fields, refusal):
    assert Grouping(group_by="card.user", order_by="at", window=Window.parse("1d")).row(fields, "s", "f#0") == refusal


def test_deep_fields_are_refused_and_odd_ones_survive():
    deep: Any = 1
    for _ in range(2000):
        deep = [deep]
    assert Grouping(group_by="u").row({"u": "a", "x": deep}, "s", "f#0") == Refusal("bad-fields", "a value nested more than 100 deep")
    odd = {"u": "a", "lone": "\ud83d", "nul": "\0", "nan": float("nan"), "键": "值"}
    (found,) = group([(odd, "s", "f#0")], Grouping(group_by="u"))
    assert found.records == [{"u": "a", "lone": "\ud83d", "nul": "\0", "nan": None, "键": "值"}]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("", "at", ""), "--order-by without --group-by"),
        (("", "", "7d"), "--window without --group-by"),
        (("user", "", "7d"), "--window 7d without --order-by"),
    ],
)
def test_settings_that_need_one_another(settings, message):
    with pytest.raises(MsptError, match=message):
        Grouping.of(*settings, "s", 10)
    assert Grouping.of("", "", "", "s", 10) is None
    assert Grouping.of("user", "at", "1d", "s", 100_000) == DAY


# --- refs --------------------------------------------------------------------------------------------------------------


def test_refs_cannot_be_mistaken():
    def ref_of(entity: str) -> str:
        return Group(entity, "2025-03-04T00:00:00Z", "", [], [], "s").ref

    assert ref_of("账户 1") == "账户 1@2025-03-04T00:00:00Z"
    assert ref_of("a!/b#3\n\x85\u2028%") == "a%21/b%233%0A%C2%85%E2%80%A8%25@2025-03-04T00:00:00Z"
    assert ref_of("wow!") == "wow!@2025-03-04T00:00:00Z"


@given(st.text(max_size=20), st.text(max_size=20), st.integers(1, 3), st.integers(1, 3))
def test_no_two_groups_have_the_same_ref(first, second, part, other):
    refs = {(entity, number): Group(entity, "0", "", [], [], "s", part=number).ref for entity, number in [(first, part), (second, other)]}
    assert len(set(refs.values())) == len(refs)
    for (entity, _), ref in refs.items():
        assert unquote(ref.rpartition("@")[0]) == entity
        assert "#" not in ref
        assert "!/" not in ref


# --- one document for each group ---------------------------------------------------------------------------------------


def test_without_a_function_the_texts_stand_one_a_line():
    records = [({"user": "a", "at": n, "body": {"t": text}}, "s", f"f#{n}") for n, text in enumerate(["一", "", None, 5, "二\ud800"])]
    (found,) = group(records)
    assert map_group(found, None, "body.t") == Mapped(text="一\n二\ufffd")


def test_the_function_gets_the_whole_group(tmp_path):
    (tmp_path / "user.py").write_text(
        "import json\ndef tell(group):\n    return {'text': json.dumps(group, sort_keys=True), 'title': group['group']}\n"
        "def fail(group):\n    return group['records'][1]['n'] / 0\n"
        "def empty(group):\n    group['records'].clear(); group['order'].clear(); group.clear()\n    return 'x'\n"
    )
    (found,) = group(events(("a", "2025-03-04 08:05"), ("a", "2025-03-04 09:00:00.5")))
    result = map_group(found, load_map("user.py:tell", tmp_path))
    assert result.title == "a"
    assert json.loads(result.text) == {
        "group": "a",
        "start": "2025-03-04T00:00:00Z",
        "end": "2025-03-05T00:00:00Z",
        "records": [{"user": "a", "at": "2025-03-04 08:05", "n": 0}, {"user": "a", "at": "2025-03-04 09:00:00.5", "n": 1}],
        "order": ["2025-03-04T08:05:00Z", "2025-03-04T09:00:00.5Z"],
        "source": "s",
        "ref": "a@2025-03-04T00:00:00Z",
        "part": 1,
    }
    assert map_group(found, load_map("user.py:empty", tmp_path)) == Mapped(text="x")
    assert (len(found.records), len(found.order), found.meta["records"]) == (2, 2, 2)  # what is counted is not the function's to change
    assert map_group(found, load_map("user.py:fail", tmp_path)) == Refusal("map-error", "ZeroDivisionError: division by zero (line 5 of user.py)")


# --- through the sort --------------------------------------------------------------------------------------------------

RECORDS = st.lists(
    st.tuples(st.sampled_from("甲乙丙"), st.integers(0, 4 * 86_400) | st.sampled_from([0, 86_400]), st.sampled_from(["s", "t"]), st.sampled_from("fg")),
    max_size=40,
)


def through_sort(folder: Path, records: list[tuple[dict[str, Any], str, str]], grouping: Grouping, cut: int, run_bytes: int, num_buckets: int) -> list[Group]:
    runs = []
    for unit in range(cut):
        place = folder / f"{unit}"
        place.mkdir()
        writer = RunWriter(lambda name, place=place: place / name, run_bytes=run_bytes, num_buckets=num_buckets)
        for record in records[unit::cut]:
            row = grouping.row(*record)
            assert not isinstance(row, Refusal)
            writer.add(row)
        writer.close()
        runs += sorted(place.iterdir())
    return [found for bucket in range(num_buckets) for found in groups(merged(runs, bucket, folder), grouping)]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(RECORDS, st.integers(1, 4), st.sampled_from([1, 2000, 10**6]), st.sampled_from([1, 5, 64]), st.integers(1, 5), st.randoms(use_true_random=False))
def test_groups_depend_on_the_records_alone(tmp_path_factory, records, cut, run_bytes, num_buckets, max_records, rng):
    """Shuffled input, other units, run sizes and bucket counts: the same groups; in the same order, entity by entity (all of it with equal buckets)."""
    grouping = Grouping(group_by="user", order_by="at", window=Window.parse("1d"), max_records=max_records)
    whole = [({"user": user, "at": at, "n": n}, source, f"{leaf}#{n}") for n, (user, at, source, leaf) in enumerate(records)]
    shuffled = rng.sample(whole, len(whole))
    expected = through_sort(tmp_path_factory.mktemp("a"), whole, grouping, 1, 10**9, 64)
    found = through_sort(tmp_path_factory.mktemp("b"), shuffled, grouping, cut, run_bytes, num_buckets)
    assert sorted(found, key=lambda one: one.entity) == sorted(expected, key=lambda one: one.entity)  # a stable sort: windows stay in order
    if num_buckets == 64:
        assert found == expected
    # against a plain reading of the definition
    days: dict[tuple[str, int], list[tuple[int, str, str, int]]] = {}
    for fields, source, ref in whole:
        days.setdefault((fields["user"], fields["at"] // 86_400), []).append((fields["at"], source, ref.partition("#")[0], fields["n"]))
    assert sum(len(one.records) for one in found) == len(whole)
    for (user, day), members in days.items():
        parts = [one for one in found if one.entity == user and one.start == f"1970-01-0{day + 1}T00:00:00Z"]
        assert [record["n"] for one in parts for record in one.records] == [member[-1] for member in sorted(members)]
        assert [len(one.records) for one in parts[:-1]] == [max_records] * (len(parts) - 1)


# --- accounting --------------------------------------------------------------------------------------------------------


def test_every_record_is_refused_or_in_a_group(tmp_path):
    rng = random.Random(3)
    first, second = Tally(), Tally()
    writer = RunWriter(lambda name: tmp_path / name)
    for n in range(500):
        row = DAY.row({"user": rng.choice(["a", "b", ""]), "at": rng.choice(["2025-03-04", "2025-03-05 08:00", "soon"])}, "s", f"f#{n}")
        first.records += 1
        if isinstance(row, Refusal):
            first.refused += 1
        else:
            writer.add(row)
    for bucket in writer.close():
        for found in groups(merged([tmp_path / "runs-00000.arrow"], int(bucket), tmp_path), DAY):
            second.count(found)
    total = Tally()
    for tally in (first, second):
        total.add(json.loads(json.dumps(tally.plain())))
    total.check()
    assert (total.records, total.groups, total.by_source, total.cut) == (500, 4, {"s": 4}, 0)
    assert 0 < total.refused < 500
    total.grouped -= 1
    with pytest.raises(RuntimeError, match="records are missing: in 500"):
        total.check()

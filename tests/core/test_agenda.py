"""Which task comes next: whole units in order, parts ahead of what is known, nothing lost by deaths and kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from mspt.core.agenda import Agenda
from mspt.core.unit import Task, Unit, UnitResult, write_record


def finish(agenda: Agenda, task: Task, directory: Path, more: bool) -> bool:
    """What a worker and the pool do: the record on disk, then the agenda."""
    (directory / task.key).mkdir()
    result = UnitResult(task.key, directory / task.key, {}, (), more=more)
    write_record(directory / f"{task.key}.json", result)
    return agenda.finish(task, result)


def test_whole_units_come_in_order_and_a_dead_one_again(tmp_path):
    agenda = Agenda([Unit("a", None), Unit("b", None)], tmp_path, num_workers=2)
    first, second = agenda.next(), agenda.next()
    assert (first.key, second.key, agenda.next()) == ("a", "b", None)
    agenda.give_back(first)
    assert agenda.next() == first
    assert finish(agenda, second, tmp_path, more=False)
    assert not agenda.is_empty
    assert finish(agenda, first, tmp_path, more=False)
    assert agenda.is_empty
    assert [result.key for result in agenda.results()] == ["a", "b"]


def test_no_part_is_begun_before_something_says_that_it_may_exist(tmp_path):
    agenda = Agenda([Unit("small", None, bytes=10, part_bytes=100)], tmp_path, num_workers=4)
    assert agenda.next().part == 0
    assert agenda.next() is None  # ten bytes are one part until part 0 says otherwise


def test_a_unit_that_is_larger_than_a_part_is_begun_in_many_places(tmp_path):
    agenda = Agenda([Unit("huge", None, bytes=350, part_bytes=100)], tmp_path, num_workers=2)
    assert [agenda.next().part for _ in range(4)] == [0, 1, 2, 3]
    assert agenda.next() is None
    assert agenda.open_tasks == 4


def test_parts_run_ahead_of_the_last_one_known_by_the_number_of_workers(tmp_path):
    agenda = Agenda([Unit("gz", None, bytes=50, part_bytes=100)], tmp_path, num_workers=3)
    finish(agenda, agenda.next(), tmp_path, more=True)
    assert [task.part for task in (agenda.next(), agenda.next(), agenda.next())] == [1, 2, 3]
    assert agenda.next() is None


def test_what_was_begun_beyond_the_end_is_thrown_away(tmp_path):
    agenda = Agenda([Unit("gz", None, bytes=250, part_bytes=100)], tmp_path, num_workers=2)
    tasks = [agenda.next() for _ in range(3)]
    assert finish(agenda, tasks[2], tmp_path, more=False)  # a worker ahead found nothing
    assert finish(agenda, tasks[0], tmp_path, more=True)
    assert finish(agenda, tasks[1], tmp_path, more=False)  # here the file ends
    assert agenda.is_empty
    assert [result.key for result in agenda.results()] == ["gz-000000", "gz-000001"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gz-000000", "gz-000000.json", "gz-000001", "gz-000001.json"]


def test_a_late_part_beyond_the_end_changes_nothing(tmp_path):
    agenda = Agenda([Unit("gz", None, bytes=150, part_bytes=100)], tmp_path, num_workers=2)
    first, second = agenda.next(), agenda.next()
    assert finish(agenda, first, tmp_path, more=False)
    assert agenda.is_empty
    assert not finish(agenda, second, tmp_path, more=False)
    assert [result.key for result in agenda.results()] == ["gz-000000"]


@pytest.mark.parametrize("finished", [(), (0,), (2,), (0, 2), (0, 1, 3)])
def test_after_a_kill_only_the_gaps_are_done(tmp_path, finished):
    """Four parts, of which any may have been finished before."""
    unit = Unit("gz", None, bytes=50, part_bytes=100)
    for part in finished:
        task = Task(unit, part)
        (tmp_path / task.key).mkdir()
        write_record(tmp_path / f"{task.key}.json", UnitResult(task.key, tmp_path / task.key, {}, (), more=part < 3))
    agenda, done = Agenda([unit], tmp_path, num_workers=2), []
    while (task := agenda.next()) is not None:
        done.append(task.part)
        finish(agenda, task, tmp_path, more=task.part < 3)
    assert {*done, *finished} >= {0, 1, 2, 3}
    assert not {*done} & {*finished}
    assert [result.key for result in agenda.results()] == [f"gz-00000{part}" for part in range(4)]
    assert agenda.is_empty

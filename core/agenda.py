"""Which task is next: units in order, and of a unit that is done in parts as many at once as there are workers, although nobody knows yet how many it has.

A part may be begun when it must exist (the unit's bytes say so), or when it is at most as many parts behind the last known one as there are workers.
The first part that says that nothing lies behind it is the last; what was begun beyond it is thrown away (it found nothing).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mspt.core.unit import Task, Unit, UnitResult, forget_unit, load_parts


@dataclass
class _Course:
    """How far one unit is."""

    unit: Unit
    results: dict[int, UnitResult] = field(default_factory=dict)
    end: int | None = None  # number of the last part, once it is known
    begun: set[int] = field(default_factory=set)
    next: int = 0

    def keep(self, part: int, result: UnitResult) -> None:
        self.results[part] = result
        self.begun.add(part)
        if not result.more and (self.end is None or part < self.end):
            self.end = part

    def take(self, ahead: int) -> int | None:
        """The next part that may be begun."""
        while self.next in self.begun:
            self.next += 1
        if self.next > self._limit(ahead):
            return None
        self.begun.add(self.next)
        return self.next

    def give_back(self, part: int) -> None:
        self.begun.discard(part)
        self.next = min(self.next, part)

    def _limit(self, ahead: int) -> int:
        if self.end is not None:
            return self.end
        if self.unit.part_bytes is None:
            return 0
        known = max((part for part, result in self.results.items() if result.more), default=-ahead)
        return max(known + ahead, self.unit.bytes // self.unit.part_bytes)

    @property
    def is_done(self) -> bool:
        return self.end is not None and all(part in self.results for part in range(self.end + 1))


class Agenda:
    """What is left to do of some units, and what is done."""

    def __init__(self, units: Sequence[Unit], directory: Path, num_workers: int) -> None:
        self.directory = directory
        self.num_workers = num_workers
        self.courses = {unit.key: _Course(unit) for unit in units}
        for course in self.courses.values():
            for part, result in load_parts(directory, course.unit):
                course.keep(part, result)
            self._drop_beyond_end(course)
        self._open = deque(course for course in self.courses.values() if not course.is_done)

    @property
    def is_empty(self) -> bool:
        return not self._open

    @property
    def open_tasks(self) -> int:
        """How many workers could have something to do."""
        return sum(1 if course.unit.part_bytes is None else 1 + course.unit.bytes // course.unit.part_bytes for course in self._open)

    def next(self) -> Task | None:
        """The first task that may be begun; None: nothing now, or nothing at all."""
        for course in self._open:
            if (part := course.take(self.num_workers)) is not None:
                return Task(course.unit, part)
        return None

    def give_back(self, task: Task) -> None:
        """A task that was begun and died."""
        self.courses[task.unit.key].give_back(task.part)

    def finish(self, task: Task, result: UnitResult) -> bool:
        """Takes a result. False: it lies beyond the end, and is dropped."""
        course = self.courses[task.unit.key]
        was_open = not course.is_done
        course.keep(task.part, result)
        self._drop_beyond_end(course)
        if was_open and course.is_done:
            self._open.remove(course)
        return task.part in course.results

    def _drop_beyond_end(self, course: _Course) -> None:
        if course.end is None:
            return
        for part in [part for part in course.results if part > course.end]:
            forget_unit(self.directory, course.results.pop(part).key)

    def is_done(self, unit: Unit) -> bool:
        return self.courses[unit.key].is_done

    def results(self) -> Iterator[UnitResult]:
        """All that is done, in the order of units and parts."""
        for course in self.courses.values():
            for part in sorted(course.results):
                yield course.results[part]

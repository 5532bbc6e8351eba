"""Work on many units with worker processes, so that a death costs one unit and changes no byte.

What goes in: a top-level function and units (key, payload). What happens, in order:

1. Spawned workers take units; each runs `function(payload, out)`, writing files under temporary names in the unit's own folder.
2. When the function returns, the unit's files are fsynced and renamed and its record (stats, files, sha256) is written: the unit is done
   and no later run does it again.
   A unit that is cut into parts is several such tasks (core/agenda.py).
3. A worker that dies, or spends too long on one document (`out.guard`), is replaced. The document that it was at becomes a *suspect*; the unit
   runs again, and a suspect runs alone in a process of its own. Only if it kills that process too is it stopped (`DocumentStopped`), and the stage
   writes its rejection row. An outside kill therefore changes nothing.

Results come back in the order of the units, whatever the number of workers.
"""

from __future__ import annotations

import contextlib
import multiprocessing.connection as mpc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from mspt.core.agenda import Agenda
from mspt.core.errors import InputError, MachineError
from mspt.core.files import disk_full, is_disk_full, remove_temporaries
from mspt.core.memory import note_child
from mspt.core.unit import Task, Unit, UnitResult
from mspt.core.worker import Limits, UnitOutput, interrupts_held, spawning, work

POLL_SECONDS = 0.5
MAX_DEATHS_OUTSIDE = 5  # of one unit, while no document was being worked on: then it is the machine or the operator


class Bar(Protocol):
    def advance(self, amount: float) -> None: ...


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    marker: Any
    task: Task | None = None
    reported: float = 0.0


@dataclass
class _State:
    suspects: set[int] = field(default_factory=set)
    deaths_outside: int = 0


class Pool:
    """The parent's side of map_units: hands out units, replaces the dead, collects results."""

    def __init__(self, function: Callable[[Any, UnitOutput], dict[str, Any]], units_directory: Path, workers: int, limits: Limits, bar: Bar) -> None:
        self.function = function
        self.units_directory = units_directory
        self.limits = limits
        self.bar = bar
        self.states: dict[str, _State] = {}
        self.num_workers = workers
        self.workers: list[_Worker] = []
        self.advanced: dict[str, float] = {}  # by unit: how much of its bytes the bar has

    def _start(self) -> _Worker:
        ours, theirs = spawning.Pipe()
        marker = spawning.RawArray("d", 3)
        arguments = (theirs, os.getpid(), marker, self.function, self.limits, str(self.units_directory))
        process = spawning.Process(target=work, args=arguments)
        with interrupts_held():
            process.start()
        theirs.close()
        return _Worker(process, ours, marker)

    def run(self, agenda: Agenda, on_done: Callable[[UnitResult, float], None]) -> None:
        """Until nothing is left to do. on_done: called with each result and how much of the bar it was."""
        while len(self.workers) < self.num_workers:
            self.workers.append(self._start())
        while not agenda.is_empty or any(w.task for w in self.workers):
            for worker in self.workers:
                if worker.task is None and (task := agenda.next()) is not None:
                    self._assign(worker, task)
            ready = mpc.wait([w.connection for w in self.workers if w.task], timeout=POLL_SECONDS)
            for position, worker in enumerate(self.workers):
                if worker.task is None:
                    continue
                if worker.connection in ready:
                    self._listen(position, worker, agenda, on_done)
                elif self._overran(worker):
                    worker.process.kill()

    def _assign(self, worker: _Worker, task: Task) -> None:
        state = self.states.setdefault(task.key, _State())
        worker.task = task
        worker.reported = 0.0
        with contextlib.suppress(BrokenPipeError):  # died while idle: the closed pipe is seen as a death by _listen
            worker.connection.send((task, frozenset(state.suspects)))

    def _overran(self, worker: _Worker) -> bool:
        return bool(worker.marker[0]) and time.monotonic() - worker.marker[1] > self.limits.cpu_seconds

    def _listen(self, position: int, worker: _Worker, agenda: Agenda, on_done: Callable[[UnitResult, float], None]) -> None:
        task = worker.task
        assert task is not None
        try:
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self.bar.advance(-worker.reported)
            self._bury(worker, task)
            agenda.give_back(task)
            self.workers[position] = self._start()
            return
        if kind == "advance":
            worker.reported += value
            self.bar.advance(value)
        elif kind == "done":
            worker.task = None
            self._settle(worker, task, agenda, value, on_done)
        else:
            raise value

    def _settle(self, worker: _Worker, task: Task, agenda: Agenda, result: UnitResult, on_done: Callable[[UnitResult, float], None]) -> None:
        """A finished task: the bar stands at the whole unit when its last part is in."""
        unit = task.unit
        kept = agenda.finish(task, result)
        amount = worker.reported if kept and unit.part_bytes is not None else float(unit.bytes) if kept else 0.0
        self.advanced[unit.key] = self.advanced.get(unit.key, 0.0) + amount
        self.bar.advance(amount - worker.reported)
        if agenda.is_done(unit) and kept:
            self.bar.advance(unit.bytes - self.advanced[unit.key])
            self.advanced[unit.key] = unit.bytes
        if kept:
            on_done(result, amount)

    def _bury(self, worker: _Worker, task: Task) -> None:
        """Learns from a death: the document at work becomes a suspect."""
        worker.process.join()
        note_child(int(worker.marker[2]))
        state = self.states[task.key]
        index = int(worker.marker[0]) - 1
        if index >= 0:
            state.suspects.add(index)
        else:
            state.deaths_outside += 1
            if state.deaths_outside >= MAX_DEATHS_OUTSIDE:
                raise MachineError(
                    f"workers died {MAX_DEATHS_OUTSIDE} times on unit {task.key}, while between documents (exit {worker.process.exitcode})",
                    "look for an out-of-memory killer (dmesg) and lower --workers; finished units are kept",
                )

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill() if worker.task else _dismiss(worker)
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()
            note_child(int(worker.marker[2]))


def _dismiss(worker: _Worker) -> None:
    with contextlib.suppress(BrokenPipeError):
        worker.connection.send(None)


@contextlib.contextmanager
def _pool(*args: Any) -> Iterator[Pool]:
    pool = Pool(*args)
    try:
        yield pool
    finally:
        pool.close()


def worker_count(wanted: int) -> int:
    """0 means one for each core that this process may use."""
    return wanted or len(os.sched_getaffinity(0))


def map_units(
    function: Callable[[Any, UnitOutput], dict[str, Any]],
    units: Sequence[Unit],
    directory: Path,
    *,
    workers: int,
    limits: Limits,
    bar: Bar,
    after_each: Callable[[UnitResult, float], None] = lambda result, amount: None,
) -> list[UnitResult]:
    """Runs what of the units has no record yet in `directory` and returns all results in the order of `units` (and of their parts).

    Raises what a unit raised (MsptError, a disk-full MachineError, or a bug as RuntimeError with the worker's traceback).
    """
    keys = [unit.key for unit in units]
    if len(set(keys)) != len(keys):
        raise InputError("two units have one key", "this is a bug in the stage: keys must be unique")
    directory.mkdir(parents=True, exist_ok=True)
    remove_temporaries(directory)
    num_workers = worker_count(workers)
    agenda = Agenda(units, directory, num_workers)
    bar.advance(sum(unit.bytes for unit in units if agenda.is_done(unit)))
    if not agenda.is_empty:
        try:
            with _pool(function, directory, min(num_workers, agenda.open_tasks), limits, bar) as pool:
                pool.run(agenda, after_each)
        except OSError as error:
            if is_disk_full(error):
                raise disk_full(directory) from None
            raise
    return list(agenda.results())

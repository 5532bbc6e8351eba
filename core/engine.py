"""Work on many units with worker processes, so that a death costs one unit and changes no byte.

What goes in: a top-level function and units (key, payload). What happens, in order:

1. Spawned workers take units; each runs `function(payload, out)`, writing files under temporary names in the unit's own folder.
2. When the function returns, the unit's files are fsynced and renamed and its record (stats, files, sha256) is written: the unit is done
   and no later run does it again.
3. A worker that dies, or spends too long on one document (`out.guard`), is replaced. The document that it was at becomes a *suspect*; the unit
   runs again, and a suspect runs alone in a process of its own. Only if it kills that process too is it stopped (`DocumentStopped`), and the stage
   writes its rejection row. An outside kill therefore changes nothing.

Results come back in the order of the units, whatever the number of workers.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing as mp
import multiprocessing.connection as mpc
import os
import resource
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol, cast

from mspt.core.artifact import FileRecord
from mspt.core.errors import InputError, MachineError, MsptError
from mspt.core.files import (
    disk_full,
    fsync_directory,
    fsync_file,
    is_disk_full,
    is_machine_fault,
    read_json,
    remove_temporaries,
    sha256_file,
    temporary_name,
    write_text,
)
from mspt.core.raw import RawFile

POLL_SECONDS = 0.5
MAX_DEATHS_OUTSIDE = 5  # of one unit, while no document was being worked on: then it is the machine or the operator
PR_SET_PDEATHSIG = 1
ADVANCE_SECONDS = 0.2  # how often a worker reports progress
_context = mp.get_context("spawn")


class Bar(Protocol):
    def advance(self, amount: float) -> None: ...


@dataclass(frozen=True)
class Unit:
    """What one worker does at once and what a kill can cost. `bytes` is for progress and forecasts only."""

    key: str
    payload: Any
    bytes: int = 1


@dataclass(frozen=True)
class UnitResult:
    """A finished unit: what its function returned and the files it wrote (by the names the function used)."""

    key: str
    directory: Path
    stats: dict[str, Any]
    files: tuple[FileRecord, ...]
    stopped: tuple[dict[str, str], ...] = ()  # documents stopped by a limit or a crash: the one exception to determinism
    inputs: tuple[RawFile, ...] = ()  # raw files that the unit read, with their sha256

    def path(self, name: str) -> Path:
        return self.directory / name

    def record(self, name: str) -> FileRecord:
        return next(file for file in self.files if file.path == name)


@dataclass(frozen=True)
class Limits:
    """What one document may take when it runs alone. Identity settings: they can change what is kept."""

    cpu_seconds: float = 60.0
    memory_bytes: int = 4 * 2**30


class DocumentStopped(Exception):
    """This document alone crashed its process or overran a limit. rule: crash, time-limit or memory-limit."""

    def __init__(self, rule: str, detail: str) -> None:
        super().__init__(rule, detail)
        self.rule = rule
        self.detail = detail


# --- inside a worker ---------------------------------------------------------------------------------------------------


@dataclass
class UnitOutput:
    """What a unit's function writes to. Not made by stages."""

    directory: Path
    suspects: frozenset[int] = frozenset()
    limits: Limits = field(default_factory=Limits)
    report: Callable[[float], None] = lambda amount: None
    marker: Any = None  # shared [document index + 1, start of it]; 0: between documents
    files: dict[str, Path] = field(default_factory=dict)
    stopped: list[dict[str, str]] = field(default_factory=list)
    inputs: list[RawFile] = field(default_factory=list)

    def path(self, name: str) -> Path:
        """A temporary path for a file of the unit; it gets its name when the function returns."""
        if name not in self.files:
            self.files[name] = temporary_name(self.directory / name)
        return self.files[name]

    def advance(self, amount: float) -> None:
        """Reports progress, in the same measure as Unit.bytes."""
        self.report(amount)

    def hashed(self, file: RawFile, sha256: str) -> None:
        """Records the hash of a raw file, computed while reading it. Every raw file of the unit must be reported once."""
        self.inputs.append(replace(file, sha256=sha256))

    def guard(self, index: int, function: Callable[..., Any], *args: Any) -> Any:
        """`function(*args)`, marked as the work on document `index`; alone in its own process where it is a suspect.

        `function` and `args` must pickle. Raises DocumentStopped where the document was the culprit.
        """
        if index in self.suspects:
            try:
                return run_alone(function, args, self.limits)
            except DocumentStopped as stop:
                self.stopped.append({"index": str(index), "rule": stop.rule, "detail": stop.detail})
                raise
        if self.marker is None:
            return function(*args)
        self.marker[1] = time.monotonic()
        self.marker[0] = index + 1
        try:
            return function(*args)
        except MemoryError:
            os._exit(70)  # the heap may be in any state: die, and let the document prove itself alone
        finally:
            self.marker[0] = 0

    def publish(self, stats: dict[str, Any], record_path: Path, key: str) -> UnitResult:
        """Files whole and named, then the record: from here on the unit is done."""
        records = []
        for name, temporary in self.files.items():
            if temporary.exists():
                fsync_file(temporary)
                records.append(FileRecord(name, temporary.stat().st_size, sha256_file(temporary)))
                os.replace(temporary, self.directory / name)
        fsync_directory(self.directory)
        result = UnitResult(key, self.directory, stats, tuple(records), tuple(self.stopped), tuple(self.inputs))
        write_record(record_path, result)
        return result


def write_record(path: Path, result: UnitResult) -> None:
    value = {
        "stats": result.stats,
        "files": [asdict(file) for file in result.files],
        "stopped": list(result.stopped),
        "inputs": [asdict(file) for file in result.inputs],
    }
    write_text(path, json.dumps(value, ensure_ascii=False))


def load_result(units: Path, key: str) -> UnitResult | None:
    """The record of a finished unit, or None."""
    record = units / f"{key}.json"
    if not record.is_file():
        return None
    value = read_json(record, record)
    files = tuple(FileRecord(**file) for file in value["files"])
    inputs = tuple(RawFile(**file) for file in value["inputs"])
    return UnitResult(key, units / key, value["stats"], files, tuple(value["stopped"]), inputs)


def die_with_parent(parent: int) -> None:
    """The kernel ends this process when its parent ends, however that happens."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Processes started in this block do not see the ^C that a terminal sends to all: while Python starts it would end them with a traceback.

    They unblock SIGINT, or ignore it, when they are ready for it; here it is raised at the end of the block.
    """
    resource_tracker.ensure_running()  # its own start unblocks SIGINT
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _alone(connection: Connection, parent: int, function: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> None:
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    seconds = max(1, int(limits.cpu_seconds))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer: tuple[str, Any] = ("value", function(*args))
    except MemoryError:
        answer = ("memory", None)
    except BaseException as error:
        answer = ("error", error)
    connection.send(answer)


def run_alone(function: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Any:
    """`function(*args)` in a process of its own under `limits`. Raises DocumentStopped, or what the function raised."""
    kind, value, exit_code = _try_alone(function, args, limits)
    if kind == "died" and exit_code == -signal.SIGKILL:  # that may come from outside: only a second one counts
        kind, value, exit_code = _try_alone(function, args, limits)
    if kind == "value":
        return value
    if kind == "error":
        raise cast("BaseException", value)
    if kind == "memory":
        raise DocumentStopped("memory-limit", f"more than {limits.memory_bytes >> 20} MiB")
    if kind == "hang" or exit_code == -signal.SIGXCPU:
        raise DocumentStopped("time-limit", f"more than {limits.cpu_seconds:g} s")
    raise DocumentStopped("crash", signal.Signals(-exit_code).name if exit_code < 0 else f"exit {exit_code}")


def _try_alone(function: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> tuple[str, Any, int]:
    """(value | error | memory | hang | died, what was returned or raised, exit code)."""
    ours, theirs = _context.Pipe(duplex=False)
    process = _context.Process(target=_alone, args=(theirs, os.getpid(), function, args, limits))
    process.start()
    theirs.close()
    try:
        answered = ours.poll(limits.cpu_seconds * 10 + 30)  # wall time: far above what the CPU limit allows
        kind, value = ours.recv() if answered else ("hang", None)
    except EOFError:
        kind, value = "died", None
    if kind == "hang":
        process.kill()
    process.join()
    ours.close()
    return kind, value, process.exitcode or 0


def _work(connection: Connection, parent: int, marker: Any, function: Callable[[Any, UnitOutput], dict[str, Any]], limits: Limits, units: str) -> None:
    """A worker's life: take (unit, suspects), do it, answer; ends with its parent or at None."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's ^C goes to the parent, which ends us
    pending, last = 0.0, time.monotonic()

    def report(amount: float) -> None:
        nonlocal pending, last
        pending += amount
        now = time.monotonic()
        if now - last >= ADVANCE_SECONDS:
            connection.send(("advance", pending))
            pending, last = 0.0, now

    while (task := connection.recv()) is not None:
        unit, suspects = task
        directory = Path(units) / unit.key
        directory.mkdir(parents=True, exist_ok=True)
        out = UnitOutput(directory, suspects, limits, report, marker)
        try:
            result = out.publish(function(unit.payload, out), Path(units) / f"{unit.key}.json", unit.key)
        except BaseException as error:
            for temporary in out.files.values():
                temporary.unlink(missing_ok=True)
            connection.send(("error", _portable(error)))
            continue
        pending = 0.0
        connection.send(("done", result))


def _portable(error: BaseException) -> BaseException:
    """The error itself where it crosses process borders whole and means something to a person; else its traceback as text."""
    if isinstance(error, MsptError) or is_machine_fault(error):
        return error
    return RuntimeError("".join(traceback.format_exception(error)))


# --- in the parent -----------------------------------------------------------------------------------------------------


@dataclass
class _Worker:
    process: SpawnProcess
    connection: Connection
    marker: Any
    unit: Unit | None = None
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

    def _start(self) -> _Worker:
        ours, theirs = _context.Pipe()
        marker = _context.RawArray("d", 2)
        arguments = (theirs, os.getpid(), marker, self.function, self.limits, str(self.units_directory))
        process = _context.Process(target=_work, args=arguments)
        with interrupts_held():
            process.start()
        theirs.close()
        return _Worker(process, ours, marker)

    def run(self, units: Sequence[Unit], on_done: Callable[[UnitResult], None]) -> None:
        while len(self.workers) < self.num_workers:
            self.workers.append(self._start())
        queue = list(reversed(units))
        while queue or any(w.unit for w in self.workers):
            for worker in self.workers:
                if worker.unit is None and queue:
                    self._assign(worker, queue.pop())
            ready = mpc.wait([w.connection for w in self.workers if w.unit], timeout=POLL_SECONDS)
            for position, worker in enumerate(self.workers):
                if worker.unit is None:
                    continue
                if worker.connection in ready:
                    self._listen(position, worker, queue, on_done)
                elif self._overran(worker):
                    worker.process.kill()

    def _assign(self, worker: _Worker, unit: Unit) -> None:
        state = self.states.setdefault(unit.key, _State())
        worker.unit = unit
        worker.reported = 0.0
        with contextlib.suppress(BrokenPipeError):  # died while idle: the closed pipe is seen as a death by _listen
            worker.connection.send((unit, frozenset(state.suspects)))

    def _overran(self, worker: _Worker) -> bool:
        return bool(worker.marker[0]) and time.monotonic() - worker.marker[1] > self.limits.cpu_seconds

    def _listen(self, position: int, worker: _Worker, queue: list[Unit], on_done: Callable[[UnitResult], None]) -> None:
        assert worker.unit is not None
        try:
            kind, value = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            self.bar.advance(-worker.reported)
            queue.append(self._bury(worker))
            self.workers[position] = self._start()
            return
        if kind == "advance":
            worker.reported += value
            self.bar.advance(value)
        elif kind == "done":
            self.bar.advance(worker.unit.bytes - worker.reported)
            worker.unit = None
            on_done(value)
        else:
            raise value

    def _bury(self, worker: _Worker) -> Unit:
        """Learns from a death: the document at work becomes a suspect. Returns the unit to run again."""
        worker.process.join()
        unit = worker.unit
        assert unit is not None
        state = self.states[unit.key]
        index = int(worker.marker[0]) - 1
        if index >= 0:
            state.suspects.add(index)
        else:
            state.deaths_outside += 1
            if state.deaths_outside >= MAX_DEATHS_OUTSIDE:
                raise MachineError(
                    f"workers died {MAX_DEATHS_OUTSIDE} times on unit {unit.key}, while between documents (exit {worker.process.exitcode})",
                    "look for an out-of-memory killer (dmesg) and lower --workers; finished units are kept",
                )
        return unit

    def close(self) -> None:
        for worker in self.workers:
            worker.process.kill() if worker.unit else _dismiss(worker)
        for worker in self.workers:
            worker.process.join()
            worker.connection.close()


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
    after_each: Callable[[UnitResult], None] = lambda result: None,
) -> list[UnitResult]:
    """Runs the units that have no record yet in `directory` and returns all results in the order of `units`.

    Raises what a unit raised (MsptError, a disk-full MachineError, or a bug as RuntimeError with the worker's traceback).
    """
    keys = [unit.key for unit in units]
    if len(set(keys)) != len(keys):
        raise InputError("two units have one key", "this is a bug in the stage: keys must be unique")
    directory.mkdir(parents=True, exist_ok=True)
    remove_temporaries(directory)
    done = {unit.key: found for unit in units if (found := load_result(directory, unit.key)) is not None}
    todo = [unit for unit in units if unit.key not in done]
    bar.advance(sum(unit.bytes for unit in units if unit.key in done))

    def on_done(result: UnitResult) -> None:
        done[result.key] = result
        after_each(result)

    if todo:
        try:
            with _pool(function, directory, min(worker_count(workers), len(todo)), limits, bar) as pool:
                pool.run(todo, on_done)
        except OSError as error:
            if is_disk_full(error):
                raise disk_full(directory) from None
            raise
    return [done[key] for key in keys]


def forget_unit(directory: Path, key: str) -> None:
    """Makes a finished unit unfinished (its inputs changed)."""
    (directory / f"{key}.json").unlink(missing_ok=True)
    shutil.rmtree(directory / key, ignore_errors=True)

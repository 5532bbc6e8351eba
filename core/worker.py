"""What happens inside a worker process: a unit's function writes files, and one document that kills its process is found and stopped.

The pool that starts workers and learns from their deaths is core/engine.py.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import multiprocessing as mp
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, cast

from mspt.core.artifact import FileRecord
from mspt.core.errors import MsptError
from mspt.core.files import fsync_directory, fsync_file, is_machine_fault, sha256_file, temporary_name
from mspt.core.memory import largest_child, note_child, own_peak_rss
from mspt.core.raw import RawFile
from mspt.core.unit import UnitResult, write_record

PR_SET_PDEATHSIG = 1
ADVANCE_SECONDS = 0.2  # how often a worker reports progress
spawning = mp.get_context("spawn")  # a forked child would share locks and open files with threads that it does not have


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


@dataclass
class UnitOutput:
    """What a unit's function writes to. Not made by stages."""

    directory: Path
    suspects: frozenset[int] = frozenset()
    limits: Limits = field(default_factory=Limits)
    report: Callable[[float], None] = lambda amount: None
    marker: Any = None  # shared [document index + 1, start of it, most memory by now in bytes]; index 0: between documents
    part: int = 0  # which part of the unit, where it is done in parts (Unit.part_bytes) ...
    more: bool = False  # ... and whether anything lies behind it: set by the function
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
        """Records the hash of a raw file, computed while reading it. Every raw file of the unit must be reported once ("" when it was not read to its end)."""
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
        result = UnitResult(key, self.directory, stats, tuple(records), tuple(self.stopped), tuple(self.inputs), self.more)
        write_record(record_path, result)
        return result


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
    connection.send((*answer, own_peak_rss()))


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
    ours, theirs = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_alone, args=(theirs, os.getpid(), function, args, limits))
    process.start()
    theirs.close()
    try:
        answered = ours.poll(limits.cpu_seconds * 10 + 30)  # wall time: far above what the CPU limit allows
        kind, value, peak = ours.recv() if answered else ("hang", None, 0)
        note_child(peak)
    except EOFError:
        kind, value = "died", None
    if kind == "hang":
        process.kill()
    process.join()
    ours.close()
    return kind, value, process.exitcode or 0


def work(connection: Connection, parent: int, marker: Any, function: Callable[[Any, UnitOutput], dict[str, Any]], limits: Limits, units: str) -> None:
    """A worker's life: take (task, suspects), do it, answer; ends with its parent or at None."""
    die_with_parent(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's ^C goes to the parent, which ends us
    atexit.register(os._exit, 0)  # registered first, so done last: taking apart what large libraries hold would take 0.15 s more
    pending, last = 0.0, time.monotonic()

    def report(amount: float) -> None:
        nonlocal pending, last
        pending += amount
        now = time.monotonic()
        if now - last >= ADVANCE_SECONDS:
            marker[2] = max(own_peak_rss(), largest_child())
            connection.send(("advance", pending))
            pending, last = 0.0, now

    while (given := _next_task(connection)) is not None:
        task, suspects = given
        directory = Path(units) / task.key
        directory.mkdir(parents=True, exist_ok=True)
        out = UnitOutput(directory, suspects, limits, report, marker, part=task.part)
        try:
            result = out.publish(function(task.unit.payload, out), Path(units) / f"{task.key}.json", task.key)
        except BaseException as error:
            for temporary in out.files.values():
                temporary.unlink(missing_ok=True)
            connection.send(("error", _portable(error)))
            continue
        finally:
            marker[2] = max(own_peak_rss(), largest_child())
        pending = 0.0
        connection.send(("done", result))


def _next_task(connection: Connection) -> Any:
    """What the parent hands out; None: nothing more, or the parent is gone."""
    try:
        return connection.recv()
    except (EOFError, ConnectionResetError):
        return None


def _portable(error: BaseException) -> BaseException:
    """The error itself where it crosses process borders whole and means something to a person; else its traceback as text."""
    if isinstance(error, MsptError) or is_machine_fault(error):
        return error
    return RuntimeError("".join(traceback.format_exception(error)))

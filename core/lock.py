"""One writer for each name: `flock` for the life of the process, a heartbeat where the file system has no flock.

The file's text (host, pid, argv) is for the message only; the kernel's lock decides, so a killed process leaves none behind.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import IO

from mspt.core.errors import Busy, MachineError

HEARTBEAT_SECONDS = 10.0
STALE_SECONDS = 6 * HEARTBEAT_SECONDS  # six missed beats: the holder is gone or its clock is far off


class Lock:
    """A context manager. `take` breaks a heartbeat lock that a person knows to be dead (--take-lock)."""

    def __init__(self, path: Path, argv: list[str], take: bool = False) -> None:
        self.path = path
        self.argv = argv
        self.take = take
        self._handle: IO[str] | None = None
        self._stop = threading.Event()
        self._beat: threading.Thread | None = None

    def __enter__(self) -> Lock:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = self.path.open("a+", encoding="utf-8")
        except OSError as error:
            raise MachineError(f"cannot write to {self.path.parent}: {error.strerror}", "--workspace DIR names a folder that can be written to") from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.seek(0)
            holder = handle.read()
            handle.close()
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise self._busy(holder, can_take=False) from None
            return self._enter_heartbeat(holder)
        self._handle = handle
        self._write(handle)
        return self

    def _write(self, handle: IO[str]) -> None:
        handle.seek(0)
        handle.truncate()
        handle.write(json.dumps({"host": socket.gethostname(), "pid": os.getpid(), "argv": self.argv}))
        handle.flush()

    def _busy(self, holder: str, can_take: bool) -> Busy:
        try:
            facts = json.loads(holder)
            who = f"process {facts['pid']} on {facts['host']} ({' '.join(facts['argv'])})"
        except (ValueError, KeyError):
            who = "another process"
        hint = "wait for it, or use another --name for a second line of work"
        if can_take:
            hint += "; if that process is dead, --take-lock takes the lock over"
        return Busy(f"{who} is working on {self.path.parent.name}", hint)

    def _enter_heartbeat(self, holder: str) -> Lock:
        age = time.time() - self.path.stat().st_mtime if holder else STALE_SECONDS + 1
        if holder and age < STALE_SECONDS and not self.take:
            raise self._busy(holder, can_take=True)
        with self.path.open("w", encoding="utf-8") as handle:
            self._write(handle)
        self._beat = threading.Thread(target=self._keep_beating, daemon=True)
        self._beat.start()
        return self

    def _keep_beating(self) -> None:
        while not self._stop.wait(HEARTBEAT_SECONDS):
            os.utime(self.path)

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._handle is not None:
            self._handle.seek(0)
            self._handle.truncate()
            self._handle.close()
        if self._beat is not None:
            self._stop.set()
            self._beat.join()
            self.path.write_text("", encoding="utf-8")

"""Errors that a person can act on.

    MsptError            2   a person's mistake: wrong flag, wrong reference, lineage that does not fit
    ├── InputError       3   the input data cannot be used (nothing readable, too much rejected)
    ├── MachineError     4   the machine: disk full, device, missing library
    ├── CheckFailed      5   a check said no: verify, gate, parity, guard
    └── Busy             6   another process works on the same name

Each carries what was found and the setting or command that repairs it; the command line prints the two lines and ends with the code in the
second column. Anything else that escapes is a bug: it keeps its traceback and exit code 1.
"""

from __future__ import annotations


class MsptError(Exception):
    """A person's mistake: `message` says what was found and expected, `hint` the setting or command that fixes it."""

    exit_code = 2

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n{self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.message, self.hint)  # so that it crosses process borders whole


class InputError(MsptError):
    """The input data cannot be used."""

    exit_code = 3


class MachineError(MsptError):
    """The machine cannot do it: disk full, device missing, library broken."""

    exit_code = 4


class CheckFailed(MsptError):
    """A check said no."""

    exit_code = 5


class Busy(MsptError):
    """Another process works on the same name."""

    exit_code = 6

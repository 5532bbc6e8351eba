"""What a person sees: results on stdout, talk and progress on stderr; bars on a terminal, plain lines otherwise.

User text is escaped before it reaches rich, which would take `[clean]` for markup.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mspt.core.engine import Bar

PIPED_WIDTH = 120  # of tables in files and pipes, where nothing says how wide the reader's screen is
PLAIN_SECONDS = 30.0  # between two progress lines where there is no terminal


class _NoBar:
    def advance(self, amount: float) -> None:
        pass


class _PlainBar:
    """Progress as one line now and then, for logs."""

    def __init__(self, console: Console, what: str, total: float, unit: str) -> None:
        self.console, self.what, self.total, self.unit = console, what, total, unit
        self.done = 0.0
        self.started = self.last = time.monotonic()

    def advance(self, amount: float) -> None:
        self.done += amount
        now = time.monotonic()
        if now - self.last >= PLAIN_SECONDS and self.done > 0:
            self.last = now
            seconds = now - self.started
            left = seconds / self.done * max(0.0, self.total - self.done)
            rate = quantity(self.done / seconds, self.unit)
            self.console.note(f"{self.what}: {quantity(self.done, self.unit)} of {quantity(self.total, self.unit)}, {rate}/s, {duration(left)} left")


class _RichBar:
    def __init__(self, progress: Any, task: Any) -> None:
        self.progress, self.task = progress, task

    def advance(self, amount: float) -> None:
        self.progress.advance(self.task, amount)


@dataclass
class Console:
    """The reporter of the command line. level: -1 quiet, 0 normal, 1 verbose."""

    json: bool = False
    level: int = 0
    warnings: list[str] = field(default_factory=list)

    @property
    def err(self) -> Any:
        from rich.console import Console as Rich

        return Rich(stderr=True, highlight=False, soft_wrap=True)

    @property
    def out(self) -> Any:
        from rich.console import Console as Rich

        piped = not sys.stdout.isatty()
        return Rich(highlight=False, soft_wrap=piped, width=PIPED_WIDTH if piped and "COLUMNS" not in os.environ else None)

    def note(self, text: str) -> None:
        if self.level >= 0:
            self.err.print(text, style="dim", markup=False)

    def heading(self, text: str) -> None:
        """A step of a chain begins."""
        if self.level >= 0:
            self.err.print(text, style="bold", markup=False)

    def warn(self, text: str) -> None:
        self.warnings.append(text)
        self.err.print(f"warning: {text}", style="yellow", markup=False)

    def result(self, text: str, value: Any) -> None:
        """The answer of a command: text for a person, or one JSON object."""
        if self.json:
            print(json.dumps(value, ensure_ascii=False))
        else:
            self.out.print(text, markup=False)

    def render(self, renderable: Any, value: Any) -> None:
        """Like result, for tables and panels."""
        if self.json:
            print(json.dumps(value, ensure_ascii=False))
        else:
            self.out.print(renderable)

    def error(self, message: str, hint: str) -> None:
        self.err.print(f"error: {message}", style="bold red", markup=False)
        if hint:
            self.err.print(f"  {hint}", markup=False)

    @contextlib.contextmanager
    def progress(self, what: str, total: float, unit: str = "") -> Iterator[Bar]:
        if self.level < 0 or self.json:
            yield _NoBar()
        elif not sys.stderr.isatty():
            yield _PlainBar(self, what, total, unit)
        else:
            with self._rich_progress(unit) as progress:
                yield _RichBar(progress, progress.add_task(what, total=total))

    def _rich_progress(self, unit: str) -> Any:
        from rich import progress as p

        class Amount(p.ProgressColumn):
            def render(self, task: Any) -> str:
                rate = f", {quantity(task.speed, unit)}/s" if task.speed else ""
                return f"{quantity(task.completed, unit)}/{quantity(task.total, unit)}{rate}"

        columns = (p.TextColumn("{task.description}"), p.BarColumn(), p.TaskProgressColumn(), Amount(), p.TimeRemainingColumn())
        return p.Progress(*columns, console=self.err, transient=True)


def help_text(text: str) -> str:
    """A help text as typer shows it whole: the lines of a paragraph joined, and on a terminal, where it would take [brackets] for markup, escaped."""
    joined = "\n\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
    if not sys.stdout.isatty():
        return joined
    from rich.markup import escape

    return escape(joined)


def quantity(value: float, unit: str = "") -> str:
    """12345678, 'B' -> '12.3 MB'; counts keep their digits up to 99,999."""
    if unit != "B" and 0 < abs(value) < 10 and value != int(value):
        return f"{value:.2g}{' ' + unit if unit else ''}"
    if unit != "B" and abs(value) < 100_000:
        return f"{value:,.0f}{' ' + unit if unit else ''}"
    for size, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f} {prefix}{unit}"
    return f"{value:.0f} {unit}".rstrip()


def duration(seconds: float) -> str:
    """3725 -> '1 h 02 min'; 75 -> '1 min 15 s'; 4.2 -> '4.2 s'."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"

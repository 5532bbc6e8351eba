"""How views look: light tables, numbers with their units, small plots. Everything that comes from data is plain text to
rich (no markup), without control characters, and with personal data redacted."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from mspt.cli.console import Console, duration, quantity

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

MAX_LISTED = 24  # values of a list on one line
MIN_CLIPPED = 12  # characters that a cut cell keeps
# What would act on a terminal or reorder what is seen: C0 and C1 but for tab and newline, bidirectional overrides, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def present(console: Console, value: Any, *blocks: RenderableType) -> None:
    """The answer of a view: its blocks for a person, or one JSON object."""
    with writing():
        if console.json:
            print(json.dumps(value, ensure_ascii=False, default=str))
            return
        from rich.text import Text

        out = console.out
        out.on_broken_pipe = _reader_left
        for block in blocks:
            out.print(block, markup=False, soft_wrap=isinstance(block, Text) and not out.is_terminal)  # lines in pipes stay whole


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Around what goes to stdout: a reader that has seen enough (`| head`) is no error, nor is a terminal that cannot show every character."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own last flush finds a place
        raise typer.Exit(0) from None


def _reader_left() -> None:
    raise BrokenPipeError


def safe(content: str) -> str:
    """`content` with control characters written out."""
    return _UNSAFE.sub(lambda found: "\\r" if found[0] == "\r" else f"\\x{ord(found[0]):02x}" if ord(found[0]) < 256 else f"\\u{ord(found[0]):04x}", content)


def text(content: Any, style: str = "") -> Text:
    from rich.text import Text

    return content if isinstance(content, Text) else Text(safe(str(content)), style=style)


def heading(content: str) -> Text:
    return text(f"\n{content}", "bold")


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    right: Iterable[str] = (),
    fold: Iterable[str] = (),
    clip: Iterable[str] = (),
    title: str = "",
) -> Table:
    """A light table. Columns in `right` are numbers; cells of columns in `fold` may be broken over lines, those of columns in `clip` are cut to the
    width that the others leave; all other cells stay whole as long as they fit. Long names of columns take several lines.
    """
    from rich import box
    from rich.table import Table

    right, fold = set(right), set(fold)
    cells = [[text("" if cell is None else cell) for cell in row] for row in rows]
    widths = [max([row[i].cell_len for row in cells], default=0) for i in range(len(columns))]
    names = [_fold_name(name, width) for name, width in zip(columns, widths, strict=True)]
    lines = max((name.count("\n") for name in names), default=0)
    names = ["\n" * (lines - name.count("\n")) + name for name in names]  # names stand on the line, cells hang from it
    clipped = [i for i, name in enumerate(columns) if name in set(clip)]
    left = screen_width() - sum(max(widths[i], _width(names[i])) for i in range(len(columns)) if i not in clipped) - 3 * len(columns)
    for i in clipped:
        for row in cells:
            row[i].truncate(max(MIN_CLIPPED, left // len(clipped)), overflow="ellipsis")
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="dim", title=title or None, title_justify="left", title_style="bold")
    for name, shown in zip(columns, names, strict=True):
        whole = name not in fold
        made.add_column(text(shown), justify="right" if name in right else "left", no_wrap=whole, overflow="ellipsis" if whole else "fold")
    for row in cells:
        made.add_row(*row)
    return made


def screen_width() -> int:
    return int(Console().out.width)


def _width(name: str) -> int:
    return max((len(line) for line in name.splitlines()), default=0)


def _fold_name(name: str, width: int) -> str:
    """The name of a column over several lines where its cells are narrower."""
    words = name.split()
    width = max([width, *map(len, words)])
    lines = [""]
    for word in words:
        joined = f"{lines[-1]} {word}".strip()
        lines[-1:] = [joined] if len(joined) <= width else [lines[-1], word]
    return "\n".join(line for line in lines if line)


def grid(pairs: Iterable[tuple[str, Any]], *, right: bool = False) -> Table:
    """Names and values side by side; `right`: the values are numbers."""
    from rich.table import Table

    made = Table.grid(padding=(0, 2))
    made.add_column(no_wrap=True, style="dim")
    made.add_column(overflow="fold", justify="right" if right else "left")
    for name, value in pairs:
        made.add_row(text(name), text(value))
    return made


def bar(share: float, width: int = 24) -> str:
    """A bar for a share of 1: at least one mark for what is not nothing."""
    return "█" * max(round(min(share, 1.0) * width), int(share > 0))


def count(amount: int, noun: str) -> str:
    """1 document, 2 documents."""
    return f"{amount:,} {noun}{'' if amount == 1 else 's'}"


def age(then: float) -> str:
    """How long ago: '14 min', '3 h', '2 d'."""
    seconds = max(0.0, time.time() - then)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.0995 or share == 0 else f"{share:.2%}"


def number(value: Any, name: str = "") -> str:
    """A scalar of some statistics in words; the last part of `name` says its unit."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {number(inner, str(key))}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        shown = ", ".join(number(v, name).replace("\n", "\\n") for v in value[:MAX_LISTED])
        return (shown or "none") + (f", ... ({len(value):,} in all)" if len(value) > MAX_LISTED else "")
    if not isinstance(value, int | float):
        return redacted(str(value))
    unit = unit_of(name)
    if unit == "share" and 0 <= value <= 1:
        return percent(value)
    if unit == "bytes":
        return quantity(value, "B")
    if unit == "seconds" and value >= 0:
        return duration(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def unit_of(name: str) -> str:
    """bytes, seconds, share or nothing: what the last word of a name says."""
    last = re.split(r"[\W_]+", name)[-1]
    return "share" if last in ("ratio", "rate") else last if last in ("bytes", "seconds", "share") else ""


def redacted(content: str) -> str:
    from mspt.core.text.privacy.privacy import redact

    return redact(content)


# --- plots -------------------------------------------------------------------------------------------------------------


def plot(series: Mapping[str, Sequence[tuple[float, float]]], *, width: int = 64, height: int = 10) -> Text:
    """Points (x, y) of a few series as text, each with its own mark; several points of one column are averaged."""
    marks = dict(zip(series, "*o+x", strict=False))
    points = [p for values in series.values() for p in values]
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*points, strict=True))
    canvas = [[" "] * width for _ in range(height)]
    for name, values in series.items():
        columns: dict[int, list[float]] = {}
        for x, y in values:
            columns.setdefault(round((x - left) / ((right - left) or 1) * (width - 1)), []).append(y)
        for column, ys in columns.items():
            row = round((high - sum(ys) / len(ys)) / ((high - low) or 1) * (height - 1))
            canvas[row][column] = marks[name]
    edge = max(len(f"{value:.3g}") for value in (low, high))
    labels = {0: f"{high:.3g}", height - 1: f"{low:.3g}"}
    lines = [f"{labels.get(i, ''):>{edge}} |{''.join(row).rstrip()}" for i, row in enumerate(canvas)]
    scale = f"{left:,.0f}" + f"{right:,.0f}".rjust(width - len(f"{left:,.0f}"))
    legend = "   ".join(f"{mark} {name}" for name, mark in marks.items())
    return text("\n".join([*lines, f"{'':>{edge}} +{'-' * width}", f"{'':>{edge}}  {scale}", f"{'':>{edge}}  {legend}"]))


def terminal() -> bool:
    return sys.stdout.isatty()

"""The course of a training run: loss curve, last metrics, events, checkpoints. metrics.jsonl is read line by line: a month of it is large."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.render import grid, heading, number, plot, present, redacted, table, text
from mspt.cli.views.workspace import Entry, json_lines
from mspt.core.errors import MsptError
from mspt.core.training_run import EVENTS

if TYPE_CHECKING:
    from rich.console import RenderableType

METRICS = "metrics.jsonl"
MAX_EVENTS = 12
MAX_POINTS = 1000  # of a curve in --json
CURVE_WIDTH = 64
# Keys of metrics.jsonl that are curves over steps, by what they are called here.
CURVES = {"loss": "training loss", "validation_loss": "validation loss"}


@dataclass(frozen=True)
class Course:
    """`curves`: points (step, value), a step that was run again as it was run last. `last`: all lines of the last step as one."""

    curves: dict[str, list[tuple[int, float]]]
    last: dict[str, Any]


def read_course(lines: Iterable[Mapping[str, Any]]) -> Course:
    """Training writes one line for a step, validation another."""
    points: dict[str, dict[int, float]] = {}
    last: dict[str, Any] = {}
    for line in lines:
        step = line.get("step")
        if not isinstance(step, int):
            continue
        last = {**last, **line} if last.get("step") == step else dict(line)
        for key, name in CURVES.items():
            if isinstance(line.get(key), int | float):
                points.setdefault(name, {})[step] = line[key]
    return Course({name: sorted(found.items()) for name, found in points.items()}, last)


def thin(points: Sequence[tuple[int, float]], most: int = MAX_POINTS) -> list[tuple[int, float]]:
    """At most `most` points, evenly taken, the first and the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[i * (len(points) - 1) // (most - 1)] for i in range(most)]


def checkpoints(entry: Entry) -> list[dict[str, Any]]:
    """Steps that can be used or resumed, with what they weigh."""
    folder = entry.root / "checkpoints"
    best = os.readlink(folder / "best") if (folder / "best").is_symlink() else ""
    steps = sorted((p for p in folder.glob("step-*") if p.is_dir() and p.name[5:].isdigit()), key=lambda p: int(p.name[5:]))
    return [{"checkpoint": p.name, "bytes": sum(f.stat().st_size for f in p.rglob("*") if f.is_file()), "best": p.name == best} for p in steps]


def plain(entry: Entry) -> dict[str, Any]:
    """The JSON form."""
    course = read_course(json_lines(entry.root / METRICS))
    curves = {name: thin(points) for name, points in course.curves.items()}
    return {"last": course.last or None, "curves": curves, "events": list(json_lines(entry.root / EVENTS)), "checkpoints": checkpoints(entry)}


def render(entry: Entry, *, everything: bool = False) -> list[RenderableType]:
    """Blocks for `mspt show train`."""
    course = read_course(json_lines(entry.root / METRICS))
    blocks: list[RenderableType] = []
    if any(len(points) > 1 for points in course.curves.values()):
        blocks += [heading("loss by step"), plot(course.curves, width=CURVE_WIDTH)]
    if course.last:
        blocks += [heading(f"metrics at step {course.last['step']:,}"), grid(_flat(course.last))]
    events = list(json_lines(entry.root / EVENTS))
    if events:
        left_out = 0 if everything else max(0, len(events) - MAX_EVENTS)
        blocks.append(heading("events" + (f" (the last {MAX_EVENTS} of {len(events):,}: -v)" if left_out else "")))
        blocks.append(_event_table(events[left_out:]))
    saved = checkpoints(entry)
    if saved:
        rows = [[c["checkpoint"], number(c["bytes"], "bytes"), "best" if c["best"] else ""] for c in saved]
        blocks += [heading("checkpoints"), table(["checkpoint", "size", ""], rows, right=["size"])]
    if entry.info.get("reason"):
        blocks.append(text(f"\nstopped: {redacted(str(entry.info['reason']))}", "yellow"))
    return blocks


def _flat(line: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for name, value in line.items():
        if isinstance(value, Mapping):
            pairs += _flat(value, f"{prefix}{name}.")
        else:
            pairs.append((f"{prefix}{name}", number(value, name)))
    return pairs


def _event_table(events: Sequence[Mapping[str, Any]]) -> RenderableType:
    rows = []
    for event in events:
        what = ", ".join(f"{name} {number(value, name)}" for name, value in event.items() if name not in ("time", "event"))
        rows.append([str(event.get("time", ""))[:19].replace("T", " "), str(event.get("event", "")), what])
    return table(["time", "event", "what"], rows, fold=["what"])


def show_step(shared: Context, entry: Entry, step: int) -> None:
    """The metrics of a step, or of the last one before it that was logged; what happened at it."""
    if not entry.is_run:
        raise MsptError(f"{entry.ref} is of kind {entry.kind}: it has no steps", "--step is for training runs")
    found: dict[str, Any] = {}
    steps: set[int] = set()
    for line in json_lines(entry.root / METRICS):
        steps.add(int(line["step"]))
        if found.get("step", -1) <= line["step"] <= step:
            found = {**found, **line} if found.get("step") == line["step"] else line
    if not steps:
        raise MsptError(f"{entry.ref} has no metrics yet", "the first line comes after its first logged step")
    if not found:
        raise MsptError(f"{entry.ref} has no metrics at step {step:,}", f"the first line is of step {min(steps):,}")
    events = [event for event in json_lines(entry.root / EVENTS) if event.get("step") == found["step"]]
    note = f" (the last line up to {step:,}; the run is at {max(steps):,})" if found["step"] != step else ""
    blocks: list[RenderableType] = [text(f"{entry.ref}, step {found['step']:,}{note}", "bold"), grid(_flat(found))]
    if events:
        blocks += [heading("events"), _event_table(events)]
    present(shared.console, {"ref": entry.ref, "step": found["step"], "metrics": found, "events": events}, *blocks)

"""The course of a training run: loss curve, last metrics, events, checkpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.render import grid, heading, number, plot, present, redacted, table, text
from mspt.cli.views.workspace import Entry, json_lines
from mspt.core.errors import MsptError
from mspt.core.training_run import EVENTS

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_EVENTS = 12
CURVE_WIDTH = 64
# Keys of metrics.jsonl that are curves over steps, by what they are called here.
CURVES = {"loss": "training loss", "validation_loss": "validation loss"}


def curves(metrics: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Points (step, value) of each curve that occurs. A step that was run again counts as it was run last."""
    found: dict[str, dict[float, float]] = {}
    for line in metrics:
        for key, name in CURVES.items():
            if isinstance(line.get(key), int | float) and line[key] == line[key] and "step" in line:
                found.setdefault(name, {})[line["step"]] = line[key]
    return {name: sorted(points.items()) for name, points in found.items()}


def at_step(metrics: Sequence[Mapping[str, Any]], step: Any) -> dict[str, Any]:
    """All lines of a step as one: training writes one, validation another."""
    found: dict[str, Any] = {}
    for line in metrics:
        if line.get("step") == step:
            found |= line
    return found


def checkpoints(entry: Entry) -> list[dict[str, Any]]:
    """Steps that can be used or resumed, with what they weigh."""
    folder = entry.root / "checkpoints"
    best = os.readlink(folder / "best") if (folder / "best").is_symlink() else ""
    steps = sorted((p for p in folder.glob("step-*") if p.is_dir() and p.name[5:].isdigit()), key=lambda p: int(p.name[5:]))
    return [{"checkpoint": p.name, "bytes": sum(f.stat().st_size for f in p.rglob("*") if f.is_file()), "best": p.name == best} for p in steps]


def plain(entry: Entry) -> dict[str, Any]:
    metrics = json_lines(entry.root / "metrics.jsonl")
    return {
        "last": at_step(metrics, metrics[-1].get("step")) if metrics else None,
        "curves": curves(metrics),
        "events": json_lines(entry.root / EVENTS),
        "checkpoints": checkpoints(entry),
    }


def render(entry: Entry, *, everything: bool = False) -> list[RenderableType]:
    """Blocks for `mspt show train`."""
    metrics = json_lines(entry.root / "metrics.jsonl")
    blocks: list[RenderableType] = []
    found = curves(metrics)
    if any(len(points) > 1 for points in found.values()):
        blocks += [heading("loss by step"), plot(found, width=CURVE_WIDTH)]
    if metrics:
        last = metrics[-1].get("step")
        blocks += [heading(f"metrics at step {number(last)}"), grid(_flat(at_step(metrics, last)))]
    events = json_lines(entry.root / EVENTS)
    if events:
        left_out = 0 if everything else max(0, len(events) - MAX_EVENTS)
        blocks.append(heading("events" + (f" (the last {MAX_EVENTS} of {len(events):,}: -v)" if left_out else "")))
        blocks.append(table(["time", "event", "what"], [_event(e) for e in events[left_out:]], fold=["what"]))
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


def _event(event: Mapping[str, Any]) -> list[str]:
    what = ", ".join(f"{name} {number(value, name)}" for name, value in event.items() if name not in ("time", "event"))
    return [str(event.get("time", ""))[:19].replace("T", " "), str(event.get("event", "")), what]


def show_step(shared: Context, entry: Entry, step: int) -> None:
    """The metrics line of a step, or of the last one before it; what happened near it."""
    if not entry.is_run:
        raise MsptError(f"{entry.ref} is of kind {entry.kind}: it has no steps", "--step is for training runs")
    metrics = [line for line in json_lines(entry.root / "metrics.jsonl") if isinstance(line.get("step"), int)]
    if not metrics:
        raise MsptError(f"{entry.ref} has no metrics yet", "the first line comes after its first logged step")
    before = [line for line in metrics if line["step"] <= step]
    if not before:
        raise MsptError(f"{entry.ref} has no metrics at step {step:,}", f"the first line is of step {metrics[0]['step']:,}")
    line = at_step(metrics, max(found["step"] for found in before))
    last = max(found["step"] for found in metrics)
    events = [event for event in json_lines(entry.root / EVENTS) if event.get("step") == line["step"]]
    note = f" (the last line up to {step:,}; the run is at {last:,})" if line["step"] != step else ""
    blocks: list[RenderableType] = [text(f"{entry.ref}, step {line['step']:,}{note}", "bold"), grid(_flat(line))]
    if events:
        blocks += [heading("events"), table(["time", "event", "what"], [_event(e) for e in events], fold=["what"])]
    present(shared.console, {"ref": entry.ref, "step": line["step"], "metrics": line, "events": events}, *blocks)

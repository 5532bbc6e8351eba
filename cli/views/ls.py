"""`mspt ls`: what is in the workspace, and in which state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.console import duration, quantity
from mspt.cli.views.render import age, present, screen_width, table, text
from mspt.cli.views.workspace import ABANDONED, DAMAGED, FINISHED, INTERRUPTED, RUNNING, Entry, list_entries, lock_holder
from mspt.core.config import unknown_name
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from rich.text import Text

_STYLES = {RUNNING: "green", INTERRUPTED: "yellow", ABANDONED: "dim", DAMAGED: "red"}
WIDE = 112  # below it the kind, which the name tells, makes room
_NUMBERS = ("records", "size", "took", "age")


def describe_state(entry: Entry) -> Text:
    """'latest, pinned', 'running, step 1,200', 'interrupted'."""
    words = [] if entry.state == FINISHED else [entry.state]
    if entry.is_latest and entry.state == FINISHED:
        words.append("latest")
    if entry.sample:
        words.append(f"sample {entry.sample}")
    if entry.pin is not None:
        words.append("pinned")
    if entry.is_run:
        words.append(f"step {entry.step:,}")
    return text(", ".join(words) or "finished", _STYLES.get(entry.state, "bold" if entry.is_latest else ""))


def _cells(entry: Entry) -> list[Any]:
    return [
        entry.ref,
        entry.kind,
        describe_state(entry),
        "" if entry.records is None else f"{entry.records:,}",
        quantity(entry.bytes, "B"),
        "" if entry.seconds is None else duration(entry.seconds),
        age(entry.changed),
    ]


def _changes(entry: Entry, before: Entry | None) -> str:
    """Settings and inputs that differ from the version before it."""
    if before is None:
        return ""
    old, new = _facts(before.info), _facts(entry.info)
    return "; ".join(f"{name} {_short(old.get(name))} -> {_short(new.get(name))}" for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name))


def _facts(info: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(info.get("identity") or info.get("config") or {})
    if not info.get("identity"):  # a partial holds runtime settings too
        settings = {name: value for name, value in settings.items() if name not in ("workers", "memory", "max_rejected")}
    return settings | {record["name"]: record["ref"] for record in info.get("inputs", [])}


def _short(value: Any) -> str:
    shown = "none" if value is None else str(value)
    return shown if len(shown) <= 32 else shown[:29] + "..."


def list_all(shared: Context) -> None:
    entries = list_entries(shared.store)
    if not entries:
        present(
            shared.console,
            {"workspace": str(shared.workspace), "artifacts": []},
            text(f"{shared.workspace} holds no artifact yet: start with `mspt clean PATH...`"),
        )
        return
    rows = [_cells(entry) for entry in entries]
    columns = ["", "kind", "state", *_NUMBERS]
    if screen_width() < WIDE:
        columns, rows = columns[:1] + columns[2:], [row[:1] + row[2:] for row in rows]
    busy = _busy(shared, {entry.name for entry in entries if entry.state == RUNNING})
    value = {"workspace": str(shared.workspace), "artifacts": [entry.plain() for entry in entries]}
    hints = [text(f"{name}: {who}", "green") for name, who in busy.items()]
    if any(entry.state == ABANDONED for entry in entries):
        hints.append(text("abandoned versions are no longer resumed: `mspt gc` says what can go", "dim"))
    present(shared.console, value, table(columns, rows, right=_NUMBERS), *hints)


def _busy(shared: Context, names: set[str]) -> dict[str, str]:
    found = {name: lock_holder(shared.workspace / name / ".lock") for name in sorted(names)}
    return {name: f"process {who['pid']} on {who['host']}: {' '.join(who['argv'])}" for name, who in found.items() if who}


def list_name(shared: Context, name: str) -> None:
    if name not in shared.store.names():
        known = shared.store.names()
        if not known:
            raise MsptError(f"{shared.workspace} holds no artifact", "run `mspt clean PATH...` first, or name the workspace with --workspace")
        raise unknown_name("artifact", name, known, str(shared.workspace))
    entries = list_entries(shared.store, [name])
    rows = [[f"v{entry.version}", *_cells(entry)[2:]] for entry in entries]
    columns = ["", "state", *_NUMBERS]
    value = {
        "workspace": str(shared.workspace),
        "artifacts": [{**entry.plain(), "argv": entry.info.get("argv"), "changes": _changes(entry, b)} for entry, b in _pairs(entries)],
    }
    details = [[f"v{entry.version}", _changes(entry, before) or "-"] for entry, before in _pairs(entries) if before is not None]
    blocks: list[Any] = [table(columns, rows, right=_NUMBERS, title=f"{name}: {entries[-1].kind}, written by {entries[-1].stage}")]
    if details:
        blocks.append(table(["", "what changed since the version before"], details, fold=["what changed since the version before"]))
    present(shared.console, value, *blocks)


def _pairs(entries: Sequence[Entry]) -> list[tuple[Entry, Entry | None]]:
    return list(zip(entries, [None, *entries[:-1]], strict=True))


def run(shared: Context, names: Sequence[str]) -> None:
    """`mspt ls [NAME...]`."""
    if not names:
        list_all(shared)
        return
    if shared.console.json and len(names) > 1:
        raise MsptError("--json lists one NAME at a time", "leave the names out to list all of them")
    for name in names:
        list_name(shared, name)

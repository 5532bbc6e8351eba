"""`mspt diff A B`: settings, inputs, counts and statistics of two artifacts; with --documents whose verdict changed, with text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views.excerpt import excerpt
from mspt.cli.views.render import heading, number, percent, present, redacted, table, terminal, text
from mspt.cli.views.sample import plain_row
from mspt.cli.views.statistics import record_names
from mspt.cli.views.verdicts import CHANGES, Change, compare, examples
from mspt.cli.views.workspace import locate
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError
from mspt.core.job import INPUTS_FILE

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_STATISTICS = 30  # lines; -v and --json give all
EXAMPLE_CHARACTERS = 400
MAX_CHANGE = 10  # times the old value: beyond it a percentage says nothing


@dataclass(frozen=True)
class Line:
    """One thing that differs; None where a side does not have it."""

    name: str
    old: Any
    new: Any

    def plain(self) -> dict[str, Any]:
        return {"name": self.name, "a": self.old, "b": self.new}


def leaves(value: Any, prefix: str = "") -> dict[str, Any]:
    """Nested statistics as {"sources / zh / documents": 12}; a record of a list is called by its first value, where that is a text."""
    if isinstance(value, Mapping):
        items = [(str(name), inner) for name, inner in value.items()]
    elif isinstance(value, list | tuple):
        items = list(zip(record_names(value), value, strict=True))
    else:
        return {prefix: value}
    found: dict[str, Any] = {}
    for name, inner in items:
        found |= leaves(inner, f"{prefix} / {name}" if prefix else name)
    return found


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Line]:
    """What differs between two flat mappings, in the order of appearance."""
    return [Line(name, old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def settings_of(artifact: Artifact) -> dict[str, Any]:
    """Identity settings, the revision of the stage and the versions of the libraries that decide bytes."""
    manifest = artifact.manifest
    found = leaves(manifest.get("identity", {})) | {"stage": artifact.stage, "revision": manifest.get("revision")}
    return found | {f"library {name}": version for name, version in manifest.get("libraries", {}).items()}


def inputs_of(artifact: Artifact) -> dict[str, str]:
    """Input name -> 'ref (start of fingerprint)': two references to equal content are no difference in bytes, but they are shown."""
    return {record.name: f"{record.ref} ({record.fingerprint[:8]})" for record in artifact.inputs}


def raw_changes(old: Artifact, new: Artifact) -> dict[str, list[str]]:
    """Raw files that were added, are gone, or changed, as source/path."""
    from mspt.core.raw import read_inputs

    if not all((a.root / INPUTS_FILE).is_file() for a in (old, new)):
        return {}
    before, after = (read_inputs(a.root / INPUTS_FILE) for a in (old, new))
    changed = [key for key in before.keys() & after.keys() if before[key].sha256 != after[key].sha256]
    found = {"added": after.keys() - before.keys(), "gone": before.keys() - after.keys(), "changed": changed}
    return {what: sorted("/".join(key) for key in keys) for what, keys in found.items() if keys}


def counts_of(artifact: Artifact) -> dict[str, int]:
    counts = artifact.manifest.get("counts") or {}
    found = {name: counts[name] for name in ("in", "out") if name in counts}
    return found | {f"- {rule}": n for rule, n in counts.get("rejected", {}).items()} | {f"removed: {rule}": n for rule, n in counts.get("removed", {}).items()}


# --- as text -----------------------------------------------------------------------------------------------------------


def _table(a: Artifact, b: Artifact, lines: Sequence[Line], what: str) -> RenderableType:
    rows = [[line.name, *(_cell(v, line.name) for v in (line.old, line.new))] for line in lines]
    return table([what, a.ref, b.ref], rows, fold=[a.ref, b.ref])


def _cell(value: Any, name: str) -> str:
    return "-" if value is None else number(value, name)


def _numbers(a: Artifact, b: Artifact, lines: Sequence[Line], what: str) -> RenderableType:
    """Numbers side by side, with the difference."""
    rows = []
    for line in lines:
        difference = ""
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in (line.old, line.new)):
            change = line.new - line.old
            sign = "+" if change > 0 else "-"
            difference = f"{sign}{number(abs(change), line.name)}" + (
                f" ({sign}{percent(abs(change / line.old))})" if 0 < abs(change) < MAX_CHANGE * abs(line.old) else ""
            )
        rows.append([line.name, *(_cell(v, line.name) for v in (line.old, line.new)), difference])
    return table([what, a.ref, b.ref, "difference"], rows, right=[a.ref, b.ref, "difference"], fold=[what])


def _overview(shared: Context, a: Artifact, b: Artifact) -> tuple[dict[str, Any], list[RenderableType]]:
    sections = {
        "settings": differences(settings_of(a), settings_of(b)) if a.stage == b.stage else [Line("stage", a.stage, b.stage)],  # else they share no setting
        "inputs": differences(inputs_of(a), inputs_of(b)),
        "counts": differences(counts_of(a), counts_of(b)),
        "statistics": differences(leaves(a.stats), leaves(b.stats)),
        "cost": differences(_cost(a), _cost(b)),
    }
    raw = raw_changes(a, b)
    value = {"a": a.ref, "b": b.ref, "raw": raw} | {name: [line.plain() for line in lines] for name, lines in sections.items()}
    blocks: list[RenderableType] = []
    for name in ("settings", "inputs"):
        if sections[name]:
            blocks.append(_table(a, b, sections[name], name))
    for what, paths in raw.items():
        blocks.append(text(f"raw files {what}: {len(paths):,} ({', '.join(paths[:3])}{', ...' if len(paths) > 3 else ''})"))
    if not sections["settings"] and not sections["inputs"] and not raw:
        blocks.append(text("settings and inputs are the same"))
    for name in ("counts", "statistics", "cost"):
        lines = sections[name]
        if name == "statistics" and shared.console.level < 1 and len(lines) > MAX_STATISTICS:
            blocks.append(_numbers(a, b, lines[:MAX_STATISTICS], name))
            blocks.append(text(f"({len(lines) - MAX_STATISTICS:,} more statistics differ: -v)", "dim"))
        elif lines:
            blocks.append(_numbers(a, b, lines, name))
    return value, blocks


def _cost(artifact: Artifact) -> dict[str, Any]:
    memory = artifact.manifest.get("peak_rss_bytes", {})
    return {
        "seconds": artifact.manifest.get("seconds"),
        "bytes": sum(f.bytes for f in artifact.files.values()),
        "peak bytes": max(memory.values(), default=None),
    }


def _documents(a: Artifact, b: Artifact, count: int, seed: int) -> tuple[dict[str, Any], list[RenderableType]]:
    found = compare(a, b)
    shown = examples(a, b, found, count, seed) if count else []
    counts = [{"change": change.kind, "from": change.old, "to": change.new, "documents": n} for change, n in found.counts.items()]
    rows = [[c["change"], c["from"], c["to"], f"{c['documents']:,}"] for c in counts]
    blocks: list[RenderableType] = [heading(f"verdicts: {found.num_a:,} documents in {a.ref}, {found.num_b:,} in {b.ref}, {found.same:,} alike in both")]
    blocks.append(table(["change", f"in {a.ref}", f"in {b.ref}", "documents"], rows, right=["documents"]) if rows else text("no verdict and no text changed"))
    for example in shown:
        blocks += _example(example.change, example.a, example.b)
    value = {
        "counts": counts,
        "same": found.same,
        "examples": [{"change": e.change.kind, "from": e.change.old, "to": e.change.new, "a": _plain(e.a), "b": _plain(e.b)} for e in shown],
    }
    return {"documents": value}, blocks


def _plain(row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return plain_row(row) if row is not None else None


def _example(change: Change, a: Mapping[str, Any] | None, b: Mapping[str, Any] | None) -> list[RenderableType]:
    from rich.padding import Padding
    from rich.rule import Rule

    row = b or a
    assert row is not None
    said = f"{change.kind}: {change.old} -> {change.new}" if change.old != change.new else change.kind
    blocks: list[RenderableType] = [Rule(text(f"{said}  {redacted(row.get('source') or '')}"), align="left", style="dim")]
    blocks.append(text(f"  {row['id']}  {redacted(row.get('ref') or '')}", "dim"))
    for side in (a, b):
        if side is not None and side.get("value") is not None:
            limit = f" (limit {number(side['threshold'])})" if side.get("threshold") is not None else ""
            blocks.append(text(f"  {side['rule']}: {number(side['value'])}{limit}", "dim"))
    if change.kind == CHANGES["text"] and a is not None and b is not None:
        for mark, side, span in zip("-+", (a, b), changed_spans(a["text"] or "", b["text"] or ""), strict=True):
            blocks.append(text(f"  {mark}", "red" if mark == "-" else "green"))
            blocks.append(Padding(excerpt(side["text"] or "", [span], EXAMPLE_CHARACTERS, styled=terminal()), (0, 0, 0, 2)))
        return blocks
    marks = [(row["start"], row["end"])] if row.get("start") is not None and row.get("end") is not None else []
    return [*blocks, Padding(excerpt(row.get("text") or row.get("excerpt") or "", marks, EXAMPLE_CHARACTERS, styled=terminal()), (0, 0, 0, 2))]


def changed_spans(old: str, new: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Where two texts differ, from the first to the last difference, in each of them. At least one character long where the text has one."""
    least = min(len(old), len(new))
    front = next((i for i in range(least) if old[i] != new[i]), least)
    back = next((i for i in range(least - front) if old[-1 - i] != new[-1 - i]), least - front)
    spans = [(front, max(len(side) - back, front)) for side in (old, new)]
    first, second = ((max(0, start - 1), end) if start == end else (start, end) for start, end in spans)
    return first, second


def run(shared: Context, a: str, b: str, *, documents: bool, number: int, seed: int) -> None:
    """`mspt diff A B`."""
    sides = [locate(shared.store, ref) for ref in (a, b)]
    for ref, side in zip((a, b), sides, strict=True):
        if not isinstance(side, Artifact):
            raise MsptError(f"{ref} is not finished", "diff compares finished versions; `mspt sample` looks into an unfinished one")
    left, right = (side for side in sides if isinstance(side, Artifact))
    if left.kind != right.kind:
        raise MsptError(f"{left.ref} is of kind {left.kind}, {right.ref} of kind {right.kind}", "diff compares two artifacts of one kind")
    value, blocks = _overview(shared, left, right)
    if documents:
        more, others = _documents(left, right, number, seed)
        value, blocks = value | more, blocks + others
    present(shared.console, value, *blocks)

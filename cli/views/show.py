"""`mspt show`: what an artifact is, how it came to be, what happened in it; its rows, its ancestors; the course of a training run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.console import duration, quantity
from mspt.cli.views import course, decode, duplicates, quality, tokenizers
from mspt.cli.views.ls import describe_state
from mspt.cli.views.render import age, bar, count, grid, heading, number, percent, present, redacted, table, text
from mspt.cli.views.statistics import statistics
from mspt.cli.views.workspace import Entry, Lineage, find_entry, json_lines, locate, walk_sizes
from mspt.core.artifact import Artifact, InputRecord
from mspt.core.config import as_plain, field_specs
from mspt.core.errors import MsptError
from mspt.core.stage import discover
from mspt.core.store import Store

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.tree import Tree

    from mspt.core.stage import Stage

MAX_STOPPED = 10


# --- what it is and how it came to be ----------------------------------------------------------------------------------


def _stage(entry: Entry) -> Stage | None:
    return next((stage for stage in discover() if stage.name == entry.stage), None)


def changed_settings(entry: Entry) -> dict[str, tuple[Any, Any]]:
    """Settings that differ from the stage's defaults: {name: (value, default)}. All of them where this mspt has no such stage."""
    stage = _stage(entry)
    defaults = {spec.name: as_plain(spec.default) for spec in field_specs(stage.config)} if stage is not None else {}
    config = dict(entry.info.get("config", {}))
    return {name: (value, defaults.get(name, MISSING)) for name, value in config.items() if name not in defaults or value != defaults[name]}


def _identity_lines(entry: Entry) -> list[tuple[str, Any]]:
    info = entry.info
    lines: list[tuple[str, Any]] = [("kind", f"{entry.kind}, written by {entry.stage}"), ("state", describe_state(entry)), ("path", str(entry.root))]
    if entry.pin:
        lines.append(("pinned", entry.pin))
    if info.get("argv"):
        lines.append(("command", shlex.join(info["argv"])))
    lines += [(f"--{record.name}", record.ref) for record in entry.inputs]
    if info.get("raw"):
        lines.append(("raw files", f"{count(info['raw']['files'], 'file')}, {quantity(info['raw']['bytes'], 'B')} (inputs.parquet)"))
    settings = changed_settings(entry)
    shown = ", ".join(
        f"{name} {_value(value)}" + (f" (default {_value(default)})" if default not in (MISSING, None) else "") for name, (value, default) in settings.items()
    )
    return [*lines, ("settings", shown or "all at their defaults")]


def _value(value: Any) -> str:
    return redacted(value if isinstance(value, str) else number(value))


def _cost_lines(entry: Entry) -> list[tuple[str, Any]]:
    info = entry.info
    lines: list[tuple[str, Any]] = []
    if info.get("started"):
        took = f", took {duration(info['seconds'])}" if "seconds" in info else ""
        lines.append(("started", f"{info['started']} ({age(entry.changed)} ago{took})"))
    if info.get("peak_rss_bytes"):
        main, child = (info["peak_rss_bytes"][part] for part in ("main", "largest_child"))
        workers = f", {quantity(child, 'B')} in the largest worker" if child else ""
        lines.append(("peak memory", f"{quantity(main, 'B')} in the main process{workers}"))
    if info.get("host"):
        host, version = info["host"], info.get("mspt", {})
        lines.append(
            (
                "made by",
                f"mspt {version.get('version', '?')} {str(version.get('commit', ''))[:10]} on {host['name']}, {host['cores']} cores, Python {host['python']}",
            )
        )
    if info.get("libraries"):
        lines.append(("libraries", ", ".join(f"{name} {version}" for name, version in info["libraries"].items())))
    if info.get("forecast"):
        lines.append(("sample", f"{percent(info['forecast']['share'])} of the documents; all of them would take about {duration(info['forecast']['seconds'])}"))
    if info.get("fingerprint"):
        lines.append(("fingerprint", info["fingerprint"]))
    return lines


# --- what happened in it -----------------------------------------------------------------------------------------------


def funnel(counts: Mapping[str, Any]) -> list[RenderableType]:
    """Documents in, what each rule took, documents out."""
    total = counts["in"]
    if not total:
        return [heading("documents"), text("none went in")]
    widest = max([*counts["rejected"].values(), 1])
    rows = [["in", f"{total:,}", "", ""]]
    rows += [[f"- {rule}", f"{n:,}", percent(n / total), bar(n / widest, 20)] for rule, n in counts["rejected"].items()]
    rows.append(["out", f"{counts['out']:,}", percent(counts["out"] / total), ""])
    columns = ["documents", "number", "share", ""]
    blocks: list[RenderableType] = [heading("documents"), table(columns, rows, right=columns[1:3])]
    if counts.get("removed"):
        parts = [[rule, f"{n:,}"] for rule, n in counts["removed"].items()]
        blocks += [heading("parts removed from documents that stay"), table(["rule", "parts"], parts, right=["parts"])]
    return blocks


def file_groups(entry: Entry) -> list[dict[str, Any]]:
    """Files by what they are: docs-00000.parquet and docs-00001.parquet are one group."""
    if entry.state == "finished" and entry.artifact is not None:
        files = [(record.path, record.bytes, record.rows) for record in entry.artifact.files.values()]
    else:
        files = [(str(path.relative_to(entry.root)), size, None) for path, size in walk_sizes(entry.root)]
    groups: dict[str, dict[str, Any]] = {}
    for path, size, rows in files:
        name = re.sub(r"\b[0-9a-f]{16}\b|\d{5,}", "*", path)
        group = groups.setdefault(name, {"file": name, "files": 0, "bytes": 0, "rows": None})
        group["files"] += 1
        group["bytes"] += size
        group["rows"] = rows if group["rows"] is None else group["rows"] + (rows or 0)
    return [groups[name] for name in sorted(groups)]


def _files(entry: Entry) -> list[RenderableType]:
    groups = file_groups(entry)
    rows = [[g["file"], f"{g['files']:,}", "" if g["rows"] is None else f"{g['rows']:,}", quantity(g["bytes"], "B")] for g in groups]
    rows.append(["", f"{sum(g['files'] for g in groups):,}", "", quantity(sum(g["bytes"] for g in groups), "B")])
    return [heading("files"), table(["file", "files", "rows", "size"], rows, right=["files", "rows", "size"], fold=["file"])]


def trouble(entry: Entry) -> list[RenderableType]:
    """Warnings of the run, and documents that a limit stopped (the one exception to equal bytes)."""
    blocks: list[RenderableType] = []
    warnings = list(dict.fromkeys(line["text"] for line in json_lines(entry.root / "log.jsonl") if line.get("event") == "warning"))
    if warnings:
        blocks += [heading("warnings"), *(text(f"- {redacted(warning)}", "yellow") for warning in warnings)]
    stopped = list(entry.info.get("stopped") or [])
    if stopped:
        blocks.append(heading(f"{count(len(stopped), 'document')} stopped by a limit or a crash (sample --rejected shows them)"))
        rows = [[stop["rule"], stop["detail"], stop.get("unit", ""), stop["index"]] for stop in stopped[:MAX_STOPPED]]
        blocks.append(table(["rule", "detail", "unit", "document"], rows, fold=["detail"]))
    return blocks


def _following(entry: Entry) -> str:
    if entry.is_partial:
        command = shlex.join(entry.info.get("argv") or ["mspt", entry.stage])
        return f"go on: {command}" if entry.state == "interrupted" else "no longer resumed: mspt gc" if entry.state == "abandoned" else ""
    looks = [f"mspt sample {entry.ref}"] if entry.kind == "docs" else []
    if any(name.startswith("rejected/") for name in (entry.artifact.files if entry.artifact else {})):
        looks.append(f"mspt sample {entry.ref} --rejected")
    return "look: " + "   ".join(looks) if looks else ""


def _own_flags(shared: Context) -> list[str]:
    """Global flags that a command needs to mean the same workspace and settings."""
    flags = ["--workspace", str(shared.workspace)] if shared.workspace != Path("work").resolve() else []
    return [*flags, "--config", str(shared.config)] if shared.config is not None else flags


def overview(shared: Context, entry: Entry) -> None:
    """Everything about one version on one page."""
    verbose = shared.console.level > 0
    blocks: list[RenderableType] = [text(entry.ref, "bold"), grid(_identity_lines(entry))]
    if entry.is_partial:
        done = len(list(entry.root.glob("units*/*.json")))
        blocks.append(text(f"finished so far: {count(done, 'unit')}" + ("" if entry.state == "abandoned" else ", which will not be done again")))
    if entry.info.get("counts"):
        blocks += funnel(entry.info["counts"])
    if entry.is_run:
        blocks += course.render(entry, everything=verbose)
    stats = dict(entry.info.get("stats") or {})
    if "cluster_sizes" in stats:
        found, stats = duplicates.report(stats)
        blocks += found
    if entry.kind == "tokenizer" and "probes" in stats:
        found, stats = tokenizers.report(stats, everything=verbose)
        blocks += found
    if entry.kind == "tokens" and "tokens_by_document_length" in stats:
        found, stats = tokenizers.report_tokens(stats)
        blocks += found
    tenths: list[dict[str, Any]] | None = None
    if "quality_histograms" in stats:
        found, stats, tenths = quality.report(stats, entry.artifact, _own_flags(shared), everything=verbose)
        blocks += found
    blocks += statistics(stats, everything=verbose)
    blocks += [*trouble(entry), *_files(entry), heading("run"), grid(_cost_lines(entry))]
    if following := _following(entry):
        blocks.append(text(f"\n{following}", "dim"))
    value = {
        **entry.plain(),
        "manifest": {name: value for name, value in entry.info.items() if name != "files"},
        "files": file_groups(entry),
        "settings": {name: value for name, (value, _) in changed_settings(entry).items()},
    }
    if entry.is_run:
        value["run"] = course.plain(entry)
    if tenths is not None:
        value["tenths"] = tenths
    present(shared.console, value, *blocks)


# --- ancestors ---------------------------------------------------------------------------------------------------------


def ancestors(shared: Context, entry: Entry) -> None:
    """The tree of what an artifact was made of, down to the raw files."""
    from rich.tree import Tree

    home = Lineage(Store(entry.root.parent.parent))
    root = Tree(text(_node(entry.ref, entry.info)))
    value = {"ref": entry.ref, "kind": entry.kind, "inputs": _grow(root, entry.info, home, {entry.root})}
    present(shared.console, value, root)


def _node(ref: str, info: Mapping[str, Any], role: str = "") -> str:
    counts = info.get("counts")
    out = f", {counts['out']:,} documents" if counts else ""
    return f"{role + ': ' if role else ''}{ref}  {info['kind']}, by {info['stage']}{out}"


def _grow(branch: Tree, info: Mapping[str, Any], home: Lineage, seen: set[Path]) -> list[dict[str, Any]]:
    """Adds what something was made of. What stands in the tree already is named only."""
    found = []
    for fields in info.get("inputs", []):
        record = InputRecord(**fields)
        parent, same = home.find(record)
        value: dict[str, Any] = {"name": record.name, "ref": record.ref, "kind": record.kind, "found": parent is not None and same}
        if parent is None:
            branch.add(text(f"{record.name}: {record.ref}  {record.kind} (not here any more)", "yellow"))
        elif not same:
            branch.add(text(f"{record.name}: {record.ref}  {record.kind} (what lies there now is another: mspt verify)", "red"))
        else:
            node = branch.add(text(_node(parent.ref, parent.manifest, record.name) + ("  (as above)" if parent.root in seen else "")))
            if parent.root not in seen:
                seen.add(parent.root)
                value["inputs"] = _grow(node, parent.manifest, home, seen)
        found.append(value)
    if info.get("raw"):
        branch.add(text(f"raw: {count(info['raw']['files'], 'file')}, {quantity(info['raw']['bytes'], 'B')}"))
        found.append({"name": "raw", **info["raw"]})
    for name, files in dict(info.get("user_files") or {}).items():
        branch.add(text(f"{name}: {count(len(files), 'file')} given by the user"))
    return found


# --- the command -------------------------------------------------------------------------------------------------------


def run(
    shared: Context, ref: str, *, row: int | None, split: str, step: int | None, lineage: bool, cluster: str | None = None, png: Path | None = None
) -> None:
    """`mspt show REF`."""
    if sum((row is not None, step is not None, lineage, cluster is not None)) > 1:
        raise MsptError("--row, --step, --lineage and --cluster exclude each other", "give one of them")
    target = locate(shared.store, ref)
    entry = find_entry(shared.store, target)
    if lineage:
        ancestors(shared, entry)
    elif row is not None:
        decode.show_row(shared, target, row, split)
    elif cluster is not None:
        if not isinstance(target, Artifact):
            raise MsptError(f"{entry.ref} is not finished: it has no clusters yet", "run the same command again to go on")
        duplicates.show_cluster(shared, target, cluster)
    elif step is not None:
        course.show_step(shared, entry, step)
    else:
        if png is not None:
            quality.draw(entry.artifact, entry.ref, png.expanduser())
            shared.console.note(f"{png}: histograms of quality")
        overview(shared, entry)

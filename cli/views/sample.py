"""`mspt sample`: documents, rejected documents and removed parts, by expression. What tuning a filter starts with."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.views import export as labelling
from mspt.cli.views.commands import Format
from mspt.cli.views.excerpt import excerpt, find_spans
from mspt.cli.views.render import bar, number, percent, present, redacted, table, terminal, text, writing
from mspt.cli.views.rows import Group, Kind, Rows, Selection, find_documents, open_rows, reference, select
from mspt.cli.views.workspace import locate
from mspt.core.artifact import Artifact
from mspt.core.config import unknown_name
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mspt.core.expression import Expression

# Columns that hold hashes: nothing personal, and digits in them must stay.
_HASHES = frozenset({"id", "survivor", "cluster"})
_HEADER = ("source", "lang", "form", "rule")
_BODY = frozenset(
    {*_HEADER, "id", "ref", "text", "excerpt", "start", "end", "keep", "value", "threshold", "stage", "survivor", "similarity", "url", "title", "detail"}
)
SURVIVOR_CHARACTERS = 200


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON-able values, with personal data redacted."""
    return {name: redacted(value) if isinstance(value, str) and name not in _HASHES else value for name, value in row.items()}


# --- as text -----------------------------------------------------------------------------------------------------------


def rule_table(groups: Mapping[str, Group], by: str, matches: int) -> RenderableType:
    """How often each value of a column occurs; for rules also what they measured and against which limit."""
    measured = any(group.values for group in groups.values())
    columns = [by, "rows", "share", *(["least", "median", "most", "limit"] if measured else []), ""]
    rows = []
    for name, group in groups.items():
        cells: list[Any] = [redacted(name), f"{group.count:,}", percent(group.count / matches)]
        if measured:
            cells += [number(f(group.values)) if group.values else "" for f in (min, statistics.median, max)]
            cells.append("" if group.threshold is None else number(group.threshold))
        rows.append([*cells, bar(group.count / matches, 10)])
    return table(columns, rows, right=columns[1:-1])


def document(row: Mapping[str, Any], position: str, where: Expression | None, characters: int, survivor: Mapping[str, Any] | None) -> list[RenderableType]:
    """One row: a line that says what it is, what was found about it, its text."""
    from rich.padding import Padding
    from rich.rule import Rule

    content = row.get("text") or row.get("excerpt") or ""
    words = [position, *(str(row[name]) for name in _HEADER if row.get(name)), f"{len(content):,} characters"]
    blocks: list[RenderableType] = [Rule(text("  ".join(map(redacted, words))), align="left", style="dim")]
    blocks += [text(line, "dim") for line in _facts(row, where)]
    blocks.append(Padding(excerpt(content, _marks(row, content, where), characters, styled=terminal()), (0, 0, 0, 2)))
    if survivor is not None:
        blocks.append(text(f"  kept instead: {redacted(survivor.get('ref') or survivor['id'])}", "dim"))
        blocks.append(Padding(excerpt(survivor.get("text") or "", (), SURVIVOR_CHARACTERS, styled=terminal()), (0, 0, 0, 2)))
    return blocks


def _facts(row: Mapping[str, Any], where: Expression | None) -> list[str]:
    lines = [f"  {row['id']}  {redacted(row.get('url') or row.get('ref') or '')}"]
    if row.get("title"):
        lines.append(f"  {redacted(row['title'])}")
    said = []
    if row.get("value") is not None:
        limit = row.get("threshold")
        said.append(f"{number(row['value'])}" + (f" (limit {number(limit)})" if limit is not None else ""))
    if row.get("detail"):
        said.append(redacted(row["detail"]))
    if row.get("start") is not None and (row.get("end") or 0) > row["start"]:  # empty where the whole document was rejected
        said.append(f"characters {row['start']:,} to {row['end']:,}")
    named = where.columns if where is not None else ()
    said += [
        f"{name} {number(row[name], name)}" for name in row if name not in _BODY and row[name] is not None and (name in named or isinstance(row[name], float))
    ]
    return [*lines, *([f"  {'   '.join(said)}"] if said else [])]


def _marks(row: Mapping[str, Any], content: str, where: Expression | None) -> list[tuple[int, int]]:
    """What to point at: the place that the rule names, else what the expression looked for."""
    start, end = row.get("start"), row.get("end")
    if start is not None and end is not None and 0 < end - start < len(content):  # a removed part is all there is of it
        return [(start, end)]
    spans = find_spans(content, where.finds("text")) if where is not None else []
    if not spans and row.get("rule") and (part := row.get("excerpt")) and not content.startswith(part) and part in content:
        spans = [(content.index(part), content.index(part) + len(part))]
    return spans


# --- the command -------------------------------------------------------------------------------------------------------


def survivors(target: Any, rows: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The documents that were kept instead of these, where the artifact holds them."""
    ids = [row["survivor"] for row in rows if row.get("survivor")]
    return find_documents(target, ids, ["ref", "text"]) if ids and isinstance(target, Artifact) and target.kind == "docs" else {}


def take_columns(rows: Rows, columns: str | None) -> list[str] | None:
    if columns is None:
        return None
    wanted = [name.strip() for name in columns.split(",") if name.strip()]
    for name in wanted:
        if name not in rows.columns:
            raise unknown_name("column", name, rows.columns, f"--columns of {rows.ref}")
    return wanted


def summary(rows: Rows, found: Selection, where: Expression | None) -> str:
    noun = {"documents": "documents", "rejected": "rejected documents", "removed": "removed parts"}[rows.kind]
    matching = f" match {redacted(where.text)}" if where is not None else " are live" if rows.kind == "documents" and found.matches < found.total else ""
    return f"{rows.ref}: {found.matches:,} of {found.total:,} {noun}{matching}" if matching else f"{rows.ref}: {found.matches:,} {noun}"


def write_lines(rows: Sequence[Mapping[str, Any]], form: Format, columns: Sequence[str]) -> None:
    """JSON lines or CSV on stdout: whole texts, redacted."""
    import csv

    if form == "jsonl":
        for row in rows:
            print(json.dumps(row, ensure_ascii=False))
        return
    writer = csv.DictWriter(sys.stdout, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: json.dumps(v, ensure_ascii=False) if isinstance(v, list | dict) else v for name, v in row.items()})


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which rows a person wants to see."""

    where: str | None
    rejected: bool
    removed: bool
    number: int
    seed: int
    by: str | None
    columns: str | None

    @property
    def kind(self) -> Kind:
        if self.rejected and self.removed:
            raise MsptError("--rejected and --removed exclude each other", "look at one after the other")
        return "rejected" if self.rejected else "removed" if self.removed else "documents"


def run(shared: Context, ref: str, choice: Choice, characters: int, form: Format, export: Path | None = None) -> None:
    """`mspt sample REF`."""
    from mspt.core.expression import parse

    place = labelling.check_place(export) if export is not None else None
    target = locate(shared.store, ref)
    rows = open_rows(target, choice.kind)
    where = parse(choice.where, "--where") if choice.where is not None else None
    wanted = take_columns(rows, choice.columns)
    by = choice.by or ("rule" if choice.kind != "documents" else None)
    if by is not None and by not in rows.columns:
        raise unknown_name("column", by, rows.columns, f"--by of {rows.ref}")
    found = select(rows, where, choice.number, choice.seed, by)
    plain = [{name: row[name] for name in wanted} if wanted else row for row in map(plain_row, found.rows)]
    if place is not None:
        labelling.write_rows(shared, place, plain, summary(rows, found, where))
        return
    if form != "text" and not shared.console.json:
        with writing():
            write_lines(plain, form, wanted or rows.columns)
        return
    groups = [{by: name, "rows": group.count, "threshold": group.threshold} for name, group in found.groups.items()]
    value = {"ref": reference(target), "of": choice.kind, "where": choice.where, "total": found.total, "matches": found.matches, "by": groups, "rows": plain}
    blocks: list[RenderableType] = [text(summary(rows, found, where), "bold")]
    if found.groups and by is not None:
        blocks.append(rule_table(found.groups, by, found.matches))
    if wanted:
        blocks.append(table(wanted, [[number(row[name], name) for name in wanted] for row in plain], fold=wanted))
    elif not shared.console.json:
        kept = survivors(target, found.rows)
        for i, row in enumerate(found.rows, 1):
            blocks += document(row, f"{i} of {len(found.rows)}", where, characters, kept.get(str(row.get("survivor"))))
    present(shared.console, value, *blocks)

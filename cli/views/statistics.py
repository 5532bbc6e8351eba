"""Statistics of any shape, as tables. A stage puts into its stats what it likes; this finds the table in it:

{"characters": 12, "bytes": 40}                               names and values
{"zh": {"in": 9, "out": 8}, "en": {"in": 4, "out": 4}}        a row for each name
[{"step": "read", "in": 9}, {"step": "rules", "in": 8}]       a row for each record
{"zh": {"types": {"html": {"files": 3}}}, ...}                a row for each pair of names
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mspt.cli.views.render import MIN_CLIPPED, grid, heading, number, safe, screen_width, table, text, unit_of

if TYPE_CHECKING:
    from rich.console import RenderableType

MAX_ROWS = 24  # of a table; --json and -v give all
LONG_CELL = 32  # characters from which a cell is cut to what is left of the line
Row = tuple[tuple[str, ...], Mapping[Any, Any]]  # the names that lead to a record, and the record


def statistics(stats: Mapping[str, Any], *, everything: bool = False) -> list[RenderableType]:
    """Blocks for `mspt show`. `everything`: no row and no cell is cut."""
    return _mapping("", stats, everything)


def record_names(records: Sequence[Any]) -> list[str]:
    """What the records of a list are called: by their first values, where those are texts and all differ, else by their positions."""
    firsts = [next(iter(record.values()), None) if isinstance(record, Mapping) else None for record in records]
    texts = [first for first in firsts if isinstance(first, str)]
    return texts if len(set(texts)) == len(firsts) else [str(i + 1) for i in range(len(firsts))]


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, Mapping) and not (isinstance(value, list | tuple) and any(isinstance(v, Mapping | list | tuple) for v in value))


def _fits_cell(value: Any) -> bool:
    return _is_scalar(value) or (isinstance(value, Mapping) and all(map(_is_scalar, value.values())))


def _mapping(title: str, values: Mapping[Any, Any], everything: bool) -> list[RenderableType]:
    scalars = [(_words(name), number(value, str(name) if unit_of(str(name)) else title)) for name, value in values.items() if _is_scalar(value)]
    numeric = all(isinstance(value, int | float) for value in values.values() if _is_scalar(value))
    blocks: list[RenderableType] = [heading(title or "statistics"), grid(_first(scalars, everything, 2), right=numeric)] if scalars else []
    for name, value in values.items():
        if not _is_scalar(value):
            blocks += _block(f"{title} / {_words(name)}" if title else _words(name), value, everything)
    return blocks


def _block(title: str, value: Any, everything: bool) -> list[RenderableType]:
    if isinstance(value, Mapping):
        if value and all(isinstance(inner, Mapping) for inner in value.values()):
            return _collection(title, [""], [((str(name),), inner) for name, inner in value.items()], everything)
        return _mapping(title, value, everything) if value else [text(f"\n{title}: nothing", "dim")]
    records: list[Row] = []
    for item in value:
        records.append(((), item if isinstance(item, Mapping) else dict(enumerate(item)) if isinstance(item, list | tuple) else {"": item}))
    return _collection(title, [], records, everything)


def _collection(title: str, leads: Sequence[str], rows: Sequence[Row], everything: bool) -> list[RenderableType]:
    """Records with the same keys: what fits into cells as one table, what is nested deeper as a table of its own."""
    keys = list(dict.fromkeys(key for _, record in rows for key in record))
    simple = [key for key in keys if all(_fits_cell(record[key]) for _, record in rows if key in record)]
    blocks: list[RenderableType] = []
    if simple:
        blocks += _flat(title, leads, [(names, {k: record[k] for k in simple if k in record}) for names, record in rows], simple, everything)
    for key in (key for key in keys if key not in simple):
        nested = [(names, record[key]) for names, record in rows if key in record]
        if leads and all(isinstance(inner, Mapping) and all(isinstance(v, Mapping) for v in inner.values()) for _, inner in nested):
            deeper = [((*names, str(name)), record) for names, inner in nested for name, record in inner.items()]
            blocks += _collection(f"{title} / {_words(key)}", [*leads, ""], deeper, everything)
        else:
            for i, (names, inner) in enumerate(nested, 1):
                blocks += _block(f"{title} / {' / '.join(names) or i} / {_words(key)}", inner, everything)
    return blocks


def _flat(title: str, leads: Sequence[str], rows: Sequence[Row], keys: Sequence[Any], everything: bool) -> list[RenderableType]:
    """Records as rows where that fits the screen, else as columns, else one after another."""
    keys = [key for key in keys if not all(names and record.get(key) == names[-1] for names, record in rows)] or keys  # a name is said once
    columns = [*leads, *map(_words, keys)]
    cells = [[*names, *(_cell(record[key], str(key)) if key in record else "" for key in keys)] for names, record in rows]
    numeric = [_words(key) for key in keys if all(isinstance(record.get(key), int | float | None) for _, record in rows)]
    long = [columns[i] for i in range(len(columns)) if columns[i] and columns[i] not in numeric and max(len(row[i]) for row in cells) > LONG_CELL]
    if _fits([max([MIN_CLIPPED if name in long else len(row[i]) for row in cells] + [len(w) for w in name.split()]) for i, name in enumerate(columns)]):
        shown = _first(cells, everything, len(columns))
        return [heading(title), table(columns, shown, right=numeric, fold=long if everything else (), clip=() if everything else long)]
    called = record_names([record for _, record in rows])
    names = [" / ".join(names) or name for (names, _), name in zip(rows, called, strict=True)]
    if not leads and called[0] == next(iter(rows[0][1].values())):  # it is the name now
        keys = keys[1:] or keys
        rows = [(names, {key: record[key] for key in keys if key in record}) for names, record in rows]
        cells = [[_cell(record[key], str(key)) if key in record else "" for key in keys] for _, record in rows]
    if _fits([max(len(_words(key)) for key in keys), *(max(len(cell) for cell in [name, *row[len(leads) :]]) for name, row in zip(names, cells, strict=True))]):
        turned = [[_words(key), *(row[len(leads) + i] for row in cells)] for i, key in enumerate(keys)]
        return [heading(title), table(["", *names], turned, right=names)]
    return [block for name, (_, record) in zip(names, rows, strict=True) for block in _mapping(f"{title} / {name}", record, everything)]


def _fits(widths: Sequence[int]) -> bool:
    return sum(widths) + 3 * len(widths) <= screen_width()


def _cell(value: Any, name: str) -> str:
    return " ".join(number(value, name).split())


def _words(name: Any) -> str:
    return safe(str(name)).replace("_", " ")


def _first(rows: Sequence[Any], everything: bool, width: int) -> list[Any]:
    if everything or len(rows) <= MAX_ROWS:
        return list(rows)
    return [*rows[: MAX_ROWS - 1], (f"({len(rows) - MAX_ROWS + 1} more: -v)", *[""] * (width - 1))]

"""What score found, for a person: histograms and quantiles of quality by source and language, example lines of each tenth, low blocks, a second clean."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mspt.cli.views.render import bar, count, heading, percent, redacted, screen_width, table, text
from mspt.cli.views.rows import Rows, fetch, open_rows, positions
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mspt.cli.views.chart import Panel

OWN = ("quality_histograms", "blocks", "low_blocks", "second_clean", "domains")
QUANTILES = ("p5", "p25", "p50", "p75", "p95")
LEVELS = " ▁▂▃▄▅▆▇█"
GROUPS = {"by_source": "source", "by_lang": "language"}
MAX_GROUPS, MAX_BLOCKS = 24, 10  # -v and --json give all
EXAMPLES, MORE_EXAMPLES = 1, 4  # lines of a tenth; the second with -v
Place = tuple[int, int]  # shard, row
WIDE = 100  # columns of a terminal from which on nothing is left out
REF_WIDTH = 16
MIN_LINE = 15  # characters of a line that says something


class Report(NamedTuple):
    """Blocks, the statistics that they do not show, and the examples of each tenth."""

    blocks: list[RenderableType]
    rest: dict[str, Any]
    tenths: list[dict[str, Any]]


def report(stats: Mapping[str, Any], artifact: Artifact | None, workspace: Sequence[str], *, everything: bool) -> Report:
    """What `mspt show` says of a score artifact. artifact: None while it is unfinished; workspace: flags that the commands shown need."""
    rest = {name: value for name, value in stats.items() if name not in (*OWN, "all", *GROUPS)}
    measured = {"weights": _without_quality(stats["all"])}
    measured |= {f"weights by {word}": {name: _without_quality(row) for name, row in stats[group].items()} for group, word in GROUPS.items()}
    rest = {**({} if not stats["all"]["documents"] else measured), **rest}
    histograms = stats["quality_histograms"]
    blocks = [*_whole(stats["all"], histograms["all"])]
    for group, word in GROUPS.items():
        blocks += _groups(word, stats[group], histograms[group], everything)
    examples = tenths(artifact, histograms["tenths"], MORE_EXAMPLES if everything else EXAMPLES) if artifact is not None and histograms["tenths"] else []
    blocks += _examples(examples) if examples else []
    blocks += _domains(stats.get("domains"))
    blocks += _low_blocks(stats, workspace, everything) + _second_clean(stats.get("second_clean"))
    return Report(blocks, rest, examples)


def _without_quality(row: Mapping[str, Any]) -> dict[str, Any]:
    """Quantiles of weights and, where it was measured, of perplexity."""
    others = {name: value for name, value in row.items() if name != "documents" and not name.startswith("quality_")}
    return others if any(not name.startswith("weight_") for name in others) else {name.removeprefix("weight_"): value for name, value in others.items()}


# --- histograms --------------------------------------------------------------------------------------------------------


def _whole(row: Mapping[str, Any], counts: Sequence[int]) -> list[RenderableType]:
    """All documents: a bar for each tenth of the scale."""
    total = row["documents"]
    if not total:
        return [heading("quality"), text("no document stays")]
    pairs = [a + b for a, b in zip(counts[::2], counts[1::2], strict=True)]
    rows = [[f"{i / 10:.1f} - {(i + 1) / 10:.1f}", f"{n:,}", percent(n / total), bar(n / max(pairs), 40)] for i, n in enumerate(pairs)]
    return [heading(f"quality of {count(total, 'document')}"), table(["quality", "documents", "share", ""], rows, right=["documents", "share"])]


def _groups(word: str, rows: Mapping[str, Mapping[str, Any]], counts: Mapping[str, Sequence[int]], everything: bool) -> list[RenderableType]:
    """A line for each source or language: its histogram and quantiles. The largest where there are many."""
    names = sorted(rows, key=lambda name: (-rows[name]["documents"], name))
    shown = names if everything else names[:MAX_GROUPS]
    quantiles = QUANTILES if screen_width() >= WIDE else QUANTILES[::2]
    cells = [[redacted(name) or "-", f"{rows[name]['documents']:,}", sparkline(counts[name]), *_quantiles(rows[name], quantiles)] for name in sorted(shown)]
    columns = [word, "documents", "0 ·····quality···· 1", *quantiles]
    more = [text(f"{len(names) - len(shown)} more: -v", "dim")] if len(shown) < len(names) else []
    return [heading(f"quality by {word}"), table(columns, cells, right=["documents", *quantiles], clip=[word]), *more]


def _quantiles(row: Mapping[str, Any], names: Sequence[str]) -> list[str]:
    return [f"{row[f'quality_{name}']:.2f}" if f"quality_{name}" in row else "" for name in names]


def sparkline(counts: Sequence[int]) -> str:
    """One character for each bin, as high as its share of the largest; at least the lowest mark where there is anything."""
    most = max(counts) or 1
    return "".join(LEVELS[max(round(n / most * (len(LEVELS) - 1)), int(n > 0))] for n in counts)


# --- example lines -----------------------------------------------------------------------------------------------------


def tenths(artifact: Artifact, bounds: Sequence[float], number: int) -> list[dict[str, Any]]:
    """For each tenth of the documents by quality its range and `number` example lines, always the same ones, with personal data redacted.

    bounds: what parts the tenths. Where many documents share a value, tenths fall together.
    """
    rows, found = open_rows(artifact, "documents"), []
    for (first, last), (above, to), places in _ranges(bounds, _choose(rows, sorted(set(bounds)), number)):
        examples = fetch(rows, sorted(places), ["id", "ref", "source", "lang", "text", "quality"])
        examples.sort(key=lambda row: (row["quality"], row["id"]))
        lines = [{**row, "text": redacted(line_of(row["text"] or "")), "ref": redacted(row["ref"]), "quality": round(row["quality"], 4)} for row in examples]
        found.append({"tenths": [first, last], "above": round(above, 4), "to": round(to, 4), "examples": lines})
    return found


def _ranges(bounds: Sequence[float], chosen: Sequence[list[Place]]) -> Iterator[tuple[tuple[int, int], tuple[float, float], list[Place]]]:
    """First and last tenth, lowest and highest quality, and the chosen documents of each range between different bounds that holds any."""
    limits = sorted(set(bounds))
    for i, places in enumerate(chosen):
        first = bounds.index(limits[i]) + 1 if i < len(limits) else len(bounds) + 1
        last = len(bounds) - list(reversed(bounds)).index(limits[i]) if i < len(limits) else first
        if places:
            yield (first, last), (limits[i - 1] if i else 0.0, limits[i] if i < len(limits) else 1.0), places


def _choose(rows: Rows, limits: Sequence[float], number: int) -> list[list[Place]]:
    """For each range of quality the `number` live documents with the smallest ids, which are hashes. Memory: ids of one shard."""
    import pyarrow.compute as pc

    best: list[list[tuple[str, Place]]] = [[] for _ in range(len(limits) + 1)]
    for part in range(rows.num_parts):
        table = rows.read(part, ["id", "quality", "keep"])
        for i, (low, high) in enumerate(zip([-1.0, *limits], [*limits, 2.0], strict=True)):
            quality = table.column("quality")
            mask = pc.and_(table.column("keep"), pc.and_(pc.greater(quality, low), pc.less_equal(quality, high)))
            numbers = positions(pc.fill_null(mask, False))
            ids = table.column("id").take(numbers)
            smallest = pc.select_k_unstable(ids, min(number, len(ids)), [("", "ascending")]).to_pylist() if len(ids) else []
            best[i] += [(ids[k].as_py(), (part, numbers[k].as_py())) for k in smallest]
    return [[place for _, place in sorted(found)[:number]] for found in best]


def line_of(content: str) -> str:
    """The line of a text that shows best what it is like: the first long one at or after its middle, else the longest."""
    lines = [" ".join(line.split()) for line in content.split("\n")]
    middle = len(lines) // 2
    return next((line for line in lines[middle:] if len(line) >= MIN_LINE), max(lines, key=len))


def _examples(found: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    rows = []
    for tenth in found:
        first, last = tenth["tenths"]
        for i, row in enumerate(tenth["examples"]):
            name = "" if i else str(first) if first == last else f"{first}-{last}"
            rows.append([name, f"{row['quality']:.3f}", row["source"], row["text"]])
    columns = ["tenth", "quality", "source", "a line of a document"]
    return [heading("example lines of each tenth of the documents, worst first"), table(columns, rows, right=["tenth", "quality"], clip=columns[3:])]


# --- domains -----------------------------------------------------------------------------------------------------------


def _domains(found: Mapping[str, Any] | None) -> list[RenderableType]:
    """Documents by source and domain; and how the model that told them did on documents held out, true domain by found domain."""
    if not found or not found["by_source"]:
        return []
    names = list(next(iter(found["by_source"].values())))
    rows = [[redacted(source), *(f"{counts[name]:,}" if counts[name] else "" for name in names)] for source, counts in found["by_source"].items()]
    is_default = found["model"] == "default"
    title = "domains, told by the default model" if is_default else f"domains, told by {found['model']}"
    blocks: list[RenderableType] = [heading(title), table(["source", *names], rows, right=names, clip=["source"])]
    if is_default:
        blocks.append(text("it knows no others: mspt train-domains --domain NAME=SOURCE makes one", "dim"))
    return blocks + confusion(found["measured"])


def confusion(measured: Mapping[str, Any]) -> list[RenderableType]:
    """A confusion table with recall and precision."""
    if not measured:
        return []
    names = list(next(iter(measured["confusion"].values())))
    rows = [
        [name, *(f"{row[other]:,}" if row[other] else "" for other in names), *(f"{measured['by_domain'][name][part]:.2f}" for part in ("recall", "precision"))]
        for name, row in measured["confusion"].items()
    ]
    title = f"\nits {count(measured['documents'], 'document')} held out: true by line, found by column; accuracy {measured['accuracy']:.3f}"
    short = [name[:4] if screen_width() < WIDE else name for name in names]
    return [text(title), table(["", *short, "recall", "precision"], rows, right=[*short, "recall", "precision"])]


# --- blocks ------------------------------------------------------------------------------------------------------------


def _low_blocks(stats: Mapping[str, Any], workspace: Sequence[str], everything: bool) -> list[RenderableType]:
    facts, low = stats["blocks"], stats.get("low_blocks", [])
    title = f"blocks of {count(facts['documents_each'], 'document')} in a row: {facts['low']:,} of {facts['blocks']:,} below {facts['below']}"
    if not low:
        return [heading(title)]
    shown = low if everything else sorted(low, key=lambda block: block["quality"])[:MAX_BLOCKS]
    rows = [
        {"block": block["block"], "source": redacted(block["source"]), "documents": f"{block['documents']:,}", "characters": f"{block['characters']:,}",
         "quality": f"{block['quality']:.3f}", "first": _end_of(redacted(block["first_ref"])), "last": _end_of(redacted(block["last_ref"]))}
        for block in shown
    ]  # fmt: skip
    columns = [name for name in rows[0] if screen_width() >= WIDE or name not in ("characters", "last")]
    cells = [[row[name] for name in columns] for row in rows]
    blocks: list[RenderableType] = [heading(title), table(columns, cells, right=["block", "documents", "characters", "quality"], clip=["source"])]
    if facts["low"] > len(shown):
        blocks.append(text(f"{facts['low'] - len(shown):,} more: " + ("blocks.parquet" if everything else "-v, or blocks.parquet"), "dim"))
    blocks.append(text(f"to clean all of them again ({count(facts['low_documents'], 'document')}), or one:"))
    return [*blocks, *(text(f"  {_in_workspace(command, workspace)}", "cyan") for command in (facts["command"], shown[0]["command"]))]


def _end_of(ref: str) -> str:
    """The part of a reference that tells it from its neighbours."""
    return ref if len(ref) <= REF_WIDTH else f"…{ref[1 - REF_WIDTH :]}"


def _in_workspace(command: str, flags: Sequence[str]) -> str:
    program, rest = command.split(" ", 1)
    return " ".join([program, *map(shlex.quote, flags), rest])


def _second_clean(found: Mapping[str, Any] | None) -> list[RenderableType]:
    if not found:
        return []
    rows = [[when, *(_figure(found[when].get(name)) for name in ("documents", "characters", "quality"))] for when in ("before", "after")]
    columns = ["", "documents", "characters", "mean quality"]
    return [heading(f"second clean, {found['of']}: {redacted(found['where'])}"), table(columns, rows, right=columns[1:])]


def _figure(value: float | int | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


# --- as an image -------------------------------------------------------------------------------------------------------


def draw(artifact: Artifact | None, ref: str, path: Path) -> None:
    """The histograms as a PNG file. MsptError where the artifact has none."""
    from mspt.cli.views.chart import Section, write_png

    histograms = artifact.stats.get("quality_histograms") if artifact is not None else None
    if artifact is None or not isinstance(histograms, Mapping):
        raise MsptError(f"{ref} holds no histograms of quality", "--png is for finished artifacts of score; one of an older version: run mspt score again")
    stats = artifact.stats
    sections = [Section("all", [_panel("all documents", stats["all"], histograms["all"])])]
    for group, word in GROUPS.items():
        names = sorted(stats[group], key=lambda name: (-stats[group][name]["documents"], name))
        panels = [_panel(redacted(name), stats[group][name], histograms[group][name]) for name in names[:MAX_GROUPS]]
        sections.append(Section(f"by {word}", panels, f"{len(names) - MAX_GROUPS} smaller ones are left out" if len(names) > MAX_GROUPS else ""))
    write_png(path, f"{ref}: quality of {count(stats['all']['documents'], 'document')}", sections)


def _panel(name: str, row: Mapping[str, Any], counts: Sequence[int]) -> Panel:
    from mspt.cli.views.chart import Panel

    return Panel(name, counts, row.get("quality_p50"))

"""Level `contaminated`: documents that hold parts of test sets (core/dedup/overlaps.py says what counts as an overlap).

drop: before anything is compared, so that a contaminated document is nobody's survivor and a clean near-copy of it stays. cut: on the documents that exact
and near duplicates left, before other parts are cut.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mspt.core.artifact import FileRecord
from mspt.core.dedup.overlaps import BATCH_BYTES, MIN_UNITS, Matcher, Overlap, build_matcher, find_overlaps
from mspt.core.files import link_or_copy, sha256_file
from mspt.core.shards import Docs, layer_name, write_table
from mspt.core.stage import Job, Unit, UnitOutput, UnitResult
from mspt.stages.dedup.levels import Level, Place, Texts, verdict_table
from mspt.stages.dedup.small import map_units

if TYPE_CHECKING:
    from mspt.stages.dedup import DedupConfig

LEVEL = RULE = "contaminated"
CUTS, DROPS = "cuts.parquet", "drops.parquet"
CONTAMINATED = "index/contaminated-"
MIN_LEFT = 0.1  # of the characters; of what is left of a copied test set nobody learns anything else
MAX_EXAMPLES = 20  # of each task file
MAX_EXAMPLE_CHARACTERS = 200
SLOW_BYTES = 16 * 2**20  # of task files: several seconds
MAX_NAMED = 3  # items in `detail`


@dataclass(frozen=True)
class TestSets:
    """Task files, and the fields of their items that count (none: all)."""

    paths: tuple[Path, ...]
    fields: tuple[str, ...]


@functools.cache
def matcher_of(tests: TestSets) -> Matcher:
    """Built once in each process."""
    return build_matcher(tests.paths, tests.fields)


def test_sets(job: Job[DedupConfig]) -> TestSets | None:
    """Those of a job, if it has any. InputError where one cannot be read: before any other work."""
    files = job.files.get("decontaminate", [])
    if not files:
        return None
    found = TestSets(tuple(Path(file.location) for file in files), job.config.decontaminate_fields)
    size = sum(path.stat().st_size for path in found.paths)
    if size >= SLOW_BYTES:
        job.note(f"reading {size / 1e6:,.0f} MB of test sets")
    for file in matcher_of(found).files:
        if file.items_too_short:
            tell = job.warn if file.items_too_short == file.items else job.note  # then the file does nothing
            tell(
                f"{file.name}: {file.items_too_short:,} of {file.items:,} items are not looked for: all their texts together have fewer than "
                f"{MIN_UNITS} words or characters"
            )
    return found


@dataclass
class FileReport:
    """What of one task file was found in a shard."""

    documents: int = 0
    items: set[int] = field(default_factory=set)
    examples: list[dict[str, Any]] = field(default_factory=list)


def find_contamination(payload: tuple[Texts, TestSets, Literal["drop", "cut"]], out: UnitOutput) -> dict[str, Any]:
    """Verdicts on the documents of a shard, and for each task file: documents, items found, examples."""
    texts, tests, by = payload
    matcher = matcher_of(tests)
    cuts: list[dict[str, Any]] = []
    drops: list[dict[str, Any]] = []
    report = [FileReport() for _ in matcher.files]
    for part in texts.read(BATCH_BYTES):
        found: dict[int, list[Overlap]] = {}
        for overlap in find_overlaps(matcher, part.texts):
            found.setdefault(overlap.document, []).append(overlap)
        for document, overlaps in found.items():
            text, row = part.texts[document].as_py(), int(texts.rows[part.first + document])
            goes, verdicts = _judge(matcher, text, row, overlaps, by)
            (drops if goes else cuts).extend(verdicts)
            _add_to_report(report, matcher, text, row, overlaps)
    write_table(out.path(CUTS), verdict_table(cuts))
    write_table(out.path(DROPS), verdict_table(drops))
    files = [{"documents": one.documents, "items": sorted(one.items), "examples": one.examples} for one in report]
    return {"cuts": len(cuts), "drops": len(drops), "files": files}


def _judge(matcher: Matcher, text: str, row: int, overlaps: Sequence[Overlap], by: Literal["drop", "cut"]) -> tuple[bool, list[dict[str, Any]]]:
    """Whether the document goes whole, with the verdict on it (`value`: share of its characters in overlaps), or else a cut for each stretch of overlaps
    (`value`: units of the longest of them).
    """
    stretches: list[list[Overlap]] = []
    end = -1
    for overlap in overlaps:
        if overlap.start >= end:
            stretches.append([])
        stretches[-1].append(overlap)
        end = max(end, overlap.end)
    edges = [(stretch[0].start, max(overlap.end for overlap in stretch)) for stretch in stretches]
    share = sum(end - start for start, end in edges) / len(text)
    if by == "drop" or share > 1 - MIN_LEFT:
        start, end = max(edges, key=lambda edge: (edge[1] - edge[0], -edge[0]))
        return True, [{"row": row, "start": start, "end": end, "rule": LEVEL, "value": share, "detail": _named(matcher, overlaps)}]
    return False, [
        {"row": row, "start": start, "end": end, "rule": RULE, "value": float(max(o.units for o in stretch)), "detail": _named(matcher, stretch)}
        for (start, end), stretch in zip(edges, stretches, strict=True)
    ]


def _named(matcher: Matcher, overlaps: Sequence[Overlap]) -> str:
    """gsm8k.jsonl#12, gsm8k.jsonl#13 and 4 more."""
    pieces = [matcher.pieces[overlap.piece] for overlap in overlaps]
    names = list(dict.fromkeys(f"{matcher.files[piece.file].name}#{piece.item}" for piece in pieces))
    rest = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {rest} more" if rest > 0 else "")


def _add_to_report(report: Sequence[FileReport], matcher: Matcher, text: str, row: int, overlaps: Sequence[Overlap]) -> None:
    for number in sorted({matcher.pieces[overlap.piece].file for overlap in overlaps}):
        own = [overlap for overlap in overlaps if matcher.pieces[overlap.piece].file == number]
        report[number].documents += 1
        report[number].items.update(matcher.pieces[overlap.piece].item for overlap in own)
        longest = max(own, key=lambda overlap: (overlap.units, -overlap.start, -overlap.piece))
        if len(report[number].examples) < MAX_EXAMPLES:
            example = {"item": matcher.pieces[longest.piece].item, "row": row, "units": longest.units}
            report[number].examples.append({**example, "text": text[longest.start : longest.end][:MAX_EXAMPLE_CHARACTERS]})


# --- in the parent -----------------------------------------------------------------------------------------------------


def remove_contaminated(job: Job[DedupConfig], docs: Docs, texts: Sequence[Texts], tests: TestSets) -> Level:
    """Judges documents of this run, and puts a report for each task file into the stats. What `cut` takes is kept beside the index, for later --against."""
    units = [Unit(f"{i:05d}", (one, tests, job.config.decontaminate_by), one.place.bytes) for i, one in enumerate(texts)]
    results = map_units(job, find_contamination, units, what="test sets", group="contamination")
    job.stats["decontamination"] = _report(docs, matcher_of(tests), results)
    drops = tuple(pq.read_table(result.path(DROPS), use_threads=False) for result in results)
    cuts = tuple(result.path(CUTS) if result.stats["cuts"] else None for result in results)
    if job.config.decontaminate_by == "cut":
        for shard, result in enumerate(results):
            for name, number in ((CUTS, result.stats["cuts"]), (DROPS, result.stats["drops"])):
                if number:
                    job.link(result.path(name), contaminated_name(name, shard), result.record(name))
    return Level(LEVEL, cuts, drops)


def contaminated_name(name: str, shard: int) -> str:
    """The file of an artifact that holds what `cut` took from a shard before paragraphs and substrings were compared."""
    return f"{CONTAMINATED}{shard:05d}-{name}"


def _report(docs: Docs, matcher: Matcher, results: Sequence[UnitResult]) -> list[dict[str, Any]]:
    """For each task file: what it holds, how much of it was found where, and matched texts with the ids of their documents."""
    report = []
    for number, file in enumerate(matcher.files):
        parts = [result.stats["files"][number] for result in results]
        items = {item for part in parts for item in part["items"]}
        examples = [(shard, example) for shard, part in enumerate(parts) for example in part["examples"]][:MAX_EXAMPLES]
        ids = {shard: docs.read(shard, ["id"], check=False).column("id") for shard in {shard for shard, _ in examples}}
        report.append(
            {
                "file": file.name,
                "items": file.items,
                "items_found": len(items),
                "items_found_share": len(items) / max(1, file.items),
                "items_too_short": file.items_too_short,
                "texts_by_windows": file.by_windows,
                "texts_whole_only": file.whole,
                "texts_too_short": file.texts_too_short,
                "short": [{"item": item, "text": text[:MAX_EXAMPLE_CHARACTERS]} for item, text in file.short],
                "documents": sum(part["documents"] for part in parts),
                "examples": [
                    {"document": ids[shard][example["row"]].as_py(), **{name: value for name, value in example.items() if name != "row"}}
                    for shard, example in examples
                ],
            }
        )
    return report


def live_texts(docs: Docs) -> list[Texts]:
    """All live documents."""
    rows = [np.flatnonzero(docs.read(shard, ["keep"], check=False).column("keep").to_numpy()) for shard in range(docs.num_shards)]
    return [Texts(Place(docs.one(shard), 0), own) for shard, own in enumerate(rows)]


def without_dropped(job: Job[DedupConfig], docs: Docs, level: Level) -> Docs:
    """A view of the docs in which what a level dropped is not live: the same files, and a layer in the scratch folder."""
    folder = job.scratch("decontaminated")
    layer = []
    for shard in range(docs.num_shards):
        for record in docs.files(shard):
            link_or_copy(docs.root / record.path, folder / record.path)
        keep = docs.read(shard, ["keep"], check=False).column("keep").to_numpy().copy()
        keep[level.drops[shard].column("row").to_numpy()] = False
        path = folder / layer_name(LEVEL, shard)
        write_table(path, pa.table({"keep": pa.array(keep)}))
        layer.append(FileRecord(path.name, path.stat().st_size, sha256_file(path), len(keep)))
    return replace(docs, root=folder, layers=(*docs.layers, (LEVEL, tuple(layer))))

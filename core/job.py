"""What a stage's `run` is given: its settings, its inputs, and a place to write its artifact."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from mspt.core import engine
from mspt.core.artifact import Artifact, FileRecord
from mspt.core.engine import Bar
from mspt.core.errors import InputError, MachineError
from mspt.core.files import atomic_path, link_or_copy
from mspt.core.raw import UNIT_BYTES, RawFile, cut_units, unit_key
from mspt.core.reuse import take_over_units
from mspt.core.unit import Unit, UnitResult
from mspt.core.worker import Limits, UnitOutput

if TYPE_CHECKING:
    from mspt.core.shards import Docs

C = TypeVar("C")
MIN_RECORDS_TO_JUDGE = 1000  # before --max-rejected may stop a source in the middle
MIN_SHARE_TO_FORECAST = 0.05  # of the work done before the disk need is extrapolated
WORKER_MEMORY = 2**30  # what one worker may need: a clean worker that held a whole 128 MB shard peaked at 648 MB
UNITS = "units"
SCRATCH = "scratch"
UNITS_FILE = "units.json"
INPUTS_FILE = "inputs.parquet"


class Reporter(Protocol):
    """Where a job talks to the person: the console, or nothing in tests."""

    def note(self, text: str) -> None: ...

    def warn(self, text: str) -> None: ...

    def progress(self, what: str, total: float, unit: str) -> AbstractContextManager[Bar]: ...


@dataclass
class Counts:
    """Records in = out + rejected, by rule. `removed` counts parts of documents that stay; `sources` has {in, rejected} by source."""

    records_in: int = 0
    out: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)

    def check(self) -> None:
        if self.records_in != self.out + sum(self.rejected.values()):
            raise RuntimeError(f"records are missing: in {self.records_in} != out {self.out} + rejected {sum(self.rejected.values())} ({self.rejected})")

    def plain(self) -> dict[str, Any]:
        ordered = {name: dict(sorted(getattr(self, name).items(), key=lambda item: (-item[1], item[0]))) for name in ("rejected", "removed")}
        return {"in": self.records_in, "out": self.out, **ordered}


@dataclass
class Job(Generic[C]):
    """One run of one stage. `directory` is where the artifact grows (vN.partial, or vN of a training run)."""

    stage: str
    name: str
    version: int
    config: C
    inputs: dict[str, Artifact]
    raw: list[RawFile]
    files: dict[str, list[RawFile]]
    directory: Path
    reporter: Reporter
    base: Path = field(default_factory=Path.cwd)  # what relative names in settings are relative to
    previous: Artifact | None = None  # an earlier version with equal settings, whose unchanged units are taken over
    earlier: tuple[Artifact, ...] = ()  # finished versions of this name by the same stage, revision and libraries, newest first, whatever their settings
    resuming: bool = False
    accepted: list[dict[str, Any]] = field(default_factory=list)  # training runs: settings changed by --accept in this run
    stats: dict[str, Any] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    layers: list[str] = field(default_factory=list)
    counts: Counts | None = None
    sample_share: float | None = None
    known: dict[str, FileRecord] = field(default_factory=dict)  # final path -> record, where the hash is known already
    stopped: list[dict[str, str]] = field(default_factory=list)
    read_files: list[RawFile] = field(default_factory=list)
    unit_files: dict[str, dict[str, str]] = field(default_factory=dict)
    raw_results: dict[str, UnitResult] = field(default_factory=dict)

    # --- talking ---------------------------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """One line for the person, on stderr."""
        self.reporter.note(text)

    def warn(self, text: str) -> None:
        self.reporter.warn(text)
        self.event("warning", text=text)

    def progress(self, what: str, total: float, unit: str = "") -> AbstractContextManager[Bar]:
        return self.reporter.progress(what, total, unit)

    def event(self, kind: str, **fields: Any) -> None:
        """One line of log.jsonl."""
        line = {"time": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "event": kind, **fields}
        with (self.directory / "log.jsonl").open("a", encoding="utf-8") as handle:
            handle.write(json.dumps(line, ensure_ascii=False) + "\n")

    # --- reading ---------------------------------------------------------------------------------------------------

    def artifact(self, name: str) -> Artifact:
        """An input that must be there (Read without optional)."""
        return self.inputs[name]

    def docs(self, name: str = "docs") -> Docs:
        """The docs of an input; with --sample a view of the sampled documents, made once in the scratch folder."""
        from mspt.core.sample import sampled_docs
        from mspt.core.shards import open_docs

        docs = open_docs(self.inputs[name])
        sample = getattr(self.config, "sample", None)
        if sample is None:
            return docs
        view, self.sample_share = sampled_docs(docs, sample, self.scratch(f"sample-{name}"))
        self.note(f"sample {sample}: {self.sample_share:.2%} of the documents of {docs.ref}")
        return view

    # --- working ---------------------------------------------------------------------------------------------------

    @property
    def workers(self) -> int:
        """How many worker processes may run: as many as are wanted, as long as --memory holds them."""
        wanted = engine.worker_count(getattr(self.config, "workers", 0))
        memory = getattr(self.config, "memory", None) or 3 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
        return max(1, min(wanted, memory // WORKER_MEMORY))

    def map_units(
        self, function: Callable[[Any, UnitOutput], dict[str, Any]], units: Sequence[Unit], *, what: str, limits: Limits | None = None, group: str = ""
    ) -> list[UnitResult]:
        """Runs `function(unit.payload, out)` for every unit in spawned workers; finished units are kept across runs.

        Results in the order of `units` (and of their parts). Stats may hold {"sources": {name: {"in": n, "rejected": m}}} for --max-rejected.
        Two calls in one stage need different `group` names.
        """
        total = sum(unit.bytes for unit in units)
        watch = _Watch(self, total)
        with self.progress(what, total, "B") as bar:
            results = engine.map_units(
                function,
                units,
                self.directory / (f"{UNITS}-{group}" if group else UNITS),
                workers=self.workers,
                limits=limits or Limits(),
                bar=bar,
                after_each=watch.after,
            )
        watch.finish(results)
        for result in results:
            self.stopped += [{**stop, "unit": result.key} for stop in result.stopped]
        return results

    def map_raw(
        self,
        function: Callable[[Any, UnitOutput], dict[str, Any]],
        common: Any,
        *,
        what: str,
        limits: Limits | None = None,
        unit_bytes: int = UNIT_BYTES,
        in_parts: bool = False,
        usable: Callable[[Mapping[str, Any]], bool] = lambda entry: True,
    ) -> list[UnitResult]:
        """Runs `function((common, [RawFile, ...]), out)` over the raw inputs, cut into units by their content; in_parts: each unit in parts of unit_bytes.

        Units whose files are unchanged are taken over, from the interrupted run or from the previous version (there, if `usable` says so of their entry
        in units.json). The function calls `out.hashed(file, sha256)` for each file of the unit.
        """
        part_bytes = unit_bytes if in_parts else None
        cut = cut_units(self.raw, unit_bytes)
        units = [Unit(unit_key(files), (common, files), sum(f.bytes for f in files), part_bytes) for files in cut]
        reused = take_over_units(units, self.directory / UNITS, self.previous, usable)
        if reused:
            self.note(f"{reused} of {len(units)} units are unchanged and taken over")
        results = self.map_units(function, units, what=what, limits=limits)
        hashes = {(f.source, f.path): f.sha256 for result in results for f in result.inputs if f.sha256}
        hashed = {key: replace(f, sha256=hashes[key]) for f in self.raw if (key := (f.source, f.path))}
        self.read_files += hashed.values()
        for result in results:
            inputs = tuple(hashed[f.source, f.path] for f in result.inputs)
            self.raw_results[result.key] = replace(result, inputs=inputs)
        return results

    # --- writing ---------------------------------------------------------------------------------------------------

    def scratch(self, name: str) -> Path:
        """A folder for intermediate files; it is gone from the finished artifact."""
        path = self.directory / SCRATCH / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    @contextlib.contextmanager
    def write(self, name: str) -> Iterator[Path]:
        """A temporary path; at the end of the block the file stands whole in the artifact as `name`."""
        with atomic_path(self.directory / name) as path:
            yield path
        self.known.pop(name, None)

    def write_json(self, name: str, value: Any) -> None:
        with self.write(name) as path:
            path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    def link(self, source: Path, name: str, record: FileRecord | None = None) -> None:
        """A file under its final name, by hard link. `record` spares hashing it again."""
        link_or_copy(source, self.directory / name)
        if record is not None:
            self.known[name] = FileRecord(name, record.bytes, record.sha256, record.rows)

    def collect(
        self, results: Sequence[UnitResult], pattern: str, final: str, rewrite: Callable[[Path, Path], bool] = lambda source, target: False
    ) -> list[str]:
        """Publishes the files of all units that match `pattern` (docs-*.parquet) under `final` ("docs-{:05d}.parquet"), numbered in order.

        rewrite(source, target) may write a changed file in the place of one, and then says True.
        """
        names: list[str] = []
        for result in results:
            for record in sorted((f for f in result.files if fnmatch(f.path, pattern)), key=lambda f: f.path):
                name = final.format(len(names))
                changed = self.scratch("rewritten") / record.path
                if rewrite(result.path(record.path), changed):
                    self.link(changed, name)
                    changed.unlink()
                else:
                    self.link(result.path(record.path), name, record)
                self.unit_files.setdefault(result.key, {})[record.path] = name
                names.append(name)
        return names

    def link_docs(self, docs: Docs, *, read: str = "docs") -> None:
        """Takes over all text shards and layers of `docs` unchanged (a stage that only judges)."""
        for shard in range(docs.num_shards):
            for record in docs.files(shard):
                self.link(docs.root / record.path, record.path, record)
        self.layers = docs.layer_names

    def layer_file(self, shard: int) -> str:
        """Name of this stage's own attribute layer of a shard; the layer is listed when the artifact is published."""
        from mspt.core.shards import layer_name

        if self.name not in self.layers:
            self.layers.append(self.name)
        return layer_name(self.name, shard)

    # --- saying what came out --------------------------------------------------------------------------------------

    def count(self, *, records_in: int, out: int, rejected: Mapping[str, int] | None = None, removed: Mapping[str, int] | None = None) -> None:
        self.counts = Counts(records_in, out, dict(rejected or {}), dict(removed or {}))
        self.counts.check()

    def digest(self, name: str, value: str) -> None:
        self.digests[name] = value


class _Watch:
    """After each unit: does the disk suffice for the rest, and has a source gone wrong?"""

    def __init__(self, job: Job[Any], total: float) -> None:
        self.job = job
        self.total = total
        self.done = 0.0
        self.written = 0
        self.sources: dict[str, list[int]] = {}

    def after(self, result: UnitResult, amount: float) -> None:
        self.done += amount
        self.written += sum(file.bytes for file in result.files)
        self._forecast_disk()
        self._add(result)
        self._judge(MIN_RECORDS_TO_JUDGE)

    def finish(self, results: Sequence[UnitResult]) -> None:
        self.sources = {}
        for result in results:
            self._add(result)
        self._judge(1)

    def _forecast_disk(self) -> None:
        if self.done < MIN_SHARE_TO_FORECAST * self.total:
            return
        need = self.written / max(1.0, self.done) * (self.total - self.done)
        free = shutil.disk_usage(self.job.directory).free
        if need > free:
            raise MachineError(
                f"the rest of {self.job.stage} needs about {need / 1e6:,.0f} MB, {self.job.directory.parent.parent} has {free / 1e6:,.0f} MB free",
                "free some space or use --workspace on a larger disk; finished units are kept, the same command goes on",
            )

    def _add(self, result: UnitResult) -> None:
        for source, counts in result.stats.get("sources", {}).items():
            total = self.sources.setdefault(source, [0, 0])
            total[0] += counts.get("in", 0)
            total[1] += counts.get("rejected", 0)

    def _judge(self, least: int) -> None:
        limit = getattr(self.job.config, "max_rejected", None)
        for source, (records, rejected) in sorted(self.sources.items()):
            if limit is not None and records >= least and rejected > limit * records:
                raise InputError(
                    f"source {source}: {rejected:,} of {records:,} documents rejected ({rejected / records:.1%}), the limit is {limit:.1%}",
                    f"look at them: mspt sample {self.job.name}@v{self.job.version}.partial --rejected; or raise --max-rejected",
                )

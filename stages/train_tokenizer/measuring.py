"""What is said about a tokenizer: the gate, probe sets, unused pieces, the comparison with another one and with other vocabulary sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.core.artifact import MANIFEST
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from mspt.core.stage import Job
    from mspt.core.tokens.gate import GateReport, Gauge
    from mspt.core.tokens.tokenizer import Tokenizer
    from mspt.stages.train_tokenizer.reading import Corpus

# Text of the training sample that is tokenised to see which pieces are used: 1-3 seconds.
USAGE_CHARACTERS = 10_000_000
NUM_LONGEST = 20


def check_languages(tags: Sequence[str]) -> None:
    """MsptError names a tag of --gate-languages that no text is ever given."""
    import difflib

    from mspt.core.text.language.lid import known_tags

    known = known_tags() if tags else frozenset()
    for tag in tags:
        if tag not in known and not any(one.startswith(f"{tag}-") for one in known):
            close = difflib.get_close_matches(tag, known, 1)
            raise MsptError(f"--gate-languages {tag}: no text is told to be in it", f"did you mean {close[0]}?" if close else "tags like zh, zh-Hant, en, ja")


def describe_pieces(tokenizer: Tokenizer) -> dict[str, Any]:
    """What the vocabulary is made of. Long pieces show what the sample repeated: markup, licence headers, tables."""
    from mspt.core.tokens.gate import DIGITS
    from mspt.core.tokens.pieces import is_byte_piece

    special = sum(not surface for surface in tokenizer.surfaces)
    texts = [surface.decode("utf-8", "replace") for surface in tokenizer.surfaces]
    return {
        "vocab_size": tokenizer.vocab_size,
        "special_pieces": special,
        "byte_pieces": sum(map(is_byte_piece, tokenizer.pieces)),
        "single_characters": sum(len(text) == 1 for text in texts) - sum(map(is_byte_piece, tokenizer.pieces)),
        "pieces_of_several_digits": sum(sum(c in DIGITS for c in text) > 1 for text in texts),
        "eos": f"{tokenizer.eos_id} {tokenizer.pieces[tokenizer.eos_id]}",
        "documents_start_after": f"{tokenizer.prefix_id} {tokenizer.pieces[tokenizer.prefix_id]}",
        "longest_pieces": sorted((piece for piece in tokenizer.pieces if not is_byte_piece(piece)), key=lambda piece: (-len(piece), piece))[:NUM_LONGEST],
    }


def measure(job: Job[Any], tokenizer: Tokenizer, corpus: Corpus | None, texts: Sequence[str]) -> GateReport | None:
    """Fill the report; `texts` is the training sample (nothing of an adopted tokenizer). None: there are no docs to measure on."""
    from mspt.core.tokens import gate, probes

    gauge = gate.Gauge(tokenizer)
    job.stats["tokenizer"] |= describe_pieces(tokenizer)
    job.stats["probes"] = probes.measure_probes(tokenizer, gauge.own)
    if corpus is None:
        return None
    report = gate.measure(gauge, corpus.held_out_texts(), job.config.gate_languages)
    count_usage(gauge, texts)
    job.stats["held_out"] = report.report()
    job.stats["unused_pieces"] = gate.unused(gauge)
    say(job, report)
    return report


def count_usage(gauge: Gauge, texts: Sequence[str]) -> None:
    seen = 0
    for text in texts:
        if seen >= USAGE_CHARACTERS:
            return
        gauge.use([text])
        seen += len(text)


def say(job: Job[Any], report: GateReport) -> None:
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
    for language in report.absent:
        job.warn(f"{language}: no held-out text, so the gate says nothing about it (--gate-languages)")
    if report.round_trip_losses:
        documents = sum(total.documents for total in report.measures.values())
        job.warn(f"{report.round_trip_losses:,} of {documents:,} held-out documents do not come back from their tokens as they were")


def compare(job: Job[Any], corpus: Corpus | None, ours: GateReport | None, files: Sequence[Path]) -> None:
    """--compare: the other tokenizer on the same held-out text."""
    from mspt.core.tokens import comparison, gate, huggingface

    if corpus is None or ours is None:
        raise MsptError("--compare needs docs to compare on, and there is none", "give --docs REF")
    source = huggingface.source_of(files)
    name = f"{source.parent.name}@{source.name}" if (source / MANIFEST).is_file() else source.name
    other = huggingface.open_any(source, job.scratch("compared"))
    theirs = gate.measure(gate.Gauge(other), corpus.held_out_texts(), ())
    job.stats["comparison"] = {"other": name, "other_vocab_size": other.vocab_size, "languages": comparison.compare(ours, theirs)}
    for language, figures in job.stats["comparison"]["languages"].items():
        job.note(f"{language}: {figures['tokens_ratio']:.3f} tokens for one of {name}'s ({figures['other_characters_per_token']:.2f} characters/token)")


def sweep(job: Job[Any], corpus: Corpus, ours: GateReport, texts: Sequence[str], settings: Any) -> None:
    """--sweep: the same training with other vocabulary sizes."""
    from dataclasses import replace

    from mspt.core.tokens import comparison, gate, training
    from mspt.core.tokens.tokenizer import SentencePieceTokenizer

    sizes = [comparison.Size(job.stats["tokenizer"]["vocab_size"], ours)]
    for vocab_size in sorted({size for size in job.config.sweep if size != job.config.vocab_size}):
        job.note(f"sweep: training {vocab_size:,} pieces")
        try:
            model = training.train(texts, replace(settings, vocab_size=vocab_size))
        except MsptError as error:  # the size asked for is there: a size that does not fit costs no more than its column
            job.warn(f"sweep: {error.message}")
            continue
        gauge = gate.Gauge(SentencePieceTokenizer(model.proto, add_bos=False))
        sizes.append(comparison.Size(gauge.tokenizer.vocab_size, gate.measure(gauge, corpus.held_out_texts(), ())))
    job.stats["sweep"] = comparison.sweep_table(sizes)

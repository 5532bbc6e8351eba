"""Pack token sequences into training rows in MindRecord files.

In: tokens, and the docs that they were made from (their weights and clusters; the lineage is checked). Validation documents are chosen by hash
of their cluster or id; a training document that equals one of them is left out. Training documents enter once each, or, with `target_tokens`, `shares` or
phases, as often as the mixture says.

Out: mindrecord: train-NNNNN.mindrecord and validation-NNNNN.mindrecord (each with its .db) with rows of input_ids [S], labels [S], actual_seq_len [D], beside
them rows-<split>-NNNNN.parquet (which document lies where, and its bytes), and the tokenizer's files by hard link. Whole documents go first, rows are
filled best-fit and put in a seeded order, no token of a drawn document is dropped (core/tokens/packing.py, rows.py).

Other forms: `--objective mlm` (one document a row, in a few row lengths), `--pack concat` (one stream cut at rows), `--layout legacy` (input_ids [S + 1]
alone), `--format megatron` (.bin/.idx by source for MindFormers' BlendedMegatronDatasetDataLoader). docs/packing.md shows them all, and the YAML that reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from mspt.core.config import SampleSettings, parse_bytes, parse_count, setting
from mspt.core.errors import MsptError
from mspt.core.stage import Job, Read, Stage
from mspt.stages.pack_mindrecord.phases import MixtureTable, parse_mixture

if TYPE_CHECKING:
    from mspt.core.artifact import Artifact
    from mspt.core.tokens.leakage import Leakage
    from mspt.stages.pack_mindrecord.choosing import Drawn


@dataclass(frozen=True, kw_only=True)
class PackMindrecordConfig(SampleSettings):
    seq_length: Annotated[int, setting("positions of a row", ge=16, le=2**20)] = 2048
    objective: Annotated[
        Literal["causal", "mlm"], setting("causal: packed rows; mlm: one document a row, in a few row lengths, for masked language models")
    ] = "causal"
    mask_rate: Annotated[float, setting("mlm: share of the tokens to be masked", ge=0, le=1)] = 0.15
    mask_rates: Annotated[
        tuple[str, ...],
        setting("mlm: another share inside an element of the text's structure (h1, p, li, pre, code, ...); 0 leaves it out", metavar="TAG=RATE"),
    ] = ()
    pack: Annotated[Literal["best-fit", "concat"], setting("whole documents where they fit best, or one stream of documents cut at every row")] = "best-fit"
    layout: Annotated[Literal["segments", "legacy"], setting("segments: input_ids, labels, actual_seq_len; legacy: input_ids of seq_length + 1")] = "segments"
    format: Annotated[Literal["mindrecord", "megatron"], setting("mindrecord rows, or .bin/.idx by source for a Megatron data loader")] = "mindrecord"
    max_documents: Annotated[int, setting("segments that a row may list, padding included (MindFormers: eod_pad_length)", ge=2, le=4096)] = 128
    validation_share: Annotated[float, setting("share of the documents held out for validation, by hash of their cluster or id", ge=0, le=0.5)] = 0.01
    max_padding: Annotated[float, setting("padding above which whole documents are cut to fill gaps", ge=0, le=1)] = 0.005
    weights: Annotated[Literal["on", "off"], setting("off: every document once, whatever its weight and the mixture")] = "on"
    target_tokens: Annotated[
        int | None, setting("tokens to draw in all (20M, 2B); unset: as many as there are", ge=1, convert=parse_count, metavar="COUNT")
    ] = None
    shares: Annotated[tuple[str, ...], setting("share of a source in the mixture; the others divide the rest by size", metavar="NAME=SHARE")] = ()
    max_epochs: Annotated[float, setting("how often a document is drawn at most", gt=0)] = 4.0
    source_epochs: Annotated[tuple[str, ...], setting("another such limit for one source", metavar="NAME=EPOCHS")] = ()
    mixture: Annotated[
        MixtureTable | None,
        setting("phases of the mixture, [[pack-mindrecord.mixture.phase]] in mspt.toml: until_tokens, shares", convert=parse_mixture, metavar="JSON"),
    ] = None
    seed: Annotated[int, setting("seed of the draw and of the order of rows", ge=0, lt=2**63)] = 0
    shard_bytes: Annotated[int, setting("rows in one file, before MindRecord shortens them", ge=2**16, convert=parse_bytes, metavar="SIZE")] = 128 * 2**20


def run(job: Job[PackMindrecordConfig]) -> None:
    from mspt.core.tokens.leakage import apply_split
    from mspt.core.tokens.split import choose_validation
    from mspt.core.tokens.token_files import TokenFiles
    from mspt.core.tokens.tokenizer import load
    from mspt.stages.pack_mindrecord.choosing import draw, index_documents
    from mspt.stages.pack_mindrecord.megatron import write_megatron
    from mspt.stages.pack_mindrecord.planning import plan_rows
    from mspt.stages.pack_mindrecord.reporting import report
    from mspt.stages.pack_mindrecord.spans import find_spans
    from mspt.stages.pack_mindrecord.writing import write_rows

    config, tokens = job.config, job.artifact("tokens")
    check_lineage(tokens, job.artifact("docs"))
    for name in tokens.files:
        tokens.checked(name)  # what follows reads them without looking
    tokenizer = load(tokens.directory)
    check_forms(config, tokenizer.prefix_id == tokenizer.eos_id)
    documents = index_documents(job)
    files = TokenFiles(tokens.directory, documents.sources)
    split = choose_validation(documents, config.validation_share, config.seq_length)
    leakage = apply_split(documents, split, files)
    drawn = draw(job, documents)
    check_drawn(drawn, leakage)
    if config.format == "megatron":
        write_megatron(job, documents, drawn)
        report(job, drawn, split, leakage, None)
    else:
        plan = plan_rows(job, documents, drawn, files, tokenizer)
        write_rows(job, documents, plan, tokenizer, find_spans(job, documents, files, tokenizer) if config.objective == "mlm" else None)
        report(job, drawn, split, leakage, plan)
    files.close()
    link_tokenizer(job, tokens)


def check_lineage(tokens: Artifact, docs: Artifact) -> None:
    """The docs must be those that were tokenised: same ids, text, sources and keep."""
    recorded = next(record for record in tokens.inputs if record.name == "docs")
    if recorded.fingerprint != docs.digest("text"):
        raise MsptError(
            f"{tokens.ref} was made from {recorded.ref}, the text of {docs.ref} is another",
            f"give the docs that belong to the tokens (--docs {recorded.ref}), or tokenise {docs.ref} first",
        )


def check_forms(config: PackMindrecordConfig, starts_with_eos: bool) -> None:
    """Not every form goes with every other. A legacy row has no labels of its own: its tokens must be one stream."""
    if config.objective == "mlm" and (config.layout, config.pack, config.format) != ("segments", "best-fit", "mindrecord"):
        raise MsptError(
            "masked-language-model rows hold one document each: they have no --pack, --layout or --format", "leave these out, or --objective causal"
        )
    for name in ("mask_rate", "mask_rates"):
        if getattr(config, name) != getattr(PackMindrecordConfig(), name) and config.objective != "mlm":
            raise MsptError(f"--{name.replace('_', '-')} is for masked language models", "add --objective mlm")
    if config.layout == "segments":
        return
    if config.pack != "concat":
        raise MsptError("legacy rows have no labels: their segments must follow each other in one stream", "add --pack concat")
    if not starts_with_eos:
        raise MsptError("this tokenizer opens documents with BOS, which a legacy row cannot do: its labels are its inputs shifted", "use --layout segments")


def check_drawn(drawn: Drawn, leakage: Leakage) -> None:
    """MsptError where nothing is left for training, in whatever form it would be written."""
    from mspt.core.tokens.documents import TRAIN

    if drawn.positions.sum():
        return
    if leakage.documents and not drawn.sides[TRAIN]:
        raise MsptError(
            f"no document is left for training: {leakage.documents:,} are word for word in validation and were left out",
            "remove copies with mspt dedup, or keep them: --validation-share 0",
        )
    raise MsptError(
        "no document is left for training",
        "raise --target-tokens or --max-epochs, lower --validation-share, or give more documents: mspt show on the tokens",
    )


def link_tokenizer(job: Job[PackMindrecordConfig], tokens: Artifact) -> None:
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    for name in TOKENIZER_FILES:
        if name in tokens.files:
            job.link(tokens.path(name), name, tokens.files[name])
    job.digest("tokenizer", tokens.digest("tokenizer"))


STAGE = Stage(
    order=70,
    config=PackMindrecordConfig,
    run=run,
    writes="mindrecord",
    libraries=("mindspore", "numpy", "pyarrow"),
    reads={"tokens": Read("tokens", producer="tokenize"), "docs": Read("docs", producer="score")},
    revision=3,
    next="train",
)

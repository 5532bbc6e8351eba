"""A small tokenizer, a small network and a packed data set: what the stages behind training start from in their tests."""

from __future__ import annotations

import functools
import json
import random
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from mspt.core.artifact import Artifact
from mspt.core.config import setting
from mspt.core.nn.checkpoint import save_checkpoint
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.model import initial_weights
from mspt.core.shards import write_table
from mspt.core.stage import Files, Job, Stage
from mspt.core.tokens import huggingface, mindrecord, rows, training
from mspt.core.tokens.tokenizer import TOKENIZER_FILES, Tokenizer, digest, load
from support.prose import prose
from support.segments import Piece, segments

VOCABULARY = 420
# Two query heads share a key head; weights large enough for logits that differ.
CONFIG = ModelConfig(
    vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=160, tie_word_embeddings=False, bos_token_id=2, eos_token_id=2, pad_token_id=3, initializer_range=0.2,
)  # fmt: skip

_folders: list[tempfile.TemporaryDirectory[str]] = []  # gone with the process


def folder() -> Path:
    _folders.append(tempfile.TemporaryDirectory(prefix="mspt-test-"))
    return Path(_folders[-1].name)


@functools.cache
def tokenizer_directory() -> Path:
    """A tokenizer of 420 pieces from Chinese and English phrases; eos opens and ends a document."""
    chooser = random.Random(5)
    model = training.train([prose(chooser) for _ in range(60)], training.TrainingSettings(vocab_size=VOCABULARY))
    huggingface.export(model.proto, folder() / "tokenizer")
    return Path(_folders[-1].name) / "tokenizer"


@functools.cache
def tokenizer() -> Tokenizer:
    return load(tokenizer_directory())


def weights(seed: int = 3) -> dict[str, Any]:
    return dict(initial_weights(CONFIG, seed))


def tokenizer_files() -> list[Path]:
    return [tokenizer_directory() / name for name in TOKENIZER_FILES if (tokenizer_directory() / name).is_file()]


def checkpoint(parent: Path, seed: int = 3) -> Path:
    """A checkpoint directory: random weights with the tokenizer."""
    return save_checkpoint(parent, 0, CONFIG, weights(seed), files=tokenizer_files())


# --- artifacts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class PackedConfig:
    row_tokens: Annotated[int, setting("positions of a row", ge=8)] = 64
    max_documents: Annotated[int, setting("segments of a row", ge=2)] = 6


def run_packed(job: Job[PackedConfig]) -> None:
    """Packs the given documents in order, whole ones only: the first half of each source's rows for training, the rest for validation."""
    folder_ = Path(job.files["tokenizer"][0].location).parent
    lines = [json.loads(line) for line in Path(job.files["documents"][0].location).read_text(encoding="utf-8").splitlines()]
    for split in ("train", "validation"):
        pieces = fit([line for line in lines if line["split"] == split], load(folder_), job.config)
        form = rows.RowFormat(job.config.row_tokens, job.config.max_documents, load(folder_).prefix_id, 3)
        building = job.scratch(split) / f"{split}-00000.mindrecord"
        found, sources, held = segments(pieces, form.prefix_id)
        mindrecord.write(building, [rows.fill_rows(found, len(pieces), form)], len(pieces), job.config.row_tokens, job.config.max_documents)
        for path in (building, mindrecord.database(building)):
            job.link(path, path.name)
        with job.write(f"rows-{split}-00000.parquet") as path:
            write_table(path, rows.provenance(found, 0, sources, rows.segment_bytes(found, load(folder_).token_bytes, held)))
    for path in sorted(folder_.iterdir()):
        job.link(path, path.name)
    job.digest("tokenizer", digest(folder_))


def fit(lines: list[dict[str, str]], tokenizer_: Tokenizer, config: PackedConfig) -> list[list[Piece]]:
    """A row is closed when the next document does not fit."""
    packed: list[list[Piece]] = [[]]
    left = config.row_tokens
    for line in lines:
        sequence = np.append(tokenizer_.encode(line["text"]), np.int32(tokenizer_.eos_id))
        assert len(sequence) <= config.row_tokens, "tests give short documents"
        if len(sequence) > left or len(packed[-1]) == config.max_documents - 1:
            packed.append([])
            left = config.row_tokens
        packed[-1].append(Piece(sequence, 0, len(sequence), line["id"], line["source"], len(line["text"].encode())))
        left -= len(sequence)
    return packed


PACKED = Stage(
    order=1, config=PackedConfig, run=run_packed, writes="mindrecord", name="packed", doc="Packed rows.",
    reads={"documents": Files("JSONL of id, source, split, text"), "tokenizer": Files("a tokenizer directory")},
)  # fmt: skip


def packed(workspace: Any, documents: Mapping[str, Mapping[str, list[str]]], *, tokenizer_: Path | None = None, **config: Any) -> Artifact:
    """A mindrecord artifact of {split: {source: [text, ...]}}."""
    lines = [
        {"id": f"{split}-{source}-{number}", "source": source, "split": split, "text": text}
        for split, sources in documents.items()
        for source, texts in sources.items()
        for number, text in enumerate(texts)
    ]
    path = workspace.path.parent / "documents.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    directory = tokenizer_ or tokenizer_directory()
    made: Artifact = workspace.run(PACKED, config, files={"documents": [path], "tokenizer": [directory]})
    return made


def sentences(count: int, seed: int) -> list[str]:
    """Short texts that fit a row of 64 tokens."""
    chooser = random.Random(seed)
    return [prose(chooser, sentences=2) for _ in range(count)]


@dataclass(frozen=True, kw_only=True)
class ModelMadeConfig:
    seed: Annotated[int, setting("of the weights")] = 3


def run_model_made(job: Job[ModelMadeConfig]) -> None:
    checkpoint(job.directory / "checkpoints", job.config.seed)
    job.digest("tokenizer", digest(tokenizer_directory()))


MODEL = Stage(order=2, config=ModelMadeConfig, run=run_model_made, writes="model", name="made-model", doc="A model.", reads={})


def made_model(workspace: Any, seed: int = 3) -> Artifact:
    """A model artifact with random weights."""
    made: Artifact = workspace.run(MODEL, {"seed": seed})
    return workspace.store.resolve(made.ref)

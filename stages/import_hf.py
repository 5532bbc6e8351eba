"""Take over a Llama-family model from a Hugging Face directory.

In: a directory with config.json and safetensors weights (one file or shards; float32, float16 or bfloat16), and its tokenizer: from the directory, or
`--tokenizer` a SentencePiece .model, a tokenizer.json or a directory. The tokenizer keeps its ids and its rule of what a document begins with.

Out: model: checkpoints/step-00000000/ with float32 weights and the tokenizer, as training writes them but without optimizer state: it can be evaluated,
generated from, quantised, exported, and trained on (`mspt train --init`). What this model does not compute, a missing, unknown or misshapen tensor
is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mspt.core.config import setting
from mspt.core.errors import MsptError
from mspt.core.stage import Files, Job, RawFile, Stage

if TYPE_CHECKING:
    from mspt.core.nn.config import ModelConfig
    from mspt.core.tokens.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True)
class ImportHfConfig:
    eos_token: Annotated[str | None, setting("with a tokenizer.json that names none: the token that ends a document")] = None


def run(job: Job[ImportHfConfig]) -> None:
    from mspt.core.nn.checkpoint import save_checkpoint
    from mspt.core.nn.convert import read_model
    from mspt.core.nn.open_model import check_vocabulary
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES, digest, load

    directory = root_of(job.files["directory"][0])
    source = read_model(directory)
    folder = job.scratch("tokenizer")
    adopt_tokenizer(job, directory, folder)
    tokenizer = load(folder)
    check_vocabulary(source.config, tokenizer)
    compare_ends(job, source.config, tokenizer)
    files = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    save_checkpoint(job.directory / "checkpoints", 0, source.config, source.weights, files=files)
    job.digest("tokenizer", digest(folder))
    job.stats["model"] = {
        "parameters": source.config.num_parameters,
        "layers": source.config.num_hidden_layers,
        "hidden_size": source.config.hidden_size,
        "vocab_size": source.config.vocab_size,
        "stored_as": source.dtypes,
        "dropped": list(source.dropped),
    }
    job.stats["tokenizer"] = {
        "pieces": tokenizer.vocab_size,
        "a_document_begins_with": tokenizer.pieces[tokenizer.prefix_id],
        "and_ends_with": tokenizer.pieces[tokenizer.eos_id],
    }
    job.note(f"{source.config.num_parameters:,} parameters; a document begins with {tokenizer.pieces[tokenizer.prefix_id]}")


def root_of(file: RawFile) -> Path:
    """The directory that a person named, from a file below it."""
    return Path(file.location).parents[len(Path(file.path).parts) - 1]


def adopt_tokenizer(job: Job[ImportHfConfig], directory: Path, folder: Path) -> None:
    """From --tokenizer, else from the model's directory."""
    from mspt.core.tokens.huggingface import adopt

    given = job.files.get("tokenizer", [])
    if given:
        adopt(Path(given[0].location) if len(given) == 1 else root_of(given[0]), folder, job.config.eos_token)
        return
    if not any((directory / name).is_file() for name in ("tokenizer.model", "tokenizer.json")):
        raise MsptError(f"{directory} holds no tokenizer", "give it: --tokenizer tokenizer.model (or tokenizer.json, or a directory)")
    adopt(directory, folder, job.config.eos_token)


def compare_ends(job: Job[ImportHfConfig], config: ModelConfig, tokenizer: Tokenizer) -> None:
    """config.json and tokenizer should agree on where a text ends; the tokenizer is what mspt goes by."""
    if config.eos_token_id is not None and config.eos_token_id != tokenizer.eos_id:
        job.warn(f"config.json ends a text with id {config.eos_token_id}, the tokenizer with {tokenizer.eos_id} ({tokenizer.pieces[tokenizer.eos_id]})")


STAGE = Stage(
    order=110,
    config=ImportHfConfig,
    run=run,
    writes="model",
    libraries=("numpy", "safetensors", "sentencepiece", "tokenizers"),
    reads={
        "directory": Files("directory with config.json and model.safetensors", positional=True),
        "tokenizer": Files("tokenizer of the model, where its directory has none", optional=True),
    },
    next="generate",
)

"""A model directory, quantised or not, ready to compute.

    opened = open_model(directory)          # hashes are checked first
    opened.network, opened.tokenizer, opened.config

A checkpoint (train, import-hf) and a quantised model both carry a manifest.json over their files and the tokenizer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mspt.core.errors import InputError, MsptError
from mspt.core.nn.checkpoint import CONFIG, Arrays, open_checkpoint, read_json
from mspt.core.nn.config import ModelConfig
from mspt.core.nn.model import LlamaForCausalLM, load_weights
from mspt.core.nn.quantize import read_quantised
from mspt.core.nn.runtime import prepare
from mspt.core.tokens import tokenizer as tokens
from mspt.core.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class OpenModel:
    """A network with its weights loaded, and the tokenizer that belongs to it."""

    network: LlamaForCausalLM
    tokenizer: Tokenizer

    @property
    def config(self) -> ModelConfig:
        return self.network.config


def open_model(directory: Path) -> OpenModel:
    """Check, read and build; computes in float32.

    Raises:
        CheckFailed: a file is not what its manifest says.
        MsptError: no model, or one whose tokenizer has ids that the embedding has no row for.
    """
    prepare()
    config, weights = read_weights(directory)
    tokenizer = tokens.load(directory)
    check_vocabulary(config, tokenizer)
    network = LlamaForCausalLM(config)
    network.set_train(False)
    load_weights(network, weights)
    return OpenModel(network, tokenizer)


def read_weights(directory: Path) -> tuple[ModelConfig, Arrays]:
    """Configuration and float32 weights of a checkpoint or a quantised model, its files checked against the manifest."""
    checkpoint = open_checkpoint(directory)
    if "quantization_config" in read_json(directory / CONFIG):
        return read_quantised(directory)
    return checkpoint.config, checkpoint.weights()


def check_vocabulary(config: ModelConfig, tokenizer: Tokenizer) -> None:
    """The embedding may have more rows than the tokenizer has pieces (padding to a round number), never fewer."""
    if tokenizer.vocab_size > config.vocab_size:
        raise InputError(
            f"the tokenizer has {tokenizer.vocab_size:,} pieces, the model's embedding {config.vocab_size:,} rows",
            "give the tokenizer that the model was trained with",
        )


def check_same_tokenizer(directory: Path, expected: str, model: str, rows: str) -> None:
    """Rows of another tokenizer are noise to a model. `expected` is the digest that the rows' artifact publishes, `model` and `rows` the references.

    Raises MsptError with both references.
    """
    if tokens.digest(directory) != expected:
        raise MsptError(
            f"{model} and {rows} have different tokenizers", f"give the mindrecord that belongs to it (--mindrecord REF), or --no-validation; mspt show {model}"
        )

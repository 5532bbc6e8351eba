"""Probe sets: small texts of the kinds that tokenizers are weak at (probes.toml), measured one set at a time."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.tokens.pieces import SPACE
from mspt.core.tokens.tokenizer import Tokenizer

MAX_EXAMPLES = 12  # characters without a piece that are shown of each set


def probe_sets() -> Mapping[str, list[str]]:
    text = resources.files("mspt.core.tokens").joinpath("probes.toml").read_text(encoding="utf-8")
    return {name: list(table["texts"]) for name, table in tomllib.loads(text).items()}


def measure_probes(tokenizer: Tokenizer, own: npt.NDArray[np.bool_]) -> dict[str, dict[str, Any]]:
    """By set: characters and tokens, characters without a piece of their own (`own`: bool [0x110000]), the first of them, texts that do not come back."""
    return {name: _measure_set(tokenizer, own, texts) for name, texts in probe_sets().items()}


def _measure_set(tokenizer: Tokenizer, own: npt.NDArray[np.bool_], texts: list[str]) -> dict[str, Any]:
    encoded = tokenizer.encode_batch(texts)
    characters, tokens = sum(map(len, texts)), sum(map(len, encoded))
    strange = [c for text in texts for c in text if not own[ord(c)]]
    return {
        "characters": characters,
        "tokens": tokens,
        "characters_per_token": round(characters / max(tokens, 1), 4),
        "without_piece": len(strange),
        "round_trip_losses": sum(tokenizer.decode(ids) != text.replace(SPACE, " ") for text, ids in zip(texts, encoded, strict=True)),
        "first_without_piece": "".join(dict.fromkeys(strange))[:MAX_EXAMPLES],
    }

"""What transformers makes of the small model, asked once in a test run."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path

import pytest

from mspt.core.nn.convert import write_model
from mspt.core.nn.transformers_check import Answer, ask_transformers, is_installed
from support.small_model import CONFIG, folder, tokenizer, tokenizer_files, weights

TEXTS = ["春天的花园慢慢地醒了过来，", "The old sailor read an old letter.", "<s> stays text </s>", " 两 blanks  "]
NEW_TOKENS = 40


def prompt_ids(text: str) -> list[int]:
    """Behind the prefix."""
    return [tokenizer().prefix_id, *tokenizer().encode(text).tolist()]


def probe_ids() -> list[int]:
    return [*prompt_ids(TEXTS[1]), *range(0, CONFIG.vocab_size, 7)]


@functools.cache
def exported() -> Path:
    """A small model as a Hugging Face directory."""
    directory = folder() / "hf"
    write_model(directory, CONFIG, weights())
    for path in tokenizer_files():
        shutil.copy(path, directory / path.name)
    return directory


@functools.cache
def transformers_answer() -> Answer:
    """Logits and greedy continuations of the probe ids and of TEXTS[0], ids of TEXTS."""
    if not is_installed():
        pytest.skip("transformers is not installed")
    answer = ask_transformers(exported(), ids=[probe_ids(), prompt_ids(TEXTS[0])], texts=TEXTS, new_tokens=NEW_TOKENS, scratch=folder())
    assert answer is not None
    return answer

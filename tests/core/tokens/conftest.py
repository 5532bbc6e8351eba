"""Real text of several kinds and a tokenizer trained on it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mspt.core.tokens import huggingface, training
from mspt.core.tokens.tokenizer import Tokenizer, load

ReadTexts = Callable[[str, int], list[str]]


@pytest.fixture(scope="session")
def read_texts(shared: Path) -> ReadTexts:
    """(set, number) -> the first documents of ../shared/data/<set>.jsonl.gz."""

    def read(name: str, number: int) -> list[str]:
        with gzip.open(shared / "data" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
            return [json.loads(line)["text"] for _, line in zip(range(number), lines, strict=False)]

    return read


@pytest.fixture(scope="session")
def trained(read_texts: ReadTexts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer directory of 8,000 pieces from about 2 MB of Chinese and English."""
    texts = [t for name in ("zh_techdocs", "en_techdocs", "zh_wiki_hans") for t in read_texts(name, 60)]
    model = training.train(texts, training.TrainingSettings(vocab_size=8000))
    directory = tmp_path_factory.mktemp("tokenizer")
    huggingface.export(model.proto, directory)
    return directory


@pytest.fixture(scope="session")
def tokenizer(trained: Path) -> Tokenizer:
    return load(trained)

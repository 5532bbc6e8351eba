"""eval: figures by source beside baselines, tasks with their predictions, kinds and tokenizers that do not fit."""

from __future__ import annotations

import json
import lzma
import math
from collections import Counter
from pathlib import Path

import pytest

from mspt.core.errors import CheckFailed, MsptError
from support.given import given
from support.small_model import CONFIG, made_model, packed, sentences, tokenizer

TRAIN = {"web": sentences(30, 31), "book": sentences(10, 32)}
VALIDATION = {"web": sentences(6, 33), "book": sentences(3, 34)}
QUESTIONS = [
    {"id": "a", "query": "the quiet dog ", "choices": ["sang in the kitchen", "写了一封长长的信"], "gold": 0},
    {"id": "b", "query": "春天的花园", "choices": ["慢慢地醒了过来", "opened the green door", "等着太阳升起来"], "gold": 2},
]


def task(folder: Path, name: str = "phrases.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(question, ensure_ascii=False) + "\n" for question in QUESTIONS), encoding="utf-8")
    return path


def test_figures_baselines_and_tasks(workspace, tmp_path):
    made_model(workspace)
    packed(workspace, {"train": TRAIN, "validation": VALIDATION})
    references = {"model": "made-model", "mindrecord": "packed"}
    made = workspace.run("eval", {"batch_size": 4}, references=references, files={"tasks": [task(tmp_path)]})
    report = json.loads(made.path("evaluation.json").read_text())
    validation = report["validation"]
    sizes = {source: sum(len(text.encode()) for text in texts) for source, texts in VALIDATION.items()}
    assert {source: figures["bytes"] for source, figures in validation["sources"].items()} == sizes
    assert validation["total"]["documents"] == 9
    total = validation["total"]
    assert total["bits_per_byte"] == pytest.approx(total["loss"] * total["tokens"] / math.log(2) / sum(sizes.values()), rel=1e-5)
    assert total["perplexity"] == pytest.approx(math.exp(total["loss"]), rel=1e-5)

    baselines = report["baselines"]
    assert baselines["model"] == total["bits_per_byte"]
    counts = Counter(token for texts in TRAIN.values() for text in texts for token in [*tokenizer().encode(text).tolist(), tokenizer().eos_id])
    seen = [token for texts in VALIDATION.values() for text in texts for token in [*tokenizer().encode(text).tolist(), tokenizer().eos_id]]
    unigram = -sum(math.log2((counts[token] + 1) / (counts.total() + CONFIG.vocab_size)) for token in seen) / sum(sizes.values())
    assert baselines["unigram"] == pytest.approx(unigram, rel=1e-5)
    train, held_out = ("".join(text for texts in part.values() for text in texts).encode() for part in (TRAIN, VALIDATION))
    extra = len(lzma.compress(train + held_out, preset=9)) - len(lzma.compress(train, preset=9))
    assert baselines["lzma"] == pytest.approx(8 * extra / len(held_out), abs=1e-6)
    assert baselines["bigram"] < baselines["unigram"]  # phrases repeat

    figures = report["tasks"]["phrases"]
    lines = [json.loads(line) for line in made.path("tasks/phrases.jsonl").read_text().splitlines()]
    assert [line["id"] for line in lines] == ["a", "b"]
    right = [line["log_probabilities"].index(max(line["log_probabilities"])) == line["gold"] for line in lines]
    assert figures["accuracy"] == sum(right) / 2
    assert figures["chance"] == pytest.approx((1 / 2 + 1 / 3) / 2, abs=1e-6)
    assert workspace.outcome("eval", {"batch_size": 4}, references=references, files={"tasks": [tmp_path / "phrases.jsonl"]}).status == "up-to-date"


def test_few_rows_come_from_all_sources(workspace):
    made_model(workspace)
    packed(workspace, {"train": {"web": sentences(2, 31)}, "validation": VALIDATION}, max_documents=2)  # one document a row, sources in order
    settings = {"baselines": False, "rows": 3, "batch_size": 4}
    made = workspace.run("eval", settings, references={"model": "made-model", "mindrecord": "packed"})
    validation = json.loads(made.path("evaluation.json").read_text())["validation"]
    assert validation["rows"] == 3
    assert {source: figures["documents"] for source, figures in validation["sources"].items()} == {"book": 1, "web": 2}


def test_kinds_that_do_not_fit_are_named(workspace):
    given(workspace, {"a": "text"})
    with pytest.raises(MsptError, match=r"eval --model wants an artifact of kind model or quantised-model, given@v1 is of kind docs"):
        workspace.run("eval", references={"model": "given"})


def test_nothing_to_evaluate_and_equal_task_names_are_refused(workspace, tmp_path):
    made_model(workspace)
    with pytest.raises(MsptError, match="needs validation rows or tasks"):
        workspace.run("eval", references={"model": "made-model"})
    (tmp_path / "other").mkdir()
    files = [task(tmp_path), task(tmp_path / "other")]
    with pytest.raises(MsptError, match="two tasks are called phrases"):
        workspace.run("eval", references={"model": "made-model"}, files={"tasks": files})


def test_damaged_rows_are_named(workspace):
    made_model(workspace)
    made = packed(workspace, {"train": TRAIN, "validation": {"web": sentences(2, 35)}})
    path = made.path("rows-validation-00000.parquet")
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    with pytest.raises(CheckFailed, match=r"rows-validation-00000\.parquet is corrupt"):
        workspace.run("eval", references={"model": "made-model", "mindrecord": "packed"})


@pytest.mark.parametrize("size", [100, None])
def test_a_damaged_tokenizer_of_the_model_is_named_as_such(workspace, size):
    model = made_model(workspace)
    packed(workspace, {"train": TRAIN, "validation": {"web": sentences(2, 35)}})
    path = model.directory / "tokenizer.model"
    whole = path.read_bytes()
    path.unlink()
    path.write_bytes(whole[:size] if size else bytes([whole[0] ^ 1]) + whole[1:])
    with pytest.raises(CheckFailed, match=r"tokenizer\.model is (missing or not|corrupt)"):
        workspace.run("eval", references={"model": "made-model", "mindrecord": "packed"})

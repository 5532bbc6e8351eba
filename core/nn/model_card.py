"""README.md of an exported model: what it is, what it was made from, how it was checked, how to load it. No dates: equal models, equal cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mspt.core.nn.config import ModelConfig

_HEAD = """---
library_name: transformers
pipeline_tag: text-generation
tags: [mspt, mindspore]
---
"""
_LOADING = """```python
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

model = AutoModelForCausalLM.from_pretrained("DIRECTORY", dtype="{dtype}")
tokenizer = AutoTokenizer.from_pretrained("DIRECTORY")
ids = [[{prefix_id}, *tokenizer("text", add_special_tokens=False)["input_ids"]]]
made = model.generate(torch.tensor(ids), max_new_tokens=32)
print(tokenizer.decode(made[0], skip_special_tokens=True))
```"""


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """What a card tells. `inputs` are the references that the model was made from, `settings` those of the stage that made it."""

    reference: str
    stage: str
    config: ModelConfig
    dtype: str
    prefix: str
    prefix_id: int
    pieces: int
    inputs: Sequence[tuple[str, str]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    state: Mapping[str, Any] = field(default_factory=dict)  # of training: steps, tokens, losses
    evaluation: Mapping[str, Any] = field(default_factory=dict)  # evaluation.json
    verification: Mapping[str, Any] = field(default_factory=dict)
    libraries: Mapping[str, str] = field(default_factory=dict)


def render(facts: CardFacts) -> str:
    """The whole page."""
    config = facts.config
    shape = [
        ("parameters", f"{config.num_parameters:,}"),
        ("layers", config.num_hidden_layers),
        ("hidden size", config.hidden_size),
        ("feed-forward size", config.intermediate_size),
        ("attention heads (key and value heads)", f"{config.num_attention_heads} ({config.num_key_value_heads})"),
        ("positions", config.max_position_embeddings),
        ("vocabulary", f"{config.vocab_size:,} rows, {facts.pieces:,} pieces"),
        ("embeddings", "tied" if config.tie_word_embeddings else "untied"),
        ("weights", facts.dtype),
    ]
    parts = [
        _HEAD + f"# {facts.reference}\n\nA Llama-style decoder, made with mspt on MindSpore (`mspt {facts.stage}`).",
        "## Shape\n\n" + table(("", ""), shape),
        f"## Loading\n\nA document begins with `{facts.prefix}` (id {facts.prefix_id}); prompts should too.\n\n"
        + _LOADING.format(dtype=facts.dtype, prefix_id=facts.prefix_id),
    ]
    if facts.inputs:
        parts.append("## Made from\n\n" + table(("input", "reference"), facts.inputs))
    if facts.state:
        parts.append("## Training\n\n" + table(("", ""), [(name, shown(value)) for name, value in facts.state.items()]))
    if facts.settings:
        parts.append("## Settings\n\n```json\n" + json.dumps(dict(facts.settings), indent=1, sort_keys=True, ensure_ascii=False) + "\n```")
    parts += evaluation_parts(facts.evaluation)
    if facts.verification:
        parts.append("## Verification\n\n" + table(("check", "result"), [(name, shown(value)) for name, value in facts.verification.items()]))
    if facts.libraries:
        parts.append("## Environment\n\n" + table(("library", "version"), sorted(facts.libraries.items())))
    return "\n\n".join(parts) + "\n"


def evaluation_parts(evaluation: Mapping[str, Any]) -> list[str]:
    """Sections on validation rows and tasks, as far as there are any."""
    parts = []
    validation = evaluation.get("validation")
    if validation:
        columns = ("documents", "tokens", "bytes", "perplexity", "bits_per_byte", "bits_per_byte_error")
        scores = [("all", validation["total"]), *sorted(validation["sources"].items())]
        lines = [(name, *(shown(score[column]) for column in columns)) for name, score in scores]
        parts.append("## Evaluation\n\n" + table(("source", *columns), lines))
    if evaluation.get("baselines"):
        parts.append("Bits per byte of baselines at the same positions:\n\n" + table(("", ""), [(n, shown(v)) for n, v in evaluation["baselines"].items()]))
    if evaluation.get("tasks"):
        columns = ("questions", "accuracy", "accuracy_error", "accuracy_norm", "accuracy_norm_error", "chance")
        lines = [(name, *(shown(task[column]) for column in columns)) for name, task in sorted(evaluation["tasks"].items())]
        parts.append("## Tasks\n\n" + table(("task", *columns), lines))
    return parts


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines)


def shown(value: Any) -> str:
    """Counts with thousands separators, measures with the digits that mean something."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

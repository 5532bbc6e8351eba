"""The same training in torch and transformers, from the definition: python torch_reference.py FOLDER.

Every document stands alone here (one padded row each, no packing, no masks but transformers' own causal one), so packing is tested against its
meaning. Gradients, clipping and AdamW are torch's; the mean is taken over all valid tokens of the batch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_cosine_with_min_lr_schedule_with_warmup,
    get_linear_schedule_with_warmup,
    get_wsd_schedule,
)

NO_LABEL = -100


def alone(documents: list[list[int]], eos: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels of each document in a row of its own, padded on the right (which causal attention does not see)."""
    longest = max(len(tokens) for tokens in documents) + 1
    ids = torch.full((len(documents), longest), eos)
    labels = torch.full((len(documents), longest), NO_LABEL)
    for row, tokens in enumerate(documents):
        ids[row, 1 : len(tokens) + 1] = torch.tensor(tokens)
        labels[row, : len(tokens) + 1] = torch.tensor([*tokens, eos])
    return ids, labels


def mean_loss(model: LlamaForCausalLM, rows: list[list[list[int]]], eos: int) -> torch.Tensor:
    ids, labels = alone([tokens for row in rows for tokens in row], eos)
    logits = model(ids).logits
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=NO_LABEL)


def train(task: dict[str, Any], folder: Path) -> dict[str, list[float]]:
    model = LlamaForCausalLM(LlamaConfig(**task["config"], attn_implementation="eager"))
    model.load_state_dict(load_file(folder / "weights.safetensors"))
    decayed = [p for name, p in model.named_parameters() if p.dim() > 1 and "embed_tokens" not in name]
    plain = [p for name, p in model.named_parameters() if p.dim() == 1 or "embed_tokens" in name]
    groups = [{"params": decayed, "weight_decay": task["weight_decay"]}, {"params": plain, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=tuple(task["betas"]), eps=task["eps"])
    losses, norms = [], []
    for rate, rows in zip(task["rates"], task["documents"], strict=True):
        optimizer.zero_grad()
        loss = mean_loss(model, rows, task["eos"])
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), task["clip"])))
        if not losses:
            save_file({name: p.grad.clone() for name, p in model.named_parameters()}, folder / "gradients.safetensors")
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        losses.append(loss.item())
    save_file({name: p.detach().contiguous() for name, p in model.named_parameters()}, folder / "final.safetensors")
    return {"losses": losses, "norms": norms}


def schedules() -> dict[str, list[float]]:
    """Factors of the peak at current_step 0 .. 100 (warm-up 10, and a fall of 30 for wsd)."""

    def table(make: Any, **settings: Any) -> list[float]:
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        schedule = make(optimizer, num_warmup_steps=10, **settings)
        return [schedule.lr_lambdas[0](step) for step in range(101)]

    return {
        "cosine 0.0": table(get_cosine_schedule_with_warmup, num_training_steps=100),
        "cosine 0.1": table(get_cosine_with_min_lr_schedule_with_warmup, num_training_steps=100, min_lr_rate=0.1),
        "linear 0.0": table(get_linear_schedule_with_warmup, num_training_steps=100),
        "constant 0.0": table(get_constant_schedule_with_warmup),
        "wsd 0.0": table(get_wsd_schedule, num_decay_steps=30, num_training_steps=100),
        "wsd 0.1": table(get_wsd_schedule, num_decay_steps=30, num_training_steps=100, min_lr_ratio=0.1),
    }


def logits(folder: Path, names: list[str], length: int) -> dict[str, torch.Tensor]:
    """Of the ids 7 i mod V, as a loaded checkpoint gives them."""
    result = {}
    for name in names:
        model = LlamaForCausalLM.from_pretrained(folder / name)
        ids = torch.arange(length) * 7 % model.config.vocab_size
        with torch.no_grad():
            result[name] = model(ids[None]).logits[0].contiguous()
    return result


def main(folder: Path) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(2)
    task = json.loads((folder / "task.json").read_text())
    save_file(logits(folder, task["cases"], task["length"]), folder / "logits.safetensors")
    answers = train(task, folder) | {"schedules": schedules()}
    (folder / "answers.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""What transformers makes of a Hugging Face directory, asked in a process of its own: torch and MindSpore do not share one.

    answer = ask_transformers(directory, ids=[[1, 5, 9]], texts=["Hello"], scratch=folder)    # None where it is not installed
    answer.logits[0]        # float32 [T, V]
    answer.token_ids[0]     # ids of texts[0] by AutoTokenizer, without special tokens

Run as a program (`python -m mspt.core.nn.transformers_check request.json answer.npz`) it is the other side. It reads local files only.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import CheckFailed
from mspt.core.memory import note_child, own_peak_rss

_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
_LAST_LINES = 3  # of a traceback, shown when the other side fails


@dataclass(frozen=True)
class Answer:
    """Logits of each id sequence (float32 [T, V]), ids of each text, greedy continuations of each id sequence, and the version that answered."""

    logits: list[npt.NDArray[np.float32]]
    token_ids: list[list[int]]
    continuations: list[list[int]]
    version: str


def is_installed() -> bool:
    """Whether transformers and torch can be imported, without importing them."""
    return all(importlib.util.find_spec(name) is not None for name in ("transformers", "torch"))


def ask_transformers(directory: Path, *, ids: Sequence[Sequence[int]] = (), texts: Sequence[str] = (), new_tokens: int = 0, scratch: Path) -> Answer | None:
    """Load `directory` by AutoModelForCausalLM (if there are `ids`) and AutoTokenizer (if there are `texts`) and compute in float32.

    Returns None where transformers is not installed. Raises CheckFailed, with transformers' own words, where it cannot load the directory.
    """
    if not is_installed():
        return None
    request, answer = scratch / "request.json", scratch / "answer.npz"
    wanted = {"directory": str(directory), "ids": [list(map(int, row)) for row in ids], "texts": list(texts), "new_tokens": new_tokens}
    request.write_text(json.dumps(wanted), encoding="utf-8")
    command = [sys.executable, "-m", "mspt.core.nn.transformers_check", str(request), str(answer)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **_OFFLINE})
    if done.returncode:
        reason = " ".join(done.stderr.strip().splitlines()[-_LAST_LINES:])
        raise CheckFailed(f"transformers cannot use {directory}: {reason}", "the directory is not published; the check ran in a process of its own")
    with np.load(answer) as found:
        lists = json.loads(str(found["lists"]))
        note_child(lists["peak_rss_bytes"])
        logits = [found[f"logits{index}"] for index in range(len(ids))]
    return Answer(logits, lists["token_ids"], lists["continuations"], version("transformers"))


def answer_request(request: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The other side: logits, and the lists that JSON can hold."""
    transformers = importlib.import_module("transformers")
    torch = importlib.import_module("torch")
    logits, continuations, token_ids = [], [], []
    if request["ids"]:
        model = transformers.AutoModelForCausalLM.from_pretrained(request["directory"], dtype=torch.float32).eval()
        with torch.no_grad():
            for row in request["ids"]:
                given = torch.tensor([row])
                logits.append(model(given).logits[0].numpy())
                if request["new_tokens"]:
                    made = model.generate(given, do_sample=False, max_new_tokens=request["new_tokens"], attention_mask=torch.ones_like(given))
                    continuations.append(made[0, len(row) :].tolist())
    if request["texts"]:
        tokenizer = transformers.AutoTokenizer.from_pretrained(request["directory"])
        token_ids = tokenizer(request["texts"], add_special_tokens=False)["input_ids"]
    return logits, {"token_ids": token_ids, "continuations": continuations}


def main() -> None:
    """request.json -> answer.npz."""
    request, answer = (Path(argument) for argument in sys.argv[1:3])
    logits, lists = answer_request(json.loads(request.read_text(encoding="utf-8")))
    lists["peak_rss_bytes"] = own_peak_rss()
    with answer.open("wb") as file:
        np.savez(file, lists=np.array(json.dumps(lists)), **{f"logits{index}": array for index, array in enumerate(logits)})


if __name__ == "__main__":
    main()

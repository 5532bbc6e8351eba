"""Export a model as a Hugging Face directory, verified before it is published.

In: model, and an evaluation of it for the card (`--evaluation REF`, optional).

Out: hf: config.json, model.safetensors (or shards with an index), the tokenizer, README.md (a model card) and verification.json. It opens with
AutoModelForCausalLM and AutoTokenizer. Checked always: our network on the written files against an independent NumPy forward in float32
(core/nn/reference.py), and every weight against the model's. Where transformers is installed, in a process of its own: its float32 logits and its token
ids. Logits that differ by more than `tolerance`, or one other id, end with exit code 5 and publish nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import parse_bytes, setting
from mspt.core.errors import CheckFailed, MsptError
from mspt.core.stage import Job, Read, Stage

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from mspt.core.artifact import Artifact
    from mspt.core.nn.checkpoint import Arrays
    from mspt.core.nn.config import ModelConfig
    from mspt.core.nn.convert import SourceModel
    from mspt.core.tokens.tokenizer import Tokenizer

PROBE_TOKENS = 64  # of each of the two sequences whose logits are compared
PROBE_SEED = 20260101
NOT_EXPORTED = frozenset({"vocab.txt"})  # for mindspore.dataset.text; transformers would take it for BERT's


@dataclass(frozen=True, kw_only=True)
class ConvertHfConfig:
    dtype: Annotated[Literal["float32", "float16", "bfloat16"], setting("type of the exported weights, rounded to nearest even")] = "float32"
    max_shard: Annotated[int, setting("largest file of weights", ge=2**10, convert=parse_bytes, metavar="SIZE")] = 5 * 10**9
    tolerance: Annotated[float, setting("largest difference of logits that passes", gt=0)] = 1e-4


def run(job: Job[ConvertHfConfig]) -> None:
    from mspt.core.nn.convert import read_model, write_model
    from mspt.core.nn.open_model import check_vocabulary, read_weights
    from mspt.core.tokens.tokenizer import load

    config, model = job.config, job.artifact("model")
    evaluation = evaluation_of(job, model)
    shape, weights = read_weights(model.directory)
    folder = job.scratch("hf")
    write_model(folder, shape, weights, dtype=config.dtype, max_shard_bytes=config.max_shard)
    copy_tokenizer(model.directory, folder)
    tokenizer = load(folder)
    check_vocabulary(shape, tokenizer)
    written = read_model(folder)
    checks = {"weights": compare_weights(weights, written.weights, config.dtype), **verify(job, folder, written, tokenizer)}
    for path in sorted(folder.iterdir()):
        job.link(path, path.name)
    job.write_json("verification.json", checks)
    with job.write("README.md") as path:
        path.write_text(card(model, shape, config.dtype, tokenizer, evaluation, checks), encoding="utf-8")
    job.stats |= {"parameters": shape.num_parameters, "dtype": config.dtype, "verification": checks}
    others = f", from transformers' {checks['transformers_logits']:.1e}" if "transformers_logits" in checks else ""
    job.note(f"verified: logits differ from the NumPy reference by {checks['reference_logits']:.1e}{others}")


def evaluation_of(job: Job[ConvertHfConfig], model: Artifact) -> dict[str, Any]:
    """evaluation.json of the given evaluation. Raises MsptError when another model was evaluated."""
    import json

    evaluation = job.inputs.get("evaluation")
    if evaluation is None:
        return {}
    evaluated = next(record for record in evaluation.inputs if record.name == "model")
    if evaluated.fingerprint != model.fingerprint:
        raise MsptError(f"{evaluation.ref} evaluated {evaluated.ref}, not {model.ref}", f"evaluate it first: mspt eval --model {model.ref}")
    found: dict[str, Any] = json.loads(evaluation.checked("evaluation.json").read_text(encoding="utf-8"))
    return found


def copy_tokenizer(source: Path, folder: Path) -> None:
    from mspt.core.files import link_or_copy
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES

    for name in TOKENIZER_FILES:
        if name not in NOT_EXPORTED and (source / name).is_file():
            link_or_copy(source / name, folder / name)


# --- verification ------------------------------------------------------------------------------------------------------


def compare_weights(weights: Arrays, written: Arrays, dtype: str) -> str:
    """Float32 must come back bit for bit; in two bytes each number within half a unit of its last place."""
    import numpy as np

    half_unit = {"float32": 0.0, "float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    for name, weight in weights.items():
        wide = np.asarray(weight, np.float64)
        smallest = 2.0**-25 if dtype == "float16" else 2.0**-134  # half of the smallest subnormal
        if not np.all(np.abs(np.asarray(written[name], np.float64) - wide) <= np.maximum(half_unit * np.abs(wide), smallest if half_unit else 0.0)):
            raise CheckFailed(f"{name} was not written as it is", "check the disk and run the same command again")
    return "bit-equal" if dtype == "float32" else f"rounded to {dtype}"


def verify(job: Job[ConvertHfConfig], folder: Path, written: SourceModel, tokenizer: Tokenizer) -> dict[str, Any]:
    """Largest differences of logits, number of texts with equal ids. Raises CheckFailed where one is too large."""
    import numpy as np

    from mspt.core.nn.reference import reference_logits
    from mspt.core.nn.transformers_check import ask_transformers
    from mspt.core.tokens.huggingface import PROBES

    ids = probe_ids(tokenizer, written.config)
    ours = own_logits(written, ids)
    reference = np.stack([reference_logits(folder, row) for row in ids])
    checks: dict[str, Any] = {"probe_tokens": int(ids.size), "tolerance": job.config.tolerance, "reference_logits": difference(ours, reference)}
    refuse("the NumPy reference", checks["reference_logits"], job.config.tolerance)
    answer = ask_transformers(folder, ids=ids.tolist(), texts=PROBES, scratch=job.scratch("transformers"))
    if answer is None:
        return checks | {"transformers": "not installed: not compared"}
    checks |= {"transformers": answer.version, "transformers_logits": difference(ours, np.stack(answer.logits)), "texts_with_equal_ids": len(PROBES)}
    refuse("transformers", checks["transformers_logits"], job.config.tolerance)
    for text, mine, theirs in zip(PROBES, tokenizer.encode_batch(PROBES), answer.token_ids, strict=True):
        if mine.tolist() != theirs:
            raise CheckFailed(
                f"AutoTokenizer gives other ids for {text[:40]!r}: {theirs[:8]}, ours are {mine.tolist()[:8]}", "its tokenizer_config.json is at odds with it"
            )
    return checks


def probe_ids(tokenizer: Tokenizer, shape: ModelConfig) -> npt.NDArray[np.int32]:
    """[2, T]: seeded ids over the whole vocabulary, and text behind the prefix."""
    import numpy as np

    from mspt.core.tokens.huggingface import PROBES

    length = min(PROBE_TOKENS, shape.max_position_embeddings)
    scattered = np.random.default_rng(PROBE_SEED).integers(0, tokenizer.vocab_size, length)
    text = np.concatenate([[tokenizer.prefix_id], *tokenizer.encode_batch(PROBES)])
    ids: npt.NDArray[np.int32] = np.stack([scattered, np.resize(text, length)]).astype(np.int32)
    return ids


def own_logits(written: SourceModel, ids: npt.NDArray[np.int32]) -> npt.NDArray[np.float32]:
    """Our network on the written weights, float32 [B, T, V]."""
    import mindspore as ms
    import numpy as np

    from mspt.core.nn.model import LlamaForCausalLM, load_weights
    from mspt.core.nn.runtime import prepare

    prepare()
    network = LlamaForCausalLM(written.config)
    network.set_train(False)
    load_weights(network, written.weights)
    ends = np.full((len(ids), 1), ids.shape[1], np.int32)
    logits: npt.NDArray[np.float32] = network(ms.Tensor(ids), ms.Tensor(ends)).asnumpy()
    return logits


def difference(left: npt.NDArray[np.float32], right: npt.NDArray[np.float32]) -> float:
    """Largest absolute difference."""
    import numpy as np

    return float(np.abs(left - right).max())


def refuse(who: str, found: float, tolerance: float) -> None:
    """NaN is refused too."""
    if not found <= tolerance:
        raise CheckFailed(
            f"our logits and those of {who} differ by {found:.3g}, more than {tolerance:g}",
            "nothing is published; if float32 noise of a large model is all it is: --tolerance",
        )


# --- card --------------------------------------------------------------------------------------------------------------


def card(model: Artifact, shape: ModelConfig, dtype: str, tokenizer: Tokenizer, evaluation: dict[str, Any], checks: dict[str, Any]) -> str:
    from mspt.core.nn.checkpoint import STATE, read_json
    from mspt.core.nn.model_card import CardFacts, render

    state = read_json(model.directory / STATE) if (model.directory / STATE).is_file() else {}
    told = ("step", "updates", "rows", "tokens", "seed", "loss", "validation_loss")
    return render(
        CardFacts(
            reference=model.ref,
            stage=model.stage,
            config=shape,
            dtype=dtype,
            prefix=tokenizer.pieces[tokenizer.prefix_id],
            prefix_id=tokenizer.prefix_id,
            pieces=tokenizer.vocab_size,
            inputs=[(record.name, record.ref) for record in model.inputs],
            settings=model.manifest.get("identity", {}),
            state={name: state[name] for name in told if name in state},
            evaluation=evaluation,
            verification=checks,
            libraries=model.manifest.get("libraries", {}),
        )
    )


STAGE = Stage(
    order=120,
    config=ConvertHfConfig,
    run=run,
    writes="hf",
    libraries=("mindspore", "numpy", "safetensors"),
    reads={
        "model": Read("model", producer="train"),
        "evaluation": Read("evaluation", producer="eval", optional=True, automatic=False, help="an evaluation of this model, for the model card"),
    },
    next="quantize",
)

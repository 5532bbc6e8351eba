"""Hold the linear layers of a model as 8- or 4-bit integers, and say what that costs.

In: model, and mindrecord (optional), whose validation rows are evaluated before and after. Model and mindrecord must have one tokenizer.

Out: quantised-model: config.json, model.safetensors with integer codes and one scale for each group of columns, and the tokenizer; eval and generate
read it like a model. Rounded to nearest, weights only; embeddings and the output matrix stay float16 (or float32), norms float32. The report holds
sizes, the error of the weights and perplexity before and after. Format and method: core/nn/quantize.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mspt.core.config import setting
from mspt.core.errors import CheckFailed
from mspt.core.stage import Job, Read, Stage

if TYPE_CHECKING:
    from mspt.core.artifact import Artifact
    from mspt.core.nn.checkpoint import Arrays
    from mspt.core.nn.config import ModelConfig
    from mspt.core.nn.quantize import MatrixReport


@dataclass(frozen=True, kw_only=True)
class QuantizeConfig:
    bits: Annotated[Literal[4, 8], setting("bits of a code", convert=int)] = 8
    group_size: Annotated[Literal[32, 64, 128], setting("columns that share a scale; a matrix that it does not divide takes the next smaller", convert=int)] = (
        128
    )
    rest: Annotated[Literal["float16", "float32"], setting("type of embeddings and output matrix, which are not quantised")] = "float16"
    validation: Annotated[bool, setting("evaluate the validation rows of mindrecord before and after")] = True
    rows: Annotated[int | None, setting("evaluate this many validation rows only, evenly from all", ge=1)] = None
    batch_size: Annotated[int, setting("rows evaluated at once; sums may differ in their last digits with it", ge=1)] = 8


def run(job: Job[QuantizeConfig]) -> None:
    from mspt.core.nn.open_model import check_same_tokenizer, read_weights
    from mspt.core.nn.quantize import Quantisation, dequantise, quantise, write_quantised

    config, model = job.config, job.artifact("model")
    mindrecord = job.inputs.get("mindrecord") if config.validation else None
    if mindrecord is not None:
        check_same_tokenizer(model.directory, mindrecord.digest("tokenizer"), model.ref, mindrecord.ref)
    shape, weights = read_weights(model.directory)
    how = Quantisation(bits=config.bits, group_size=config.group_size, rest=config.rest)
    tensors, matrices = quantise(shape, weights, how)
    explain_groups(job, matrices)
    folder = job.scratch("model")
    write_quantised(folder, shape, tensors, how)
    restored = check_written(folder, dequantise(shape, tensors, how))
    publish(job, model.directory, folder)
    job.stats["size"] = sizes(shape, folder, matrices)
    job.stats["weight_error"] = {"largest": round(max(m.error for m in matrices), 6), "in": max(matrices, key=lambda m: m.error).name}
    if mindrecord is not None:
        job.stats["perplexity"] = evaluate_both(job, mindrecord, shape, weights, restored)
    job.write_json("quantisation.json", {name: job.stats[name] for name in sorted(job.stats)} | {"matrices": [vars(m) for m in matrices]})


def explain_groups(job: Job[QuantizeConfig], matrices: list[MatrixReport]) -> None:
    """One line for each group size that had to give way."""
    smaller: dict[int, list[str]] = {}
    for matrix in matrices:
        if matrix.group != matrix.wanted_group:
            smaller.setdefault(matrix.group, []).append(matrix.name)
    for group, names in smaller.items():
        job.note(f"groups of {group} columns in {len(names)} of {len(matrices)} matrices, which {job.config.group_size} does not divide ({names[0]})")


def check_written(folder: Path, expected: Arrays) -> Arrays:
    """Read back what was written; it must be what was computed, bit for bit."""
    import numpy as np

    from mspt.core.nn.quantize import read_quantised

    _, restored = read_quantised(folder)
    if any(not np.array_equal(restored[name], weight) for name, weight in expected.items()):
        raise CheckFailed(f"{folder / 'model.safetensors'} does not hold the weights that were computed", "check the disk and run the same command again")
    return restored


def publish(job: Job[QuantizeConfig], model: Path, folder: Path) -> None:
    """Weights, tokenizer, and the manifest over both that readers check."""
    from mspt.core.files import link_or_copy
    from mspt.core.nn.checkpoint import seal
    from mspt.core.tokens.tokenizer import TOKENIZER_FILES, digest

    for name in TOKENIZER_FILES:
        if (model / name).is_file():
            link_or_copy(model / name, folder / name)
    seal(folder)
    for path in sorted(folder.iterdir()):
        job.link(path, path.name)
    job.digest("tokenizer", digest(folder))


def sizes(shape: ModelConfig, folder: Path, matrices: list[MatrixReport]) -> dict[str, Any]:
    """Bytes before (float32, and float16 for comparison) and after, and bits for each quantised weight, scales included."""
    import math

    after = (folder / "model.safetensors").stat().st_size
    shapes = shape.parameter_shapes()
    quantised = sum(math.prod(shapes[matrix.name]) for matrix in matrices)
    return {
        "float32_bytes": 4 * shape.num_parameters,
        "float16_bytes": 2 * shape.num_parameters,
        "quantised_bytes": after,
        "of_float32": round(after / (4 * shape.num_parameters), 4),
        "quantised_parameters": quantised,
        "other_parameters": shape.num_parameters - quantised,
        "bits_per_quantised_weight": round(8 * sum(matrix.bytes for matrix in matrices) / quantised, 4),
    }


def evaluate_both(job: Job[QuantizeConfig], mindrecord: Artifact, shape: ModelConfig, before: Arrays, after: Arrays) -> list[dict[str, Any]]:
    """Perplexity and bits per byte on the validation rows with the weights as they were and as they became; one compiled graph for both."""
    from mspt.core.nn.evaluate import RowScorer, measure, open_validation, validation_names
    from mspt.core.nn.model import LlamaForCausalLM, load_weights
    from mspt.core.nn.runtime import prepare
    from mspt.core.nn.trainer import Validation

    names = validation_names(mindrecord.files)
    for name in names:
        mindrecord.checked(name)
    prepare()
    validation = Validation(*open_validation(mindrecord.directory, names, shape))
    validation = validation.spread(job.config.rows or validation.rows.num_rows)
    network = LlamaForCausalLM(shape)
    scorer = RowScorer(network)
    lines = []
    with job.progress("validation rows", total=2 * validation.rows.num_rows) as bar:
        for label, weights in (("before", before), ("after", after)):
            load_weights(network, weights)
            total = measure(scorer, validation.rows, validation.segments, batch_size=job.config.batch_size, advance=bar.advance).total
            lines.append({"weights": label, "perplexity": round(total.perplexity, 6), "bits_per_byte": round(total.bits_per_byte, 6), "tokens": total.tokens})
    was, now = lines
    job.note(f"perplexity {was['perplexity']:,.2f} -> {now['perplexity']:,.2f}, bits per byte {was['bits_per_byte']:.4f} -> {now['bits_per_byte']:.4f}")
    return lines


STAGE = Stage(
    order=130,
    config=QuantizeConfig,
    run=run,
    writes="quantised-model",
    libraries=("mindspore", "numpy"),
    reads={
        "model": Read("model", producer="train"),
        "mindrecord": Read("mindrecord", producer="pack-mindrecord", optional=True, help="its validation rows are evaluated before and after"),
    },
    next="generate",
)

"""`--format megatron`: the drawn documents of each source in Megatron-LM's indexed format, for MindFormers' BlendedMegatronDatasetDataLoader.

The loader joins documents, cuts rows and shuffles by itself; it repeats or cuts a source so that it gives its weight of the samples. A document that the
mixture draws twice stands in the file twice, and a source's weight is its share of the tokens: one epoch of the blend is the mixture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from mspt.core.stage import Unit, UnitOutput, UnitResult
from mspt.core.tokens.documents import TRAIN, VALIDATION, Documents, Records
from mspt.core.tokens.indexed import concatenate, write_index
from mspt.core.tokens.token_files import TokenFiles, read_dtype

if TYPE_CHECKING:
    from mspt.core.stage import Job
    from mspt.stages.pack_mindrecord import PackMindrecordConfig
    from mspt.stages.pack_mindrecord.choosing import Drawn

SIDES = {"train": TRAIN, "validation": VALIDATION}
BLEND = "blend.yaml"


@dataclass(frozen=True)
class PartTask:
    """A chunk of documents to copy: records [first, first + count), their copies in `copies` at `offset`."""

    documents: Documents
    tokens: Path
    first: int
    count: int
    copies: Path
    offset: int
    phases: int


def write_megatron(job: Job[PackMindrecordConfig], documents: Documents, drawn: Drawn) -> None:
    """<split>-<source>.bin/.idx with sequences-<split>-<source>.parquet beside them, and the blend as YAML."""
    from mspt.core.errors import MsptError

    if drawn.num_phases > 1:
        raise MsptError("a Megatron blend has one mixture, not phases", "pack each phase by itself, or --format mindrecord")
    tasks = list(part_tasks(job.artifact("tokens").directory, documents, drawn))
    units = [Unit(f"{task.first:012d}", task, task.count) for task in tasks]
    results = job.map_units(write_part, units, what="documents")
    for code, source in enumerate(documents.sources):
        mine = [r for task, r in zip(tasks, results, strict=True) if documents.first[code] <= task.first < documents.first[code + 1]]
        for split in SIDES:
            join_parts(job, split, source, mine, read_dtype(job.artifact("tokens").path(f"{source}.idx")))
    with job.write(BLEND) as path:
        path.write_text(blend(job, drawn), encoding="utf-8")


def part_tasks(tokens: Path, documents: Documents, drawn: Drawn) -> Iterator[PartTask]:
    offset = 0
    for _, first, records in documents.chunks():
        yield PartTask(documents, tokens, first, len(records), drawn.path, offset, drawn.num_phases)
        offset += 4 * drawn.num_phases * len(records)


def write_part(task: PartTask, out: UnitOutput) -> dict[str, Any]:
    """The chunk's tokens and its lines of the document table, for each split."""
    from mspt.core.shards import write_table

    files = TokenFiles(task.tokens, task.documents.sources)
    records = task.documents.read(task.first, task.count)
    copies = np.fromfile(task.copies, "<i4", task.count, offset=task.offset)
    for split, side in SIDES.items():
        rows = np.repeat(np.arange(task.count), np.where(records["side"] == side, copies, 0))
        with out.path(f"{split}.bin").open("wb") as target:
            for row in rows.tolist():
                target.write(files.read(int(records["source"][row]), int(records["start"][row]), int(records["tokens"][row])).tobytes())
        write_table(out.path(f"{split}.parquet"), sequence_table(records[rows]))
    files.close()
    out.advance(task.count)
    return {"documents": task.count}


def sequence_table(records: Records) -> Any:
    import pyarrow as pa

    ids = [id_.decode("utf-8", "surrogatepass") for id_ in records["id"].tolist()]
    return pa.table({"id": pa.array(ids, pa.string()), "num_tokens": records["tokens"].astype(np.int64), "num_bytes": records["bytes"].astype(np.int64)})


def join_parts(job: Job[PackMindrecordConfig], split: str, source: str, parts: Sequence[UnitResult], dtype: np.dtype[Any]) -> None:
    """One .bin/.idx and one table of a source, where it has any document there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mspt.core.shards import write_table

    whole = pa.concat_tables([pq.read_table(part.path(f"{split}.parquet"), partitioning=None) for part in parts])
    if not whole.num_rows:
        return
    with job.write(f"{split}-{source}.bin") as path:
        concatenate([part.path(f"{split}.bin") for part in parts], path)
    with job.write(f"{split}-{source}.idx") as path:
        write_index(path, lengths(whole), dtype)
    with job.write(f"sequences-{split}-{source}.parquet") as path:
        write_table(path, whole.add_column(0, "sequence", pa.array(np.arange(whole.num_rows), pa.int64())).combine_chunks())


def lengths(table: Any) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = table.column("num_tokens").to_numpy().astype(np.int64)
    return found


def blend(job: Job[PackMindrecordConfig], drawn: Drawn) -> str:
    """The part of a MindFormers YAML that reads these files; DIR stands for the folder of the artifact."""
    from mspt.core.tokens.tokenizer import load

    tokenizer = load(job.artifact("tokens").directory)
    sources = [s for s in drawn.tally.report() if s.realised]
    # The loader drops the last, incomplete row of each source.
    samples = sum((s.realised - 1) // job.config.seq_length for s in sources)
    paths = "".join(f'        - "{s.share:.6f}"\n        - "DIR/train-{s.source}"\n' for s in sources)
    return (
        "train_dataset:\n  data_loader:\n    type: BlendedMegatronDatasetDataLoader\n    datasets_type: GPTDataset\n"
        f'    sizes: [{samples}, 0, 0]\n    config:\n      seed: {job.config.seed}\n      split: "1, 0, 0"\n      seq_length: {job.config.seq_length}\n'
        "      eod_mask_loss: False\n      reset_position_ids: True\n      create_attention_mask: False\n      create_compressed_eod_mask: True\n"
        f"      eod_pad_length: {job.config.max_documents}\n      eod: {tokenizer.eos_id}\n      pad: -1\n      data_path:\n{paths}"
        '  input_columns: ["input_ids", "labels", "loss_mask", "position_ids", "actual_seq_len"]\n'
    )

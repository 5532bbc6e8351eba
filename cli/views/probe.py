"""What doctor proves, each in a process of its own: `python probe.py step|allreduce|mindrecord`. Prints one line of JSON, or dies with a traceback.

Run by path and not as a module, so that msrun can start it too; it imports nothing of mspt.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any


def training_step() -> dict[str, Any]:
    """A linear model, its loss, gradient and one SGD step, compiled in graph mode. Checked against the values worked out by hand.

    w = 0, x = (1, 2), y = 3: loss 9, gradient 2 (w x - y) x = (-6, -12), and with a rate of 0.1 w becomes (0.6, 1.2).
    """
    import mindspore as ms
    from mindspore import nn, ops

    ms.set_context(mode=ms.GRAPH_MODE)

    class Model(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = ms.Parameter(ms.Tensor([0.0, 0.0], ms.float32), name="weight")

        def construct(self, x: Any, y: Any) -> Any:
            return ops.pow(ops.reduce_sum(self.weight * x) - y, 2)

    model = Model()
    step = nn.TrainOneStepCell(model, nn.SGD(model.trainable_params(), learning_rate=0.1))
    loss = float(step(ms.Tensor([1.0, 2.0], ms.float32), ms.Tensor(3.0, ms.float32)))
    weights = [round(float(w), 5) for w in model.weight.asnumpy()]
    if abs(loss - 9.0) > 1e-5 or weights != [0.6, 1.2]:
        raise SystemExit(f"wrong numbers: loss {loss} (9), weights {weights} ([0.6, 1.2])")
    return {"device": ms.get_context("device_target"), "torch": "torch" in sys.modules}


def all_reduce() -> dict[str, Any]:
    """Two ranks give 1 and 2; the sum on both must be 3."""
    import mindspore as ms
    from mindspore import communication, nn, ops

    ms.set_context(mode=ms.GRAPH_MODE)
    communication.init()
    rank = communication.get_rank()

    class Sum(nn.Cell):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.reduce = ops.AllReduce()

        def construct(self, x: Any) -> Any:
            return self.reduce(x)

    total = float(Sum()(ms.Tensor([rank + 1.0], ms.float32)).asnumpy()[0])
    if total != 3.0:
        raise SystemExit(f"rank {rank}: the sum over both ranks is {total}, not 3")
    return {"rank": rank, "sum": total}


def mind_record() -> dict[str, Any]:
    """Four rows of int32 written, read back through MindDataset, and compared."""
    import numpy as np
    from mindspore import dataset
    from mindspore.mindrecord import FileWriter

    rows = [np.arange(8, dtype=np.int32) * i for i in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.mindrecord")
        writer = FileWriter(path, shard_num=1)
        writer.add_schema({"input_ids": {"type": "int32", "shape": [8]}}, "doctor")
        writer.write_raw_data([{"input_ids": row} for row in rows])
        writer.commit()
        data = dataset.MindDataset(path, columns_list=["input_ids"], shuffle=False, num_parallel_workers=1)
        back = [row for (row,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    if len(back) != len(rows) or not all((a == b).all() for a, b in zip(rows, back, strict=True)):
        raise SystemExit("the rows read are not those written")
    return {"rows": len(back)}


PROBES = {"step": training_step, "allreduce": all_reduce, "mindrecord": mind_record}

if __name__ == "__main__":
    print(json.dumps(PROBES[sys.argv[1]]()))

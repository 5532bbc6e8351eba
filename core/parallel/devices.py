"""Accelerators: what one device computes, holds and moves, and how fast groups of them exchange data.

Every number has its birthplace beside it. Peaks and bandwidths are the maker's figures; the *efficiency* of a device class is what real runs
reach of them, fitted to published runs (`bench/plan_parallel.py` prints the fit and its error on sources left out).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

from mspt.core.errors import MsptError

GIB = 1024**3
TERA = 1e12
GIGA = 1e9

# Memory that a program can use: MindFormers' model cards set max_device_memory 58GB on 64 GiB cards; the rest is context, HCCL and fragments.
USABLE_MEMORY_RATIO = 58 / 64


@dataclass(frozen=True)
class Link:
    """How the devices of one node are joined, and each device's own port to other nodes; bytes per second, one direction.

    `switch`: every device reaches the others at `inside` whatever the group. `mesh`: one wire of `inside` to each peer, so that a group of n
    uses n - 1 of them and small groups are slow. The shares are what collectives reach of the maker's rates.
    """

    kind: Literal["switch", "mesh"]
    inside: float
    inside_share: float
    between: float
    between_share: float = 0.85  # of a RoCE or InfiniBand port: ib_write_bw reaches 0.9 and more, rings lose some to protocol and steps

    def bus_bandwidth(self, group: int, members_per_node: int) -> float:
        """Bytes per second and device of a ring collective over `group` devices, `members_per_node` of them in each node."""
        within = min(group, members_per_node)
        inside = self.inside * self.inside_share * (within - 1 if self.kind == "mesh" else 1)
        if group <= members_per_node:
            return inside
        between = self.neighbour_bandwidth(crosses_nodes=True) * within  # every member's own port works for the ring
        return min(inside, between) if within > 1 else between

    def neighbour_bandwidth(self, crosses_nodes: bool) -> float:
        """Bytes per second from one device to one other."""
        return self.between * self.between_share if crosses_nodes else self.inside * self.inside_share


@dataclass(frozen=True)
class Efficiency:
    """Shares of the maker's figures that training reaches, and how much traffic stays visible where software overlaps it with computation."""

    matmul: float  # of peak FLOP/s, in large matrix products
    memory: float = 0.8  # of memory bandwidth, in element-wise kernels: what STREAM-style copies reach on HBM
    flash: float = 0.5  # speed of flash attention relative to large matrix products
    exposed_tensor: float = 0.2
    exposed_gradients: float = 0.1


@dataclass(frozen=True)
class Device:
    name: str
    peak_flops: float  # bf16/fp16 dense, FLOP/s
    memory_bytes: int
    memory_bandwidth: float  # bytes/s
    link: Link
    efficiency: Efficiency
    devices_per_node: int = 8

    @property
    def usable_bytes(self) -> int:
        return int(self.memory_bytes * USABLE_MEMORY_RATIO)


# Ports between nodes. DGX A100 and DGX H100 data sheets: 8 ports of 200 and 400 Gb/s, one for each GPU; H800 systems keep 400 Gb/s. Atlas A2:
# one 200 Gb/s RoCE port for each NPU (published files also say 50 and 90 GB/s between nodes; the port's own rate is taken).
_PORT_200G, _PORT_400G = 25 * GIGA, 50 * GIGA
# Inside a node, one direction: NVLink 3 is 600 GB/s both ways, NVLink 4 900, H800 400 (maker's data sheets). nccl-tests reach about 0.77 of it
# (all-reduce bus bandwidth 230-235 GB/s on an A100 node).
_NVLINK_A100 = Link("switch", 300 * GIGA, 0.77, _PORT_200G)
_NVLINK_H100 = Link("switch", 450 * GIGA, 0.77, _PORT_400G)
_NVLINK_H800 = Link("switch", 200 * GIGA, 0.77, _PORT_400G)
# HCCS full mesh: 7 wires of 56 GB/s both ways. All-reduce measured on 2, 4, 8 cards: 18, 30, 72 GB/s; times 2(n-1)/n and divided by n - 1 wires
# that is 18, 15, 18 GB/s on each wire of 28: 0.61 on average.
_HCCS = Link("mesh", 28 * GIGA, 0.61, _PORT_200G)
# 910C: two dies, 784 GB/s both ways through a switch (maker's SuperPoD figures); no measurement, so the mesh's share is assumed.
_HCCS_SWITCH = Link("switch", 392 * GIGA, 0.61, _PORT_400G)

# Fitted on the published runs of ../shared/plan (bench/plan_parallel.py prints the fit and its errors).
_A100_CLASS = Efficiency(matmul=0.68)
_H100_CLASS = Efficiency(matmul=0.50)
_910B_CLASS = Efficiency(matmul=0.54)

_TABLE = (
    # NVIDIA data sheets: bf16 dense TFLOP/s, HBM, TB/s.
    Device("a100-80g", 312 * TERA, 80 * GIB, 2.0 * TERA, _NVLINK_A100, _A100_CLASS),
    Device("a100-40g", 312 * TERA, 40 * GIB, 1.555 * TERA, _NVLINK_A100, _A100_CLASS),
    Device("h100-80g", 989 * TERA, 80 * GIB, 3.35 * TERA, _NVLINK_H100, _H100_CLASS),
    # torchtitan's benchmark machines: H100 with 96 GB of HBM2e at 2.4 TB/s (its performance page).
    Device("h100-96g", 989 * TERA, 96 * GIB, 2.4 * TERA, _NVLINK_H100, _H100_CLASS),
    Device("h800-80g", 989 * TERA, 80 * GIB, 3.35 * TERA, _NVLINK_H800, _H100_CLASS),
    # Ascend: cube cores x clock gives 353.8, 294.9, 245.7 (marketed 376, 313, 280).
    Device("910b2", 353.8 * TERA, 64 * GIB, 1.6 * TERA, _HCCS, _910B_CLASS),
    Device("910b3", 294.9 * TERA, 64 * GIB, 1.6 * TERA, _HCCS, _910B_CLASS),
    Device("910b4", 245.7 * TERA, 32 * GIB, 0.8 * TERA, _HCCS, _910B_CLASS),
    Device("910c", 752 * TERA, 128 * GIB, 3.2 * TERA, _HCCS_SWITCH, _910B_CLASS),
)
DEVICES = {device.name: device for device in _TABLE}


def device(name: str) -> Device:
    """The device called `name`; MsptError with the nearest names when there is none."""
    found = DEVICES.get(name.lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), DEVICES, n=1)
        guess = f"Did you mean {near[0]}? " if near else ""
        raise MsptError(f"unknown device {name!r}", f"{guess}Known: {', '.join(DEVICES)}.")
    return found

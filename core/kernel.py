"""Compiled loops: numba's `njit` with a type that survives it, and the integer mixing that all of them share.

Kernels use integer arithmetic only, so that their results are the same bits on every machine. In numba a uint64 that meets an int64 becomes a
float64: constants are therefore typed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

_FMIX64_MULTIPLIER_1 = np.uint64(0xFF51AFD7ED558CCD)
_FMIX64_MULTIPLIER_2 = np.uint64(0xC4CEB9FE1A85EC53)
_FMIX32_MULTIPLIER_1 = np.uint32(0x85EBCA6B)
_FMIX32_MULTIPLIER_2 = np.uint32(0xC2B2AE35)
_SHIFT_33 = np.uint64(33)


def kernel(function: Function) -> Function:
    """Compile `function` at its first call and keep the machine code on disk (0.25 s cold, 0.03 s warm in a spawned worker).

    numba finds stale code by the date of the kernel's own file: whoever changes a kernel or a constant that kernels of other files use deletes their
    __pycache__ too.
    """
    return cast("Function", numba.njit(cache=True)(function))


def part(function: Function) -> Function:
    """Compile `function` as a part of the kernels that call it, for their inner loops: a call takes 5 to 20 ns to count references to arrays."""
    return cast("Function", numba.njit(cache=True, forceinline=True)(function))


@kernel
def fmix64(value: np.uint64) -> np.uint64:
    """MurmurHash3's 64-bit finaliser (A. Appleby, public domain): a bijection in which each input bit moves each output bit."""
    value = (value ^ (value >> _SHIFT_33)) * _FMIX64_MULTIPLIER_1
    value = (value ^ (value >> _SHIFT_33)) * _FMIX64_MULTIPLIER_2
    return value ^ (value >> _SHIFT_33)


@kernel
def fmix32(value: np.uint32) -> np.uint32:
    """MurmurHash3's 32-bit finaliser."""
    value = np.uint32((value ^ (value >> np.uint32(16))) * _FMIX32_MULTIPLIER_1)
    value = np.uint32((value ^ (value >> np.uint32(13))) * _FMIX32_MULTIPLIER_2)
    return np.uint32(value ^ (value >> np.uint32(16)))

"""Compiled loops: numba's `njit` with a type that survives it, and the integer mixing that all of them share.

Kernels use integer arithmetic only, so that their results are the same bits on every machine. In numba a uint64 that meets an int64 becomes a
float64: constants are therefore typed.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
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


def _without_blas() -> None:
    """numba's own loading without SciPy's linear algebra, which it imports only to learn whether kernels may multiply matrices: a tenth of a second in each
    worker, and these kernels use integers."""
    name = "scipy.linalg.cython_blas"
    if name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # what makes an import fail
    try:
        importlib.import_module("numba.np.arraymath")
    finally:
        del sys.modules[name]


_without_blas()


def kernel(function: Function) -> Function:
    """Compile `function` at its first call and keep the machine code on disk (0.25 s cold, 0.03 s warm in a spawned worker)."""
    return cast("Function", _cached(numba.njit(function)))


def part(function: Function) -> Function:
    """Compile `function` as a part of the kernels that call it, for their inner loops: a call takes 5 to 20 ns to count references to arrays."""
    return cast("Function", _cached(numba.njit(forceinline=True)(function)))


def _cached(dispatcher: Any) -> Any:
    """numba takes machine code on disk for stale only when the kernel's own file changed. The kernels and constants of other files are compiled into it, too:
    they join the stamp, so that a change of theirs compiles it again."""
    dispatcher.enable_caching()
    file = dispatcher._cache._cache_file
    file._source_stamp = (file._source_stamp, _digest(dispatcher.py_func))
    return dispatcher


def _digest(function: Any, above: tuple[Any, ...] = ()) -> str:
    """Of the code of a function and of all that it names outside of itself. above: functions that it is being named by."""
    code = function.__code__
    digest = hashlib.sha256(_code(code))
    for name in sorted(code.co_names):
        digest.update(f"{name}={_value(function.__globals__.get(name), (*above, function))};".encode())
    return digest.hexdigest()


def _code(code: Any) -> bytes:
    """Instructions and constants, without places in memory or in files."""
    constants = (_code(c) if hasattr(c, "co_code") else repr(sorted(c, key=repr)) if isinstance(c, frozenset) else repr(c) for c in code.co_consts)
    return repr((code.co_code, code.co_varnames, *constants)).encode()


def _value(value: Any, above: tuple[Any, ...]) -> str:
    """What of a global value is compiled into a kernel."""
    if (function := getattr(value, "py_func", None)) is not None:
        return "itself" if function in above else _digest(function, above)
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.tobytes() + str((value.dtype, value.shape)).encode()).hexdigest()
    return f"{type(value).__name__} {value!r}" if isinstance(value, int | float | np.generic | tuple | bytes | str) else type(value).__name__


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

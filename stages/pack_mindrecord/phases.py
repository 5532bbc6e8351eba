"""Phases of a mixture in mspt.toml.

[[pack-mindrecord.mixture.phase]]
until_tokens = "8B"
shares = { web = 0.7, books = 0.3 }

[[pack-mindrecord.mixture.phase]]      # the last one may leave until_tokens out: target_tokens, or what the corpus has
shares = { web = 0.2, books = 0.8 }
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mspt.core.config import parse_count
from mspt.core.errors import MsptError

if TYPE_CHECKING:
    from mspt.core.tokens.mixture import MixtureSettings, Phase
    from mspt.stages.pack_mindrecord import PackMindrecordConfig


@dataclass(frozen=True)
class PhaseTable:
    """One phase: up to how many tokens of the whole run, and the share of some sources."""

    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    until_tokens: int | None = None
    shares: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class MixtureTable:
    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

    phase: tuple[PhaseTable, ...] = ()


def parse_mixture(value: Any) -> Any:
    """A table as TOML gives it, or the same as JSON on the command line; until_tokens may be written 2B."""
    value = json.loads(value) if isinstance(value, str) else value
    if not isinstance(value, Mapping) or not isinstance(value.get("phase", []), Sequence):
        return value
    phases = [{**p, "until_tokens": parse_count(p["until_tokens"])} if isinstance(p, Mapping) and "until_tokens" in p else p for p in value.get("phase", [])]
    return {**value, "phase": phases}


def mixture_settings(config: PackMindrecordConfig) -> MixtureSettings:
    """What the settings say about the mixture. Raises MsptError where they contradict each other."""
    from mspt.core.tokens.mixture import MixtureSettings, Phase

    table = config.mixture.phase if config.mixture is not None else ()
    shares = parse_pairs("shares", config.shares)
    if table and shares:
        raise MsptError("shares and mixture.phase both say what is drawn", "give the shares of each phase in its table")
    if table and config.weights == "off":
        raise MsptError("weights = off draws every document once: there are no phases then", "leave mixture.phase out, or weights on")
    return MixtureSettings(
        phases=phases_of(table, config.target_tokens) if table else (Phase(config.target_tokens, shares),),
        max_epochs=config.max_epochs,
        source_epochs=parse_pairs("source_epochs", config.source_epochs),
        use_weights=config.weights == "on",
        seed=config.seed,
    )


def phases_of(table: Sequence[PhaseTable], total: int | None) -> tuple[Phase, ...]:
    """Phases with the tokens of each. The bounds must rise."""
    from mspt.core.tokens.mixture import Phase

    bounds = [phase.until_tokens for phase in table]
    bounds[-1] = total if bounds[-1] is None else bounds[-1]
    known = [0, *(b for b in bounds if b is not None)]
    if None in bounds[:-1] or any(b <= a for a, b in itertools.pairwise(known)):
        raise MsptError(
            f"mixture.phase: until_tokens {', '.join('none' if b is None else f'{b:,}' for b in bounds)} do not rise",
            "each phase ends behind the one before; only the last may leave it out (then target_tokens counts, or what the corpus has)",
        )
    starts = [0, *bounds[:-1]]
    return tuple(
        Phase(None if end is None else end - (start or 0), tuple(sorted(phase.shares.items()))) for phase, start, end in zip(table, starts, bounds, strict=True)
    )


def parse_pairs(name: str, values: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """("web=0.6", "books=0.4") -> (("web", 0.6), ("books", 0.4))."""
    pairs: dict[str, float] = {}
    for value in values:
        source, _, number = value.partition("=")
        try:
            found = float(number)
        except ValueError:
            found = float("nan")
        if not 0 <= found < float("inf") or not source.strip():
            raise MsptError(f"{name}: {value!r} is not NAME=NUMBER", f'for example {name} = ["web=0.6"]')
        if source.strip() in pairs:
            raise MsptError(f"{name}: {source.strip()} is named twice", "name each source once")
        pairs[source.strip()] = found
    return tuple(pairs.items())

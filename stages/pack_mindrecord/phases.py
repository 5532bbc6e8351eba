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


EXAMPLES = {"shares": "web=0.6", "source_epochs": "web=2", "mask_rates": "h1=0.3"}


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
    """A table as TOML gives it, or the same as JSON on the command line; until_tokens may be written 2B. ValueError says what is wrong in it."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"not JSON: {error}") from None
    phases = _known_keys(value, "mixture", "phase").get("phase", [])
    if not isinstance(phases, Sequence) or isinstance(phases, str):
        raise ValueError("phase is not a list of tables")
    return {"phase": [_parse_phase(phase) for phase in phases]}


def _parse_phase(phase: Any) -> dict[str, Any]:
    found = dict(_known_keys(phase, "phase", "until_tokens", "shares"))
    for name, share in _known_keys(found.get("shares", {}), "shares").items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"the share of {name} is {share}, not a number from 0 to 1")
    return found | ({"until_tokens": parse_count(found["until_tokens"])} if "until_tokens" in found else {})


def _known_keys(value: Any, what: str, *names: str) -> Mapping[str, Any]:
    """`value`, if it is a table without keys other than `names` (none given: any)."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{what} is not a table")
    unknown = [key for key in value if names and key not in names]
    if unknown:
        raise ValueError(f"{what} has no `{unknown[0]}`, only {' and '.join(names)}")
    return value


def mixture_settings(config: PackMindrecordConfig) -> MixtureSettings:
    """What the settings say about the mixture. Raises MsptError where they contradict each other."""
    from mspt.core.tokens.mixture import MixtureSettings, Phase

    table = config.mixture.phase if config.mixture is not None else ()
    shares = parse_pairs("shares", config.shares)
    if table and shares:
        raise MsptError("shares and mixture.phase both say what is drawn", "give the shares of each phase in its table")
    if table and config.weights == "off":
        raise MsptError("weights = off draws every document once: there are no phases then", "leave mixture.phase out, or weights on")
    settings = MixtureSettings(
        phases=phases_of(table, config.target_tokens) if table else (Phase(config.target_tokens, shares),),
        max_epochs=config.max_epochs,
        source_epochs=parse_pairs("source_epochs", config.source_epochs),
        use_weights=config.weights == "on",
        seed=config.seed,
    )
    if config.weights == "on" and settings.every_document_once and (settings.source_epochs or config.max_epochs < 1):
        name = "source_epochs" if settings.source_epochs else f"max_epochs {config.max_epochs:g}"
        raise MsptError(f"{name}: without a mixture every document is drawn once", "add --target-tokens or --shares, or leave it out")
    return settings


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
            raise MsptError(f"{name}: {value!r} is not NAME=NUMBER", f'for example {name} = ["{EXAMPLES[name]}"]')
        if source.strip() in pairs:
            raise MsptError(f"{name}: {source.strip()} is named twice", "name each source once")
        pairs[source.strip()] = found
    return tuple(pairs.items())

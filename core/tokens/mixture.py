"""How often each training document is drawn.

Without a target and without shares every document is drawn once. With them: target T tokens, share m_s of source s (default: its natural share),
weight w_d > 0 of document d inside its source, n_d its tokens, cap_s the most epochs of a source. Expected repetitions

    r_d = min(cap_s, T_s w_d / sum over e in s of w_e n_e),    T_s = T m_s at first

What a cap cuts off a source goes to the sources that no cap has cut, in proportion to their shares, until nothing is cut or nobody can take
more. Systematic sampling on a seeded order then draws floor(r_d) or ceil(r_d) copies, so that each source gets the planned number of documents
to within one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mspt.core.errors import MsptError
from mspt.core.tokens.split import order_key

# Muennighoff et al. 2023 (Scaling Data-Constrained Language Models): up to 4 epochs repeated tokens are nearly as good as new ones.
DEFAULT_MAX_EPOCHS = 4.0
# Repetitions are summed as integers of 2^-30, so that the draw is exact and the same everywhere.
_FRACTION_BITS = 30
_SHARE_TOLERANCE = 1e-6

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MixtureSettings:
    """`target_tokens` and `shares` are what a person asks for; both empty: every document once."""

    target_tokens: int | None = None
    shares: tuple[tuple[str, float], ...] = ()
    max_epochs: float = DEFAULT_MAX_EPOCHS
    source_epochs: tuple[tuple[str, float], ...] = ()  # other caps for some sources
    use_weights: bool = True
    seed: int = 0

    @property
    def every_document_once(self) -> bool:
        return not self.use_weights or (self.target_tokens is None and not self.shares)


@dataclass(frozen=True)
class SourceReport:
    """One source of the mixture, in tokens. `epochs` = realised / available."""

    source: str
    documents: int
    available: int
    share: float
    wanted: int
    realised: int
    epochs: float
    left_out: int  # documents drawn zero times

    def report(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Mixture:
    """`copies[d]` (int64) and what it means per source."""

    copies: Ints
    sources: tuple[SourceReport, ...]


@dataclass(frozen=True)
class Corpus:
    """The training documents, one entry each: code of the source, tokens, weight, and a seeded order key (split.order_key)."""

    names: tuple[str, ...]
    codes: Ints
    num_tokens: Ints
    weights: Floats
    order_keys: npt.NDArray[np.uint64]


def draw(corpus: Corpus, settings: MixtureSettings) -> Mixture:
    """Copies of every document.

    Raises:
        MsptError: a share names no source, shares do not fit in 1, or a weight is not positive.
    """
    available: Floats = np.bincount(corpus.codes, weights=corpus.num_tokens, minlength=len(corpus.names)).astype(np.float64)
    total = float(available.sum())
    shares = _shares(corpus.names, available, dict(settings.shares))
    caps = _caps(corpus.names, settings)
    if settings.every_document_once or total == 0:
        return Mixture(np.ones(len(corpus.codes), dtype=np.int64), _report(corpus, available, available, np.ones_like(corpus.codes)))
    _check_weights(corpus)
    wanted = float(settings.target_tokens or total) * shares
    repetitions = _expected_repetitions(corpus, wanted, shares, caps)
    copies = _systematic(repetitions, corpus, settings.seed)
    return Mixture(copies, _report(corpus, available, wanted, copies))


def _shares(names: tuple[str, ...], available: Floats, named: Mapping[str, float]) -> Floats:
    """[sources]; what `named` leaves of 1 goes to the other sources by their natural share."""
    _check_known("shares", named, names)
    rest = 1.0 - sum(named.values())
    others = np.array([0.0 if name in named else float(size) for name, size in zip(names, available, strict=True)])
    if rest < -_SHARE_TOLERANCE or (rest > _SHARE_TOLERANCE and others.sum() == 0) or any(s < 0 for s in named.values()):
        raise MsptError(
            f"shares: {', '.join(f'{n} = {s:g}' for n, s in sorted(named.items()))} sum to {1 - rest:g}",
            "shares are >= 0 and sum to 1, or to less where other sources take the rest",
        )
    natural = others / others.sum() if others.sum() else others
    return np.array([named.get(name, max(rest, 0.0) * part) for name, part in zip(names, natural, strict=True)])


def _caps(names: tuple[str, ...], settings: MixtureSettings) -> Floats:
    """[sources] the most epochs of each."""
    named = dict(settings.source_epochs)
    _check_known("source_epochs", named, names)
    caps = np.array([named.get(name, settings.max_epochs) for name in names], dtype=np.float64)
    if (caps <= 0).any():
        raise MsptError(f"source_epochs: {names[int(np.argmin(caps))]} = {caps.min():g}", "epochs are > 0; leave a source out with a share of 0")
    return caps


def _check_known(setting: str, named: Mapping[str, float], names: tuple[str, ...]) -> None:
    unknown = sorted(set(named) - set(names))
    if unknown:
        raise MsptError(f"{setting}: there is no source {unknown[0]!r}", f"the sources are {', '.join(names)}")


def _check_weights(corpus: Corpus) -> None:
    bad = np.flatnonzero(~(np.isfinite(corpus.weights) & (corpus.weights > 0)))
    if len(bad):
        source = corpus.names[int(corpus.codes[bad[0]])]
        raise MsptError(
            f"{len(bad)} documents have a weight that is not a positive number (the first in source {source})",
            "weights are > 0 (mspt score writes such ones); --weights off packs every document once",
        )


def _expected_repetitions(corpus: Corpus, wanted: Floats, shares: Floats, caps: Floats) -> Floats:
    """r_d of every document after the caps' cuts went round."""
    mass: Floats = np.bincount(corpus.codes, weights=corpus.weights * corpus.num_tokens, minlength=len(corpus.names)).astype(np.float64)
    scale = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
    targets = wanted.copy()
    was_cut = np.zeros(len(corpus.names), dtype=np.bool_)
    while True:
        repetitions: Floats = np.minimum(caps[corpus.codes], (targets * scale)[corpus.codes] * corpus.weights)
        realised = np.bincount(corpus.codes, weights=repetitions * corpus.num_tokens, minlength=len(corpus.names))
        cut = targets - realised
        newly = (cut > 0.5) & ~was_cut  # half a token: rounding is not a cut
        was_cut |= newly
        takers = np.where(was_cut, 0.0, shares)
        total = math.fsum(takers)
        if not newly.any() or total == 0:
            return repetitions
        surplus = math.fsum(cut[newly])
        targets = np.where(newly, realised, targets) + surplus * takers / total


def _systematic(repetitions: Floats, corpus: Corpus, seed: int) -> Ints:
    """floor or ceil of each r_d: points at equal steps along the documents, laid out by source in seeded order."""
    order = np.lexsort((corpus.order_keys, corpus.codes))
    units = np.rint(repetitions[order] * (1 << _FRACTION_BITS)).astype(np.int64)
    ends = np.cumsum(units)
    start = order_key(seed, "systematic sampling") & ((1 << _FRACTION_BITS) - 1)
    crossed = (ends + start) >> _FRACTION_BITS
    copies = np.empty(len(order), dtype=np.int64)
    copies[order] = np.diff(crossed, prepend=start >> _FRACTION_BITS)
    return copies


def _report(corpus: Corpus, available: Floats, wanted: Floats, copies: Ints) -> tuple[SourceReport, ...]:
    realised = np.bincount(corpus.codes, weights=copies * corpus.num_tokens, minlength=len(corpus.names))
    documents = np.bincount(corpus.codes, minlength=len(corpus.names))
    left_out = np.bincount(corpus.codes[copies == 0], minlength=len(corpus.names))
    total = float(realised.sum()) or 1.0
    return tuple(
        SourceReport(
            source=name,
            documents=int(documents[i]),
            available=int(available[i]),
            share=float(realised[i]) / total,
            wanted=round(float(wanted[i])),
            realised=int(realised[i]),
            epochs=float(realised[i]) / float(available[i]) if available[i] else 0.0,
            left_out=int(left_out[i]),
        )
        for i, name in enumerate(corpus.names)
    )

"""How often each training document is drawn.

Without a target and without shares every document is drawn once. With them: target T tokens, share m_s of source s (default: its natural share),
weight w_d > 0 of document d inside its source, n_d its tokens, cap_s the most epochs of a source. Expected repetitions

    r_d = min(cap_s, x_s w_d),    x_s = T m_s / sum over e in s of w_e n_e at first

What a cap cuts off a source goes to the sources that no cap has cut, in proportion to their shares, until nothing is cut or nobody can take
more. Systematic sampling on a seeded order then draws floor(r_d) or ceil(r_d) copies, so that each source gets the planned number of documents
to within one.

Phases have targets and shares of their own; caps and repetitions count over all of them. R_i being the repetitions up to phase i, it draws
floor(R_i + u_d) - floor(R_(i-1) + u_d) copies, with u_d from the golden ratio's sequence (spread evenly over every stretch): what one phase leaves out, the
next one takes first.

A mixture is a handful of numbers for each source. Documents stream past in chunks: once to weigh them, again where a cap might cut, once to be drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from mspt.core.errors import MsptError
from mspt.core.tokens.split import order_key

# Muennighoff et al. 2023 (Scaling Data-Constrained Language Models): up to 4 epochs repeated tokens are nearly as good as new ones.
DEFAULT_MAX_EPOCHS = 4.0
MOST_EPOCHS = 1000  # each time that a document is drawn takes memory
# Repetitions are summed as integers of 2^-30, so that the draw is exact and the same everywhere.
_FRACTION_BITS = 30
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio
_SHARE_TOLERANCE = 1e-6

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Phase:
    """A stretch of the run: tokens to draw (None: what the corpus has, or is left of it) and shares of some sources."""

    target_tokens: int | None = None
    shares: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class MixtureSettings:
    """What a person asks for; one phase without target and shares: every document once."""

    phases: tuple[Phase, ...] = (Phase(),)
    max_epochs: float = DEFAULT_MAX_EPOCHS
    source_epochs: tuple[tuple[str, float], ...] = ()  # other caps for some sources
    use_weights: bool = True
    seed: int = 0

    @property
    def every_document_once(self) -> bool:
        return not self.use_weights or self.phases == (Phase(),)


@dataclass(frozen=True)
class Chunk:
    """Some documents of one source, in order, [n] each: tokens, weights, and seeded order keys (split.order_key)."""

    code: int
    num_tokens: Ints
    weights: Floats
    order_keys: npt.NDArray[np.uint64]


class Corpus(Protocol):
    """The training documents."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def chunks(self) -> Iterator[Chunk]: ...


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

    def plain(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Weighed:
    """What one pass found, [sources] each."""

    documents: Ints
    available: Ints  # tokens
    mass: Floats  # sum of weight x tokens
    heaviest: Floats  # largest weight


class Mixture:
    """Settings fitted to a corpus: `scale[phase, source]` and `cap[source]` say how often any document is to be repeated.

    Raises:
        MsptError: a name is no source, shares do not fit in 1, or a weight is not positive.
    """

    def __init__(self, corpus: Corpus, settings: MixtureSettings) -> None:
        self.corpus = corpus
        self.settings = settings
        self.weighed = weigh(corpus, check_weights=not settings.every_document_once)
        self.cap = _caps(corpus.names, settings)
        self.scale = np.zeros((len(settings.phases), len(corpus.names)))
        self.wanted = np.zeros_like(self.scale)
        if settings.every_document_once:
            self.wanted[0] = self.weighed.available
        else:
            self._fit()

    def repetitions(self, code: int, weights: Floats, phases: int) -> Floats:
        """[phases + 1, n] expected repetitions before the first phase, up to the first, ..."""
        sums = np.zeros((phases + 1, len(weights)))
        for i in range(phases):
            sums[i + 1] = sums[i] + np.minimum(self.cap[code] - sums[i], self.scale[i, code] * weights)
        return sums

    def draw(self) -> Iterator[tuple[Chunk, Ints]]:
        """Each chunk with the copies of its documents in each phase, int64 [phases, n]."""
        start = order_key(self.settings.seed, "systematic sampling")
        carry, rank = start & ((1 << _FRACTION_BITS) - 1), 0
        for chunk in self.corpus.chunks():
            order = np.argsort(chunk.order_keys, kind="stable")
            copies = np.ones((len(self.settings.phases), len(order)), dtype=np.int64)
            if not self.settings.every_document_once:
                sums = self.repetitions(chunk.code, chunk.weights[order], len(self.settings.phases))
                units = np.rint(sums * (1 << _FRACTION_BITS)).astype(np.int64)
                if len(units) == 2:
                    crossed = carry + np.cumsum(units[1])
                    copies[0, order] = np.diff(crossed >> _FRACTION_BITS, prepend=carry >> _FRACTION_BITS)
                    carry = int(crossed[-1]) & ((1 << _FRACTION_BITS) - 1) if len(crossed) else carry
                else:
                    copies[:, order] = np.diff((units + _golden(start, rank, len(order))) >> _FRACTION_BITS, axis=0)
            rank += len(order)
            yield chunk, copies

    # --- fitting -----------------------------------------------------------------------------------------------------

    def _fit(self) -> None:
        """Scales of every phase, after the caps' cuts went round."""
        total, before = float(self.weighed.available.sum()), 0.0
        for i, phase in enumerate(self.settings.phases):
            shares = _shares(self.corpus.names, self.weighed.available, dict(phase.shares))
            target = float(phase.target_tokens) if phase.target_tokens is not None else max(0.0, total - before)
            before += target
            self.wanted[i] = target * shares
            self._fit_phase(i, shares)

    def _fit_phase(self, i: int, shares: Floats) -> None:
        targets = self.wanted[i].copy()
        mass = self.weighed.mass
        was_cut = np.zeros(len(targets), dtype=np.bool_)
        while True:
            self.scale[i] = np.divide(targets, mass, out=np.zeros_like(mass), where=mass > 0)
            realised = self._realised(i, targets)
            cut = targets - realised
            newly = (cut > 0.5) & ~was_cut  # half a token: rounding is not a cut
            was_cut |= newly
            takers = np.where(was_cut, 0.0, shares)
            total = math.fsum(takers)
            if not newly.any() or total == 0:
                return
            surplus = math.fsum(cut[newly])
            targets = targets + surplus * takers / total  # a source that was cut keeps its scale: what it gives is its cap

    def _realised(self, i: int, targets: Floats) -> Floats:
        """[sources] tokens that phase i draws with these scales; read from the documents only where a cap might cut."""
        most = sum(self.scale[j] * self.weighed.heaviest for j in range(i + 1))
        if (most <= self.cap).all():
            return targets
        found = np.zeros_like(targets)
        for chunk in self.corpus.chunks():
            sums = self.repetitions(chunk.code, chunk.weights, i + 1)
            found[chunk.code] += _sum((sums[i + 1] - sums[i]) * chunk.num_tokens)
        return found


def _golden(start: int, rank: int, count: int) -> Ints:
    """[count] fractions of 2^30: frac(start + k / golden ratio) for k from `rank` on."""
    with np.errstate(over="ignore"):
        ranks = np.arange(rank, rank + count, dtype=np.uint64) * np.uint64(_GOLDEN) + np.uint64(start)
    fractions: Ints = (ranks >> np.uint64(64 - _FRACTION_BITS)).astype(np.int64)
    return fractions


def _sum(values: Floats) -> float:
    """One after another, so that the last bit is the same on every machine."""
    return float(np.bincount(np.zeros(len(values), dtype=np.int64), weights=values, minlength=1)[0])


def weigh(corpus: Corpus, *, check_weights: bool) -> Weighed:
    """One pass over the corpus. Raises MsptError where a weight is not positive."""
    number = len(corpus.names)
    found = Weighed(np.zeros(number, np.int64), np.zeros(number, np.int64), np.zeros(number), np.zeros(number))
    bad: dict[int, int] = {}
    for chunk in corpus.chunks():
        wrong = int((~(np.isfinite(chunk.weights) & (chunk.weights > 0))).sum()) if check_weights else 0
        if wrong:
            bad[chunk.code] = bad.get(chunk.code, 0) + wrong
        found.documents[chunk.code] += len(chunk.num_tokens)
        found.available[chunk.code] += int(chunk.num_tokens.sum())
        found.mass[chunk.code] += _sum(chunk.weights * chunk.num_tokens)
        found.heaviest[chunk.code] = max(found.heaviest[chunk.code], chunk.weights.max(initial=0.0))
    if bad:
        raise MsptError(
            f"{sum(bad.values())} documents have a weight that is not a positive number (the first in source {corpus.names[min(bad)]})",
            "weights are > 0 (mspt score writes such ones); --weights off packs every document once",
        )
    return found


def _shares(names: tuple[str, ...], available: Ints, named: Mapping[str, float]) -> Floats:
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
    wrong = np.flatnonzero(~((caps > 0) & (caps <= MOST_EPOCHS)))
    if len(wrong):
        raise MsptError(f"epochs: {names[wrong[0]]} = {caps[wrong[0]]:g}", f"epochs are > 0 and <= {MOST_EPOCHS:,}; leave a source out with a share of 0")
    return caps


def _check_known(setting: str, named: Mapping[str, float], names: tuple[str, ...]) -> None:
    unknown = sorted(set(named) - set(names))
    if unknown:
        raise MsptError(f"{setting}: there is no source {unknown[0]!r}", f"the sources are {', '.join(names)}")


class Tally:
    """Adds up what was drawn."""

    def __init__(self, mixture: Mixture) -> None:
        self.mixture = mixture
        self.realised = np.zeros(mixture.wanted.shape, dtype=np.int64)
        self.left_out = np.zeros(mixture.wanted.shape[1], dtype=np.int64)

    def add(self, chunk: Chunk, copies: Ints) -> None:
        self.realised[:, chunk.code] += copies @ chunk.num_tokens
        self.left_out[chunk.code] += int((copies.sum(axis=0) == 0).sum())

    def report(self, phase: int | None = None) -> list[SourceReport]:
        """By source, of one phase or of all together; `left_out` is always of all."""
        rows = slice(None) if phase is None else slice(phase, phase + 1)
        realised, wanted = self.realised[rows].sum(axis=0), self.mixture.wanted[rows].sum(axis=0)
        total = float(realised.sum()) or 1.0
        weighed = self.mixture.weighed
        return [
            SourceReport(
                source=name,
                documents=int(weighed.documents[i]),
                available=int(weighed.available[i]),
                share=float(realised[i]) / total,
                wanted=round(float(wanted[i])),
                realised=int(realised[i]),
                epochs=float(realised[i]) / float(weighed.available[i]) if weighed.available[i] else 0.0,
                left_out=int(self.left_out[i]),
            )
            for i, name in enumerate(self.mixture.corpus.names)
        ]

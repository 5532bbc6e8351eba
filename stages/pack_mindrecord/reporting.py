"""Figures for `mspt show`, and the warnings that they call for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mspt.core.stage import Job
    from mspt.core.tokens.leakage import Leakage
    from mspt.core.tokens.split import Split
    from mspt.stages.pack_mindrecord import PackMindrecordConfig
    from mspt.stages.pack_mindrecord.choosing import Drawn
    from mspt.stages.pack_mindrecord.planning import Plan, RowSet

# A row whose documents are mostly this much shorter than it learns little about long context.
SHORT_DOCUMENT = 8
AT_LIMIT = 0.98  # of the wanted tokens, and of the limit: whole documents are drawn, so that neither is met exactly
USUAL_SHARES = (0.001, 0.05)  # of validation, in practice


def report(job: Job[PackMindrecordConfig], drawn: Drawn, split: Split, leakage: Leakage, plan: Plan | None) -> None:
    """Everything that was found out, into the artifact's stats."""
    held = sum(figures["tokens"] for figures in drawn.held.values())
    total = int(drawn.positions.sum())
    short_share = drawn.short_tokens / total if total else 0.0
    job.stats |= {
        "tokens": {"train": total, "validation": held},
        "mixture": {source.source: source.plain() for source in drawn.tally.report()},
        "tokens_by_document_length": {f"<= {2**i}": int(n) for i, n in enumerate(drawn.lengths) if n},
        "longest_document": drawn.longest,
        "short_document_share": round(short_share, 4),
        "validation": drawn.held,
        "validation_token_share": round(held / (held + total), 6) if held + total else 0.0,
        "thin_sources": list(split.thin),
        "leakage": {
            "validation_documents": leakage.validation,
            "compared": leakage.compared,
            "left_out_of_training": leakage.documents,
            "left_out_tokens": leakage.tokens,
            "in_both": 0,
        },
    }
    if drawn.num_phases > 1:
        job.stats["phases"] = phases(drawn, plan)
    if plan is not None:
        job.stats |= rows(job, plan)
    warn(job, drawn, split, leakage, short_share)


def phases(drawn: Drawn, plan: Plan | None) -> list[dict[str, Any]]:
    """Each phase by source, and the row that it begins with."""
    found = []
    for i in range(drawn.num_phases):
        sources = {s.source: {"wanted": s.wanted, "realised": s.realised, "share": round(s.share, 6)} for s in drawn.tally.report(i)}
        found.append({"tokens": int(drawn.positions[i]), **({"first_row": plan.phase_starts[i]} if plan and len(plan.train) == 1 else {}), "sources": sources})
    return found


def rows(job: Job[PackMindrecordConfig], plan: Plan) -> dict[str, Any]:
    """Rows, padding and cuts by split; of mlm also by row length."""
    splits = {"train": plan.train, "validation": plan.validation}
    padding = {name: padding_ratio(sets, job.config.objective == "mlm") for name, sets in splits.items()}
    if job.config.objective == "causal" and padding["train"] > max(job.config.max_padding, 0.005) and sum(s.plan.num_rows for s in plan.train) > 100:
        job.warn(f"{padding['train']:.1%} of the training rows is padding: rows list at most {job.config.max_documents} segments (--max-documents)")
    counts = {name: sum(s.plan.num_rows for s in sets) for name, sets in splits.items()}
    found: dict[str, Any] = {"rows": counts, "padding_ratio": {name: round(ratio, 6) for name, ratio in padding.items()}}
    if job.config.objective == "mlm":
        return found | {"rows_by_length": {str(s.length): s.plan.num_rows for s in plan.train}}
    train = plan.train[0].plan
    return found | {
        "documents_cut": {name: sets[0].plan.cut for name, sets in splits.items()},
        "cut_token_share": round(train.cut_tokens / max(1, train.positions), 6),
        "segments_per_row": round(train.segments / train.num_rows, 3),
    }


def padding_ratio(sets: Sequence[RowSet], specials: bool) -> float:
    """Share of all positions that hold nothing."""
    size = sum(s.plan.num_rows * s.length for s in sets)
    used = sum(s.plan.positions + (2 * s.plan.num_rows if specials else 0) for s in sets)
    return 1 - used / size if size else 0.0


def warn(job: Job[PackMindrecordConfig], drawn: Drawn, split: Split, leakage: Leakage, short_share: float) -> None:
    config = job.config
    if short_share > 0.5:
        job.warn(f"{short_share:.0%} of the tokens come from documents shorter than an eighth of a row ({config.seq_length // SHORT_DOCUMENT} tokens)")
    if split.thin:
        job.warn(f"too little text for a validation row: {', '.join(split.thin)}")
    if config.validation_share and not USUAL_SHARES[0] <= config.validation_share <= USUAL_SHARES[1]:
        job.warn(f"validation_share {config.validation_share:g} is outside {USUAL_SHARES[0]:g} to {USUAL_SHARES[1]:g}")
    if leakage.documents:
        job.warn(f"{leakage.documents:,} training documents are word for word in validation and were left out: remove copies with mspt dedup")
    for source, cap in zip(drawn.tally.report(), drawn.tally.mixture.cap.tolist(), strict=True):
        if source.realised < AT_LIMIT * source.wanted and source.epochs >= AT_LIMIT * cap:
            short = f"{source.realised:,} of {source.wanted:,} tokens that its share asks for"
            job.warn(f"{source.source}: {short}: every document is drawn {cap:g} times, the limit (--max-epochs, --source-epochs)")

"""What `mspt show` says of a tokenizer (gate, held-out text, probe sets, comparison, sweep) and of tokens (by source, language and length)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mspt.cli.views.render import bar, heading, percent, safe, table, text

if TYPE_CHECKING:
    from rich.console import RenderableType

OWN_OF_TOKENIZER = ("held_out", "probes", "unused_pieces", "comparison", "sweep")
OWN_OF_TOKENS = ("sources", "languages", "tokens_by_document_length")
MAX_SHOWN = 60  # characters of a list of pieces


def report(stats: Mapping[str, Any], *, everything: bool) -> tuple[list[RenderableType], dict[str, Any]]:
    """Blocks for `mspt show` of a tokenizer, and the statistics that they do not show. `everything`: every source in every language."""
    blocks = _held_out(stats["held_out"], everything) if "held_out" in stats else []
    blocks += _probes(stats.get("probes", {})) + _unused(stats.get("unused_pieces", {}))
    blocks += _comparison(stats.get("comparison", {})) + _sweep(stats.get("sweep", []))
    rest = {name: value for name, value in stats.items() if name not in OWN_OF_TOKENIZER}
    vocabulary = stats["tokenizer"]
    return blocks, rest | {"tokenizer": vocabulary | {"longest_pieces": list(map(_written, vocabulary.get("longest_pieces", [])))}}


def report_tokens(stats: Mapping[str, Any]) -> tuple[list[RenderableType], dict[str, Any]]:
    """The same for an artifact of tokens."""
    blocks: list[RenderableType] = []
    for what in ("sources", "languages"):
        columns = [what[:-1], "documents", "tokens", "share", "bytes/token"]
        rows = [
            [safe(name), f"{r['documents']:,}", f"{r['tokens']:,}", percent(r["token_share"]), f"{r['bytes_per_token']:.2f}"] for name, r in stats[what].items()
        ]
        blocks += [heading(f"tokens by {what[:-1]}"), table(columns, rows, right=columns[1:])]
    widest = max((r["token_share"] for r in stats["tokens_by_document_length"].values()), default=0) or 1
    columns = ["tokens of a document", "documents", "tokens", "share", ""]
    lengths = stats["tokens_by_document_length"].items()
    rows = [[name, f"{r['documents']:,}", f"{r['tokens']:,}", percent(r["token_share"]), bar(r["token_share"] / widest, 20)] for name, r in lengths]
    blocks += [heading("tokens by length of document"), table(columns, rows, right=columns[:4])]
    return blocks, {name: value for name, value in stats.items() if name not in OWN_OF_TOKENS}


# --- held-out text -----------------------------------------------------------------------------------------------------


def _held_out(found: Mapping[str, Any], everything: bool) -> list[RenderableType]:
    verdicts = {verdict["language"]: verdict for verdict in found["verdicts"]}
    state = "passed" if found["passed"] else "FAILED (published by --force, or adopted)"
    if not any(verdict["judged"] for verdict in found["verdicts"]):
        state = "nothing judged: too little held-out text"
    rule = f"at most {found['limit']:.1%} of a language's characters may lack a piece of their own"
    columns = ["language", "characters", "no piece", "gate"]
    rows = [[safe(name), f"{r['characters']:,}", f"{r['without_piece_ratio']:.3%}", _state(verdicts.get(name))] for name, r in found["languages"].items()]
    rows += [[safe(name), "0", "", "no held-out text"] for name in found.get("languages_without_text", [])]
    blocks: list[RenderableType] = [heading(f"gate: {state}"), text(rule, "dim"), table(columns, rows, right=columns[1:3])]
    measures = [(safe(name), r) for name, r in found["languages"].items()] + [(safe(name), r) for name, r in found["sources"].items()]
    if everything:
        measures += [(f"{safe(r['source'])}, {safe(r['language'])}", r) for r in found.get("sources_and_languages", [])]
    columns = ["held-out text", "char /tok", "byte /tok", "tok /word", "no piece", "bytes", "unk", "lost"]
    rows = [[name, *_figures(r)] for name, r in measures]
    notes = ("tok/word: a Han character is a word; bytes: share of byte pieces;", "lost: documents that do not come back as they were")
    return [*blocks, table(columns, rows, right=columns[1:], clip=columns[:1]), *(text(note, "dim") for note in notes)]


def _figures(row: Mapping[str, Any]) -> list[str]:
    ratios = (f"{row['characters_per_token']:.2f}", f"{row['bytes_per_token']:.2f}", f"{row['fertility']:.2f}")
    return [*ratios, f"{row['without_piece_ratio']:.3%}", f"{row['byte_piece_ratio']:.2%}", f"{row['unk']:,}", f"{row['round_trip_losses']:,}"]


def _state(verdict: Mapping[str, Any] | None) -> str:
    if verdict is None:
        return "not asked for"
    return "too little text" if not verdict["judged"] else "passed" if verdict["passed"] else "FAILED"


# --- the vocabulary ----------------------------------------------------------------------------------------------------


def _probes(sets: Mapping[str, Any]) -> list[RenderableType]:
    columns = ["probe set", "tokens", "char /tok", "no piece", "lost", "without a piece"]
    rows = [
        [name, str(r["tokens"]), f"{r['characters_per_token']:.2f}", str(r["without_piece"]), str(r["round_trip_losses"]), safe(r["first_without_piece"])]
        for name, r in sets.items()
    ]
    return [heading("probe sets"), table(columns, rows, right=columns[1:5], clip=columns[-1:])] if rows else []


def _unused(found: Mapping[str, Any]) -> list[RenderableType]:
    if not found:
        return []
    longest = "  ".join(map(_written, found["longest_unused"]))
    return [
        heading("unused pieces"),
        text(f"{found['unused']:,} of {found['pieces']:,} learnt pieces ({percent(found['unused_ratio'])}) in {found['tokens_seen']:,} tokens"),
        *([text(f"the longest: {_cut(longest)}", "dim")] if longest else []),
    ]


def _comparison(found: Mapping[str, Any]) -> list[RenderableType]:
    if not found:
        return []
    columns = ["language", "characters", "char /tok", "other's", "tokens, ours / other's", "no piece", "other's "]
    rows = [
        [safe(name), f"{r['characters']:,}", f"{r['characters_per_token']:.2f}", f"{r['other_characters_per_token']:.2f}", f"{r['tokens_ratio']:.3f}",
         f"{r['without_piece_ratio']:.3%}", f"{r['other_without_piece_ratio']:.3%}"]
        for name, r in found["languages"].items()
    ]  # fmt: skip
    return [heading(f"beside {safe(found['other'])} ({found['other_vocab_size']:,} pieces)"), table(columns, rows, right=columns[1:])]


def _sweep(sizes: Sequence[Mapping[str, Any]]) -> list[RenderableType]:
    if not sizes:
        return []
    columns = ["vocabulary", *(f"{row['vocab_size']:,}" for row in sizes)]
    rows = [["tokens", *(f"{row['tokens']:,}" for row in sizes)], ["tokens saved", *(percent(row["tokens_saved"]) for row in sizes)]]
    rows += [[f"char/tok, {safe(name)}", *(f"{row['characters_per_token'].get(name, 0):.3f}" for row in sizes)] for name in sizes[0]["characters_per_token"]]
    rows += [[f"embedding in a {name} model", *(percent(row["embedding_share"][name]) for row in sizes)] for name in sizes[0]["embedding_share"]]
    return [heading("other vocabulary sizes, the same held-out text"), table(columns, rows, right=columns[1:])]


def _written(piece: str) -> str:
    """A piece on one line."""
    return safe(piece.replace("\n", "\\n").replace("\t", "\\t"))


def _cut(value: str) -> str:
    return value if len(value) <= MAX_SHOWN else f"{value[: MAX_SHOWN - 1]}…"

"""SentencePiece models as Hugging Face tokenizers with the same ids, and the adoption of tokenizers made elsewhere.

`export` writes the files of a tokenizer directory from a SentencePiece model:

    tokenizer.model         the SentencePiece model itself
    tokenizer.json          the same tokenizer for the `tokenizers` library
    tokenizer_config.json   tokenizer_class PreTrainedTokenizerFast (LlamaTokenizer would be rebuilt by transformers 5, with other ids)
    vocab.txt               one piece per line, line number = id, for mindspore.dataset.text.Vocab; line breaks in pieces are escaped

How a BPE model is translated. SentencePiece merges the adjacent pair whose *joined* piece has the best score, leftmost first; `tokenizers` merges
by a ranked list of pairs. So every way to split a piece into two pieces becomes a merge, ordered by the piece's rank. Where two splits of
one piece compete (runs such as "====", which merge from the left and leave their remainder on the right), the longest left part goes first.
`check_same_ids` compares the two on texts before anything is published.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece.sentencepiece_model_pb2 as spm
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, processors

from mspt.core.errors import CheckFailed, InputError, MsptError
from mspt.core.tokens.pieces import CONTROL, NORMAL, SPACE, UNKNOWN, USER_DEFINED
from mspt.core.tokens.tokenizer import TOKENIZER_FILES, HuggingFaceTokenizer, SentencePieceTokenizer, Tokenizer, load, read_config, token_content

FAST_CLASS = "PreTrainedTokenizerFast"
_UNIGRAM, _BPE = 1, 2
_NEVER = -10_000.0  # the characters of "<0x0A>" together cost at most 6 times the rarest piece, about -20 each
_LINE_BREAKS = {"\n": "\\n", "\r": "\\r"}

# Texts that tokenizers have disagreed about before: blanks, runs, controls, marks without a base, literal special tokens.
PROBES = (
    "",
    " ",
    "  two  blanks  ",
    "\tTab\n\n\n    indented\r\nCRLF\n",
    "==== ------- ........ aaaaaaa \u3000\u3000\u3000 哈哈哈哈哈",
    "abababab -=-=-=- ()()() {}{}{} \\n\\n",
    "0123456789 \uff10\uff11\uff12 3.14159 1,000,000",
    "<0x0A> <0xE4>",
    "\u0301\u0302 lone marks, e\u0301 joined \u200d\u200c\ufeff",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e8\U0001f1f3 \U0001f600\U0001f600",
    "nul \0 inside, \u2581 block \u2585",
    "\U00020000\U0002a6d6 rare Han, 简体 繁體 かな カナ 한글 العربية हिन्दी",
    "def f(x: int) -> str:\n    return f'{x!r}'  # comment\n",
)
# Not for unigram models: there `tokenizers` finds the control pieces in the text as if they were ordinary ones.
SPECIAL_PROBE = "<s> </s> <unk> <pad>"


def export(proto: bytes, directory: Path, add_bos: bool = False) -> None:
    """Write the tokenizer files of a SentencePiece model into `directory`.

    `add_bos` is the rule of an adopted model whose documents start with <s>; without it eos takes that part (as in GPT-2), also as
    `bos_token` of the configuration, so that lm-eval and generation prefix prompts with what opened documents in training.
    """
    model = parse(proto)
    directory.mkdir(parents=True, exist_ok=True)
    backend = convert(model, add_bos)
    (directory / "tokenizer.model").write_bytes(proto)
    (directory / "tokenizer.json").write_text(backend.to_str(pretty=True), encoding="utf-8")
    write_config(directory, _config(model, add_bos))
    write_vocab(directory, [piece.piece for piece in model.pieces])


def write_config(directory: Path, config: dict[str, Any]) -> None:
    """tokenizer_config.json, in stable bytes."""
    text = json.dumps(config, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
    (directory / "tokenizer_config.json").write_text(text, encoding="utf-8")


def write_vocab(directory: Path, pieces: Sequence[str]) -> None:
    """vocab.txt: piece of id i in line i. A piece with a line break is written with \\n or \\r, doubled backslashes if that name is taken."""
    taken = set(pieces)
    lines = []
    for piece in pieces:
        line = piece
        if any(mark in piece for mark in _LINE_BREAKS):
            line = piece.replace("\n", "\\n").replace("\r", "\\r")
            while line in taken:
                line = line.replace("\\", "\\\\")
            taken.add(line)
        lines.append(line)
    (directory / "vocab.txt").write_bytes("".join(line + "\n" for line in lines).encode("utf-8"))


def convert(model: Any, add_bos: bool) -> tokenizers.Tokenizer:
    """The `tokenizers` twin of a SentencePiece model proto (BPE or unigram)."""
    spec, rules = model.trainer_spec, model.normalizer_spec
    if spec.model_type not in (_UNIGRAM, _BPE) or spec.treat_whitespace_as_suffix or not rules.escape_whitespaces:
        raise MsptError("this SentencePiece model is neither BPE nor unigram with blanks as prefixes", "give a BPE or unigram model")
    backend = tokenizers.Tokenizer(_bpe(model) if spec.model_type == _BPE else _unigram(model))
    backend.normalizer = _normalizer(rules)
    steps: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if rules.add_dummy_prefix:
        steps.append(decoders.Strip(" ", 1, 0))
    backend.decoder = decoders.Sequence(steps)
    backend.add_special_tokens([AddedToken(p.piece, normalized=False, special=True) for p in model.pieces if p.type in (UNKNOWN, CONTROL)])
    backend.add_tokens([AddedToken(p.piece, normalized=True) for p in model.pieces if p.type == USER_DEFINED])
    if add_bos:
        bos = model.pieces[spec.bos_id].piece
        backend.post_processor = processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos}:1 $B:1", special_tokens=[(bos, spec.bos_id)])
    return backend


def check_same_ids(directory: Path, texts: Sequence[str]) -> None:
    """Compare tokenizer.model and tokenizer.json of `directory` on `texts`.

    Raises:
        CheckFailed: some text has other ids; the message shows where the first one parts.
    """
    reference = load(directory)
    other = HuggingFaceTokenizer(directory / "tokenizer.json", read_config(directory))
    for text, left, right in zip(texts, reference.encode_batch(texts), other.encode_batch(texts), strict=True):
        if not np.array_equal(left, right):
            shorter = min(len(left), len(right))
            parts = np.flatnonzero(left[:shorter] != right[:shorter])
            first = int(parts[0]) if len(parts) else shorter
            here = "".join(reference.pieces[i] for i in left[max(first - 5, 0) : first + 5])
            raise CheckFailed(
                f"tokenizer.json and tokenizer.model give other ids near {here[:80]!r} (token {first} of the text {text[:40]!r}...)",
                "this model cannot be exported faithfully: please report it with the text",
            )


def symbol_probes(symbols: Sequence[str]) -> list[str]:
    """Texts in which user-defined pieces touch, repeat and end early."""
    return [text for s in symbols for text in (s, f"a{s}b {s}", s * 3, s[:-1] + s, s + s[1:], f"{s}{s[0]}{s}")]


def source_of(files: Sequence[Path]) -> Path:
    """What to open of a user's files: the only one, or the uppermost directory that holds tokenizer files.

    Raises:
        InputError: there are several files, and no tokenizer among them.
    """
    if len(files) == 1:
        return files[0]
    folders = sorted({file.parent for file in files if file.name in TOKENIZER_FILES}, key=lambda folder: (len(folder.parts), str(folder)))
    if not folders:
        raise InputError("the directory has no tokenizer.model and no tokenizer.json", "name the tokenizer's file or its directory")
    return folders[0]


def open_any(source: Path, directory: Path) -> Tokenizer:
    """A tokenizer to measure: like `adopt`, but which token ends a document does not matter."""
    adopt(source, directory, any_eos=True)
    return load(directory)


def adopt(source: Path, directory: Path, eos_token: str | None = None, any_eos: bool = False) -> None:
    """Take over a tokenizer unchanged: a SentencePiece .model file, a tokenizer.json, or a directory that holds either.

    Its BOS rule stays: what a directory's tokenizer_config.json says, else what the post-processor of tokenizer.json does, else, for a SentencePiece
    model with a bos piece, that documents start with it (the convention of Llama models). Beside a named file nothing else is read.
    `any_eos`: where no token is known to end a document, take the first piece.

    Raises:
        InputError: nothing to adopt, or an unreadable file.
        MsptError: no token is known to end a document; `eos_token` names it.
        CheckFailed: the tokenizer.json made of a SentencePiece model would give other ids.
    """
    config: dict[str, Any] = {}
    if source.is_dir():
        found = [source / name for name in ("tokenizer.model", "tokenizer.json") if (source / name).is_file()]
        if not found:
            raise InputError(f"{source}: neither tokenizer.model nor tokenizer.json", "name a tokenizer file or its directory")
        config = read_config(source)
        source = found[0]
    elif not source.is_file():
        raise InputError(f"{source}: no such file", "name a SentencePiece .model, a tokenizer.json or their directory")
    _check_readable(source)
    if source.suffix == ".model":
        _adopt_sentencepiece(source, directory, config)
    else:
        _adopt_huggingface(source, directory, config, _first_piece(source, config) if any_eos else eos_token)


def _check_readable(source: Path) -> None:
    """InputError names the user's own file where it is no tokenizer."""
    try:
        if source.suffix == ".model":
            SentencePieceTokenizer(source.read_bytes(), add_bos=False)
        else:
            tokenizers.Tokenizer.from_file(str(source))
    except InputError as error:
        raise InputError(f"{source}: {error.message}", error.hint) from error
    except Exception as error:  # both libraries raise bare RuntimeError or Exception for any malformed file
        raise InputError(
            f"{source}: not a tokenizer: {error}", "give a .model that sentencepiece wrote or a tokenizer.json that `tokenizers` can load"
        ) from error


def _adopt_sentencepiece(source: Path, directory: Path, config: dict[str, Any]) -> None:
    proto = source.read_bytes()
    model = parse(proto)
    add_bos = bool(config.get("add_bos_token", model.trainer_spec.bos_id >= 0))
    export(proto, directory, add_bos)
    check_same_ids(directory, (*PROBES, SPECIAL_PROBE) if model.trainer_spec.model_type == _BPE else PROBES)


def _adopt_huggingface(source: Path, directory: Path, config: dict[str, Any], eos_token: str | None) -> None:
    """tokenizer.json as it is. The class becomes FAST_CLASS: transformers 5 builds LlamaTokenizer, GPT2Tokenizer and others anew from the vocabulary,
    without the file's normaliser, and a blank alone loses its token."""
    directory.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, directory / "tokenizer.json")
    config = config or {"split_special_tokens": True}
    config = config | {"tokenizer_class": FAST_CLASS} | ({"eos_token": eos_token} if eos_token is not None else {})
    write_config(directory, config)
    try:
        pieces = load(directory).pieces
    except MsptError as error:  # about the copy: the person knows the original
        hint = "--eos-token TEXT names a token of it that ends a document" if eos_token is not None else error.hint
        raise type(error)(error.message.replace(str(directory / "tokenizer.json"), str(source)), hint) from error
    write_vocab(directory, pieces)


def _first_piece(source: Path, config: dict[str, Any]) -> str | None:
    """Piece 0 of a tokenizer.json without a known eos_token; an unreadable file is left to whoever loads it."""
    if token_content(config.get("eos_token")) is not None:
        return None
    try:
        return tokenizers.Tokenizer.from_file(str(source)).id_to_token(0)
    except Exception:  # the library raises bare Exception for any malformed file
        return None


def parse(proto: bytes) -> Any:
    try:
        SentencePieceTokenizer(proto, add_bos=False)
    except RuntimeError as error:
        raise InputError(f"not a SentencePiece model: {error}", "give a .model file that sentencepiece wrote") from error
    model: Any = spm.ModelProto()  # type: ignore[attr-defined]  # made by protobuf at import
    model.ParseFromString(proto)
    return model


def _bpe(model: Any) -> models.BPE:
    vocab = {p.piece: i for i, p in enumerate(model.pieces)}
    normal = {p.piece for p in model.pieces if p.type == NORMAL}
    ranked = sorted((p for p in model.pieces if p.type == NORMAL), key=lambda p: -p.score)
    merges = [(p.piece[:cut], p.piece[cut:]) for p in ranked for cut in range(len(p.piece) - 1, 0, -1) if p.piece[:cut] in normal and p.piece[cut:] in normal]
    return models.BPE(
        vocab=vocab,
        merges=merges,
        unk_token=model.pieces[model.trainer_spec.unk_id].piece,
        fuse_unk=True,
        byte_fallback=bool(model.trainer_spec.byte_fallback),
    )


def _unigram(model: Any) -> models.Unigram:
    """`tokenizers` would find control and byte pieces in a text where they are written out; SentencePiece never does: they get a score that never wins."""
    pieces = [(p.piece, p.score if p.type in (NORMAL, USER_DEFINED) else _NEVER) for p in model.pieces]
    return models.Unigram(pieces, model.trainer_spec.unk_id, bool(model.trainer_spec.byte_fallback))


def _normalizer(rules: Any) -> normalizers.Normalizer:
    steps: list[normalizers.Normalizer] = []
    if rules.precompiled_charsmap:
        steps.append(normalizers.Precompiled(rules.precompiled_charsmap))
    if rules.remove_extra_whitespaces:
        # At the end SentencePiece strips its own blank too.
        steps += [normalizers.Replace(Regex(rf"\A +|[ {SPACE}]+\z"), ""), normalizers.Replace(Regex(" {2,}"), " ")]
    if rules.add_dummy_prefix:
        steps.append(normalizers.Prepend(SPACE))
    steps.append(normalizers.Replace(" ", SPACE))
    return normalizers.Sequence(steps)


def _config(model: Any, add_bos: bool) -> dict[str, Any]:
    spec = model.trainer_spec

    def piece(i: int) -> str | None:
        return model.pieces[i].piece if i >= 0 else None

    roles = {
        "bos_token": piece(spec.bos_id) if add_bos else piece(spec.eos_id),
        "eos_token": piece(spec.eos_id),
        "pad_token": piece(spec.pad_id),
        "unk_token": piece(spec.unk_id),
    }
    return {
        "tokenizer_class": FAST_CLASS,
        "add_bos_token": add_bos,
        "add_eos_token": False,
        "split_special_tokens": True,  # a literal "<s>" in a text is text, as for SentencePiece
        "clean_up_tokenization_spaces": False,
    } | {role: content for role, content in roles.items() if content is not None}

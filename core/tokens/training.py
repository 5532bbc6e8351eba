"""Train a SentencePiece tokenizer (BPE or unigram) whose bytes depend on the text and the settings alone.

In the order it happens: `train` counts the characters, decides which get a piece of their own, cuts the texts into chunks that SentencePiece can take and lets
it learn; then the reserved slots are put behind what was learnt. Which text is read at all is decided before (core/tokens/sampling.py).

What the settings of the trainer are for:
- identity normalisation, no dummy prefix, white space kept: text comes back as it was, code included;
- byte fallback: a character without a piece becomes its UTF-8 bytes, so that nothing is ever unknown;
- digits stand alone: numbers are read digit by digit;
- line breaks are learnt like other characters (pieces such as ".\\n"): 5.4 % fewer tokens than breaking at lines on 18 MB of Chinese and
  English documentation, books and manual pages with 16,000 pieces (165,210 against 174,593 on the same held-out text);
- one thread and an iterator as input: SentencePiece writes the thread count and the paths of its inputs into the model.

SentencePiece silently skips sentences that are too long, or hold NUL or U+2585 (its own marker): `chunks` cuts there instead, so that it skips none.

BPE counts in integers: its model is the same on every machine. Unigram is fitted with floating-point logarithms: its scores are rounded to multiples of
1/64, which also makes SentencePiece's 32-bit sums exact up to about 25,000 tokens (so that tokenizer.json, which sums in 64 bits, finds the same best path),
but two machines whose C libraries round logarithms differently could still part. It takes 8 seconds for each MB of text, BPE 0.3.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as spm

from mspt.core.errors import MsptError
from mspt.core.tokens.pieces import is_byte_piece

UNK_ID, BOS_ID, EOS_ID, PAD_ID = 0, 1, 2, 3
NUM_SPECIAL = 4
NUM_BYTES = 256

# SentencePiece's own default for max_sentence_length is 4192 bytes; its BPE trainer keeps positions in 16 bits.
MAX_CHUNK_BYTES = 4096
_THREADS = 1
UNIGRAM_STEPS = 64
RESERVED_NAME = "<reserved_{}>"
_CONTROL = 3  # the type of pieces that no text gives
_ROLES = ("<unk>", "<s>", "</s>", "<pad>")
# Where special and byte pieces are written out in a text, tokenizer.json of a unigram model needs these characters to pass them by.
_UNIGRAM_CHARACTERS = "</>unkspad0123456789ABCDEFx"
_CLAUSE_ENDS = "。！？；，、：.!?;,:"
# NUL and U+2585 make SentencePiece skip the sentence; U+2581 is what it writes for a blank. They get no piece (NUL: its byte piece).
_RESERVED = "\0\u2581\u2585"


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """`vocab_size` counts all pieces, rounded up to `multiple` with reserved slots.

    `character_coverage`: share of the text's characters whose kinds get a piece; `min_character_count`: rarer kinds get none, but for `required_characters`.
    `user_defined` are pieces that always stay whole, `special_tokens` pieces that no text ever gives (like <s>), `reserved` the slots kept free for later ones.
    """

    vocab_size: int = 32768
    model: Literal["bpe", "unigram"] = "bpe"
    character_coverage: float = 1.0
    min_character_count: int = 1
    required_characters: str = ""
    user_defined: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    reserved: int = 0
    multiple: int = 1

    @property
    def num_reserved(self) -> int:
        """Slots that hold nothing: those asked for, and what rounds the vocabulary up."""
        return self.reserved + -self.vocab_size % self.multiple

    @property
    def num_learnt(self) -> int:
        """Pieces that SentencePiece makes, special and byte pieces included."""
        return self.vocab_size - self.reserved


@dataclass(frozen=True)
class TrainedModel:
    """`proto` is tokenizer.model; counts are of the training text."""

    proto: bytes
    num_characters: int
    num_kinds: int
    num_kept_kinds: int
    num_chunks: int


def train(texts: Sequence[str], settings: TrainingSettings) -> TrainedModel:
    """Learn a model from `texts`.

    Raises:
        MsptError: the vocabulary cannot hold the characters, or the text is too small to fill it; the hint names the size that fits.
    """
    check_symbols(settings)
    counts = count_characters(texts)
    kept = kept_characters(counts, settings)
    _check_room(int(kept.sum()), settings)
    cut = _cutter(counts, kept)
    num_chunks = 0

    def sentences() -> Iterator[str]:
        nonlocal num_chunks
        for text in texts:
            for chunk in chunks(text, cut):
                num_chunks += 1
                yield chunk

    proto = finish(_learn(sentences(), settings), settings)
    return TrainedModel(proto, int(counts.sum()), int((counts > 0).sum()), int(kept.sum()), num_chunks)


def count_characters(texts: Sequence[str]) -> npt.NDArray[np.int64]:
    """Occurrences of every code point, [0x110000]."""
    counts = np.zeros(0x110000, dtype=np.int64)
    for text in texts:
        points, numbers = np.unique(code_points(text), return_counts=True)
        counts[points] += numbers
    return counts


def code_points(text: str) -> npt.NDArray[np.uint32]:
    """The code points of `text` as numbers."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def kept_characters(counts: npt.NDArray[np.int64], settings: TrainingSettings) -> npt.NDArray[np.bool_]:
    """Which code points get a piece: the most frequent that cover `character_coverage` of the text and occur often enough."""
    kept = counts >= max(settings.min_character_count, 1)
    kept[[ord(c) for c in _RESERVED]] = False
    if settings.character_coverage < 1:
        order = np.argsort(-counts, kind="stable")
        before = np.cumsum(counts[order]) - counts[order]
        kept[order[before >= settings.character_coverage * counts.sum()]] = False
    wanted = set(settings.required_characters) | (set(_UNIGRAM_CHARACTERS) if settings.model == "unigram" else set())
    kept[[ord(c) for c in sorted(wanted - set(_RESERVED))]] = True
    return kept


def chunks(text: str, cut: re.Pattern[str]) -> Iterator[str]:
    """Cut `text` where `cut` matches (dropping the match) and into chunks of at most MAX_CHUNK_BYTES: before a line break (SentencePiece
    strips those at the end of a chunk), else before a blank, else behind a mark that ends a sentence or a clause, else between two characters that belong
    to no mark, joiner or selector. All other characters come out, in order.
    """
    for part in cut.split(text):
        start = 0
        while start < len(part):
            end = _chunk_end(part, start)
            yield part[start:end]
            start = end


def _chunk_end(text: str, start: int) -> int:
    """The end of the chunk that begins at `start`."""
    end = start + len(text[start : start + MAX_CHUNK_BYTES].encode("utf-8", "replace")[:MAX_CHUNK_BYTES].decode("utf-8", "ignore"))
    if end >= len(text):
        return end
    for mark in ("\n", " "):
        found = text.rfind(mark, start + 1, end)
        while mark == "\n" and found > start and text[found - 1] in "\r\n":
            found -= 1  # before the whole run: a line break at the end of a chunk would be lost
        if found > start:
            return found
    found = max(text.rfind(mark, start, end) for mark in _CLAUSE_ENDS)
    if found >= start:
        return found + 1
    return next((place for place in range(end, start, -1) if not _joins(text[place - 1], text[place])), end)


def _joins(before: str, after: str) -> bool:
    """Whether two neighbours are parts of one character as a reader sees it."""
    return unicodedata.category(after).startswith("M") or "\u200d" in (before, after)


def _cutter(counts: npt.NDArray[np.int64], kept: npt.NDArray[np.bool_]) -> re.Pattern[str]:
    """Matches runs of the characters that get no piece."""
    dropped = {chr(i) for i in np.flatnonzero((counts > 0) & ~kept)} | set(_RESERVED)
    return re.compile("[" + "".join(re.escape(c) for c in sorted(dropped)) + "]+")


def check_symbols(settings: TrainingSettings) -> None:
    """MsptError where a user-defined piece or special token cannot be one."""
    seen = set(_ROLES)
    for setting, symbols in (("user_defined", settings.user_defined), ("special_tokens", settings.special_tokens)):
        for symbol in symbols:
            if symbol in seen or is_byte_piece(symbol):
                raise MsptError(f"{setting}: {symbol!r} stands for something already", "name each piece once; <unk>, <s>, </s>, <pad> and <0x00>.. are taken")
            if not symbol or set(symbol) & {" ", *_RESERVED}:
                raise MsptError(f"{setting}: {symbol!r} is empty or holds a blank, NUL, U+2581 or U+2585", "SentencePiece could not keep it whole")
            seen.add(symbol)
    overlaps = [(a, b) for a in settings.user_defined for b in settings.user_defined if _overlap(a, b)]
    if settings.model == "unigram" and overlaps:
        raise MsptError(
            f"user_defined: {overlaps[0][0]!r} and {overlaps[0][1]!r} can overlap in a text, and a unigram model then divides it by rounding",
            "choose pieces that begin with no other's end, or --model bpe, which takes the first",
        )


def _overlap(a: str, b: str) -> bool:
    """Whether an end of `a` is a beginning of `b` (the same whole piece apart), or `a` lies inside `b`."""
    return any(a.endswith(b[:length]) for length in range(1, min(len(a), len(b)) + (a != b))) or (a != b and a in b)


def _check_room(num_kept: int, settings: TrainingSettings) -> None:
    # The blank and the symbols; a symbol of one character may be among the kept ones, so this may ask for a few too many.
    needed = num_kept + NUM_BYTES + NUM_SPECIAL + 1 + len(settings.user_defined) + len(settings.special_tokens) + settings.reserved
    if needed > settings.vocab_size:
        raise MsptError(
            f"vocab_size {settings.vocab_size} cannot hold the {num_kept} different characters of the text: {needed} pieces are needed before the first merge",
            f"raise --vocab-size (at least {needed}; twice that to be useful) or leave out rare characters: --min-character-count 2",
        )


def _learn(sentences: Iterator[str], settings: TrainingSettings) -> bytes:
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=sentences,
            model_writer=model,
            model_type=settings.model,
            vocab_size=settings.num_learnt,
            character_coverage=1.0,  # `kept_characters` has decided
            required_chars="".join(sorted(set(settings.required_characters) - set(_RESERVED))) + (_UNIGRAM_CHARACTERS if settings.model == "unigram" else ""),
            user_defined_symbols=list(settings.user_defined),
            control_symbols=list(settings.special_tokens),
            byte_fallback=True,
            split_digits=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            allow_whitespace_only_pieces=True,  # indentation is one piece
            max_sentence_length=2 * MAX_CHUNK_BYTES,
            unk_id=UNK_ID,
            bos_id=BOS_ID,
            eos_id=EOS_ID,
            pad_id=PAD_ID,
            num_threads=_THREADS,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _too_small(str(error), settings) from error
    return model.getvalue()


def finish(proto: bytes, settings: TrainingSettings) -> bytes:
    """The model with its reserved slots behind what was learnt; a unigram model's scores as multiples of 1 / UNIGRAM_STEPS."""
    model: Any = spm.ModelProto()  # type: ignore[attr-defined]  # made by protobuf at import
    model.ParseFromString(proto)
    if settings.model == "unigram":
        for piece in model.pieces:
            piece.score = round(piece.score * UNIGRAM_STEPS) / UNIGRAM_STEPS
    for number in range(settings.num_reserved):
        model.pieces.add(piece=RESERVED_NAME.format(number), score=0.0, type=_CONTROL)
    model.trainer_spec.vocab_size = len(model.pieces)
    return bytes(model.SerializeToString(deterministic=True))


def _too_small(message: str, settings: TrainingSettings) -> Exception:
    """SentencePiece's complaint in words; an unknown one stays a bug."""
    limit = re.search(r"value <= (\d+)", message)
    if limit:
        most = int(limit[1]) + settings.reserved
        return MsptError(
            f"the text is too small for a vocabulary of {settings.vocab_size}: it gives at most {most} pieces",
            f"lower --vocab-size to {most} or less, or train on more text",
        )
    if "sentences_.empty()" in message:
        return MsptError("no text to train on", "check that the documents are kept and not empty: mspt show on the input")
    return RuntimeError(f"SentencePiece failed: {message}")

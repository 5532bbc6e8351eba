"""Word by word gives SentencePiece's ids of the whole text, or the whole text is handed over."""

from __future__ import annotations

import functools
import io
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as spm
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.tokens import words
from mspt.core.tokens.tokenizer import SentencePieceTokenizer, Tokenizer
from mspt.core.tokens.training import TrainingSettings, train
from mspt.core.tokens.words import WordEncoder, blocks, word_pattern

UINT16 = np.dtype(np.uint16)
CODE = "def area(r):\n    if r < 0:\n\t\treturn None\n    return 3.14159 * r ** 2  # 面积\n\n\n"
PROSE = "The weather is fine today, and we walk in the park; it's 20:15. Don't stop! A naïve cafe\u0301. "


@functools.cache
def small() -> bytes:
    return train([CODE * 20, PROSE * 20, "今天天气很好，我们去公园。" * 10], TrainingSettings(vocab_size=460)).proto


def trained(text: str, **options: Any) -> bytes:
    """A model with SentencePiece's own settings but for `options`."""
    model = io.BytesIO()
    plain = {"model_type": "bpe", "vocab_size": 120, "num_threads": 1, "minloglevel": 2, "normalization_rule_name": "identity"}
    plain |= {"remove_extra_whitespaces": False, "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([text] * 30), model_writer=model, **(plain | options))
    return model.getvalue()


def differences(proto: bytes, texts: list[str], encoder: WordEncoder | None = None) -> list[str]:
    """Texts whose ids are not those of the whole text."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto)
    found = (encoder or WordEncoder(proto, UINT16)).encode(texts)
    return [text for text, raw in zip(texts, found, strict=True) if np.frombuffer(raw, "<u2").tolist() != processor.encode(text)]


ATOMS = ["a", "the", " the", "  ", " ", "\n", "\n    ", "\t", ".", ". ", ",", "it's", "r ** 2", "3.14", "20", "面积", "，", "\u2581", "\u2581the", "é",
         "e\u0301", "\u0301", "\0", "<s>", "</s>", "<0x0A>", "_x_", "def ", "():\n", "😀", "ª", "\u3000", "\u00a0", "٣"]  # fmt: skip


@settings(deadline=None)  # the first example trains a model
@given(st.lists(st.sampled_from(ATOMS), max_size=40).map("".join))
def test_any_text_has_the_ids_of_the_whole(text: str) -> None:
    encoder = WordEncoder(small(), UINT16)
    assert encoder.pattern is not None
    assert differences(small(), ["x" * 2000 + text, text], encoder) == []  # the first is read by words whatever follows


def test_words_are_remembered_and_words_again_give_the_same() -> None:
    encoder = WordEncoder(small(), UINT16)
    first = encoder.encode([PROSE, CODE.replace("面积", "")])
    known = dict(encoder.words)
    assert " weather" in known
    assert encoder.encode([PROSE, CODE.replace("面积", "")]) == first
    assert encoder.words == known


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_WORDS", 50)
    encoder = WordEncoder(small(), UINT16)
    texts = [" ".join(f"w{chr(97 + i % 26)}{chr(97 + i // 26)}{chr(97 + k)}" for k in range(10)) for i in range(100)]
    assert differences(small(), texts, encoder) == []
    assert len(encoder.words) > 900  # one call learns what is new in a block
    assert differences(small(), texts[:1], encoder) == []
    assert len(encoder.words) <= 10


def test_long_texts_are_cut_where_a_blank_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "BLOCK", 64)
    for text in (PROSE * 9, "x" * 500, " " * 500, "a" + " " * 200 + "b" * 100, CODE * 5):
        assert "".join(blocks(text)) == text
        assert all(before[-1] != " " and block[0] == " " for before, block in itertools.pairwise(blocks(text)))
        assert differences(small(), [text]) == []


def test_chinese_goes_whole() -> None:
    encoder = WordEncoder(small(), UINT16)
    assert differences(small(), ["今天天气很好，" * 50], encoder) == []
    assert encoder.words == {}


def test_a_pattern_that_cuts_a_piece_is_not_used() -> None:
    fine, coarse = word_pattern(["\u2581the", "ab", ".\n"]), word_pattern(["don't"])
    assert fine is not None
    assert coarse is not None
    assert fine.findall("the x1, it's\n  \n") == ["the", " x", "1", ",", " it", "'", "s", "\n", "  \n"]
    assert coarse.findall("the x1, it's\n  \n") == ["the", " x1,", " it's\n", "  \n"]
    assert word_pattern(["of\u2581the"]) is None
    assert word_pattern(["x", "e\u0301", "\u0915\u093f"]).findall("cafe\u0301 \u0915\u093f.") == ["cafe\u0301", " \u0915\u093f", "."]  # type: ignore[union-attr]
    assert word_pattern(["\u26a0\ufe0f"]).findall("a\u26a0\ufe0fb") == ["a", "\u26a0\ufe0f", "b"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("options", "by_words"),
    [
        ({}, True),  # SentencePiece puts a blank in front of the text: so does the encoder
        ({"add_dummy_prefix": False}, True),
        ({"user_defined_symbols": ["don't", "\n\n"]}, True),
        ({"user_defined_symbols": ["of the"]}, False),
        ({"split_by_whitespace": False}, False),
        ({"split_by_unicode_script": False, "split_by_number": False}, True),  # by blanks alone
        ({"treat_whitespace_as_suffix": True}, False),
        ({"remove_extra_whitespaces": True}, False),
        ({"normalization_rule_name": "nmt_nfkc"}, False),
        ({"model_type": "unigram", "vocab_size": 60}, False),
    ],
)
def test_models_of_all_kinds(options: dict[str, Any], by_words: bool) -> None:
    proto = trained("of the house, of the park: don't walk 20 times (x2) in ROOM x2.", **options)
    encoder = WordEncoder(proto, UINT16)
    assert (encoder.pattern is not None) is by_words
    chooser = random.Random(1)
    parts = ["of the", " house", ", ", "don't", " 20", "x2", "  ", "\n\n", "ROOM", ".", "q", "\u2581", ""]
    texts = ["".join(chooser.choices(parts, k=chooser.randrange(12))) for _ in range(300)]
    assert differences(proto, texts, encoder) == []


def test_real_text_of_all_kinds(tokenizer: Tokenizer, read_texts: Callable[[str, int], list[str]], shared: Path) -> None:
    assert isinstance(tokenizer, SentencePieceTokenizer)
    encoder = WordEncoder(tokenizer.proto, UINT16)
    assert encoder.pattern is not None
    sets = ("zh_novels", "zh_techdocs", "zh_manpages_hans", "en_public_domain", "en_wikitext2", "en_techdocs")
    texts = [text for name in sets for text in read_texts(name, 40)] + [Path(words.__file__).read_text(encoding="utf-8")]
    assert differences(tokenizer.proto, texts, encoder) == []
    assert len(encoder.words) > 5000
    llama = (shared / "data/model/stories260K/tok512.model").read_bytes()
    assert WordEncoder(llama, UINT16).pattern is None  # it drops blanks that follow blanks
    assert differences(llama, texts[:20]) == []


def test_unused_pieces_count_too() -> None:
    """SentencePiece merges through unused pieces and takes them apart afterwards: they may cross no word either."""
    model: Any = spm.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(small())
    index = next(i for i, piece in enumerate(model.pieces) if piece.piece == "\u2581the")
    model.pieces[index].piece, model.pieces[index].type = "x\u2581y", 5
    assert WordEncoder(model.SerializeToString(), UINT16).pattern is None

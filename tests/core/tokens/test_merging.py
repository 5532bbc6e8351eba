"""Compiled merges give SentencePiece's ids of the whole text; models they are not exact for are told and left to SentencePiece."""

from __future__ import annotations

import functools
import gzip
import io
import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sentencepiece
import sentencepiece.sentencepiece_model_pb2 as spm
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.tokens import encoding, merging, tokenizer
from mspt.core.tokens.encoding import MergeEncoder
from mspt.core.tokens.merges import EMPTY, SYMBOL_BITS, hash_table, merge_tables, obstacle
from mspt.core.tokens.tokenizer import SentencePieceTokenizer, Tokenizer
from mspt.core.tokens.training import TrainingSettings, train

CODE = "def area(r):\n    if r < 0:\n\t\treturn None\n    return 3.14159 * r ** 2  # 面积\n\n\n"
PROSE = "The weather is fine today, and we walk in the park; it's 20:15. Don't stop! A naïve cafe\u0301. "
SYMBOLS = ("<tool>", "<tool_end>", "\n\n", "面积", "面", "it's")
EOS = 2


def parse(proto: bytes) -> Any:
    model: Any = spm.ModelProto()  # type: ignore[attr-defined]
    model.ParseFromString(proto)
    return model


@functools.cache
def small(user_defined: tuple[str, ...] = ()) -> bytes:
    texts = [CODE * 20, PROSE * 20, "今天天气很好，我们去公园。" * 10, "=" * 300]
    return train(texts, TrainingSettings(vocab_size=480, user_defined=user_defined)).proto


def trained(text: str, **options: Any) -> bytes:
    """A model with SentencePiece's own settings but for `options`."""
    model = io.BytesIO()
    plain = {"model_type": "bpe", "vocab_size": 120, "num_threads": 1, "minloglevel": 2, "normalization_rule_name": "identity"}
    plain |= {"remove_extra_whitespaces": False, "hard_vocab_limit": False}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter([text] * 30), model_writer=model, **(plain | options))
    return model.getvalue()


@functools.cache
def encoder_of(proto: bytes) -> MergeEncoder:
    return MergeEncoder(merge_tables(parse(proto)), EOS)


@functools.cache
def processor_of(proto: bytes) -> Any:
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


def by_merges(proto: bytes, texts: Iterable[str], type_: Any = None) -> list[list[int]]:
    """Ids of each text with eos."""
    column = pa.chunked_array([pa.array(list(texts), type_ or pa.string())])
    return [part.tolist() for ids, lengths in encoder_of(proto).sequences(column) for part in np.split(ids, np.cumsum(lengths)[:-1])]


def differences(proto: bytes, texts: list[str]) -> list[str]:
    expected = [[*ids, EOS] for ids in processor_of(proto).encode(texts)]
    return [text for text, one, two in zip(texts, by_merges(proto, texts), expected, strict=True) if one != two]


ATOMS = ["a", "the", " the", "  ", " ", "\n", "\n    ", "\t", ".", ". ", ",", "it's", "r ** 2", "3.14", "20", "面积", "面", "，", "\u2581", "\u2581the", "é",
         "e\u0301", "\u0301", "\0", "<s>", "</s>", "<0x0A>", "_x_", "def ", "():\n", "😀", "ª", "\u3000", "\u00a0", "٣", "<tool>", "<tool_end>", "<tool",
         "<tool_en", "\n\n", "今天天气", "天天", "=" * 70, "ab" * 40, "龘", "\U0010ffff", "\ue000", "\ufeff"]  # fmt: skip
STRANGE = st.lists(st.sampled_from(ATOMS) | st.text(max_size=4), max_size=40).map("".join)


@settings(deadline=None)  # the first example trains a model and compiles
@given(st.lists(STRANGE, min_size=1, max_size=4))
def test_any_texts_have_sentencepieces_ids(texts: list[str]) -> None:
    assert differences(small(), texts) == []
    assert differences(small(SYMBOLS), texts) == []


@settings(deadline=None)
@given(st.text(alphabet="abcdx", max_size=300), st.sets(st.text(alphabet="abcd", min_size=2, max_size=5), max_size=25), st.randoms(use_true_random=False))
def test_any_pieces_and_their_order(text: str, pieces: set[str], chooser: random.Random) -> None:
    """Vocabularies that no trainer makes: merges that hide each other, pieces that no merge reaches, characters that are no piece."""
    model = parse(small())
    del model.pieces[EOS + 1 + 1 + 256 :]
    shuffled = [*"abc", *sorted(pieces)]
    chooser.shuffle(shuffled)
    for rank, piece in enumerate(shuffled):
        model.pieces.add(piece=piece, score=-rank)
    proto = model.SerializeToString()
    expected = [*sentencepiece.SentencePieceProcessor(model_proto=proto).encode(text), EOS]
    found = MergeEncoder(merge_tables(parse(proto)), EOS).sequences(pa.chunked_array([[text]]))
    assert [ids.tolist() for ids, _ in found] == [expected]


def test_a_merge_by_hand() -> None:
    """Best first he, th, er, re, the: "there" becomes t he r e, then t he re, and at last t and he, which stand side by side, the re."""
    model = parse(small())
    del model.pieces[EOS + 1 + 1 + 256 :]
    for rank, piece in enumerate(("he", "th", "er", "re", "the", "t", "h", "e", "r")):
        model.pieces.add(piece=piece, score=-rank)
    names = [piece.piece for piece in model.pieces]
    proto = model.SerializeToString()
    assert [names[i] for i in by_merges(proto, ["there"])[0]] == ["the", "re", "</s>"]
    assert [names[i] for i in by_merges(proto, ["hhee"])[0]] == ["h", "he", "e", "</s>"]
    assert [names[i] for i in by_merges(proto, ["erere"])[0]] == ["er", "er", "e", "</s>"]  # of equal ones the leftmost
    assert [names[i] for i in by_merges(proto, ["é"])[0]] == ["<0xC3>", "<0xA9>", "</s>"]


@pytest.mark.parametrize("size", [47, 48, 49, 50, 4095, 4096, 4097, 30_000])
def test_long_parts(size: int) -> None:
    """Parts on both sides of where the heap begins and of the room that is foreseen."""
    chooser = random.Random(size)
    texts = ["=" * size, "".join(chooser.choices("thea", k=size)), "the" * (size // 3), "short", "天" * size]
    assert differences(small(), texts) == []
    assert len(encoder_of(small()).room.part) == encoding.ROOM  # a long one leaves nothing behind


def test_columns_of_any_form(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["", PROSE, "今天", "", CODE, "x", ""]
    expected = [[*ids, EOS] for ids in processor_of(small()).encode(texts)]
    assert by_merges(small(), texts) == by_merges(small(), texts, pa.large_string()) == expected
    assert by_merges(small(), []) == []
    assert by_merges(small(), ["", ""]) == [[EOS], [EOS]]
    monkeypatch.setattr(encoding, "OUT_IDS", 8)  # a document or two at a time
    whole = pa.array(["before", *texts, "behind"])
    column = pa.chunked_array([whole.slice(1, 3), whole.slice(4, 0), whole.slice(4, 4)])
    parts = [(ids.tolist(), lengths.tolist()) for ids, lengths in MergeEncoder(merge_tables(parse(small())), EOS).sequences(column)]
    assert len(parts) > 2
    assert [i for ids, _ in parts for i in ids] == [i for ids in expected for i in ids]
    assert [length for _, lengths in parts for length in lengths] == [len(ids) for ids in expected]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, None),  # a blank in front of each text; no byte pieces: a run of unknown characters is one unknown
        ({"add_dummy_prefix": False}, None),
        ({"byte_fallback": True, "vocab_size": 400}, None),
        ({"user_defined_symbols": ["don't", "\n\n", "do", "qq"]}, None),
        ({"user_defined_symbols": ["of the"]}, None),  # never found: texts have no blank when it is looked for
        ({"user_defined_symbols": ["\u2581the"]}, "its user-defined pieces"),
        ({"split_by_whitespace": False}, None),
        ({"split_by_unicode_script": False, "split_by_number": False}, None),
        ({"split_digits": True}, None),
        ({"treat_whitespace_as_suffix": True}, "it puts a blank behind"),
        ({"treat_whitespace_as_suffix": True, "add_dummy_prefix": False}, None),
        ({"remove_extra_whitespaces": True}, "it rewrites text"),
        ({"normalization_rule_name": "nmt_nfkc"}, "it rewrites text"),
        ({"control_symbols": ["#"]}, "a character is a control piece"),
        ({"model_type": "unigram", "vocab_size": 60}, "it is no BPE model"),
    ],
)
def test_models_of_all_kinds(options: dict[str, Any], reason: str | None) -> None:
    proto = trained("of the house, of the park: don't walk 20 times (x2) in ROOM x2.", **options)
    found = obstacle(parse(proto))
    assert (found is None) if reason is None else (found or "").startswith(reason)
    chooser = random.Random(1)
    parts = ["of the", " house", ", ", "don't", " 20", "x2", "  ", "\n\n", "ROOM", ".", "q", "é", "龘", "\u2581", "\u2581the", "#", "do", ""]
    texts = ["".join(chooser.choices(parts, k=chooser.randrange(12))) for _ in range(300)]
    assert library_differences(proto, texts) == []
    if reason is None:
        assert differences(proto, texts) == []


def library_differences(proto: bytes, texts: list[str]) -> list[str]:
    """Through the tokenizer, which chooses the way."""
    opened = SentencePieceTokenizer(proto, add_bos=False)
    opened.bytes_seen = tokenizer.COMPILED_FROM
    rows = [part.tolist() for ids, lengths in opened.sequences(pa.chunked_array([texts]), 7) for part in np.split(ids, np.cumsum(lengths)[:-1])]
    expected = [[*ids, opened.eos_id] for ids in processor_of(proto).encode(texts)]
    assert len(rows) == len(texts)
    return [text for text, one, two in zip(texts, rows, expected, strict=True) if one != two]


def test_pieces_of_one_score_and_unused_pieces_are_left_to_sentencepiece() -> None:
    model = parse(small())
    longs = [piece for piece in model.pieces if piece.type == 1 and len(piece.piece) > 1]
    longs[3].score = longs[9].score
    assert obstacle(model) == "two pieces have one score"
    assert library_differences(model.SerializeToString(), [PROSE, CODE]) == []
    model = parse(small())
    next(piece for piece in model.pieces if piece.piece == "\u2581the").type = 5
    assert (obstacle(model) or "").startswith("its unused pieces")
    assert library_differences(model.SerializeToString(), [PROSE, CODE]) == []


def test_user_defined_pieces_that_begin_one_another() -> None:
    """SentencePiece looks at 64 of them at most."""
    model = parse(small())
    for length in range(1, 66):
        model.pieces.add(piece="z" * length, score=0.0, type=4)
    assert (obstacle(model) or "").startswith("its user-defined pieces")
    del model.pieces[-1]
    assert obstacle(model) is None
    assert differences(model.SerializeToString(), ["z" * 200, "az" * 9]) == []


def test_small_corpora_do_not_load_the_compiled_way() -> None:
    opened = SentencePieceTokenizer(small(), add_bos=False)
    list(opened.sequences(pa.chunked_array([[PROSE]]), 9))
    assert "merge_encoder" not in vars(opened)
    list(opened.sequences(pa.chunked_array([[PROSE * (tokenizer.COMPILED_FROM // len(PROSE))]]), 9))
    assert vars(opened)["merge_encoder"] is not None


def test_a_hash_table_finds_what_was_put_in_and_nothing_else() -> None:
    chooser = random.Random(4)
    entries = {chooser.randrange(1 << 20) << SYMBOL_BITS | chooser.randrange(1 << 21): chooser.randrange(1 << 21) for _ in range(5000)}
    table = hash_table(entries)
    assert (table != EMPTY).sum() == len(entries)
    for key, value in entries.items():
        assert merging.look_up(table, key >> SYMBOL_BITS, key & ((1 << SYMBOL_BITS) - 1)) == value
    assert merging.look_up(table, 1 << 20, 5) == merging.ABSENT
    assert merging.look_up(hash_table({}), 1, 2) == merging.ABSENT


def test_real_text_of_all_kinds(tokenizer: Tokenizer, read_texts: Callable[[str, int], list[str]], shared: Path) -> None:
    assert isinstance(tokenizer, SentencePieceTokenizer)
    sets = ("zh_novels", "zh_techdocs", "zh_manpages_hans", "en_public_domain", "en_wikitext2", "en_techdocs")
    texts = [text for name in sets for text in read_texts(name, 40)] + [Path(merging.__file__).read_text(encoding="utf-8")]
    assert tokenizer.merge_encoder is not None
    assert differences(tokenizer.proto, texts) == []
    llama = (shared / "data/model/stories260K/tok512.model").read_bytes()
    assert obstacle(parse(llama)) == "it rewrites text"  # it drops blanks that follow blanks


USER_DEFINED = ("<tool>", "<|x|>", "\n\n", "    ", "我们", "the")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("vocab_size", "user_defined", "split_digits"),
    [(8_000, (), True), (8_000, USER_DEFINED, False), (32_768, (), False), (32_768, USER_DEFINED, True)],
)
def test_all_text_of_shared_data_and_fuzzed_strings(vocab_size: int, user_defined: tuple[str, ...], split_digits: bool, shared: Path) -> None:
    files = sorted((shared / "data").glob("*.jsonl.gz"))
    texts = [json.loads(line)["text"] for path in files for line in gzip.decompress(path.read_bytes()).splitlines()]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for text in texts[::9] for line in text[:20_000].split("\n") if line), model_writer=model, model_type="bpe",
        vocab_size=vocab_size, character_coverage=0.9995, byte_fallback=True, split_digits=split_digits, normalization_rule_name="identity",
        user_defined_symbols=list(user_defined), add_dummy_prefix=not split_digits, remove_extra_whitespaces=False, allow_whitespace_only_pieces=True,
        num_threads=2, minloglevel=2,
    )  # fmt: skip
    proto = model.getvalue()
    assert obstacle(parse(proto)) is None
    for start in range(0, len(texts), 2000):
        assert differences(proto, texts[start : start + 2000]) == []
    chooser = random.Random(vocab_size)
    joined = "".join(text[:2000] for text in texts[::50])
    pools: list[list[str]] = [
        list(joined),
        ATOMS,
        [*user_defined, *ATOMS, "<to", "<|x", "\n"],
        [chr(i) for i in range(0x250)],
        list("etaoin \n"),
        list("的一是了我"),
    ]
    fuzzed = ["".join(chooser.choices(chooser.choice(pools), k=chooser.randrange(200))) for _ in range(20_000)]
    fuzzed += ["".join(chr(chooser.choice((chooser.randrange(0xD800), chooser.randrange(0xE000, 0x110000)))) for _ in range(30)) for _ in range(2000)]
    assert differences(proto, fuzzed) == []

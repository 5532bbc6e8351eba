"""SentencePiece training: what survives, what is never skipped, and bytes that depend on nothing else."""

from __future__ import annotations

import hashlib
import os
import pydoc_data.topics
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.tokens import training
from mspt.core.tokens.training import TrainingSettings, chunks, kept_characters, train

CODE = "def area(r):\n    if r < 0:\n\t\treturn None\n    return 3.14159 * r ** 2  # 面积\n\n\n"
SENTENCES = "今天天气很好，我们去公园。The weather is fine today, and we walk in the park. "
TOPICS = "\n".join(sorted(pydoc_data.topics.topics.values()))[:60_000]
NO_CUT = re.compile("[\0\u2581\u2585]+")


def processor(proto: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=proto)


@pytest.fixture(scope="module")
def small() -> sentencepiece.SentencePieceProcessor:
    return processor(train([CODE * 20, SENTENCES * 20], TrainingSettings(vocab_size=420)).proto)


def test_special_ids(small: sentencepiece.SentencePieceProcessor) -> None:
    assert (small.unk_id(), small.bos_id(), small.eos_id(), small.pad_id()) == (0, 1, 2, 3)
    assert [small.id_to_piece(i) for i in range(4)] == ["<unk>", "<s>", "</s>", "<pad>"]


@pytest.mark.parametrize("text", [CODE, "  \n\n \t x  ", "a\r\nb", "\u3000ｆｕｌｌ１２", "nul\0, ▅, 龘𠀀, 👨\u200d👩", "", "\n"])
def test_text_comes_back_as_it_was(small: sentencepiece.SentencePieceProcessor, text: str) -> None:
    ids = small.encode(text)
    assert small.decode(ids) == text
    assert 0 not in ids


def test_digits_stand_alone_and_white_space_is_learnt(small: sentencepiece.SentencePieceProcessor) -> None:
    pieces = [small.id_to_piece(i) for i in range(small.get_piece_size())]
    assert small.encode("14159", out_type=str) == list("14159")
    assert not [p for i, p in enumerate(pieces) if re.search(r"\d.|.\d", p) and not small.is_byte(i)]
    assert "▁▁▁▁" in pieces
    assert any("\n" in piece for piece in pieces)
    assert small.encode("r", out_type=str) == ["r"]  # no blank is put in front


def test_nothing_long_or_strange_is_skipped() -> None:
    """SentencePiece alone skips a sentence above max_sentence_length and one that holds NUL or U+2585."""
    long = "abc " * 30_000 + "龘龘"
    strange = "雙 before \0 after 靐, then \u2585 齉"
    model = processor(train([long, strange, SENTENCES * 5], TrainingSettings(vocab_size=360)).proto)
    for character in "龘雙靐齉":
        assert not model.is_unknown(model.piece_to_id(character)), character


@given(st.text(st.sampled_from("ab \n。哈\0\u2585\u2581😀"), max_size=40), st.integers(1, 900))
def test_chunks_hold_every_character_in_order(piece: str, times: int) -> None:
    text = piece * times
    found = list(chunks(text, NO_CUT))
    assert "".join(found) == re.sub("[\0\u2581\u2585]", "", text)
    assert all(0 < len(chunk.encode()) <= training.MAX_CHUNK_BYTES for chunk in found)


def test_chunks_prefer_line_breaks() -> None:
    line = "x" * 3000
    assert list(chunks(f"{line}\n{line}\n{line}", NO_CUT)) == [line, f"\n{line}", f"\n{line}"]


def test_bytes_do_not_depend_on_cores_folder_or_process(tmp_path: Path) -> None:
    script = (
        "import hashlib, sys\n"
        "from mspt.core.tokens.training import TrainingSettings, train\n"
        f"proto = train([{CODE!r} * 20, {SENTENCES!r} * 20], TrainingSettings(vocab_size=420)).proto\n"
        "print(hashlib.sha256(proto).hexdigest())\n"
    )
    here = train([CODE * 20, SENTENCES * 20], TrainingSettings(vocab_size=420)).proto
    one_core = ["taskset", "-c", str(min(os.sched_getaffinity(0)))]
    there = subprocess.run([*one_core, sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == hashlib.sha256(here).hexdigest()


def test_a_vocabulary_below_the_characters_names_the_size_that_fits() -> None:
    with pytest.raises(MsptError, match=r"vocab_size 270 cannot hold the (\d+) different characters") as caught:
        train([SENTENCES], TrainingSettings(vocab_size=270))
    least = re.search(r"at least (\d+)", caught.value.hint)
    assert least is not None
    assert processor(train([SENTENCES], TrainingSettings(vocab_size=int(least[1]))).proto).get_piece_size() == int(least[1])


def test_a_text_too_small_names_the_size_that_it_gives() -> None:
    with pytest.raises(MsptError, match="too small for a vocabulary of 5000") as caught:
        train([SENTENCES * 3], TrainingSettings(vocab_size=5000))
    most = re.search(r"--vocab-size to (\d+)", caught.value.hint)
    assert most is not None
    train([SENTENCES * 3], TrainingSettings(vocab_size=int(most[1])))


def test_no_text_is_a_persons_mistake() -> None:
    with pytest.raises(MsptError, match="no text"):
        train([], TrainingSettings(vocab_size=300))


def test_rare_characters_are_left_out() -> None:
    counts = training.count_characters(["aaab", "aac\0"])
    assert {chr(i): int(counts[i]) for i in np.flatnonzero(counts)} == {"a": 5, "b": 1, "c": 1, "\0": 1}
    assert np.flatnonzero(kept_characters(counts, TrainingSettings())).tolist() == [ord("a"), ord("b"), ord("c")]
    assert np.flatnonzero(kept_characters(counts, TrainingSettings(min_character_count=2))).tolist() == [ord("a")]
    # 5 of 8 are "a": covering 60 % needs no other character, covering 70 % one more
    assert np.flatnonzero(kept_characters(counts, TrainingSettings(character_coverage=0.6))).tolist() == [ord("a")]
    text = [SENTENCES * 10, "龘"]
    assert processor(train(text, TrainingSettings(vocab_size=330, min_character_count=2)).proto).piece_to_id("龘") == 0


LOUD = """
import pydoc_data.topics, sys
from mspt.core.tokens import training
from mspt.core.tokens.training import TrainingSettings, train
original = training.sentencepiece.SentencePieceTrainer.train
training.sentencepiece.SentencePieceTrainer.train = lambda **options: original(**{**options, "minloglevel": 0})
texts = [("abc def, " * 900 + "x" * 9000 + "\\n") * 3, "雙" * 30_000, "no \\0 end \\u2585 here \\u2581 x", "", "\\n\\n  \\t", "今天天气很好。" * 3000]
texts.append("\\n".join(sorted(pydoc_data.topics.topics.values()))[:60_000] + ".")
model = train(texts, TrainingSettings(vocab_size=420, model=sys.argv[1]))
print(model.num_chunks, model.num_characters)
"""


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_sentencepiece_itself_says_that_it_skipped_nothing(model: str) -> None:
    """Its own log: sentences loaded and characters counted, against what was handed over and what the texts hold."""
    done = subprocess.run([sys.executable, "-c", LOUD, model], capture_output=True, text=True, check=True)
    num_chunks, num_characters = map(int, done.stdout.split())
    log = done.stderr
    loaded = re.search(r"Loaded all (\d+) sentences", log)
    counted = re.search(r"all chars count=(\d+)", log)
    assert loaded is not None
    assert counted is not None
    assert "too long" not in log
    assert not re.search(r"[Ss]kipped [1-9]", log)
    # Without NUL, U+2585, U+2581 and the line break that ends the first text: SentencePiece takes it for the end of a sentence.
    assert int(loaded[1]) == num_chunks
    assert int(counted[1]) == num_characters - 4


def test_long_lines_are_cut_at_safe_places() -> None:
    line = "今天天气很好，" * 400  # 8,400 bytes without a line break or a blank
    assert all(chunk.endswith("，") for chunk in chunks(line, NO_CUT))
    accents = "e\u0301" * 2000
    assert all(chunk.startswith("e") for chunk in chunks(accents, NO_CUT))
    family = "👨\u200d👩\u200d👧" * 400
    assert all(chunk[0] == "👨" and chunk[-1] == "👧" for chunk in chunks(family, NO_CUT))


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_symbols_and_reserved_slots(model: Literal["bpe", "unigram"]) -> None:
    settings = TrainingSettings(
        vocab_size=470, model=model, special_tokens=("<|im_start|>", "<|im_end|>"), user_defined=("<think>", "你好"), reserved=5, multiple=64,
    )  # fmt: skip
    found = processor(train([TOPICS, "你好吗" * 9], settings).proto)
    pieces = [found.id_to_piece(i) for i in range(found.get_piece_size())]
    assert len(pieces) == 512
    assert pieces[:8] == ["<unk>", "<s>", "</s>", "<pad>", "<|im_start|>", "<|im_end|>", "<think>", "你好"]
    assert pieces[-47:] == [f"<reserved_{i}>" for i in range(47)]
    text = "<|im_start|>x<think>你好吗<reserved_0> <s>"
    ids = found.encode(text)
    assert (4 in ids, 6 in ids, 7 in ids, 465 in ids) == (False, True, True, False)
    assert found.decode(ids) == text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"user_defined": ("a b",)}, "'a b' is empty or holds a blank"),
        ({"special_tokens": ("<s>",)}, "'<s>' stands for something already"),
        ({"special_tokens": ("<x>",), "user_defined": ("<x>",)}, "'<x>' stands for something already"),
        ({"user_defined": ("<0x41>",)}, "'<0x41>' stands for something already"),
        ({"model": "unigram", "user_defined": ("\n\n",)}, "can overlap in a text"),
        ({"model": "unigram", "user_defined": ("abc", "cd")}, "can overlap in a text"),
    ],
)
def test_symbols_that_cannot_be(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(MsptError, match=message):
        train([SENTENCES], TrainingSettings(vocab_size=330, **settings))


def test_required_characters_get_a_piece_however_rare() -> None:
    settings = TrainingSettings(vocab_size=360, min_character_count=3, required_characters="龘\n𠀀\0")
    found = processor(train([SENTENCES * 10, "龘靐"], settings).proto)
    assert [found.is_unknown(found.piece_to_id(c)) for c in "龘𠀀靐"] == [False, False, True]


def test_unigram_scores_are_multiples_of_a_64th() -> None:
    found = processor(train([TOPICS], TrainingSettings(vocab_size=420, model="unigram")).proto)
    scores = [found.get_score(i) * 64 for i in range(found.get_piece_size())]
    assert all(score == round(score) for score in scores)
    assert len(set(scores)) > 50

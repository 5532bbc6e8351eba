"""SentencePiece training: what survives, what is never skipped, and bytes that depend on nothing else."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.errors import MsptError
from mspt.core.tokens import training
from mspt.core.tokens.training import TrainingSettings, choose_sample, chunks, kept_characters, train

CODE = "def area(r):\n    if r < 0:\n\t\treturn None\n    return 3.14159 * r ** 2  # 面积\n\n\n"
SENTENCES = "今天天气很好，我们去公园。The weather is fine today, and we walk in the park. "
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


def test_sample_by_source_within_the_budget() -> None:
    sources = np.array([0, 0, 0, 1, 1])
    keys = np.array([30, 10, 20, 5, 9], dtype=np.uint64)
    sizes = np.array([100, 200, 300, 150, 250])
    # half of 1000 bytes: 300 of source 0 (documents 1, then 2 in part), 200 of source 1 (3, then 4 in part)
    assert choose_sample(sources, keys, sizes, 500).tolist() == [0, 200, 100, 150, 50]
    assert choose_sample(sources, keys, sizes, 1000).tolist() == sizes.tolist()

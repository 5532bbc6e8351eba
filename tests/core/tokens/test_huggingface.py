"""Exports and adoptions give transformers the ids that SentencePiece gives."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mspt.core.errors import CheckFailed, InputError, MsptError
from mspt.core.tokens import huggingface
from mspt.core.tokens.tokenizer import SentencePieceTokenizer, Tokenizer, load, read_config
from mspt.core.tokens.training import TrainingSettings, train

AUTO = """
import json, sys
from transformers import AutoTokenizer
answers = {}
for directory, texts in json.load(open(sys.argv[1])).items():
    tokenizer = AutoTokenizer.from_pretrained(directory)
    ids = [tokenizer(text)["input_ids"] for text in texts]
    answers[directory] = {
        "ids": ids, "decoded": [tokenizer.decode(i, skip_special_tokens=True) for i in ids],
        "roles": [tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id],
    }
json.dump(answers, open(sys.argv[2], "w"))
"""


def auto_tokenizer(folder: Path, texts: dict[Path, list[str]]) -> dict[str, Any]:
    """What transformers' AutoTokenizer makes of each directory's texts, in a process of its own (torch and MindSpore never share one)."""
    question, answer = folder / "question.json", folder / "answer.json"
    question.write_text(json.dumps({str(path): lines for path, lines in texts.items()}))
    subprocess.run([sys.executable, "-c", AUTO, str(question), str(answer)], check=True, capture_output=True)
    loaded: dict[str, Any] = json.loads(answer.read_text())
    return loaded


def fuzz(number: int) -> list[str]:
    """Texts that tokenizers disagree about: blanks, runs, emoji, NUL, lone combining marks, literal special tokens."""
    rng = random.Random(20260101)
    atoms = ["  ", " ", "\t", "\n", "\n\n", "\0", "<s>", "</s>", "<unk>", "<pad>", "<0x0A>", "\u0301", "\u200d", "\ufeff", "😀", "👨\u200d👩", "𠀀",
             "哈", "，", "。\n", "=", "-", "==", "#", "a", "ab", "def ", "():\n", "1", "23", "\u2581", "\u2585", "é", "e\u0301"]  # fmt: skip
    mixed = ["".join(rng.choices(atoms, k=rng.randrange(1, 30))) for _ in range(number)]
    runs = [c * n + end for c in " =-.#*_a0\n哈~" for n in (2, 3, 5, 7, 8, 13, 31, 64) for end in ("", "x")]
    return [*huggingface.PROBES, huggingface.SPECIAL_PROBE, *mixed, *runs]


@pytest.fixture(scope="module")
def adopted(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("adopted")
    huggingface.adopt(shared / "data/model/stories260K/tok512.model", folder / "tok512")
    huggingface.adopt(shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json", folder / "neo", "<|endoftext|>")
    for name in ("test_model", "test_ja_model"):
        huggingface.adopt(shared / f"data/tokenizers/sentencepiece/{name}.model", folder / name)
    return {path.name: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def real_lines(read_texts: Callable[[str, int], list[str]]) -> list[str]:
    sets = ("zh_novels", "zh_wiki_hant", "en_public_domain", "en_techdocs", "zh_poetry_hant", "zh_techdocs", "zh_manpages_hans")
    lines = [line for name in sets for text in read_texts(name, 30) for line in text.splitlines(keepends=True) if line.strip()]
    return random.Random(1).sample(lines, 1000)


@pytest.fixture(scope="module")
def answers(trained: Path, adopted: dict[str, Path], real_lines: list[str], shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("auto")
    shutil.copytree(trained, folder / "beside-a-model")  # transformers must not pick a class from the model's type
    shutil.copy(shared / "data/model/stories260K/hf/config.json", folder / "beside-a-model")
    texts = {trained: real_lines + fuzz(1000), folder / "beside-a-model": fuzz(50)}
    return auto_tokenizer(folder, texts | {path: fuzz(100) for path in adopted.values()})


def test_auto_tokenizer_gives_sentencepieces_ids(trained: Path, tokenizer: Tokenizer, answers: dict[str, Any], real_lines: list[str]) -> None:
    texts = real_lines + fuzz(1000)
    found = answers[str(trained)]
    expected = tokenizer.processor.encode(texts) if isinstance(tokenizer, SentencePieceTokenizer) else []
    assert found["ids"] == expected
    assert found["decoded"] == [text.replace("\u2581", " ") for text in texts]
    assert found["roles"] == [2, 2, 3, 0]  # eos opens documents, so it is bos too


def test_a_models_configuration_beside_it_changes_nothing(tokenizer: Tokenizer, answers: dict[str, Any]) -> None:
    found = next(value for path, value in answers.items() if path.endswith("beside-a-model"))
    assert found["ids"] == [ids.tolist() for ids in tokenizer.encode_batch(fuzz(50))]


def test_an_adopted_sentencepiece_model_keeps_ids_and_bos_rule(shared: Path, adopted: dict[str, Path], answers: dict[str, Any]) -> None:
    source = shared / "data/model/stories260K/tok512.model"
    assert (adopted["tok512"] / "tokenizer.model").read_bytes() == source.read_bytes()
    found = answers[str(adopted["tok512"])]
    mine = load(adopted["tok512"])
    assert found["ids"] == [[1, *ids.tolist()] for ids in mine.encode_batch(fuzz(100))]
    assert (mine.prefix_id, mine.eos_id, mine.special.pad) == (1, 2, None)
    assert mine.decode(mine.encode("Once upon a time")) == "Once upon a time"


def test_an_adopted_hugging_face_tokenizer_is_unchanged(shared: Path, adopted: dict[str, Path], answers: dict[str, Any]) -> None:
    source = shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json"
    assert (adopted["neo"] / "tokenizer.json").read_bytes() == source.read_bytes()
    mine = load(adopted["neo"])
    assert answers[str(adopted["neo"])]["ids"] == [ids.tolist() for ids in mine.encode_batch(fuzz(100))]
    assert mine.pieces[mine.eos_id] == "<|endoftext|>"
    assert mine.prefix_id == mine.eos_id
    text = "Byte-level: 中文, é, \t😀"
    assert int(mine.token_bytes[mine.encode(text)].sum()) == len(text.encode())


@pytest.mark.parametrize("name", ["test_model", "test_ja_model"])
def test_unigram_models_are_adopted_too(name: str, adopted: dict[str, Path], answers: dict[str, Any]) -> None:
    """They normalise (NFKC), put a blank in front and know no bytes. `tokenizers` parts from SentencePiece on literal special tokens and on
    ties in runs in a unigram model, and on joiners and combining marks under a precompiled NFKC: those texts are left out.
    """
    mine = load(adopted[name])
    odd = ("<s>", "</s>", "<unk>", "\u200d", "\u0301")
    mixed = len(huggingface.PROBES) + 1 + 100
    plain = [i for i, text in enumerate(fuzz(100)[:mixed]) if not any(token in text for token in odd)]
    assert len(plain) > 20
    encoded = mine.encode_batch(fuzz(100))
    assert [answers[str(adopted[name])]["ids"][i] for i in plain] == [[1, *encoded[i].tolist()] for i in plain]


def test_bytes_of_pieces_spell_the_text(tokenizer: Tokenizer) -> None:
    for text in fuzz(200):
        ids = tokenizer.encode(text)
        assert b"".join(tokenizer.surfaces[i] for i in ids) == text.replace("\u2581", " ").encode()
    assert tokenizer.token_bytes[:4].tolist() == [0, 0, 0, 0]


def test_vocab_txt_loads_in_mindspore(trained: Path, tokenizer: Tokenizer) -> None:
    from mindspore.dataset import text

    table = text.Vocab.from_file(str(trained / "vocab.txt")).vocab()
    assert sorted(table.values()) == list(range(tokenizer.vocab_size))
    assert all(table[piece] == i for i, piece in enumerate(tokenizer.pieces) if not {"\n", "\r"} & set(piece))
    split = text.SentencePieceTokenizer(str(trained / "tokenizer.model"), out_type=text.SPieceTokenizerOutType.INT)
    sentence = "def f():\n\n    return 中文。\n 12"
    assert list(split(sentence)) == tokenizer.encode(sentence).tolist()


def test_line_breaks_in_vocab_txt_take_no_other_pieces_name(tmp_path: Path) -> None:
    huggingface.write_vocab(tmp_path, ["a\n", "a\\n", "\r", "b"])
    assert (tmp_path / "vocab.txt").read_text().split("\n") == ["a\\\\n", "a\\n", "\\r", "b", ""]


def test_a_tokenizer_json_that_differs_is_not_published(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "t")
    wrong = json.loads((trained / "tokenizer.json").read_text())
    wrong["model"]["merges"] = wrong["model"]["merges"][:100]
    (tmp_path / "t/tokenizer.json").write_text(json.dumps(wrong))
    huggingface.check_same_ids(trained, huggingface.PROBES)
    with pytest.raises(CheckFailed, match="give other ids near"):
        huggingface.check_same_ids(tmp_path / "t", huggingface.PROBES)


def test_what_cannot_be_adopted_says_why(tmp_path: Path, shared: Path) -> None:
    with pytest.raises(InputError, match=r"neither tokenizer\.model nor tokenizer\.json"):
        huggingface.adopt(tmp_path, tmp_path / "out")
    (tmp_path / "bad.model").write_bytes(b"no model")
    with pytest.raises(InputError, match=r"bad\.model: not a tokenizer"):
        huggingface.adopt(tmp_path / "bad.model", tmp_path / "out")
    with pytest.raises(MsptError, match="no eos_token is known") as caught:
        huggingface.adopt(shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json", tmp_path / "out")
    assert "--eos-token" in caught.value.hint


def test_adoption_follows_the_configuration_beside_the_model(trained: Path, tmp_path: Path) -> None:
    """Our own export has a bos piece, but its configuration says that documents do not start with it."""
    huggingface.adopt(trained, tmp_path / "again")
    assert load(tmp_path / "again").prefix_id == 2
    assert read_config(tmp_path / "again") == read_config(trained)
    assert (tmp_path / "again/tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()


def test_models_without_byte_fallback_fuse_unknown_characters() -> None:
    import io

    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world this is text"] * 50), model_writer=model, model_type="bpe", vocab_size=40, num_threads=1, minloglevel=2
    )
    proto = huggingface.parse(model.getvalue())
    backend = huggingface.convert(proto, add_bos=False)
    mine = SentencePieceTokenizer(model.getvalue(), add_bos=False)
    for text in ("hello 中文 world", "中中中", " this  is 中", ""):
        assert backend.encode(text, add_special_tokens=False).ids == mine.encode(text).tolist()


def test_training_and_export_write_the_same_bytes_twice(tmp_path: Path) -> None:
    text = ["one two three four five six seven eight nine ten " * 30]
    for name in ("a", "b"):
        huggingface.export(train(text, TrainingSettings(vocab_size=310)).proto, tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


SYMBOLS: dict[str, Any] = {"special_tokens": ("<|im_start|>", "<|im_end|>"), "reserved": 4, "multiple": 64}


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_models_with_symbols_and_slots_have_the_same_ids(model: Any, read_texts: Callable[[str, int], list[str]], tmp_path: Path) -> None:
    """Both kinds of models that mspt trains, through AutoTokenizer."""
    texts = [text[:3000] for name in ("zh_techdocs", "en_techdocs", "zh_wiki_hant") for text in read_texts(name, 25)]
    runs = ("的的",) if model == "bpe" else ()  # a unigram model refuses what overlaps itself
    settings = TrainingSettings(vocab_size=4000, model=model, min_character_count=3, **SYMBOLS | {"user_defined": ("<think>", "-->", *runs)})
    huggingface.export(train(texts, settings).proto, tmp_path / "made")
    mine = load(tmp_path / "made")
    atoms = ["<think>", "的的的", "的", "--->", "-->", "<|im_start|>", "<|im_end", "<reserved_0>", "<reserved_3>", " ", "x", "\n", "<s>", "<0x0A>", "龘"]
    rng = random.Random(2)
    mixed = ["".join(rng.choices(atoms, k=rng.randrange(1, 20))) for _ in range(400)]
    asked = [*mixed, *fuzz(400), *(text[500:2500] for text in texts)]
    found = auto_tokenizer(tmp_path, {tmp_path / "made": asked})[str(tmp_path / "made")]
    assert found["ids"] == [ids.tolist() for ids in mine.encode_batch(asked)]
    assert found["decoded"] == [text.replace("\u2581", " ") for text in asked]


def test_a_tokenizer_json_alone_is_adopted(trained: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """As other projects publish them: no model file beside it, and the class of Llama tokenizers in the configuration."""
    (tmp_path / "theirs").mkdir()
    shutil.copy(trained / "tokenizer.json", tmp_path / "theirs")
    config = read_config(trained) | {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True, "bos_token": "<s>"}
    (tmp_path / "theirs/tokenizer_config.json").write_text(json.dumps(config))
    huggingface.adopt(tmp_path / "theirs", tmp_path / "mine")
    mine = load(tmp_path / "mine")
    assert (tmp_path / "mine/tokenizer.json").read_bytes() == (trained / "tokenizer.json").read_bytes()
    assert not (tmp_path / "mine/tokenizer.model").exists()
    assert (mine.prefix_id, mine.eos_id) == (1, 2)
    for text in fuzz(100):
        assert np.array_equal(mine.encode(text), tokenizer.encode(text))


@pytest.mark.soak
@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_a_hundred_thousand_real_and_ten_thousand_fuzzed_strings(model: Any, shared: Path, read_texts: Callable[[str, int], list[str]], tmp_path: Path) -> None:
    """The issue's numbers: ids of AutoTokenizer and of SentencePiece on lines of all sets of ../shared/data and on strange strings."""
    sets = sorted(path.name.removesuffix(".jsonl.gz") for path in (shared / "data").glob("*.jsonl.gz") if path.name.startswith(("zh_", "en_", "lid_")))
    texts = {name: read_texts(name, 10**6) for name in sets}
    sample = [text[:20_000] for found in texts.values() for text in found[:: 5 if model == "bpe" else 50]]
    huggingface.export(
        train(sample, TrainingSettings(vocab_size=32_768 if model == "bpe" else 16_384, model=model, min_character_count=2)).proto, tmp_path / "made"
    )
    lines = [line for found in texts.values() for text in found for line in text.splitlines(keepends=True) if line.strip()]
    real = random.Random(3).sample(lines, 100_000)
    strange = fuzz(10_000)
    mine = load(tmp_path / "made")
    for asked in (*(real[start : start + 20_000] for start in range(0, len(real), 20_000)), strange):
        found = auto_tokenizer(tmp_path, {tmp_path / "made": asked})[str(tmp_path / "made")]
        assert found["ids"] == [ids.tolist() for ids in mine.encode_batch(asked)]
        assert found["decoded"] == [text.replace("\u2581", " ") for text in asked]


def test_prefix_and_special_ids(tokenizer: Tokenizer) -> None:
    special = tokenizer.special
    assert (special.unk, special.bos, special.eos, special.pad, special.prefix) == (0, 1, 2, 3, 2)
    assert np.array_equal(tokenizer.encode(""), np.empty(0, dtype=np.int32))

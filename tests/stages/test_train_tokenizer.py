"""train-tokenizer: what it publishes, what it holds out, when it refuses."""

from __future__ import annotations

import functools
import json
import pydoc_data.topics
import shutil
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from conftest import Workspace

from mspt.core.errors import CheckFailed, InputError, MachineError, MsptError
from mspt.core.tokens.split import point
from mspt.core.tokens.tokenizer import digest, load
from support.disks import resize, small_disk
from support.feed import FEED, document, write_lines


def feed(workspace: Workspace, folder: Path, rows: list[dict[str, Any]]) -> None:
    workspace.run(FEED, files={"documents": [write_lines(folder / "documents.jsonl", rows)]})


def test_files_and_report(chain: Any) -> None:
    artifact = chain.tokenizer
    assert {"tokenizer.model", "tokenizer.json", "tokenizer_config.json", "vocab.txt"} <= set(artifact.files)
    assert load(artifact.directory).vocab_size == 700
    assert artifact.digests["tokenizer"] == digest(artifact.directory)
    report = artifact.stats["held_out"]
    held = [row for row in chain.rows if point(row["id"]) < 0.05]
    assert held
    assert report["sources"]["topics"]["documents"] == sum(row["source"] == "topics" for row in held)
    assert report["languages"]["en"]["characters"] == sum(len(row["text"]) for row in held if row["lang"] == "en")
    assert report["passed"]
    assert all(total["round_trip_losses"] == total["unk"] == 0 for total in report["sources"].values())
    assert artifact.stats["training"]["documents"] == len(chain.rows) - len(held)


def test_a_second_run_is_up_to_date_and_a_setting_makes_the_next_version(chain: Any) -> None:
    assert chain.workspace.outcome("train-tokenizer", {"vocab_size": 700}, references={"docs": "feed"}).status == "up-to-date"
    smaller = chain.workspace.outcome("train-tokenizer", {"vocab_size": 600}, references={"docs": "feed"}, name="fewer-pieces")
    assert (smaller.status, smaller.artifact.ref) == ("done", "fewer-pieces@v1")
    assert load(smaller.artifact.directory).vocab_size == 600


def test_new_weights_do_not_train_again(workspace: Workspace, tmp_path: Path) -> None:
    rows = [document(f"a{i}", f"some words in line {i} and {i * 7} more words. " * 5, weight=1.0) for i in range(40)]
    feed(workspace, tmp_path, rows)
    first = workspace.run("train-tokenizer", {"vocab_size": 320}, references={"docs": "feed"})
    feed(workspace, tmp_path, [{**row, "weight": 2.0} for row in rows])
    again = workspace.outcome("train-tokenizer", {"vocab_size": 320}, references={"docs": "feed@v2"})
    assert (again.status, again.artifact.ref) == ("up-to-date", first.ref)


def test_the_gate_refuses_a_language_that_was_not_learnt_unless_forced(workspace: Workspace, tmp_path: Path) -> None:
    chinese = [document(f"z{i}", "天地玄黄宇宙洪荒日月盈昃辰宿列张" * 40, "zh", "zh-Hans") for i in range(30)]
    english = [document(f"e{i}", "the quick brown fox jumps over the lazy dog " * 300, "en", "en") for i in range(300)]
    feed(workspace, tmp_path, chinese + english)
    assert sum(len(r["text"]) for r in english if point(r["id"]) < 0.05) >= 100_000
    settings: dict[str, Any] = {"vocab_size": 290, "train_sources": ["zh"]}
    with pytest.raises(CheckFailed, match=r"en: \d+\.\d+% of [\d,]+ held-out characters have no piece of their own"):
        workspace.run("train-tokenizer", settings, references={"docs": "feed"})
    assert not (workspace.path / "train-tokenizer/v1").exists()
    forced = workspace.run("train-tokenizer", {**settings, "force": True}, references={"docs": "feed"})
    assert forced.stats["held_out"]["passed"] is False
    assert forced.stats["held_out"]["languages"]["en"]["unk"] == 0
    with pytest.raises(MsptError, match="no source 'fr'"):
        workspace.run("train-tokenizer", {"train_sources": ["fr"]}, references={"docs": "feed"})


def test_the_sample_stays_within_its_bytes(workspace: Workspace, tmp_path: Path) -> None:
    rows = [document(f"{s}{i}", f"{s} word{i % 7} and other words here. " * 20, s) for s in ("one", "two") for i in range(60)]
    feed(workspace, tmp_path, rows)
    artifact = workspace.run("train-tokenizer", {"vocab_size": 300, "sample_bytes": 20_000, "held_out_share": 0}, references={"docs": "feed"})
    assert 19_990 <= artifact.stats["training"]["characters"] <= 20_000


def test_a_vocabulary_too_large_for_the_text_names_the_size_that_fits(chain: Any) -> None:
    with pytest.raises(MsptError, match="too small for a vocabulary of 32768") as caught:
        chain.workspace.run("train-tokenizer", {}, references={"docs": "feed"}, name="large")
    assert "lower --vocab-size to" in caught.value.hint


def test_adopts_a_sentencepiece_model_without_docs(workspace: Workspace, shared: Path) -> None:
    source = shared / "data/model/stories260K/tok512.model"
    artifact = workspace.run("train-tokenizer", {}, files={"from_": [source]})
    assert artifact.path("tokenizer.model").read_bytes() == source.read_bytes()
    tokenizer = load(artifact.directory)
    assert (tokenizer.vocab_size, tokenizer.prefix_id, tokenizer.eos_id) == (512, 1, 2)
    reference = sentencepiece.SentencePieceProcessor(model_file=str(source))
    assert tokenizer.encode("Once upon a time").tolist() == reference.encode("Once upon a time")
    assert "held_out" not in artifact.stats


def test_adopts_a_directory_and_measures_it(chain: Any, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    shutil.copytree(chain.tokenizer.directory, folder)
    artifact = chain.workspace.run("train-tokenizer", {}, references={"docs": "feed"}, files={"from_": [folder]}, name="adopted")
    assert artifact.digests["tokenizer"] == chain.tokenizer.digests["tokenizer"]
    assert json.loads(artifact.path("tokenizer_config.json").read_text()) == json.loads((folder / "tokenizer_config.json").read_text())
    assert artifact.stats["tokenizer"]["adopted"]
    assert artifact.stats["held_out"]["sources"].keys() == chain.tokenizer.stats["held_out"]["sources"].keys()


def test_without_docs_and_without_a_tokenizer_it_says_what_to_do(workspace: Workspace) -> None:
    with pytest.raises(MsptError, match="train-tokenizer needs docs") as caught:
        workspace.run("train-tokenizer")
    assert "--from" in caught.value.hint


def test_the_report_by_hand(workspace: Workspace, tmp_path: Path) -> None:
    """Two held-out documents whose figures can be counted."""
    held = [i for i in (f"h{k}" for k in range(4000)) if point(i) < 0.05][:2]
    rows = [document(f"a{i}", f"some words in line {i % 7} of the text and other words. " * 9, "web") for i in range(60)]
    rows = [row for row in rows if point(row["id"]) >= 0.05]
    rows += [document(held[0], "some words 12 龘", "web"), document(held[1], "text", "notes", "fr")]
    feed(workspace, tmp_path, rows)
    artifact = workspace.run("train-tokenizer", {"vocab_size": 310, "gate_languages": ["en", "ja"]}, references={"docs": "feed"})
    report = artifact.stats["held_out"]
    english = report["languages"]["en"]
    assert (english["characters"], english["without_piece"], english["byte_pieces"], english["num_bytes"]) == (15, 1, 3, 17)
    assert (english["words"], english["digits"], english["digit_tokens"], english["digits_per_token"]) == (4, 2, 2, 1.0)
    assert english["fertility"] == english["tokens"] / 4
    assert [(row["source"], row["language"], row["documents"]) for row in report["sources_and_languages"]] == [("notes", "fr", 1), ("web", "en", 1)]
    assert report["languages_without_text"] == ["ja"]
    assert any("ja: no held-out text" in warning for warning in workspace.notes.warnings)
    assert artifact.stats["tokenizer"]["pieces_of_several_digits"] == 0
    assert artifact.stats["unused_pieces"]["unused"] < artifact.stats["unused_pieces"]["pieces"]
    assert artifact.stats["probes"]["rare-han"]["without_piece"] > 50
    assert all(probe["round_trip_losses"] == 0 for probe in artifact.stats["probes"].values())


def test_symbols_sizes_and_shares(workspace: Workspace, tmp_path: Path) -> None:
    topics = sorted(pydoc_data.topics.topics.values())
    rows = [document(f"{s}{i}", topics[i][:800], s, "en" if s == "one" else "de") for s in ("one", "two") for i in range(60)]
    feed(workspace, tmp_path, rows)
    settings = {
        "vocab_size": 400, "multiple": 64, "reserved": 3, "special_tokens": ["<|im_start|>"], "user_defined": ["<think>", "a,b"], "sample_bytes": 20_000,
        "shares": ["de=75%"], "sweep": [400, 500],
    }  # fmt: skip
    artifact = workspace.run("train-tokenizer", settings, references={"docs": "feed"})
    tokenizer = load(artifact.directory)
    assert tokenizer.vocab_size == 448
    assert tokenizer.pieces[4:7] == ("<|im_start|>", "<think>", "a,b")
    assert tokenizer.encode("x a,b<think>").tolist().count(6) == 1
    strata = {row["source"]: row["sampled_bytes"] for row in artifact.stats["training"]["strata"]}
    assert strata == {"one": 5000, "two": 15_000}
    table = artifact.stats["sweep"]
    assert [row["vocab_size"] for row in table] == [448, 512]
    assert table[0]["tokens_saved"] == 0 < table[1]["tokens_saved"] < 1
    assert table[0]["characters_per_token"]["de"] < table[1]["characters_per_token"]["de"]
    # 448 h / (448 h + 12 * 24 h^2) with h = 1024
    assert table[0]["embedding_share"]["0.3B"] == round(448 / (448 + 12 * 24 * 1024), 4)
    with pytest.raises(MsptError, match="'two=x' is not NAME=SHARE"):
        workspace.run("train-tokenizer", {"shares": ["two=x"]}, references={"docs": "feed"})


def test_compare_takes_a_reference_a_directory_or_a_file(chain: Any, shared: Path, tmp_path: Path) -> None:
    run = functools.partial(chain.workspace.run, "train-tokenizer", {"vocab_size": 600}, references={"docs": "feed"})
    theirs = shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json"
    found = run(files={"compare": [theirs]}, name="beside-neo").stats["comparison"]
    assert (found["other"], found["other_vocab_size"]) == ("gpt-neo-test-tokenizer.json", 50280)
    assert found["languages"]["en"]["other_without_piece_ratio"] == 0
    reference = run(files={"compare": [Path("train-tokenizer@v1")]}, name="beside-a-reference")
    folder = shutil.copytree(chain.tokenizer.directory, tmp_path / "theirs", ignore=shutil.ignore_patterns("artifact.json"))
    directory = run(files={"compare": [Path(folder)]}, name="beside-a-directory")
    assert reference.stats["comparison"]["languages"] == directory.stats["comparison"]["languages"]
    english = reference.stats["comparison"]["languages"]["en"]
    assert english["other_characters_per_token"] == chain.tokenizer.stats["held_out"]["languages"]["en"]["characters_per_token"]
    assert english["tokens_ratio"] > 1  # 600 pieces against 700
    with pytest.raises(MsptError, match="is of kind docs, not tokenizer"):
        run(files={"compare": [Path("feed@v1")]}, name="never")
    with pytest.raises(MsptError, match="no such file or directory, and no artifact of that name"):
        run(files={"compare": [Path("nothing.model")]}, name="never")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gate_languages": ["english"]}, "--gate-languages english: no text is told to be in it"),
        ({"user_defined": ["a b"]}, "'a b' is empty or holds a blank"),
        ({"sweep": [600, -5]}, "--sweep -5: a vocabulary has at least 264 pieces"),
        ({"eos_token": "</s>"}, "--eos-token without --from"),
        ({"special_tokens": ["<reserved_0>"], "reserved": 2}, "<reserved_0> is the name of a reserved slot"),
        ({"user_defined": ["<reserved_12>"]}, "<reserved_12> is the name of a reserved slot"),
        ({"sample_bytes": "1TB", "memory": "256MiB"}, None),
    ],
)
def test_settings_that_cannot_be(chain: Any, settings: dict[str, Any], message: str | None) -> None:
    if message is None:  # a small corpus fits into any memory, however much could be taken of a larger one
        chain.workspace.run("train-tokenizer", {**settings, "vocab_size": 600}, references={"docs": "feed"}, name="fits")
        return
    with pytest.raises(MsptError, match=message):
        chain.workspace.run("train-tokenizer", settings, references={"docs": "feed"}, name="cannot-be")


def test_a_sample_that_does_not_fit_into_memory_is_refused(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mspt.stages.train_tokenizer.MEMORY_PER_BYTE", {"bpe": 10_000, "unigram": 1})
    with pytest.raises(MsptError, match=r"takes about \d+\.\d GB of memory, 0\.3 GB may be used") as caught:
        chain.workspace.run("train-tokenizer", {"memory": "256MiB"}, references={"docs": "feed"}, name="too-large")
    assert "--sample-bytes" in caught.value.hint


def test_unigram_in_one_go(chain: Any) -> None:
    artifact = chain.workspace.run("train-tokenizer", {"vocab_size": 600, "model": "unigram"}, references={"docs": "feed"}, name="unigram")
    assert artifact.stats["held_out"]["passed"]
    assert load(artifact.directory).vocab_size == 600


@pytest.mark.parametrize(("name", "content"), [("broken.model", b"\x0a\x00no model"), ("broken.json", b'{"model": '), ("empty.model", b"")])
def test_a_broken_file_is_not_adopted(workspace: Workspace, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        workspace.run("train-tokenizer", {}, files={"from_": [tmp_path / name]})
    assert not list(workspace.path.glob("train-tokenizer/v*/artifact.json"))


def test_a_run_that_ends_is_done_again_with_the_same_bytes(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mspt.core.tokens.huggingface.check_same_ids", interrupted)
        with pytest.raises(KeyboardInterrupt):
            chain.workspace.run("train-tokenizer", {"vocab_size": 700}, references={"docs": "feed"}, name="ended")
    again = chain.workspace.run("train-tokenizer", {"vocab_size": 700, "workers": 2}, references={"docs": "feed"}, name="ended")
    assert {name: record.sha256 for name, record in again.files.items()} == {name: record.sha256 for name, record in chain.tokenizer.files.items()}


def test_a_full_disk_is_said(chain: Any, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "16m") as disk:
        shutil.copytree(chain.workspace.path / "feed", disk / "work/feed", symlinks=True)
        used = sum(path.stat().st_blocks * 512 for path in disk.rglob("*") if path.is_file())
        resize(disk, f"{used // 1024 + 40}k")
        workspace = Workspace(disk / "work")
        with pytest.raises(MachineError, match=r"is full|No space left"):
            workspace.run("train-tokenizer", {"vocab_size": 700}, references={"docs": "feed"})
        resize(disk, "64m")
        made = workspace.run("train-tokenizer", {"vocab_size": 700}, references={"docs": "feed"})
        assert made.digests == chain.tokenizer.digests


def test_mistakes_name_what_the_person_gave(chain: Any, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "characters.txt").write_bytes(b"\xff\xfe\x00")
    theirs = shared / "data/tokenizers/huggingface/gpt-neo-test-tokenizer.json"
    run = functools.partial(chain.workspace.run, "train-tokenizer", references={"docs": "feed"}, name="mistaken")
    with pytest.raises(InputError, match=r"characters\.txt is not UTF-8 text"):
        run({}, files={"required_characters": [tmp_path / "characters.txt"]})
    with pytest.raises(MsptError, match=r"gpt-neo-test-tokenizer\.json: no eos_token is known"):
        run({}, files={"from_": [theirs]})
    with pytest.raises(MsptError, match=r"gpt-neo-test-tokenizer\.json: no token '<nope>'") as caught:
        run({"eos_token": "<nope>"}, files={"from_": [theirs]})
    assert "--eos-token TEXT names a token of it" in caught.value.hint
    with pytest.raises(MsptError, match="en=2 come to more than 1"):
        run({"vocab_size": 600, "shares": ["en=2"]})


@pytest.mark.parametrize("setting", [{"special_tokens": ["<|im_start|>"]}, {"user_defined": ["a,b"]}, {"reserved": 2}, {"multiple": 64}, {"sweep": [600]}])
def test_an_adopted_tokenizer_is_not_changed_and_that_is_said(chain: Any, setting: dict[str, Any]) -> None:
    with pytest.raises(MsptError, match=f"--{next(iter(setting)).replace('_', '-')} with --from: an adopted tokenizer"):
        chain.workspace.run("train-tokenizer", setting, files={"from_": [chain.tokenizer.path("tokenizer.model")]}, references={"docs": "feed"}, name="changed")


def test_a_tokenizer_that_is_adopted_must_repeat_itself_and_what_it_loses_is_said(chain: Any, tmp_path: Path) -> None:
    words = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b": 1, "ab": 2, "</s>": 3}, [("a", "b")]))  # all other characters vanish
    words.save(str(tmp_path / "lossy.json"))
    random = json.loads(words.to_str())
    random["model"]["dropout"] = 0.1
    (tmp_path / "random.json").write_text(json.dumps(random))
    run = functools.partial(chain.workspace.run, "train-tokenizer", references={"docs": "feed"}, name="theirs")
    made = run({"eos_token": "</s>"}, files={"from_": [tmp_path / "lossy.json"]})
    held = sum(total["documents"] for total in made.stats["held_out"]["sources"].values())
    assert f"{held} of {held} held-out documents do not come back from their tokens as they were" in chain.workspace.notes.warnings
    with pytest.raises(MsptError, match=r"random\.json: its model has dropout 0\.1"):
        run({"eos_token": "</s>"}, files={"from_": [tmp_path / "random.json"]})
    with pytest.raises(MsptError, match=r"--eos-token <pad>: .*tokenizer\.model ends documents with </s>"):
        run({"eos_token": "<pad>"}, files={"from_": [chain.tokenizer.path("tokenizer.model")]})


def test_a_size_of_the_sweep_that_does_not_fit_is_a_warning(chain: Any) -> None:
    made = chain.workspace.run("train-tokenizer", {"vocab_size": 600, "sweep": [650, 500_000]}, references={"docs": "feed"}, name="swept")
    assert [row["vocab_size"] for row in made.stats["sweep"]] == [600, 650]
    assert any("sweep: the text is too small for a vocabulary of 500000" in warning for warning in chain.workspace.notes.warnings)

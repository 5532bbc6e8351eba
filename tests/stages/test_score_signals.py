"""Perplexity, weights and re-use of what was measured in the score stage, beside a scorer that is made for these tests."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass

import numpy as np
import pyarrow.parquet as pq
import pytest

from mspt.core.config import SampleSettings
from mspt.core.errors import MsptError
from mspt.core.quality import perplexity, scorer
from mspt.core.quality.features import shuffle_words
from mspt.core.quality.perplexity import HIGH_RULE, LOW_RULE, RELATIVE_RULE, Reference
from mspt.core.shards import Docs
from mspt.core.stage import Job, Stage
from support.given import given, hashes, read_all, read_rejected
from support.inline import work_inline
from support.prose import corpus


@dataclass(frozen=True, kw_only=True)
class NoConfig(SampleSettings):
    pass


def write_scorer(job: Job[NoConfig]) -> None:
    for name in (scorer.MODEL, scorer.DESCRIPTION):
        job.write_json(name, {"made": "for tests"})


def write_reference(job: Job[NoConfig]) -> None:
    from mspt.core.quality.ngram_model import train

    texts = list(corpus(200, seed=1).values())
    with job.write(perplexity.MODEL) as path:
        train(texts, 4, 1).save(path)
    with job.write(perplexity.DESCRIPTION) as path:
        perplexity.Description(4, 1, {"en": {"characters": 20_000}, "zh-Hans": {"characters": 20_000}}).write(path)


SCORER = Stage(order=2, config=NoConfig, run=write_scorer, writes="scorer", reads={}, name="a-scorer", doc="A scorer.")
REFERENCE = Stage(order=3, config=NoConfig, run=write_reference, writes="ngram-model", reads={}, name="a-reference", doc="A reference.")


class LengthScorer:
    """A quality that a person can work out: characters / 1,000, at most 1."""

    @staticmethod
    def load(folder):
        return LengthScorer()

    def score(self, texts):
        return np.array([min(1.0, len(text or "") / 1000) for text in texts.to_pylist()], np.float32)


@pytest.fixture
def ready(workspace, monkeypatch):
    """Docs of two shards: English as it is and shuffled, one short repeat, French, one dropped; a scorer and a reference."""
    work_inline(monkeypatch)
    monkeypatch.setattr(scorer, "Scorer", LengthScorer)
    workspace.run(SCORER)
    workspace.run(REFERENCE)
    chooser = random.Random(3)
    texts = [text for text in corpus(60, seed=9).values() if text.isascii()][:20]
    rows = [{"ref": f"good{i}", "text": text, "source": "good", "lang": "en", "form": "prose"} for i, text in enumerate(texts)]
    rows += [{"ref": f"bad{i}", "text": shuffle_words(text, chooser), "source": "bad", "lang": "en"} for i, text in enumerate(texts)]
    rows.append({"ref": "french", "text": "Le vieux marin lit une lettre.", "source": "good", "lang": "fr"})
    rows.append({"ref": "dropped", "text": "The old sailor.", "source": "good", "lang": "en"})
    given(workspace, rows, shards=2, dropped=["dropped"])
    return workspace


def score(workspace, reference=True, name=None, **config):
    references = {"docs": "given", "scorer": "a-scorer"} | ({"perplexity": "a-reference"} if reference else {})
    return workspace.run("score", {"workers": 1, **config}, references=references, name=name)


def test_the_columns_are_those_of_the_reference(ready):
    rows = {row["ref"]: row for row in read_all(score(ready))}
    reference = Reference.load(ready.store.resolve("a-reference").root)
    for row in rows.values():
        if row["keep"]:
            expected = reference.measure(row["text"], row["lang"])
            assert row["perplexity"] == (None if row["lang"] == "fr" else pytest.approx(expected.perplexity, rel=1e-6))
            assert row["relative_perplexity"] == (None if row["lang"] == "fr" else pytest.approx(expected.relative, rel=1e-6))
            assert row["characters"] == len(row["text"])
            assert 3 < row["entropy"] < 5
    assert [rows["french"][name] for name in ("perplexity", "perplexity_bucket")] == [None, None]
    assert rows["french"]["entropy"] is not None
    assert {rows["dropped"][name] for name in ("quality", "perplexity", "entropy", "weight", "perplexity_bucket")} == {None}
    ordered = sorted((row["perplexity"], row["perplexity_bucket"]) for row in rows.values() if row["perplexity"] is not None)
    assert [bucket for _, bucket in ordered] == ["head"] * 12 + ["middle"] * 12 + ["tail"] * 16  # nearest rank: 12 of 40, 24 of 40
    assert {row["source"] for row in rows.values() if row["perplexity_bucket"] == "head"} == {"good"}
    assert min(row["perplexity"] for row in rows.values() if row["source"] == "bad") > max(p for p, _ in ordered[:20])


def test_a_reference_that_is_the_corpus_itself_is_warned_of(ready):
    ready.run("train-perplexity", references={"docs": "given"})
    ready.run("score", references={"docs": "given", "scorer": "a-scorer", "perplexity": "train-perplexity"})
    assert any("trained on given@v1 itself" in line for line in ready.notes.warnings)
    ready.notes.warnings.clear()
    score(ready)
    assert not any("itself" in line for line in ready.notes.warnings)


def test_without_a_reference_there_is_no_such_column_and_limits_are_refused(ready):
    assert "perplexity" not in read_all(score(ready, reference=False))[0]
    with pytest.raises(MsptError, match="nothing measures it"):
        score(ready, reference=False, max_perplexity=["en=10"])
    with pytest.raises(MsptError, match="no column `perplexity`"):
        score(ready, reference=False, weight="1 / perplexity")


def test_limits_of_perplexity_drop_with_a_row(ready):
    plain = {row["ref"]: row["perplexity"] for row in read_all(score(ready)) if row["perplexity"] is not None}
    ordered = sorted(plain.values())
    high, low = (ordered[30] + ordered[31]) / 2, (ordered[1] + ordered[2]) / 2
    made = score(ready, max_perplexity=[f"en={high}"], min_perplexity=[str(low)])
    rejected = read_rejected(made)
    assert {row["ref"] for row in rejected if row["rule"] == HIGH_RULE} == {ref for ref, value in plain.items() if value > high}
    assert {row["ref"] for row in rejected if row["rule"] == LOW_RULE} == {ref for ref, value in plain.items() if value < low}
    assert all(row["value"] == pytest.approx(plain[row["ref"]]) and row["stage"] == "score" and row["text"] for row in rejected)
    assert made.manifest["counts"] == {"in": 41, "out": 30, "rejected": {HIGH_RULE: 9, LOW_RULE: 2}, "removed": {}}
    assert sum(row["keep"] for row in read_all(made)) == 30


def test_a_limit_of_relative_perplexity_drops_what_is_in_no_order(ready):
    before = score(ready)
    made = score(ready, max_relative_perplexity=["en=1"])
    assert any(f"are those of {before.ref}" in line for line in ready.notes.notes)  # no text is read for another limit
    assert {row["ref"]: row["rule"] for row in read_rejected(made)} == {f"bad{i}": RELATIVE_RULE for i in range(20)}
    with pytest.raises(MsptError, match="--paragraphs without a limit"):
        score(ready, max_relative_perplexity=["en=1"], paragraphs=True)


def test_single_paragraphs_are_cut_with_a_row(ready):
    rows = [row for row in read_all(score(ready)) if row["keep"] and row["lang"] == "en"]
    good, bad = [row for row in rows if row["source"] == "good"], [row for row in rows if row["source"] == "bad"]
    limit = (max(row["perplexity"] for row in good) + min(row["perplexity"] for row in bad)) / 2
    texts = [f"{a['text']}\n{b['text']}\n{c['text']}\n{d['text']}" for a, b, c, d in zip(good, bad, good[1:], good[2:], strict=False)]
    mixed = [{"ref": f"m{i}", "text": text, "source": "mixed", "lang": "en", "form": "prose"} for i, text in enumerate(texts)]
    mixed.append({"ref": "fine", "text": good[0]["text"], "source": "mixed", "lang": "en"})
    given(ready, mixed, shards=2)
    made = score(ready, max_perplexity=[f"en={limit}"], paragraphs=True)
    removed = [row for path in sorted((made.root / "removed").iterdir()) for row in pq.read_table(path).to_pylist()]
    left = {row["ref"]: row for row in read_all(made)}
    dropped = {row["ref"] for row in read_rejected(made)}
    assert len(removed) == made.manifest["counts"]["removed"][HIGH_RULE] >= 10
    assert len(removed) + len(dropped) == len(texts)
    for row in removed:
        assert row["text"].rstrip("\n") in {b["text"] for b in bad}
        assert row["value"] > limit == row["threshold"]
        text = left[row["ref"]]["text"]
        assert text[: row["start"]] + row["text"] + text[row["start"] :] == texts[int(row["ref"][1:])]
    assert left["fine"]["text"] == good[0]["text"]
    assert made.digests["text"] != ready.store.resolve("given").digests["text"]
    with pytest.raises(MsptError, match="cuts nothing"):
        score(ready, paragraphs=True)


def test_a_percentile_is_of_the_language(ready):
    made = score(ready, max_perplexity_percentile=50)
    rejected = read_rejected(made)
    assert {row["source"] for row in rejected} == {"bad"}
    assert len(rejected) == 20
    assert {row["detail"] for row in rejected} == {"percentile 50 of en"}


def test_other_weights_and_limits_do_not_read_the_text_and_give_the_same_bytes(ready, monkeypatch):
    first = score(ready)
    fresh = score(ready, name="fresh", weight="strong", max_perplexity=["1e6"])
    asked: list[str] = []
    read = Docs.read

    def watch(self, shard, columns=None, *, check=True):
        asked.extend(columns if columns is not None else ["text"])
        return read(self, shard, columns, check=check)

    def never(*_):
        raise AssertionError("a text is scored again")

    monkeypatch.setattr(Docs, "read", watch)
    monkeypatch.setattr(LengthScorer, "score", never)
    monkeypatch.setattr(Reference, "measure", never)
    again = score(ready, weight="strong", max_perplexity=["1e6"])
    assert any(f"those of {first.ref}" in note for note in ready.notes.notes)
    assert "lang" in asked
    assert "text" not in asked
    assert again.version == 2
    assert {name.replace("fresh", "score"): sha256 for name, sha256 in hashes(fresh).items()} == hashes(again)
    assert hashes(first) != hashes(again)


def test_what_was_measured_otherwise_is_not_taken(ready):
    without = score(ready, reference=False)
    score(ready)
    assert not any("no text is read" in note for note in ready.notes.notes)  # nothing measured perplexity before
    assert score(ready, reference=False, length=0.3).version == 3
    assert any(f"those of {without.ref}" in note for note in ready.notes.notes)
    given(ready, [{"ref": "a", "text": "The old sailor read an old letter.", "lang": "en"}])
    score(ready)
    assert not any("no text is read" in note for note in ready.notes.notes)  # other docs


def test_a_damaged_earlier_version_is_measured_again(ready):
    first = score(ready)
    path = next(first.root.glob("attributes-score-00000.parquet"))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(raw)
    again = score(ready, weight="strong")
    assert any("cannot be used" in line for line in ready.notes.warnings)
    assert pq.read_table(again.root / path.name).column("quality").null_count == 0


def test_weights_by_expression_their_spread_and_the_mixture(ready):
    made = score(ready, weight="clip(20 / coalesce(perplexity, 1000), 0.01, 1)", target_tokens=10_000, shares=["good=0.75"])
    rows = [row for row in read_all(made) if row["keep"]]
    for row in rows:
        assert row["weight"] == pytest.approx(min(1.0, max(0.01, 20 / (row["perplexity"] or 1000))), rel=1e-12)
    assert made.stats["weight_p95_over_p5"] > 1.5
    assert any("effective spread" in note for note in ready.notes.notes)
    forecast = {row["source"]: row for row in made.stats["forecast"]}
    english = sum(len(row["text"]) for row in rows if row["source"] == "good" and row["lang"] == "en")
    french = sum(len(row["text"]) for row in rows if row["lang"] == "fr")
    assert forecast["good"]["tokens"] == round(english / 4.1 + french / 3.0)
    assert (forecast["good"]["wanted"], forecast["bad"]["share"]) == (7500, 0.25)
    assert 'shares = ["bad=0.2500", "good=0.7500"]' in ready.notes.notes
    with pytest.raises(MsptError, match=r"\[score\] weight .* no value for french: perplexity is null there"):
        score(ready, weight="1 / perplexity")
    with pytest.raises(MsptError, match="shares"):
        score(ready, shares=["good=2"])
    score(ready, length=0.3, shares=["no-such=0.5"])
    assert any("no forecast" in line and "no-such" in line for line in ready.notes.warnings)


def test_worker_processes_judge_to_the_same_bytes(ready, monkeypatch):
    score(ready)
    inline = score(ready, weight="strong", max_perplexity_percentile=70)
    expected = hashes(inline)
    shutil.rmtree(inline.root)
    monkeypatch.undo()  # real workers; the scorer of these tests, which they do not know, measured the first version
    again = score(ready, weight="strong", max_perplexity_percentile=70, workers=2)
    assert (again.version, hashes(again)) == (2, expected)
    with pytest.raises(MsptError, match="no value for french"):
        score(ready, weight="1 / perplexity", workers=2)

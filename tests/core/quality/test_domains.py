"""Domains: the figures by hand, examples, labels and their mistakes, and the model that ships with mspt on texts that it has not seen."""

from __future__ import annotations

import json
import string
from collections import Counter

import pyarrow as pa
import pytest

from mspt.core.errors import InputError, MsptError
from mspt.core.quality import domains
from mspt.core.quality.domains import DOMAINS, DomainModel, agreement, choose, is_held_out, make_examples, read_domain_labels

STORY = """The old man put down the lamp and listened. "You came back," he said at last, and his voice was so quiet that she hardly heard it above the rain.
She did not answer. She looked at the chair where her mother used to sit, and at the clock, which had stopped years ago, and she thought of the summer
when they had walked along the river and nobody knew yet what would happen to them all. Then she laughed, and wept, and took his hand."""


PROGRAM = """#include <stdio.h>

static int sum(const int *values, size_t count) {
    int total = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0) continue;
        total += values[i];
    }
    return total;
}

int main(int argc, char **argv) {
    int values[] = {1, 2, 3};
    printf("%d\\n", sum(values, sizeof values / sizeof values[0]));
    return argc > 1 ? 1 : 0;
}
"""


def test_agreement_by_hand():
    true = ["news", "news", "news", "code", "code", "forum"]
    found = ["news", "code", "other", "code", "code", "news"]
    assert agreement(true, found) == {
        "documents": 6,
        "accuracy": 0.5,
        "by_domain": {
            "news": {"documents": 3, "precision": 0.5, "recall": 0.3333, "f1": 0.4},
            "code": {"documents": 2, "precision": 0.6667, "recall": 1.0, "f1": 0.8},
            "forum": {"documents": 1, "precision": 0.0, "recall": 0.0, "f1": 0.0},
        },
        "confusion": {
            "news": {"news": 1, "code": 1, "forum": 0, "other": 1},
            "code": {"news": 0, "code": 2, "forum": 0, "other": 0},
            "forum": {"news": 1, "code": 0, "forum": 0, "other": 0},
        },
    }


def test_examples_are_windows_and_what_is_held_out_is_whole():
    documents = {f"k{i}": string.ascii_letters * 100 for i in range(300)}
    rows = make_examples("code", "s", documents, 0.2, 1)
    aside = [row for row in rows if row["held_out"]]
    assert 40 < len(aside) < 80  # 60 of 300 expected
    assert {len(row["text"]) for row in aside} == {2000}
    assert Counter(len(row["text"]) for row in rows if not row["held_out"]) == {500: (300 - len(aside)) * 8, 2000: 300 - len(aside)}  # of ten windows eight
    assert [row["text"] for row in make_examples("code", "s", {"a": "x" * 500, "b": "y" * 1200}, 0, 1)] == ["x" * 500, "y" * 1200, "y" * 500, "y" * 500]
    assert {(row["domain"], row["source"]) for row in rows} == {("code", "s")}
    assert not any(is_held_out(key, 0, 1) for key in documents)
    assert make_examples("code", "s", {"a": " \n"}, 0.2, 1) == []


def test_the_choice_does_not_depend_on_the_order():
    keys = [str(i) for i in range(100)]
    assert choose(keys, 10, 1) == choose(keys[::-1], 10, 1) != choose(keys, 10, 2)
    assert len(choose(keys, 10, 1)) == 10
    assert choose(keys, 1000, 1) == set(keys)


def test_sources_and_domains_count_alike():
    # news 100 + 50, code 30: 100 * 2 sources are the most; 50 comes 200 / (2 * 50) = 2 times, 30 comes 200 / 30 = 6.67 -> 7 times, 1 at most 10 times
    assert domains._repeats(Counter({("news", "a"): 100, ("news", "b"): 50, ("code", "c"): 30, ("forum", "d"): 1})) == {
        ("news", "a"): 1, ("news", "b"): 2, ("code", "c"): 7, ("forum", "d"): 10
    }  # fmt: skip


def write(tmp_path, *rows):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return [path]


def test_labels(tmp_path):
    rows = [{"text": "a\0b", "domain": "news"}, {"text": "c", "label": " Code "}, {"text": "d", "domain": "news"}]
    assert read_domain_labels(write(tmp_path, *rows)) == {"news": ["a\0b", "d"], "code": ["c"]}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "there is no label"),
        ([{"text": "a", "domain": "weather"}], "labels.jsonl:1: there is no domain 'weather'"),
        ([{"text": "a", "domain": None}], "labels.jsonl:1 has no `text` and `domain`"),
        ([{"domain": "news"}], "labels.jsonl:1 has no `text` and `domain`"),
        ([{"text": "a", "domain": "news"}, {"text": "A ", "domain": "code"}], "labels.jsonl:2 contradicts labels.jsonl:1: the same text, labels news and code"),
        ([{"text": "a", "domain": "news"}, {"text": "a", "domain": "news"}], "labels.jsonl:2 repeats labels.jsonl:1"),
        ([{"text": " \0", "domain": "news"}], "labels.jsonl:1: the text is empty"),
    ],
)
def test_mistakes_in_labels(tmp_path, rows, message):
    with pytest.raises(MsptError, match=message):
        read_domain_labels(write(tmp_path, *rows))


# --- the model that ships ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def default():
    return DomainModel.default()


def label(model, *texts):
    names, confidence = model.label(pa.array(texts, pa.string()))
    assert all(0 <= p <= 1 for p in confidence)
    return names


def test_code_documentation_and_what_it_is_not_sure_of(default):
    manual = (
        "To install the package, run the installer and choose a directory. The option --prefix sets where files are placed; the default is /usr/local.\n\n"
        "If the configuration file does not exist, default values are used. See the section on environment variables for a list of names that are read.\n"
    )
    assert label(default, PROGRAM, manual) == ["code", "documentation"]
    assert label(default, "", " \n", None) == ["other", "other", "other"]
    assert default.label(pa.array([""]))[1].tolist() == [0.0]
    assert default.label(pa.array([], pa.string()))[0] == []
    assert set(default.description.domains) < set(DOMAINS)


def test_only_the_beginning_counts_and_a_batch_is_its_texts(default):
    long = PROGRAM * 10
    assert label(default, long[:2000] + STORY * 100) == label(default, long) == ["code"]
    names, confidence = default.label(pa.array([long, STORY, "a"]))
    for text, name, p in zip([long, STORY, "a"], names, confidence, strict=True):
        assert default.label(pa.array([text])) == ([name], pytest.approx([p]))


def test_files_of_another_form_are_refused(tmp_path, default):
    with pytest.raises(InputError, match="no domain model"):
        DomainModel.load(tmp_path)
    for name in ("bin", "json"):
        source = domains.DEFAULT_DIRECTORY / f"{domains.DEFAULT_STEM}.{name}"
        (tmp_path / f"domains.{name}").write_bytes(source.read_bytes())
    assert DomainModel.load(tmp_path).description == default.description
    value = json.loads((tmp_path / "domains.json").read_text(encoding="utf-8"))
    (tmp_path / "domains.json").write_text(json.dumps({**value, "format": 9}), encoding="utf-8")
    with pytest.raises(InputError, match="another format"):
        DomainModel.load(tmp_path)

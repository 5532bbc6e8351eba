"""--steps, --source-field, --map: what the settings of clean choose."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from mspt.core.errors import MsptError
from support.inline import work_inline
from support.made import rows

CHINESE = "春天来了，花园里的花都开了。孩子们在草地上跑来跑去，大家都很高兴。老人坐在树下，慢慢地喝着茶，说着从前的事情。"
ENGLISH = "The garden is full of flowers in the spring, and the children run across the grass while the old men sit under the trees and drink tea."
MOJIBAKE = CHINESE.encode().decode("latin-1")


@pytest.fixture
def clean(tmp_path, workspace, monkeypatch):
    """clean({name: bytes}, **settings) -> artifact."""
    work_inline(monkeypatch)
    monkeypatch.chdir(tmp_path)

    def run(files: dict[str, bytes], **settings):
        folder = tmp_path / "raw"
        folder.mkdir(exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return workspace.run("clean", settings, paths=[folder])

    return run


def jsonl(*records: dict) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_each_step_can_be_judged_alone(clean):
    """The same four records; a step that is left out neither changes nor rejects."""
    page = f"<html><body><nav>首页 登录</nav><p>{CHINESE}</p></body></html>"
    files = {"a.jsonl": jsonl({"text": MOJIBAKE}, {"text": "短"}, {"text": f"{ENGLISH}\u200b  {ENGLISH}"}), "b.html": page.encode()}
    nothing = {row["ref"]: row for row in rows(clean(files, steps=[]))}
    assert {ref: row["text"] for ref, row in nothing.items()} == {
        "a.jsonl#0": MOJIBAKE, "a.jsonl#1": "短", "a.jsonl#2": f"{ENGLISH}\u200b  {ENGLISH}", "b.html#0": page
    }  # fmt: skip
    assert {row["lang"] for row in nothing.values()} == {"und"}
    decoded = {row["ref"]: row["text"] for row in rows(clean(files, steps=["decode"]))}
    assert decoded == {**{ref: row["text"] for ref, row in nothing.items()}, "a.jsonl#0": CHINESE}
    extracted = {row["ref"]: row["text"] for row in rows(clean(files, steps=["extract"]))}
    assert extracted["b.html#0"] == CHINESE
    normalized = {row["ref"]: row["text"] for row in rows(clean(files, steps=["normalize"]))}
    assert normalized["a.jsonl#2"] == f"{ENGLISH} {ENGLISH}"
    languages = {row["ref"]: row["lang"] for row in rows(clean(files, steps=["language"]))}
    assert languages["a.jsonl#2"] == "en"
    judged = clean(files, steps=["rules"])
    assert "a.jsonl#1" in {row["ref"] for row in rows(judged, "rejected/*.parquet")}
    with pytest.raises(MsptError, match="steps"):
        clean(files, steps=["wash"])


RESIDUES = {
    "escapes": (r"\n".join([CHINESE] * 4), "\n".join([CHINESE] * 4)),
    "percents": (f"%E6%98%A5 %E5%A4%A9 %E6%9D%A5 {ENGLISH}", f"春 天 来 {ENGLISH}"),
    "entities": (f"{ENGLISH} &amp;amp; &quot;{ENGLISH}&quot;", f'{ENGLISH} & "{ENGLISH}"'),
    "tags": (f"<strong>第一回</strong>{CHINESE}", f"第一回{CHINESE}"),
    "bbcode": (f"[b]第一回[/b]{CHINESE}", f"第一回{CHINESE}"),
    "wrapped_lines": (textwrap.fill(f"{ENGLISH} {ENGLISH} {ENGLISH}", 60), f"{ENGLISH} {ENGLISH} {ENGLISH}"),
}


def test_residues_are_undone_unless_they_are_to_be_left(clean):
    """Each switch counts, and turns off what is its own only."""
    data = {"a.jsonl": jsonl(*({"text": raw} for raw, _ in RESIDUES.values()))}
    made = clean(data, steps=["normalize"])
    assert [row["text"] for row in rows(made)] == [undone for _, undone in RESIDUES.values()]
    assert made.stats["changed"].keys() >= RESIDUES.keys()
    assert made.stats["changed"]["escapes"] == 3
    assert made.stats["changed"]["tags"] == len("<strong></strong>")
    left = clean(data, steps=["normalize"], leave=["tags", "wrapped_lines"])
    assert [row["text"] for row in rows(left)] == [raw if name in ("tags", "wrapped_lines") else undone for name, (raw, undone) in RESIDUES.items()]
    assert left.stats["changed"].keys() & RESIDUES.keys() == RESIDUES.keys() - {"tags", "wrapped_lines"}


def test_punctuation_is_unified_when_asked(clean):
    data = {"a.jsonl": jsonl({"text": f"{CHINESE}他说:你好,世界!(完)"}, {"text": ENGLISH})}
    assert [row["text"] for row in rows(clean(data))] == [f"{CHINESE}他说:你好,世界!(完)", ENGLISH]
    unified = clean(data, punctuation="unify")
    assert [row["text"] for row in rows(unified)] == [f"{CHINESE}他说：你好，世界！（完）", ENGLISH]
    assert unified.stats["changed"]["punctuation"] == 5


SPACED = " ".join(CHINESE)
SCANNED = "\n".join(CHINESE)  # vertical writing, as OCR reads it
PAGES = "\n\f".join(f"灯塔的故事\n\n{CHINESE[5 + number : -1]}\n\n{number}" for number in range(1, 6))


def test_text_of_pages_is_mended_when_asked_and_counted_when_not(clean, workspace):
    data = {"a.jsonl": jsonl({"text": PAGES}, {"text": SPACED}, {"text": SCANNED}, *({"text": f"{CHINESE}{number}"} for number in range(20)))}
    made = clean(data, steps=["normalize"])
    texts = {row["ref"]: row["text"] for row in rows(made)}
    assert texts["a.jsonl#1"] == SPACED
    assert "灯塔的故事" in texts["a.jsonl#0"]
    source = made.stats["sources"]["raw"]
    assert (source["in"], source["pdf-text"], source["ocr"]) == (23, 1, 2)
    (remark,) = [note for note in workspace.notes.notes if "--profile" in note]
    assert "raw: 2 of 23 documents from OCR" in remark  # 1 of 23 is less than 5 %
    assert remark.endswith("--profile ocr mends it")

    mended = clean(data, steps=["normalize"], profile=["ocr", "pdf-text"])
    texts = {row["ref"]: row["text"] for row in rows(mended)}
    assert texts["a.jsonl#0"] == "\n".join(CHINESE[5 + number : -1] for number in range(1, 6))
    assert texts["a.jsonl#1"] == CHINESE
    assert "pdf-text" not in mended.stats["sources"]["raw"]
    removed = [(row["rule"], row["text"], row["start"]) for row in rows(mended, "removed/*.parquet") if row["ref"] == "a.jsonl#0"]
    assert [(rule, text) for rule, text, _ in removed] == [
        part for number in range(1, 6) for part in (("running-line", "灯塔的故事"), ("page-number", str(number)))
    ]
    assert [start for *_, start in removed][:3] == [0, len(CHINESE) - 6, len(CHINESE) - 6]
    assert clean(data, steps=["normalize"], profile="pdf-text,ocr").ref == mended.ref  # the order of the names says nothing
    (gone,) = rows(clean({"a.jsonl": jsonl({"text": SCANNED}, {"text": CHINESE})}, profile="ocr"), "rejected/*.parquet")
    assert (gone["ref"], gone["rule"], gone["threshold"]) == ("a.jsonl#0", "one-character-lines", 0.3)


@pytest.mark.parametrize(("profile", "words"), [(["default", "strict"], "two sets"), (["pdf"], "no profile 'pdf'"), (["ocr,stric"], "no profile 'stric'")])
def test_profiles_that_contradict_each_other_are_a_person_s_mistake(clean, profile, words):
    with pytest.raises(MsptError, match=words):
        clean({"a.txt": CHINESE.encode()}, profile=profile)


def test_the_source_may_be_a_field_of_the_record(clean):
    """Ids stay unique although two files give records of one source; a record that names none keeps that of its PATH."""
    made = clean(
        {
            "a.jsonl": jsonl({"text": CHINESE, "from": {"site": "新闻 网"}}, {"text": CHINESE + "一"}),
            "b.jsonl": jsonl({"text": CHINESE + "二", "from": {"site": "新闻 网"}}),
        },
        source_field="from.site",
    )
    docs = rows(made)
    assert [(row["source"], row["ref"]) for row in docs] == [("新闻-网", "raw/a.jsonl#0"), ("raw", "raw/a.jsonl#1"), ("新闻-网", "raw/b.jsonl#0")]
    assert len({row["id"] for row in docs}) == 3
    assert {name: counts["in"] for name, counts in made.stats["sources"].items() if "in" in counts} == {"raw": 1, "新闻-网": 2}


def test_a_function_of_the_user_changes_and_drops_records(clean, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from mspt.core.text.mapping import Drop\n"
        "def tidy(record):\n"
        "    stars = record['fields']['stars']\n"
        "    if stars < 3:\n"
        "        return Drop('few stars')\n"
        "    return {'text': record['text'] + '……' * (6 // (stars - 3)), 'title': record['ref']}\n",
        encoding="utf-8",
    )
    records = [{"text": CHINESE, "stars": 1}, {"text": CHINESE, "stars": 5}, {"text": CHINESE, "stars": 3}, {"text": CHINESE}]
    made = clean({"a.jsonl": jsonl(*records)}, map="mine.py:tidy")
    (row,) = rows(made)
    assert (row["text"], row["title"]) == (CHINESE + "……" * 3, "a.jsonl#1")
    rejected = {row["ref"]: (row["rule"], row["detail"]) for row in rows(made, "rejected/*.parquet")}
    assert rejected["a.jsonl#0"] == ("map", "few stars")
    assert rejected["a.jsonl#2"][0] == "map-error"
    assert "ZeroDivisionError" in rejected["a.jsonl#2"][1]
    assert "line 6 of mine.py" in rejected["a.jsonl#2"][1]
    assert "KeyError: 'stars'" in rejected["a.jsonl#3"][1]
    (step,) = [step for step in made.stats["steps"] if step["step"] == "map"]
    assert (step["in"], step["out"], step["rejected"]) == (4, 1, {"map-error": 2, "map": 1})


def test_the_source_of_the_function_counts_and_its_place_does_not(clean, tmp_path, workspace):
    mine, data = tmp_path / "mine.py", {"a.jsonl": jsonl({"text": CHINESE})}
    mine.write_text("def tidy(record):\n    return record['text'] + '甲'\n", encoding="utf-8")
    first = clean(data, map="mine.py:tidy")
    assert clean(data, map=f"{tmp_path}/mine.py:tidy").ref == first.ref
    mine.write_text("def tidy(record):\n    return record['text'] + '乙'\n", encoding="utf-8")
    second = clean(data, map="mine.py:tidy")
    assert [row["text"][-1] for row in (*rows(first), *rows(second))] == ["甲", "乙"]
    assert any("map mine.py:tidy" in note.replace("'", "") for note in workspace.notes.notes)
    for spec, words in (("mine.py", "MODULE:FUNCTION"), ("mine.py:none", "none"), ("nowhere.py:tidy", "nowhere")):
        with pytest.raises(MsptError, match=words):
            clean(data, map=spec)


def test_units_that_another_function_cleaned_are_not_taken_over(clean, tmp_path, workspace):
    mine, data = tmp_path / "mine.py", {"a.jsonl": jsonl({"text": CHINESE})}
    for letter in "甲乙":
        mine.write_text(f"def tidy(record):\n    return record['text'] + '{letter}'\n", encoding="utf-8")
        made = clean(data, map="mine.py:tidy")
        assert not any("taken over" in note for note in workspace.notes.notes)
        assert rows(made)[0]["text"].endswith(letter)


def test_the_place_of_a_function_is_the_folder_of_the_settings_file(tmp_path, workspace, monkeypatch):
    work_inline(monkeypatch)
    (tmp_path / "mine.py").write_text("def tidy(record):\n    return record['text'] * 2\n", encoding="utf-8")
    path = tmp_path / "a.jsonl"
    path.write_bytes(jsonl({"text": CHINESE}))
    elsewhere = Path(tmp_path / "elsewhere")
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    made = workspace.run("clean", {"map": "mine.py:tidy"}, paths=[path], base=tmp_path)
    assert rows(made)[0]["text"] == CHINESE * 2


def test_a_file_of_leftovers_adds_to_the_shipped_ones(clean, workspace, tmp_path):
    mine = tmp_path / "mine.toml"
    mine.write_text('[[line]]\nname = "slogan"\nmax_units = 60\npatterns = ["某某网，让世界听见$"]\n', encoding="utf-8")
    page = f"<div><p>{CHINESE}</p><p>{CHINESE[::-1]}</p><p>某某网，让世界听见</p><p>责任编辑：何田</p></div>"
    clean({"a.html": page.encode()})
    extracted = workspace.run("clean", {"steps": ["extract"]}, paths=[tmp_path / "raw"], files={"leftovers": [mine]})
    assert {(row["rule"], row["text"]) for row in rows(extracted, "removed/*.parquet")} == {("slogan", "某某网，让世界听见"), ("editor", "责任编辑：何田")}
    mine = tmp_path / "bad.toml"
    mine.write_text("[[line]]\n", encoding="utf-8")
    with pytest.raises(MsptError, match="no rules for leftovers"):
        workspace.run("clean", {"steps": ["extract"]}, paths=[tmp_path / "raw"], files={"leftovers": [mine]})


def test_lists_may_be_written_with_commas(clean):
    files = {"a.jsonl": jsonl({"text": MOJIBAKE}, {"text": "短"})}
    assert rows(clean(files, steps=["decode,extract"])) == rows(clean(files, steps=["decode", "extract"]))
    assert {row["rule"] for row in rows(clean(files, limit=["too-short=off, few-stop-words=off"]), "rejected/*.parquet")} == set()
    for limit in ("too-short=nan", "too-short=inf", "too-short=-5", "too-short="):
        with pytest.raises(MsptError, match="expected RULE=NUMBER"):
            clean(files, limit=[limit])


def test_lone_surrogates_in_the_names_of_fields_are_survived(clean):
    made = clean({"a.jsonl": b'{"te\\ud800xt":"key"}\n' + jsonl({"text": CHINESE})})
    assert [row["rule"] for row in rows(made, "rejected/*.parquet")] == ["no-text"]
    assert len(rows(made)) == 1


def test_a_language_that_is_never_said_is_a_mistake(clean):
    files = {"a.jsonl": jsonl({"text": CHINESE}, {"text": ENGLISH})}
    assert [row["lang"] for row in rows(clean(files, languages=["zh,en"]))] == ["zh-Hans", "en"]
    assert [row["lang"] for row in rows(clean(files, languages=["zh-Hans"]))] == ["zh-Hans"]
    with pytest.raises(MsptError, match="klingon"):
        clean(files, languages=["klingon"])

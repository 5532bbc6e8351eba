"""`mspt show`: what it says of an artifact is what is recorded, whatever a stage put into its statistics."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest

from mspt.cli.views.course import read_course, thin
from mspt.cli.views.render import number, plot, safe, table
from mspt.cli.views.statistics import statistics
from mspt.core.errors import InputError
from mspt.core.stage import Read, find
from support.inline import work_inline
from support.shelf import COURSE, SIEVE, look, look_json, put_raw, run_sieve, shelf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "120")


def printed(*blocks, width: int = 100) -> str:
    from rich.console import Console

    out = Console(file=io.StringIO(), width=width, highlight=False)
    for block in blocks:
        out.print(block, markup=False)
    return out.file.getvalue()


def test_overview_of_documents(capsys, workspace):
    shelf(workspace, shortest=6)
    _, out, _ = look(capsys, workspace, "show", "shelf")
    for expected in (
        "mspt shelf raw/books.jsonl",
        "1 file, ",
        "some documents are short",
        "characters  1,234,567",
        "docs-*.parquet",
        "mspt sample shelf@v1 --rejected",
    ):
        assert expected in out
    lines = [line.split() for line in out.splitlines()]
    assert ["in", "6"] in lines
    assert next(line for line in lines if line[:2] == ["-", "too-short"])[2:4] == ["2", "33.3%"]
    assert ["out", "4", "66.7%"] in lines


def test_only_settings_that_differ_from_the_defaults_are_shown(capsys, workspace):
    shelf(workspace)
    stage = find("dedup")
    workspace.run(replace(stage, run=run_sieve_as(stage)), {"threshold": 0.7, "near": False}, references={"docs": "shelf"})
    found = look_json(capsys, workspace, "show", "dedup")
    assert found["settings"] == {"threshold": 0.7, "near": False}
    _, out, _ = look(capsys, workspace, "show", "dedup")
    assert "near no (default yes), threshold 0.7 (default 0.8)" in out
    assert "--docs" in out
    assert "shelf@v1" in out


def run_sieve_as(stage):
    def run(job):
        run_sieve(replace(job, config=SIEVE.config()))

    return run


def test_lineage_goes_down_to_the_raw_files_and_says_what_is_gone(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE)
    _, out, _ = look(capsys, workspace, "show", "course", "--lineage")
    places = [out.index(part) for part in ("course@v1", "docs: sieve@v1", "docs: shelf@v1", "raw: 1 file")]
    assert places == sorted(places)
    two = replace(SIEVE, name="two", reads={**SIEVE.reads, "other": Read("docs", producer="shelf")})
    workspace.run(two, references={"docs": "sieve", "other": "shelf"})
    _, out, _ = look(capsys, workspace, "show", "two", "--lineage")
    assert out.count("shelf@v1") == 2
    assert out.count("(as above)") == 1  # what is in the tree already is not drawn again
    (workspace.path / "shelf" / "v1").rename(workspace.path / "gone")
    assert "shelf@v1  docs (not here any more)" in look(capsys, workspace, "show", "sieve", "--lineage")[1]


def test_one_row_with_all_its_columns(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    found = look_json(capsys, workspace, "show", "sieve", "--row", "2")["document"]
    assert (found["text"], found["keep"], found["score"], found["ref"]) == ("please drop me at once", False, 0.22, "books.jsonl#3")
    code, _, err = look(capsys, workspace, "show", "sieve", "--row", "4")
    assert (code, "has 4 rows, numbered from 0" in err) == (2, True)


def test_an_unfinished_version_says_how_to_go_on(capsys, workspace):
    with pytest.raises(InputError):
        shelf(workspace, max_rejected=0.01)
    _, out, _ = look(capsys, workspace, "show", "shelf@v1.partial")
    assert "interrupted" in out
    assert "finished so far: 1 unit, which" in out
    assert "go on: mspt shelf raw/books.jsonl" in out


# --- training runs -----------------------------------------------------------------------------------------------------


def test_the_course_of_a_run(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE, {"steps": 8})
    _, out, _ = look(capsys, workspace, "show", "course")
    for expected in ("loss by step", "* training loss", "o validation loss", "metrics at step 8", "step-00000008", "validation"):
        assert expected in out
    found = look_json(capsys, workspace, "show", "course")["run"]
    assert found["curves"]["training loss"][:2] == [[1, 8.0], [2, 4.0]]
    assert found["curves"]["validation loss"] == [[2, 4.5], [4, 2.25], [6, 1.5], [8, 1.125]]
    assert [c["checkpoint"] for c in found["checkpoints"]] == [f"step-{n:08d}" for n in (2, 4, 6, 8)]


def test_metrics_of_a_step_join_training_and_validation(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE, {"steps": 4})
    assert look_json(capsys, workspace, "show", "course", "--step", "4")["metrics"] == {"step": 4, "loss": 2.0, "lr": 0.001, "validation_loss": 2.25}
    found = look_json(capsys, workspace, "show", "course", "--step", "1000")
    assert (found["step"], found["metrics"]["loss"]) == (4, 2.0)
    assert "the last line up to 1,000; the run is at 4" in look(capsys, workspace, "show", "course", "--step", "1000")[1]
    code, _, err = look(capsys, workspace, "show", "sieve", "--step", "1")
    assert (code, "it has no steps" in err) == (2, True)


def test_a_half_written_last_line_of_metrics_is_left_out(capsys, workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    with pytest.raises(KeyboardInterrupt):
        workspace.run(COURSE, {"steps": 6, "fails_at": 4})
    with (workspace.path / "course" / "v1" / "metrics.jsonl").open("a") as log:
        log.write('{"step": 4, "lo')
    found = look_json(capsys, workspace, "show", "course@v1")
    assert found["run"]["last"]["step"] == 3
    assert "stopped: KeyboardInterrupt" in look(capsys, workspace, "show", "course@v1")[1]


def test_a_step_that_was_run_again_counts_as_it_was_run_last():
    metrics = [{"step": 1, "loss": 5.0}, {"step": 2, "loss": 4.0}, {"step": 2, "loss": 3.5}, {"step": 3, "loss": None}]
    assert read_course(metrics).curves == {"training loss": [(1, 5.0), (2, 3.5)]}
    assert read_course(metrics).last == {"step": 3, "loss": None}


def test_long_curves_are_thinned_evenly():
    points = [(i, float(i)) for i in range(10_001)]
    assert thin(points, 5) == [(0, 0.0), (2500, 2500.0), (5000, 5000.0), (7500, 7500.0), (10_000, 10_000.0)]
    assert thin(points[:4], 5) == points[:4]


def test_a_plot_has_its_extremes_in_its_corners():
    lines = plot({"loss": [(0, 10.0), (50, 4.0), (100, 2.0)]}, width=21, height=5).plain.splitlines()
    assert lines[0] == "10 |*"
    assert lines[4] == " 2 |" + " " * 20 + "*"
    assert lines[3] == "   |" + " " * 10 + "*"  # 4.0 is three quarters of the way down, at half of the steps
    assert lines[6].split() == ["0", "100"]


# --- statistics of any shape -------------------------------------------------------------------------------------------


def test_nested_statistics_become_tables():
    stats = {
        "characters": 1234567,
        "share": 0.25,
        "by_source": {"zh": {"in": 10, "rejected": {"short": 1}}, "en": {"in": 5, "rejected": {}}},
        "steps": [{"step": "read", "seconds": 75.0}, {"step": "write", "seconds": 0.5}],
        "types": {"zh": {"kinds": {"html": {"files": 3, "bytes": 2_000_000}}}},
        "lengths": [1, 2, 3],
        "nothing": {},
    }
    lines = [" ".join(line.split()) for line in printed(*statistics(stats)).splitlines()]
    for expected in ("characters 1,234,567", "share 25.0%", "zh 10 short 1", "en 5", "read 1 min 15 s", "write 0.5 s", "zh html 3 2.0 MB", "lengths 1, 2, 3"):
        assert expected in lines
    assert "nothing: nothing" in lines


def test_records_that_do_not_fit_as_rows_are_called_by_their_first_texts(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    stats = {"tasks": [{"task": "sky", **{f"figure_{i}": 1000.0 + i for i in range(6)}}], "mixture": {"books": {"source": "books", "documents": 7}}}
    lines = [line.split() for line in printed(*statistics(stats), width=40).splitlines() if line.strip()]
    assert lines[:4] == [["tasks"], ["sky"], lines[2], ["figure", "0", "1,000"]]
    assert ["books", "7"] in lines  # and a name is said once


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        [],
        [[]],
        [[1, 2], [3]],
        [{"a": [{"b": {"c": [1]}}]}, 3, "x"],
        {"": {"": {}}},
        {1: {2: 3}},
        [None, {}],
        {"a": [None]},
        "[red]x[/red]\x1b[0m",
        float("nan"),
    ],
)
def test_no_shape_of_statistics_breaks_a_view(value):
    out = printed(*statistics({"value": value, "deep": {"a": {"b": {"c": value}}}, "many": [value] * 30, "each": {str(i): value for i in range(30)}}))
    assert "\x1b" not in out


def test_long_statistics_are_cut_unless_everything_is_asked_for():
    stats = {"words": {f"word{i}": i for i in range(100)}}
    assert "(77 more: -v)" in printed(*statistics(stats))
    assert "word99" in printed(*statistics(stats, everything=True))


@pytest.mark.parametrize("width", [80, 120])
def test_tables_fit_the_screen(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    rows = [{"cluster": "0123456789abcdef" * 2, "documents": 12, "source": "encyclopaedia", "excerpt": "很长的文字 " * 50} for _ in range(3)]
    out = printed(*statistics({"largest": rows}), width=width)
    assert max(len(line.rstrip()) for line in out.splitlines()) <= width
    assert out.count("0123456789abcdef" * 2) == 3  # what is short stays whole


def test_numbers_say_their_unit():
    said = [
        number(v, n)
        for n, v in (
            ("bytes", 1500),
            ("step_seconds", 75),
            ("bad_line_ratio", 0.0003),
            ("share", 0.5),
            ("documents", 1234),
            ("loss", 1.23456),
            ("perplexity", 4194.9),
            ("ratio", 3.0),
            ("ok", True),
        )
    ]
    assert said == ["1.5 kB", "1 min 15 s", "0.03%", "50.0%", "1,234", "1.235", "4,195", "3", "yes"]


def test_markup_in_tables_stays_text():
    assert "[bold]" in printed(table(["[dim]name"], [["[bold]x"]]))
    assert safe("a\tb\nc\r\x07\u202e") == "a\tb\nc\\r\\x07\\u202e"


# --- a training row ----------------------------------------------------------------------------------------------------


def test_a_packed_row_is_traced_to_its_documents(capsys, workspace):
    """A real chain: the row's text is the documents' text, each with its raw file and line."""
    texts = [f"The {i}. document speaks of rivers, mountains and {word}." for i, word in enumerate(("ships", "trains", "birds", "stones", "clouds", "paper"))]
    put_raw(workspace.path.parent / "raw", texts)
    made = shelf(workspace, texts)
    workspace.run("train-tokenizer", {"vocab_size": 300, "held_out_share": 0.0}, references={"docs": made.ref})
    workspace.run("tokenize", {"workers": 1}, references={"docs": made.ref})
    workspace.run("pack-mindrecord", {"workers": 1, "seq_length": 64, "validation_share": 0.0, "max_documents": 8}, references={"docs": made.ref})
    found = look_json(capsys, workspace, "show", "pack-mindrecord", "--row", "0")
    assert found["positions"] == 64
    for segment in found["segments"]:
        line = int(segment["document"]["ref"].split("#")[1])
        assert segment["text"] in texts[line]
        assert segment["source"] == "books"
    _, out, _ = look(capsys, workspace, "show", "pack-mindrecord", "--row", "0")
    assert "books.jsonl#" in out
    code, _, err = look(capsys, workspace, "show", "pack-mindrecord", "--row", "999")
    assert (code, "its rows are 0 to" in err) == (2, True)
    root = workspace.path / "pack-mindrecord" / "v1"
    for name in ("train-00000.mindrecord", "train-00000.mindrecord.db", "rows-train-00000.parquet", "tokenizer.model"):
        whole = (root / name).read_bytes()
        for damaged in (whole[:-1], whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], None):
            (root / name).unlink()
            if damaged is not None:
                (root / name).write_bytes(damaged)
            code, _, err = look(capsys, workspace, "show", "pack-mindrecord", "--row", "0")
            assert (code, name in err, "mspt verify pack-mindrecord@v1" in err) == (5, True, True), err
            (root / name).unlink(missing_ok=True)
            (root / name).write_bytes(whole)

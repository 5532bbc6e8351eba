"""The command line: global options anywhere, errors in two lines with their exit codes, one JSON object."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from unittest.mock import Mock

import pytest

from mspt.cli.app import RESUME, Terminated, hoist_globals, main
from mspt.cli.commands import make_request, next_command
from mspt.core.config import load_settings
from mspt.core.stage import discover, find


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out, captured.err


def test_help_lists_every_stage_in_pipeline_order(capsys):
    code, out, _ = call(capsys, "--help")
    assert code == 0
    places = [out.index(f" {stage.name} ") for stage in discover()]
    assert places == sorted(places)


@pytest.mark.parametrize("stage", [stage.name for stage in discover()])
def test_every_stage_has_help(capsys, stage):
    code, out, _ = call(capsys, stage, "--help")
    assert code == 0
    assert "Usage:" in out


def test_help_names_values_by_one_word_never_by_a_type_of_python(capsys):
    """As typer does by itself: `PATH... <list[str]>`, `--top-k <int range>`."""
    _, out, _ = call(capsys, "--help")
    listed = out[out.index("Commands:") :].splitlines()[1:]
    names = [line.split()[0] for line in listed if line.startswith("  ") and line[2] != " "]
    assert {"clean", "generate", "ls", "doctor"} <= set(names)
    for name in names:
        _, out, _ = call(capsys, name, "--help")
        assert not re.search(r"<(str|int|float|path|list|[a-z]+\|)[^>]*>", out), name


def test_global_options_may_stand_anywhere():
    assert hoist_globals(["clean", "raw", "--json", "--workspace", "w"]) == ["--json", "--workspace", "w", "clean", "raw"]
    assert hoist_globals(["clean", "--workspace=w", "--", "--json"]) == ["--workspace=w", "clean", "--", "--json"]
    assert hoist_globals(["clean", "--workspace"]) == ["--workspace", "clean"]


@pytest.mark.parametrize("arguments", [["--nothing"], ["nothing"], ["clean", "--nothing"], ["clean", "--workers", "x", "raw"], ["dedup", "--threshold", "7"]])
def test_a_persons_mistake_is_two_lines_and_exit_2(capsys, tmp_path, arguments):
    code, out, err = call(capsys, "--workspace", str(tmp_path / "w"), *arguments)
    assert code == 2
    assert out == ""
    lines = [line for line in err.splitlines() if line.strip()]
    assert len(lines) == 2
    assert lines[0].startswith("error: ")


def test_missing_input_says_what_to_run(capsys, tmp_path):
    code, _, err = call(capsys, "--workspace", str(tmp_path / "w"), "dedup")
    assert code == 2
    assert "dedup needs docs (kind docs) of clean, and there is none yet" in err
    assert "run `mspt clean` first" in err


def test_json_errors_are_one_object(capsys, tmp_path):
    code, out, _ = call(capsys, "--json", "--workspace", str(tmp_path / "w"), "dedup")
    value = json.loads(out)
    assert (value["status"], value["exit_code"], code) == ("error", 2, 2)


def test_unknown_table_and_setting_are_found_before_work(capsys, tmp_path):
    config = tmp_path / "mspt.toml"
    config.write_text('[run]\nsteps = ["dedup"]\n[dedup]\nthreshhold = 0.7\n')
    code, _, err = call(capsys, "--config", str(config), "run")
    assert (code, "did you mean `threshold`?" in err) == (2, True)
    config.write_text('[run]\nsteps = ["dedup"]\n[dedupp]\nthreshold = 0.7\n')
    for command in ("run", "dedup"):
        code, _, err = call(capsys, "--config", str(config), command)
        assert (code, "did you mean `dedup`?" in err) == (2, True)


def test_without_arguments_there_is_help(capsys):
    code, out, err = call(capsys)
    assert (code, err) == (0, "")
    assert "train-tokenizer" in out


def test_what_follows_reads_this_line_of_work():
    said = [next_command(find(stage), name) for stage, name in (("clean", "clean"), ("train-tokenizer", "big"), ("import-hf", "import-hf"), ("eval", "eval"))]
    assert said == ["mspt dedup", "mspt tokenize --tokenizer big", "mspt generate --model import-hf", "mspt convert-hf"]


def test_module_and_script_are_the_same_command():
    done = subprocess.run([sys.executable, "-m", "mspt.cli", "--help"], capture_output=True, text=True, check=True)
    assert "from raw text to a delivered model" in done.stdout


@pytest.mark.parametrize("arguments", [["nothing"], ["--nothing"], ["show"]])
def test_json_usage_errors_are_one_object_too(capsys, arguments):
    code, out, _ = call(capsys, "--json", *arguments)
    assert (json.loads(out)["exit_code"], code) == (2, 2)


@pytest.mark.parametrize(("ended", "code"), [(KeyboardInterrupt(), 130), (Terminated(), 143), (PermissionError(errno.EACCES, "Permission denied", "x"), 4)])
def test_how_a_command_ended_is_said_and_in_the_exit_code(capsys, monkeypatch, ended, code):
    monkeypatch.setattr("mspt.cli.app.build_app", Mock(side_effect=ended))
    found, out, err = call(capsys, "--json", "ls")
    assert (found, json.loads(out)["exit_code"]) == (code, code)
    assert "run the same command again" in err


@pytest.mark.parametrize(
    ("command", "table", "words"),
    [
        ("dedup", "docs = ['a']", "docs = ['a'] is no reference"),
        ("train-tokenizer", "from = 3", "from = 3 is no path"),
        ("eval", "tasks = [1]", "tasks = [1] is no path"),
        ("dedup", "decontaminate = ['']", "an empty path"),
    ],
)
def test_inputs_of_a_wrong_type_in_toml_are_named(capsys, tmp_path, command, table, words):
    config = tmp_path / "mspt.toml"
    config.write_text(f"[{command}]\n{table}\n")
    code, _, err = call(capsys, "--config", str(config), "--workspace", str(tmp_path / "w"), command)
    assert (code, words in err) == (2, True)


@pytest.mark.parametrize("arguments", [["clean", ""], ["clean", "here.txt", ""], ["dedup", "--decontaminate", ""], ["train-tokenizer", "--from", ""]])
def test_an_empty_path_is_not_the_current_folder(capsys, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.txt").write_text("text\n")
    code, _, err = call(capsys, *arguments)
    assert (code, "error: an empty path: nothing to read" in err) == (2, True)


def test_a_step_with_an_impossible_name_is_refused_before_the_chain_starts(capsys, tmp_path):
    config = tmp_path / "mspt.toml"
    config.write_text('[run]\nsteps = ["../x"]\n["../x"]\nstage = "clean"\npaths = ["raw"]\n')
    code, _, err = call(capsys, "--config", str(config), "run", "--dry-run")
    assert (code, "`../x` cannot be the name" in err) == (2, True)


def as_on_a_terminal() -> None:
    """A shell starts background jobs with SIGINT ignored, and children inherit that: the tests may be such a job themselves."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_control_c_on_a_terminal_gives_two_lines_and_no_traceback_of_a_worker(tmp_path):
    """It reaches every process of the group, here while the workers start."""
    (tmp_path / "raw").mkdir()
    for name in "ab":  # seconds of work for each worker, so that the interrupt comes in the middle
        records = (json.dumps({"text": f"Record {number} of {name} tells what was measured on day {number * 7}."}) for number in range(30_000))
        (tmp_path / "raw" / f"{name}.jsonl").write_text("\n".join(records))
    command = [sys.executable, "-m", "mspt.cli", "--workspace", str(tmp_path / "w"), "clean", str(tmp_path / "raw"), "--workers", "2"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=as_on_a_terminal)
    while run.poll() is None and not (tmp_path / "w" / "clean" / "v1.partial" / "units").exists():
        time.sleep(0.02)
    time.sleep(0.1)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert (run.returncode, err.splitlines()[-2:]) == (130, ["error: interrupted", f"  {RESUME}"])
    assert "Traceback" not in err
    assert (tmp_path / "w" / "clean" / "v1.partial").is_dir()


def test_an_interrupt_that_typer_has_caught_is_said_too(capsys, monkeypatch):
    monkeypatch.setattr("mspt.cli.commands.load_settings", Mock(side_effect=KeyboardInterrupt))
    code, _, err = call(capsys, "clean", "raw")
    assert (code, "error: interrupted" in err) == (130, True)


def test_help_on_a_terminal_keeps_brackets_and_joins_lines(monkeypatch):
    from rich.text import Text

    from mspt.cli.console import help_text

    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert Text.from_markup(help_text("rows of\ninput_ids [S]\n\nnext [default: 0.8]")).plain == "rows of input_ids [S]\n\nnext [default: 0.8]"


def test_only_the_wanted_command_is_built_whole(capsys):
    code, out, _ = call(capsys, "--json", "--workspace", "w", "dedup", "--help")
    assert (code, "--threshold" in out) == (0, True)


def test_a_second_line_of_work_reads_the_table_of_its_stage_unless_it_has_its_own(tmp_path):
    config = tmp_path / "mspt.toml"
    config.write_text('[train]\nsteps = 7\n[wide]\nstage = "train"\nlayers = 9\n', encoding="utf-8")
    settings, stage = load_settings(config), find("train")
    assert [make_request(settings, stage, name, {}, {}).config.steps for name in ("train", "second", "wide")] == [7, 7, None]
    assert make_request(settings, stage, "second", {"steps": 3}, {}).config.steps == 3

"""The command line: global options anywhere, errors in two lines with their exit codes, one JSON object."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from mspt.cli.app import hoist_globals, main
from mspt.core.stage import discover


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
    assert "dedup needs docs (kind docs), and there is none yet" in err
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
    code, _, err = call(capsys, "--config", str(config), "run")
    assert (code, "did you mean `dedup`?" in err) == (2, True)


def test_module_and_script_are_the_same_command():
    done = subprocess.run([sys.executable, "-m", "mspt.cli", "--help"], capture_output=True, text=True, check=True)
    assert "from raw text to a delivered model" in done.stdout

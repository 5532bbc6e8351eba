"""Settings: precedence is tested with the command line; here types, ranges, units and the words of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest

from mspt.core.config import SampleSettings, Settings, as_plain, build_config, canonical_json, field_specs, identity, load_settings, parse_bytes, setting
from mspt.core.errors import MsptError


@dataclass(frozen=True, kw_only=True)
class Nested:
    tokens: int
    lr: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Example(SampleSettings):
    rate: Annotated[float, setting("a rate", gt=0, le=1)] = 0.5
    mode: Annotated[Literal["fast", "slow"], setting("a mode")] = "fast"
    free: Annotated[float, setting("a number without limits")] = 0.0
    limit: Annotated[int | None, setting("a limit", ge=1)] = None
    names: Annotated[tuple[str, ...], setting("names")] = ()
    parts: Annotated[tuple[Literal["head", "tail"], ...], setting("parts")] = ()
    on: Annotated[bool, setting("a switch")] = True
    phases: Annotated[tuple[Nested, ...], setting("phases")] = ()
    required: Annotated[int, setting("must be given")]


def test_strings_from_the_command_line_and_values_from_toml_agree():
    typed = build_config(Example, {"required": 3, "rate": 0.25, "limit": 7, "names": ["a"], "on": False, "memory": 2**30})
    text = build_config(Example, {"required": "3", "rate": "0.25", "limit": "7", "names": ["a"], "on": "false", "memory": "1GiB"})
    assert typed == text
    assert (typed.names, typed.mode) == (("a",), "fast")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"required": 1, "rat": 0.5}, ["no setting `rat`", "did you mean `rate`?"]),
        ({"required": 1, "rate": 1.5}, ["rate = 1.5 is not valid", "less than or equal to 1", "--rate"]),
        ({"required": 1, "mode": "quick"}, ["mode = 'quick' is not valid", "'fast' or 'slow'"]),
        ({"required": "many"}, ["required = 'many' is not valid", "valid integer"]),
        ({"required": 1, "limit": 0}, ["limit = 0 is not valid", "greater than or equal to 1"]),
        ({"required": 10**20}, ["required = 100000000000000000000 is not valid", "less than or equal to 9223372036854775807"]),
        ({"required": 1, "memory": "4 parsecs"}, ["memory = '4 parsecs' is not valid", "500MB or 4GiB"]),
        ({"required": 1, "memory": "100MB"}, ["memory = '100MB' is not valid", "greater than or equal to 256MiB"]),
        ({"required": 1, "sample": "0%"}, ["sample = '0%' is not valid"]),
        ({"required": 1, "parts": ["head,tale"]}, ["there is no --parts `tale`", "did you mean `tail`?"]),
        ({"required": 1, "parts": ["x"]}, ["there is no --parts `x`", "known: head, tail"]),
        ({}, ["required must be given"]),
        ({"required": True}, ["required = True is not valid", "expected a number"]),
        ({"required": 1, "free": "inf"}, ["free = 'inf' is not valid", "finite"]),
        ({"required": 1, "free": float("nan")}, ["free = nan is not valid", "finite"]),
        ({"required": 1, "phases": [{"tokens": "x"}]}, ["phases.0.tokens"]),
    ],
)
def test_errors_name_the_setting_and_the_repair(values, words):
    with pytest.raises(MsptError) as caught:
        build_config(Example, values, "[example] of mspt.toml")
    for word in [*words, "[example] of mspt.toml"]:
        assert word in str(caught.value)


def test_identity_leaves_runtime_settings_out():
    config = build_config(Example, {"required": 1, "workers": 3, "memory": "1GiB", "max_rejected": "10%", "phases": [{"tokens": 5}]})
    assert identity(config) == {
        "sample": None,
        "rate": 0.5,
        "free": 0.0,
        "mode": "fast",
        "limit": None,
        "names": [],
        "parts": [],
        "on": True,
        "phases": [{"tokens": 5, "lr": 0.1}],
        "required": 1,
    }
    assert build_config(Example, {k: v for k, v in as_plain(config).items() if k != "sample"}) == config


@pytest.mark.parametrize(("text", "value"), [("4GiB", 2**32), ("500 MB", 500_000_000), ("1.5k", 1500), (12, 12)])
def test_sizes(text, value):
    assert parse_bytes(text) == value


def test_a_field_without_setting_is_a_bug():
    @dataclass(frozen=True)
    class Broken:
        x: int = 1

    with pytest.raises(TypeError, match=r"Broken\.x lacks"):
        field_specs(Broken)


def test_canonical_json_has_one_text_per_value():
    assert canonical_json({"b": [1, 2.5], "a": "汉"}) == '{"a":"汉","b":[1,2.5]}'


def test_toml_errors_say_where(tmp_path):
    path = tmp_path / "mspt.toml"
    path.write_text("[clean]\nmin_characters = = 3\n")
    with pytest.raises(MsptError, match=r"not valid TOML.*line 2"):
        load_settings(path)
    path.write_text("steps = ['clean']")
    with pytest.raises(MsptError, match="`steps` stands outside a table"):
        load_settings(path)
    with pytest.raises(MsptError, match="no such settings file"):
        load_settings(tmp_path / "other.toml")


def test_settings_tables(tmp_path):
    path = tmp_path / "mspt.toml"
    path.write_text('[run]\nsteps = ["clean"]\n[clean]\npaths = ["raw"]\n')
    settings = load_settings(path)
    assert (settings.steps, settings.table("clean"), settings.table("none"), settings.base) == (["clean"], {"paths": ["raw"]}, {}, tmp_path)
    assert Settings({}).steps == []


@pytest.mark.parametrize("steps", ['"clean"', "[1]", "3"])
def test_steps_are_a_list_of_names(tmp_path, steps):
    path = tmp_path / "mspt.toml"
    path.write_text(f"[run]\nsteps = {steps}\n")
    with pytest.raises(MsptError, match="is no list of names"):
        _ = load_settings(path).steps

"""What every stage gets tested for, from its declaration alone. A new stage is tested by being there."""

from __future__ import annotations

import pytest

from mspt.core.config import build_config, field_specs
from mspt.core.errors import MsptError
from mspt.core.stage import Paths, Stage, discover, library_versions

STAGES = {stage.name: stage for stage in discover()}
each_stage = pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())


def defaults(stage: Stage) -> dict[str, object]:
    from dataclasses import MISSING

    return {spec.name: spec.default for spec in field_specs(stage.config) if spec.default is not MISSING}


@each_stage
def test_defaults_are_valid(stage):
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in defaults(stage).items()}
    required = [spec.name for spec in field_specs(stage.config) if spec.name not in plain]
    if not required:
        build_config(stage.config, plain)


@each_stage
def test_docs_say_what_goes_in_and_what_comes_out(stage):
    assert stage.summary.endswith(".")
    assert len(stage.summary) <= 120
    assert "In:" in stage.doc
    assert "Out:" in stage.doc


@each_stage
def test_every_setting_has_help(stage):
    for spec in field_specs(stage.config):
        assert len(spec.setting.help) >= 8, spec.name
        assert not spec.setting.help.endswith(".") or spec.setting.help.endswith("..."), spec.name


@each_stage
def test_every_input_comes_from_a_stage_that_writes_its_kind(stage):
    for name, read in stage.artifacts.items():
        assert read.producer in STAGES, name
        assert STAGES[read.producer].writes == read.kind, name


@each_stage
def test_libraries_are_installed_and_versioned(stage):
    assert all(library_versions(stage.libraries).values())


@each_stage
def test_missing_inputs_are_named(stage, workspace):
    if any(spec.default is spec.setting for spec in field_specs(stage.config)):
        return
    needs = [n for n, r in stage.artifacts.items() if not r.optional] or [n for n, r in stage.files.items() if not r.optional]
    needs += [n for n, r in stage.reads.items() if isinstance(r, Paths)]
    if needs:
        with pytest.raises(MsptError, match=rf"{stage.name} needs"):
            workspace.run(stage)
        assert not workspace.path.exists()


def test_orders_are_distinct():
    orders = [stage.order for stage in STAGES.values()]
    assert len(set(orders)) == len(orders)

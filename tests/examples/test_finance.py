"""examples/finance: card transactions told as text. Values are worked out by hand; the stage is tested as soon as `clean` has --group-by."""

from __future__ import annotations

import csv
import io
import json
import math
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES, sniff
from mspt.core.text.groups.groups import Group, Grouping, groups, map_group
from mspt.core.text.groups.order import Window
from mspt.core.text.groups.sort import RunWriter, merged
from mspt.core.text.mapping import Mapped, Refusal, load_map
from support.inline import work_inline

FINANCE = Path(__file__).resolve().parents[2] / "examples" / "finance"
SETTINGS = tomllib.loads((FINANCE / "mspt.toml").read_text(encoding="utf-8"))["clean"]

# Two accounts. Windows of 7 days are counted from Thursday 1970-01-01, so one begins on Thursday 2025-03-06 and the next on 2025-03-13.
#   A-1, 6 to 12 March: 餐饮 20.00 + 36.50 = 56.50, 图书 40.00, 交通 3.50. Shares 2/4, 1/4, 1/4:
#        H = 1/2 * log2 2 + 1/4 * log2 4 + 1/4 * log2 4 = 0.5 + 0.5 + 0.5 = 1.5 bits; 4 in 7 days = 0.571... a day
#   A-1, 13 to 19 March: one transaction, the only category: 0 bits; 1 / 7 = 0.142... a day
#   B-2, 6 to 12 March: 超市 1,200.00 - 200.00 (refund) = 1000.00, 餐饮 10.00 and an amount that nobody can read, and without a category 9.90 HKD:
#        shares 2/5, 2/5, 1/5: H = 2 * 0.4 * log2 2.5 + 0.2 * log2 5 = 0.8 * 1.321928 + 0.2 * 2.321928 = 1.521928 bits; 5 / 7 = 0.714... a day
CSV = """account,time,merchant,category,amount,currency
A-1,2025-03-12 23:59:59,城南书店,图书,40.00,CNY
A-1,2025/3/7 8:05,地铁一号线,交通,3.50,CNY
B-2,2025-03-08 10:00:00,百姓超市,超市,"￥1,200.00",CNY
A-1,2025-03-06 00:00:00,巷口面馆,餐饮,20.00,CNY
A-1,2025年3月9日 12:30,巷口面馆,餐饮, ３６.５０元,CNY
A-1,2025-03-13T00:00:00Z,巷口面馆,餐饮,25.00,CNY
B-2,2025-03-08 10:00:00,百姓超市,超市,-200.00,CNY
,2025-03-08 10:00:00,百姓超市,超市,1.00,CNY
B-2,2025-02-30 10:00:00,百姓超市,超市,1.00,CNY
B-2,20250309103000,巷口面馆,餐饮,10.00,
B-2,2025-03-09 10:31:00,巷口面馆,餐饮,—,CNY
B-2,2025-03-12 20:00:00+08:00,,,9.90,HKD
account,time,merchant,category,amount,currency
"""
FIRST = """账户A-1在2025年3月6日至2025年3月12日的交易：7天里共有4笔，平均每天0.57笔；第一笔在3月6日00:00，最后一笔在3月12日23:59。
这些交易分布在3类商户，商户类别的熵为1.50比特。
按类别合计：餐饮2笔，56.50元；交通1笔，3.50元；图书1笔，40.00元。
3月6日00:00，在巷口面馆（餐饮）支付20.00元。
3月7日08:05，在地铁一号线（交通）支付3.50元。
3月9日12:30，在巷口面馆（餐饮）支付36.50元。
3月12日23:59，在城南书店（图书）支付40.00元。"""
SECOND = """账户A-1在2025年3月13日至2025年3月19日的交易：7天里共有1笔，平均每天0.14笔；第一笔在3月13日00:00，最后一笔在3月13日00:00。
这些交易分布在1类商户，商户类别的熵为0.00比特。
按类别合计：餐饮1笔，25.00元。
3月13日00:00，在巷口面馆（餐饮）支付25.00元。"""
THIRD = """账户B-2在2025年3月6日至2025年3月12日的交易：7天里共有5笔，平均每天0.71笔；第一笔在3月8日10:00，最后一笔在3月12日12:00。
这些交易分布在3类商户，商户类别的熵为1.52比特。
按类别合计：超市2笔，1000.00元；餐饮2笔，10.00元，1笔金额不详；未分类1笔，9.90港元。
3月8日10:00，在百姓超市（超市）支付1200.00元。
3月8日10:00，在百姓超市（超市）退款200.00元。
3月9日10:30，在巷口面馆（餐饮）支付10.00元。
3月9日10:31，在巷口面馆（餐饮）交易，金额不详。
3月12日12:00，在不详的商户（未分类）支付9.90港元。"""
EXPECTED = {"A-1@2025-03-06T00:00:00Z": FIRST, "A-1@2025-03-13T00:00:00Z": SECOND, "B-2@2025-03-06T00:00:00Z": THIRD}
BITS = {"A-1@2025-03-06T00:00:00Z": 1.5, "A-1@2025-03-13T00:00:00Z": 0.0, "B-2@2025-03-06T00:00:00Z": 1.5219}


def grouped(text: str, folder: Path) -> tuple[list[Group], Counter[str]]:
    """Groups of a CSV file by the settings of mspt.toml, and the rules of the rows that are in none."""
    grouping = Grouping.of(SETTINGS["group_by"], SETTINGS["order_by"], SETTINGS["window"], "s", 100_000)
    assert grouping is not None
    writer, refused = RunWriter(lambda name: folder / name), Counter[str]()
    for number, fields in enumerate(csv.DictReader(io.StringIO(text))):
        row = grouping.row(fields, "transactions", f"transactions.csv#{number}")
        if isinstance(row, Refusal):
            refused[row.rule] += 1
        else:
            writer.add(row)
    buckets = writer.close()
    return [one for bucket in buckets for one in groups(merged(sorted(folder.glob("runs-*")), int(bucket), folder), grouping)], refused


def test_a_week_of_an_account_is_told_with_the_values_worked_out_above(tmp_path):
    found, refused = grouped(CSV, tmp_path)
    function = load_map(SETTINGS["map"], FINANCE)
    told = {one.ref: map_group(one, function) for one in found}
    assert {ref: one.text for ref, one in told.items()} == EXPECTED
    assert {ref: one.meta["entropy_bits"] for ref, one in told.items()} == BITS
    assert told["A-1@2025-03-06T00:00:00Z"] == Mapped(
        text=FIRST,
        title="账户A-1在2025年3月6日至2025年3月12日的交易",
        meta={"account": "A-1", "start": "2025-03-06T00:00:00Z", "transactions": 4, "entropy_bits": 1.5},
    )
    assert refused == {"no-group-key": 1, "bad-order-value": 2}  # no account; 30 February, and the header again


@pytest.mark.parametrize(
    ("counts", "bits"),
    [({"a": 7}, 0.0), ({"a": 1, "b": 1}, 1.0), ({"a": 2, "b": 1, "c": 1}, 1.5), (dict.fromkeys("abcdefgh", 3), 3.0), ({"a": 3, "b": 1}, 0.811278)],
)
def test_entropy(counts, bits):
    """Of n equally frequent categories it is log2 n; of 3 to 1: 3/4 * log2 4/3 + 1/4 * 2 = 0.75 * 0.415037 + 0.5."""
    entropy = load_map("render.py:entropy", FINANCE).function
    assert math.isclose(entropy(Counter(counts)), bits, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("amount", "read"),
    [
        ("36.5", "36.5"),
        ("￥1,234.50", "1234.50"),
        (" ３６.５０元", "36.50"),
        (12, "12"),
        (-3.5, "-3.5"),
        ("—", None),
        ("", None),
        (None, None),
        ("NaN", None),
        ("1e99", None),
    ],
)
def test_amounts(amount, read):
    found = load_map("render.py:amount_of", FINANCE).function({"amount": amount})
    assert (None if found is None else str(found)) == read


def test_an_entity_without_sound_fields_is_told_too():
    group = Group("C", "2025-03-06T00:00:00Z", "2025-03-13T00:00:00Z", [{"category": None, "amount": []}, {}], ["2025-03-06T00:00:00Z"] * 2, "s")
    found = map_group(group, load_map(SETTINGS["map"], FINANCE))
    assert isinstance(found, Mapped)
    assert "未分类2笔，2笔金额不详" in str(found.text)


# --- the made-up file --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("finance") / "raw"
    done = subprocess.run([sys.executable, str(FINANCE / "make_transactions.py"), str(folder)], capture_output=True, text=True, check=True)
    assert "2,000 transactions, 50 rows that are none" in done.stderr
    return folder


def test_the_file_is_messy_and_the_same_every_time(made, tmp_path):
    data = (made / "transactions.csv").read_bytes()
    subprocess.run([sys.executable, str(FINANCE / "make_transactions.py"), str(tmp_path), "--seed", "1"], capture_output=True, check=True)
    assert (tmp_path / "transactions.csv").read_bytes() == data
    subprocess.run([sys.executable, str(FINANCE / "make_transactions.py"), str(tmp_path), "--seed", "2"], capture_output=True, check=True)
    assert (tmp_path / "transactions.csv").read_bytes() != data
    with pytest.raises(UnicodeDecodeError):
        data.decode("utf-8")
    text = data.decode("gb18030")
    assert text.count("\r\n") == 2051
    times = [row["time"] or "" for row in csv.DictReader(io.StringIO(text))]
    assert {sum(sign in time for time in times) > 100 for sign in ("-", "/", "年", "T")} == {True}
    assert times != sorted(times)


def test_every_transaction_is_in_a_group_and_every_other_row_is_refused(made, tmp_path):
    found, refused = grouped((made / "transactions.csv").read_bytes().decode("gb18030"), tmp_path)
    assert sum(len(one.records) for one in found) == 2000
    assert refused.total() == 50
    assert len({one.entity for one in found}) == 20
    week = Window.parse("7d")
    assert {one.start for one in found} == {
        f"2025-{month:02d}-{day:02d}T00:00:00Z" for month, days in ((1, (2, 9, 16, 23, 30)), (2, (6, 13, 20))) for day in days
    }
    assert week.size == 604_800


# --- through the stage -------------------------------------------------------------------------------------------------


def rows(artifact: Any, pattern: str) -> list[dict[str, Any]]:
    return [row for path in sorted(artifact.root.glob(pattern)) for row in pq.read_table(path).to_pylist()]


def test_clean_tells_the_hand_written_file(workspace, tmp_path, monkeypatch):
    """The documents of `mspt clean` are those worked out above, whatever the encoding of the file; rows without a group are rejected with their own refs."""
    work_inline(monkeypatch)
    monkeypatch.chdir(FINANCE)
    raw = tmp_path / "small.csv"
    raw.write_bytes(CSV.encode("gb18030"))
    settings = {name: value for name, value in SETTINGS.items() if name != "paths"}
    made = workspace.run("clean", settings, paths=[raw])
    docs = {row["ref"]: row for row in rows(made, "docs-*.parquet")}
    assert {ref: row["text"] for ref, row in docs.items()} == EXPECTED
    assert {ref: json.loads(row["meta"])["entropy_bits"] for ref, row in docs.items()} == BITS
    assert {(row["source"], row["lang"]) for row in docs.values()} == {("small", "zh-Hans")}
    rejected = {(row["ref"], row["rule"]) for row in rows(made, "rejected/*.parquet")}
    assert rejected == {("small.csv#7", "no-group-key"), ("small.csv#8", "bad-order-value"), ("small.csv#12", "bad-order-value")}
    counts = made.manifest["counts"]
    assert (counts["in"], counts["out"], sum(counts["rejected"].values())) == (6, 3, 3)  # 13 records: 3 refused, 10 in 3 groups
    assert (made.stats["records"], made.stats["groups"]) == (13, 3)


def test_the_example_runs_as_its_page_says(made, tmp_path):
    """`mspt run` on the made-up file: every account and week, and every bad row, is accounted for. Two workers, as one, give the same bytes."""
    assert sniff((made / "transactions.csv").read_bytes()[:HEAD_BYTES]).name == "csv"
    folder = tmp_path / "finance"
    folder.mkdir()
    for name in ("mspt.toml", "render.py"):
        (folder / name).write_bytes((FINANCE / name).read_bytes())
    (folder / "raw").symlink_to(made, target_is_directory=True)
    hashes = []
    for workers in (1, 2):
        command = [sys.executable, "-m", "mspt.cli", "--workspace", str(tmp_path / f"work-{workers}"), "--config", str(folder / "mspt.toml")]
        subprocess.run([*command, "clean", "--workers", str(workers)], check=True, capture_output=True)
        manifest = json.loads((tmp_path / f"work-{workers}" / "clean" / "v1" / "artifact.json").read_text(encoding="utf-8"))
        hashes.append({file["path"]: file["sha256"] for file in manifest["files"] if "parquet" in file["path"] and file["path"] != "inputs.parquet"})
        counts, stats = manifest["counts"], manifest["stats"]
        assert (stats["records"], stats["groups"]) == (2050, 159)
        assert (counts["in"], counts["out"], sum(counts["rejected"].values())) == (209, 159, 50)
    assert hashes[0] == hashes[1]

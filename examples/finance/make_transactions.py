"""Make card transactions that no card ever made: accounts, merchants and amounts are drawn at random.

    python examples/finance/make_transactions.py raw [--rows 2000] [--seed 1]

Writes raw/transactions.csv. It is messy on purpose: GB18030, rows in no order, times written in five ways, amounts with signs, blanks and full-width
digits, and one row in forty that is no transaction. The same arguments give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import io
import random
import sys
from datetime import datetime, timedelta
from pathlib import Path

COLUMNS = ("account", "time", "merchant", "category", "amount", "currency")
NUM_ACCOUNTS = 20
FIRST_DAY, NUM_DAYS = datetime(2025, 1, 2), 56  # eight windows of seven days; windows begin on Thursdays, as the Unix epoch did
BAD_ONE_IN = 40

# Category: how many of 100 transactions it has, the median amount, and merchants.
MERCHANTS = {
    "餐饮": (34, 35, ("巷口面馆", "春江小厨", "一品豆浆", "石桥火锅", "晚风烧烤")),
    "超市": (22, 80, ("百姓超市", "东门便利店", "绿田生鲜")),
    "交通": (20, 8, ("市公交", "地铁一号线", "安行出租")),
    "图书": (7, 60, ("城南书店", "纸上文具")),
    "医药": (6, 45, ("康宁药房", "社区诊所")),
    "服装": (6, 260, ("云裳服饰", "足下鞋店")),
    "娱乐": (5, 90, ("星河影院", "山海乐园")),
}
TIME_FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y年%m月%d日 %H:%M", "%Y%m%d%H%M%S")
BAD_TIMES = ("待定", "2025-02-30 10:00:00", "", "昨天")
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


def transactions(rng: random.Random, count: int) -> list[list[str]]:
    """Sound rows, in no order. Some accounts spend far more often than others, and each has a favourite category."""
    accounts = [f"6200-{number:04d}" for number in rng.sample(range(10_000), NUM_ACCOUNTS)]
    favourites = {account: rng.choice(list(MERCHANTS)) for account in accounts}
    frequencies = [rng.paretovariate(1.2) for _ in accounts]
    shares = [share for share, _, _ in MERCHANTS.values()]
    rows = []
    for account in rng.choices(accounts, frequencies, k=count):
        category = favourites[account] if rng.random() < 0.4 else rng.choices(list(MERCHANTS), shares)[0]
        _, median, merchants = MERCHANTS[category]
        time = FIRST_DAY + timedelta(seconds=rng.randrange(NUM_DAYS * 86_400))
        amount = median * rng.lognormvariate(0, 0.7) * (-1 if rng.random() < 0.02 else 1)
        rows.append([account, written_time(rng, time), rng.choice(merchants), category, written_amount(rng, amount), "CNY" if rng.random() < 0.98 else "HKD"])
    return rows


def written_time(rng: random.Random, time: datetime) -> str:
    return time.strftime(rng.choice(TIME_FORMATS))


def written_amount(rng: random.Random, amount: float) -> str:
    """Mostly digits; sometimes as spreadsheets and people write it."""
    text = f"{amount:.2f}"
    return rng.choices([text, f"￥{amount:,.2f}", f" {text}元", text.translate(FULL_WIDTH), "—"], [90, 4, 3, 2, 1])[0]


def bad_row(rng: random.Random, sound: list[str]) -> list[str]:
    """What exports have between their rows: no account, no time, a cut row, the header again, a sum."""
    account, time, *rest = sound
    bad = ["", time, *rest], [account, rng.choice(BAD_TIMES), *rest], [account], list(COLUMNS), ["合计", "", "", "", "98765.40", ""]
    return rng.choice(bad)


def make(count: int, seed: int) -> tuple[bytes, int]:
    """The file, and how many of its rows are transactions."""
    rng = random.Random(seed)
    rows = transactions(rng, count)
    num_bad = count // BAD_ONE_IN
    for row in rng.sample(rows, num_bad):
        rows.insert(rng.randrange(len(rows)), bad_row(rng, row))
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([COLUMNS, *rows])
    return text.getvalue().encode("gb18030"), count


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make card transactions that no card ever made.")
    parser.add_argument("out", type=Path, help="folder to write transactions.csv into")
    parser.add_argument("--rows", type=int, default=2000, help="how many transactions; one row in forty more is none")
    parser.add_argument("--seed", type=int, default=1, help="of every random choice")
    args = parser.parse_args(argv)
    data, sound = make(args.rows, args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "transactions.csv").write_bytes(data)
    print(f"{args.out / 'transactions.csv'}: {len(data):,} bytes, {sound:,} transactions, {sound // BAD_ONE_IN:,} rows that are none", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

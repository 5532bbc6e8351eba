"""The map function of this example: seven days (or any window of whole days) of one account's card transactions, told in Chinese.

    mspt clean raw/transactions.csv --map render.py:render_window --group-by account --order-by time --window 7d

It gets {"group": account, "start", "end", "records": [{"account", "time", "merchant", "category", "amount", "currency"}], "order": [ISO times], ...}.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

CURRENCIES = {"CNY": "元", "USD": "美元", "HKD": "港元"}
NO_CATEGORY = "未分类"


def render_window(group: dict[str, Any]) -> dict[str, Any]:
    """One document for one account and window: frequency, entropy of the merchant categories, totals, then each transaction."""
    records, times = group["records"], [datetime.fromisoformat(time) for time in group["order"]]
    start, end = (datetime.fromisoformat(group[name]) for name in ("start", "end"))
    days = (end - start).days
    categories = Counter(category_of(record) for record in records)
    bits = entropy(categories)
    title = f"账户{group['group']}在{day(start)}至{day(end - timedelta(days=1))}的交易"
    lines = [
        f"{title}：{days}天里共有{len(records)}笔，平均每天{len(records) / days:.2f}笔；第一笔在{moment(times[0])}，最后一笔在{moment(times[-1])}。",
        f"这些交易分布在{len(categories)}类商户，商户类别的熵为{bits:.2f}比特。",
        f"按类别合计：{'；'.join(totals(records))}。",
        *(told(record, time) for record, time in zip(records, times, strict=True)),
    ]
    meta = {"account": group["group"], "start": group["start"], "transactions": len(records), "entropy_bits": round(bits, 4)}
    return {"text": "\n".join(lines), "title": title, "meta": meta}


def entropy(counts: Counter[str]) -> float:
    """H = - sum of p log2 p, in bits, where p is a category's share of the transactions: 0 for one category, log2 n for n equally frequent ones.

    Shannon, A Mathematical Theory of Communication, Bell System Technical Journal 27 (1948), section 6.
    """
    total = counts.total()
    return sum(count / total * math.log2(total / count) for count in counts.values())


def totals(records: list[dict[str, Any]]) -> list[str]:
    """'餐饮2笔，56.50元', the most frequent category first, those of equal frequency by name; refunds count against it."""
    by_category: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        by_category.setdefault(category_of(record), []).append(record)
    ordered = sorted(by_category.items(), key=lambda item: (-len(item[1]), item[0]))
    return [f"{category}{len(inside)}笔，{money_of(inside)}" for category, inside in ordered]


def money_of(records: list[dict[str, Any]]) -> str:
    """The sum in each currency, and how many amounts cannot be read."""
    sums: dict[str, Decimal] = {}
    unknown = 0
    for record in records:
        amount = amount_of(record)
        if amount is None:
            unknown += 1
        else:
            currency = str(record.get("currency") or "CNY")
            sums[currency] = sums.get(currency, Decimal(0)) + amount
    told = [money(amount, currency) for currency, amount in sorted(sums.items())]
    return "加".join(told) + ("，" if told and unknown else "") + (f"{unknown}笔金额不详" if unknown else "")


def told(record: dict[str, Any], time: datetime) -> str:
    """'3月9日12:30，在巷口面馆（餐饮）支付36.50元。'"""
    amount, currency = amount_of(record), str(record.get("currency") or "CNY")
    what = "交易，金额不详" if amount is None else f"{'支付' if amount >= 0 else '退款'}{money(abs(amount), currency)}"
    return f"{moment(time)}，在{record.get('merchant') or '不详的商户'}（{category_of(record)}）{what}。"


def amount_of(record: dict[str, Any]) -> Decimal | None:
    """Exact, whatever it is dressed in: '￥1,234.50', '３６.５０元'; None where it is no amount (or one beyond all reason)."""
    text = unicodedata.normalize("NFKC", str(record.get("amount") or "")).strip(" ¥元").replace(",", "")
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < 10**12 else None


def category_of(record: dict[str, Any]) -> str:
    return str(record.get("category") or NO_CATEGORY).strip()


def money(amount: Decimal, currency: str) -> str:
    return f"{amount:.2f}{CURRENCIES.get(currency, currency)}"


def day(time: datetime) -> str:
    return f"{time.year}年{time.month}月{time.day}日"


def moment(time: datetime) -> str:
    return f"{time.month}月{time.day}日{time:%H:%M}"

"""Seeded edits of real texts: what pages that were copied from one another differ in."""

from __future__ import annotations

import random
import unicodedata

ADS = (
    "\n\n本文由热心网友整理上传，更多精彩内容请关注公众号“每日一读”，回复“全集”即可获取下载链接。",
    "\n\n推荐阅读：这五种食物千万不要一起吃！ | 他把老屋卖了去旅行，三年后…… | 点击查看更多",
    "\n\nSubscribe to our newsletter and never miss a chapter! Share this page with your friends. All rights reserved.",
)


def edit_characters(text: str, rate: float, chooser: random.Random) -> str:
    """`rate` of the characters replaced, dropped or doubled (two in three replaced, by characters of the same text)."""
    letters = list(text)
    for _ in range(round(rate * len(letters))):
        place = chooser.randrange(len(letters))
        kind = chooser.randrange(6)
        letters[place] = text[chooser.randrange(len(text))] if kind < 4 else "" if kind == 4 else letters[place] * 2
    return "".join(letters)


def paragraphs(text: str) -> list[str]:
    return [part for part in text.split("\n") if part.strip()]


def drop_paragraphs(text: str, share: float, chooser: random.Random) -> str:
    """Without about `share` of the paragraphs."""
    return "\n".join(part for part in paragraphs(text) if chooser.random() >= share)


def reorder_paragraphs(text: str, moves: int, chooser: random.Random) -> str:
    """Some paragraphs somewhere else."""
    parts = paragraphs(text)
    for _ in range(moves if len(parts) > 1 else 0):
        parts.insert(chooser.randrange(len(parts)), parts.pop(chooser.randrange(len(parts))))
    return "\n".join(parts)


def change_width(text: str) -> str:
    """ASCII as full-width forms, full-width forms as ASCII."""
    wide = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
    return "".join(chr(wide[ord(c)]) if ord(c) in wide else unicodedata.normalize("NFKC", c) if "！" <= c <= "～" else c for c in text)


def append_advert(text: str, chooser: random.Random) -> str:
    return text + chooser.choice(ADS)


def edit(text: str, chooser: random.Random) -> str:
    """A copy as the web makes it: 1 to 10 % of the characters changed, or paragraphs dropped or moved; in some the width changed or an advertisement added."""
    kind = chooser.randrange(3)
    if kind == 0:
        text = edit_characters(text, chooser.uniform(0.01, 0.10), chooser)
    elif kind == 1:
        text = drop_paragraphs(text, chooser.uniform(0.02, 0.3), chooser)
    else:
        text = reorder_paragraphs(text, chooser.randrange(1, 6), chooser)
    if chooser.random() < 0.2:
        text = change_width(text)
    return append_advert(text, chooser) if chooser.random() < 0.3 else text

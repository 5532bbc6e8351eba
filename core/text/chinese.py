"""Whether what came out of a decoding is Chinese: by how many of its Han characters are common ones."""

from __future__ import annotations

import re

# 100 of the most frequent characters of modern Chinese (after Jun Da, Modern Chinese Character Frequency List, 2004): .36 of the Han characters of
# zh_novels, .30 of zh_wiki_hans, .24 of zh_wiki_hant, .15 of zh_poetry_hant; Han characters out of misread bytes hit them by chance
# (100 of the 3,755 of GB2312's first level: .027).
COMMON_HAN = frozenset(
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部"
    "其些主样理心她本前开但因只从想实"
)
COMMON_MARKS = frozenset("，。、：；？！（）《》“”")  # misread they are rare: in Latin-1 "£¬", "¡£"
MIN_COMMON_SHARE = 0.1
MIN_HAN = 4
MAX_FOREIGN_SHARE = 0.05
NATIVE = re.compile("[\u2010-\u2026\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]")  # not kana: EUC-JP and GB2312 have them in one place
ASCII = re.compile("[\x00-\x7f]")


def common_share(text: str) -> float:
    """Share of common Han characters and Chinese punctuation among all of both; 0 with fewer than MIN_HAN Han characters."""
    han = [char for char in text if "\u4e00" <= char <= "\u9fff"]
    marks = sum(char in COMMON_MARKS for char in text)
    return (sum(char in COMMON_HAN for char in han) + marks) / (len(han) + marks) if len(han) >= MIN_HAN else 0.0


def is_chinese(text: str) -> bool:
    """Whether nearly no character beyond ASCII is anything but Han or Chinese punctuation, and the Han characters are common ones."""
    wide = len(ASCII.sub("", text))
    foreign = wide - len(NATIVE.findall(text))
    return foreign <= MAX_FOREIGN_SHARE * wide and common_share(text) >= MIN_COMMON_SHARE

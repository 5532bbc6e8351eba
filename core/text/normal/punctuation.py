"""Half-width marks of Chinese sentences to full width: 你好,世界! becomes 你好，世界！; quotes, Latin sentences, numbers, addresses and code keep theirs.

A mark belongs to the Chinese sentence when it stands right behind a Han character (or what closes behind one); comma, semicolon, "!" and "?" also between a
Latin word and a Han character (用Python,然后). Left alone is what such a mark may be else: a file's ending (文件.txt), a role or an emoji code (参见:ref:),
a query (搜索?q=), a smiley (好:)), the number of an item (一.安装), the dot in a foreign name (列夫.托尔斯泰), a lost character (官吏?障).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial

import numpy as np

from mspt.core.text.normal.document import Document, Edits
from mspt.core.text.normal.settling import settled
from mspt.core.text.normal.verbatim import verbatim
from mspt.core.text.script import code_points
from mspt.core.text.spans import Edit, edit

SIGNS = ",.!?:;("  # every change needs one of them
FULL_WIDTH = str.maketrans(",.!?:;", "，。！？：；")
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
OPENERS, CLOSERS = "「『【〖《〈（［｛", "」』】〗》〉）］｝"
FIRST_WIDE = 0x2018  # curly quotes, CJK marks, Han: what a mark of a Chinese sentence stands beside
END = "\\s\"'”’)）」』】"
CHINESE = re.compile(f"[{HAN}{OPENERS}{CLOSERS}]")
KANA = re.compile("[\u3041-\u30fa]")
MAX_KANA = 0.1  # of the characters: Japanese sentences, which have .3 kana and more, have marks of their own

# With the blanks behind it, which the full-width mark has in itself. What stands in curly quotes may be English, but for its last character.
BEHIND_HAN = re.compile(
    rf"[,.!?:;](?:(?<=[{HAN}{CLOSERS}].)|(?<=[{HAN}][”’].))(?:"
    r"(?<=[!?])[!?]*+(?![A-Za-z0-9_]{1,32}=|[()])"
    r"|(?<=[,;])(?![,;)])"
    r"|(?<=:)(?![:()/\\|*]|[A-Za-z_+-][A-Za-z0-9_+-]{0,31}:)"
    rf"|(?<=\.)(?:\.{{2,}}+|(?<!^[一二三四五六七八九十]\.)(?=[{END}{HAN}]|\Z))"
    r")(?:[ \t]+(?=[^\s)]))?",
    re.MULTILINE,
)
BEFORE_HAN = re.compile(rf"[,;!?](?<=[A-Za-z0-9%)].)(?=[{HAN}{OPENERS}])")
BEFORE_END = {mark: re.compile(rf"\{mark}(?<=[{HAN}].)(?=[{END}]|\Z)") for mark in ".?"}
BRACKETS = re.compile(r"\(([^()（）\n]{1,200})\)")
BEHIND_WORD = re.compile(r"[\w\])`$*]", re.ASCII)  # a call, a link's target, a footnote


def unify(document: Document) -> Edits:
    """The marks of Chinese sentences, and pairs of brackets in them; not in code, addresses and paths. Idempotent."""
    text = document.text
    if not text.isascii() and document.form != "code" and any(sign in text for sign in SIGNS):
        return settled(document, _edits)
    return []


def _edits(document: Document) -> list[Edit]:
    text = document.text
    regions = cache(partial(verbatim, document, addresses=True))  # looked for when there is something to change
    brackets = [one for one in _brackets(text) if not regions().touch(one.start, one.end)]
    # As long as before; what stands behind a pair that is in full width now belongs to the sentence too.
    bracketed, _ = edit(text, (), brackets)
    marks = [one for one in _marks(bracketed) if not regions().touch(one.start, one.end)]
    return sorted([*brackets, *marks]) if (brackets or marks) and not _is_japanese(text) else []


def _brackets(text: str) -> Iterator[Edit]:
    """Both brackets of pairs that stand behind a Han character, or hold one first and do not stand behind a Latin word."""
    reached = -1  # behind the last pair that is written in full width now
    for match in BRACKETS.finditer(text):
        before, first = text[match.start() - 1 : match.start()], match[1][0]
        if match.start() == reached or CHINESE.match(before) or (CHINESE.match(first) and not BEHIND_WORD.match(before)):
            reached = match.end()
            yield Edit(match.start(), match.start() + 1, "（")
            yield Edit(reached - 1, reached, "）")


def _marks(text: str) -> Iterator[Edit]:
    codes = code_points(text)
    marks, wide = codes < 0x40, codes >= FIRST_WIDE
    ends_sentences = cache(partial(_ends_sentences, text))
    for place in (np.flatnonzero(marks[1:] & wide[:-1]) + 1).tolist():
        if match := BEHIND_HAN.match(text, place):
            mark = match[0].rstrip(" \t")
            if mark not in BEFORE_END or not CHINESE.match(text, match.end()) or ends_sentences(mark):
                yield Edit(*match.span(), "……" if mark.startswith("..") else mark.translate(FULL_WIDTH))
    for place in np.flatnonzero(marks[:-1] & wide[1:]).tolist():
        if match := BEFORE_HAN.match(text, place):
            yield Edit(*match.span(), match[0].translate(FULL_WIDTH))


def _ends_sentences(text: str, mark: str) -> bool:
    """Whether a mark, "." or "?", between two Han characters ends a sentence: where sentences end with it rather than with the full-width mark."""
    return text.count(mark.translate(FULL_WIDTH)) < sum(1 for _ in BEFORE_END[mark].finditer(text))


def _is_japanese(text: str) -> bool:
    head = text[:4096]
    return sum(1 for _ in KANA.finditer(head)) > MAX_KANA * len(head)

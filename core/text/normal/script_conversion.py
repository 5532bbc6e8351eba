"""Simplified to traditional Chinese and back, by OpenCC's phrase tables: 头发 becomes 頭髮, 发展 becomes 發展.

Line by line, and only what needs it: a traditional text that is converted "to traditional" once more takes harm (OpenCC makes 臺 of 台 and 佈 of
布: 920 characters of the first 600 articles of zh_wiki_hant), so lines that are in the wanted script stay as they are. Japanese and code are never
touched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import opencc

from mspt.core.text.form import fenced_blocks
from mspt.core.text.language.identify import identify
from mspt.core.text.normal.document import VERBATIM_TAGS
from mspt.core.text.script import chinese_script, code_points, script_evidence
from mspt.core.text.spans import Edit, Span, edit

Target = Literal["hans", "hant", "hans-cn", "hant-tw"]
# hans-cn and hant-tw also change the words that the mainland and Taiwan have of their own (软件, 軟體). Traditional with Taiwan's forms and not
# OpenCC's own: of 441,494 characters of zh_wiki_hant made simplified by t2s, s2tw gives all but 1,576 back, s2t all but 5,897 (爲 for 為).
CONFIGURATIONS: Mapping[Target, str] = {"hans": "t2s", "hant": "s2tw", "hans-cn": "tw2sp", "hant-tw": "s2twp"}

JAPANESE_WORD = re.compile("[\u3005\u3400-\u9fff\u3041-\u30ff]*[\u3041-\u309f\u30a1-\u30fa][\u3005\u3400-\u9fff\u3041-\u30ff]*")
KANA = re.compile("[\u3041-\u309f\u30a1-\u30fa]")
SURROGATE = re.compile("[\ud800-\udfff]")
LINE = re.compile("[^\n]+")
MAX_CLAUSE = 200  # characters without punctuation; the words of a longer one are not sought, for that takes its square
HAN_CLAUSE = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+")


class Converted(NamedTuple):
    """Text, moved spans, how many characters are others than before, and the BCP 47 tag that is right now: zh-Hans, zh-Hant, or zh undecided."""

    text: str
    spans: tuple[Span, ...]
    changed: int
    tag: str


def convert(text: str, spans: Sequence[Span], target: Target, tag: str) -> Converted:
    """`text` in the script `target`; text whose language `tag` is not Chinese (zh, zh-Hans, zh-Hant) comes back as it is.

    Left alone: lines in the wanted script already; lines in characters that both scripts write, where the whole is not plainly in the other
    script; Japanese lines and words with kana; pre and code spans and fenced blocks.
    """
    if tag.partition("-")[0] != "zh":
        return Converted(text, tuple(spans), 0, tag)
    edits = [one for start, end in _stretches(text, spans, target) for one in _edits(text, start, end, target)]
    # Most conversions keep the number of characters. Those are no edits to the spans: a border inside a word stays where it is.
    level = _replace(text, [one for one in edits if len(one.replacement) == one.end - one.start])
    shifting = [one for one in edits if len(one.replacement) != one.end - one.start]
    changed = int(np.count_nonzero(code_points(level) != code_points(text))) + sum(max(one.end - one.start, len(one.replacement)) for one in shifting)
    converted, moved = edit(level, spans, shifting)
    script = chinese_script(converted)
    return Converted(converted, moved, changed, f"zh-{script}" if script else "zh")


def _stretches(text: str, spans: Sequence[Span], target: Target) -> Iterator[tuple[int, int]]:
    """What is to be converted: the lines that need it, less code and less Japanese words in them."""
    if not script_evidence(text)[_other(target)]:
        return
    throughout = chinese_script(text) == ("Hans" if target.startswith("hant") else "Hant")
    code = sorted([*((span.start, span.end) for span in spans if span.tag in VERBATIM_TAGS), *fenced_blocks(text)])
    reached = 0
    for start, end in [*code, (len(text), len(text))]:
        for line in LINE.finditer(text, reached, max(reached, start)):
            if _needs(line[0], target, throughout):
                yield from _around_japanese(line[0], line.start())
        reached = max(reached, end)


def _needs(line: str, target: Target, throughout: bool) -> bool:
    """Whether a line holds what is to be converted; `throughout`: all of the text is in the other script, so that 然後 is too, and 里."""
    if target.startswith("hant") and chinese_script(line) == "Hant":
        return False
    return throughout or script_evidence(line)[_other(target)] > 0


def _around_japanese(line: str, start: int) -> Iterator[tuple[int, int]]:
    """What of a line that begins at `start` is Chinese."""
    japanese = [match.span() for match in JAPANESE_WORD.finditer(line)] if KANA.search(line) else []
    if japanese and identify(line).base == "ja":
        return
    reached = 0
    for first, last in [*japanese, (len(line), len(line))]:
        if reached < first:
            yield start + reached, start + first
        reached = last


def _other(target: Target) -> int:
    """Which of the two counts of `script_evidence` says that there is something to convert."""
    return 0 if target.startswith("hant") else 1


def _edits(text: str, start: int, end: int, target: Target) -> Iterator[Edit]:
    """The conversion of text[start:end]: as one edit where it keeps the number of characters, else clause by clause and word by word."""
    convert_ = _converter(target).convert
    before = text[start:end]
    after = convert_(before) if not SURROGATE.search(before) else ""  # half of a pair, which UTF-8 cannot hold, stands in no clause
    if len(after) == len(before):
        yield Edit(start, end, after)
        return
    for clause in HAN_CLAUSE.finditer(text, start, end):
        after = convert_(clause[0])
        if len(after) == len(clause[0]):
            yield Edit(*clause.span(), after)
        else:
            yield from _by_words(clause[0], after, clause.start(), convert_)


def _by_words(before: str, after: str, start: int, convert_: Callable[[str], str]) -> Iterator[Edit]:
    """The edits that make `after` of `before`: cut wherever both halves converted by themselves give the whole."""
    ends = [(len(before), len(after))]
    if len(before) <= MAX_CLAUSE:
        halves = ((place, convert_(before[:place]), convert_(before[place:])) for place in range(1, len(before)))
        ends = [*((place, len(first)) for place, first, second in halves if first + second == after), *ends]
    reached, written = 0, 0
    for end, length in ends:
        if before[reached:end] != after[written:length]:
            yield Edit(start + reached, start + end, after[written:length])
        reached, written = end, length


def _replace(text: str, edits: Sequence[Edit]) -> str:
    return edit(text, (), edits)[0]


@cache
def _converter(target: Target) -> opencc.OpenCC:
    # Without the tables that turn rare characters into ones that few fonts and tokenizers have (遱 to 𫐷): 130 characters of zh_poetry_hant.
    return opencc.OpenCC(CONFIGURATIONS[target], include_tofu_risk_dictionaries=False)

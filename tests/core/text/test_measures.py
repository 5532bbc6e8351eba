"""The compiled measures against the obvious slow ones, written here from what scan.py and repetition.py say they do, on random mixed text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mspt.core.text.rules import counts as counting
from mspt.core.text.rules import scan as scanning
from mspt.core.text.rules.characters import (
    BLANK,
    CHARACTER,
    CODE,
    DIGIT,
    HAN,
    HANGUL,
    HIDDEN,
    KANA,
    LATIN,
    LETTER,
    LINE_END,
    LINK,
    MARK,
    NUM_CLASSES,
    PRIVATE_USE,
    REPLACEMENT,
    SYMBOL,
)
from mspt.core.text.rules.measures import Sample
from mspt.core.text.rules.repetition import CHARACTERS, TOP_WORDS, WORDS, most_of_n_grams, n_grams, repeats
from mspt.core.text.rules.scan import paragraphs, scan
from mspt.core.text.rules.stop_words import FUNCTION_CHARACTERS, FUNCTION_WORDS

HAN_CHARACTER = re.compile("[々〇\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
KANA_CHARACTER = re.compile("[\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
OTHER_CHARACTER = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3105-\u312f\u31a0-\u31bf]")  # Thai and Lao, Myanmar, Khmer, Bopomofo
ADDRESS = r"[!-(*-\\^-~]*"  # printable ASCII but ) and ]
LINKS = re.compile(rf"[A-Za-z]{{2,12}}://{ADDRESS}|(?:www|WWW)\.{ADDRESS}|\]\([!-'*-~\u0080-\U0010ffff]*\)")
DRAWN = re.compile(r"([-=*_.~#+—─━═│┃|·])\1{3,}")
SENTENCE_ENDS = set("。！？．｡…⋯.!?‼⁇⁈⁉؟۔।॥።፧։။៕")
CLOSERS = set("\"'”’»›」』】〗》〉）〕］｝)]}")
BULLETS = set("•‣⁃◦●○◎■□▪▫◆◇★☆►▶▸➢➤✓✔※·・")


@dataclass
class Slow:
    """What the scan should find in a text."""

    counts: Counter[str] = field(default_factory=Counter)
    units: list[tuple[str, bool]] = field(default_factory=list)  # the word or character, and whether it is a character
    lines: list[str] = field(default_factory=list)
    paragraphs: list[tuple[str, ...]] = field(default_factory=list)
    token: int = 0


def kinds_of(text: str) -> list[str]:
    """For each character a letter: k link, c inline code, else the kind of the character."""
    kinds = [kind_of(character) for character in text]
    for link in LINKS.finditer(text):
        kinds[link.start() : link.end()] = "k" * len(link[0])
    position = 0
    while opening := re.compile("`+").search(text, position):
        inside = re.compile(r"([^`\n]{1,200})(`+)").match(text, opening.end())
        position = opening.end()
        if inside and not inside[1][0].isspace() and not inside[1][-1].isspace():
            role = re.search(r":[a-z]{1,18}:$", text[: opening.start()])
            start = role.start() if role else opening.start()
            kinds[start : inside.end()] = [" " if kind == " " else "c" for kind in kinds[start : inside.end()]]
            position = inside.end()
    return kinds


def kind_of(character: str) -> str:
    if character == "\n":
        return "\n"
    if character.isspace() or unicodedata.category(character)[0] == "Z":
        return " "
    if HAN_CHARACTER.match(character):
        return "H"
    if KANA_CHARACTER.match(character):
        return "K"
    if OTHER_CHARACTER.match(character) and unicodedata.category(character)[0] in "LM":
        return "T"
    if re.match("[\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]", character):  # variation selectors
        return "x"
    if unicodedata.category(character) == "Co":
        return "v"
    category = unicodedata.category(character)[0]
    return {"L": "w", "M": "w", "N": "d", "P": "p", "S": "s", "C": "x"}[category]


def slow_scan(text: str) -> Slow:
    found = Slow()
    kinds = kinds_of(text)
    merged = list(kinds)
    for run in DRAWN.finditer(text):
        if set(kinds[run.start() : run.end()]) & set("ps"):
            merged[run.start() + 1 : run.end()] = "-" * (len(run[0]) - 1)
    found.counts.update(merged)
    for unit in re.finditer("[HKT]|[wd]+", "".join(kinds)):
        word = text[unit.start() : unit.end()]
        is_word = unit[0][0] in "wd"
        found.units.append((re.sub("[A-Z]", lambda letter: letter[0].lower(), word), not is_word))
        if is_word:
            found.counts["words"] += 1
            if "w" in unit[0] and is_plain(text, unit):
                found.counts["plain words"] += 1
                found.counts["stop words"] += found.units[-1][0] in FUNCTION_WORDS
        else:
            found.counts["stop characters"] += word in FUNCTION_CHARACTERS
    tokens = re.split("[ \n\rTk]|X", "".join("X" if ord(character) >= 0x2E80 or kind == "c" else kind for character, kind in zip(text, kinds, strict=True)))
    find_token(found, text, kinds, tokens)
    find_lines(found, text, kinds)
    for i, character in enumerate(text):
        if character in SENTENCE_ENDS and kinds[i] not in "kc":
            after = text[i + 1 : i + 2]
            kind = kinds[i + 1] if after else "\n"
            next_ends = after in SENTENCE_ENDS if after and kind not in "c" else False
            found.counts["sentences"] += not next_ends and (character != "." or kind in " \n" or (after in CLOSERS and kind != "c"))
    return found


def find_token(found: Slow, text: str, kinds: Sequence[str], tokens: Sequence[str]) -> None:
    start = 0
    for token in tokens:
        part = text[start : start + len(token)]
        slashes = part.count("/") + part.count("\\")
        if re.search("[wdHKT]", token) and slashes * 30 <= len(part):
            found.token = max(found.token, len(part))
        start += len(token) + 1


def find_lines(found: Slow, text: str, kinds: Sequence[str]) -> None:
    position, paragraph = 0, []
    for line in text.split("\n"):
        part = kinds[position : position + len(line)]
        position += len(line) + 1
        content = line.strip()
        if not content:
            found.paragraphs += [tuple(paragraph)] if paragraph else []
            paragraph = []
        elif set(part) & set("HKTwdkc"):
            paragraph.append(content)
            found.lines.append(content)
            indent = len(line) - len(line.lstrip())
            count_line(found, content, part[indent : indent + len(content)], num_function_words(line, part))
    found.paragraphs += [tuple(paragraph)] if paragraph else []


def num_function_words(line: str, kinds: Sequence[str]) -> int:
    characters = sum(character in FUNCTION_CHARACTERS and kind == "H" for character, kind in zip(line, kinds, strict=True))
    words = [word for word in re.finditer("[wd]+", "".join(kinds)) if "w" in word[0] and is_plain(line, word)]
    return characters + sum(line[word.start() : word.end()].lower() in FUNCTION_WORDS for word in words)


def is_plain(line: str, word: re.Match[str]) -> bool:
    """Whether a word is no part of a name: a_b, a.b, a/b."""
    return not (re.search(r"[0-9A-Za-z_:][_./:\\=@]\Z", line[: word.start()]) or re.match(r"[_./:\\=@][0-9A-Za-z_:]", line[word.end() :]))


def count_line(found: Slow, line: str, kinds: Sequence[str], function_words: int) -> None:
    end = len(line)
    while end and (line[end - 1] in CLOSERS or kinds[end - 1] == " "):
        end -= 1
    body = line[:end]
    ends = body[-1:] in SENTENCE_ENDS if body else False
    width = sum({"H": 3, "K": 3, " ": 0, "x": 0}.get(kind, 1) for kind in kinds)
    found.counts["ended"] += bool(ends)
    found.counts["ellipsis"] += bool(re.search(r"(?:…|⋯|\.{3,}|。{3,}|．{3,})$", body))
    found.counts["bullet"] += line[0] in BULLETS or bool(re.match(r"[-*+–—]\s", line))
    found.counts["short"] += width <= 30 and not ends and function_words < 2


def slow_repeats(parts: Sequence[Hashable], lengths: Sequence[int]) -> tuple[int, float]:
    seen: set[Hashable] = set()
    repeated = characters = 0
    for part, length in zip(parts, lengths, strict=True):
        if part in seen:
            repeated, characters = repeated + 1, characters + length
        seen.add(part)
    return repeated, characters / max(1, sum(lengths))


def slow_n_grams(units: Sequence[tuple[str, bool]], words: int, characters: int) -> tuple[float, float]:
    """The largest share of characters that one repeated n-gram covers, and the share in n-grams that occurred before."""
    places: dict[tuple[tuple[str, bool], ...], list[range]] = {}
    again: set[int] = set()
    for start, (_, is_character) in enumerate(units):
        end = start + (characters if is_character else words)
        if end <= len(units):
            gram = tuple(units[start:end])
            if gram in places:
                again.update(range(start, end))
            places.setdefault(gram, []).append(range(start, end))
    total = max(1, sum(len(word) for word, _ in units))
    mass = [sum(len(units[i][0]) for i in set().union(*ranges)) for ranges in places.values() if len(ranges) > 1]
    return max(mass, default=0) / total, sum(len(units[i][0]) for i in again) / total


PIECES = st.sampled_from([
    "的", "中国", "经济", "我们", "，", "。", "！", "“", "”", "……", "の", "カナ", "ไทย", "the", "The ", "of ", "word", "a", "é",
    "한국 ", "b2", "12", "3.14", "x_y", "a.b", " ", "  ", "\t", "\n", "\n\n", "\n \n", "-", "- ", "----", "====", "....",
    "...", "•", "※", "#", "(", ")", "[", "]", "](", "http://a.cn/b", "www.x.org", "://", "`", "``", ":doc:", "=", "/",
    "\\", "@", "…", "\u200b", "\ufffd", "\ue000", "★", "|", "\u3000", "AbC", "\u0301", "x" * 40, "/p" * 20, "0123456789",
    "_", "·",
])  # fmt: skip
MIXED = st.lists(PIECES, max_size=60).map("".join) | st.text(max_size=80)
REPETITIVE = st.lists(st.sampled_from(["中", "国", "人", "a ", "b ", "cc ", "。", "\n"]), max_size=120).map("".join)


@settings(max_examples=250, deadline=None)
@given(MIXED | REPETITIVE)
@example("见 [文档](http://a.b/c) 与 [![图](x.png)](y)。\n\n- `code` 与 :ref:`x`\n....\n")
@example("你好。”\n“再见……”\n\n他说。\n")
@example("abcdefghijklmnop://x/y")
@example(":doc:\nAbC")
def test_the_scan_finds_what_a_slow_one_finds(text: str) -> None:
    found, slow = scan(text), slow_scan(text)
    counts = found.counts
    classes = {"H": (HAN,), "K": (KANA,), "T": (CHARACTER,), "w": (HANGUL, LATIN, LETTER), "d": (DIGIT,), "p": (MARK,), "s": (SYMBOL, REPLACEMENT),
               "k": (LINK,), "c": (CODE,), " ": (BLANK,), "\n": (LINE_END,), "x": (HIDDEN,), "v": (PRIVATE_USE,)}  # fmt: skip
    assert {kind: sum(int(counts[place]) for place in places) for kind, places in classes.items()} == {kind: slow.counts[kind] for kind in classes}
    assert [bool(is_character) for is_character in found.units.is_character] == [is_character for _, is_character in slow.units]
    words = [text[start:end] for start, end in found.units.bounds]
    assert [re.sub("[A-Z]", lambda letter: letter[0].lower(), word) for word in words] == [word for word, _ in slow.units]
    names = (counting.ALL_WORDS, counting.WORDS, counting.STOP_WORDS, counting.STOP_CHARACTERS)
    assert [int(counts[name]) for name in names] == [slow.counts[name] for name in ("words", "plain words", "stop words", "stop characters")]
    assert int(counts[counting.SENTENCES]) == slow.counts["sentences"]
    assert int(counts[counting.TOKEN_END] - counts[counting.TOKEN_START]) == slow.token


@settings(max_examples=250, deadline=None)
@given(MIXED | REPETITIVE)
@example("一\n二\n\n一\n二\n\n——————\n\n一\n二")
@example("\u1680的\u1680…")
def test_lines_and_paragraphs_are_those_of_a_slow_reading(text: str) -> None:
    found, slow = scan(text), slow_scan(text)
    assert [text[start:end] for start, end in found.lines.bounds] == slow.lines
    names = (counting.LINES, counting.ENDED_LINES, counting.ELLIPSIS_LINES, counting.BULLET_LINES, counting.SHORT_LINES)
    assert [int(found.counts[name]) for name in names] == [len(slow.lines), *(slow.counts[name] for name in ("ended", "ellipsis", "bullet", "short"))]
    lines = repeats(found.lines.hashes, found.lines.bounds)
    assert (lines.repeated, lines.character_share) == pytest.approx(slow_repeats(slow.lines, list(map(len, slow.lines))))
    hashes, bounds = paragraphs(found.lines)
    assert len(hashes) == len(slow.paragraphs)
    assert len(set(hashes.tolist())) == len(set(slow.paragraphs))
    lengths = [int(end - start) for start, end in bounds]
    assert repeats(hashes, bounds)[1:3] == pytest.approx(slow_repeats(slow.paragraphs, lengths))


@settings(max_examples=150, deadline=None)
@given(REPETITIVE | MIXED)
@example("哈" * 40)
@example("buy now " * 12 + "天地玄黄宇宙洪荒" * 4)
def test_n_grams_are_those_of_a_slow_count(text: str) -> None:
    units = slow_scan(text).units
    fast = n_grams(scan(text).units).shares
    for level, (words, characters) in enumerate(zip(WORDS.tolist(), CHARACTERS.tolist(), strict=True)):
        assert fast[level] == pytest.approx(slow_n_grams(units, words, characters)[level >= len(TOP_WORDS)])


@settings(max_examples=150, deadline=None)
@given(REPETITIVE | MIXED)
@example("哈" * 40)
@example("buy now " * 12 + "天地玄黄宇宙洪荒" * 4)
def test_no_share_of_n_grams_exceeds_what_is_found_sooner(text: str) -> None:
    units = slow_scan(text).units
    top, repeated = most_of_n_grams(scan(text).units)
    for words, characters in zip(WORDS.tolist(), CHARACTERS.tolist(), strict=True):
        shares = slow_n_grams(units, words, characters)
        assert (shares[0] <= top + 1e-9) if words in TOP_WORDS else (shares[1] <= repeated + 1e-9)


def test_most_text_needs_no_count_of_its_n_grams() -> None:
    # 200 different characters, of which 20 come again: they and the 15 behind them at most are repeated.
    text = "".join(map(chr, range(0x4E00, 0x4E00 + 200))) + "".join(map(chr, range(0x4E00, 0x4E00 + 20)))
    top, repeated = most_of_n_grams(scan(text).units)
    assert top < 0.2
    assert 20 / 220 <= repeated < 0.3


def test_shares_of_repetition_by_hand() -> None:
    # 4 lines of 4, 6, 4 and 2 characters; the third was seen before.
    found = Sample("甲乙丙丁\n一二三四五六\n甲乙丙丁\n子丑").repeated_lines
    assert (found.number, found.repeated, found.character_share, found.times) == (4, 1, pytest.approx(4 / 16), 2)
    # 20 different characters, five times: 8 of them make the 5-gram, and all but the first 20 characters are repeated.
    shares = Sample("天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往" * 5).n_grams.shares
    assert shares[3] == pytest.approx(80 / 100)
    # The top 2-gram has 3 characters, five times.
    assert shares[0] == pytest.approx(15 / 100)
    # "to be" four times among 9 words of 2, 2, ... and 4 letters: 16 of 20.
    assert Sample("to be to be, to be! To be home").n_grams.shares[0] == pytest.approx(16 / 20)


def test_longer_texts_are_counted_whole_and_listed_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "MAX_PARTS", 3)
    found = scan("one two three four\n五六七八\nnine\nten\nten\n")
    assert (len(found.units.hashes), len(found.lines.hashes)) == (3, 3)
    assert (found.counts[counting.ALL_WORDS], found.counts[HAN], found.counts[counting.LINES], found.counts[LATIN]) == (7, 4, 5, 25)


def test_classes_do_not_overlap_and_cover_every_character() -> None:
    text = "".join(chr(code) for code in range(0x3000) if not 0xD800 <= code < 0xE000)
    assert sum(scan(text, inline_code=False).counts[:NUM_CLASSES]) == len(text)

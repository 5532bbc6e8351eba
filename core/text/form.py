"""Which form a text has: prose, code, markup, table or verse.

The form decides what may be done to a text (blanks of code are content) and which rules make sense. The answer is conservative: prose unless
a plain majority of lines says otherwise. Markdown and its kin count as prose: what they hold is meant to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mspt.core.text.fences import find_fences
from mspt.core.text.language.programming_languages import by_interpreter, by_name, by_signs
from mspt.core.text.line_signs import FIRST_WORDS, MARKUP_STARTS, MAX_LINE, MAY_BE_COMMENT, PLAIN, VERSE_LINES, Lines, mark_lines, read_lines
from mspt.core.text.script import code_points

HEAD_CHARACTERS = 64 * 1024
MIN_LINES = 3

# Share of the non-blank lines that must look like the form; comment lines, doc strings and fenced blocks of a manual are not asked.
# Measured: 158 of 168 .py of the standard library and 84 of 100 C headers are told as code without their names, 163 of 168 with; of ../shared
# no encyclopaedia, novel, speech or licence is, and 35 of 788 technical documents, nearly all of them templates.
CODE_SHARE = 0.5
CODE_SHARE_NAMED = 0.15  # when the file's name says code too
MIN_CODE_LINES = 0.2  # of all lines, comments included
MAX_ASKED = 200  # lines that are asked, spread over the text
MARKUP_SHARE = 0.4
TABLE_SHARE = 0.9
MIN_ROWS = 8  # of a table whose separator is punctuation too
VERSE_SHARE = 0.8
MAX_REGULAR = 40  # characters of the longest line of regular verse
# Verse of irregular lines (ci, qu): 2,195 of 3,966 poems of zh_poetry_hans that are not regular are told by it; of 94,751 windows of four or eight lines of
# zh_novels, zh_techdocs and zh_manpages_hans eight, all of them couplets and verse that the novels quote.
MIN_LINES_OF_CI, MIN_CLAUSES, CLAUSE_LENGTH, MAX_SINGLE = 4, 7, (3.5, 7.5), 0.6  # lines, clauses, their mean characters, share of lines of one clause
MAX_ENUMERATED, MAX_VERNACULAR = 0.25, 0.02  # of the clauses end with 、 in a list; words of modern prose among the characters
MIN_RHYMED, MAX_RHYMED = 8, 70  # lines of alphabetic verse, and characters of the longest

DOC_STRING = re.compile(r'"""[^"]*(?:"(?!"")[^"]*)*"""|/\*[^*]*(?:\*(?!/)[^*]*)*\*/')
COMMENT_LINE = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|endif|pragma|undef|elif|else)\b)|//|--\s).*")
# Lines as only code has them, by what a line must hold to be one: most lines of prose hold none of it, and are asked no more.
STATEMENT = re.compile(
    r"""\s*(?:
        (?:async\s+)?def\s+\w+[\s(].*                 # Python, Ruby, Scala
      | (?:from\s+[\w.]+\s+)?import\s+[\w.*{},\s]+.{0,60}$
      | class\s+\w+.*[:{]$
      | (?:if|elif|for|while|with|except|try|else|finally)\b.*:$
      | (?:return|raise|yield|assert|del|pass|break|continue)\b[^.!?。]*$
      | @\w[\w.]*(?:\(.*\))?$
      | \#\s*(?:include|define|ifdef|ifndef|endif|pragma|undef)\b.*   # C
      | (?:public|private|protected|static|final|const|let|var|func|fn|function|package|namespace|using|struct|enum|interface|impl|pub)\s.*[{};(),=]$
      | (?:fi|done|then|esac|end|do)$                # shell, Ruby, Lua
      | (?:\$\s|export\s|echo\s).*
      | (?:el(?:se)?if|if|for|while)\b.*\s(?:then|do)$
      | (?:local|my|our|val|var|let)\s+[\w$@%(][^.!?。]*=.*
      | (?:puts|print|require|require_relative|attr_\w+|use)\s+[\w:'"$@].*['";\w]$
      | (?:module|import)\s+(?:qualified\s+)?[A-Z][\w.]*(?:\s+(?:where|as|hiding|\().*)?$
      | (?:data|newtype|instance|type)\s+[A-Z].*|deriving\s.*|\|\s+\S.*\s=\s.*       # Haskell
      | [)\]}]+[,;:]?$
      | (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|LEFT\sJOIN|INNER\sJOIN|GROUP\sBY|ORDER\sBY|VALUES)\b.*
    )""",
    re.VERBOSE,
)
FIRST_WORD = re.compile(r"\s*(\w+|.)")
WORDS_ONLY = re.compile(r"\s*(?:\w+\s?){1,3};")
SIGN_OF_CODE = re.compile(r"""[=()\[\]{}<>+*.:"']""")
WITH_EQUALS = re.compile(r"""\s*[\w.\[\]'"$@%]+(?:\s*:\s*[\w.\[\]|\s]+)?\s*(?:[-+*/|&%]|//|\*\*)?=\s*\S.*""")
WITH_TARGETS = re.compile(r"\s*[a-z]\w*'?(?:\s[\w@()\[\]_:,']{1,20}){1,5}\s=\s\S.*")  # insert x Leaf = ...
WITH_KEY = re.compile(
    r"""\s*(?:"[^"]*"\s*:.*|['"]?[\w$-]+['"]?\s*:\s*(?:['"\d\[{(-]|true\b|false\b|null\b|function\b|new\b).*[,\[{(]|\w+:|(['"])[^'"]*\1\s*[+,])$"""
)
WITH_CALL = re.compile(r"\s*[\w.]+\(.*\)?,?$")
WITH_ARROW = re.compile(r"\s*(?:[\w.$\[\]]+\s*<-\s.*|\w+'?\s+::\s.*)")
BRACES = re.compile(r".*[{}\\];?\s*(?://.*|/\*.*)?$")
MARKUP_LINE = re.compile(r"\s*(?:</?[A-Za-z!?].*>|\\[a-zA-Z]+[\[{*\s].*|%\s.*|[.'](?:[A-Z]{1,2}\b|[a-z]{2}\b|\\\").*)")
SEPARATORS = ("\t", ",", "|", ";")


@dataclass(frozen=True)
class Form:
    """`form` is prose, code, markup, table or verse; `programming_language` only for code ("" when unknown)."""

    form: str
    programming_language: str = ""


PROSE, VERSE = Form("prose"), Form("verse")


def detect_form(text: str, name: str = "") -> Form:
    """The form of plain text `text`, judged by its first 64 Ki characters.

    Works on raw text: call it before `normalize`, which needs the answer. `name`, the file's or record's name, is a hint only: `setup.py`
    full of prose stays prose.
    """
    head = text[:HEAD_CHARACTERS]
    if interpreted := by_interpreter(head):
        return Form("code", interpreted)
    seen = read_lines(head)
    if seen.number < MIN_LINES:
        return VERSE if _may_be_regular(seen) and _is_regular_verse(_lines(head)) else PROSE
    if _may_be_table(seen) and _is_table(_lines(head)):
        return Form("table")
    if seen.markup >= MARKUP_SHARE * seen.number and sum(map(_is_markup_line, _lines(head))) >= MARKUP_SHARE * seen.number:
        return Form("markup")
    named = by_name(name) if name else ""
    if _is_code(head, CODE_SHARE_NAMED if named else CODE_SHARE):
        return Form("code", named or by_signs(_lines(head)))
    return VERSE if _is_verse(seen, head) else PROSE


def _is_verse(seen: Lines, head: str) -> bool:
    if _may_be_regular(seen):
        lines = _lines(head)
        if _is_regular_verse(lines) or _is_irregular_verse(lines):
            return True
    return _may_be_rhymed(seen) and _is_rhymed_verse(_lines(head))


def _lines(head: str) -> list[str]:
    """The lines that are not blank, without the blanks at their ends."""
    return [line.rstrip() for line in head.splitlines() if line.strip()]


def _is_markup_line(line: str) -> bool:
    return line.lstrip()[0] in MARKUP_STARTS and MARKUP_LINE.fullmatch(line[:MAX_LINE]) is not None


def _is_code(head: str, least: float) -> bool:
    prose = without(head, fenced_blocks(head))
    bare = DOC_STRING.sub("", prose) if '"""' in prose or "/*" in prose else prose
    marks, bounds = mark_lines(bare)
    if len(marks) - marks.count(PLAIN) < MIN_LINES / max(1, len(marks) // MAX_ASKED):
        return False
    num_lines = len(marks) if bare is prose else len(mark_lines(prose).marks)
    asked: Sequence[int] = range(len(marks))
    if MAY_BE_COMMENT in marks:
        asked = [number for number, mark in enumerate(marks) if mark != MAY_BE_COMMENT or not _is_comment(bare, int(bounds[number, 0]))]
    step = max(1, len(asked) // MAX_ASKED)
    code, least_code = 0, max(MIN_LINES, least * len(asked), min(least, MIN_CODE_LINES) * num_lines)
    candidates = [number for number in asked[::step] if marks[number] != PLAIN]
    if step * len(candidates) < least_code:
        return False
    for start, end in bounds[candidates].tolist():
        code += step * _is_code_line(bare[start:end])
    return code >= least_code


def _is_comment(text: str, start: int) -> bool:
    """Whether the line from `start` on is a comment."""
    end = text.find("\n", start)
    return COMMENT_LINE.match(text[start : end if end >= 0 else len(text)]) is not None


def _is_code_line(line: str) -> bool:
    line = line[:MAX_LINE]
    first = FIRST_WORD.match(line)
    if (first and first[1].lower() in FIRST_WORDS and STATEMENT.fullmatch(line)) or (line[-1:] == ";" and _is_statement(line)):
        return True
    if ("{" in line or "}" in line or "\\" in line) and BRACES.fullmatch(line):
        return True
    if "=" in line and (WITH_EQUALS.fullmatch(line) or WITH_TARGETS.fullmatch(line)):
        return True
    if ('"' in line or "'" in line or ":" in line) and WITH_KEY.fullmatch(line):
        return True
    if "(" in line and WITH_CALL.fullmatch(line):
        return True
    if line.endswith(("=>", "->", "%>%", "|>")) or (" do |" in line and line[-1] == "|"):
        return True
    return ("<-" in line or "::" in line) and WITH_ARROW.fullmatch(line) is not None


def _is_statement(line: str) -> bool:
    """Whether a line that ends in a semicolon is code: hardly any word, or a sign of code in a line that is not long."""
    return WORDS_ONLY.fullmatch(line) is not None or (len(line) <= 120 and SIGN_OF_CODE.search(line) is not None)


def _may_be_table(seen: Lines) -> bool:
    return seen.agreeing >= (2 * TABLE_SHARE - 1) * seen.number - 1e-6


def _is_table(lines: list[str]) -> bool:
    """Whether nearly all lines have the same number of a separator, at least two of it; a few sentences may have as many commas as each other."""
    whole = "\n".join(lines)
    for separator in SEPARATORS:
        number = whole.count(separator)
        is_punctuation = separator in ",;" and 2 * whole.count(separator + " ") > number and len(lines) < MIN_ROWS
        if number < 2 * TABLE_SHARE * len(lines) or is_punctuation:
            continue
        number, agreeing = Counter(line.count(separator) for line in lines).most_common(1)[0]
        if number >= 2 and agreeing >= TABLE_SHARE * len(lines):
            return True
    return False


CLAUSE_END = re.compile("[，。；？！、,.;?!\\s]+")
HAN_CLAUSE = re.compile("[\u3400-\u9fff\u25a1\U00020000-\U0003134f]+")


def _may_be_regular(seen: Lines) -> bool:
    return seen.longest_of_first <= MAX_REGULAR


def _may_be_rhymed(seen: Lines) -> bool:
    return seen.number >= MIN_RHYMED and seen.longest <= MAX_RHYMED


def _is_regular_verse(lines: list[str]) -> bool:
    """Chinese verse of regular metre: at least four clauses, nearly all of one length of 4, 5 or 7 characters, two or four to a line."""
    clauses = [clause for line in lines[:VERSE_LINES] for clause in CLAUSE_END.split(line.translate(EMENDED)) if clause]
    if len(clauses) < 4:
        return False
    length, agreeing = Counter(map(len, clauses)).most_common(1)[0]
    return length in (4, 5, 7) and agreeing >= VERSE_SHARE * len(clauses) and all(map(HAN_CLAUSE.fullmatch, clauses))


EMENDED = str.maketrans("", "", "[]")  # editors put a character that they mended in brackets
CI_LINE = re.compile("(?:[\u3400-\u9fff\u25a1\U00020000-\U0003134f]{1,9}[，、。；！？])+(?<!、)")
VERNACULAR = re.compile("[的了着过們们這这那吗嗎呢吧啊您她它很]")


def _is_irregular_verse(lines: list[str]) -> bool:
    """Chinese verse whose lines differ in length: short clauses of Han characters, each closed by a mark, in lines of several of them.

    What prose and lists have and such verse has not: many words of the spoken language, clauses of two characters or of ten, the mark of enumerations, the
    same line again.
    """
    lines = [line.translate(EMENDED) for line in lines[:VERSE_LINES]]
    if len(lines) < MIN_LINES_OF_CI or not all(map(CI_LINE.fullmatch, lines)):
        return False
    whole = "".join(lines)
    clauses = [clause for clause in CLAUSE_END.split(whole.replace("、", "，")) if clause]
    characters = sum(map(len, clauses))
    single = sum(len(CLAUSE_END.findall(line)) == 1 for line in lines)
    return (
        len(clauses) >= MIN_CLAUSES
        and CLAUSE_LENGTH[0] <= characters / len(clauses) <= CLAUSE_LENGTH[1]
        and whole.count("、") <= MAX_ENUMERATED * len(clauses)
        and len(VERNACULAR.findall(whole)) <= MAX_VERNACULAR * characters
        and single <= MAX_SINGLE * len(lines)
        and len(set(lines)) >= VERSE_SHARE * len(lines)
    )


def _is_rhymed_verse(lines: list[str]) -> bool:
    """Alphabetic verse: at least eight short lines that nearly all open with a capital, many of them ending within a sentence."""
    capitals = sum(line.lstrip("\"'“‘ \t")[:1].isupper() for line in lines)
    open_ends = sum(line[-1] in ",;:" or line[-1].isalpha() for line in lines)
    commas = sum(line[-1] in ",;" for line in lines)
    return capitals >= 0.9 * len(lines) and open_ends >= 0.4 * len(lines) and commas >= 0.25 * len(lines)


_last_blocks: tuple[str, list[tuple[int, int]]] = ("", [])  # the text that was asked about last: several steps ask about the same


def fenced_blocks(text: str) -> list[tuple[int, int]]:
    """Where the fenced code blocks of Markdown lie: from the opening fence to the end of the closing one; an unclosed fence opens none."""
    global _last_blocks
    if text is not _last_blocks[0]:
        _last_blocks = text, [(start, end) for start, end in find_fences(code_points(text)).tolist()]
    return _last_blocks[1]


def without(text: str, regions: list[tuple[int, int]]) -> str:
    """`text` less the given sorted regions."""
    if not regions:
        return text
    borders = [0, *(border for region in regions for border in region), len(text)]
    return "".join(text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))

"""Which form a text has: prose, code, markup, table or verse.

The form decides what may be done to a text (blanks of code are content) and which rules make sense. The answer is conservative: prose unless
a plain majority of lines says otherwise. Markdown and its kin count as prose: what they hold is meant to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath

HEAD_CHARACTERS = 64 * 1024
MIN_LINES = 3

# Share of the non-blank lines that must look like the form; comment lines, doc strings and fenced blocks of a manual are not asked.
# Measured: 158 of 168 .py of the standard library and 84 of 100 C headers are told as code without their names, 163 of 168 with; of ../shared
# no encyclopaedia, novel, speech or licence is, and 35 of 788 technical documents, nearly all of them templates.
CODE_SHARE = 0.5
CODE_SHARE_NAMED = 0.15  # when the file's name says code too
MIN_CODE_LINES = 0.2  # of all lines, comments included
MARKUP_SHARE = 0.4
TABLE_SHARE = 0.9
VERSE_SHARE = 0.8

FENCE = re.compile(r"^ {0,12}(`{3}|~{3})[`~]*([^\n]*?)[ \t]*$", re.MULTILINE)
DOC_STRING = re.compile(r'"""[^"]*(?:"(?!"")[^"]*)*"""|/\*[^*]*(?:\*(?!/)[^*]*)*\*/')
COMMENT_LINE = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|endif|pragma|undef|elif|else)\b)|//|--\s).*")
CODE_LINE = re.compile(
    r"""\s*(?:
        (?:async\s+)?def\s+\w+\s*\(.*            # Python
      | (?:from\s+[\w.]+\s+)?import\s+[\w.*{},\s]+.{0,60}$
      | class\s+\w+.*[:{]$
      | (?:if|elif|for|while|with|except|try|else|finally)\b.*:$
      | (?:return|raise|yield|assert|del|pass|break|continue)\b[^.!?。]*$
      | @\w[\w.]*(?:\(.*\))?$
      | \#\s*(?:include|define|ifdef|ifndef|endif|pragma|undef)\b.*   # C
      | (?:public|private|protected|static|final|const|let|var|func|fn|function|package|namespace|using|struct|enum|interface|impl|pub)\s.*[{};(),=]$
      | (?:\w+\s?){1,3};$
      | (?=.{1,120}$).*[=()\[\]{}<>+*.:"'].*;$
      | .*(?:\{|\}|\};|\)\s*\{|=>|->|\\)\s*(?://.*|/\*.*)?$
      | [\w.\[\]'"]+(?:\s*:\s*[\w.\[\]|\s]+)?\s*(?:[-+*/|&%]|//|\*\*)?=\s*\S.*   # assignment
      | [\w.]+\(.*\)?,?$                            # call
      | [)\]}]+[,;:]?$
      | (?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP)\s.*
      | (?:\$\s|export\s|echo\s|fi$|done$|then$|esac$).*
    )""",
    re.VERBOSE,
)
MARKUP_LINE = re.compile(r"\s*(?:</?[A-Za-z!?].*>|\\[a-zA-Z]+[\[{*\s].*|%\s.*|[.'](?:[A-Z]{1,2}\b|[a-z]{2}\b|\\\").*)")
SEPARATORS = ("\t", ",", "|", ";")

# Signs that only one language has; the language with most lines wins.
LANGUAGE_LINES = {
    "python": r"\s*(?:def \w+\(.*|class \w+.*:|from [\w.]+ import .*|import [\w.]+(?: as \w+)?|elif .*:|if __name__ ==.*|(?:if|for|while|with|try|except).*:)$",
    "c": r"\s*(?:#\s*include\s*[<\"].*\.h[>\"]|typedef\s.*|struct \w+ \{|(?:static |unsigned )?(?:int|void|char|long|size_t)\s\*?\w+\(.*)$",
    "cpp": r"\s*(?:#\s*include\s*<\w+>|template\s*<.*|using namespace \w+;|namespace \w+.*|.*\bstd::.*|(?:public|private|protected):)$",
    "java": r"\s*(?:import java[\w.]*;|package [\w.]+;|(?:public|private|protected) (?:static |final |abstract )*[\w<>\[\]]+ \w+.*[{(;]|@Override)$",
    "javascript": r"\s*(?:(?:const|let|var) .*=.*|(?:async )?function\b.*\{|export (?:default|const|function).*|.*=> \{|.*require\(.*\);?|module\.exports.*)$",
    "typescript": r"\s*(?:(?:export )?(?:interface|type) \w+.*[{=]|.*\w+: (?:string|number|boolean)\b.*|import .* from ['\"].*['\"];?)$",
    "go": r"\s*(?:package \w+|func (?:\(.*\) )?\w+\(.*\{|.* := .*|import \(|type \w+ (?:struct|interface) \{)$",
    "rust": r"\s*(?:(?:pub )?fn \w+.*|use [\w:]+.*;|let (?:mut )?\w+.*;|impl\b.*\{|#\[.*\]|pub (?:struct|enum) \w+.*|trait \w+.*)$",
    "shell": r"\s*(?:#!.*\b(?:ba|z|da|k)?sh\b.*|fi|done|esac|(?:if|elif) \[.*|for \w+ in .*|export \w+=.*|echo .*)$",
    "sql": r"\s*(?i:select .*|insert into .*|create (?:table|index|view) .*|alter table .*|update \w+ set.*)$",
}
LANGUAGES = {name: re.compile(pattern) for name, pattern in LANGUAGE_LINES.items()}
SUFFIXES = {
    ".py": "python", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".cxx": "cpp", ".java": "java", ".js": "javascript",
    ".mjs": "javascript", ".ts": "typescript", ".go": "go", ".rs": "rust", ".sh": "shell", ".bash": "shell", ".sql": "sql",
}  # fmt: skip
SHEBANGS = {"python": "python", "bash": "shell", "sh": "shell", "zsh": "shell", "node": "javascript"}
SHEBANG = re.compile(r"#!\s*/\S*?(?:env\s+(?:-S\s+)?)?([a-z]+)[\d.]*\s*(?:\s-.*)?\n")


@dataclass(frozen=True)
class Form:
    """`form` is prose, code, markup, table or verse; `programming_language` only for code ("" when unknown)."""

    form: str
    programming_language: str = ""


def detect_form(text: str, name: str = "") -> Form:
    """The form of plain text `text`, judged by its first 64 Ki characters.

    Works on raw text: call it before `normalize`, which needs the answer. `name`, the file's or record's name, is a hint only: `setup.py`
    full of prose stays prose.
    """
    head = text[:HEAD_CHARACTERS]
    lines = [line.rstrip() for line in head.splitlines() if line.strip()]
    suffix_language = SUFFIXES.get(PurePosixPath(name).suffix.lower(), "")
    shebang = SHEBANG.match(head)
    if shebang and shebang[1] in SHEBANGS:
        return Form("code", SHEBANGS[shebang[1]])
    if len(lines) < MIN_LINES:
        return Form("verse") if _is_regular_verse(lines) else Form("prose")
    if _is_table(lines):
        return Form("table")
    if _share(MARKUP_LINE, lines) >= MARKUP_SHARE:
        return Form("markup")
    if _is_code(head, CODE_SHARE_NAMED if suffix_language else CODE_SHARE):
        return Form("code", suffix_language or _programming_language(lines))
    return Form("verse") if _is_regular_verse(lines) or _is_rhymed_verse(lines) else Form("prose")


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    return sum(pattern.fullmatch(line[:500]) is not None for line in lines) / len(lines)


def _is_code(head: str, least: float) -> bool:
    lines = [line.rstrip() for line in without(head, fenced_blocks(head)).splitlines() if line.strip()]
    bare = [line.rstrip() for line in DOC_STRING.sub("", "\n".join(lines)).splitlines() if line.strip()]
    asked = [line for line in bare if not COMMENT_LINE.match(line)]
    code = sum(CODE_LINE.fullmatch(line[:500]) is not None for line in asked)
    return code >= MIN_LINES and code >= least * len(asked) and code >= min(least, MIN_CODE_LINES) * len(lines)


def _programming_language(lines: list[str]) -> str:
    votes = Counter({name: sum(pattern.match(line[:500]) is not None for line in lines) for name, pattern in LANGUAGES.items()})
    (first, most), (_, second) = votes.most_common(2)
    return first if most >= 2 and most > second else ""


def _is_table(lines: list[str]) -> bool:
    """Whether nearly all lines have the same number of a separator, at least two of it."""
    for separator in SEPARATORS:
        number, agreeing = Counter(line.count(separator) for line in lines).most_common(1)[0]
        if number >= 2 and agreeing >= TABLE_SHARE * len(lines):
            return True
    return False


CLAUSE_END = re.compile("[，。；？！、,.;?!\\s]+")
HAN_CLAUSE = re.compile("[\u3400-\u9fff\u25a1\U00020000-\U0003134f]+")


def _is_regular_verse(lines: list[str]) -> bool:
    """Chinese verse of regular metre: at least four clauses, nearly all of one length of 4, 5 or 7 characters, two or four to a line."""
    clauses = [clause for line in lines[:200] for clause in CLAUSE_END.split(line) if clause]
    if len(clauses) < 4 or any(len(line) > 40 for line in lines[:200]):
        return False
    length, agreeing = Counter(map(len, clauses)).most_common(1)[0]
    return length in (4, 5, 7) and agreeing >= VERSE_SHARE * len(clauses) and all(map(HAN_CLAUSE.fullmatch, clauses))


def _is_rhymed_verse(lines: list[str]) -> bool:
    """Alphabetic verse: at least eight short lines that nearly all open with a capital, many of them ending within a sentence."""
    if len(lines) < 8 or max(map(len, lines)) > 70:
        return False
    capitals = sum(line.lstrip("\"'“‘ \t")[:1].isupper() for line in lines)
    open_ends = sum(line[-1] in ",;:" or line[-1].isalpha() for line in lines)
    commas = sum(line[-1] in ",;" for line in lines)
    return capitals >= 0.9 * len(lines) and open_ends >= 0.4 * len(lines) and commas >= 0.25 * len(lines)


def fenced_blocks(text: str) -> list[tuple[int, int]]:
    """Where the fenced code blocks of Markdown lie: from the opening fence to the end of the closing one; an unclosed fence opens none."""
    blocks, opened, mark = [], -1, ""
    for fence in FENCE.finditer(text):
        if opened < 0:
            opened, mark = fence.start(), fence[1]
        elif fence[1] == mark and not fence[2]:
            blocks.append((opened, fence.end()))
            opened = -1
    return blocks


def without(text: str, regions: list[tuple[int, int]]) -> str:
    """`text` less the given sorted regions."""
    borders = [0, *(border for region in regions for border in region), len(text)]
    return "".join(text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))

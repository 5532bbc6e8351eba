"""Which form a text has: prose, code, markup, table or verse.

The form decides what may be done to a text (blanks of code are content) and which rules make sense. The answer is conservative: prose unless
a plain majority of lines says otherwise. Markdown and its kin count as prose: what they hold is meant to be read.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from mspt.core.text.language.programming_languages import by_interpreter, by_name, by_signs

HEAD_CHARACTERS = 64 * 1024
MIN_LINES = 3
MAX_LINE = 500  # characters of a line that are looked at

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

FENCE = re.compile(r"^ {0,12}(`{3}|~{3})[`~]*([^\n]*?)[ \t]*$", re.MULTILINE)
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
STATEMENT_WORDS = """
    async def from import class if elif for while with except try else finally return raise yield assert del pass break continue @ #
    public private protected static final const let var func fn function package namespace using struct enum interface impl pub
    fi done then esac end do $ export echo elseif local my our val puts print require require_relative use module attr_reader attr_writer attr_accessor
    data newtype instance type deriving | ) ] } select insert update delete create alter drop where join left inner group order values
"""
FIRST_WORDS = frozenset(STATEMENT_WORDS.split())  # how STATEMENT begins: most lines of prose need not be asked
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
MARKUP_STARTS = frozenset("<\\%.'")
SEPARATORS = ("\t", ",", "|", ";")


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
    named = by_name(name)
    if interpreted := by_interpreter(head):
        return Form("code", interpreted)
    if len(lines) < MIN_LINES:
        return Form("verse") if _is_regular_verse(lines) else Form("prose")
    if _is_table(lines):
        return Form("table")
    if sum(map(_is_markup_line, lines)) >= MARKUP_SHARE * len(lines):
        return Form("markup")
    if _is_code(head, CODE_SHARE_NAMED if named else CODE_SHARE):
        return Form("code", named or by_signs(lines))
    return Form("verse") if _is_regular_verse(lines) or _is_rhymed_verse(lines) else Form("prose")


def _is_markup_line(line: str) -> bool:
    return line.lstrip()[0] in MARKUP_STARTS and MARKUP_LINE.fullmatch(line[:MAX_LINE]) is not None


def _is_code(head: str, least: float) -> bool:
    prose = without(head, fenced_blocks(head)) if "```" in head or "~~~" in head else head
    bare = DOC_STRING.sub("", prose) if '"""' in prose or "/*" in prose else prose
    num_lines = sum(1 for line in prose.split("\n") if line and not line.isspace())
    lines = [line.rstrip() for line in bare.split("\n") if line and not line.isspace() and not COMMENT_LINE.match(line)]
    step = max(1, len(lines) // MAX_ASKED)
    code = step * sum(map(_is_code_line, lines[::step]))
    return code >= MIN_LINES and code >= least * len(lines) and code >= min(least, MIN_CODE_LINES) * num_lines


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


def _is_regular_verse(lines: list[str]) -> bool:
    """Chinese verse of regular metre: at least four clauses, nearly all of one length of 4, 5 or 7 characters, two or four to a line."""
    if any(len(line) > 40 for line in lines[:200]):
        return False
    clauses = [clause for line in lines[:200] for clause in CLAUSE_END.split(line) if clause]
    if len(clauses) < 4:
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

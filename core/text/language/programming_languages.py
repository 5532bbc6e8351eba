"""Which programming language code is in: by the name of its file, the interpreter that its first line names, or signs that only one language has.

A sign is a line as only that language writes it; the language with most such lines wins. A language that grew out of another (C++ out of C, TypeScript out of
JavaScript) also has that one's signs: two signs of its own, or one in twenty of both, claim them all.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

MIN_SIGNS = 2
MAX_LINES = 150  # that are asked, spread over the text
MAX_LINE = 300  # characters of a line that are looked at

# How lines of each language look is data: programming_languages.toml beside this file.
LANGUAGES: dict[str, dict[str, list[str]]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
PATTERNS = {name: re.compile(rf"[ \t]*(?:{'|'.join(language['signs'])})[ \t]*$") for name, language in LANGUAGES.items()}
INSIDE = {name: tuple(language.get("inside", ())) for name, language in LANGUAGES.items()}
SUFFIXES = {suffix: name for name, language in LANGUAGES.items() for suffix in language["names"]}
INTERPRETERS = {interpreter: name for name, language in LANGUAGES.items() for interpreter in language.get("interpreters", ())}
GROWN_FROM = {"cpp": "c", "typescript": "javascript"}

SHEBANG = re.compile(r"#!\s*/\S*?(?:env\s+(?:-S\s+)?)?([a-zA-Z]+)[\d.]*\s*(?:\s-.*)?\n")


@lru_cache(1024)
def by_name(name: str) -> str:
    """The language that a file's name says, "" when it says none."""
    return SUFFIXES.get(PurePosixPath(name).suffix.lower(), "")


def by_interpreter(text: str) -> str:
    """The language of the interpreter in a first line `#!...` or `<?php`, "" when there is none."""
    if text.startswith("<?php"):
        return "php"
    shebang = SHEBANG.match(text)
    return INTERPRETERS.get(shebang[1].lower(), "") if shebang else ""


def by_signs(lines: Sequence[str]) -> str:
    """The language with most signs among lines of code, "" where none has enough of them, or two have the same number."""
    step = max(1, len(lines) // MAX_LINES)
    asked = [line[:MAX_LINE] for line in lines[::step]]
    whole = "\n".join(asked)
    signs = Counter({name: _num_signs(asked, pattern, [sign for sign in INSIDE[name] if sign in whole]) for name, pattern in PATTERNS.items()})
    if not asked or asked[0].lstrip()[:1] not in ("{", "["):
        signs["json"] = 0  # a table inside of other code
    for grown, origin in GROWN_FROM.items():
        if signs[grown] >= MIN_SIGNS or signs[grown] * 20 > signs[origin]:
            signs[grown] += signs[origin]
            signs[origin] = 0
    (first, most), (_, second) = signs.most_common(2)
    return first if most >= MIN_SIGNS and most > second else ""


def _num_signs(lines: Sequence[str], pattern: re.Pattern[str], inside: Sequence[str]) -> int:
    """The number of lines that the pattern matches or that hold one of `inside`."""
    match = pattern.match
    if not inside:
        return len([line for line in lines if match(line)])
    return len([line for line in lines if match(line) or any(sign in line for sign in inside)])

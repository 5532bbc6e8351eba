"""What may be written in an expression: a whitelist over Python's own syntax tree. What it means: expression.py.

lang == "zh-Hans" and length(text) < 200
0.2 < quality <= 0.5 or rule in ("too-short", "symbols")
"版权所有" in text and not matches(url, "^https://[a-z]+[.]gov")
sigmoid(0.5 * quality + 0.2 * ln(length(text)) - 0.1 * coalesce(repeat_ratio, 0))
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.config import unknown_name
from mspt.core.errors import MsptError

# Limits of what is accepted: far above what a person writes, far below what costs anything.
MAX_CHARACTERS = 4000
MAX_NODES = 500
MAX_DEPTH = 60

NUMBER, TEXT, TRUTH, LIST, NULL = "a number", "text", "true or false", "a list", "null"
ANY, PATTERN = "anything", "a text written out"
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)


@dataclass(frozen=True)
class Signature:
    """`arguments`: what each one must be; PATTERN is a text written out, not a column. The kind may repeat where `many`."""

    arguments: tuple[str, ...]
    gives: str
    help: str
    many: bool = False


FUNCTIONS = {
    "length": Signature((ANY,), NUMBER, "characters of a text, entries of a list"),
    "lower": Signature((TEXT,), TEXT, "in small letters"),
    "contains": Signature((TEXT, PATTERN), TRUTH, "has the part in it"),
    "startswith": Signature((TEXT, PATTERN), TRUTH, "begins with the part"),
    "endswith": Signature((TEXT, PATTERN), TRUTH, "ends with the part"),
    "matches": Signature((TEXT, PATTERN), TRUTH, "the regular expression (RE2) is found in it"),
    "is_null": Signature((ANY,), TRUTH, "has no value"),
    "ln": Signature((NUMBER,), NUMBER, "natural logarithm"),
    "sqrt": Signature((NUMBER,), NUMBER, "square root"),
    "exp": Signature((NUMBER,), NUMBER, "e to the power"),
    "abs": Signature((NUMBER,), NUMBER, "without its sign"),
    "min": Signature((NUMBER,), NUMBER, "the smallest of its arguments", many=True),
    "max": Signature((NUMBER,), NUMBER, "the largest of its arguments", many=True),
    "sigmoid": Signature((NUMBER,), NUMBER, "1 / (1 + exp(-x))"),
    "clip": Signature((NUMBER, NUMBER, NUMBER), NUMBER, "the first, but not under the second nor over the third"),
    "coalesce": Signature((NUMBER,), NUMBER, "the first of its arguments that has a value", many=True),
}

_WORDS = {"true": True, "false": False, "null": None}
_OTHER_NAMES = {"len": "length", "size": "length", "log": "ln", "regex": "matches", "search": "matches", "match": "matches", "isnull": "is_null",
                "clamp": "clip", "logistic": "sigmoid", "ifnull": "coalesce", "nvl": "coalesce"}  # fmt: skip
# What people write who think in another language, and what it is called here.
_FOREIGN = (
    (r"&&", "`and`"),
    (r"\|\|", "`or`"),
    (r"!(?!=)", "`not`"),
    (r"(?<![<>=!])=(?!=)", "`==`"),
    (r"(?i)\bis\s+(not\s+)?null\b", "is_null(column)"),
    (r"(?i)\b(like|between)\b", "contains(column, 'part') or a <= column <= b"),
    (r"\b(AND|OR|NOT|IN)\b", "and, or, not, in (small letters)"),
)
_EXAMPLE = 'for example: lang == "en" and length(text) < 200'


def read(text: str, place: str) -> tuple[ast.expr, tuple[str, ...]]:
    """(checked syntax tree, columns in order of appearance). `place` begins the message of an MsptError."""
    if len(text) > MAX_CHARACTERS:
        raise MsptError(f"{place}: {len(text):,} characters, at most {MAX_CHARACTERS:,} are read")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        offset = f" at character {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise MsptError(f"{place}: not understood{offset}", _foreign(text)) from None
    checker = _Checker(place, text)
    return checker.check(tree), tuple(checker.columns)


def _foreign(text: str) -> str:
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
    found = next((right for pattern, right in _FOREIGN if re.search(pattern, outside)), None)
    return f"write {found}" if found else _EXAMPLE


class _Checker:
    """Rebuilds the tree out of what is allowed; true, false and null become constants."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self.text = text
        self.nodes = 0
        self.columns: list[str] = []

    def error(self, problem: str, hint: str = "") -> MsptError:
        return MsptError(f"{self.place}: {problem}", hint)

    def _refuse(self, node: ast.expr, hint: str = "") -> MsptError:
        source = ast.get_source_segment(self.text, node) or ""  # ast.unparse would recurse as deep as the input likes
        return self.error(f"`{source if len(source) <= 60 else source[:57] + '...'}` is not part of the grammar", hint or _foreign(self.text))

    def check(self, node: ast.expr, depth: int = 0) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise self.error("too long or too deeply nested", f"at most {MAX_NODES} parts, {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                if isinstance(value, int) and abs(value) >= 2**63:
                    raise self.error("a number beyond 64 bits", "write it as 1e20")
                return node
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.check(value, depth + 1) for value in values])
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd() as op, operand=operand):
                return ast.UnaryOp(op, self.check(operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, ARITHMETIC):
                return ast.BinOp(self.check(left, depth + 1), op, self.check(right, depth + 1))
            case ast.Compare():
                return self._compare(node, depth + 1)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args, depth + 1)
        raise self._refuse(node)

    def _name(self, node: ast.Name, name: str) -> ast.expr:
        if name in _WORDS:
            return ast.Constant(_WORDS[name])
        if name not in self.columns:
            self.columns.append(name)
        return node

    def _compare(self, node: ast.Compare, depth: int) -> ast.Compare:
        sides = [self.check(node.left, depth)]
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn):
                listed = isinstance(right, ast.Tuple | ast.List)
                if not listed:
                    self._pattern("in", sides[-1])
                sides.append(self._members(right) if isinstance(right, ast.Tuple | ast.List) else self.check(right, depth))
            elif isinstance(op, COMPARISONS):
                sides.append(self.check(right, depth))
                if any(isinstance(side, ast.Constant) and side.value is None for side in sides[-2:]):
                    raise self.error("nothing equals null", "a missing value is found by is_null(column)")
            else:
                raise self._refuse(node, "a missing value is found by is_null(column)")
        return ast.Compare(sides[0], node.ops, sides[1:])

    def _members(self, node: ast.Tuple | ast.List) -> ast.Tuple:
        items = [self.check(item) for item in node.elts]
        for item in items:
            inner = item.operand if isinstance(item, ast.UnaryOp) and not isinstance(item.op, ast.Not) else item
            if not isinstance(inner, ast.Constant) or inner.value is None:
                raise self.error(f"`{ast.unparse(item)}` in a list", "a list holds numbers or texts written out: lang in ('en', 'zh-Hans')")
        return ast.Tuple(items, ast.Load())

    def _call(self, name: str, args: Sequence[ast.expr], depth: int) -> ast.Call:
        function = FUNCTIONS.get(name)
        if function is None and name in _OTHER_NAMES:
            raise self.error(f"there is no function `{name}`", f"it is called `{_OTHER_NAMES[name]}` here")
        if function is None:
            raise unknown_name("function", name, FUNCTIONS, self.place)
        if len(args) != len(function.arguments) and not (function.many and args):
            raise self.error(f"{name}() takes {len(function.arguments)} argument{'s' * (len(function.arguments) > 1)}, {len(args)} are given", function.help)
        checked = [self.check(arg, depth) for arg in args]
        if PATTERN in function.arguments:
            self._pattern(name, checked[function.arguments.index(PATTERN)])
        return ast.Call(ast.Name(name, ast.Load()), checked, [])

    def _pattern(self, name: str, node: ast.expr) -> None:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self.error(f"`{ast.unparse(node)}` is not a text written out", f"{name} looks for a text in quotes: contains(text, '广告'), '广告' in text")
        if name == "matches":
            try:
                pc.match_substring_regex(pa.array([""]), node.value)
            except pa.ArrowInvalid as error:
                raise self.error(f"bad regular expression: {str(error).removeprefix('Invalid regular expression: ')}", "the syntax is RE2's") from None

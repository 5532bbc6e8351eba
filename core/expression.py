"""The one expression grammar over columns: `--where`, `mspt sample`, weights.

    lang == "zh-Hans" and length(text) < 200
    0.2 < quality <= 0.5 or rule in ("too-short", "symbols")
    "版权所有" in text and not matches(url, "^https://[a-z]+[.]gov")
    1 / (1 + exp(-(0.5 * quality + 0.2 * ln(length(text)) - 0.1 * repeat_ratio)))

Operands are columns, numbers, texts, true, false. Operators: == != < <= > >= (also chained), in, not in, and, or, not, + - * / **.
Functions: see FUNCTIONS. Python's own parser reads it; a whitelist of its nodes is evaluated over whole pyarrow columns, so nothing is ever executed.

A value that is missing, or that does not exist (ln(0), 1/0), is null. Null spreads through arithmetic and comparisons, `and`/`or` follow three-valued
logic, and a condition that is null does not hold. Regular expressions are RE2's: linear time, found anywhere in the text. Arithmetic is float64.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
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
_WORDS = {"true": True, "false": False, "null": None}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: pc.add,
    ast.Sub: pc.subtract,
    ast.Mult: pc.multiply,
    ast.Div: pc.divide,
    ast.Pow: pc.power,
}
_OTHER_NAMES = {
    "len": "length",
    "size": "length",
    "log": "ln",
    "regex": "matches",
    "search": "matches",
    "match": "matches",
    "isnull": "is_null",
    "isnan": "is_null",
}
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


@dataclass(frozen=True)
class Function:
    """`arguments`: what each one must be; a pattern is a text written out, not a column. The last kind may repeat where `many`."""

    arguments: tuple[str, ...]
    gives: str
    apply: Callable[..., Any]
    help: str
    many: bool = False


ANY, PATTERN = "anything", "a text written out"


def _length(value: Any) -> Any:
    return pc.list_value_length(value) if _kind(value) == LIST else pc.utf8_length(value)


def _is_null(value: Any) -> Any:
    return pc.is_null(value, nan_is_null=pa.types.is_floating(value.type))


FUNCTIONS: dict[str, Function] = {
    "length": Function((ANY,), NUMBER, _length, "characters of a text, entries of a list"),
    "lower": Function((TEXT,), TEXT, pc.utf8_lower, "in small letters"),
    "contains": Function((TEXT, PATTERN), TRUTH, lambda text, part: pc.match_substring(text, part), "has the part in it"),
    "startswith": Function((TEXT, PATTERN), TRUTH, lambda text, part: pc.starts_with(text, part), "begins with the part"),
    "endswith": Function((TEXT, PATTERN), TRUTH, lambda text, part: pc.ends_with(text, part), "ends with the part"),
    "matches": Function((TEXT, PATTERN), TRUTH, lambda text, part: pc.match_substring_regex(text, part), "the regular expression is found in it"),
    "is_null": Function((ANY,), TRUTH, _is_null, "has no value"),
    "ln": Function((NUMBER,), NUMBER, pc.ln, "natural logarithm"),
    "sqrt": Function((NUMBER,), NUMBER, pc.sqrt, "square root"),
    "exp": Function((NUMBER,), NUMBER, pc.exp, "e to the power"),
    "abs": Function((NUMBER,), NUMBER, pc.abs, "without its sign"),
    "min": Function((NUMBER,), NUMBER, lambda *values: pc.min_element_wise(*values, skip_nulls=False), "the smallest of its arguments", many=True),
    "max": Function((NUMBER,), NUMBER, lambda *values: pc.max_element_wise(*values, skip_nulls=False), "the largest of its arguments", many=True),
}


@dataclass(frozen=True)
class Find:
    """What a condition looks for in a text column: for marking it where the text is shown."""

    pattern: str
    regex: bool
    ignore_case: bool


@dataclass(frozen=True)
class Expression:
    """A parsed expression. `where` is what error messages call its place (`--where`, `[score] weight`)."""

    text: str
    where: str
    tree: ast.expr
    columns: tuple[str, ...]

    def mask(self, table: pa.Table) -> Any:
        """Boolean array, one entry per row, without nulls. MsptError where the expression is no condition."""
        value = self._evaluate(self.tree, table)
        if _kind(value) not in (TRUTH, NULL):
            raise self._error(f"is {_kind(value)}, not a condition", "compare it with something, such as `... > 0`")
        return pc.fill_null(_rows(_cast(value, pa.bool_()), table.num_rows), False)

    def numbers(self, table: pa.Table) -> Any:
        """float64 array, one entry per row, null where it has no value. MsptError where the expression is no number."""
        value = self._evaluate(self.tree, table)
        if _kind(value) not in (NUMBER, NULL):
            raise self._error(f"is {_kind(value)}, not a number", "an arithmetic expression is wanted, such as `2 * quality`")
        return _rows(_cast(value, pa.float64()), table.num_rows)

    def check(self, known: Iterable[str]) -> None:
        """MsptError with the nearest column for one that is not `known`."""
        names = list(known)
        for column in self.columns:
            if column not in names:
                raise unknown_name("column", column, names, self._place)

    def finds(self, column: str) -> list[Find]:
        """What contains(), matches() and `in` look for in `column`, in order."""
        return [find for node in ast.walk(self.tree) if (find := _find(node, column)) is not None]

    # --- evaluation ------------------------------------------------------------------------------------------------

    @property
    def _place(self) -> str:
        return f"{self.where} `{self.text}`"

    def _error(self, problem: str, hint: str = "") -> MsptError:
        return MsptError(f"{self._place}: {problem}", hint)

    def _evaluate(self, node: ast.expr, table: pa.Table) -> Any:
        """A pyarrow scalar, array or chunked array."""
        match node:
            case ast.Constant(value=value):
                return pa.scalar(value)
            case ast.Name(id=name):
                return self._column(name, table)
            case ast.BoolOp(op=op, values=parts):
                join = pc.and_kleene if isinstance(op, ast.And) else pc.or_kleene
                return reduce(join, [self._typed(part, table, TRUTH) for part in parts])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return pc.invert(self._typed(operand, table, TRUTH))
            case ast.UnaryOp(op=op, operand=operand):
                value = self._typed(operand, table, NUMBER)
                return pc.negate(value) if isinstance(op, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right):
                return _finite(_ARITHMETIC[type(op)](self._typed(left, table, NUMBER), self._typed(right, table, NUMBER)))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                pairs = zip([left, *rights[:-1]], ops, rights, strict=True)
                return reduce(pc.and_kleene, [self._compare(a, op, b, table) for a, op, b in pairs])
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(FUNCTIONS[name], args, table)
        raise AssertionError(f"the whitelist let {type(node).__name__} through")

    def _column(self, name: str, table: pa.Table) -> Any:
        if name not in table.column_names:
            raise unknown_name("column", name, table.column_names, self._place)
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column) if pa.types.is_floating(column.type) else column

    def _typed(self, node: ast.expr, table: pa.Table, wanted: str) -> Any:
        """The value of a node, which must be of that kind; numbers become float64."""
        value = self._evaluate(node, table)
        kind = _kind(value)
        if kind not in (wanted, NULL):
            raise self._error(f"`{ast.unparse(node)}` is {kind}, where {wanted} is needed", _type_hint(kind, wanted))
        types = {NUMBER: pa.float64(), TEXT: value.type if kind == TEXT else pa.string(), TRUTH: pa.bool_()}
        return _cast(value, types[wanted])

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr, table: pa.Table) -> Any:
        if isinstance(op, ast.In | ast.NotIn):
            found = self._is_in(left, right, table)
            return pc.invert(found) if isinstance(op, ast.NotIn) else found
        a, b = self._evaluate(left, table), self._evaluate(right, table)
        kinds = {_kind(a), _kind(b)} - {NULL}
        if len(kinds) == 2 or LIST in kinds:
            raise self._error(f"`{ast.unparse(left)}` is {_kind(a)} and `{ast.unparse(right)}` is {_kind(b)}", "only values of one kind compare")
        if not kinds:
            return pa.scalar(None, pa.bool_())
        kind = next(iter(kinds))
        a, b = (_cast(v, {NUMBER: v.type, TEXT: pa.string(), TRUTH: pa.bool_()}[kind]) if _kind(v) == NULL else v for v in (a, b))
        return _COMPARE[type(op)](a, b)

    def _is_in(self, left: ast.expr, right: ast.expr, table: pa.Table) -> Any:
        if not isinstance(right, ast.Tuple | ast.List):  # "part" in text
            return self._call(FUNCTIONS["contains"], [right, left], table)
        value = self._evaluate(left, table)
        items = [ast.literal_eval(item) for item in right.elts]
        of_kind = {NUMBER: int | float, TEXT: str, TRUTH: bool}.get(_kind(value), object)
        wrong = next((i for i in items if not isinstance(i, of_kind) or (isinstance(i, bool) and _kind(value) == NUMBER)), None)
        if wrong is not None:
            raise self._error(f"`{ast.unparse(left)}` is {_kind(value)}, {wrong!r} is not", "the list must hold values of the column's kind")
        if _kind(value) == NULL:
            return pa.scalar(None, pa.bool_())
        if _kind(value) == NUMBER:
            value, items = _cast(value, pa.float64()), [float(i) for i in items]
        return pc.if_else(pc.is_null(value), pa.scalar(None, pa.bool_()), pc.is_in(value, value_set=pa.array(items, value.type)))

    def _call(self, function: Function, args: Sequence[ast.expr], table: pa.Table) -> Any:
        wanted = function.arguments[:1] * len(args) if function.many else function.arguments
        values = []
        for kind, node in zip(wanted, args, strict=True):
            if kind == PATTERN:
                values.append(ast.literal_eval(node))
            elif kind == ANY:
                values.append(self._any(function, node, table))
            else:
                values.append(self._typed(node, table, kind))
        result = function.apply(*values)
        return _finite(_cast(result, pa.float64())) if function.gives == NUMBER else result

    def _any(self, function: Function, node: ast.expr, table: pa.Table) -> Any:
        value = self._evaluate(node, table)
        kind = _kind(value)
        if function.gives == NUMBER and kind not in (TEXT, LIST, NULL):  # length()
            raise self._error(f"`{ast.unparse(node)}` is {kind}, which has no length", "length() takes a text or a list")
        return _cast(value, pa.string()) if kind == NULL and function.gives == NUMBER else value


def _type_hint(kind: str, wanted: str) -> str:
    if wanted == TRUTH:
        return "compare it with something, such as `... > 0`"
    return "length(text) is the number of its characters" if (kind, wanted) == (TEXT, NUMBER) else ""


def _kind(value: Any) -> str:
    kind = value.type
    if pa.types.is_null(kind):
        return NULL
    if pa.types.is_boolean(kind):
        return TRUTH
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return NUMBER
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return TEXT
    return LIST


def _cast(value: Any, kind: Any) -> Any:
    return value if value.type == kind else pc.cast(value, kind, safe=False)


def _finite(value: Any) -> Any:
    """Results that do not exist (ln of 0, division by 0, overflow) become null."""
    return pc.if_else(pc.is_finite(value), value, pa.scalar(None, value.type))


def _rows(value: Any, count: int) -> Any:
    return pa.repeat(value, count) if isinstance(value, pa.Scalar) else value


def _find(node: ast.AST, column: str) -> Find | None:
    match node:
        case ast.Call(func=ast.Name(id="contains" | "matches" as name), args=[inner, ast.Constant(value=str(pattern))]):
            pass
        case ast.Compare(left=ast.Constant(value=str(pattern)), ops=[ast.In()], comparators=[inner]):
            name = "contains"
        case _:
            return None
    lowered = isinstance(inner, ast.Call)
    inner = inner.args[0] if isinstance(inner, ast.Call) and inner.func.id == "lower" else inner  # type: ignore[attr-defined]
    return Find(pattern, name == "matches", lowered) if isinstance(inner, ast.Name) and inner.id == column and pattern else None


# --- parsing -----------------------------------------------------------------------------------------------------------


def parse(text: str, where: str = "expression") -> Expression:
    """Reads an expression. MsptError says what is not understood and what to write instead."""
    text = text.strip()
    place = f"{where} `{text if len(text) <= 120 else text[:117] + '...'}`"
    if len(text) > MAX_CHARACTERS:
        raise MsptError(f"{place}: {len(text):,} characters, at most {MAX_CHARACTERS:,} are read")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise MsptError(f"{place}: not understood{_position(error)}", _foreign(text)) from None
    checker = _Checker(place, text)
    return Expression(text, where, checker.check(tree), tuple(checker.columns))


def _position(error: BaseException) -> str:
    return f" at character {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""


def _foreign(text: str) -> str:
    outside = re.sub(r"'[^']*'|\"[^\"]*\"", "''", text)
    found = next((right for pattern, right in _FOREIGN if re.search(pattern, outside)), None)
    return f"write {found}" if found else 'for example: lang == "en" and length(text) < 200'


class _Checker:
    """The whitelist. Turns true, false, null into constants and collects columns in order of appearance."""

    def __init__(self, place: str, text: str) -> None:
        self.place = place
        self.text = text
        self.nodes = 0
        self.columns: list[str] = []

    def error(self, problem: str, hint: str = "") -> MsptError:
        return MsptError(f"{self.place}: {problem}", hint)

    def _source(self, node: ast.expr) -> str:
        segment = ast.get_source_segment(self.text, node) or ""  # ast.unparse would recurse as deep as the input likes
        return segment if len(segment) <= 60 else segment[:57] + "..."

    def check(self, node: ast.expr, depth: int = 0) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            raise self.error("too long or too deeply nested", f"at most {MAX_NODES} parts, {MAX_DEPTH} deep")
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return self._constant(node)
            case ast.Name(id=name):
                if name in _WORDS:
                    return ast.Constant(_WORDS[name])
                if name not in self.columns:
                    self.columns.append(name)
                return node
            case ast.BoolOp(op=op, values=values):
                return ast.BoolOp(op, [self.check(value, depth + 1) for value in values])
            case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.UAdd() as op, operand=operand):
                return ast.UnaryOp(op, self.check(operand, depth + 1))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return ast.BinOp(self.check(left, depth + 1), op, self.check(right, depth + 1))
            case ast.Compare():
                return self._compare(node, depth)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args, depth)
        raise self.error(f"`{self._source(node)}` is not part of the grammar", _foreign(self.text))

    def _constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, int) and abs(node.value) >= 2**63:
            raise self.error("a number beyond 64 bits", "write it as 1e20")
        return node

    def _compare(self, node: ast.Compare, depth: int) -> ast.Compare:
        rights: list[Any] = []
        for op, right in zip(node.ops, node.comparators, strict=True):
            membership = isinstance(op, ast.In | ast.NotIn)
            if not membership and type(op) not in _COMPARE:
                raise self.error(f"`{self._source(node)}` is not part of the grammar", "a missing value is found by is_null(column)")
            if membership and isinstance(right, ast.Tuple | ast.List):
                rights.append(self._members(right))
                continue
            right = self.check(right, depth + 1)
            if any(isinstance(side, ast.Constant) and side.value is None for side in (node.left, right)):
                raise self.error("nothing equals null", "a missing value is found by is_null(column)")
            rights.append(right)
        left = self.check(node.left, depth + 1)
        for op, right in zip(node.ops, rights, strict=True):
            if isinstance(op, ast.In | ast.NotIn) and not isinstance(right, ast.Tuple | ast.List):
                self._pattern("in", left)
        return ast.Compare(left, node.ops, rights)

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
        checked = [self.check(arg, depth + 1) for arg in args]
        if not function.many:
            for kind, arg in zip(function.arguments, checked, strict=True):
                if kind == PATTERN:
                    self._pattern(name, arg)
        return ast.Call(ast.Name(name, ast.Load()), checked, [])

    def _pattern(self, name: str, node: ast.expr) -> None:
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
            raise self.error(f"`{ast.unparse(node)}` is not a text written out", f"{name} looks for a text in quotes: contains(text, '广告'), '广告' in text")
        if name == "matches":
            try:
                pc.match_substring_regex(pa.array([""]), node.value)
            except pa.ArrowInvalid as error:
                raise self.error(f"bad regular expression: {str(error).removeprefix('Invalid regular expression: ')}", "the syntax is RE2's") from None

"""The one expression grammar over columns: `--where`, `mspt sample`, weights.

Operands are columns, numbers, texts, true, false. Operators: == != < <= > >= (also chained), in, not in, and, or, not, + - * / **. Functions and examples:
grammar.py. Python's own parser reads it; whitelisted nodes are evaluated over whole pyarrow columns, so nothing is ever executed.

A value that is missing, or that does not exist (ln(0), 1/0), is null. Null spreads through arithmetic and comparisons, `and`/`or` follow three-valued
logic, and a condition that is null does not hold. Regular expressions are RE2's: linear time, found anywhere in the text. Arithmetic is float64.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mspt.core.config import unknown_name
from mspt.core.errors import MsptError
from mspt.core.grammar import ANY, FUNCTIONS, LIST, NULL, NUMBER, PATTERN, TEXT, TRUTH, read

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: pc.equal,
    ast.NotEq: pc.not_equal,
    ast.Lt: pc.less,
    ast.LtE: pc.less_equal,
    ast.Gt: pc.greater,
    ast.GtE: pc.greater_equal,
    ast.Add: pc.add,
    ast.Sub: pc.subtract,
    ast.Mult: pc.multiply,
    ast.Div: pc.divide,
    ast.Pow: pc.power,
}


def _length(value: Any) -> Any:
    return pc.list_value_length(value) if _kind(value) == LIST else pc.utf8_length(value)


def _sigmoid(x: Any) -> Any:
    """Without overflow: exp of what is not positive only."""
    small = pc.exp(pc.negate(pc.abs(x)))
    return pc.divide(pc.if_else(pc.greater_equal(x, 0.0), pa.scalar(1.0), small), pc.add(1.0, small))


def _clip(x: Any, low: Any, high: Any) -> Any:
    return pc.min_element_wise(pc.max_element_wise(x, low, skip_nulls=False), high, skip_nulls=False)


_APPLY: dict[str, Callable[..., Any]] = {
    "length": _length,
    "lower": pc.utf8_lower,
    "contains": pc.match_substring,
    "startswith": pc.starts_with,
    "endswith": pc.ends_with,
    "matches": pc.match_substring_regex,
    "is_null": pc.is_null,
    "ln": pc.ln,
    "sqrt": pc.sqrt,
    "exp": pc.exp,
    "abs": pc.abs,
    "min": lambda *values: pc.min_element_wise(*values, skip_nulls=False),
    "max": lambda *values: pc.max_element_wise(*values, skip_nulls=False),
    "sigmoid": _sigmoid,
    "clip": _clip,
    "coalesce": pc.coalesce,
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
                return _finite(_OPERATORS[type(op)](self._typed(left, table, NUMBER), self._typed(right, table, NUMBER)))
            case ast.Compare(left=left, ops=ops, comparators=rights):
                pairs = zip([left, *rights[:-1]], ops, rights, strict=True)
                return reduce(pc.and_kleene, [self._compare(a, op, b, table) for a, op, b in pairs])
            case ast.Call(func=ast.Name(id=name), args=args):
                return self._call(name, args, table)
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
            found = self._is_in(left, right, table) if isinstance(right, ast.Tuple) else self._call("contains", [right, left], table)
            return pc.invert(found) if isinstance(op, ast.NotIn) else found
        a, b = self._evaluate(left, table), self._evaluate(right, table)
        kinds = {_kind(a), _kind(b)} - {NULL}
        if len(kinds) == 2 or LIST in kinds:
            raise self._error(f"`{ast.unparse(left)}` is {_kind(a)} and `{ast.unparse(right)}` is {_kind(b)}", "only values of one kind compare")
        if NULL in (_kind(a), _kind(b)):
            other = b if _kind(a) == NULL else a
            return pc.equal(other, pa.scalar(None, other.type)) if _kind(other) != NULL else pa.scalar(None, pa.bool_())
        return _OPERATORS[type(op)](a, b)

    def _is_in(self, left: ast.expr, right: ast.Tuple, table: pa.Table) -> Any:
        value = self._evaluate(left, table)
        kind = _kind(value)
        if kind == NULL:
            return pa.scalar(None, pa.bool_())
        items = [ast.literal_eval(item) for item in right.elts]
        for item in items:
            if _kind(pa.scalar(item)) != kind:
                raise self._error(f"`{ast.unparse(left)}` is {kind}, {item!r} is not", "the list must hold values of the column's kind")
        if kind == NUMBER:
            value, items = _cast(value, pa.float64()), [float(i) for i in items]
        return pc.if_else(pc.is_null(value), pa.scalar(None, pa.bool_()), pc.is_in(value, value_set=pa.array(items, value.type)))

    def _call(self, name: str, args: Sequence[ast.expr], table: pa.Table) -> Any:
        function = FUNCTIONS[name]
        wanted = function.arguments * len(args) if function.many else function.arguments
        values: list[Any] = []
        for kind, node in zip(wanted, args, strict=True):
            if kind == PATTERN:
                values.append(ast.literal_eval(node))
            else:
                values.append(self._evaluate(node, table) if kind == ANY else self._typed(node, table, kind))
        if name == "length" and _kind(values[0]) not in (TEXT, LIST):
            if _kind(values[0]) != NULL:
                raise self._error(f"`{ast.unparse(args[0])}` is {_kind(values[0])}, which has no length", "length() takes a text or a list")
            values[0] = _cast(values[0], pa.string())
        result = _APPLY[name](*values)
        return _finite(_cast(result, pa.float64())) if function.gives == NUMBER else result


def parse(text: str, where: str = "expression") -> Expression:
    """Reads an expression. MsptError says what is not understood and what to write instead."""
    text = text.strip()
    tree, columns = read(text, f"{where} `{text if len(text) <= 120 else text[:117] + '...'}`")
    return Expression(text, where, tree, columns)


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
    return TEXT if pa.types.is_string(kind) or pa.types.is_large_string(kind) else LIST


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
            regex = name == "matches"
        case ast.Compare(left=ast.Constant(value=str(pattern)), ops=[ast.In()], comparators=[inner]):
            regex = False
        case _:
            return None
    lowered = False
    match inner:
        case ast.Call(func=ast.Name(id="lower"), args=[argument]):
            inner, lowered = argument, True
    return Find(pattern, regex, lowered) if isinstance(inner, ast.Name) and inner.id == column and pattern else None

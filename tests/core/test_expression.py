"""The expression grammar: values by hand, three-valued logic, and that nothing outside the whitelist is taken."""

from __future__ import annotations

import ast
import math

import pyarrow as pa
import pytest

from mspt.core.errors import MsptError
from mspt.core.expression import Find, parse
from mspt.core.grammar import FUNCTIONS

TABLE = pa.table(
    {
        "text": ["Hello 世界", "xyz", None, ""],
        "lang": ["zh-Hans", "en", "en", "und"],
        "quality": [0.1, 0.5, None, math.nan],
        "tokens": pa.array([1, 2, 3, None], pa.int32()),
        "keep": [True, False, True, None],
        "spans": [["h1"], [], None, ["p", "p"]],
        "perplexity": pa.nulls(4),
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('lang == "en"', [1, 2]),
        ('lang != "en"', [0, 3]),
        ("tokens >= 2", [1, 2]),
        ("0.2 < quality <= 0.5", [1]),
        ("1 < tokens < 3", [1]),
        ("keep", [0, 2]),
        ("not keep", [1]),
        ("keep == false", [1]),
        ('lang in ("en", "und") and keep', [2]),
        ('lang not in ["en"]', [0, 3]),
        ("tokens in (1, 3.0)", [0, 2]),
        ('"世" in text', [0]),
        ('"世" not in text', [1, 3]),  # the missing text neither holds it nor lacks it
        ("contains(lower(text), 'hello')", [0]),
        ('startswith(text, "x") or endswith(text, "界")', [0, 1]),
        ('matches(text, "^[a-z]{3}$")', [1]),
        ("is_null(text) or is_null(quality)", [2, 3]),  # NaN is a value that does not exist
        ("length(text) == 8 and length(spans) == 1", [0]),  # code points, not bytes
        ("length(spans) == 0", [1]),
        ("quality > 0.2 or tokens == 3", [1, 2]),  # null or true is true
        ("quality > 0.2 and keep", []),  # null and true is null, which does not hold
        ("not quality > 0.2", [0]),
        ("perplexity > 100 or keep", [0, 2]),
        ("perplexity == 'a'", []),
        ("is_null(perplexity)", [0, 1, 2, 3]),
        ("-tokens < -2", [2]),
        ("true", [0, 1, 2, 3]),
    ],
)
def test_conditions_hold_for_the_rows_worked_out_by_hand(text, rows):
    mask = parse(text).mask(TABLE).to_pylist()
    assert [row for row, holds in enumerate(mask) if holds] == rows
    assert None not in mask


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("tokens + 2 * quality", [1.2, 3.0, None, None]),
        ("2 ** tokens - 1", [1.0, 3.0, 7.0, None]),
        ("1 / (tokens - 1)", [None, 1.0, 0.5, None]),
        ("ln(tokens - 1)", [None, 0.0, math.log(2), None]),
        ("sqrt(tokens - 2)", [None, 0.0, 1.0, None]),
        ("exp(1000 * tokens)", [None, None, None, None]),
        ("abs(quality - 1)", [0.9, 0.5, None, None]),
        ("min(tokens, 2, quality * 10)", [1.0, 2.0, None, None]),
        ("max(tokens, 2)", [2.0, 2.0, 3.0, None]),
        ("length(text)", [8.0, 3.0, None, 0.0]),
        ("sigmoid(tokens - 2)", [math.exp(-1) / (1 + math.exp(-1)), 0.5, 1 / (1 + math.exp(-1)), None]),
        ("sigmoid(-1000) + sigmoid(1000)", [1.0] * 4),  # 0 and 1, not an overflow
        ("clip(tokens, 1.5, 2)", [1.5, 2.0, 2.0, None]),
        ("coalesce(quality, tokens, 7)", [0.1, 0.5, 3.0, 7.0]),
        ("coalesce(perplexity, 0)", [0.0] * 4),
        ("9 ** 9 ** 9", [None] * 4),  # at once, and not a number of 370 million digits
    ],
)
def test_numbers_are_float64_and_null_where_there_is_no_value(text, values):
    found = parse(text).numbers(TABLE)
    assert found.type == pa.float64()
    assert found.to_pylist() == values


def test_the_default_weight_formula_equals_math_bit_for_bit():
    rows = [(0.0, 3, 0.0), (0.75, 50, 0.2), (1.0, 100_000, 0.99)]
    table = pa.table({"quality": [r[0] for r in rows], "text": ["字" * r[1] for r in rows], "repeat_ratio": [r[2] for r in rows]})
    found = parse("1 / (1 + exp(-(0.5 * quality + 0.2 * ln(length(text)) - 0.1 * repeat_ratio)))").numbers(table).to_pylist()
    assert found == [1 / (1 + math.exp(-(0.5 * q + 0.2 * math.log(n) - 0.1 * r))) for q, n, r in rows]


def test_large_integers_compare_exactly():
    table = pa.table({"n": [2**53 + 1, 2**53]})
    assert parse("n == 9007199254740993").mask(table).to_pylist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("langs == 'en'", "no column `langs`", "did you mean `lang`?"),
        ("lenght(text)", "no function `lenght`", "did you mean `length`?"),
        ("len(text) > 3", "no function `len`", "`length`"),
        ("lang = 'en'", "not understood", "`==`"),
        ("keep && true", "not understood", "`and`"),
        ("quality is null", "not part of the grammar", "is_null"),
        ("quality == null", "nothing equals null", "is_null"),
        ("lang > 3", "`lang` is text and `3` is a number", ""),
        ("text + 1 > 3", "`text` is text, where a number is needed", "length(text)"),
        ("tokens and keep", "where true or false is needed", "> 0"),
        ("keep in ('yes',)", "'yes' is not", ""),
        ("tokens", "is a number, not a condition", "> 0"),
        ("contains(text, lang)", "`lang` is not a text written out", ""),
        ("tokens in text", "`tokens` is not a text written out", ""),
        ("matches(text, '(')", "bad regular expression", "RE2"),
        ("length(tokens) > 1", "has no length", ""),
        ("clip(tokens, 1) > 0", "takes 3 arguments, 2 are given", "not under"),
        ("clamp(tokens, 1, 2) > 0", "no function `clamp`", "`clip`"),
        ("length()", "takes 1 argument, 0 are given", "characters"),
        ("", "not understood", "for example"),
    ],
)
def test_mistakes_are_named_with_what_to_write_instead(text, message, hint):
    with pytest.raises(MsptError) as error:
        parse(text, "--where").mask(TABLE)
    assert error.value.message.startswith(f"--where `{text}`: ")
    assert message in error.value.message
    assert hint in error.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "text.__class__",
        "[x for x in text]",
        "lambda: 1",
        "text[0] == 'a'",
        "keep if keep else keep",
        "f'{text}' == 'a'",
        "(keep := true)",
        "length(text=text) > 1",
        "lang in (text,)",
        "b'a' == text",
        "1j == 1",
        "tokens % 2 == 0",
        "tokens << 2 == 0",
        "keep" + " and keep" * 500,
        "not " * 100 + "keep",
        "(" * 300,
        "-" * 3900 + "1",
        "a" + ".b" * 1900,
        "length(text) > " + "9" * 30,
        "'" + "x" * 5000 + "' in text",
        "*text",
        "keep; keep",
    ],
)
def test_everything_outside_the_whitelist_is_refused(text):
    with pytest.raises(MsptError):
        parse(text).mask(TABLE)


def test_columns_and_finds_are_reported():
    expression = parse("'广告' in text and matches(lower(text), 'a+') and (quality > 1 or is_null(quality)) and 'x' in url")
    assert expression.columns == ("text", "quality", "url")
    assert expression.finds("text") == [Find("广告", regex=False, ignore_case=False), Find("a+", regex=True, ignore_case=True)]
    with pytest.raises(MsptError, match=r"no column `url`\s+did you mean `urls`"):
        expression.check(["text", "quality", "urls"])


def test_every_function_is_a_plain_name_with_help():
    for name, signature in FUNCTIONS.items():
        assert isinstance(ast.parse(name, mode="eval").body, ast.Name)
        assert signature.help

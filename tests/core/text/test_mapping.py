"""The user's map function: how it is found, what it may answer, and that whatever it does costs one record only."""

from __future__ import annotations

import doctest
import hashlib
import pickle
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mspt.core.config import field_specs
from mspt.core.errors import MsptError
from mspt.core.text.mapping import MAX_DEPTH, MapFunction, Mapped, Refusal, apply_map, as_given, load_map, map_identity, plain
from mspt.core.text.readers.fields import as_decoded
from mspt.core.text.readers.record import Record
from mspt.stages.clean import CleanConfig

ROOT = Path(__file__).resolve().parents[3]
RECORD = {"text": "春天来了", "url": "", "title": "", "meta": {"n": 1}, "source": "s", "ref": "f#0", "fields": {"text": "春天来了", "tags": ["a", {"b": [1]}]}}


@pytest.fixture
def base(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def load(base: Path, body: str, name: str = "user.py") -> MapFunction:
    """The function `change(record)` with this body (or a whole module)."""
    source = body if "def change" in body else f"from mspt.core.text.mapping import Drop\ndef change(record):\n    {body}\n"
    (base / name).write_text(source, encoding="utf-8")
    return load_map(f"{name}:change", base)


# --- what it answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return record['text'] + '。'", Mapped(text="春天来了。")),
        ("return {'title': 'T', 'meta': {'stars': 5}}", Mapped(title="T", meta={"stars": 5})),
        ("return {'text': 'x', 'markup': True, 'url': 'http://u'}", Mapped(text="x", markup=True, url="http://u")),
        ("return {}", Mapped()),
        ("return None", Refusal("map", "the function returned None")),
        ("return Drop('too old')", Refusal("map", "too old")),
        ("return 'a\\ud800b'", Mapped(text="a\ufffdb")),
        ("return type('S', (str,), {})('sub')", Mapped(text="sub")),
    ],
)
def test_answers(base, body, expected):
    found = apply_map(load(base, body), RECORD)
    assert found == expected
    assert not isinstance(found, Mapped) or type(found.text) in (str, type(None))


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("return 5", "the function returned int, not None, Drop, a text or a dict"),
        ("return ['x']", "the function returned list, not None, Drop, a text or a dict"),
        ("return {'txt': 'x'}", "the function returned the key `txt`; known are text, markup, url, title, meta"),
        ("return {3: 'x'}", "the function returned the key `3`; known are text, markup, url, title, meta"),
        ("return {'text': 5}", "the function returned int as text, not str"),
        ("return {'text': None}", "the function returned NoneType as text, not str"),
        ("return {'markup': 1}", "the function returned int as markup, not bool"),
        ("return {'meta': {'s': {1}}}", "the function returned a value of type set, which JSON cannot hold"),
        ("return {'meta': {1: 2}}", "the function returned a key that is int, not a text"),
        ("return {'meta': {'o': object()}}", "the function returned a value of type object, which JSON cannot hold"),
        ("raise ValueError('no such day')", "ValueError: no such day (line 3 of user.py)"),
        ("raise KeyError", "KeyError (line 3 of user.py)"),
        ("return record['fields']['stars']", "KeyError: 'stars' (line 3 of user.py)"),
        ("import sys; sys.exit(3)", "SystemExit: 3 (line 3 of user.py)"),
        ("return Drop('')", "ValueError: the reason of a Drop is a text of 1 to 200 characters (line 3 of user.py)"),
        ("return Drop(5)", "ValueError: the reason of a Drop is a text of 1 to 200 characters (line 3 of user.py)"),
        ("return Drop('x' * 201)", "ValueError: the reason of a Drop is a text of 1 to 200 characters (line 3 of user.py)"),
        (
            "import json; return json.loads('{')",
            "JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1) (line 3 of user.py)",
        ),
        ("raise ValueError(object.__repr__(record))", "ValueError: <dict object at 0x...> (line 3 of user.py)"),  # the same row in every run
    ],
)
def test_nonsense_and_exceptions_are_refusals_that_say_where(base, body, detail):
    assert apply_map(load(base, body), RECORD) == Refusal("map-error", detail)


def test_the_line_is_the_innermost_one_of_the_users_own_file(base):
    function = load(base, "def change(record):\n    return inner(record)\n\ndef inner(record):\n    return int(record['text'])\n")
    assert apply_map(function, RECORD).detail.endswith("(line 5 of user.py)")


def test_long_messages_are_cut_and_keep_their_place(base):
    detail = apply_map(load(base, "raise ValueError('长' * 5000)"), RECORD).detail
    assert len(detail) == 200
    assert detail.endswith("长 (line 3 of user.py)")


def test_endless_recursion_is_an_error_of_that_record(base):
    found = apply_map(load(base, "def change(record):\n    return change(record)\n"), RECORD)
    assert found.rule == "map-error"
    assert found.detail.startswith("RecursionError: maximum recursion depth")


@pytest.mark.parametrize("error", ["MemoryError", "KeyboardInterrupt"])
def test_what_concerns_the_process_is_not_swallowed(base, error):
    with pytest.raises((MemoryError, KeyboardInterrupt)):
        apply_map(load(base, f"raise {error}"), RECORD)


def test_the_callers_record_cannot_be_changed(base):
    function = load(base, "record['fields']['tags'][1]['b'].append(2); record['meta'].clear(); record.clear(); return 'x'")
    given = {**RECORD, "meta": {"n": 1}, "fields": {"tags": ["a", {"b": [1]}]}}
    assert apply_map(function, given) == Mapped(text="x")
    assert (given["fields"], given["meta"], given["text"]) == ({"tags": ["a", {"b": [1]}]}, {"n": 1}, "春天来了")


def test_the_answer_shares_nothing_with_what_the_function_keeps(base):
    function = load(base, "kept = {'a': [1]}\ndef change(record):\n    kept['a'].append(1)\n    return {'meta': kept}\n")
    first = apply_map(function, RECORD)
    apply_map(function, RECORD)
    assert first.meta == {"a": [1, 1]}


def test_deep_fields_are_refused_at_a_fixed_depth(base):
    function = load(base, "return 'x'")
    deep: list = []
    for _ in range(900):
        deep = [deep]
    found = apply_map(function, {**RECORD, "fields": {"a": deep}})
    assert found == Refusal("map-error", f"the record cannot be handed over: a value nested more than {MAX_DEPTH} deep")


def test_a_record_is_given_whole_and_gets_the_changes(base):
    record = Record("f#3", as_decoded("<p>一", "gb18030"), markup=True, url="http://u", title="T", meta={"n": 1}, source="s", fields={"text": "<p>一", "n": 1})
    given = as_given(record)
    assert given == {
        "text": "<p>一", "markup": True, "url": "http://u", "title": "T", "meta": {"n": 1}, "source": "s", "ref": "f#3", "fields": {"text": "<p>一", "n": 1}
    }  # fmt: skip
    changed = Mapped(text="一\ufffd\n二", markup=False, meta={}).apply(record)
    assert (changed.decoded.text, changed.decoded.encoding, changed.decoded.replaced, changed.decoded.bad_lines) == ("一\ufffd\n二", "gb18030", 1, 1)
    assert (changed.markup, changed.url, changed.title, changed.meta, changed.ref) == (False, "http://u", "T", {}, "f#3")
    assert Mapped().apply(record) == record


def test_plain_values():
    value = {"d": date(2025, 3, 4), "n": Decimal("1.50"), "b": b"\xff\xe4\xb8\x80", "f": float("nan"), "t": (1, [True, None])}
    assert plain(value) == {"d": "2025-03-04", "n": "1.50", "b": "\\xff一", "f": None, "t": [1, [True, None]]}


@given(st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.text()), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_json_stays_as_it_is(value):
    assert plain(value) == value


# --- how it is found ---------------------------------------------------------------------------------------------------


def test_modules_are_found_from_the_base_with_their_neighbours(base):
    (base / "cleaning_rules").mkdir()
    (base / "cleaning_rules" / "__init__.py").write_text("")
    (base / "cleaning_rules" / "words.py").write_text("STOP = {'广告'}\n")
    (base / "cleaning_rules" / "reviews.py").write_text("from .words import STOP\nimport beside_it\ndef tidy(record):\n    return str(STOP) + beside_it.A\n")
    (base / "beside_it.py").write_text("A = '!'\n")
    assert apply_map(load_map("cleaning_rules.reviews:tidy", base), RECORD) == Mapped(text="{'广告'}!")


def test_a_package_that_imports_the_module_itself(base):
    (base / "selfish").mkdir()
    (base / "selfish" / "__init__.py").write_text("from .inner import tidy\n")
    (base / "selfish" / "inner.py").write_text("def tidy(record):\n    return 'x'\n")
    assert apply_map(load_map("selfish.inner:tidy", base), RECORD) == Mapped(text="x")
    assert apply_map(load_map("selfish:tidy", base), RECORD) == Mapped(text="x")


def test_files_are_found_from_the_base_or_anywhere(base):
    (base / "deep er").mkdir()
    (base / "deep er" / "json.py").write_text("import json\nassert 'deep er' not in json.__file__\ndef tidy(record):\n    return 'x'\n")
    assert apply_map(load_map("deep er/json.py:tidy", base), RECORD) == Mapped(text="x")
    assert apply_map(load_map(f"{base / 'deep er' / 'json.py'}:tidy", Path("/")), RECORD) == Mapped(text="x")


@pytest.mark.parametrize(
    ("spec", "message", "hint"),
    [
        ("user.py", "expected MODULE:FUNCTION or FILE.py:FUNCTION", "for example --map"),
        ("user", "expected MODULE:FUNCTION or FILE.py:FUNCTION", "for example --map"),
        (":change", "expected MODULE:FUNCTION or FILE.py:FUNCTION", "for example --map"),
        ("user.py:", "expected MODULE:FUNCTION or FILE.py:FUNCTION", "for example --map"),
        ("a b:change", "`a b` is no module's name", "for example --map"),
        ("absent.py:change", "there is no file absent.py", "paths are relative to"),
        ("absent.module:change", "there is no module `absent.module`", "name its file"),
        ("math:sqrt", "`math` has no source", "a .py file of yours"),
        ("user.py:chnage", "user.py has no function `chnage`", "it has change"),
        ("user.py:nothing_like_it", "user.py has no function `nothing_like_it`", "it has change, later, stream, two"),
        ("user.py:NUMBER", "`NUMBER` is int, not a function", "for example --map"),
        ("user.py:two", "it cannot be called with one record: missing a required argument: 'b'", "one argument"),
        ("user.py:stream", "an async function or a generator returns no record", "plain function"),
        ("user.py:later", "an async function or a generator returns no record", "plain function"),
        ("typo.py:change", "importing typo.py failed: NameError: name 'nmae' is not defined (line 3 of typo.py)", "correct it"),
        ("syntax.py:change", "importing syntax.py failed: SyntaxError: expected ':' (syntax.py, line 2) (line 2 of syntax.py)", "correct it"),
        ("missing.py:change", "importing missing.py failed: ModuleNotFoundError: No module named 'not_installed_here' (line 1 of missing.py)", "correct it"),
        ("leaves.py:change", "importing leaves.py failed: SystemExit: 2 (line 1 of leaves.py)", "correct it"),
        (
            "broken_package.module:change",
            "importing module.py failed: ZeroDivisionError: division by zero (line 1 of broken_package/__init__.py)",
            "correct it",
        ),
        ("doctest:change", "another module is called `doctest` too", "--map doctest.py:change"),
    ],
)
def test_mistakes_say_what_is_wrong_and_what_to_do(base, spec, message, hint):
    two = "def two(a, b):\n    return a\ndef stream(record):\n    yield record\nasync def later(record):\n    return record\nNUMBER = 5\n"
    (base / "user.py").write_text("def change(record):\n    return record\n" + two)
    (base / "doctest.py").write_text("def change(record):\n    return record\n")
    (base / "typo.py").write_text("def change(record):\n    return record\nnmae\n")
    (base / "syntax.py").write_text("\ndef change(record)\n    return record\n")
    (base / "missing.py").write_text("import not_installed_here\n")
    (base / "leaves.py").write_text("import sys; sys.exit(2)\n")
    (base / "broken_package").mkdir()
    (base / "broken_package" / "__init__.py").write_text("1 / 0\n")
    (base / "broken_package" / "module.py").write_text("def change(record):\n    return record\n")
    assert doctest.__file__
    with pytest.raises(MsptError) as caught:
        load_map(spec, base)
    assert caught.value.message.startswith(f"--map {spec}: {message}")
    assert hint in caught.value.hint
    assert not any(name.startswith("mspt_map_") and name[9:] in ("typo", "syntax", "missing", "leaves") for name in sys.modules)


# --- what enters the fingerprint ---------------------------------------------------------------------------------------


def test_identity_is_the_name_and_the_source(base):
    source = b"def change(record):\n    return 'a'\n"
    (base / "user.py").write_bytes(source)
    digest = hashlib.sha256(source).hexdigest()
    assert map_identity("user.py:change", base) == f"user.py:change sha256:{digest}"
    assert map_identity("user:change", base) == f"user:change sha256:{digest}"
    (base / "moved").mkdir()
    (base / "moved" / "user.py").write_bytes(source)
    assert map_identity(f"{base}/moved/user.py:change", Path("/")) == f"user.py:change sha256:{digest}"  # where it lies does not count
    (base / "user.py").write_bytes(source.replace(b"'a'", b"'b'"))
    assert map_identity("user.py:change", base) != f"user.py:change sha256:{digest}"


def test_identity_does_not_run_the_module(base):
    (base / "user.py").write_text("1 / 0\n")
    assert map_identity("user.py:change", base).startswith("user.py:change sha256:")


def test_what_runs_is_what_was_hashed_not_a_stale_pyc(base):
    first = load(base, "return 'a'")
    second = load(base, "return 'b'")  # the same size within the same second: a .pyc would still be valid
    assert (apply_map(first, RECORD), apply_map(second, RECORD)) == (Mapped(text="a"), Mapped(text="b"))
    assert first.sha256 != second.sha256


def test_it_crosses_process_borders_by_its_source(base):
    function = load(base, "return 'a'")
    sent = pickle.dumps(function)
    assert apply_map(pickle.loads(sent), RECORD) == Mapped(text="a")
    code = "import pickle, sys; from mspt.core.text.mapping import apply_map; print(apply_map(pickle.load(sys.stdin.buffer), {'text': ''}).text)"
    assert subprocess.run([sys.executable, "-c", code], input=sent, capture_output=True, check=True).stdout == b"a\n"
    load(base, "return 'b'")
    with pytest.raises(MsptError, match=r"user\.py was changed during the run"):
        pickle.loads(sent)


# --- docs/map.md -------------------------------------------------------------------------------------------------------


def test_the_page_does_what_it_says(base, monkeypatch):
    """Every `>>>` of docs/map.md, with the files that it shows under their names in the current folder."""
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    monkeypatch.chdir(base)
    shown = [block.split("```")[0] for block in page.split("```python\n# ")[1:]]
    for block in shown:
        name, source = block.split("\n", 1)
        (base / name).write_text(source, encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(page.replace("```", ""), {}, "map.md", "map.md", 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert (runner.failures, "".join(said)) == (0, "")
    assert (len(shown), runner.tries) >= (2, 10)


def test_the_page_lists_the_settings_of_clean():
    page = (ROOT / "docs" / "map.md").read_text(encoding="utf-8")
    listed = {name: default.strip("` ") for name, default in re.findall(r"^\| `--([a-z-]+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE)}
    specs = {spec.flag[2:]: spec for spec in field_specs(CleanConfig)}
    assert set(listed) == {"map", "group-by", "order-by", "window", "order-unit", "max-group-records"}
    assert [specs[name].default for name in listed] == ["", "", "", "", "s", 100_000]
    assert (listed["order-unit"], listed["max-group-records"]) == ("s", "100000")

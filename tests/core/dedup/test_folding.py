"""What counts as the same text."""

from __future__ import annotations

import re
import unicodedata

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from mspt.core.dedup.folding import batches, exact_hashes, fold, fold_text


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hello World", "hello  world\n"),
        ("ＡＢＣ１２３", "abc123"),
        ("你好，世界！", "你好,世界!"),
        ("中文 English 中文", "中文english中文"),
        ("第一行\n第二行", "第一行第二行"),
        ("soft\u00adhyphen\u200b", "softhyphen"),
        ("\ufeffBOM", "bom"),
        ("葛\U000e0100城", "葛城"),  # an ideographic variation selector
        ("ｱｲｳ", "アイウ"),
        ("\u3000indent", "indent"),
        ("K\u212a", "kk"),  # the Kelvin sign
        ("", " \n\t\u3000"),
    ],
)
def test_differences_that_do_not_count(one, other):
    assert fold_text(one) == fold_text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1+1", "1-1"), ("a b", "ab"), ("后", "後"), ("x", "x."), ("f(x)[0]", "f(x)(0)"), ("", "."), ("kg", "㎏"), ("no1", "no2")],
)
def test_differences_that_count(one, other):
    assert fold_text(one) != fold_text(other)


# Scripts that the regular expression below knows; assigned code points only, no folding to several.
ALPHABET = "aZéßЖжΩ١1_ \t\n\u3000\u00a0.,;!-+，。！「」中文字𠀀あアｱＡ１\u00ad\u200d\u200b\ufe0f\U0001f600한글ไท"


def folded_by_hand(text: str) -> str:
    """The docstring of folding.py by means of str methods and regular expressions."""
    out = "".join(c for c in text if unicodedata.category(c) != "Cf" and c != "\ufe0f")
    out = "".join(unicodedata.normalize("NFKC", c) for c in out)
    out = "".join(c.casefold() if len(c.casefold()) == 1 else c for c in out)
    out = re.sub(r"\s+", " ", out).strip(" ")
    close = "[\u3040-\u30fa\u30fc-\u30ff\u4e00-\u9fff\u0e00-\u0e7f\U00020000-\U0002ffff]"
    return re.sub(f"(?<={close}) | (?={close})", "", out)


@settings(max_examples=300, deadline=None)
@given(st.text(ALPHABET, max_size=40))
def test_kernel_equals_the_rules_written_with_regular_expressions(text):
    assert fold_text(text) == folded_by_hand(text)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=20), max_size=6))
def test_a_document_folds_alone_as_in_a_batch_and_twice_is_once(texts):
    folded = fold(pa.array(texts, pa.string()))
    alone = [fold_text(text) for text in texts]
    assert folded.lengths.tolist() == [len(text) for text in alone]
    assert [fold_text(text) for text in alone] == alone


def test_offsets_of_slices_nulls_and_both_string_types():
    texts = ["zero", None, "二", "", "three"]
    for kind in (pa.string(), pa.large_string()):
        assert fold(pa.array(texts, kind).slice(1, 3)).lengths.tolist() == [0, 1, 0]
    assert fold(pa.array([], pa.string())).lengths.tolist() == []
    with pytest.raises(TypeError):
        fold(pa.array([1, 2]))


def test_exact_hash_is_xxh3_of_the_folded_code_points():
    hashes = exact_hashes(fold(pa.array(["Ab", "ＡB", "ab!"])))
    codes = np.array([ord("a") | 2 << 24, ord("b") | 2 << 24], np.uint32)  # kind WORD is 2
    expected = xxhash.xxh3_128_intdigest(codes.tobytes())
    assert [int(hashes[0, 0]), int(hashes[0, 1])] == [expected >> 64, expected & (2**64 - 1)]
    assert hashes[0].tolist() == hashes[1].tolist() != hashes[2].tolist()


def test_batches_hold_all_rows_in_order_and_stay_small():
    texts = pa.chunked_array([["aa", "bbb", "c" * 50], [], ["d"] * 9])
    found = list(batches(texts, 5))
    assert [row for batch in found for row in batch.to_pylist()] == texts.to_pylist()
    assert max(sum(map(len, batch.to_pylist())) for batch in found if len(batch) > 1) <= 5

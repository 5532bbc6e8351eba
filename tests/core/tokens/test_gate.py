"""The gate counts characters without a piece of their own; unk cannot fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from mspt.core.errors import CheckFailed
from mspt.core.tokens import gate
from mspt.core.tokens.gate import HeldOutText
from mspt.core.tokens.pieces import is_byte_piece
from mspt.core.tokens.tokenizer import Ids, SentencePieceTokenizer, SpecialIds, Tokenizer, piece_surface
from mspt.core.tokens.training import TrainingSettings, train


class Letters(Tokenizer):
    """Pieces a, b, blank and the 256 bytes: everything else falls apart into bytes."""

    def __init__(self) -> None:
        pieces = ["<unk>", "</s>", "a", "b", "\u2581", *(f"<0x{i:02X}>" for i in range(256))]
        surfaces = [b"", b"", *(piece_surface(piece) for piece in pieces[2:])]
        super().__init__(pieces, SpecialIds(eos=1, prefix=1, unk=0), surfaces)

    def encode_batch(self, texts: Sequence[str]) -> list[Ids]:
        own = {"a": 2, "b": 3, " ": 4, "\u2581": 4}
        return [np.array([i for c in text for i in ([own[c]] if c in own else [5 + b for b in c.encode()])], dtype=np.int32) for text in texts]

    def decode(self, ids: Sequence[int] | Ids) -> str:
        return b"".join(self.surfaces[i] for i in ids).decode()


def test_counts_by_hand() -> None:
    held_out = [HeldOutText("web", "zh-Hans", "ab 中"), HeldOutText("web", "en", "aaa"), HeldOutText("book", "en", "b\n")]
    report = gate.measure(gate.Gauge(Letters()), held_out, ["en", "zh"])
    chinese = report.by_language()["zh-Hans"]
    # a, b, blank, and three bytes of 中
    assert (chinese.characters, chinese.without_piece, chinese.tokens, chinese.byte_pieces, chinese.num_bytes) == (4, 1, 6, 3, 6)
    web = report.by_source()["web"].report()
    assert (web["documents"], web["characters"], web["without_piece_ratio"], web["characters_per_token"]) == (2, 7, 1 / 7, 7 / 9)
    assert report.by_source()["book"].report()["bytes_per_token"] == 1.0
    assert all(total.unk == 0 for total in report.measures.values())
    assert [(v.language, v.judged, v.passed) for v in report.verdicts] == [("en", False, True), ("zh-Hans", False, True)]


@pytest.mark.parametrize(("strange", "passes"), [(100, True), (101, False)])
def test_the_limit_is_one_in_a_thousand_over_all_sources(strange: int, passes: bool) -> None:
    texts = [HeldOutText("one", "en", "a" * 60_000), HeldOutText("two", "en", "b" * (40_000 - strange) + "!" * strange)]
    report = gate.measure(gate.Gauge(Letters()), texts, ["en"])
    assert report.verdicts[0].judged
    assert report.passed is passes
    if passes:
        gate.check(report)
    else:
        with pytest.raises(CheckFailed, match=r"en: 0\.10% of 100,000 held-out characters have no piece"):
            gate.check(report)


def test_little_text_is_only_reported_and_other_languages_too() -> None:
    few = [HeldOutText("one", "en", "!" * 99_999), HeldOutText("one", "th", "!" * 200_000)]
    report = gate.measure(gate.Gauge(Letters()), few, ["en", "zh"])
    assert report.passed
    assert report.by_language()["th"].without_piece == 200_000
    gate.check(report)


def test_a_document_that_changes_fails() -> None:
    class Forgetful(Letters):
        def decode(self, ids: Sequence[int] | Ids) -> str:
            return super().decode(ids).replace("b", "")

    report = gate.measure(gate.Gauge(Forgetful()), [HeldOutText("one", "en", "ab"), HeldOutText("two", "en", "a")], ["en"])
    assert report.round_trip_losses == 1
    with pytest.raises(CheckFailed, match=r"1 held-out documents do not come back as they were \(sources: one\)"):
        gate.check(report)
    assert gate.measure(gate.Gauge(Letters()), [HeldOutText("one", "en", "a\u2581b")], ["en"]).round_trip_losses == 0


def test_chinese_alone_fails_on_english(read_texts: Callable[[str, int], list[str]]) -> None:
    """REQUIREMENTS: the usual limit on unk passes such a tokenizer."""
    proto = train(read_texts("zh_novels", 120), TrainingSettings(vocab_size=8000)).proto
    held_out = [HeldOutText("en_techdocs", "en", text) for text in read_texts("en_techdocs", 60)]
    report = gate.measure(gate.Gauge(SentencePieceTokenizer(proto, add_bos=False)), held_out, ["zh", "en"])
    assert report.by_language()["en"].unk == 0
    with pytest.raises(CheckFailed, match=r"^en: "):
        gate.check(report)


def test_byte_pieces_are_no_pieces_of_their_own() -> None:
    assert is_byte_piece("<0x41>")
    report = gate.measure(gate.Gauge(Letters()), [HeldOutText("one", "en", "A")], ["en"])  # one byte, and a byte piece for it
    assert report.by_language()["en"].without_piece == 1

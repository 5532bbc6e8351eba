"""Where long documents are cut."""

from __future__ import annotations

import numpy as np

from mspt.core.tokens.cutting import PARAGRAPH, SENTENCE, break_levels, cut_length

SURFACES = [b"word", b" word", b".", "。".encode(), "。”".encode(), b"\n", b" x\n\n  ", b"\n def", b"?!", b"3.14", b"", "；".encode(), "，".encode(), b".\n"]


def test_what_ends_a_sentence_or_paragraph() -> None:
    assert break_levels(SURFACES).tolist() == [0, 0, 1, 1, 1, 2, 2, 0, 1, 0, 0, 1, 0, 2]


def test_a_paragraph_near_the_end_wins_over_a_later_sentence() -> None:
    levels = np.array([0, SENTENCE, PARAGRAPH], np.uint8)
    tokens = np.zeros(64, np.int64)
    assert cut_length(tokens, levels, 64) == 64  # nothing ends there: the end of the row
    tokens[63] = 1
    assert cut_length(tokens, levels, 64) == 64
    tokens[63], tokens[62] = 0, 1
    assert cut_length(tokens, levels, 64) == 63
    tokens[40] = 2  # too far away: the window is two tokens
    assert cut_length(tokens, levels, 64) == 63
    wide = np.zeros(640, np.int64)
    wide[[625, 635]] = 2, 1
    assert cut_length(wide, levels, 640) == 626


def test_a_row_too_short_for_a_window_is_cut_at_its_end() -> None:
    assert cut_length(np.ones(16, np.int64), np.array([0, 2], np.uint8), 16) == 16

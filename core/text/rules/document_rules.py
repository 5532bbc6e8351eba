"""Rules that say whether a document is worth keeping: what is measured, the value that decided and its limit.

Every rule stands in one table, RULES: its measure, the forms that it judges, its limits in the two profiles, and where the limits come from. Measures
follow the script: characters for Han and kana, words for alphabets, each by its mass where a text mixes them (measures.py); limits follow the language
that the text was found to be in. Code is judged by rules of its own (code_rules.py), and code blocks inside prose are not judged as prose.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Literal

from mspt.core.errors import MsptError
from mspt.core.text.normal.pdf_text import MIN_ONE_CHARACTER, one_character_lines
from mspt.core.text.rules import code_rules, measures
from mspt.core.text.rules.measures import NOWHERE, Place, Sample

Kind = Literal["zh", "en", "other", "code"]
KINDS: tuple[Kind, ...] = ("zh", "en", "other", "code")
CHINESE = ("zh", "yue", "lzh")  # first parts of language tags

PROSE = frozenset({"prose"})
WRITTEN = PROSE | {"verse"}
READABLE = WRITTEN | {"markup", "table"}
CODE = frozenset({"code"})
ALL = READABLE | CODE


@dataclass(frozen=True)
class Verdict:
    """What `judge` found. keep=True: rule is "" and value, threshold are 0. start, end: the part that shows it, in code points."""

    keep: bool
    rule: str = ""
    value: float = 0.0
    threshold: float = 0.0
    detail: str = ""
    start: int = 0
    end: int = 0


KEEP = Verdict(True)


@dataclass(frozen=True)
class Limits:
    """The limit of a rule for Chinese, English, other languages, and code; None: not judged."""

    zh: float | None = None
    en: float | None = None
    other: float | None = None
    code: float | None = None


def same(limit: float) -> Limits:
    """One limit for all."""
    return Limits(limit, limit, limit, limit)


def prose(limit: float) -> Limits:
    """One limit for all languages, none for code."""
    return Limits(limit, limit, limit)


def code(limit: float) -> Limits:
    """A limit for code."""
    return Limits(code=limit)


OFF = Limits()


@dataclass(frozen=True)
class Rule:
    """One row of the table. bound: a document is rejected when the value is below ("min") or above ("max") the limit; a measure that says None does not
    apply to the document. show: where the value comes from. most: what the value does not exceed, where that is found sooner: where it is within the limit,
    nobody measures."""

    name: str
    bound: Literal["min", "max"]
    forms: frozenset[str]
    measure: Callable[[Sample], float | None]
    default: Limits
    strict: Limits
    source: str
    show: Callable[[Sample], Place] = lambda _: NOWHERE
    most: Callable[[Sample], float] | None = None


def _one_character_lines(sample: Sample) -> float:
    return one_character_lines(sample.text)


# Sources. Gopher: Rae et al. 2021, table A1 and A.1.1. C4: Raffel et al. 2020, 2.2, and its code (tensorflow_datasets, c4_utils). FineWeb: Penedo et al. 2024,
# 3.6. FineWeb-2: Penedo et al. 2025, configs/cmn_Hani.yml of huggingface/fineweb-2, whose words are jieba's. Codex: Chen et al. 2021, 3.1. StarCoder2: Lozhkov
# et al. 2024. They stand in the strict column. The default column has them where they cost at most 1 % of every sound set of ../shared/data (zh_novels,
# zh_wiki_*, zh_techdocs, en_public_domain, en_wikitext2, en_techdocs), else a limit just beyond the sets' ("measured"): the strict column
# rejects 28 % of zh_techdocs and 35 % of en_techdocs. bench/rules.py prints what either rejects.
N_GRAMS = "FineWeb-2; Gopher; measured: at most .62 of 5-grams, .51 of 10-grams"


def _n_grams(name: str, n: int, default: Limits, strict: Limits) -> Rule:
    return Rule(name, "max", WRITTEN, measures.n_gram(n), default, strict, N_GRAMS, measures.show_n_gram(n), measures.most_of_n_gram(n))


# fmt: off
RULES: tuple[Rule, ...] = (
    # Any form. Characters, blanks and links aside.
    Rule("too-short", "min", ALL, measures.length, same(20), same(20), "a quatrain of zh_poetry has 20; Gopher's 50 words are of web pages"),
    Rule("replacement", "max", ALL, measures.replacement, same(0.01), same(0.001), "U+FFFD: decoding that lost more was wrong", measures.show_replacement),
    Rule("private-use", "max", ALL, measures.private_use, same(0.05), same(0.02), "an icon font, or a lost one; zh_novels has at most .018"),
    # What is meant to be read.
    Rule("lorem-ipsum", "max", READABLE, measures.filler, same(0.5), same(0), "C4 rejects any; texts about it quote it", measures.show_filler),
    Rule("long-token", "max", READABLE, measures.long_token, same(1000), same(1000), "C4's code drops lines with longer words", measures.show_token),
    Rule("digits", "max", WRITTEN, measures.digits, prose(0.35), prose(0.25), "measured: at most .32; strict: .223 in 99 % of zh_wiki_hans"),
    Rule("symbols", "max", WRITTEN, measures.symbols, prose(0.3), prose(0.15), "measured: at most .26; strict: .11 in 99 % of zh_techdocs"),
    Rule("few-letters", "min", WRITTEN, measures.letters, prose(0.4), prose(0.6), "measured: at least .41; Gopher: 80 % of the words hold a letter"),
    Rule("one-character-lines", "max", WRITTEN, _one_character_lines, OFF, OFF, "vertical writing and specks; --profile ocr sets .3 (OF_OCR)"),
    # Prose: length, words, marks.
    Rule("few-words", "min", PROSE, measures.num_words, OFF, prose(50), "Gopher"),
    Rule("few-sentences", "min", PROSE, measures.num_sentences, OFF, prose(3), "C4"),
    Rule("short-words", "min", PROSE, measures.word_length, Limits(3, 3), Limits(3, 3), "Gopher"),
    Rule("long-words", "max", PROSE, measures.word_length, Limits(10, 10), Limits(10, 10), "Gopher"),
    Rule("hashes", "max", PROSE, measures.hashes, prose(0.2), prose(0.1), "Gopher; measured: at most .18, in headings of Markdown"),
    Rule("ellipses", "max", PROSE, measures.ellipses, prose(0.1), prose(0.1), "Gopher"),
    # Prose: lines.
    Rule("few-sentence-ends", "min", PROSE, measures.sentence_ends, OFF, Limits(0.106, 0.12, 0.12), "FineWeb-2; FineWeb"),
    Rule("link-lines", "max", PROSE, measures.link_lines, prose(0.8), prose(0.5), "measured: .35 in 99 % of en_techdocs"),
    Rule("short-lines", "max", PROSE, measures.short_lines, prose(0.94), prose(0.67), "FineWeb; measured: at most .913 in zh_techdocs, .936 in a table"),
    Rule("lines-per-word", "max", PROSE, measures.lines_per_word, prose(0.9), Limits(0.178, 0.3, 0.3), "FineWeb-2; FineWeb; measured: at most .62"),
    Rule("bullets", "max", PROSE, measures.bullets, OFF, prose(0.9), "Gopher; references of functions are lists throughout"),
    Rule("ellipsis-lines", "max", PROSE, measures.ellipsis_lines, prose(0.3), prose(0.3), "Gopher"),
    # Repetition.
    Rule("repeated-lines", "max", PROSE, measures.repeated_lines, prose(0.5), Limits(0.287, 0.3, 0.3), "FineWeb-2; Gopher; measured", measures.show_line),
    Rule("repeated-line-characters", "max", WRITTEN, measures.line_characters, prose(0.5), prose(0.2), "Gopher; measured", measures.show_line),
    Rule("repeated-paragraphs", "max", PROSE, measures.repeated_paragraphs, prose(0.5), prose(0.3), "Gopher; measured", measures.show_paragraph),
    Rule("repeated-paragraph-characters", "max", WRITTEN, measures.paragraph_characters, prose(0.5), prose(0.2), "Gopher; measured", measures.show_paragraph),
    _n_grams("top-2-gram", 2, prose(0.45), Limits(0.256, 0.2, 0.2)),
    _n_grams("top-3-gram", 3, prose(0.43), Limits(0.201, 0.18, 0.18)),
    _n_grams("top-4-gram", 4, prose(0.4), Limits(0.171, 0.16, 0.16)),
    _n_grams("repeated-5-grams", 5, Limits(0.57, 0.64, 0.64), Limits(0.198, 0.15, 0.15)),
    _n_grams("repeated-6-grams", 6, Limits(0.55, 0.61, 0.61), Limits(0.182, 0.14, 0.14)),
    _n_grams("repeated-7-grams", 7, Limits(0.53, 0.58, 0.58), Limits(0.167, 0.13, 0.13)),
    _n_grams("repeated-8-grams", 8, Limits(0.52, 0.56, 0.56), Limits(0.154, 0.12, 0.12)),
    _n_grams("repeated-9-grams", 9, Limits(0.51, 0.54, 0.54), Limits(0.14, 0.11, 0.11)),
    _n_grams("repeated-10-grams", 10, Limits(0.5, 0.52, 0.52), Limits(0.127, 0.1, 0.1)),
    # Prose without sentences: names, goods, key words.
    Rule("few-stop-words", "min", PROSE, measures.stop_words, Limits(0.02, 0.03), Limits(0.05, 0.15), "measured: .04 in 99 %; Gopher: two of eight words"),
    # Code.
    Rule("notebook", "max", CODE, code_rules.notebook, code(0), code(0), "a notebook as JSON: outputs and images"),
    Rule("generated", "max", CODE, code_rules.generated, code(0), code(0), "StarCoder2: files that say so in their head", code_rules.show_generated),
    Rule("vendored", "max", CODE, code_rules.vendored, code(0), code(0), "after the paths of GitHub's linguist", code_rules.show_vendored),
    Rule("data-like", "max", CODE, code_rules.data, code(0.5), code(0.25), "StarCoder2; strict: half of it", code_rules.show_data),
    Rule("minified", "max", CODE, code_rules.line_length, code(100), code(100), "Codex: mean line length"),
    Rule("longest-line", "max", CODE, code_rules.longest_line, OFF, code(1000), "Codex", code_rules.show_longest_line),
    Rule("few-alphanumerics", "min", CODE, code_rules.alphanumeric, code(0.25), code(0.25), "StarCoder2"),
)
# fmt: on
OF_OCR: Mapping[str, float | None] = MappingProxyType({"one-character-lines": MIN_ONE_CHARACTER})  # limits of --profile ocr
BY_NAME: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in RULES})


@dataclass(frozen=True)
class Profile:
    """Which limits count: those of the default or the strict column, and changes to them, sorted (rule, kind, limit); None turns a rule off."""

    name: Literal["default", "strict"] = "default"
    changes: tuple[tuple[str, Kind, float | None], ...] = ()

    def limit(self, rule: Rule, kind: Kind) -> float | None:
        """The limit of `rule` for texts of `kind`."""
        for name, changed, limit in self.changes:
            if (name, changed) == (rule.name, kind):
                return limit
        limits = rule.default if self.name == "default" else rule.strict
        found: float | None = getattr(limits, kind)
        return found

    def changed(self, limits: Mapping[str, float | None]) -> Profile:
        """With other limits, by "rule" (for all kinds) or "rule.kind". Raises MsptError for a name that is none."""
        changes = {(name, kind): limit for name, kind, limit in self.changes}
        for key in sorted(limits, key=lambda key: (key.count("."), key)):  # the special ones last
            name, _, kind = key.partition(".")
            _check_name(key, name, kind)
            changes.update({(name, one): limits[key] for one in KINDS if kind in ("", one)})
        return Profile(self.name, tuple((name, kind, limit) for (name, kind), limit in sorted(changes.items())))


def _check_name(key: str, name: str, kind: str) -> None:
    if name not in BY_NAME:
        close = difflib.get_close_matches(name, BY_NAME, 1)
        raise MsptError(f"there is no rule {name!r}", f"did you mean {close[0]!r}?" if close else f"the rules are {', '.join(BY_NAME)}")
    if kind and kind not in KINDS:
        raise MsptError(f"{key!r} names no kind of text", f"say {name} for all, or one of {', '.join(f'{name}.{one}' for one in KINDS)}")


DEFAULT, STRICT = Profile("default"), Profile("strict")
PROFILES: Mapping[str, Profile] = MappingProxyType({"default": DEFAULT, "strict": STRICT})


def judge(
    text: str,
    *,
    form: str = "prose",
    language: str = "",
    private_use: int = 0,
    name: str = "",
    profile: Profile = DEFAULT,
) -> Verdict:
    """The first rule, in the order of RULES, that `text` breaks; KEEP when it breaks none.

    Judge normalised text with the lines of line_rules.py cut. form: of form.py; language: a BCP 47 tag, "" when nobody asked (then the letters say);
    private_use: how many private-use characters normalisation removed, which says that a font is missing; name: the file's path, for vendored code.
    """
    sample = Sample(text, form=form, private_use=private_use, name=name)
    for measure, is_least, limit, rule in _asked(profile, form, kind_of(sample, form, language)):
        if rule.most is not None and rule.most(sample) <= limit:
            continue
        value = measure(sample)
        if value is not None and (value < limit if is_least else value > limit):
            return Verdict(False, rule.name, value, limit, *rule.show(sample))
    return KEEP


def measure(text: str, *, form: str = "prose", private_use: int = 0, name: str = "") -> dict[str, float]:
    """The value of every rule that judges `form` and applies to `text`, by rule name: what limits are set by."""
    sample = Sample(text, form=form, private_use=private_use, name=name)
    found = {rule.name: rule.measure(sample) for rule in RULES if form in rule.forms}
    return {name: value for name, value in found.items() if value is not None}


def kind_of(sample: Sample, form: str, language: str) -> Kind:
    """Whose limits count. Without a language: Chinese where most units are Han characters and few are kana, else other."""
    if form == "code":
        return "code"
    if not language:
        return "zh" if sample.is_chinese else "other"
    first = language.partition("-")[0]
    return "zh" if first in CHINESE else "en" if first == "en" else "other"


@cache
def _asked(profile: Profile, form: str, kind: Kind) -> tuple[tuple[Callable[[Sample], float | None], bool, float, Rule], ...]:
    """The rules that judge such texts: measure, whether the limit is the least value, limit, rule."""
    limits = ((rule, profile.limit(rule, kind)) for rule in RULES if form in rule.forms)
    return tuple((rule.measure, rule.bound == "min", limit, rule) for rule, limit in limits if limit is not None)

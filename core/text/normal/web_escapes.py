"""Escape residues of the web: entities (AT&amp;T, &amp;amp;nbsp;, &#8217;) and percent signs (%E4%B8%AD) in text that is neither HTML nor an address.

As with backslashes (escapes.py) they are undone where the whole document shows the habit: no ampersand is bare, nothing beyond ASCII is written out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from html.entities import html5
from urllib.parse import quote

from mspt.core.text.form import HEAD_CHARACTERS
from mspt.core.text.markdown import is_markdown
from mspt.core.text.normal.document import Document
from mspt.core.text.normal.escapes import FORMS, MAIN_SHARE, MANY_ESCAPES, MAX_BARE, SOLE_SHARE, UNSAFE, bare, is_about_escapes
from mspt.core.text.normal.verbatim import Regions, verbatim
from mspt.core.text.octet_entities import octet_entities
from mspt.core.text.spans import Edit

MIN_ESCAPES = 3
MAX_NAMED = 0.2  # of the entities that stand between quotes or brackets, as one does that is named
MAX_OTHER = 0.1  # other ampersands, or percent signs, for each escape

AMPERSAND = r"(?:amp|AMP|#0{0,4}38|#[xX]0{0,4}26);"
ENTITY = re.compile(
    rf"&(?:(?:{AMPERSAND})*+(?P<name>#[0-9]{{1,7}};|#[xX][0-9a-fA-F]{{1,6}};|[A-Za-z][A-Za-z0-9]{{1,31}};|nbsp(?![A-Za-z0-9;=]))|(?:{AMPERSAND})++)"
)
AMPERSANDS = re.compile(f"&{AMPERSAND}")
NAMED_BEFORE = re.compile(r"[\"'“‘「『`(\[{（【《]")
NAMED_AFTER = re.compile(r"[\"'”’」』`)\]}）】》]")
FORMING = re.compile("[#;]")  # with one of these behind an ampersand a new entity could arise

PERCENTS = re.compile(r"%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*+")
ADDRESS_BEFORE, ADDRESS_AFTER = re.compile(r"[\w/=&?#.~+-]", re.ASCII), re.compile(r"[\w/=&?#~+-]", re.ASCII)


def entities(document: Document) -> list[Edit]:
    """Named and numeric entities undone, however often their ampersand was escaped. Idempotent."""
    text = document.text
    if document.form not in FORMS:
        return []
    if octets := octet_entities(text):
        return octets if is_plain(document) else []
    anywhere = [Edit(*match.span(), written) for match in ENTITY.finditer(text) if (written := _entity(match))]
    if len(anywhere) < MIN_ESCAPES or is_marked_down(document):
        return []
    regions = verbatim(document, addresses=True)
    known = [one for one in anywhere if not regions.touch(one.start, one.end)]
    others = sum(1 for _ in _outside(re.compile("&"), text, regions)) - len(known)
    edits = [one for one in known if text[one.start : one.end] != one.replacement]
    named = sum(1 for one in edits if NAMED_BEFORE.match(text, max(0, one.start - 1)) and NAMED_AFTER.match(text, one.end))
    is_habit = len(edits) >= MIN_ESCAPES and others <= MAX_OTHER * len(edits) and named <= MAX_NAMED * len(edits)
    return edits if is_habit and is_plain(document) else []


def percents(document: Document) -> list[Edit]:
    """Percent-encoded UTF-8 in prose undone; what looks like a part of an address stays. Idempotent."""
    text = document.text
    if text.count("%") < 2 * MIN_ESCAPES or document.form not in FORMS or not _may_be_encoded(text):
        return []
    regions = verbatim(document, addresses=True)
    runs = [match.span() for match in _outside(PERCENTS, text, regions)]
    share = sum(end - start for start, end in runs) / len(text)
    edits = [Edit(start, end, new) for start, end in runs if (share >= SOLE_SHARE or not _is_address(text, start, end)) and (new := _octets(text[start:end]))]
    characters = "".join(one.replacement for one in edits if not one.replacement.isascii())
    escaped = sum((one.end - one.start) // 3 for one in edits)
    others = sum(1 for _ in _outside(re.compile("%"), text, regions)) - escaped
    is_habit = sum(not one.replacement.isascii() for one in edits) >= MIN_ESCAPES or (edits and share >= SOLE_SHARE)
    is_instead = others <= MAX_OTHER * escaped and bare(text, characters) <= MAX_BARE * len(characters)
    is_main = share >= SOLE_SHARE or (share >= MAIN_SHARE and len(characters) >= MANY_ESCAPES)
    return edits if is_habit and is_instead and (is_main or not is_about_escapes(text)) else []


@lru_cache(maxsize=2)  # several steps ask
def is_marked_down(document: Document) -> bool:
    """Whether a document is Markdown."""
    return is_markdown(document.text[:HEAD_CHARACTERS].encode("utf-8", "replace"))


def _may_be_encoded(text: str) -> bool:
    """Whether there are runs enough outside addresses, or hardly anything else."""
    runs = [match.span() for match in PERCENTS.finditer(text)]
    loose = sum(1 for start, end in runs if not _is_address(text, start, end) and not _octets(text[start:end]).isascii())
    return loose >= MIN_ESCAPES or sum(end - start for start, end in runs) >= SOLE_SHARE * len(text)


def is_plain(document: Document) -> bool:
    """Whether prose is plain text, in which entities and tags have no meaning: no Markdown, and nothing about HTML and its kin."""
    return not is_marked_down(document) and not is_about_escapes(document.text)


def _outside(pattern: re.Pattern[str], text: str, regions: Regions) -> Iterator[re.Match[str]]:
    return (match for match in pattern.finditer(text) if not regions.touch(*match.span()))


def _entity(match: re.Match[str]) -> str:
    """What an entity stands for, or the entity without the ampersands that were escaped where that is not safe to write; "" where it is none."""
    name = match["name"]
    if name is None:
        return "&"
    character = html.unescape("&" + name) if name.startswith("#") else html5.get(name, "")
    if not character:
        return "&" + name if AMPERSANDS.match(match[0]) else ""
    return "&" + name if character == "\ufffd" or UNSAFE.search(character) or FORMING.search(character) else character


def _is_address(text: str, start: int, end: int) -> bool:
    return bool((start and ADDRESS_BEFORE.match(text, start - 1)) or ADDRESS_AFTER.match(text, end))


def _octets(run: str) -> str:
    """The characters of a run of percent-encoded UTF-8, less those that nobody need encode; "" where it is none."""
    try:
        characters = bytes.fromhex(run.replace("%", "")).decode("utf-8")
    except UnicodeDecodeError:
        return ""
    read = "".join(quote(one, safe="") if one == "%" or UNSAFE.match(one) else one for one in characters)
    return "" if read.upper() == run.upper() else read

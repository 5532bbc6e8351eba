"""Line rules for what a page's template leaves in the main text: editors, counters, share prompts, notices of rights, boxes of other stories.

The rules are data: leftovers.toml beside this file says what they may hold. A rule judges one line by its shape and length, never by its place
in one site's pages, and asks for the form of a label (`责任编辑：`, a date and nothing else), so that sentences which mention the words stay.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from mspt.core.errors import MsptError
from mspt.core.text.html.blocks import count_units
from mspt.core.text.html.pattern_check import ends_in_time

SHIPPED = Path(__file__).with_name("leftovers.toml")
ANY, EDGES, START = "any", "edges", "start"
LINKS, REST = "links", "rest"
LEAD = re.compile(r"(?:[^\w©(&#]|\((?!c\)))*")  # brackets, bullets and blanks before a line's first letter; "(c)" stays
TRAIL = "。」』】》〕〉）)]} \t\u3000"
MAX_TAIL = 60  # characters


class Removed(NamedTuple):
    """A part that was cut out of the main text: by which rule, what it said, and where it would stand in the text, in code points."""

    rule: str
    text: str
    position: int


@dataclass(frozen=True)
class LineRule:
    """A [[line]] of the data file."""

    name: str
    max_units: int
    where: str
    section: str
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class TailRule:
    """A [[tail]] of the data file."""

    name: str
    pattern: re.Pattern[str]


Rule = TypeVar("Rule", LineRule, TailRule)


@dataclass(frozen=True)
class Rules:
    """What to leave out. `lines` are asked in order; the first that matches and may act where the line stands gives its name."""

    lines: tuple[LineRule, ...]
    tails: tuple[TailRule, ...]

    @cached_property
    def _by_length(self) -> tuple[list[int], list[re.Pattern[str]]]:
        """Limits of length, ascending, and for each one expression for all rules that lines up to it can fall under."""
        limits = sorted({rule.max_units for rule in self.lines})
        return limits, [re.compile("|".join(rule.pattern.pattern for rule in self.lines if rule.max_units >= limit)) for limit in limits]

    def matches(self, text: str) -> tuple[LineRule, ...]:
        """The rules that a line falls under."""
        units = count_units(text)
        limits, expressions = self._by_length
        place = bisect_left(limits, units)
        if place == len(limits):
            return ()
        line = text.rstrip(TRAIL).lower()
        lead = LEAD.match(line)
        start = lead.end() if lead and lead.end() < len(line) else 0
        if not expressions[place].match(line, start):
            return ()
        return tuple(rule for rule in self.lines if units <= rule.max_units and rule.pattern.match(line, start))

    def tail(self, text: str) -> tuple[TailRule, int] | None:
        """The rule that the end of a paragraph falls under, and where that end begins."""
        offset = max(0, len(text) - MAX_TAIL)
        for rule in self.tails:
            if (found := rule.pattern.search(text, offset)) and found.start() > 0:
                return rule, found.start()
        return None


NO_RULES = Rules((), ())


@lru_cache(maxsize=8)
def load_rules(*extensions: Path) -> Rules:
    """The shipped rules and those of further files; rules of a kind and name replace those of an earlier file.

    Raises MsptError for a file that does not read as rules.
    """
    lines: dict[str, list[LineRule]] = {}
    tails: dict[str, list[TailRule]] = {}
    for path in (SHIPPED, *extensions):
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
            if others := sorted(data.keys() - {"line", "tail"}):
                raise ValueError(f"there is no [[{others[0]}]], only [[line]] and [[tail]]")
            found = [_line_rule(entry) for entry in data.get("line", [])], [_tail_rule(entry) for entry in data.get("tail", [])]
            if path != SHIPPED:
                _check_time(chain(*found))
            lines |= _by_name(found[0])
            tails |= _by_name(found[1])
        except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error) as error:
            missing = f"a rule lacks {error}" if isinstance(error, KeyError) else str(error)
            raise MsptError(f"{path}: no rules for leftovers: {missing}", f"the form of a rule stands at the top of {SHIPPED}") from error
    return Rules(tuple(chain.from_iterable(lines.values())), tuple(chain.from_iterable(tails.values())))


def _check_time(rules: Iterable[LineRule | TailRule]) -> None:
    for rule in rules:
        if not ends_in_time(rule.pattern):
            raise ValueError(f"{rule.name}: its pattern does not end on a line of some hundred letters; write a+ for (a+)+, [ab]* for (a|b|ab)*")


def _by_name(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    found: dict[str, list[Rule]] = {}
    for rule in rules:
        found.setdefault(rule.name, []).append(rule)
    return found


def _line_rule(entry: dict[str, Any]) -> LineRule:
    where = entry.get("where", ANY)
    if where not in (ANY, EDGES, START):
        raise ValueError(f'{entry["name"]}: where is "{ANY}", "{EDGES}" or "{START}", not {where!r}')
    section = entry.get("section", "")
    if section not in ("", LINKS, REST):
        raise ValueError(f'{entry["name"]}: section is "{LINKS}" or "{REST}", not {section!r}')
    if entry["max_units"] < 0:
        raise ValueError(f"{entry['name']}: max_units = {entry['max_units']}")
    return LineRule(_name(entry), int(entry["max_units"]), where, section, _either(entry["patterns"]))


def _tail_rule(entry: dict[str, Any]) -> TailRule:
    return TailRule(_name(entry), re.compile(_either(entry["patterns"]).pattern, re.IGNORECASE))


def _name(entry: dict[str, Any]) -> str:
    if not isinstance(entry["name"], str) or not entry["name"].strip():
        raise ValueError(f"name = {entry['name']!r}: a rule has a name")
    return entry["name"]


def _either(patterns: Any) -> re.Pattern[str]:
    if not isinstance(patterns, list) or not patterns or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise ValueError(f"patterns = {patterns!r}: a list of regular expressions")
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))

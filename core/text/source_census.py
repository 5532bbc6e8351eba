"""What a source is made of: files and bytes by detected type and by encoding, and how many of its lines are bad."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """files: leaves, those inside containers included; bytes: after decompression."""

    files: int = 0
    bytes: int = 0

    def add(self, files: int, size: int) -> None:
        self.files += files
        self.bytes += size


@dataclass
class SourceCensus:
    """Of one source, or of the part of it that one worker reads; parts are put together with `merge`.

    lines: of JSONL and decoded text; bad_lines: no JSON object, too long, or with undecodable bytes.
    """

    types: dict[str, Tally] = field(default_factory=dict)
    encodings: dict[str, Tally] = field(default_factory=dict)
    lines: int = 0
    bad_lines: int = 0

    def count_file(self, type_name: str, size: int) -> None:
        """One leaf."""
        self.types.setdefault(type_name, Tally()).add(1, size)

    def count_encoding(self, encoding: str, files: int, size: int) -> None:
        """The bytes of one record, and whether a file begins with it."""
        self.encodings.setdefault(encoding, Tally()).add(files, size)

    def count_lines(self, lines: int, bad: int) -> None:
        self.lines += lines
        self.bad_lines += bad

    def merge(self, other: SourceCensus) -> None:
        for mine, theirs in ((self.types, other.types), (self.encodings, other.encodings)):
            for name, tally in theirs.items():
                mine.setdefault(name, Tally()).add(tally.files, tally.bytes)
        self.count_lines(other.lines, other.bad_lines)

    @property
    def bad_line_ratio(self) -> float:
        return self.bad_lines / max(1, self.lines)

    def plain(self) -> dict[str, Any]:
        """As JSON-able values, largest types and encodings first."""
        return {
            "types": _plain_tallies(self.types),
            "encodings": _plain_tallies(self.encodings),
            "lines": self.lines,
            "bad_lines": self.bad_lines,
            "bad_line_ratio": self.bad_line_ratio,
        }

    @staticmethod
    def of_plain(value: Mapping[str, Any]) -> SourceCensus:
        """What `plain` gave."""
        types, encodings = ({name: Tally(**tally) for name, tally in value[key].items()} for key in ("types", "encodings"))
        return SourceCensus(types, encodings, value["lines"], value["bad_lines"])


def _plain_tallies(tallies: Mapping[str, Tally]) -> dict[str, dict[str, int]]:
    ordered: Iterable[tuple[str, Tally]] = sorted(tallies.items(), key=lambda item: (-item[1].bytes, item[0]))
    return {name: {"files": tally.files, "bytes": tally.bytes} for name, tally in ordered}

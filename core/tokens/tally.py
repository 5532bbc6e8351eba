"""What a tokenised corpus came to: tokens by source and language, and how long its documents are. Tallies of parts add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

UNKNOWN = "und"  # BCP 47: no language is known


@dataclass
class Tally:
    """`groups`: (source, language) -> [documents, tokens, bytes]; `lengths`: k -> [documents, tokens] of the documents of 2^(k-1) + 1 to 2^k tokens."""

    groups: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    lengths: dict[int, list[int]] = field(default_factory=dict)
    longest: int = 0
    without_text: int = 0
    seconds: float = 0.0

    def add(self, source: str, languages: Sequence[str | None], num_tokens: npt.NDArray[np.int64], num_bytes: npt.NDArray[np.int64]) -> None:
        """Some documents of one source; tokens count the end of each document."""
        if not len(num_tokens):
            return
        names = np.array([language or UNKNOWN for language in languages])
        for language in np.unique(names):
            mine = names == language
            _add_to(self.groups, (source, str(language)), [int(mine.sum()), int(num_tokens[mine].sum()), int(num_bytes[mine].sum())])
        buckets = np.ceil(np.log2(np.maximum(num_tokens, 1))).astype(np.int64)
        for bucket in np.unique(buckets):
            mine = buckets == bucket
            _add_to(self.lengths, int(bucket), [int(mine.sum()), int(num_tokens[mine].sum())])
        self.longest = max(self.longest, int(num_tokens.max()))
        self.without_text += int((num_bytes == 0).sum())

    def plain(self) -> dict[str, Any]:
        """JSON for the record of a unit."""
        groups = [[*key, *values] for key, values in sorted(self.groups.items())]
        lengths = [[key, *values] for key, values in sorted(self.lengths.items())]
        return {"groups": groups, "lengths": lengths, "longest": self.longest, "without_text": self.without_text, "seconds": self.seconds}

    @classmethod
    def total(cls, parts: Iterable[Mapping[str, Any]]) -> Tally:
        """The sum of what `plain` gave."""
        whole = cls()
        for part in parts:
            for source, language, *values in part["groups"]:
                _add_to(whole.groups, (source, language), values)
            for bucket, *values in part["lengths"]:
                _add_to(whole.lengths, bucket, values)
            whole.longest = max(whole.longest, part["longest"])
            whole.without_text += part["without_text"]
            whole.seconds += part["seconds"]
        return whole

    @property
    def documents(self) -> int:
        return sum(values[0] for values in self.groups.values())

    @property
    def tokens(self) -> int:
        return sum(values[1] for values in self.groups.values())

    def report(self) -> dict[str, Any]:
        """For `mspt show`. Seconds are those of the workers, reading and writing included: resuming does not change what they mean."""
        num_bytes = sum(values[2] for values in self.groups.values())
        return {
            "tokens": self.tokens,
            "documents": self.documents,
            "bytes": num_bytes,
            "bytes_per_token": _ratio(num_bytes, self.tokens),
            "longest_document_tokens": self.longest,
            "documents_without_text": self.without_text,
            "tokens_per_worker_second": round(self.tokens / self.seconds) if self.seconds else 0,
            "sources": self._grouped(0),
            "languages": self._grouped(1),
            "tokens_by_document_length": {
                length_name(bucket): {"documents": documents, "tokens": tokens, "token_share": _ratio(tokens, self.tokens)}
                for bucket, (documents, tokens) in sorted(self.lengths.items())
            },
        }

    def _grouped(self, part: int) -> dict[str, Any]:
        found: dict[str, list[int]] = {}
        for key, values in sorted(self.groups.items()):
            _add_to(found, key[part], values)
        return {
            name: {"documents": documents, "tokens": tokens, "token_share": _ratio(tokens, self.tokens), "bytes": size, "bytes_per_token": _ratio(size, tokens)}
            for name, (documents, tokens, size) in sorted(found.items(), key=lambda item: (-item[1][1], item[0]))
        }


def length_name(bucket: int) -> str:
    """What a bucket of `Tally.lengths` holds, in tokens."""
    low, high = 2 ** (bucket - 1) + 1 if bucket else 1, 2**bucket
    return f"{low:,} to {high:,}" if low < high else f"{high:,}"


def _add_to(counts: dict[Any, list[int]], key: Any, values: Sequence[int]) -> None:
    before = counts.get(key, [0] * len(values))
    counts[key] = [a + b for a, b in zip(before, values, strict=True)]


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0

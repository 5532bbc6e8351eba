"""The domain of a text, by a fastText classifier over the tokens of features.py: characters of Han, words, marks, layout; rare words by their shapes.

| domain        | what                                             |
|---------------|--------------------------------------------------|
| news          | reports of what happened                         |
| code          | programs                                         |
| encyclopaedia | articles that say what something is              |
| forum         | questions, answers and talk among people         |
| literature    | stories, novels, essays, verse                   |
| documentation | manuals, references, guides to software          |
| other         | anything else, and what the model is not sure of |

A model is two files: `domains.bin` (fastText's format, vocabulary in its dictionary) and `domains.json` (how texts become tokens, which domains it knows, from
which probability on it is believed, and how it did on documents held out).
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fasttext
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from mspt.core.errors import InputError, MsptError
from mspt.core.quality.classifier import Classifier
from mspt.core.quality.features import Vocabulary, count_tokens, most_frequent, read_tokens, token_lines, windows
from mspt.core.quality.label_files import read_rows
from mspt.core.quality.labels import check_texts

DOMAINS = ("news", "code", "encyclopaedia", "forum", "literature", "documentation", "other")
OTHER = "other"
STEM = "domains"
MODEL, DESCRIPTION = f"{STEM}.bin", f"{STEM}.json"
DEFAULT_DIRECTORY, DEFAULT_STEM = Path(__file__).parent, "default_domains"
MIN_CONFIDENCE = 0.5
MAX_CHARACTERS = 2000  # of a text that are looked at: its kind shows early, and quality has its own look at more
WINDOW, WINDOWS = 500, 8  # characters of a training example; examples of a document
SHAPED = 3  # every third example comes once more without words, as shapes between marks: what a domain looks like in words that are not known
MAX_REPEATS = 10  # of the examples of a source that has few
EXAMPLES = pa.schema([("domain", pa.string()), ("source", pa.string()), ("held_out", pa.bool_()), ("text", pa.large_string())])
Group = tuple[str, str]  # domain, source
_LABEL = "__label__"
_HELD_OUT, _CHOICE = 0x646F6D61, 0x696E7321  # seeds of hashes of keys
_BATCH = 2000


@dataclass(frozen=True)
class Description:
    """The other file of a model. measured: of held-out documents (measure)."""

    max_characters: int = MAX_CHARACTERS
    min_confidence: float = MIN_CONFIDENCE
    domains: tuple[str, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)
    about: str = ""
    format: int = 1

    @classmethod
    def read(cls, path: Path) -> Description:
        """Raises TypeError or ValueError where the file is of no known form."""
        value = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**value, "domains": tuple(value["domains"])})

    def write(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class DomainModel:
    """A loaded model. Reads on one thread; the same text has the same domain in every process."""

    classifier: Classifier
    description: Description
    vocabulary: Vocabulary

    @classmethod
    def load(cls, directory: Path, stem: str = STEM) -> DomainModel:
        """Raises InputError where the files are no model or one of another format."""
        try:
            description = Description.read(directory / f"{stem}.json")
            model = fasttext.load_model(str(directory / f"{stem}.bin"))
        except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{directory} holds no domain model that this version can read: {error}", "train it again: mspt train-domains") from None
        if description.format != Description.format or not {label.removeprefix(_LABEL) for label in model.get_labels()} <= set(DOMAINS):
            raise InputError(f"{directory} is a domain model of another format", "train it again: mspt train-domains")
        return cls(Classifier.of(model), description, Vocabulary.of(model.get_words()))

    @classmethod
    def default(cls) -> DomainModel:
        """The one that ships with mspt."""
        return cls.load(DEFAULT_DIRECTORY, DEFAULT_STEM)

    def label(self, texts: pa.Array | pa.ChunkedArray) -> tuple[list[str], npt.NDArray[np.float32]]:
        """The domain of each text and its probability: `other` where that is under min_confidence, or where the text has no token (0)."""
        names: list[str] = []
        sure: list[float] = []
        for tokens in read_tokens(texts, self.description.max_characters, self.vocabulary):
            is_empty = np.diff(tokens.line_ends) == 1  # nothing but the line end
            for empty, row in zip(is_empty.tolist(), self.classifier.probabilities(tokens.raw, tokens.line_ends), strict=True):
                p = 0.0 if empty else max(row)
                names.append(self.classifier.labels[row.index(p)].removeprefix(_LABEL) if p and p >= self.description.min_confidence else OTHER)
                sure.append(p)
        return names, np.array(sure, np.float32)


# --- examples ----------------------------------------------------------------------------------------------------------


def is_held_out(key: str, share: float, seed: int) -> bool:
    """Whether a document only measures the model."""
    return _hash(key, _HELD_OUT + seed) < share * 2**64


def choose(keys: Sequence[str], limit: int, seed: int) -> set[str]:
    """At most `limit` of the keys, the same ones whatever their order."""
    return set(sorted(keys, key=lambda key: (_hash(key, _CHOICE + seed), key))[:limit])


def make_examples(domain: str, source: str, documents: Mapping[str, str], held_out: float, seed: int) -> list[dict[str, Any]]:
    """Rows of EXAMPLES: the beginnings of documents (by key), as score sees them, and of those to learn from windows, too."""
    rows = []
    for key, text in documents.items():
        aside = is_held_out(key, held_out, seed)
        beginning = [text[:MAX_CHARACTERS]]
        parts = beginning if aside or len(text) <= WINDOW else beginning + windows(text, WINDOW, WINDOWS)
        rows += [{"domain": domain, "source": source, "held_out": aside, "text": part} for part in parts if part.strip()]
    return rows


def check_domain(name: str, where: str) -> str:
    """MsptError where there is no such domain."""
    if name not in DOMAINS:
        raise MsptError(f"{where}: there is no domain {name!r}", f"they are {', '.join(DOMAINS)}")
    return name


def read_domain_labels(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Texts by domain, of rows with `text` and `domain` (or `label`) in JSONL or CSV. MsptError names the row that is wrong, as labels of quality do."""
    labelled = []
    for path in paths:
        for place, row in read_rows(path):
            text, name = row.get("text"), row.get("domain", row.get("label"))
            if not isinstance(text, str) or not isinstance(name, str):
                raise MsptError(f"{place} has no `text` and `domain`", '{"text": "...", "domain": "news"}, one a line; or CSV with these columns')
            labelled.append((text.encode("utf-8", "replace").decode("utf-8"), check_domain(name.strip().lower(), place), place))
    if not labelled:
        raise MsptError(f"{', '.join(path.name for path in paths)}: there is no label in it", '{"text": "...", "domain": "news"}, one a line')
    check_texts(labelled)
    found: dict[str, list[str]] = {}
    for text, name, _ in labelled:
        found.setdefault(name, []).append(text)
    return found


# --- training ----------------------------------------------------------------------------------------------------------


def write_training_file(path: Path, examples: pa.Table, vocabulary_size: int, seed: int) -> None:
    """fastText's training file: token lines of the examples that are not held out, mixed by the seed; those of domains, and of sources of a
    domain, that have few come several times."""
    examples = examples.filter(pc.invert(examples.column("held_out"))).combine_chunks()
    counts: Counter[str] = Counter()
    for batch in _batches(examples):
        counts.update(count_tokens(token_lines(batch.column("text"), MAX_CHARACTERS)))
    known = most_frequent(counts, vocabulary_size)
    words, marks = Vocabulary.of(known), Vocabulary.of(token for token in known if not token[0].isalnum())
    lines = [line for batch in _batches(examples) for line in _labelled(batch, words, marks)]
    times = _repeats(Counter(group for group, _ in lines))
    order = [i for i, (group, _) in enumerate(lines) for _ in range(times[group])]
    random.Random(seed).shuffle(order)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{_LABEL}{lines[i][0][0]} {lines[i][1]}\n" for i in order)


def _labelled(batch: pa.Table, words: Vocabulary, marks: Vocabulary) -> Iterator[tuple[Group, str]]:
    groups = list(zip(batch.column("domain").to_pylist(), batch.column("source").to_pylist(), strict=True))
    yield from zip(groups, token_lines(batch.column("text"), MAX_CHARACTERS, words), strict=True)
    places = range(0, batch.num_rows, SHAPED)
    shapes = token_lines(batch.column("text").take(pa.array(places, pa.int64())), MAX_CHARACTERS, marks)
    yield from zip((groups[place] for place in places), shapes, strict=True)


def _repeats(counts: Mapping[Group, int]) -> dict[Group, int]:
    """How often the examples of each group come, so that all domains have about as many, and within a domain all sources."""
    sources = Counter(domain for domain, _ in counts)
    largest = max((number * sources[domain] for (domain, _), number in counts.items()), default=0)
    return {group: max(1, min(MAX_REPEATS, round(largest / (sources[group[0]] * number)))) for group, number in counts.items()}


def _batches(examples: pa.Table) -> Iterator[pa.Table]:
    return (examples.slice(start, _BATCH) for start in range(0, examples.num_rows, _BATCH))


# --- measuring ---------------------------------------------------------------------------------------------------------


def measure(model: DomainModel, held_out: pa.Table) -> dict[str, Any]:
    """`accuracy`; by domain its documents, precision, recall and F1; `confusion`: documents by true and found domain. {} without documents."""
    if not held_out.num_rows:
        return {}
    return agreement(held_out.column("domain").to_pylist(), model.label(held_out.column("text"))[0])


def agreement(true: Sequence[str], found: Sequence[str]) -> dict[str, Any]:
    """The same of domains that are known already."""
    pairs = Counter(zip(true, found, strict=True))
    names = [name for name in DOMAINS if any(name in pair for pair in pairs)]
    given = [name for name in names if name in set(true)]
    by_domain = {}
    for name in given:
        right, all_true, all_found = pairs[name, name], sum(n for (a, _), n in pairs.items() if a == name), sum(n for (_, b), n in pairs.items() if b == name)
        precision, recall = right / all_found if all_found else 0.0, right / all_true
        f1 = 2 * precision * recall / (precision + recall) if right else 0.0
        by_domain[name] = {"documents": all_true, "precision": round(precision, 4), "recall": round(recall, 4), "f1": round(f1, 4)}
    return {
        "documents": len(true),
        "accuracy": round(sum(pairs[name, name] for name in names) / len(true), 4),
        "by_domain": by_domain,
        "confusion": {name: {other: pairs[name, other] for other in names} for name in given},
    }


def _hash(text: str, seed: int) -> int:
    return xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), seed=seed)

"""How well texts are told apart by domain: confusion tables of documents held out, on real sets.

    python bench/domains.py [--data ../shared/data] [--documents 600] [--default-only]

Three tables:
  1. trained on four fifths of the documents of each set, judged on the others;
  2. trained on some sets, judged on others of the same domains that it has never seen (other authors, other sites, or the other script of Chinese);
  3. the model that ships with mspt (bench/train_default_domains.py; it has seen none of this), judged on all: a domain that it does not know counts as other.

Sets: news are the 66 pages of html_zh_news (gold text) and the 1,000 English articles of neardup_articles; code is HumanEval (prompt and solution);
encyclopaedia are zh_wiki_hans, zh_wiki_hant, en_wikitext2; literature zh_novels, zh_poetry, en_public_domain; documentation the techdocs and zh_manpages.
There is no forum among them: nothing here says how well forum is told.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa

from mspt.core.quality.domains import EXAMPLES, MAX_CHARACTERS, MODEL, OTHER, Description, DomainModel, agreement, choose, make_examples, write_training_file
from mspt.core.quality.scorer import TrainingSettings, train

ROOT = Path(__file__).resolve().parent.parent
SETS = {
    "zh_news": "news", "en_news": "news", "humaneval": "code", "zh_wiki_hans": "encyclopaedia", "zh_wiki_hant": "encyclopaedia",
    "en_wikitext2": "encyclopaedia", "zh_novels": "literature", "zh_poetry_hans": "literature", "zh_poetry_hant": "literature",
    "en_public_domain": "literature", "zh_techdocs": "documentation", "en_techdocs": "documentation", "zh_manpages_hans": "documentation",
}  # fmt: skip
UNSEEN = ("zh_wiki_hant", "zh_poetry_hant", "zh_manpages_hans")  # of the second table: their domains are known from the other sets
MAX_DOCUMENTS = 600  # of a set
VOCABULARY = 8000
TRAINING = TrainingSettings(dimension=8, ngrams=3, buckets=1 << 18, epochs=10, rate=0.5)


def read_set(name: str, data: Path) -> dict[str, str]:
    """Documents by key."""
    if name == "zh_news":
        return {path.name: path.read_text(encoding="utf-8") for path in sorted((data / "html_zh_news" / "gold").glob("*.txt"))}
    if name == "en_news":
        found = {}
        for path in sorted((data / "neardup_articles").rglob("*1000*.train")):
            for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
                key, _, text = line.partition(" ")
                found[key] = text
        return found
    if name == "humaneval":
        rows = [json.loads(line) for path in sorted((data / "eval" / "humaneval").rglob("*")) if path.is_file() for line in _lines(path)]
        return {row["task_id"]: row["prompt"] + row["canonical_solution"] for row in rows if "prompt" in row}
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return {str(row.get("id", number)): row["text"] for number, row in enumerate(map(json.loads, file))}


def _lines(path: Path) -> list[str]:
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    return [line for line in raw.decode("utf-8", "replace").splitlines() if line.startswith("{")]


def fit(examples: pa.Table) -> DomainModel:
    """Trained in a process of its own, as train-domains does."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_training_file(folder / "examples", examples, VOCABULARY, 1)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            pool.submit(train, folder / "examples", folder / MODEL, TRAINING).result()
        Description(domains=tuple(sorted(set(examples.column("domain").to_pylist())))).write(folder / "domains.json")
        return DomainModel.load(folder)


def show(title: str, sets: Sequence[str], texts: Mapping[str, Sequence[str]], model: DomainModel) -> None:
    """The confusion table, and by set what was found. A domain that the model does not know is `other` to it."""
    true, found = [], []
    print(f"\n{title}")
    for name in sets:
        labels, _ = model.label(pa.array(list(texts[name]), pa.large_string()))
        wanted = SETS[name] if SETS[name] in model.description.domains else OTHER
        right = sum(label == wanted for label in labels)
        others = sorted({label: labels.count(label) for label in labels if label != wanted}.items(), key=lambda pair: -pair[1])
        print(f"  {name:18} {wanted:14} {right:5} of {len(labels):5} right ({right / max(1, len(labels)):.3f})   {others}", flush=True)
        true += [wanted] * len(labels)
        found += labels
    measured = agreement(true, found)
    columns = sorted({column for row in measured["confusion"].values() for column in row})
    print("\n  true \\ found   " + "".join(f"{column[:13]:>14}" for column in columns) + "   precision  recall    F1")
    for name, row in measured["confusion"].items():
        facts = measured["by_domain"][name]
        print(f"  {name:15}" + "".join(f"{row.get(c, 0):14}" for c in columns) + f"   {facts['precision']:9.3f} {facts['recall']:7.3f} {facts['f1']:6.3f}")
    f1 = [facts["f1"] for facts in measured["by_domain"].values()]
    print(f"  accuracy {measured['accuracy']:.4f}, mean F1 {sum(f1) / len(f1):.4f} of {measured['documents']:,} documents")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--default-only", action="store_true", help="the third table only")
    parser.add_argument("--documents", type=int, default=MAX_DOCUMENTS, help="at most so many of a set")
    arguments = parser.parse_args()
    documents = {}
    for name in SETS:
        whole = read_set(name, arguments.data)
        documents[name] = {f"{name}/{key}": whole[key] for key in sorted(choose(list(whole), arguments.documents, 1))}
        print(f"{name}: {len(documents[name]):,} of {len(whole):,} documents")
    beginnings = {name: [text[:MAX_CHARACTERS] for text in texts.values()] for name, texts in documents.items()}
    if not arguments.default_only:
        rows = {name: make_examples(SETS[name], name, texts, 0.2, 1) for name, texts in documents.items()}
        model = fit(pa.Table.from_pylist([row for own in rows.values() for row in own], EXAMPLES))
        aside = {name: [row["text"] for row in own if row["held_out"]] for name, own in rows.items()}
        show("1. trained on four fifths of each set, judged on the other documents", list(SETS), aside, model)
        started = time.process_time()
        everything = pa.array([text for texts in aside.values() for text in texts], pa.large_string())
        model.label(everything)
        size = sum(len(text.encode()) for text in everything.to_pylist())
        print(f"  {size / 1e6 / (time.process_time() - started):.1f} MB/s of the texts that it looks at")
        seen = pa.Table.from_pylist([{**row, "held_out": False} for name, own in rows.items() if name not in UNSEEN for row in own], EXAMPLES)
        show(f"2. trained without {', '.join(UNSEEN)}, judged on them", UNSEEN, beginnings, fit(seen))
    show("3. the model that ships with mspt, judged on all", list(SETS), beginnings, DomainModel.default())


if __name__ == "__main__":
    main()

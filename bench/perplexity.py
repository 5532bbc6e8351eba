"""Does perplexity rank real prose before machine spam before shuffled text, and how fast is it?

    python bench/perplexity.py [--data ../shared/data] [--ngram 5] [--min-count 3]

One model learns from four fifths of the documents of the sets, at once, and measures windows of the last fifth: as they are, and corrupted
(core/quality/corruptions.py). Machine spam is `spam-template`; without a bar stand the other corruptions and `babble`, a chain that goes on from each word
(Han: character) with one that followed it in the held-out texts. Printed for each set: the medians of each kind, of perplexity and of relative perplexity
(over that of the words one by one), and AUCs, the probability that a text of the first kind has a lower one than one of the second. Then MB/s of UTF-8 a
core (process time, best of 3): training, perplexity, entropy, share of function words, with what lies between text and number.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import random
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mspt.core.quality.calibration import auc
from mspt.core.quality.corruptions import CORRUPTIONS, is_han
from mspt.core.quality.ngram_model import Model, train
from mspt.core.quality.statistics import entropy, stop_word_share

SETS = {"zh_wiki": ("zh_wiki_hans", "zh_wiki_hant"), "zh_novels": ("zh_novels",), "en_public_domain": ("en_public_domain",), "en_wikitext2": ("en_wikitext2",)}
WINDOW, SHORTEST, MOST = 1000, 300, 300
BAR = 0.95
REPEATS = 3


def load(data: Path, name: str) -> list[str]:
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [text for line in lines if len(text := json.loads(line)["text"]) >= 100]


def windows(texts: Sequence[str], chooser: random.Random) -> list[str]:
    """Pieces of WINDOW characters, the ends of documents from SHORTEST on; at most MOST."""
    found = [text[i : i + WINDOW] for text in texts for i in range(0, len(text), WINDOW) if len(text) - i >= SHORTEST]
    chooser.shuffle(found)
    return found[:MOST]


def babbler(texts: Sequence[str]) -> Callable[[str, random.Random], str]:
    """A corruption that writes by a first-order chain over the words of `texts`."""
    following: dict[str, list[str]] = {}
    for text in texts:
        words = list(re.sub(r"\s+", "", text)) if is_han(text) else text.split()
        for word, after in itertools.pairwise(words):
            following.setdefault(word, []).append(after)

    def babble(text: str, chooser: random.Random) -> str:
        joiner, size, word, parts = "" if is_han(text) else " ", 0, chooser.choice(list(following)), []
        while size < len(text):
            parts.append(word)
            size += len(word) + len(joiner)
            word = chooser.choice(following.get(word) or list(following))
        return joiner.join(parts)

    return babble


def measure(model: Model, texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """[texts, 2]: perplexity and relative perplexity; the latter 1, which is that of no order, where the model knows no word."""
    found = [model.score(text) for text in texts]
    return np.array([(score.perplexity or 0.0, 1.0 if score.relative is None else score.relative) for score in found], np.float64)


def lower(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> str:
    values = [auc(-first[:, i], -second[:, i]) for i in range(2)]
    return "".join(f"{value:>10.4f}{'' if value >= BAR else ' !':2s}" for value in values)


def rank(name: str, model: Model, texts: Sequence[str]) -> None:
    chooser = random.Random(3)
    prose = windows(texts, chooser)
    kinds = {"prose": prose} | {kind: [make(text, chooser) for text in prose] for kind, make in {**CORRUPTIONS, "babble": babbler(texts)}.items()}
    found = {kind: measure(model, own) for kind, own in kinds.items()}
    print(f"\n{name}: {len(prose)} held-out windows of {SHORTEST} to {WINDOW} characters")
    print("  median perplexity: " + ", ".join(f"{kind} {np.median(own[:, 0]):,.0f}" for kind, own in found.items()))
    print("  median relative perplexity: " + ", ".join(f"{kind} {np.median(own[:, 1]):.2f}" for kind, own in found.items()))
    print(f"  {'AUC (! under the bar)':40s}perplexity  relative")
    spam, *shuffled = "spam-template", "shuffled-words", "shuffled-characters"
    for first, second in [("prose", spam), *(("prose", kind) for kind in shuffled), *((spam, kind) for kind in shuffled)]:
        print(f"  {first + ' before ' + second:40s}{lower(found[first], found[second])}")
    others = [kind for kind in found if kind not in ("prose", spam, *shuffled)]
    for i, name in enumerate(("perplexity", "relative perplexity")):
        print(f"  no bar, {name}: prose before " + ", ".join(f"{kind} {auc(-found['prose'][:, i], -found[kind][:, i]):.3f}" for kind in others))


def rate(work: Callable[[], object], texts: Sequence[str], repeats: int = REPEATS) -> float:
    """MB of UTF-8 a second of process time, best of `repeats`."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return sum(len(text.encode()) for text in texts) / 1e6 / min(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--ngram", type=int, default=5)
    parser.add_argument("--min-count", type=int, default=3)
    arguments = parser.parse_args()
    learned: list[str] = []
    held_out: dict[str, list[str]] = {}
    for name, files in SETS.items():
        for file in files:
            texts = load(arguments.data, file)
            random.Random(1).shuffle(texts)
            cut = len(texts) // 5
            held_out[name] = held_out.get(name, []) + texts[:cut]
            learned += texts[cut:]
    train(learned[:2], arguments.ngram, 1)  # compiles
    start = time.process_time()
    model = train(learned, arguments.ngram, arguments.min_count)
    megabytes = sum(len(text.encode()) for text in learned) / 1e6
    speed = megabytes / (time.process_time() - start)
    print(f"training: {megabytes:.1f} MB, {speed:.1f} MB/s; {len(model.alphabet):,} symbols, n-grams {model.sizes.tolist()}")
    for name, texts in held_out.items():
        rank(name, model, texts)
    print("\nMB/s a core    perplexity   entropy   function words")
    for name, texts in held_out.items():
        pieces = [text[i : i + 3000] for text in texts for i in range(0, len(text), 3000)][:2000]
        rates = [rate(lambda f=f, p=pieces: [f(t) for t in p], pieces) for f in (model.score, entropy, lambda text: stop_word_share(text, None))]
        print(f"{name:16s} {rates[0]:8.1f} {rates[1]:9.1f} {rates[2]:12.1f}")


if __name__ == "__main__":
    main()

"""How well scorers tell good text from bad: AUC on corruptions seen in training, on kinds left out, and on what lies around the articles of real pages.

    python bench/quality.py [--data ../shared/data] [--only seen|left-out|default] [--share 1.0]

Sources: zh_wiki, zh_novels, zh_techdocs and en_public_domain; three tenths of the documents are never trained on. Each row: AUC of held-out windows of 1,000
characters against their corrupted copies, all sources together and by source (trained on: windows of 500). real: text outside the gold text of
html_article_gold pages (mode page, pages that have 50 characters of it) against the gold text; none of either was trained on. default: the same for the
scorer that ships, which has seen nothing of these data.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import random
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from mspt.core.quality.calibration import auc
from mspt.core.quality.corruptions import CORRUPTIONS
from mspt.core.quality.examples import MIN_CHANGED, Example, ExampleSettings, changed, is_held_out, make_examples
from mspt.core.quality.features import windows
from mspt.core.quality.learning import EXAMPLES, calibrate, learn_shapes, measures, write_training_file
from mspt.core.quality.middle import MIDDLE
from mspt.core.quality.scorer import DESCRIPTION, MODEL, SHAPE_COSTS, Description, Scorer, TrainingSettings, train
from mspt.core.text.html.extract import extract

SOURCES = {
    "zh_wiki": ("zh_wiki_hans", "zh_wiki_hant"),
    "zh_novels": ("zh_novels",),
    "zh_techdocs": ("zh_techdocs",),
    "en_public_domain": ("en_public_domain",),
}
REQUIRED = tuple(CORRUPTIONS)[:8]  # the kinds that issue 7 names
WINDOWS = 6000  # of a source, about
JUDGED, JUDGED_WINDOWS = 1000, 2500  # characters of a window that is judged, and how many of a source, about
VOCABULARY = 4000
LEAST = 50  # characters of a text that is judged
Scores = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Source:
    name: str
    ids: list[str]
    texts: list[str]

    def settings(self, kinds: Sequence[str]) -> ExampleSettings:
        """As many windows of each document as give about WINDOWS."""
        return ExampleSettings(per_document=-(-WINDOWS // len(self.ids)), held_out=0.3, kinds=tuple(kinds))

    def examples(self, kinds: Sequence[str]) -> list[Example]:
        return make_examples(self.ids, self.texts, self.settings(kinds))

    def held_out(self) -> list[tuple[str, str]]:
        """(key, window) of the documents that are not trained on."""
        settings = self.settings(())
        kept = [(id_, text) for id_, text in zip(self.ids, self.texts, strict=True) if is_held_out(id_, settings)]
        made = [(f"{id_}/{i}", window) for id_, text in kept for i, window in enumerate(windows(text, JUDGED, -(-JUDGED_WINDOWS // len(self.ids))))]
        return [(key, window) for key, window in made if len(window) >= LEAST]


def read_sources(data: Path, share: float) -> list[Source]:
    found = []
    for name, files in SOURCES.items():
        rows = [json.loads(line) for file in files for line in gzip.decompress((data / f"{file}.jsonl.gz").read_bytes()).decode("utf-8").split("\n") if line]
        rows = [row for row in rows if _number(row["id"]) % 1000 < 1000 * share]
        found.append(Source(name, [row["id"] for row in rows], [row["text"] for row in rows]))
    return found


def _number(text: str) -> int:
    return xxhash.xxh3_64_intdigest(text.encode())


def real_pages(data: Path) -> tuple[list[str], list[str], list[bool]]:
    """(gold text, text around it, whether it is in English) of the pages that have both."""
    folder = data / "html_article_gold"
    truth = json.loads((folder / "ground-truth.json").read_text(encoding="utf-8"))
    gold, around, english = [], [], []
    for name, entry in sorted(truth.items()):
        raw = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        inside = _letters(entry["articleBody"])
        lines = extract(raw.decode("utf-8", "replace"), mode="page").text.split("\n")
        outside = "\n".join(line for line in lines if _letters(line) and _letters(line) not in inside)
        if min(len(outside), len(entry["articleBody"])) >= LEAST:
            gold.append(entry["articleBody"])
            around.append(outside)
            english.append(len(re.findall(r"\b(?:the|of|and|to)\b", entry["articleBody"])) > len(entry["articleBody"].split()) / 20)
    return gold, around, english


def _letters(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().lower()


def as_table(examples: Sequence[Example]) -> pa.Table:
    return pa.Table.from_pylist([vars(example) for example in examples], schema=EXAMPLES)


def make_scorer(examples: pa.Table, folder: Path) -> Scorer:
    """Trained in a process of its own, as the stage does it."""
    write_training_file(folder / "examples", examples, VOCABULARY, 1)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        pool.submit(train, folder / "examples", folder / MODEL, TrainingSettings()).result()
    (folder / SHAPE_COSTS).write_bytes(learn_shapes(examples).tobytes())
    Description(10_000).write(folder / DESCRIPTION)
    calibrate(Scorer.load(folder), examples.filter(examples.column("held_out"))).describe(10_000).write(folder / DESCRIPTION)
    return Scorer.load(folder)


def corrupted(source: Source, kind: str) -> list[str]:
    """The held-out windows after a corruption that changed them."""
    everything = list(CORRUPTIONS.values())
    found = []
    for key, window in source.held_out():
        chooser = random.Random(_number(f"{kind}/{key}"))
        text = CORRUPTIONS[kind](window, chooser) if kind in CORRUPTIONS else MIDDLE[kind](window, chooser, everything)
        if kind in MIDDLE or changed(window, text) >= MIN_CHANGED:
            found.append(text)
    return found


def row(name: str, good: dict[str, Scores], bad: dict[str, Scores]) -> str:
    together = auc(np.concatenate(list(good.values())), np.concatenate(list(bad.values())))
    return f"{name:<22}{together:>8.3f}" + "".join(f"{auc(good[source], bad[source]):>18.3f}" for source in good)


def score(scorer: Scorer, texts: Sequence[str]) -> Scores:
    return scorer.score(pa.array(texts, pa.large_string()))


def judged(scorer: Scorer, sources: Sequence[Source], kinds: Sequence[str]) -> Iterator[str]:
    good = {source.name: score(scorer, [window for _, window in source.held_out()]) for source in sources}
    for kind in kinds:
        yield row(kind, good, {source.name: score(scorer, corrupted(source, kind)) for source in sources})


def real(scorer: Scorer, pages: tuple[list[str], list[str], list[bool]]) -> str:
    gold, around = score(scorer, pages[0]), score(scorer, pages[1])
    english = np.array(pages[2])
    return f"{'real':<22}{auc(gold, around):>8.3f}   {len(gold)} pages; the {english.sum()} English ones {auc(gold[english], around[english]):.3f}"


def say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--only", choices=("seen", "left-out", "default"))
    parser.add_argument("--share", type=float, default=1.0, help="of the documents, for a quick look")
    parser.add_argument("--kind", action="append", choices=REQUIRED, help="leave out only this one; may repeat")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"{options.data} is not there: --data DIR names the folder of the real inputs")
    sources, pages = read_sources(options.data, options.share), real_pages(options.data)
    say(f"{'':<22}{'all':>8}" + "".join(f"{source.name:>18}" for source in sources))
    say(f"{'held-out windows':<22}{'':>8}" + "".join(f"{len(source.held_out()):>18}" for source in sources))
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "seen"):
            examples = as_table([example for source in sources for example in source.examples(tuple(CORRUPTIONS))])
            scorer = make_scorer(examples, Path(folder))
            say(f"--- seen in training: {len(examples):,} examples")
            for line in judged(scorer, sources, (*CORRUPTIONS, *MIDDLE)):
                say(line)
            say(real(scorer, pages))
            held_out = examples.filter(examples.column("held_out"))
            say(json.dumps(measures(calibrate(scorer, held_out).scores, held_out), indent=1))
        if options.only in (None, "left-out"):
            say("--- left out of training")
            for kind in options.kind or REQUIRED:
                kinds = [other for other in CORRUPTIONS if other != kind]
                scorer = make_scorer(as_table([example for source in sources for example in source.examples(kinds)]), Path(folder))
                for line in judged(scorer, sources, (kind,)):
                    say(line)
        if options.only in (None, "default"):
            say("--- the default scorer, which has seen none of these texts")
            scorer = Scorer.default()
            for line in judged(scorer, sources, REQUIRED):
                say(line)
            say(real(scorer, pages))


if __name__ == "__main__":
    main()

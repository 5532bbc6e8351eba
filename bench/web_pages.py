"""How well and how fast the main text of web pages is found, side by side with other engines on the same pages.

    python bench/web_pages.py                                   precision, recall, F1 on the gold sets and our own pages; effective text; residue
    python bench/web_pages.py --worst 10                        and the pages of the lowest F1
    python bench/web_pages.py --thirds                          weights chosen on two thirds of the sites, scored on the third left out
    python bench/web_pages.py --peers PYTHON                     the other engines too (trafilatura, resiliparse, readability-lxml, justext), and speed
    python bench/web_pages.py --linear                          seconds on generated pages of 1 to 20 MB

The measures are those of ../shared/tools/score_html.py. Speed is pages per second of CPU time in one process, engines by turns, the median of
three runs. The peers need a Python of their own: their pins and ours exclude each other. That Python runs this file with --engine.
"""

from __future__ import annotations

import argparse
import gzip
import importlib
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# This file has the name of a module of the standard library, which the engines import: its folder must not come first.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "bench"]
PAGES = ROOT / "tests" / "core" / "text" / "pages"
LANGUAGES = ("en", "ja", "zh-Hans", "zh-Hant")
PEERS = ("trafilatura", "trafilatura-fast", "trafilatura-precision", "resiliparse", "readability", "justext")
RUNS = 3
# Values tried for each weight, around the one that ships; --thirds takes the best of two thirds of the pages.
GRID: dict[str, tuple[float, ...]] = {
    "sentence_units": (30, 60), "long_units": (80, 160), "link_cost": (2, 4), "scrap_cost": (5, 12), "link_share": (0.4, 0.6), "max_penalty": (150, 600),
    "narrow_share": (0.75, 0.92), "furniture_share": (0.25, 0.55), "sure_share": (0.6, 0.9), "teaser_factor": (0.1, 0.5), "before_headline": (0.2, 0.8),
    "caption_share": (0.2, 0.5), "link_sentence_share": (0.7, 0.9),
}  # fmt: skip
RESIDUE = re.compile(
    r"\bfunction\s*\w*\s*\([\w\s,]*\)\s*\{|\bvar\s+[\w$]+\s*=|\bdocument\.(?:write|getElement|cookie)|\bwindow\.\w+\s*[=(]|<!--|-->|//\]\]>|<!\[CDATA"
    r"|\{\s*(?:display|color|margin|font-size|background)\s*:|@media\b|@import\b|</?(?:div|span|p|a|script|style|br|td|img|font)\b[^>]*>|\$\(\s*['\"(]"
    r"|&(?:nbsp|amp|lt|gt|quot|#\d+);|\bjavascript:|\b(?:googletag|adsbygoogle)\b|\.push\(\{|\"@context\"|=>\s*\{"
)

Shingles = Callable[[str], Counter[Any]]


@dataclass(frozen=True)
class GoldSet:
    """Pages with the text that people found in them. sites: page -> what must not stand on both sides of a split."""

    name: str
    html: Mapping[str, str]
    gold: Mapping[str, str]
    sites: Mapping[str, str]
    shingles: Shingles


def words(text: str) -> Counter[Any]:
    tokens = re.findall(r"\w+", text)
    return Counter(tuple(tokens[i : i + 4]) for i in range(max(1, len(tokens) - 3)))


def characters(text: str) -> Counter[Any]:
    text = re.sub(r"\s", "", text)
    return Counter(text[i : i + 5] for i in range(max(1, len(text) - 4)))


def overlap(gold: Counter[Any], got: Counter[Any]) -> tuple[float, float]:
    """Precision and recall."""
    both = (gold & got).total()
    return both / max(1, got.total()), both / max(1, gold.total())


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def read_sets(data: Path) -> list[GoldSet]:
    truth = json.loads((data / "html_article_gold" / "ground-truth.json").read_text(encoding="utf-8"))
    articles = {name: _read(data / "html_article_gold" / "html" / f"{name}.html.gz") for name in sorted(truth)}
    news = {file.stem: file.read_text(encoding="utf-8") for file in sorted((data / "html_zh_news" / "gold").glob("*.txt"))}
    own = {file.stem: file.with_suffix(".txt").read_text(encoding="utf-8") for file in sorted(PAGES.glob("*.html"))}
    own = {name: text for name, text in own.items() if text.strip()}  # front pages, which should give nothing, have no precision
    return [
        GoldSet("article", articles, {name: entry["articleBody"] for name, entry in truth.items()}, {name: name for name in truth}, words),
        GoldSet(
            "zh-news", {name: _read(data / "html_zh_news" / "html" / f"{name}.html.gz") for name in news}, news,
            {name: name.split("-", 1)[1] for name in news}, characters,
        ),
        GoldSet("own", {name: (PAGES / f"{name}.html").read_text(encoding="utf-8") for name in own}, own, {name: name for name in own}, characters),
    ]  # fmt: skip


def _read(path: Path) -> str:
    raw = gzip.decompress(path.read_bytes())
    text = raw.decode("utf-8", "replace")
    return text if text.count("\ufffd") * 500 < len(text) else raw.decode("gb18030", "replace")


def by_page(pages: GoldSet, texts: Mapping[str, str]) -> dict[str, tuple[float, float]]:
    return {name: overlap(pages.shingles(gold), pages.shingles(texts[name])) for name, gold in pages.gold.items()}


def averaged(scores: Mapping[str, tuple[float, float]]) -> str:
    precision, recall = (statistics.fmean(part) for part in zip(*scores.values(), strict=True))
    return f"P {precision:.4f} R {recall:.4f} F1 {f1(precision, recall):.4f}"


def effective_ratio(pages: GoldSet, texts: Mapping[str, str]) -> float:
    """5-gram characters of the output that occur in the gold, by all of the output."""
    pairs = [(characters(gold), characters(texts[name])) for name, gold in pages.gold.items()]
    return sum((gold & got).total() for gold, got in pairs) / sum(got.total() for _, got in pairs)


def residues(page: Any) -> list[str]:
    """Pieces of script, style and markup in a page's text, code that is meant as text apart."""
    code = [(start, end) for tag, start, end in page.spans if tag in ("pre", "code")]
    return [found[0] for found in RESIDUE.finditer(page.text) if not any(start <= found.start() < end for start, end in code)]


def report(sets: list[GoldSet], data: Path, worst: int) -> None:
    from mspt.core.text.html.extract import extract

    for pages in sets:
        read = {name: extract(html) for name, html in pages.html.items()}
        whole = {name: extract(html, mode="page") for name, html in pages.html.items()}
        texts = {name: page.text for name, page in read.items()}
        scores = by_page(pages, texts)
        dirty = sum(len(residues(page)) for page in (*read.values(), *whole.values()))
        print(f"{pages.name:8} {averaged(scores)}  effective text {effective_ratio(pages, texts):.4f}  residues {dirty}  ({len(texts)} pages)")
        for name, (precision, recall) in sorted(scores.items(), key=lambda item: f1(*item[1]))[:worst]:
            print(f"    {f1(precision, recall):.3f}  P {precision:.3f} R {recall:.3f}  {name[:24]}")
    for language in LANGUAGES:
        print(f"book {language:8} {book(data, language, {name: extract(html).text for name, html in book_pages(data, language).items()})}")


def book_pages(data: Path, language: str) -> dict[str, str]:
    return {file.name: file.read_text(encoding="utf-8") for file in sorted((data / "html_book_4lang" / language).glob("*.html"))}


def book(data: Path, language: str, texts: Mapping[str, str]) -> str:
    (edition,) = (data / "html_book_4lang" / language).glob("*.txt")
    precision, recall = overlap(characters(edition.read_text(encoding="utf-8")), sum((characters(text) for text in texts.values()), Counter()))
    return f"P {precision:.4f} R {recall:.4f}"


# ---- weights chosen without the pages that judge them ----


class Chooser:
    """Scores weights on pages that are read once."""

    def __init__(self, pages: GoldSet) -> None:
        from mspt.core.text.html.blocks import data_rows
        from mspt.core.text.html.extract import parse_page
        from mspt.core.text.html.head import Head
        from mspt.core.text.html.reader import read_page

        self.pages = pages
        self.gold = {name: pages.shingles(text) for name, text in pages.gold.items()}
        self.read = {}
        for name, html in pages.html.items():
            root, _ = parse_page(html, None)
            assert root is not None
            tree = read_page(root, skip_notes=True)
            self.read[name] = (tree, Head(root), data_rows(tree))

    def scores(self, weights: Any, names: list[str]) -> dict[str, tuple[float, float]]:
        from mspt.core.text.html.leftovers import load_rules
        from mspt.core.text.html.main_content import choose_blocks
        from mspt.core.text.html.writer import write

        found = {}
        for name in names:
            tree, head, rows = self.read[name]
            choice = choose_blocks(tree, head, rows, load_rules(), weights)
            found[name] = overlap(self.gold[name], self.pages.shingles(write(tree, choice.kept, rows, choice.ends)[0]))
        return found


def thirds(sets: list[GoldSet]) -> None:
    """For each third of the sites: the best weights of the other two, one weight after the other, scored on the third."""
    from mspt.core.text.html.values import DEFAULT

    choosers = [Chooser(pages) for pages in sets if pages.name in ("article", "zh-news")]
    left_out: list[dict[str, tuple[float, float]]] = [{} for _ in choosers]
    for third in range(3):
        splits = [_split(chooser.pages, third) for chooser in choosers]

        def quality(weights: Any, splits: list[tuple[list[str], list[str]]] = splits) -> float:
            parts = []
            for chooser, (train, _) in zip(choosers, splits, strict=True):
                columns = zip(*chooser.scores(weights, train).values(), strict=True)
                parts.append(f1(*(statistics.fmean(column) for column in columns)))
            return statistics.fmean(parts)

        weights, best = DEFAULT, quality(DEFAULT)
        for name, values in GRID.items():
            for value in values:
                if (other := quality(replace(weights, **{name: value}))) > best + 1e-9:
                    weights, best = replace(weights, **{name: value}), other
        changed = {name: getattr(weights, name) for name in GRID if getattr(weights, name) != getattr(DEFAULT, name)}
        for found, chooser, (_, test) in zip(left_out, choosers, splits, strict=True):
            scores = chooser.scores(weights, test)
            found.update(scores)
            print(f"third {third + 1} left out: {chooser.pages.name:8} {averaged(scores)}  ({len(test)} pages)")
        print(f"    weights other than shipped: {changed or 'none'}")
    for found, chooser in zip(left_out, choosers, strict=True):
        print(f"all thirds left out: {chooser.pages.name:8} {averaged(found)}")


def _split(pages: GoldSet, third: int) -> tuple[list[str], list[str]]:
    """Pages of two thirds of the sites, and of the third."""
    sites = sorted(set(pages.sites.values()))
    test = [name for name in pages.gold if sites.index(pages.sites[name]) % 3 == third]
    return [name for name in pages.gold if name not in set(test)], test


# ---- other engines, and speed ----


def run_engine(engine: str) -> None:
    """Read {name: html} from standard input; write the texts and the CPU seconds to standard output."""
    pages = json.load(sys.stdin)
    function = _engine(engine)
    function("<html><body><p>The first page pays for what is loaded late.</p></body></html>")
    start = time.process_time()
    texts = {name: function(html) for name, html in pages.items()}
    json.dump({"texts": texts, "seconds": time.process_time() - start}, sys.stdout)


def _engine(name: str) -> Callable[[str], str]:
    if name == "mspt":
        from mspt.core.text.html.extract import extract

        return lambda html: extract(html).text
    if name.startswith("trafilatura"):
        trafilatura = importlib.import_module("trafilatura")
        options: dict[str, bool] = {"trafilatura-fast": {"fast": True}, "trafilatura-precision": {"favor_precision": True}}.get(name, {})
        return lambda html: trafilatura.extract(html, **options) or ""
    if name == "resiliparse":
        resiliparse = importlib.import_module("resiliparse.extract.html2text")
        return lambda html: str(resiliparse.extract_plain_text(html, main_content=True))
    return _forgiving(_readability if name == "readability" else _justext)


def _readability(html: str) -> str:
    summary = importlib.import_module("readability").Document(html).summary()
    return str(importlib.import_module("lxml.html").fromstring(summary).text_content())


def _justext(html: str) -> str:
    justext = importlib.import_module("justext")
    return "\n".join(paragraph.text for paragraph in justext.justext(html, justext.get_stoplist("English")) if not paragraph.is_boilerplate)


def _forgiving(function: Callable[[str], str]) -> Callable[[str], str]:
    """Engines that raise on some pages give nothing there."""

    def run(html: str) -> str:
        try:
            return function(html)
        except Exception:
            return ""

    return run


def call(python: str, engine: str, pages: Mapping[str, str]) -> tuple[dict[str, str], float]:
    """Texts and pages per second of CPU time."""
    command = [python, str(Path(__file__).resolve()), "--engine", engine]
    done = subprocess.run(command, input=json.dumps(dict(pages)), capture_output=True, text=True, check=True, cwd=ROOT)
    found = json.loads(done.stdout)
    return found["texts"], len(pages) / found["seconds"]


def compare(sets: list[GoldSet], data: Path, python: str) -> None:
    for engine in PEERS:
        for pages in sets:
            texts, rate = call(python, engine, pages.html)
            print(f"{engine:22} {pages.name:8} {averaged(by_page(pages, texts))}  {rate:.0f} pages/s", flush=True)
        if engine == "trafilatura":
            for language in LANGUAGES:
                print(f"{engine:22} book {language:8} {book(data, language, call(python, engine, book_pages(data, language))[0])}", flush=True)
    for pages in sets:
        ours, theirs = [], []
        for _ in range(RUNS):
            ours.append(call(sys.executable, "mspt", pages.html)[1])
            theirs.append(call(python, "trafilatura", pages.html)[1])
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        print(
            f"speed {pages.name:8} mspt {statistics.median(ours):.0f}, trafilatura {statistics.median(theirs):.0f} pages/s;"
            f" ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True,
        )  # fmt: skip


# ---- growth with the size of a page ----

UNITS = {
    "paragraphs": "<p>Every sentence here is as long as the last one, and none says more. 每一句都一样长，没有一句说得更多。</p>\n",
    "links": "<div class='item'><a href='/x'>A title that leads elsewhere</a> <span>12</span></div>\n",
    "posts": "<div class='post'><b>name</b> 2012-01-02 10:11 3楼<div class='body'>I think so too, but I am not sure. 我也这么想。</div></div>\n",
    "rows": "<tr><td>one</td><td>two</td><td>three, and a little more</td></tr>\n",
    "nested": "<div><div><div><p>Deep, but not too deep, and it reads like prose to anybody.</p></div></div></div>\n",
    "unclosed": "<td><p>text, and more text <b>bold <i>both\n",
    "styled": "<p><span style='color:#333;font-size:12px'>Styled words, one after the other.</span><font color='red'>red</font></p>\n",
    "formulas": "<p>so <math><mi>x</mi><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math> follows, as was to be shown.</p>\n",
}


def linear(limit: int = 20_000_000) -> None:
    from mspt.core.text.html.extract import extract

    for name, unit in UNITS.items():
        seconds = []
        for size in (limit // 16, limit // 4, limit):
            page = f"<html><body>{'<table>' if name == 'rows' else ''}{unit * (size // len(unit))}</body></html>"
            start = time.process_time()
            extract(page)
            seconds.append(time.process_time() - start)
        print(
            f"{name:12} {limit / 16e6:.2f} MB {seconds[0]:6.2f} s   {limit / 4e6:.2f} MB {seconds[1]:6.2f} s   {limit / 1e6:.2f} MB {seconds[2]:6.2f} s",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--worst", type=int, default=0)
    parser.add_argument("--peers", help="a Python that has the other engines")
    parser.add_argument("--thirds", action="store_true")
    parser.add_argument("--linear", action="store_true")
    parser.add_argument("--engine", choices=("mspt", *PEERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        run_engine(arguments.engine)
    elif arguments.linear:
        linear()
    else:
        sets = read_sets(arguments.data)
        report(sets, arguments.data, arguments.worst)
        if arguments.thirds:
            thirds(sets)
        if arguments.peers:
            compare(sets, arguments.data, arguments.peers)


if __name__ == "__main__":
    main()

"""What the rules of clean cost on sound text, and how fast they are.

    python bench/rules.py [--data ../shared/data] [--profile default|strict] [--peers PYTHON]

Prints for each set of ../shared/data the share of documents that the profile rejects, by rule, every rejected document with the reason and an excerpt,
and the parts that are cut; then megabytes per second and core (process time) through form, cuts and rules. With --peers, a Python that has datatrove
(pip install datatrove spacy nltk): documents per second of its Gopher, C4 and FineWeb filters on the same English input, beside ours.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mspt.core.text.form import detect_form
from mspt.core.text.language.identify import identify
from mspt.core.text.normal.normalize import normalize
from mspt.core.text.rules.document_rules import PROFILES, Profile, Verdict, judge
from mspt.core.text.rules.line_rules import cut_lines, without_cuts

SOUND = ("zh_novels", "zh_wiki_hans", "zh_wiki_hant", "zh_techdocs", "en_public_domain", "en_wikitext2", "en_techdocs")
FURTHER = ("zh_manpages_hans", "zh_poetry_hans", "zh_poetry_hant")  # for information: markup, and texts of one line
ENGLISH = "en_wikitext2"  # 1.1 MB: datatrove takes a minute for it
PAGE = 3000  # characters of a web page's text
REPEATS = 3
EXCERPT = 70


@dataclass(frozen=True)
class Item:
    """A normalised document, and what it is."""

    id: str
    text: str
    form: str
    language: str
    private_use: int


def load(data: Path, name: str) -> Iterator[Item]:
    """The documents of a set, as clean has them when the rules see them."""
    with gzip.open(data / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            form = detect_form(record["text"]).form
            written = normalize(record["text"], form=form)
            yield Item(record["id"], written.text, form, identify(written.text, form).tag, written.counts.get("private_use", 0))


def review(item: Item, profile: Profile) -> Verdict:
    """Cuts, then rules."""
    rest = without_cuts(item.text, cut_lines(item.text, form=item.form))
    return judge(rest, form=item.form, language=item.language, private_use=item.private_use, profile=profile)


def print_rejected(name: str, items: Sequence[Item], profile: Profile, show: bool) -> None:
    """The share of a set that is rejected, by rule; each document with its reason; what is cut."""
    found = [(item, review(item, profile)) for item in items]
    rules = Counter(verdict.rule for _, verdict in found if not verdict.keep)
    share = (rules.total() - rules["too-short"]) / len(items)
    cuts = Counter(cut.rule for item in items for cut in cut_lines(item.text, form=item.form))
    print(f"{name:17} {len(items):5} documents, rejected other than for length {share:7.2%}  {dict(rules.most_common())}  cut {dict(cuts)}")
    for item, verdict in found:
        if show and not verdict.keep and verdict.rule != "too-short":
            rest = without_cuts(item.text, cut_lines(item.text, form=item.form))
            excerpt = (rest[verdict.start : verdict.end] or rest)[:EXCERPT].replace("\n", "\\n")
            print(f"    {verdict.rule} {verdict.value:.3g} (limit {verdict.threshold:g}) {item.id[-60:]}: {excerpt}")


def seconds(work: Callable[[], object]) -> float:
    """Process time of one call, the best of REPEATS."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def print_speed(name: str, items: Sequence[Item], profile: Profile) -> None:
    """MB/s and documents per second through form, cuts and rules, each and together."""
    size = sum(len(item.text.encode("utf-8", "replace")) for item in items) / 1e6
    form = seconds(lambda: [detect_form(item.text) for item in items])
    cut = seconds(lambda: [cut_lines(item.text, form=item.form) for item in items])
    rules = seconds(lambda: [judge(item.text, form=item.form, language=item.language, profile=profile) for item in items])
    print(
        f"{name:17} {size:6.1f} MB  form {size / form:6.1f} MB/s  cuts {size / cut:6.1f} MB/s"
        f"  rules {size / rules:6.1f} MB/s ({len(items) / rules:6.0f} documents/s)  together {size / (form + cut + rules):6.1f} MB/s"
    )


def compare(name: str, texts: Sequence[str], peers: str) -> None:
    """Documents per second, form, cuts and rules against datatrove's filters."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        json.dump(list(texts), file)
        file.flush()
        run = subprocess.run([peers, str(Path(__file__).with_name("rules_datatrove.py")), file.name], capture_output=True, text=True, check=True)
    theirs = json.loads(run.stdout.splitlines()[-1])
    items = [Item("", text, "prose", "en", 0) for text in texts]
    for profile in PROFILES.values():
        ours = seconds(lambda profile=profile: [(detect_form(item.text), review(item, profile)) for item in items])  # type: ignore[misc]
        kept = sum(review(item, profile).keep for item in items)
        ratio = (len(texts) / ours) / (len(texts) / theirs["seconds"])
        print(
            f"{name}: {len(texts)} documents, ours ({profile.name}) {len(texts) / ours:.0f}/s, keeps {kept};"
            f" datatrove {len(texts) / theirs['seconds']:.0f}/s, keeps {theirs['kept']}; ratio {ratio:.1f}"
        )


def pages(texts: Sequence[str]) -> list[str]:
    """Texts cut at blank lines into pieces of about the length of a web page."""
    found = []
    for text in texts:
        piece = ""
        for paragraph in text.split("\n\n"):
            piece += paragraph + "\n\n"
            if len(piece) >= PAGE:
                found.append(piece.strip())
                piece = ""
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=Path(__file__).resolve().parents[2] / "shared" / "data")
    parser.add_argument("--profile", choices=sorted(PROFILES), default="default")
    parser.add_argument("--only-peers", action="store_true", help="leave out the rest")
    parser.add_argument("--peers", default="", help="a Python that has datatrove")
    arguments = parser.parse_args()
    profile = PROFILES[arguments.profile]
    sets = {name: list(load(arguments.data, name)) for name in ((ENGLISH,) if arguments.only_peers else SOUND + FURTHER)}
    if not arguments.only_peers:
        for name, items in sets.items():
            print_rejected(name, items, profile, show=name in SOUND and profile.name == "default")
        for name, items in sets.items():
            print_speed(name, items, profile)
    if arguments.peers:
        texts = [item.text for item in sets[ENGLISH]]
        compare("whole documents", texts, arguments.peers)
        compare(f"pages of {PAGE} characters", pages(texts), arguments.peers)


if __name__ == "__main__":
    main()

"""A dirty corpus whose truth is known, for bench/ablation.py: good texts as a crawl would bring them, and junk, each in a folder that says what it is.

Every good text takes one form: as it is, as a web page between real menus and advertisements (the parts of real pages that are not their article), as a file
in GB18030, or as mojibake. Some come again, a few of them many times: as they are, with words changed, or on another page. Junk: advertisements, tables of
numbers, menus of real pages. Nothing here uses what the stages under test were made with (core/quality/corruptions.py, junk.toml): other templates and tables.

`raw` holds the files that mspt reads, `naive` the same documents as a program reads them that knows nothing: bytes as UTF-8, tags taken off, nothing else.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

FORMS = {"plain": 0.55, "page": 0.3, "gb18030": 0.07, "mojibake": 0.08}
COPIED, COPIES = 0.12, (1, 1, 2, 3, 5, 10, 20)  # share of the good texts that come again, and how often
JUNK = {"spam": 0.2, "numbers": 0.15, "menus": 0.15}  # documents for each good one
MISREAD = (("utf-8", "latin-1"), ("utf-8", "gb18030"), ("gb18030", "latin-1"), ("utf-8", "big5"))
LEAST_LINES = 8  # of a page's furniture that is used
HAN = re.compile(r"[\u4e00-\u9fff]")
ARTICLE = re.compile(r"(?<=\d)-\d+$")  # zh_wiki_hant numbers the passages of an article
WORD = re.compile(r"[A-Za-z]{3,}|[\u4e00-\u9fff]{2}")

SPAM = {
    "zh": (
        "全场{k}清仓甩卖，低至{n}折起，{d}人已下单，手慢无！",
        "想了解{k}内幕？加群{d}，老师一对一带你赚钱，名额只剩{n}个。",
        "{k}培训招生，{n}天学会，包教包会包就业，报名请拨{d}。",
        "本站专营各类{k}，支持货到付款，假一赔{n}，客服扣扣{d}。",
        "刷{k}人气、涨粉丝、做流量，{n}元一千，下单网址{d}点com。",
        "您的账户已冻结，请于{n}小时内点击{d}核实{k}信息，否则后果自负。",
        "祖传秘方专治{k}，{n}个疗程根除不复发，诚信热线{d}，全国免费邮寄。",
        "{k}彩票预测，准确率{n}%，中奖后付费，联系微信{d}。",
    ),
    "en": (
        "LAST CHANCE!! {k} clearance, up to {n}% off, text {d} before midnight.",
        "We ship {k} pills worldwide, discreet packaging, order #{d}, {n} tablets for the price of one.",
        "Congratulations, user {d}! Your {k} has been chosen for a ${n},000 voucher, confirm within 24 hours.",
        "Tired of {k}? This {n}-minute trick made me rich, read my story at site{d} dot com.",
        "{k} {k} {k} wholesale supplier, MOQ {n} pcs, whatsapp {d}, best {k} factory.",
        "Your parcel {d} could not be delivered, pay ${n} for {k} customs clearance here.",
        "Meet {k} lovers tonight, {n} profiles near you, no card needed, code {d}.",
        "Guaranteed {n}% monthly on {k} trading signals, VIP channel {d}, limited seats!",
    ),
}
HEADS = {
    "zh": ("站名", "水位", "流量", "气温", "车次", "到站", "票价", "准考证号", "总分", "持股", "市值", "楼层", "面积", "开奖号码", "期号", "代码"),
    "en": ("Station", "Level", "Flow", "Temp", "Train", "Arr", "Dep", "Fare", "Score", "Shares", "Cap", "Floor", "Area", "Draw", "Code", "Rank"),
}


@dataclass(frozen=True)
class Good:
    """A good text. work: what it is a part of (a chapter, an article); parts of one never stand on both sides of the held-out line."""

    id: str
    source: str
    work: str
    text: str

    @property
    def language(self) -> str:
        return "zh" if len(HAN.findall(self.text)) > len(self.text) / 5 else "en"


@dataclass(frozen=True)
class Record:
    """A document of the corpus. raw: what mspt is given, bytes where that is a file of its own; naive: what a naive reader makes of it."""

    kind: str
    raw: str | bytes
    naive: str


# --- good texts --------------------------------------------------------------------------------------------------------


def good_texts(data: Path, sets: Sequence[str], characters: int, per_work: int) -> Iterator[Good]:
    """The documents of the sets, cut at line ends into parts of about `characters`; of a work at most `per_work` parts, evenly from all."""
    for name in sets:
        for line in gzip.decompress((data / f"{name}.jsonl.gz").read_bytes()).decode("utf-8").splitlines():
            row = json.loads(line)
            parts = cut(row["text"], characters)
            count = min(per_work, len(parts))
            for i in (k * len(parts) // count for k in range(count)):
                yield Good(f"{row['id']}/{i}", name, ARTICLE.sub("", row["id"]), parts[i])


def cut(text: str, characters: int) -> list[str]:
    """Parts that end at line ends once they have so many characters; the last one may be short."""
    parts: list[str] = []
    size = characters
    for line in text.split("\n"):
        if size >= characters:
            parts.append(line)
            size = len(line)
        else:
            parts[-1] += "\n" + line
            size += len(line) + 1
    return [part for part in parts if len(part) >= characters // 4]


# --- furniture of real pages -------------------------------------------------------------------------------------------


def furniture(data: Path) -> dict[str, list[list[str]]]:
    """By language, for each real page its visible lines that are not in the text that people found on it."""
    found: dict[str, list[list[str]]] = {"zh": [], "en": []}
    for page, gold in _real_pages(data):
        inside = _letters(gold)
        lines = [line for line in visible_text(page).split("\n") if _letters(line) and _letters(line) not in inside]
        if len(lines) >= LEAST_LINES:
            found["zh" if len(HAN.findall("".join(lines))) > len("".join(lines)) / 10 else "en"].append(lines)
    return found


def _real_pages(data: Path) -> Iterator[tuple[str, str]]:
    truth = json.loads((data / "html_article_gold" / "ground-truth.json").read_text(encoding="utf-8"))
    for name, entry in sorted(truth.items()):
        yield _decoded(data / "html_article_gold" / "html" / f"{name}.html.gz"), entry["articleBody"]
    for path in sorted((data / "html_zh_news" / "gold").glob("*.txt")):
        yield _decoded(data / "html_zh_news" / "html" / f"{path.stem}.html.gz"), path.read_text(encoding="utf-8")


def _decoded(path: Path) -> str:
    raw = gzip.decompress(path.read_bytes())
    text = raw.decode("utf-8", "replace")
    return text if text.count("\ufffd") * 500 < len(text) else raw.decode("gb18030", "replace")


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text).lower()


class _Visible(HTMLParser):
    """Text outside script and style; a line for each element that browsers set apart."""

    APART = frozenset(re.findall(r"\w+", "p div li ul ol td tr table h1 h2 h3 h4 br section article nav header footer option title dd dt"))

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.hidden += tag in ("script", "style")
        self.parts.append("\n" if tag in self.APART else "")

    def handle_endtag(self, tag: str) -> None:
        self.hidden = max(0, self.hidden - (tag in ("script", "style")))
        self.parts.append("\n" if tag in self.APART else "")

    def handle_data(self, data: str) -> None:
        if not self.hidden:
            self.parts.append(data)


def visible_text(page: str) -> str:
    """A page without its tags: what a naive reader takes for its text."""
    parser = _Visible()
    parser.feed(page)
    parser.close()
    lines = ("".join(parser.parts)).split("\n")
    return "\n".join(line for line in (re.sub(r"\s+", " ", line).strip() for line in lines) if line)


# --- what happens to them ----------------------------------------------------------------------------------------------


def corpus(texts: Sequence[Good], pages: Mapping[str, Sequence[Sequence[str]]], seed: int) -> list[Record]:
    """The dirty corpus of these texts, in random order."""
    chooser = random.Random(seed)
    forms: dict[str, Callable[[Good], Record]] = {
        "plain": lambda good: Record("plain", good.text, good.text),
        "page": lambda good: page(good, pages[good.language], chooser),
        "gb18030": in_gb18030,
        "mojibake": lambda good: mojibake(good, chooser),
    }
    records = []
    for good in texts:
        records.append(forms[chooser.choices(list(FORMS), list(FORMS.values()))[0]](good))
        for _ in range(chooser.choice(COPIES) if chooser.random() < COPIED else 0):
            records.append(copy(good, pages[good.language], chooser))
    makers: dict[str, Callable[[Good], str]] = {
        "spam": lambda good: advertisements(good, chooser),
        "numbers": lambda good: numbers(good.language, chooser),
        "menus": lambda good: "\n".join(chooser.choice(pages[good.language])),
    }
    for kind, share in JUNK.items():
        for good in chooser.choices(texts, k=round(share * len(texts))):
            text = makers[kind](good)
            records.append(Record(kind, text, text))
    chooser.shuffle(records)
    return records


def page(good: Good, pages: Sequence[Sequence[str]], chooser: random.Random) -> Record:
    """The text as the article of a page, between the furniture of a real one."""
    lines = chooser.choice(pages)
    middle = chooser.randint(1, len(lines) - 1)
    paragraphs = "\n".join(f"<p>{html.escape(line)}</p>" for line in good.text.split("\n") if line.strip())
    around = [_block(name, part) for name, part in (("header", lines[:middle]), ("footer", lines[middle:]))]
    title = html.escape(good.text.strip().split("\n")[0][:40])
    raw = f"<html><head><title>{title}</title></head><body>\n{around[0]}\n<div class=content>\n{paragraphs}\n</div>\n{around[1]}\n</body></html>"
    return Record("page", raw.encode(), visible_text(raw))


def _block(name: str, lines: Sequence[str]) -> str:
    items = "\n".join(
        f'<li><a href="/{i}.html">{html.escape(line)}</a></li>' if len(line) < 40 else f"<li>{html.escape(line)}</li>" for i, line in enumerate(lines)
    )
    return f"<div class={name}><ul>\n{items}\n</ul></div>"


def in_gb18030(good: Good) -> Record:
    raw = good.text.encode("gb18030")
    return Record("gb18030", raw, raw.decode("utf-8", "replace"))


def mojibake(good: Good, chooser: random.Random) -> Record:
    """Written in one encoding, read in another, stored as UTF-8."""
    written, read = chooser.choice(MISREAD)
    text = good.text.encode(written, "replace").decode(read, "replace")
    return Record("mojibake", text, text)


def copy(good: Good, pages: Sequence[Sequence[str]], chooser: random.Random) -> Record:
    """Again: as it is, with a few words changed, or on another page."""
    way = chooser.choice(("same", "edited", "page"))
    if way == "page":
        again = page(good, pages, chooser)
        return Record("copy", again.raw, again.naive)
    text = good.text if way == "same" else WORD.sub(lambda m: m[0][::-1] if chooser.random() < 0.01 else m[0], good.text)
    return Record("copy", text, text)


def advertisements(good: Good, chooser: random.Random) -> str:
    templates = chooser.sample(SPAM[good.language], chooser.randint(2, 5))
    words = chooser.sample(found, min(3, len(found))) if (found := WORD.findall(good.text)) else ["info"]
    lines = []
    for _ in range(chooser.randint(5, 40)):
        digits = "".join(chooser.choices("0123456789", k=chooser.randint(5, 10)))
        lines.append(chooser.choice(templates).format(k=chooser.choice(words), n=chooser.randint(2, 99), d=digits))
    return "\n".join(lines)


def numbers(language: str, chooser: random.Random) -> str:
    """A table: some columns of counters, codes, measurements and times under their heads."""
    heads = chooser.sample(HEADS[language], chooser.randint(3, 7))
    columns: list[Callable[[int], str]] = [
        lambda row: str(row + 1),
        lambda row: f"{chooser.gauss(50, 20):.1f}",
        lambda row: f"{chooser.randint(1, 9)}0{chooser.randint(100, 9999)}",
        lambda row: f"{chooser.randint(0, 23)}:{chooser.randint(0, 59):02}",
        lambda row: f"{chooser.expovariate(0.001):.0f}",
        lambda row: f"{chooser.random():.3f}",
        lambda row: f"{chooser.choice('GDKTZ')}{chooser.randint(1, 999)}",
    ]
    chosen, mark = [chooser.choice(columns) for _ in heads], chooser.choice((" ", "\t", " | ", ","))
    rows = [mark.join(cell(row) for cell in chosen) for row in range(chooser.randint(15, 80))]
    return "\n".join([mark.join(heads), *rows])


def write(records: Sequence[Record], raw: Path, naive: Path) -> None:
    """KIND.jsonl for each kind (and a folder KIND of files for those that are bytes), and the same names below `naive`."""
    for folder in (raw, naive):
        folder.mkdir(parents=True)
    for kind in sorted({record.kind for record in records}):
        own = [record for record in records if record.kind == kind]
        _write_lines(naive / f"{kind}.jsonl", [record.naive for record in own])
        lines, files = ([record.raw for record in own if isinstance(record.raw, form)] for form in (str, bytes))
        if lines:
            _write_lines(raw / f"{kind}.jsonl", lines)
        for number, content in enumerate(files):
            (raw / kind).mkdir(exist_ok=True)
            (raw / kind / f"{number:05d}.txt").write_bytes(content)


def _write_lines(path: Path, texts: Sequence[str]) -> None:
    path.write_text("".join(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts), encoding="utf-8")

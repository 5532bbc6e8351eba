"""What a page says about itself: title, address, language, date, and whether it declares itself an article."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from lxml import etree

from mspt.core.text.html.blocks import Tree

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
MAX_JSON = 1_000_000  # characters of one JSON-LD script
MAX_JSON_NODES = 5_000
DATE_NAMES = (  # of <meta>, the most exact first
    "article:published_time", "og:published_time", "og:article:published_time", "datepublished", "article:create_at", "pubdate", "publishdate",
    "publish_date", "publish-date", "publication_date", "dc.date.issued", "dcterms.issued", "dc.date", "dcterms.created", "dcterms.date", "dc.date.created",
    "parsely-pub-date", "sailthru.date", "cxenseparse:recs:publishtime", "weibo:article:create_at", "apub:time", "createdate", "created", "date",
)  # fmt: skip
ARTICLE_TYPES = frozenset({"NewsArticle", "ReportageNewsArticle", "AnalysisNewsArticle", "OpinionNewsArticle", "BlogPosting", "LiveBlogPosting", "Report"})
THREAD_TYPES = frozenset({"QAPage", "DiscussionForumPosting", "Question"})
DATED_TYPES = ARTICLE_TYPES | THREAD_TYPES | {"Article", "TechArticle", "ScholarlyArticle", "WebPage", "Recipe", "SocialMediaPosting"}
THREAD_SOFTWARE = re.compile(r"discuz|phpbb|vbulletin|phpwind|xenforo|discourse|flarum|invision|nodebb|mybb|simple machines", re.IGNORECASE)

YEAR = r"(?P<year>(?:19[89]|20[0-9])\d)"
ZONE = r"(?P<zone>Z|[+-]\d\d:?\d\d)"
CLOCK = rf"(?P<hour>[01]?\d|2[0-3])[:：时時点](?P<minute>[0-5]\d)(?:[:：分](?P<second>[0-5]\d))?(?:\.\d{{1,9}})?\s?{ZONE}?"
TIME = rf"(?:[T\s\u3000日,，]{{0,3}}{CLOCK})?"
NUMERIC = re.compile(rf"(?<!\d){YEAR}\s?(?:[-/.]|年)\s?(?P<month>1[0-2]|0?[1-9])\s?(?:[-/.]|月)\s?(?P<day>3[01]|[12]\d|0?[1-9])(?!\d)\s?日?{TIME}")
COMPACT = re.compile(rf"^{YEAR}(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])(?:T?(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?P<second>[0-5]\d)?)?$")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = rf"(?P<name>{'|'.join(MONTHS)})[a-z]{{0,6}}\.?"
DAY = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
WORDED = (
    re.compile(rf"\b{MONTH} {DAY},? {YEAR}(?!\d)", re.IGNORECASE),
    re.compile(rf"(?<!\d){DAY} {MONTH},? {YEAR}(?!\d)", re.IGNORECASE),
)
MAX_DATE_LINE = 160  # characters of a line that states a date; a longer one, and one with sentences, tells of days
SENTENCE = re.compile(r"[。！？]|[a-z][.!?](?:\s|$)")
DATE_BEFORE, DATE_AFTER = 12, 6  # blocks around the beginning of the main text where that line is looked for


class Head:
    """The statements of <head>, JSON-LD and the root element.

    title: og:title, else <title>; headline: the title where metadata of their own state it (og:title, twitter:title, JSON-LD), "" where only
    <title> does, which names the site too; is_article, is_thread: declared kinds; dates: stated publication dates as written, best first.
    """

    def __init__(self, root: etree._Element) -> None:
        meta: dict[str, str] = {}
        for element in root.iter("meta"):
            key = (element.get("property") or element.get("name") or element.get("itemprop") or element.get("http-equiv") or "").lower()
            meta.setdefault(key, " ".join((element.get("content") or "").split()))
        things = list(_structured(root))
        title = next(root.iter("title"), None)
        self.title = meta.get("og:title") or (" ".join("".join(map(str, title.itertext())).split()) if title is not None else "")
        self.headline = meta.get("og:title") or meta.get("twitter:title") or next(_strings(things, "headline", ARTICLE_TYPES), "")
        canonical = (link.get("href") or "" for link in root.iter("link") if (link.get("rel") or "").lower() == "canonical")
        addresses = [address.strip() for address in (next(canonical, ""), meta.get("og:url", "")) if address.strip()]
        self.url = next((address for address in addresses if "://" in address), addresses[0] if addresses else "")
        languages = (root.get("lang"), root.get("xml:lang"), root.get(XML_LANG), meta.get("content-language"), meta.get("og:locale"))
        self.lang = next((language.strip() for language in languages if language and language.strip()), "")
        types = {name for thing in things for name in _types(thing)}
        self.is_article = meta.get("og:type", "").lower() in ("article", "news") or not types.isdisjoint(ARTICLE_TYPES)
        self.is_thread = not types.isdisjoint(THREAD_TYPES) or bool(THREAD_SOFTWARE.search(meta.get("generator", "")))
        self.body = max(_strings(things, "articleBody", DATED_TYPES), key=len, default="")
        self.dates = [meta[name] for name in DATE_NAMES if meta.get(name)] + list(_strings(things, "datePublished", DATED_TYPES))


def find_date(head: Head, root: etree._Element, tree: Tree, start: int) -> str:
    """The publication date as ISO 8601, with the time and zone where they are stated; "" for none.

    Asked in this order: metadata, <time> elements, the line with a date nearest the beginning of the main text (block `start`).
    """
    stamps = (element.get("datetime") or element.get("content") or element.text or "" for element in _time_elements(root))
    lines = (tree.blocks[index].text for index in _around(start, len(tree.blocks)))
    candidates = (*head.dates, *stamps, *(line for line in lines if len(line) <= MAX_DATE_LINE and not SENTENCE.search(line)))
    return next(filter(None, map(read_date, candidates)), "")


def read_date(text: str) -> str:
    """The first date in a short text, as ISO 8601; "" for none."""
    text = text.strip()[:MAX_DATE_LINE]
    found = COMPACT.match(text) or NUMERIC.search(text)
    if found is None:
        found = next((match for pattern in WORDED if (match := pattern.search(text))), None)
    return _iso(found.groupdict()) if found else ""


def _iso(parts: dict[str, str | None]) -> str:
    month = parts.get("month") or str(MONTHS.index((parts["name"] or "")[:3].lower()) + 1)
    try:
        day = date(int(parts["year"] or 0), int(month), int(parts["day"] or 0))
    except ValueError:  # 30 February
        return ""
    if not parts.get("hour"):
        return day.isoformat()
    moment = datetime(day.year, day.month, day.day, int(parts["hour"] or 0), int(parts["minute"] or 0), int(parts["second"] or 0))
    zone = parts.get("zone") or ""
    zone = f"{zone[:3]}:{zone[3:]}" if len(zone) == 5 else zone
    return moment.isoformat(timespec="seconds" if parts.get("second") else "minutes") + zone


def _time_elements(root: etree._Element) -> Iterator[etree._Element]:
    """Elements that state the date of publication, those that say so first; then the first <time> of the page."""
    times = list(root.iter("time"))
    yield from (element for element in times if element.get("pubdate") is not None or "datePublished" in (element.get("itemprop") or ""))
    yield from (element for element in times[:1] if element.get("datetime"))


def _around(start: int, num_blocks: int) -> Iterator[int]:
    """Indices from the beginning of the main text upwards, then downwards."""
    yield from range(min(start, num_blocks) - 1, max(-1, start - 1 - DATE_BEFORE), -1)
    yield from range(start, min(num_blocks, start + DATE_AFTER))


def _structured(root: etree._Element) -> Iterator[dict[str, Any]]:
    """All objects of the page's JSON-LD; what does not parse is left out."""
    for script in root.iter("script"):
        if "ld+json" not in (script.get("type") or "") or not script.text or len(script.text) > MAX_JSON:
            continue
        try:
            waiting = deque([json.loads(script.text, strict=False)])
        except (ValueError, RecursionError):
            continue
        for _ in range(MAX_JSON_NODES):
            if not waiting:
                break
            node = waiting.popleft()
            if isinstance(node, dict):
                yield node
                waiting += [value for value in node.values() if isinstance(value, dict | list)]
            elif isinstance(node, list):
                waiting += [value for value in node if isinstance(value, dict | list)]


def _types(thing: dict[str, Any]) -> list[str]:
    kind = thing.get("@type", "")
    return [name.rsplit("/", 1)[-1] for name in (kind if isinstance(kind, list) else [kind]) if isinstance(name, str)]


def _strings(things: list[dict[str, Any]], key: str, types: frozenset[str]) -> Iterator[str]:
    for thing in things:
        value = thing.get(key)
        if isinstance(value, str) and value.strip() and not types.isdisjoint(_types(thing)):
            yield value.strip()

"""Parts that are cut out of documents that stay: notices and footers of web pages, filler, rows of links, encoded data; of code its licence header.

Conservative: a notice is cut only as a line of its own, no longer than a notice is, that says it in so many words; whoever writes *about* cookies or
JavaScript keeps the sentence (C4 drops every line with the word "javascript"). Of code nothing is cut but a long licence header.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from mspt.core.text.rules.code_rules import licence_header
from mspt.core.text.rules.measures import FILLER_WORDS, is_filler
from mspt.core.text.rules.signs import Signs, find_signs

MAX_NOTICE = 300  # characters of a line that can be a notice
MAX_FOOTER = 120
FOOTER_REACH = 2000  # characters from both ends of a page in which its footers are looked for
MIN_ADDRESSES = 3  # lines in a row that are nothing but an address
MAX_TOKEN = 1000  # of a token that stays: C4's code (tensorflow_datasets, c4_utils, max_word_length) drops the line
MIN_ENCODED, MIN_ENCODED_LINES = 40, 3  # characters of a line of base64 (PGP and PEM have 64, mail 76), and such lines in a row
MIN_REST, HAN_LETTERS = 200, 3  # letters that must be left of a text, a Han character being so many: what is little more than a token the rules judge


class Cut(NamedTuple):
    """A part to cut: [start, end) in code points, with its line end where it is a whole line; and the rule."""

    start: int
    end: int
    rule: str


JAVASCRIPT_SIGNS = (
    r"(?:please|you(?:'ll)? (?:need|must|have)|make sure|try)\b[^.!?]{0,40}"
    r"\b(?:enabl|turn(?:ing)? on|activat|allow|switch on)\w*\s+(?:your browser's )?javascript",
    r"javascript\b[^.!?]{0,30}\b(?:is|are|must be|has to be|have to be|appears to be|seems to be|needs to be|to be)\s+(?:currently )?"
    r"(?:disabled|enabled|turned o(?:ff|n)|required|needed|not (?:enabled|supported|available))",
    r"(?:this|our|the) (?:\w+ )?(?:site|page|website|app|application|content|form|feature|viewer|video|comments?)\b[^.!?]{0,40}"
    r"\b(?:requires?|needs?|relies on|works best with)\s+javascript",
    r"^\W*(?:enable|turn on) javascript\b|browser (?:does not|doesn't|do not) support javascript",
    r"(?:请|請)(?:先|您|在[^。]{0,10})?(?:启用|啟用|开启|開啟|打开|打開|允许|允許)[^。]{0,12}javascript",
    r"javascript[^。]{0,8}(?:被禁用|已禁用|未启用|未開啟|未开启|未啟用|被停用|已停用|不可用)",
    r"(?:不支持|不支援|禁用了|停用了|关闭了|關閉了|未启用|未啟用|需要启用|需要啟用)\s{0,3}javascript",
)
JAVASCRIPT = re.compile("|".join(JAVASCRIPT_SIGNS), re.IGNORECASE)
COOKIE_SIGNS = (
    r"\b(?:we|this (?:web)?site|our (?:web)?site|this page|our partners)\b[^.!?]{0,60}\buses? [^.!?]{0,30}cookies",
    r"\bby (?:continuing|using|browsing|closing|clicking|staying|visiting)\b[^.!?]{0,100}\b(?:agree|consent|accept)\w*\b[^.!?]{0,60}cookies",
    r"^\W*(?:accept|allow|reject|decline|manage)(?: all)? cookies\W*$|^\W*cookies? (?:policy|settings|preferences|consent|notice)\W*$",
    r"(?:本站|本网站|本網站|我们|我們|本页面|本頁面)[^。]{0,20}使用[^。]{0,6}cookie|(?:继续|繼續)[^。]{0,16}(?:同意|接受)[^。]{0,16}cookie",
    r"^\W*(?:接受|允许|允許|拒绝|拒絕|管理)(?:所有|全部)?\s?cookies?\W*$|^\W*cookies?\s?(?:设置|設定|政策|偏好)\W*$",
)
COOKIES = re.compile("|".join(COOKIE_SIGNS), re.IGNORECASE)
QUESTION = re.compile(r"[?？]\W*$|如何|怎")  # a heading of a text about cookies
FOOTER_ITEMS = (
    r"terms(?: (?:of (?:use|service)|and conditions|& conditions))?|privacy(?: (?:policy|notice|statement))?|cookie (?:policy|settings)|legal notice",
    r"contact(?: us)?|about(?: us)?|site ?map|advertis(?:e|ing)(?: with us)?|help|faq|careers|feedback|accessibility|home",
    r"log ?in|sign (?:in|up)|register|subscribe|(?:copyright )?(?:©|\(c\))? ?(?:19|20)\d\d|all rights reserved",
    r"关于我们|關於我們|联系我们|聯絡我們|聯繫我們|隐私(?:政策|声明|权政策)|隱私(?:政策|聲明|權政策)|使用条款|使用條款|服务条款|服務條款",
    r"法律声明|法律聲明|免责声明|免責聲明|网站地图|網站地圖|广告服务|廣告服務|诚聘英才|友情链接|友情連結|加入收藏|设为首页|帮助中心|意见反馈",
    r"返回顶部|返回頂部|首页|首頁|登录|登入|注册|註冊|版权所有|版權所有",
)
FOOTER = re.compile(rf"(?:(?:{'|'.join(FOOTER_ITEMS)})[\s|｜/·•,，.。-]{{0,4}}){{2,12}}", re.IGNORECASE)
FOOTER_SIGNS = {  # by the name in signs.py
    "ICP": ("ICP",),
    "privacy": ("rivacy", "RIVACY"),
    "terms": ("erms",),
    "contact": ("ontact", "ONTACT"),
    "about us": ("bout us", "bout Us"),
    "我们": ("我们", "我們"),
    "条款": ("条款", "條款"),
    "版权所有": ("版权所有", "版權所有"),
    "登录": ("登录", "登入"),
}
PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
RECORD_NUMBER = re.compile(rf"[^。！？]{{0,60}}[{PROVINCES}][A-Z]{{0,2}}ICP[备证]\s?\d{{5,9}}号[^。！？]{{0,60}}")
ADDRESS = re.compile(r"[ \t]*(?:[-*+•] +)?<?(?:[a-z]{2,10}://|www\.)[!-~]+>?[ \t]*", re.IGNORECASE)
BADGES = re.compile(r"[ \t]*(?:\[!\[[^\[\]\n]{0,200}\]\([^()\n]{0,1000}\)\]\([^()\n]{0,1000}\)[ \t]*){1,20}")
LINK_ROW = re.compile(r"[ \t]*(?:\[[^\[\]\n]{1,60}\]\([^()\n]{0,1000}\)[ \t]*[|｜·•/][ \t]*){1,40}\[[^\[\]\n]{1,60}\]\([^()\n]{0,1000}\)[ \t]*[|｜]?[ \t]*")
WIDE = "\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f"
WIDE_CHARACTER = re.compile(f"[{WIDE}]")
TOKEN = re.compile(rf"(?<![^\s{WIDE}])[^\s{WIDE}]{{{MAX_TOKEN + 1},}}+")

_ENCODED_LINE = rf"[ \t>]{{0,8}}[A-Za-z0-9+/]{{{MIN_ENCODED},}}+={{0,2}}[ \t]*"
_ENCODED = rf"(?:{_ENCODED_LINE}\n){{{MIN_ENCODED_LINES - 1},}}{_ENCODED_LINE}(?:\n[ \t>]{{0,8}}[A-Za-z0-9+/]+={{1,2}}[ \t]*)?(?=\n|\Z)"
ENCODED_HEAD, ENCODED = re.compile(_ENCODED), re.compile("\n" + _ENCODED)  # a pattern that begins with a letter is searched ten times as fast
MIXED = tuple(re.compile(kind) for kind in ("[a-z]", "[A-Z]", "[0-9]"))  # letters of genes and hexadecimal digits are something else


def cut_lines(text: str, *, form: str = "prose") -> list[Cut]:
    """What to cut out of normalised `text`, in order, without overlap. form: of form.py; only prose and code have anything cut."""
    if form == "code":
        header = licence_header(text)
        return [Cut(*header, "licence-header")] if header else []
    if form != "prose":
        return []
    signs = find_signs(text)
    return _in_order(text, _found(text, signs)) if signs.names or signs.longest_token >= MIN_ENCODED else []


def without_cuts(text: str, cuts: list[Cut]) -> str:
    """`text` less the cuts."""
    borders = [0, *(border for cut in cuts for border in (cut.start, cut.end)), len(text)]
    return "".join(text[start:end] for start, end in zip(borders[::2], borders[1::2], strict=True))


def _found(text: str, signs: Signs) -> Iterator[Cut]:
    names = signs.names
    if "javascript" in names:
        for start, end in _lines_with(text, ("avaScript", "avascript", "AVASCRIPT"), MAX_NOTICE):
            if JAVASCRIPT.search(text[start:end]):
                yield Cut(start, end, "javascript-required")
    if "cookie" in names:
        for start, end in _lines_with(text, ("ookie", "OOKIE"), MAX_NOTICE):
            if COOKIES.search(text[start:end]) and not QUESTION.search(text[start:end]):
                yield Cut(start, end, "cookie-notice")
    if "ipsum" in names:
        for start, end in _lines_with(text, FILLER_WORDS):
            if is_filler(text[start:end]):
                yield Cut(start, end, "lorem-ipsum")
    if "link" in names:
        for start, end in _lines_with(text, ("](",)):
            if text[start] not in "[ \t":  # most links stand in sentences and lists
                continue
            if BADGES.fullmatch(text, start, end) or LINK_ROW.fullmatch(text, start, end):
                yield Cut(start, end, "links-only")
    if not names.isdisjoint(FOOTER_SIGNS):
        yield from _footers(text, tuple(word for name, words in FOOTER_SIGNS.items() if name in names for word in words))
    if "://" in names or "www." in names:
        yield from _addresses(text)
    if signs.longest_token >= MIN_ENCODED:
        yield from _encoded_lines(text)
    if signs.longest_token > MAX_TOKEN:
        yield from _long_tokens(text)


def _footers(text: str, signs: tuple[str, ...]) -> Iterator[Cut]:
    """Rows of a site's own links, and registration numbers, near both ends of a page."""
    for part in {(0, min(len(text), FOOTER_REACH)), (max(0, len(text) - FOOTER_REACH), len(text))}:
        for start, end in _lines_with(text, signs, MAX_FOOTER, *part):
            if FOOTER.fullmatch(text[start:end].strip(" \t|｜-·•")) or RECORD_NUMBER.fullmatch(text, start, end):
                yield Cut(start, end, "footer")


def _lines_with(text: str, signs: tuple[str, ...], longest: int = sys.maxsize, first: int = 0, last: int = sys.maxsize) -> Iterator[tuple[int, int]]:
    """The lines of at most `longest` characters that hold one of the signs, which are quick to find, in text[first:last]; each once for each sign at most."""
    for sign in signs:
        place = text.find(sign, first, last)
        while place >= 0:
            start, end = text.rfind("\n", 0, place) + 1, text.find("\n", place)
            end = end if end >= 0 else len(text)
            if end - start <= longest:
                yield start, end
            place = text.find(sign, end, last)


def _addresses(text: str) -> Iterator[Cut]:
    """Runs of lines that are nothing but an address; blank lines between them do not end a run."""
    run: list[tuple[int, int]] = []
    for start, end in _lines_with(text, ("://", "www.")):
        if not ADDRESS.fullmatch(text, start, end):
            continue
        if run and (start <= run[-1][0] or text[run[-1][1] : start].strip()):
            yield from _run(run)
            run = []
        run.append((start, end))
    yield from _run(run)


def _run(lines: list[tuple[int, int]]) -> Iterator[Cut]:
    if len(lines) >= MIN_ADDRESSES:
        yield from (Cut(start, end, "links-only") for start, end in lines)


def _encoded_lines(text: str) -> Iterator[Cut]:
    """Lines of base64: keys, signatures, files in mails."""
    head = ENCODED_HEAD.match(text)
    for match in (*([head] if head else []), *ENCODED.finditer(text)):
        if all(kind.search(match[0]) for kind in MIXED):
            yield Cut(match.start() + match[0].startswith("\n"), match.end(), "encoded-lines")


def _long_tokens(text: str) -> Iterator[Cut]:
    """Tokens of more than MAX_TOKEN characters that are no links: data that somebody pasted, images as base64."""
    letters = len(text) + (HAN_LETTERS - 1) * len(WIDE_CHARACTER.findall(text))
    for match in TOKEN.finditer(text):
        if "://" not in match[0][:MAX_TOKEN] and letters - len(match[0]) >= MIN_REST and any(map(str.isalnum, match[0][:MAX_TOKEN])):
            yield Cut(*match.span(), "long-token")


def _in_order(text: str, found: Iterator[Cut]) -> list[Cut]:
    """Sorted, without overlaps (the first to start stays), whole lines with their line end."""
    cuts: list[Cut] = []
    reach = 0
    for start, end, rule in sorted(set(found)):
        if start < reach:
            continue
        is_line = (start == 0 or text[start - 1] == "\n") and (end == len(text) or text[end] == "\n")
        if is_line:
            end = min(end + 1, len(text))
        cuts.append(Cut(start, end, rule))
        reach = end
    return cuts

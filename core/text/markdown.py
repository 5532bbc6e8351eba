"""Whether text is Markdown beyond doubt: two kinds of its marks at least, of which comments of programs and plain lists show one at most."""

from __future__ import annotations

import re

# A heading stands alone: a comment is followed by the line that it is about.
HEADING = re.compile(rb"(?:\A|\n[ \t]*\r?\n)#{1,6}[ \t]{1,4}[^\s#][^\n]{0,300}\n[ \t]*\r?\n")
FENCE = re.compile(rb"(?m)^ {0,3}(?:```|~~~)[ \t]*[\w+#.{}-]{0,30}[ \t]*\r?$")
LINK = re.compile(rb"\]\((?:https?://|mailto:|\.{0,2}/|#|[\w.%/-]{1,200}\.(?:md|html?|png|jpe?g|gif|svg)\b)[^()\s]{0,500}")
TABLE = re.compile(rb"(?m)^[ \t]{0,3}\|?[ \t]{0,20}:?-{3,100}:?[ \t]{0,20}\|[ \t|:-]{0,500}\r?$")
BOLD = re.compile(rb"(?<![\w*\\/])\*\*[^\s*][^*\n]{0,200}\*\*(?![\w*])")
ITEM = re.compile(rb"(?m)^ {0,3}[-*+][ \t]{1,3}[^\s-]")

FENCED = re.compile(rb"(?ms)^[ \t]*(```|~~~).*?^[ \t]*\1")
CODE = re.compile(
    rb"(?m)^[ \t]*(?:(?:def|class|import|from|return|elif|raise|assert|endif|set|message)\b[ (\w.]|@\w"
    rb"|[\w.]{1,60}(?:\[[^\]\n]{0,60}\])? [+*/-]?= \S|[^\n]{0,300}(?:[;{}]|\):)[ \t]*\r?$)"
)
LINE = re.compile(rb"(?m)^[^\n]*\S")

MIN_ITEMS = 3
MAX_CODE_SHARE = 0.15  # of the lines outside fences; programs that quote Markdown in their comments have .17 and more (site-packages)


def is_markdown(head: bytes) -> bool:
    """Whether `head` (in an encoding that keeps ASCII) is Markdown."""
    structure = (
        b"#" in head and HEADING.search(head) is not None,
        (b"```" in head or b"~~~" in head) and len(FENCE.findall(head)) > 1,
        b"|" in head and b"--" in head and TABLE.search(head) is not None,
    )
    if not any(structure):
        return False
    inline = (LINK.search(head) is not None, b"**" in head and BOLD.search(head) is not None and len(ITEM.findall(head)) >= MIN_ITEMS)
    if sum(structure) + sum(inline) < 2:
        return False
    rest = FENCED.sub(b"", head)
    return len(CODE.findall(rest)) <= MAX_CODE_SHARE * len(LINE.findall(rest))

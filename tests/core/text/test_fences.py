"""Fenced blocks as a pattern of Markdown's fences says."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mspt.core.text.form import fenced_blocks

FENCE = re.compile(r"^ {0,12}(`{3}|~{3})[`~]*([^\n]*?)[ \t\r]*$", re.MULTILINE)
lines = st.sampled_from(
    [
        "```",
        "~~~",
        "````",
        "```python",
        "~~~ \t",
        "```\r",
        "~~~\r",
        "   ```  ",
        f"{' ' * 12}```",
        f"{' ' * 13}```",
        "``",
        "`~`",
        "~~",
        "\t```",
        "x ```",
        "x",
        "",
        "中文",
    ]
)


@settings(deadline=None)
@given(st.lists(lines, max_size=12).map("\n".join))
@example("```\nx\n```")
@example("~~~\n```\n~~~\n```\n")
def test_blocks_are_between_fences_of_one_kind(text: str) -> None:
    expected, opened = [], None
    for fence in FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence[1] == opened[1] and not fence[2]:
            expected.append((opened.start(), fence.end()))
            opened = None
    assert fenced_blocks(text) == expected

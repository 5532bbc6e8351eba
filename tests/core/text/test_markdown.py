from __future__ import annotations

import gzip
import json
import sysconfig
from pathlib import Path

import pytest

from mspt.core.text.containers.sniff import HEAD_BYTES
from mspt.core.text.markdown import is_markdown


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nText with a [link](https://example.org/x).\n",
        "# 安装\n\n```bash\npip install x\n```\n\n## 用法\n\n文字。\n",
        "# T\r\n\r\n| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n",
        "Some text.\n\n## Part\n\n- **one**: x\n- two\n- three\n",
    ],
)
def test_two_kinds_of_marks_are_markdown(text):
    assert is_markdown(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nx = 1\n\n# another\ny = 2\n",
        "- one\n- two\n- three\n",
        "A text with a [link](https://example.org/) and nothing else.\n",
        "#!/bin/sh\n\n# Build\n\nset -e\nmake\n",
        "Title\n=====\n\n.. note:: reStructuredText\n\n``code``\n",
        "data[key](argument)\n\n# run\n\ntable[0](x)\n",
        'def f():\n    """Does it.\n\n    # Examples\n\n    ```\n    f()\n    ```\n    """\n    x = f()\n    return x\n\n# end\n\nclass A:\n    pass\n',
    ],
)
def test_one_kind_or_a_program_is_not(text):
    assert not is_markdown(text.encode())


def test_real_documentation_is_told_from_restructured_text(shared):
    found = {"md": [0, 0], "rst": [0, 0]}
    for name in ("en_techdocs", "zh_techdocs"):
        with gzip.open(shared / f"data/{name}.jsonl.gz") as file:
            for line in file:
                value = json.loads(line)
                counts = found[value["id"].rsplit(".", 1)[1]]
                counts[is_markdown(value["text"].encode()[:HEAD_BYTES])] += 1
    assert found["rst"][1] == 0
    assert found["md"][1] >= 0.97 * sum(found["md"])


def test_no_program_of_the_standard_library_is_markdown():
    folder = Path(sysconfig.get_paths()["stdlib"])
    assert [path.name for path in sorted(folder.glob("*.py")) if is_markdown(path.read_bytes()[:HEAD_BYTES])] == []


def test_hostile_heads_take_linear_time():
    for piece in (b"```\n~~~\n", b"# ", b"|-", b"[a](", b"** ", b" " * 100, b"\n# x\n\n", b"x = [", b"[[[[", b"-" * 50 + b"\n"):
        is_markdown((piece * HEAD_BYTES)[:HEAD_BYTES])

"""`mspt show score`: histograms, quantiles, example lines of each tenth, low blocks; and the image."""

from __future__ import annotations

import pytest
from PIL import Image

from mspt.cli.views import chart
from mspt.cli.views.quality import line_of, sparkline
from support.given import given
from support.inline import work_inline
from support.scorers import score_by_length
from support.shelf import look, look_json

BLUE, ORANGE, WHITE = (65, 120, 168), (196, 83, 45), (255, 255, 255)


def text(length: int) -> str:
    """A text of so many characters: a short line, a long one in the middle that names its length, a short one."""
    line = f"the middle of {length} characters: write to ann@example.com today "
    return ("a\n" + line.ljust(length - 4, "x") + "\nb").ljust(length, "\n")


@pytest.fixture
def made(workspace, monkeypatch):
    """Twenty documents of quality 0.11, 0.15, ... 0.87, the first twelve from `web`."""
    work_inline(monkeypatch)
    score_by_length(monkeypatch)
    monkeypatch.setenv("COLUMNS", "110")
    rows = [{"ref": f"r{i:02d}", "text": text(110 + 40 * i), "source": "web" if i < 12 else "books", "lang": "en" if i % 2 else "zh-Hans"} for i in range(20)]
    given(workspace, rows, shards=3, dropped=["r19"])
    return workspace.run("score", {"workers": 1, "block_documents": 4, "low_block": 0.3}, references={"docs": "given"})


def lines_below(out: str, title: str) -> list[list[str]]:
    lines = out[out.index(title) :].splitlines()
    start = next(i for i, line in enumerate(lines) if "──" in line)
    return [line.split() for line in lines[start + 1 :][: next(i for i, line in enumerate(lines[start + 1 :]) if not line.strip())]]


def test_histogram_and_quantiles(capsys, workspace, made):
    _, out, _ = look(capsys, workspace, "show", "score")
    # .11 .15 .19 | .23 .27 | .31 .35 .39 | .43 .47 | .51 .55 .59 | .63 .67 | .71 .75 .79 | .83; .87 was dropped
    assert [line[3] for line in lines_below(out, "quality of 19 documents")] == ["0", "3", "2", "3", "2", "3", "2", "3", "1", "0"]
    web = next(line for line in lines_below(out, "quality by source") if line[0] == "web")
    assert (web[1], web[-5:]) == ("12", ["0.11", "0.19", "0.31", "0.43", "0.55"])  # ranks 1, 3, 6, 9, 12 of 12
    assert [line[:2] for line in lines_below(out, "quality by language")] == [["en", "9"], ["zh-Hans", "10"]]
    assert "weights by source" in out


def test_narrow_terminals_lose_quantiles_but_no_letters(capsys, workspace, made, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = look(capsys, workspace, "show", "score")
    web = next(line for line in lines_below(out, "quality by source") if line[0] == "web")
    assert web[-3:] == ["0.11", "0.31", "0.55"]
    assert max(map(len, out[out.index("quality of") : out.index("to clean")].splitlines())) <= 80


def test_example_lines_of_each_tenth_are_redacted(capsys, workspace, made):
    found = look_json(capsys, workspace, "show", "score")["tenths"]
    assert [tenth["tenths"] for tenth in found] == [[i, i] for i in range(1, 11)]
    bounds = [0.15, 0.23, 0.31, 0.39, 0.47, 0.55, 0.63, 0.71, 0.79]  # ranks 2, 4, 6, ... 18 of 19: ceil(1.9), ceil(3.8), ...
    assert [tenth["to"] for tenth in found] == [*bounds, 1.0]
    for tenth in found:
        (row,) = tenth["examples"]
        assert tenth["above"] < row["quality"] <= tenth["to"]
        assert row["text"].startswith(f"the middle of {round(1000 * row['quality'])} characters: write to [email]")
    assert look_json(capsys, workspace, "show", "score")["tenths"] == found
    _, out, _ = look(capsys, workspace, "show", "score")
    assert "ann@" not in out
    assert [line[0] for line in lines_below(out, "example lines")] == [str(i) for i in range(1, 11)]


def test_tenths_that_share_a_value_fall_together(capsys, workspace, made):
    given(workspace, [{"ref": str(i), "text": "word " * (200 if i else 20), "source": "s", "lang": "en"} for i in range(20)])
    workspace.run("score", {"workers": 1}, references={"docs": "given"})
    found = look_json(capsys, workspace, "show", "score")["tenths"]
    assert [(tenth["tenths"], tenth["to"], len(tenth["examples"])) for tenth in found] == [([1, 9], 1.0, 1)]
    _, out, _ = look(capsys, workspace, "-v", "show", "score")
    assert len(lines_below(out, "example lines")) == 4


def test_low_blocks_and_their_command(capsys, workspace, made):
    _, out, _ = look(capsys, workspace, "show", "score")
    # books: .59 .63 .67 .71 | .75 .79 .83; web: .11 .15 .19 .23 | .27 .31 .35 .39 | .43 .47 .51 .55
    assert [line[:5] for line in lines_below(out, "blocks of 4 documents in a row: 1 of 5 below 0.3")] == [["2", "web", "4", "680", "0.170"]]
    assert f"mspt --workspace {workspace.path} clean --docs score@v1 --name clean-strict --profile strict --where 'block_quality < 0.3'" in out
    assert "--where 'block == 2'" in out


def test_sparkline_by_hand():
    assert sparkline([0, 1, 50, 100]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "


def test_line_of_a_text():
    assert line_of("short\nthe first line of some length\nbrief") == "the first line of some length"
    assert line_of("one line of some length here\n1\n2\n3") == "one line of some length here"
    assert line_of("") == ""


# --- the image ---------------------------------------------------------------------------------------------------------


def test_bars_of_the_image(capsys, workspace, made, tmp_path):
    code, _, error = look(capsys, workspace, "show", "score", "--png", str(tmp_path / "quality.png"))
    assert (code, "quality.png" in error) == (0, True)
    image = Image.open(tmp_path / "quality.png").convert("RGB")
    left, top = chart.MARGIN, chart.TITLE_HEIGHT + chart.SECTION_HEIGHT
    base = top + chart.PANEL_HEIGHT - chart.SCALE_HEIGHT
    step = chart.PANEL_WIDTH / 20
    counts = made.stats["quality_histograms"]["all"]
    assert (sum(counts), max(counts), len(counts)) == (19, 2, 20)
    for i, number in enumerate(counts):
        x = left + round((i + 0.25) * step)
        assert (image.getpixel((x, base - 2)) == BLUE) == (number > 0)
        middle = base - (base - top - chart.NAME_HEIGHT) // 4 * 3
        assert (image.getpixel((x, middle)) == BLUE) == (number == 2)
    assert image.getpixel((left + round(0.47 * chart.PANEL_WIDTH), top + chart.NAME_HEIGHT + 1)) == ORANGE  # rank 10 of 19


def test_an_image_of_something_else_is_refused(capsys, workspace, made, tmp_path):
    code, _, error = look(capsys, workspace, "show", "given", "--png", str(tmp_path / "a.png"))
    assert (code, "no histograms" in error) == (2, True)
    code, _, error = look(capsys, workspace, "show", "score", "--png", str(tmp_path / "missing" / "a.png"))
    assert (code, "no directory" in error) == (2, True)


def test_names_that_no_font_has_are_escaped(monkeypatch):
    monkeypatch.setattr(chart, "CHINESE", ())
    chart._chinese_font.cache_clear()
    assert chart._font_for("新闻 a", 20)[1] == "\\u65b0\\u95fb a"
    chart._chinese_font.cache_clear()

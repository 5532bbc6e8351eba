"""Histograms as an image: a panel for all documents, one for each source and one for each language, drawn with Pillow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from mspt.core.errors import MachineError, MsptError
from mspt.core.files import atomic_path

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont, ImageFont

COLUMNS = 3
PANEL_WIDTH, PANEL_HEIGHT, GAP, ROW_GAP, MARGIN = 440, 220, 65, 40, 65  # pixels
NAME_HEIGHT, SCALE_HEIGHT, SECTION_HEIGHT, TITLE_HEIGHT = 34, 28, 60, 70
INK, FAINT, GRID, BAR, MEDIAN = "#1f2933", "#66727f", "#d9dee3", "#4178a8", "#c4532d"
NOT_LATIN = re.compile("[^\\x20-\\u024f]")
# Fonts with Chinese, as systems ship them; Pillow's own has Latin letters only.
CHINESE = ("NotoSansCJK-Regular.ttc", "wqy-microhei.ttc", "wqy-zenhei.ttc", "DroidSansFallbackFull.ttf", "PingFang.ttc", "msyh.ttc", "simhei.ttf")


@dataclass(frozen=True)
class Panel:
    """counts: documents in equal bins over 0 to 1; median: None without documents."""

    name: str
    counts: Sequence[int]
    median: float | None


@dataclass(frozen=True)
class Section:
    title: str
    panels: Sequence[Panel]
    note: str = ""  # what was left out


def write_png(path: Path, title: str, sections: Sequence[Section]) -> None:
    """Writes the image whole. MsptError where the place is no file that can be written."""
    from PIL import Image, ImageDraw

    width = 2 * MARGIN + COLUMNS * PANEL_WIDTH + (COLUMNS - 1) * GAP
    image = Image.new("RGB", (width, TITLE_HEIGHT + MARGIN + sum(map(_height, sections))), "white")
    draw = ImageDraw.Draw(image)
    _write(draw, (MARGIN, 36), title, 28)
    top = TITLE_HEIGHT
    for section in sections:
        _draw_section(draw, section, top, width)
        top += _height(section)
    if not path.parent.is_dir():
        raise MsptError(f"{path.parent} is no directory", "make it first, or choose another place for the image")
    try:
        with atomic_path(path) as temporary:
            image.save(temporary, "PNG", optimize=True)
    except OSError as error:
        raise MachineError(f"{path} cannot be written: {error.strerror or error}", "choose another place for the image") from None


def _height(section: Section) -> int:
    return SECTION_HEIGHT + -(-len(section.panels) // COLUMNS) * (PANEL_HEIGHT + ROW_GAP)


def _draw_section(draw: ImageDraw, section: Section, top: int, width: int) -> None:
    draw.line((MARGIN, top + 12, width - MARGIN, top + 12), GRID, 2)
    _write(draw, (MARGIN, top + 26), section.title, 22, FAINT)
    if section.note:
        _write(draw, (width - MARGIN, top + 26), section.note, 18, FAINT, right=True)
    for i, panel in enumerate(section.panels):
        row, column = divmod(i, COLUMNS)
        _draw_panel(draw, panel, MARGIN + column * (PANEL_WIDTH + GAP), top + SECTION_HEIGHT + row * (PANEL_HEIGHT + ROW_GAP))


def _draw_panel(draw: ImageDraw, panel: Panel, left: int, top: int) -> None:
    """The name, the median and the number of documents; bars as high as their share of the largest, whose share of all stands beside it; the scale."""
    total, most = sum(panel.counts), max(panel.counts) or 1
    first, base, right = top + NAME_HEIGHT, top + PANEL_HEIGHT - SCALE_HEIGHT, left + PANEL_WIDTH
    _write(draw, (left, top), _shortened(draw, panel.name or "(none)", 20, PANEL_WIDTH - 210), 20)
    _write(draw, (right, top + 3), f"{total:,}", 17, FAINT, right=True)
    draw.line((left, first, right, first), GRID, 1)
    _write(draw, (left - 5, first - 8), f"{most / max(1, total):.0%}", 14, FAINT, right=True)
    step = PANEL_WIDTH / len(panel.counts)
    for i, count in enumerate(panel.counts):
        height = (base - first) * count / most
        if count:
            draw.rectangle((left + round(i * step) + 1, base - max(1, round(height)), left + round((i + 1) * step) - 2, base), BAR)
    draw.line((left, base + 1, right, base + 1), INK, 2)
    for share, text in ((0.0, "0"), (0.25, ""), (0.5, "0.5"), (0.75, ""), (1.0, "1")):
        x = left + round(share * PANEL_WIDTH)
        draw.line((x, base + 1, x, base + 6), INK, 1)
        _write(draw, (x, base + 9), text, 15, FAINT, center=0 < share < 1, right=share == 1)
    if panel.median is not None:
        x = left + round(panel.median * PANEL_WIDTH)
        draw.line((x, first, x, base), MEDIAN, 2)
        _write(draw, (right - draw.textlength(f"{total:,}", _font(17)) - 16, top + 3), f"median {panel.median:.2f}", 17, MEDIAN, right=True)


# --- letters -----------------------------------------------------------------------------------------------------------


def _write(draw: ImageDraw, place: tuple[float, float], text: str, size: int, ink: str = INK, *, center: bool = False, right: bool = False) -> None:
    font, text = _font_for(text, size)
    width = draw.textlength(text, font)
    x = place[0] - (width / 2 if center else width if right else 0)
    draw.text((x, place[1]), text, ink, font)


def _shortened(draw: ImageDraw, text: str, size: int, width: int) -> str:
    font, whole = _font_for(text, size)
    if draw.textlength(whole, font) <= width:
        return whole
    while whole and draw.textlength(f"{whole}...", font) > width:
        whole = whole[:-1]
    return f"{whole}..."


def _font_for(text: str, size: int) -> tuple[FreeTypeFont | ImageFont, str]:
    """A font that has the characters, and the text; with escapes for characters that no font here has."""
    if NOT_LATIN.search(text):
        chinese = _chinese_font(size)
        return (chinese, text) if chinese is not None else (_font(size), text.encode("latin-1", "backslashreplace").decode("latin-1"))
    return _font(size), text


@cache
def _font(size: int) -> FreeTypeFont | ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


@cache
def _chinese_font(size: int) -> FreeTypeFont | None:
    from PIL import ImageFont

    for name in CHINESE:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return None

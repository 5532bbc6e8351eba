"""Formulas of a page as TeX: the annotation of MathML, the source that MathJax reads, the alternative text of pictures, MathML itself."""

from __future__ import annotations

import re

from lxml import etree

DISPLAY_STYLE = re.compile(r"^\{\\(?:displaystyle|textstyle)\s*(.*)\}$", re.DOTALL)
DELIMITERS = re.compile(r"^(?:\$\$?|\\[(\[])(.*?)(?:\$\$?|\\[)\]])$", re.DOTALL)
PICTURE_NAMES = frozenset({"tex", "latex", "math", "mathtex", "formula", "ztext-math", "mwe-math-fallback-image-inline", "mwe-math-fallback-image-display"})
PICTURE_SOURCE = re.compile(r"latex|[/?]tex[=?/]|equation\?|mathtex|codecogs|mimetex", re.IGNORECASE)
MAX_DEPTH = 40  # of MathML; deeper formulas give their letters only
MAX_FORMULA = 20_000  # characters
SCRIPTS = {"msub": "_", "msup": "^", "munder": "_", "mover": "^"}
DOUBLE_SCRIPTS = frozenset({"msubsup", "munderover"})
SIGNS = {
    "−": "-", "×": r"\times ", "·": r"\cdot ", "≤": r"\le ", "≥": r"\ge ", "≠": r"\ne ", "∑": r"\sum ", "∏": r"\prod ", "∫": r"\int ", "∞": r"\infty ",
    "→": r"\to ", "∈": r"\in ", "±": r"\pm ", "≈": r"\approx ", "∂": r"\partial ", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ", "δ": r"\delta ",
    "ε": r"\varepsilon ", "θ": r"\theta ", "λ": r"\lambda ", "μ": r"\mu ", "π": r"\pi ", "ρ": r"\rho ", "σ": r"\sigma ", "φ": r"\varphi ", "ω": r"\omega ",
    "Δ": r"\Delta ", "Σ": r"\Sigma ", "Ω": r"\Omega ", "\u2061": "", "\u2062": "", "\u2063": "", "{": r"\{", "}": r"\}",
}  # fmt: skip


def formula(element: etree._Element) -> str:
    """The formula that a <math>, <script> or <img> stands for, between $ (inline) or $$ (display), "" when it is none."""
    if element.tag == "math":
        return _delimited(_annotation(element) or element.get("alttext") or _to_tex(element, 0), element.get("display") == "block")
    if element.tag == "script":
        kind = element.get("type") or ""
        return _delimited(element.text or "", "mode=display" in kind) if kind.startswith("math/tex") else ""
    return _delimited(element.get("alt") or element.get("data-formula") or "", False) if _is_picture(element) else ""


def _delimited(tex: str, display: bool) -> str:
    text = " ".join(tex[:MAX_FORMULA].split())
    for wrapping in (DELIMITERS, DISPLAY_STYLE):
        if inner := wrapping.match(text):
            text = inner[1].strip()
    if not text:
        return ""
    return f"$${text}$$" if display else f"${text}$"


def _annotation(math: etree._Element) -> str:
    for note in math.iter("annotation"):
        if "tex" in (note.get("encoding") or "").lower():
            return note.text or ""
    return ""


def _is_picture(image: etree._Element) -> bool:
    if not image.get("alt") and not image.get("data-formula"):
        return False
    names = (image.get("class") or "").split()
    if image.get("eeimg") or not PICTURE_NAMES.isdisjoint(names) or image.get("data-formula"):
        beside = image.getprevious()  # MathML that says the same
        return beside is None or next(beside.iter("math"), None) is None
    return bool(PICTURE_SOURCE.search((image.get("src") or "")[:500]))


def _to_tex(element: etree._Element, depth: int) -> str:
    """MathML without annotation, by its structure."""
    if depth > MAX_DEPTH:
        return "".join(map(str, element.itertext()))
    if len(element) == 0:
        text = "".join((element.text or "").split()) if element.tag != "mtext" else rf"\text{{{element.text or ''}}}"
        return "".join(SIGNS.get(sign, sign) for sign in text)
    parts = [_to_tex(child, depth + 1) for child in element if child.tag not in ("annotation", "annotation-xml")]
    tag = element.tag
    if tag in SCRIPTS and len(parts) == 2:
        return f"{parts[0]}{SCRIPTS[tag]}{{{parts[1]}}}"
    if tag in DOUBLE_SCRIPTS and len(parts) == 3:
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if tag == "mfrac" and len(parts) == 2:
        return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
    if tag == "msqrt":
        return rf"\sqrt{{{''.join(parts)}}}"
    if tag == "mroot" and len(parts) == 2:
        return rf"\sqrt[{parts[1]}]{{{parts[0]}}}"
    if tag == "mtr":
        return " & ".join(parts) + r" \\ "
    return "".join(parts)

"""Formulas as TeX, by hand."""

from __future__ import annotations

import pytest

from mspt.core.text.html.extract import extract

X2 = "<msup><mi>x</mi><mn>2</mn></msup>"


@pytest.mark.parametrize(
    ("markup", "tex"),
    [
        (f"<math><semantics>{X2}<annotation encoding='application/x-tex'>x^{{2}}</annotation></semantics></math>", "$x^{2}$"),
        (f"<math alttext='{{\\displaystyle x^2}}'>{X2}</math>", "$x^2$"),
        (f"<math display=block alttext='x^2'>{X2}</math>", "$$x^2$$"),
        ("<script type='math/tex'>\\alpha  +\n\\beta</script>", "$\\alpha + \\beta$"),
        ("<script type='math/tex; mode=display'>\\sum a</script>", "$$\\sum a$$"),
        ("<script type='text/javascript'>x = 1</script>", ""),
        ("<img class=tex alt='\\frac{1}{2}'>", "$\\frac{1}{2}$"),
        ("<img src='https://x.example/latex.php?x' alt='e^{i\\pi}'>", "$e^{i\\pi}$"),
        ("<img src='https://x.example/equation?tex=a' alt='$a$'>", "$a$"),
        ("<img src=photo.jpg alt='一座桥'>", ""),
        (f"<math>{X2}</math>", "$x^{2}$"),
        ("<math><mfrac><mrow><mi>a</mi><mo>+</mo><mn>1</mn></mrow><mi>b</mi></mfrac></math>", "$\\frac{a+1}{b}$"),
        ("<math><msubsup><mo>∑</mo><mi>i</mi><mi>n</mi></msubsup></math>", "$\\sum _{i}^{n}$"),
        ("<math><msqrt><mi>x</mi></msqrt><mo>≤</mo><mroot><mi>y</mi><mn>3</mn></mroot></math>", "$\\sqrt{x}\\le \\sqrt[3]{y}$"),
        ("<math></math>", ""),
        ("<span class=MathJax_Preview>x</span><span class=MathJax><span>x</span></span><script type='math/tex'>x</script>", "$x$"),
    ],
)
def test_a_formula_becomes_tex(markup: str, tex: str) -> None:
    page = extract(f"<p>设 {markup} 为数。</p>", mode="page")
    assert page.text == (f"设 {tex} 为数。" if tex else "设 为数。")
    assert [page.text[start:end] for tag, start, end in page.spans if tag == "math"] == ([tex] if tex else [])


def test_deep_formulas_give_their_letters() -> None:
    assert extract("<p>a " + "<math>" + "<mrow>" * 500 + "<mi>x</mi>", mode="page").text == "a $x$"

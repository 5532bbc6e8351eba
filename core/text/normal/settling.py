"""Steps that may be done again: what a step would change a second time it does not change at all."""

from __future__ import annotations

from collections.abc import Callable

from mspt.core.text.normal.document import Document, Edits


def settled(document: Document, find: Callable[[Document], Edits]) -> Edits:
    """The edits that `find` finds; none where it would find more in the text that they make.

    For steps that judge a document by evidence which their own edits change. Text that would change again was not understood, and stays as it is.
    """
    edits = find(document)
    return edits if not len(edits) or not len(find(document.edited(edits))) else []

"""Tokens to text as they come, never half a character.

stream = TextStream(tokenizer, at_start=False)
print(stream.add(token), end="")       # "" while a character is incomplete
print(stream.finish(), end="")         # what is left; half a character at the very end becomes U+FFFD
"""

from __future__ import annotations

import codecs

from mspt.core.tokens.tokenizer import Tokenizer


class TextStream:
    """Joins the tokens' UTF-8 bytes and gives out whole characters. Special tokens are nothing.

    `at_start`: the text begins here, so the blank that some tokenizers put before a text (SentencePiece's dummy prefix) is left out.
    """

    def __init__(self, tokenizer: Tokenizer, *, at_start: bool) -> None:
        self.surfaces = tokenizer.surfaces
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.drops_blank = at_start and puts_blank_first(tokenizer)

    def add(self, token: int) -> str:
        """The text that `token` completes."""
        surface = self.surfaces[token] if token < len(self.surfaces) else b""  # ids of padding rows behind the vocabulary
        if surface and self.drops_blank:
            surface, self.drops_blank = surface.removeprefix(b" "), False
        return self.decoder.decode(surface)

    def finish(self) -> str:
        """The rest."""
        return self.decoder.decode(b"", True)


def puts_blank_first(tokenizer: Tokenizer) -> bool:
    """Whether encoding "a" begins with a blank."""
    return b"".join(tokenizer.surfaces[i] for i in tokenizer.encode("a")).startswith(b" ")

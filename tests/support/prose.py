"""Small Chinese and English texts with an order that can be learned, made from phrases written for these tests."""

from __future__ import annotations

import random

SUBJECTS = ["春天的花园", "山里的小路", "河边的老人", "城里的学生", "海上的渔船", "北方的冬天"]
ACTIONS = ["慢慢地醒了过来", "看着远处的灯光", "想起了从前的事情", "在风里走了很久", "等着太阳升起来", "写了一封长长的信"]
WHO = ["the old sailor", "my younger sister", "a tired teacher", "the quiet dog", "our new neighbour"]
DID = ["walked down to the river", "opened the green door", "read an old letter", "waited for the evening train", "sang in the kitchen"]


def prose(chooser: random.Random, sentences: int = 12) -> str:
    """Chinese or English, half and half."""
    if chooser.random() < 0.5:
        return "".join(f"{chooser.choice(SUBJECTS)}{chooser.choice(ACTIONS)}，" for _ in range(sentences))
    return " ".join(f"{chooser.choice(WHO)} {chooser.choice(DID)}.".capitalize() for _ in range(sentences))


def corpus(count: int, seed: int) -> dict[str, str]:
    """Texts by ref."""
    chooser = random.Random(seed)
    return {f"{i:04d}": prose(chooser, chooser.randrange(4, 16)) for i in range(count)}

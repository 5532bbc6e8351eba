"""A folder of hostile and broken files, each with what has to become of it.

    build(folder) -> [Case("zip/crc.zip", kept={"!/b.txt#0"}, rejected={("!/a.txt#0"...)})]

Everything is made here, from known text, by libraries other than those that read it or by hand. Refs are told without the path they begin with.
"""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

WHEN = ["清晨", "中午", "傍晚", "夜里", "第二天", "下雨以后", "过年的时候", "秋天", "放学以后", "很久以前", "去年冬天", "有一回", "天亮之前", "吃过晚饭"]
WHO = [
    "老船长",
    "我妹妹",
    "邻居家的孩子",
    "那位老师",
    "卖花的姑娘",
    "修表的人",
    "两个旅客",
    "村里的医生",
    "小狗",
    "画家",
    "图书管理员",
    "木匠",
    "年轻的农民",
    "船上的厨师",
]
WHERE = [
    "在河边",
    "在图书馆里",
    "在山顶上",
    "在旧车站",
    "在厨房",
    "在果园里",
    "在桥下",
    "在码头",
    "在教室",
    "在雪地里",
    "在邮局",
    "在屋檐下",
    "在菜市场",
    "在灯塔旁",
]
DID = "读完了一封长信|等着远方的船|数着天上的星星|学会了拉小提琴|修好了破旧的钟|种下几棵苹果树|画了一幅海的图画|听见有人在唱歌|煮了一锅热汤|"
DID += "找到丢失的钥匙|讲了一个古老的故事|写下自己的名字|喂饱了那群鸽子|看见一道彩虹"


def prose(number: int = 0, sentences: int = 4) -> str:
    """A text that every rule of clean lets pass, for each number another. Up to 14 sentences (about 300 characters) no phrase comes twice."""
    chooser = random.Random(number)
    columns = [chooser.sample(column, len(column)) for column in (WHEN, WHO, WHERE, DID.split("|"))]
    return f"第{number}封信：" + "".join("".join(column[i] for column in columns) + "。" for i in range(sentences)) + "\n"


def page(body: str, head: str = "") -> str:
    return f"<!DOCTYPE html>\n<html><head><title>花园</title>{head}</head><body>{body}</body></html>\n"


@dataclass(frozen=True)
class Case:
    """One entry of the folder. rules: where it is not promised which members are hit, the rules of all its rows; else `rejected` is all of them."""

    path: str
    kept: frozenset[str] = frozenset()
    rejected: frozenset[tuple[str, str]] = frozenset()
    rules: frozenset[str] | None = None

    def owns(self, ref: str) -> bool:
        return ref == self.path or ref.startswith((f"{self.path}#", f"{self.path}!/"))


@dataclass(frozen=True)
class Entry:
    """A file that is still to be written, and what becomes of it. name: as bytes where it is no UTF-8; path: how refs spell it, if otherwise."""

    name: str | bytes
    data: bytes | Callable[[Path], None]
    kept: Iterable[str] = ()
    rejected: Iterable[tuple[str, str]] = ()
    rules: Iterable[str] | None = None
    path: str = ""

    def write(self, folder: Path) -> Case:
        place = Path(os.fsdecode(os.path.join(os.fsencode(folder), os.fsencode(self.name))))
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(self.data, bytes):
            place.write_bytes(self.data)
        else:
            self.data(place)
        path = self.path or os.fsdecode(os.fsencode(self.name))
        return Case(path, frozenset(self.kept), frozenset(self.rejected), None if self.rules is None else frozenset(self.rules))


def build(folder: Path) -> list[Case]:
    """Writes the whole folder."""
    from support.hostile_archives import archives
    from support.hostile_text import texts

    folder.mkdir(parents=True, exist_ok=True)
    return [entry.write(folder) for entry in (*archives(), *texts(), *_no_files(), *_names())]


def _no_files() -> Iterable[Entry]:
    """What lies in a folder and is no file."""
    gone = [("", "not-a-file")]
    yield Entry("disk/real.txt", prose(900).encode(), kept=["#0"])
    yield Entry("disk/pipe.txt", os.mkfifo, rejected=gone)
    yield Entry("disk/socket.txt", _bind, rejected=gone)
    yield Entry("disk/loop.txt", lambda place: place.symlink_to("loop.txt"), rejected=gone)
    yield Entry("disk/link.txt", lambda place: place.symlink_to("real.txt"), rejected=gone)
    yield Entry("disk/outside.txt", lambda place: place.symlink_to("/etc/hostname"), rejected=gone)
    yield Entry("disk/dangling.txt", lambda place: place.symlink_to("nowhere"), rejected=gone)
    yield Entry("disk/odd-target.txt", lambda place: os.symlink(b"\xff\xfe\n", place), rejected=gone)
    yield Entry("disk/folder", lambda place: place.symlink_to("..", target_is_directory=True), rejected=gone)
    yield Entry("disk/empty.txt", b"", rejected=[("", "empty-file")])


def _bind(place: Path) -> None:
    here = os.getcwd()
    os.chdir(place.parent)  # the address of a socket has room for 107 bytes
    try:
        socket.socket(socket.AF_UNIX).bind(place.name)
    finally:
        os.chdir(here)


def _names() -> Iterable[Entry]:
    """Names that are no UTF-8 and names that are no names."""
    yield Entry("名/正常.txt", prose(910).encode(), kept=["#0"])
    yield Entry("名/".encode() + "会议纪要".encode("gbk"), prose(911).encode(), kept=["#0"], path="名/会议纪要")
    yield Entry("名/".encode() + "年度报告（终稿）.txt".encode("gbk"), prose(912).encode(), kept=["#0"], path="名/年度报告（终稿）.txt")
    yield Entry("名/".encode() + "正常.txt".encode("gbk"), prose(913).encode(), kept=["#0"], path="名/\\xd5\\xfd\\xb3\\xa3.txt")
    yield Entry("names/line\nend.txt", prose(914).encode(), kept=["#0"], path="names/line\\x0aend.txt")
    yield Entry("names/a!/b.txt", prose(915).encode(), kept=["#0"], path="names/a%21/b.txt")
    yield Entry("names/" + "深" * 80 + ".txt", prose(916).encode(), kept=["#0"])
    yield Entry("names/" + "d/" * 300 + "deep.txt", prose(917).encode(), kept=["#0"])
    yield Entry("names/..txt", prose(918).encode(), kept=["#0"])
    yield Entry("names/ .txt", prose(919).encode(), kept=["#0"])

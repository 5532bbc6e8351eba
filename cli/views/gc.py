"""`mspt gc`: what can go, what it frees, and with --yes its removal.

Kept are: the latest version of each name and its newest one, the newest `--keep` ones, what is pinned, what is being worked on or can be resumed,
and every ancestor of those. All else can go: abandoned partials and superseded versions. Removal happens under the locks of all names.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mspt.cli.commands import Context
from mspt.cli.console import quantity
from mspt.cli.views.ls import describe_state
from mspt.cli.views.render import age, present, table, text
from mspt.cli.views.workspace import ABANDONED, DAMAGED, RUNNING, Entry, Lineage, list_entries, lock_holder
from mspt.core.config import unknown_name
from mspt.core.errors import Busy, CheckFailed
from mspt.core.files import fsync_directory, write_text
from mspt.core.lock import Lock
from mspt.core.store import REMOVED_FILE, Store

if TYPE_CHECKING:
    from rich.console import RenderableType

GOING = ".going-"  # a version on its way out: whole names are never half removed


@dataclass(frozen=True)
class Plan:
    """`reasons`: why each kept entry stays."""

    going: list[Entry]
    reasons: dict[str, str]


def make_plan(store: Store, keep: int, names: Sequence[str] = ()) -> Plan:
    """Decides over the whole workspace, then limits what goes to `names`. CheckFailed while a version is damaged: nobody knows what it was made of."""
    entries = list_entries(store)
    if broken := next((entry for entry in entries if entry.state == DAMAGED), None):
        raise CheckFailed(f"{broken.ref} is damaged: {broken.info['reason']}", f"restore it from a copy, or remove {broken.root}; then run `mspt gc` again")
    reasons: dict[str, str] = {}
    for entry in entries:
        reason = _own_reason(entry, entries, keep)
        if reason:
            reasons[entry.ref] = reason
    lineage = Lineage(store)
    roots = {entry.root: entry for entry in entries}
    for entry in [e for e in entries if e.ref in reasons]:
        for ancestor in lineage.ancestors(entry.inputs):
            if ancestor.root in roots:
                reasons.setdefault(roots[ancestor.root].ref, f"{entry.ref} was made of it")
    going = [entry for entry in entries if entry.ref not in reasons and (not names or entry.name in names)]
    return Plan(going, reasons)


def _own_reason(entry: Entry, entries: Sequence[Entry], keep: int) -> str:
    """Why an entry stays for its own sake; "" where nothing speaks for it."""
    if entry.pin is not None:
        return "pinned"
    if entry.state == RUNNING:
        return "it is being worked on"
    if entry.is_partial:
        return "" if entry.state == ABANDONED else "it can be resumed"
    if entry.is_latest:
        return "latest"
    same = [e for e in entries if e.name == entry.name and not e.is_partial and not e.sample]
    newest = [e.version for e in same][-max(keep, 1) :]
    return ("the newest" if keep == 1 else f"one of the newest {keep}") if entry.version in newest else ""


def freed_bytes(roots: Sequence[Path]) -> int:
    """Bytes that come free when these directories go: of hard-linked files only those whose every link is in them."""
    links: dict[tuple[int, int], int] = {}
    facts: dict[tuple[int, int], tuple[int, int]] = {}
    for root in roots:
        for path in root.rglob("*"):
            with contextlib.suppress(FileNotFoundError):
                stat = path.lstat()
                if path.is_file() and not path.is_symlink():
                    key = (stat.st_dev, stat.st_ino)
                    links[key] = links.get(key, 0) + 1
                    facts[key] = (stat.st_nlink, stat.st_size)
    return sum(size for key, (count, size) in facts.items() if links[key] >= count)


@contextlib.contextmanager
def _all_locks(store: Store) -> Iterator[None]:
    """The locks of all names that nobody holds: nothing can start meanwhile."""
    with contextlib.ExitStack() as stack:
        for name in store.names():
            with contextlib.suppress(Busy):
                stack.enter_context(Lock(store.workspace / name / ".lock", ["mspt", "gc"]))
        yield


def _refuse_beginners(store: Store, entries: Sequence[Entry]) -> None:
    """Busy while a process holds a name and has not yet said what it reads."""
    for name in store.names():
        holder = lock_holder(store.workspace / name / ".lock")
        if holder is not None and not any(entry.name == name and entry.state == RUNNING for entry in entries):
            raise Busy(f"process {holder['pid']} on {holder['host']} has just started on {name}", "run `mspt gc` again in a moment")


def remove(store: Store, entries: Sequence[Entry]) -> None:
    """Each version leaves its name in one step and is then deleted. The number of the highest one of a name is not given again."""
    for entry in entries:
        highest = store.next_version(entry.name) - 1 == entry.version
        target = entry.root.with_name(f"{GOING}{entry.root.name}")
        shutil.rmtree(target, ignore_errors=True)
        entry.root.rename(target)
        if highest:
            write_text(
                entry.root.with_name(f"v{entry.version}") / REMOVED_FILE, json.dumps({"removed": time.strftime("%Y-%m-%dT%H:%M:%S%z"), "ref": entry.ref}) + "\n"
            )
        fsync_directory(entry.root.parent)
        shutil.rmtree(target)


def _sweep(store: Store) -> None:
    """What an interrupted gc left, and the placeholders of numbers that later versions have passed."""
    for name in store.names():
        folder = store.workspace / name
        for path in folder.iterdir():
            passed = (path / REMOVED_FILE).is_file() and store.next_version(name) - 1 > int(path.name[1:])
            if passed or path.name.startswith(GOING):
                shutil.rmtree(path, ignore_errors=True)


def _blocks(plan: Plan, total: int, everything: bool) -> list[RenderableType]:
    blocks: list[RenderableType] = []
    if plan.going:
        rows = [[e.ref, e.kind, describe_state(e), quantity(e.bytes, "B"), quantity(freed_bytes([e.root]), "B"), age(e.changed)] for e in plan.going]
        columns = ["can go", "kind", "state", "size", "frees", "age"]
        blocks.append(table(columns, rows, right=["size", "frees", "age"]))
        blocks.append(text(f"together they free {quantity(total, 'B')} (files that kept versions share by hard link stay)"))
    else:
        blocks.append(text("nothing can go"))
    if everything:
        blocks.append(table(["kept", "because"], list(plan.reasons.items()), fold=["because"]))
    return blocks


def run(shared: Context, names: Sequence[str], *, yes: bool, keep: int) -> None:
    """`mspt gc [NAME...]`."""
    store = shared.store
    for name in names:
        if name not in store.names():
            raise unknown_name("artifact", name, store.names(), str(store.workspace))
    everything = shared.console.level > 0
    if not yes:
        plan = make_plan(store, keep, names)
        total = freed_bytes([entry.root for entry in plan.going])
        command = " ".join(["mspt gc", *names, *([f"--keep {keep}"] if keep > 1 else []), "--yes"])
        hint = [text(f"remove them: {command}", "dim")] if plan.going else []
        present(shared.console, _value(plan, total, False), *_blocks(plan, total, everything), *hint)
        return
    with _all_locks(store):
        _refuse_beginners(store, list_entries(store))
        plan = make_plan(store, keep, names)  # made again: now nobody can change it
        total = freed_bytes([entry.root for entry in plan.going])
        value, blocks = _value(plan, total, True), _blocks(plan, total, everything)
        remove(store, plan.going)
        _sweep(store)
    done = [text(f"removed {len(plan.going):,} versions, {quantity(total, 'B')} freed", "bold")] if plan.going else []
    present(shared.console, value, *blocks, *done)


def _value(plan: Plan, total: int, removed: bool) -> dict[str, Any]:
    going = [{**entry.plain(), "frees_bytes": freed_bytes([entry.root])} for entry in plan.going]
    return {"removed": removed, "frees_bytes": total, "versions": going, "kept": [{"ref": ref, "because": why} for ref, why in plan.reasons.items()]}

"""`mspt run`: the chain in mspt.toml, each step with explicit references to what the steps before it wrote.

    [run]
    steps = ["clean", "dedup", "second-clean", "train-tokenizer", "tokenize"]

    [second-clean]
    stage = "clean"

A step reads, for each of its inputs, the nearest step before it that writes that kind, unless its table names a reference. Each step runs in a process
of its own, as by hand: what one loads (MindSpore takes 0.4 GB) does not weigh on the next, and peak memory is that of the step.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Annotated, Any

import typer

from mspt.cli.commands import Context, check_tables, execute, input_names, print_outcome, stage_table
from mspt.core.config import Settings, build_config, unknown_name
from mspt.core.errors import MachineError, MsptError
from mspt.core.stage import Stage, find
from mspt.core.store import Store, check_name
from mspt.core.worker import die_with_parent, interrupts_held


@dataclass(frozen=True)
class Step:
    """One step of the chain: the name that its artifacts get, and its stage."""

    name: str
    stage: Stage


def read_chain(settings: Settings) -> list[Step]:
    """The steps of [run], each checked: the stage exists, its table is valid, no table is unused by mistake."""
    if not settings.steps:
        raise MsptError(
            f"there is no chain in {settings.where}" if settings.path is not None else "there is no mspt.toml here, and no --config names one",
            'add [run] steps = ["clean", "dedup", ...]; docs/configuration.md shows a whole one',
        )
    check_tables(settings)
    unknown = sorted(set(settings.table("run")) - {"steps"})
    if unknown:
        raise unknown_name("setting", unknown[0], ["steps"], f"[run] of {settings.where}")
    names = settings.steps
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise MsptError(f"[run] names the step {twice} twice", f'give the second one its own table: [{twice}-2] stage = "{twice}"')
    return [_step(settings, name) for name in names]


def _step(settings: Settings, name: str) -> Step:
    check_name(name)
    stage = find(str(settings.table(name).get("stage", name)))
    reads = input_names(stage)
    table = stage_table(settings, stage, name)
    build_config(stage.config, {key: value for key, value in table.items() if key not in reads}, f"[{name}] of {settings.where}")
    return Step(name, stage)


def select(steps: Sequence[Step], first: str | None, last: str | None) -> tuple[int, int]:
    """Half-open range of the steps between --from and --to, both included."""
    names = [step.name for step in steps]
    for name in (first, last):
        if name is not None and name not in names:
            raise unknown_name("step", name, names, "mspt run")
    start = names.index(first) if first is not None else 0
    end = names.index(last) + 1 if last is not None else len(steps)
    if start >= end:
        raise MsptError(f"--from {first} comes after --to {last}", f"the chain is: {', '.join(names)}")
    return start, end


def references_for(steps: Sequence[Step], position: int, written: dict[str, str], settings: Settings) -> dict[str, str]:
    """For each input of a step the artifact of the nearest step before it that writes its kind."""
    step = steps[position]
    table = settings.table(step.name)
    references: dict[str, str] = {}
    for name, read in step.stage.artifacts.items():
        if name in table:
            value = str(table[name])
            references[name] = written.get(value, value)  # a step of this chain, or a reference of its own
        elif not (read.optional and not read.automatic):
            before = [s.name for s in steps[:position] if s.stage.writes in read.kinds]
            if before:
                references[name] = written.get(before[-1], before[-1])
    return references


def run_chain(shared: Context, first: str | None, last: str | None, dry_run: bool) -> None:
    settings = shared.settings()
    steps = read_chain(settings)
    start, end = select(steps, first, last)
    if dry_run:
        _print_plan(shared, steps, start, end, settings)
        return
    written: dict[str, str] = {}
    done: list[dict[str, Any]] = []
    for position in range(start, end):
        step = steps[position]
        shared.console.heading(f"{step.name} ({position + 1 - start} of {end - start})")
        references = references_for(steps, position, written, settings)
        outcome = run_apart(shared, step, references)
        written[step.name] = outcome.artifact.ref.split("/")[0]
        done.append({"step": step.name, "status": outcome.status, "ref": outcome.artifact.ref, "seconds": round(outcome.seconds, 3)})
        if not shared.console.json:
            print_outcome(shared, step.stage, outcome)
    if shared.console.json:
        shared.console.result("", {"status": "done", "steps": done})


def run_apart(shared: Context, step: Step, references: dict[str, str]) -> Any:
    """`execute` in a process of its own. Raises what the step raised; a signal reaches the step first, and this process when the step has ended."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run_here, args=(theirs, os.getpid(), shared, step.stage.name, step.name, references))
    try:
        with interrupts_held():
            process.start()
        theirs.close()
        kind, value = ours.recv()
    except EOFError:
        process.join()
        raise MachineError(
            f"the process of {step.name} died ({_exit_words(process.exitcode)})",
            "look for an out-of-memory killer (dmesg); what was finished is kept: run the same command again to go on",
        ) from None
    except BaseException:
        process.terminate()
        raise
    finally:
        process.join()
    if kind == "error":
        raise value
    return value


def _exit_words(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit {code}"


def _run_here(connection: Connection, parent: int, shared: Context, stage: str, name: str, references: dict[str, str]) -> None:
    from mspt.cli.app import on_sigterm

    die_with_parent(parent)
    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        answer: tuple[str, Any] = ("value", execute(shared, find(stage), name, {}, references))
    except MsptError as error:
        answer = ("error", error)
    except Exception as error:  # a bug: its traceback would not survive the pipe
        answer = ("error", RuntimeError("".join(traceback.format_exception(error))))
    except BaseException as error:  # SIGINT or SIGTERM: the partial version is kept, the parent says so
        answer = ("error", error)
    connection.send(answer)


def _print_plan(shared: Context, steps: Sequence[Step], start: int, end: int, settings: Settings) -> None:
    lines, values = [], []
    for position in range(start, end):
        step = steps[position]
        references = references_for(steps, position, {}, settings)
        reads = ", ".join(f"{name}: {ref}" for name, ref in references.items()) or ("raw files" if step.stage.paths else "")
        state = _state(shared.store, step)
        lines.append(f"{position + 1:2}  {step.name:<18} {step.stage.writes:<16} {state:<12} {reads}")
        values.append({"step": step.name, "stage": step.stage.name, "writes": step.stage.writes, "state": state, "reads": references})
    shared.console.result("\n".join(lines), {"steps": values})


def _state(store: Store, step: Step) -> str:
    latest = store.latest(step.name)
    if latest is not None:
        return f"has v{latest.version}"
    return "interrupted" if store.partials(step.name) else "new"


def add_run_command(app: typer.Typer) -> None:
    @app.command("run", rich_help_panel="Pipeline")
    def run(
        context: typer.Context,
        first: Annotated[str | None, typer.Option("--from", metavar="STEP", help="start here; steps before it are taken as they are")] = None,
        last: Annotated[str | None, typer.Option("--to", metavar="STEP", help="end here")] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="show the steps and what each would read")] = False,
    ) -> None:
        """Run the chain of mspt.toml: every step that is not up to date."""
        run_chain(context.obj, first, last, dry_run)

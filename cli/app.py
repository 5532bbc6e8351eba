"""The `mspt` command: global options, one command for each stage, the views, and how errors are printed."""

from __future__ import annotations

import inspect
import signal
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer

from mspt.cli.chain import add_run_command
from mspt.cli.commands import Context, add_stage_commands
from mspt.cli.console import Console, help_text
from mspt.cli.generate import add_generate_command
from mspt.cli.views import add_view_commands
from mspt.core.errors import MsptError
from mspt.core.files import is_machine_fault, machine_fault

INTERRUPTED = 130
RESUME = "what was finished is kept: run the same command again to go on"
_GLOBAL_VALUES = ("--workspace", "--config")
_GLOBAL_FLAGS = ("--json", "-q", "-v", "--quiet", "--verbose")

# Typer 0.29 carries its own click and exports of its usage errors only BadParameter: its parent is what all of them share.
UsageError: type[Exception] = typer.BadParameter.__mro__[1]


class Terminated(BaseException):
    """SIGTERM: unwinds like SIGINT, so that workers end and the partial version stays whole."""


def build_app(wanted: str | None = None) -> typer.Typer:
    """All commands; where `wanted` names one (or is empty), the parameters of the others are left out: building them costs 5 ms each."""
    app = typer.Typer(
        name="mspt",
        help="Pre-train language models on MindSpore: from raw text to a delivered model, in resumable steps.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None if not sys.stdout.isatty() else "rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def options(
        context: typer.Context,
        workspace: Annotated[Path, typer.Option("--workspace", metavar="DIR", help="where artifacts live")] = Path("work"),
        config: Annotated[Path | None, typer.Option("--config", metavar="FILE", help="settings; default: ./mspt.toml where it exists")] = None,
        json: Annotated[bool, typer.Option("--json", help="print one JSON object instead of text")] = False,
        quiet: Annotated[bool, typer.Option("-q", "--quiet", help="no notes and no progress")] = False,
        verbose: Annotated[bool, typer.Option("-v", "--verbose", help="more detail")] = False,
    ) -> None:
        context.obj = Context(workspace.expanduser().resolve(), config, Console(json, -1 if quiet else int(verbose)))

    setattr(typer.core.TyperArgument, "display_type_rich", lambda self, ctx: None)  # noqa: B010, of `PATH... <list[str]>` the metavar is enough
    add_stage_commands(app)
    add_generate_command(app)
    add_run_command(app)
    add_view_commands(app)
    for info in app.registered_commands:
        info.help = help_text(info.help or inspect.getdoc(info.callback) or "")
        info.short_help = help_text(info.short_help or info.help.split("\n")[0])
        if wanted is not None and info.name != wanted:
            info.callback = _left_out
    return app


def _left_out() -> None:
    """Stands for a command that was not asked for."""


def wanted_command(arguments: list[str]) -> str:
    """The command in hoisted arguments; empty where there is none (`mspt --help`)."""
    waiting = iter(arguments)
    for argument in waiting:
        if argument in _GLOBAL_VALUES:
            next(waiting, None)
        elif not argument.startswith("-"):
            return argument
    return ""


def hoist_globals(arguments: list[str]) -> list[str]:
    """Global options may stand anywhere on the line: they are moved before the command."""
    front: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument in _GLOBAL_VALUES:
            front += [argument, *([value] if (value := next(waiting, None)) is not None else [])]
        elif argument in _GLOBAL_FLAGS or argument.startswith(tuple(f"{name}=" for name in _GLOBAL_VALUES)):
            front.append(argument)
        else:
            rest.append(argument)
    return front + rest


def on_sigterm(number: int, frame: FrameType | None) -> None:
    raise Terminated


def _start_workers_without_this() -> None:
    """A spawned worker begins by running the main script again, which loads the whole command line, but not what `python -m mspt.cli` runs: it is said to."""
    main = sys.modules["__main__"]
    if main.__spec__ is None:
        main.__spec__ = ModuleSpec("mspt.cli.__main__", None)


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Ends the process with an exit code of core/errors.py."""
    _start_workers_without_this()
    arguments = hoist_globals(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    console = Console(json="--json" in arguments)
    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        code = build_app(wanted_command(arguments))(arguments, standalone_mode=False)
        if code == INTERRUPTED:  # typer has caught the ^C
            raise KeyboardInterrupt
        sys.exit(code if isinstance(code, int) else 0)
    except MsptError as error:
        _fail(console, error.exit_code, error.message, error.hint)
    except OSError as error:
        if not is_machine_fault(error):
            raise
        fault = machine_fault(error)
        _fail(console, fault.exit_code, fault.message, fault.hint)
    except UsageError as error:
        near = f"did you mean {error.possibilities[0]}?" if getattr(error, "possibilities", None) else ""  # type: ignore[attr-defined]
        _fail(console, 2, error.format_message(), near or f"`{error.ctx.command_path if error.ctx else 'mspt'} --help` shows what there is")  # type: ignore[attr-defined]
    except (KeyboardInterrupt, typer.Abort):
        _fail(console, INTERRUPTED, "interrupted", RESUME)
    except Terminated:
        _fail(console, 143, "terminated", RESUME)


def _fail(console: Console, code: int, message: str, hint: str) -> NoReturn:
    """The two lines of an error, with --json its object, and the exit code."""
    console.error(message, hint)
    if console.json:
        console.result("", {"status": "error", "exit_code": code, "error": message, "hint": hint})
    sys.exit(code)

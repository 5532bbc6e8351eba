"""One command for each stage, made from its declaration: arguments, flags, help and defaults come from the config dataclass and `reads`."""

from __future__ import annotations

import inspect
import itertools
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mspt.cli.console import Console, duration, help_text, quantity
from mspt.core.config import FieldSpec, Settings, build_config, field_specs, load_settings, unknown_name
from mspt.core.errors import MsptError
from mspt.core.raw import RawPath, locate
from mspt.core.stage import Files, Paths, Read, Stage, discover, find
from mspt.core.store import Store

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


@dataclass
class Context:
    """The global options, as every command sees them."""

    workspace: Path
    config: Path | None
    console: Console

    @property
    def store(self) -> Store:
        return Store(self.workspace)

    def settings(self) -> Settings:
        return load_settings(self.config)


def add_stage_commands(app: typer.Typer) -> None:
    for stage in discover():
        panel = "Pipeline"
        app.command(stage.name, help=stage.doc, short_help=stage.summary, rich_help_panel=panel)(_command(stage))


def _command(stage: Stage) -> Callable[..., None]:
    """A function whose signature typer turns into the stage's command line."""

    def command(context: typer.Context, **values: Any) -> None:
        shared: Context = context.obj
        run_one(shared, stage, {name: value for name, value in values.items() if value not in (None, [], ())})

    parameters = [inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)]
    for name, read in stage.reads.items():
        parameters += _input_parameters(name, read)
    parameters += [_setting_parameter(spec) for spec in sorted(field_specs(stage.config), key=lambda spec: spec.setting.runtime)]
    parameters += _runner_parameters(stage)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _option(name: str, kind: Any, *flags: str, **options: Any) -> inspect.Parameter:
    options["help"] = help_text(options["help"])
    return inspect.Parameter(name, _KEYWORD, default=None, annotation=Annotated[kind, typer.Option(*flags, show_default=False, **options)])


def _argument(name: str, kind: Any, help_: str, metavar: str) -> inspect.Parameter:
    annotation = Annotated[kind, typer.Argument(help=help_text(help_), metavar=metavar, show_default=False)]
    return inspect.Parameter(name, _KEYWORD, default=None, annotation=annotation)


def _input_parameters(name: str, read: Read | Paths | Files) -> list[inspect.Parameter]:
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    if isinstance(read, Paths):
        return [
            _argument(name, list[str] | None, read.help, "PATH..."),
            _option(
                "source", list[str] | None, "--source", metavar="NAME=PATH", help="a PATH with a name for its source; may repeat", rich_help_panel="Inputs"
            ),
        ]
    if isinstance(read, Files):
        kind: Any = list[str] | None if read.many else str | None  # as text: an empty one must not become the folder `.`
        if read.positional:
            return [_argument(name, kind, read.help, "PATH")]
        return [_option(name, kind, flag, metavar="PATH", help=read.help, rich_help_panel="Inputs")]
    usual = f"artifact of kind {read.kind}; usually from {read.producer}" + (" (optional)" if read.optional else "")
    return [_option(name, str | None, flag, metavar="REF", help=read.help or usual, rich_help_panel="Inputs")]


def _setting_parameter(spec: FieldSpec) -> inspect.Parameter:
    panel = "Runtime settings (they never change what is written)" if spec.setting.runtime else "Settings"
    default = "" if spec.default in (None, MISSING, "", ()) else f" [default: {show_default(spec)}]"
    choices = f" ({'|'.join(map(str, spec.choices))})" if spec.choices else ""
    text = f"{spec.setting.help}{choices}{default}"
    if spec.is_bool:
        return _option(spec.name, bool | None, f"{spec.flag}/--no-{spec.flag[2:]}", help=text, rich_help_panel=panel)
    kind: Any = list[str] | None if spec.is_list else str | None
    return _option(spec.name, kind, spec.flag, metavar=metavar_of(spec), help=text, rich_help_panel=panel)


def show_default(spec: FieldSpec) -> str:
    if spec.setting.metavar == "SIZE" and isinstance(spec.default, int):
        units = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6}
        return next((f"{spec.default // size}{unit}" for unit, size in units.items() if spec.default % size == 0), f"{spec.default / 2**20:g}MiB")
    if isinstance(spec.default, bool):
        return "on" if spec.default else "off"
    return ",".join(map(str, spec.default)) if spec.is_list else str(spec.default)


def metavar_of(spec: FieldSpec) -> str:
    if spec.setting.metavar:
        return spec.setting.metavar
    if spec.choices:
        return "TEXT"
    text = str(spec.type)
    return "FLOAT" if "float" in text else "INT" if "int" in text else "TEXT"


def _runner_parameters(stage: Stage) -> list[inspect.Parameter]:
    panel = "Running"
    parameters = [
        _option("name", str | None, "--name", metavar="NAME", help=f"a second line of work beside `{stage.name}`", rich_help_panel=panel),
        _option("take_lock", bool | None, "--take-lock", help="take over the lock of a process that is dead", rich_help_panel=panel),
    ]
    if stage.paths:
        parameters.append(
            _option("verify_inputs", bool | None, "--verify-inputs", help="hash every raw file again instead of trusting size and time", rich_help_panel=panel)
        )
    if stage.lifecycle == "run":
        accept_help = "settings that may change within the run, by comma"
        parameters += [
            _option("new", bool | None, "--new", help="start a new run though an unfinished one exists", rich_help_panel=panel),
            _option("resume", str | None, "--resume", metavar="vN", help="go on with this version", rich_help_panel=panel),
            _option("accept", str | None, "--accept", metavar="NAME,...", help=accept_help, rich_help_panel=panel),
        ]
    return parameters


# --- running -----------------------------------------------------------------------------------------------------------

_RUNNER_NAMES = frozenset({"name", "take_lock", "verify_inputs", "new", "resume", "accept"})


def run_one(shared: Context, stage: Stage, flags: Mapping[str, Any]) -> None:
    """A stage by hand: its table in mspt.toml, then flags."""
    outcome = execute(shared, stage, str(flags.get("name") or stage.name), flags, {})
    print_outcome(shared, stage, outcome)


def execute(shared: Context, stage: Stage, name: str, flags: Mapping[str, Any], references: Mapping[str, str]) -> Any:
    """Merges table and flags into a request and runs it. `references` (from `mspt run`) yield to what table and flags say."""
    from mspt.core.runner import run_stage

    settings = shared.settings()
    check_tables(settings)
    request = make_request(settings, stage, name, flags, references)
    return run_stage(shared.store, stage, request, shared.console)


def make_request(settings: Settings, stage: Stage, name: str, flags: Mapping[str, Any], references: Mapping[str, str]) -> Any:
    from mspt.core.runner import Request

    table = stage_table(settings, stage, name)
    reads = input_names(stage)
    where = f"[{table_name(settings, stage, name)}] of {settings.where}"
    from_table = {key: value for key, value in table.items() if key not in reads}
    from_flags = {key: value for key, value in flags.items() if key not in reads | _RUNNER_NAMES}
    build_config(stage.config, from_table, where)  # so that a bad table is named as such
    paths, base = _raw_paths(settings, stage, table, flags)
    return Request(
        name=name,
        config=build_config(stage.config, from_table | from_flags, f"mspt {stage.name}"),
        references=dict(references) | {read: str(value) for read in stage.artifacts if (value := flags.get(read, table.get(read))) is not None},
        paths=paths,
        files=_user_files(settings, stage, table, flags),
        base=base,
        verify_inputs=bool(flags.get("verify_inputs")),
        take_lock=bool(flags.get("take_lock")),
        new=bool(flags.get("new")),
        resume=str(flags.get("resume") or ""),
        accept=tuple(part.strip().replace("-", "_") for part in str(flags.get("accept") or "").split(",") if part.strip()),
        argv=("mspt", *sys.argv[1:]),
    )


def check_tables(settings: Settings) -> None:
    """Every table is one of a stage, [run], or says which stage it is for: a misspelt one would be ignored in silence."""
    known = {stage.name for stage in discover()} | {"run"}
    for table, value in settings.tables.items():
        if table not in known and "stage" not in value:
            raise unknown_name("stage", table, known, f"[{table}] of {settings.where}")


def input_names(stage: Stage) -> set[str]:
    """The keys of a table (and the flags) that name inputs, not settings."""
    return set(stage.reads) | ({"source"} if stage.paths else set())


def table_name(settings: Settings, stage: Stage, name: str) -> str:
    """The step's own table; the stage's where it has none (`mspt train --name second`)."""
    return name if name in settings.tables else stage.name


def stage_table(settings: Settings, stage: Stage, name: str) -> dict[str, Any]:
    """The step's table without `stage`; a key that is a word of Python (`from`) gets the underscore that its field has."""
    fields = input_names(stage) | {spec.name for spec in field_specs(stage.config)}
    own = table_name(settings, stage, name)
    table = {f"{key}_" if f"{key}_" in fields else key: value for key, value in settings.table(own).items() if key != "stage"}
    for key in stage.artifacts:
        if not isinstance(table.get(key, ""), str):
            raise MsptError(f"[{own}] of {settings.where}: {key} = {table[key]!r} is no reference", f'{key} = "{stage.artifacts[key].producer}@v1"')
    return table


def _raw_paths(settings: Settings, stage: Stage, table: Mapping[str, Any], flags: Mapping[str, Any]) -> tuple[list[RawPath], Path]:
    """PATH arguments and sources; those of the command line replace those of the table."""
    name = next((name for name, read in stage.reads.items() if isinstance(read, Paths)), None)
    if name is None:
        return [], Path.cwd()
    chosen, base = (flags, Path.cwd()) if flags.get(name) or flags.get("source") else (table, settings.base)
    plain, named = chosen.get(name) or [], chosen.get("source") or []
    for key, value in ((name, plain), ("source", named)):
        if not isinstance(value, list | tuple):
            raise MsptError(f"[{stage.name}] {key} must be a list", f'{key} = ["raw"]')
    return [RawPath(str(p)) for p in plain] + [RawPath.parse_source(str(s)) for s in named], base


def _user_files(settings: Settings, stage: Stage, table: Mapping[str, Any], flags: Mapping[str, Any]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for name in stage.files:
        value, base = (flags[name], Path.cwd()) if name in flags else (table.get(name), settings.base)
        paths = value if isinstance(value, list | tuple) else [] if value is None else [value]
        if not all(isinstance(path, str | Path) for path in paths):
            raise MsptError(f"[{stage.name}] of {settings.where}: {name.rstrip('_')} = {value!r} is no path", f'{name.rstrip("_")} = "folder/file"')
        if paths:
            found[name] = [locate(path, base) for path in paths]
    return found


def print_outcome(shared: Context, stage: Stage, outcome: Any) -> None:
    """The last lines of a stage: what came out, where it lies, what usually follows."""
    artifact = outcome.artifact
    counts = artifact.manifest.get("counts")
    value = {"status": outcome.status, "ref": artifact.ref, "kind": artifact.kind, "path": str(artifact.root), "seconds": round(outcome.seconds, 3),
             "fingerprint": artifact.fingerprint, "counts": counts, "warnings": shared.console.warnings}  # fmt: skip
    if outcome.status == "up-to-date":
        shared.console.result(f"{artifact.name}: up to date (v{artifact.version})", value)
        return
    lines = [describe_counts(counts)] if counts else []
    lines += describe_steps(artifact.stats.get("steps", ()))
    size = quantity(sum(f.bytes for f in artifact.files.values()), "B")
    following = f"   next: {next_command(stage, artifact.name)}" if stage.next else ""
    lines.append(f"{artifact.ref} in {duration(outcome.seconds)}, {size}: {artifact.root}{following}")
    forecast = artifact.manifest.get("forecast")
    if forecast:
        scale = quantity(sum(f.bytes for f in artifact.files.values()) / forecast["share"], "B")
        lines.append(
            f"a sample of {forecast['share']:.2%}: all of it would take about {duration(forecast['seconds'])} and {scale}; "
            f"use it by its full reference {artifact.ref}"
        )
    shared.console.result("\n".join(lines), value)


def next_command(stage: Stage, name: str) -> str:
    """What usually follows, with the flag that makes it read `name` where it would read another line of work."""
    reads = find(stage.next).artifacts if stage.next != "generate" else {"model": Read("model", producer="train", also=("quantised-model",))}
    wanted = {flag: read for flag, read in reads.items() if read.automatic and stage.writes in (read.kind, *read.also)}
    flags = [f"--{flag.replace('_', '-')}" for flag, read in wanted.items() if read.producer != name]
    return shlex.join(["mspt", stage.next, *([flags[0], name] if flags else [])])


def describe_steps(steps: Sequence[Mapping[str, Any]]) -> list[str]:
    """The funnel of a stage that works in steps, as a table: those steps that took or changed something."""
    acted = [now for before, now in itertools.pairwise([{"characters": 0}, *steps]) if now["rejected"] or now["characters"] != before["characters"]]
    if len(acted) < 2:
        return []
    read = max(1, steps[0]["characters"])
    rows = [("step", "records", "rejected", "characters left", "")]
    for step in acted:
        rows.append((step["step"], f"{step['out']:,}", f"{sum(step['rejected'].values()):,}", f"{step['characters']:,}", f"{step['characters'] / read:.1%}"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [[row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows]
    return ["  " + "   ".join(row).rstrip() for row in cells]


def describe_counts(counts: Mapping[str, Any]) -> str:
    """'1,000 documents in, 100 rejected (too-short 60, ...), 900 out'."""
    rejected = counts["rejected"]
    total = sum(rejected.values())
    reasons = ", ".join(f"{rule} {n:,}" for rule, n in list(rejected.items())[:6])
    more = f", {len(rejected) - 6} more rules" if len(rejected) > 6 else ""
    return f"{counts['in']:,} in, {total:,} rejected" + (f" ({reasons}{more})" if total else "") + f", {counts['out']:,} out"

"""The command lines of the views. Each has a module of its name that does the work and is loaded when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Format = Literal["text", "jsonl", "csv"]

Seed = Annotated[int, typer.Option("--seed", metavar="INT", min=0, help="another number chooses others")]


def add_view_commands(app: typer.Typer) -> None:
    """Registers ls, show, sample, trace, diff, verify, gc, pin, doctor."""
    for command in (ls, show, sample, trace, diff, verify, gc, pin, doctor):
        app.command(command.__name__, rich_help_panel="Looking")(command)


def ls(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="details: what changed from version to version", show_default=False)] = None,
) -> None:
    """List artifacts: versions, state, records, size, time."""
    from mspt.cli.views import ls as view

    view.run(context.obj, names or [])


def show(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="name, name@vN, name@vN.partial, train@vN/step-N, or a path", show_default=False)],
    row: Annotated[
        int | None, typer.Option("--row", min=0, metavar="N", help="one row: a document, or a training row with its documents and raw files")
    ] = None,
    split: Annotated[str, typer.Option("--split", metavar="TEXT", help="which rows of a mindrecord artifact --row means (train|validation)")] = "train",
    step: Annotated[int | None, typer.Option("--step", min=0, metavar="N", help="the metrics of a training run at this step")] = None,
    lineage: Annotated[bool, typer.Option("--lineage", help="the tree of what it was made of")] = False,
    cluster: Annotated[
        str | None, typer.Option("--cluster", metavar="ID", help="of a dedup artifact: a survivor, what was removed for it, and what differs")
    ] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FILE", help="of a score artifact: histograms of quality as an image, too")] = None,
) -> None:
    """Show one artifact: how it came to be, counts, statistics, files; a training run: its course."""
    from mspt.cli.views import show as view

    view.run(context.obj, ref, row=row, split=split, step=step, lineage=lineage, cluster=cluster, png=png)


def sample(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="an artifact, or an unfinished version such as clean@v3.partial", show_default=False)],
    where: Annotated[
        str | None, typer.Option("--where", metavar="EXPR", help="""only rows for which this holds: 'lang == "en" and length(text) < 200'""")
    ] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="rejected documents, counted by rule first")] = False,
    removed: Annotated[bool, typer.Option("--removed", help="parts removed from documents that stay, counted by rule first")] = False,
    number: Annotated[
        int | None,
        typer.Option("-n", "--number", metavar="INT", min=0, help="rows to show [default: 5; with --export 200]; 0: counts only", show_default=False),
    ] = None,
    seed: Seed = 0,
    by: Annotated[str | None, typer.Option("--by", metavar="COLUMN", help="count the rows by this column; default: rule, for --rejected and --removed")] = None,
    columns: Annotated[str | None, typer.Option("--columns", metavar="NAME,...", help="show these columns only")] = None,
    characters: Annotated[int, typer.Option("--characters", metavar="INT", min=0, help="about so much of each text; 0: all")] = 600,
    form: Annotated[Format, typer.Option("--format", metavar="TEXT", help="jsonl and csv give whole texts (text|jsonl|csv)")] = "text",
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="write rows to label into FILE.jsonl or FILE.csv; `mspt train-scorer FILE` reads them back")
    ] = None,
) -> None:
    """Look at documents: kept, rejected or removed, by expression. Personal data are redacted."""
    from mspt.cli.views import export as labelling
    from mspt.cli.views import sample as view

    number = number if number is not None else labelling.NUMBER if export is not None else 5
    choice = view.Choice(where=where, rejected=rejected, removed=removed, number=number, seed=seed, by=by, columns=columns)
    view.run(context.obj, ref, choice, characters, form, export)


def trace(
    context: typer.Context,
    query: Annotated[
        str, typer.Argument(metavar="ID|URL", help="a document: its id (six characters do), whole URL, ref, or the record's own id", show_default=False)
    ],
    latest: Annotated[bool, typer.Option("--latest", help="only in the last version of each name")] = False,
) -> None:
    """Find a document in all artifacts: its rows from docs to training, or what dropped it and why."""
    from mspt.cli.views import trace as view

    view.run(context.obj, query, latest=latest)


def diff(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="the one before", show_default=False)],
    b: Annotated[str, typer.Argument(metavar="B", help="the one after", show_default=False)],
    documents: Annotated[bool, typer.Option("--documents", help="whose verdict or text changed, with text")] = False,
    number: Annotated[int, typer.Option("-n", "--number", metavar="INT", min=0, help="examples of each change; 0: counts only")] = 2,
    seed: Seed = 0,
) -> None:
    """Compare two artifacts: settings, inputs, counts, statistics; documents whose verdict changed."""
    from mspt.cli.views import diff as view

    view.run(context.obj, a, b, documents=documents, number=number, seed=seed)


def verify(
    context: typer.Context,
    refs: Annotated[list[str] | None, typer.Argument(metavar="REF...", help="artifacts", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="every version in the workspace")] = False,
) -> None:
    """Hash every file again and check what was recorded; exit 5 when anything is wrong."""
    from mspt.cli.views import verify as view

    view.run(context.obj, refs or [], everything=everything)


def gc(
    context: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME...", help="only versions of these names", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="remove them; without it they are only listed")] = False,
    keep: Annotated[int, typer.Option("--keep", metavar="INT", min=1, help="keep the newest N versions of each name")] = 1,
) -> None:
    """List what can go (abandoned partials, superseded versions) and what that frees; -v says why the rest stays."""
    from mspt.cli.views import gc as view

    view.run(context.obj, names or [], yes=yes, keep=keep)


def pin(
    context: typer.Context,
    ref: Annotated[str | None, typer.Argument(metavar="REF", help="without it: list what is pinned", show_default=False)] = None,
    remove: Annotated[bool, typer.Option("--remove", help="take the pin away")] = False,
    note: Annotated[str, typer.Option("--note", metavar="TEXT", help="why it is kept")] = "",
) -> None:
    """Keep a version: gc never removes it, nor what it was made of."""
    from mspt.cli.views import pin as view

    view.run(context.obj, ref, remove=remove, note=note)


def doctor(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="without the all-reduce of two ranks (half a minute)")] = False,
) -> None:
    """Prove that this machine works: a training step, an all-reduce, MindRecord, versions, limits; exit 4 when something fails."""
    from mspt.cli.views import doctor as view

    view.run(context.obj, quick=quick)

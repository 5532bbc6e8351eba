"""`mspt generate`: continue texts with a model of the workspace. It writes no artifact."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mspt.cli.commands import Context
from mspt.core.artifact import Artifact
from mspt.core.errors import MsptError
from mspt.core.store import Store

if TYPE_CHECKING:
    from mspt.core.nn.generate import Generator
    from mspt.core.nn.sampling import Sampling

COMPILE_CACHE = Path(".cache") / "compile"  # of the workspace, as in training
KINDS = ("model", "quantised-model")
PRODUCERS = ("train", "import-hf")  # whose model is taken where none is named: the first that has one


@dataclass(frozen=True)
class Continuation:
    """One prompt and what became of it. `tokens_per_second` leaves the first token out, which waits for graphs to be compiled."""

    prompt: str
    text: str
    tokens: int
    stop: str
    seconds: float
    tokens_per_second: float | None


def add_generate_command(app: typer.Typer) -> None:
    @app.command("generate", rich_help_panel="Pipeline")
    def generate(
        context: typer.Context,
        prompts: Annotated[list[str] | None, typer.Argument(metavar="PROMPT...", help="texts to continue; none: begin a document", show_default=False)] = None,
        model: Annotated[str | None, typer.Option("--model", metavar="REF", help="a model or quantised-model; default: the one of train")] = None,
        max_tokens: Annotated[int, typer.Option("--max-tokens", metavar="INT", min=1, help="tokens to generate at most")] = 128,
        temperature: Annotated[float, typer.Option("--temperature", metavar="FLOAT", min=0, help="0: always the likeliest token")] = 0.0,
        top_k: Annotated[int, typer.Option("--top-k", metavar="INT", min=0, help="draw from the k likeliest; 0: all")] = 0,
        top_p: Annotated[
            float, typer.Option("--top-p", metavar="FLOAT", min=0, max=1, help="draw from the smallest set with this share of the probability; 1: all")
        ] = 1.0,
        repetition_penalty: Annotated[
            float, typer.Option("--repetition-penalty", metavar="FLOAT", min=0, help="above 1: tokens that were there become less likely")
        ] = 1.0,
        seed: Annotated[int, typer.Option("--seed", metavar="INT", min=0, help="equal seeds give equal texts")] = 0,
    ) -> None:
        """Continue texts with a model.

        A prompt stands where a document begins, as in training. The continuation ends at the end of the document, after --max-tokens, or where the model
        has no position left. Text appears as it is made; with --json everything comes as one object at the end.
        """
        from mspt.core.nn.sampling import Sampling

        sampling = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, repetition_penalty=repetition_penalty, seed=seed)
        run_generate(context.obj, prompts or [""], model, max_tokens, sampling)


def run_generate(shared: Context, prompts: list[str], reference: str | None, max_tokens: int, sampling: Sampling) -> None:
    """Every prompt in turn."""
    from mspt.core.nn.generate import Generator
    from mspt.core.nn.open_model import open_model

    artifact = find_model(shared.store, reference)
    shared.console.note(f"model: {artifact.ref}")
    generator = Generator.for_prompts(open_model(artifact.directory), prompts, max_tokens)
    generator.compile(prompts, shared.workspace / COMPILE_CACHE)
    found = []
    for number, prompt in enumerate(prompts):
        made = continue_one(generator, prompt, number, max_tokens, sampling, silent=shared.console.json)
        rate = f", {made.tokens_per_second:.0f} tokens/s after the first" if made.tokens_per_second else ""
        shared.console.note(f"{made.tokens} tokens in {made.seconds:.1f} s{rate}; ended by {made.stop}")
        found.append(made)
    if shared.console.json:
        shared.console.result("", {"model": artifact.ref, "continuations": [vars(made) for made in found]})


def continue_one(generator: Generator, prompt: str, number: int, max_tokens: int, sampling: Sampling, *, silent: bool) -> Continuation:
    """Stream one continuation to stdout behind its prompt (unless `silent`)."""

    def show(text: str, end: str = "") -> None:
        if not silent:
            print(text, end=end, flush=True)

    started = time.perf_counter()
    first = started
    show(prompt)
    texts: list[str] = []
    stop = ""
    for step in generator.stream(prompt, max_tokens=max_tokens, sampling=sampling, sequence=number):
        if not texts:
            first = time.perf_counter()
        texts.append(step.text)
        stop = step.stop or stop
        show(step.text)
    show("", end="\n")
    now = time.perf_counter()
    rate = (len(texts) - 1) / (now - first) if len(texts) > 1 else None
    return Continuation(prompt, "".join(texts), len(texts), stop, round(now - started, 3), round(rate, 1) if rate else None)


def find_model(store: Store, reference: str | None) -> Artifact:
    """The artifact to use. Raises MsptError where it is of another kind, or none is named and it is not clear which."""
    if reference is None:
        reference = default_model(store)
    artifact = store.resolve(reference)
    if artifact.kind not in KINDS:
        raise MsptError(f"generate wants an artifact of kind {' or '.join(KINDS)}, {artifact.ref} is of kind {artifact.kind}", "name one: --model REF")
    return artifact


def default_model(store: Store) -> str:
    for producer in PRODUCERS:
        names = store.producers(producer)
        if len(names) > 1:
            raise MsptError(f"`{producer}` has made models under {len(names)} names: {', '.join(names)}", f"choose one: --model {names[0]}")
        if names:
            return names[0]
    raise MsptError("there is no model yet", "run `mspt train` or `mspt import-hf` first, or give --model REF")

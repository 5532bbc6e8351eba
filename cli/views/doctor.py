"""`mspt doctor`: proves that this machine can do the work, rather than listing what it has.

Proofs run in processes of their own, with a time limit: a compiled training step, an all-reduce of two ranks, a MindRecord file written and read back, and
what the workspace's file system can do. Then versions against those that mspt is tested with, and the settings that bite later.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

from mspt.cli.commands import Context
from mspt.cli.console import duration, quantity
from mspt.cli.views.render import heading, present, table, text
from mspt.core.errors import MachineError

if TYPE_CHECKING:
    from rich.text import Text

PROBE = Path(__file__).with_name("probe.py")
# Wall time on a loaded 2-core machine: step 15 s, MindRecord 10 s, all-reduce 30 s; a rank that failed can take 30 s to end.
LIMITS = {"step": 120.0, "mindrecord": 90.0, "allreduce": 180.0}
# The cells of the matrix that the tests run with, and what is known to break.
TESTED = {"python": "3.11", "mindspore": "2.10.0", "numpy": "1.26", "pyarrow": "25.0"}
OPTIONAL = ("mindformers",)
# MindDataset holds each MindRecord file open once in every reader worker and its .db once (measured with MindSpore 2.10): 5 handles a file with 4 workers.
HANDLES_PER_FILE = 5
MIN_OPEN_FILES = 4096  # about 800 files of 128 MB: 100 GB of rows
MAX_DETAIL = 400
Verdict = Literal["ok", "failed", "attention", "not tested", "skipped"]
_MARKS = {"ok": "✓", "failed": "✗", "attention": "!", "not tested": "!", "skipped": "-"}
_STYLES = {"ok": "green", "failed": "bold red", "attention": "yellow", "not tested": "yellow", "skipped": "dim"}


@dataclass(frozen=True)
class Finding:
    """One line of the report. `hint` says what to do about it."""

    name: str
    verdict: Verdict
    detail: str = ""
    hint: str = ""
    seconds: float | None = None

    def plain(self) -> dict[str, Any]:
        return {"name": self.name, "verdict": self.verdict, "detail": self.detail, "hint": self.hint, "seconds": self.seconds}


# --- proofs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """How a probe ended: its answer (the last line of JSON it printed), or why there is none."""

    answer: dict[str, Any] | None
    problem: str
    seconds: float


def run_limited(command: Sequence[str], directory: Path, limit: float) -> Ran:
    """Runs a command in its own session under a wall-clock limit; at the limit the whole session is killed."""
    bin_directory = str(Path(sys.executable).parent)  # msrun starts `python` from PATH
    environment = os.environ | {
        "PATH": f"{bin_directory}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONSAFEPATH": "1",
        "GLOG_v": os.environ.get("GLOG_v", "3"),  # noqa: SIM112 - that is its name
    }
    started = time.monotonic()
    with (directory / "output").open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code: int | None = process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # ranks that hang included
            process.wait()
    lines = (directory / "output").read_text(encoding="utf-8", errors="replace").splitlines()
    seconds = time.monotonic() - started
    if code is None:
        return Ran(None, f"not done within {limit:.0f} s", seconds)
    answer = next((json.loads(line) for line in reversed(lines) if line.startswith("{") and line.endswith("}")), None)
    if code or answer is None:
        last = next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")
        ended = f"ended by {signal.Signals(-code).name}" if code < 0 else f"exit {code}"
        return Ran(None, f"{ended}: {last[:MAX_DETAIL]}", seconds)
    return Ran(dict(answer), "", seconds)


def prove(name: str, what: str, hint: str, command: Callable[[Path], list[str]]) -> tuple[Finding, dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="mspt-doctor-") as folder:
        ran = run_limited(command(Path(folder)), Path(folder), LIMITS[name])
    if ran.answer is None:
        return Finding(what, "failed", ran.problem, hint, ran.seconds), {}
    return Finding(what, "ok", "", "", ran.seconds), ran.answer


def _probe_command(name: str) -> Callable[[Path], list[str]]:
    return lambda folder: [sys.executable, str(PROBE), name]


def _msrun_command(folder: Path) -> list[str]:
    launcher = shutil.which("msrun", path=str(Path(sys.executable).parent)) or shutil.which("msrun") or "msrun"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ["--worker_num=2", "--local_worker_num=2", f"--master_port={port}", "--join=True", f"--log_dir={folder / 'logs'}"]
    return [launcher, *options, str(PROBE), "allreduce"]


def proofs(quick: bool, note: Callable[[str], None]) -> list[Finding]:
    note("a compiled training step, MindRecord write and read ...")
    broken = "pip install -e . again; python -c 'import mindspore' shows the error whole"
    unfit = "mindspore and numpy must fit together: see the versions below"
    with ThreadPoolExecutor(2) as pool:  # both wait for processes
        stepping = pool.submit(prove, "step", "compiled training step", broken, _probe_command("step"))
        recording = pool.submit(prove, "mindrecord", "MindRecord write and read", unfit, _probe_command("mindrecord"))
        (step, facts), (record, _) = stepping.result(), recording.result()
    found = [replace(step, detail=f"on {facts['device']}, numbers as worked out by hand") if facts else step]
    if facts:
        found.append(_beside_torch(bool(facts["torch"])))
    found.append(record)
    if quick:
        return [*found, Finding("all-reduce of two ranks", "skipped", "--quick")]
    note("an all-reduce of two ranks ...")
    hint = "msrun needs the loopback interface and a free port; a rank's own message stands in the detail"
    reduce, _ = prove("allreduce", "all-reduce of two ranks", hint, _msrun_command)
    return [*found, reduce]


def _beside_torch(loaded: bool) -> Finding:
    """Whether `import mindspore` brought torch into its process."""
    name = "torch beside MindSpore"
    if not loaded:
        return Finding(name, "ok", "not in the process that trains")
    hint = "their runtimes clash: remove the hook (a .pth file, sitecustomize) or use another environment"
    return Finding(name, "failed", "`import mindspore` loads torch in this environment", hint)


def check_workspace(workspace: Path) -> list[Finding]:
    """What resuming and sharing files rest on: hard links, locks, an atomic rename; and the space that is left."""
    place = next(p for p in (workspace, *workspace.parents) if p.is_dir())
    try:
        with tempfile.TemporaryDirectory(prefix=".mspt-doctor-", dir=place) as folder:
            lacks = _lacking(Path(folder))
    except OSError as error:
        return [Finding("workspace", "failed", f"{place}: {error.strerror}", "choose a directory that you may write to: --workspace DIR")]
    free = shutil.disk_usage(place).free
    detail = f"{place}, {quantity(free, 'B')} free"
    if lacks:
        return [
            Finding("workspace", "attention", f"{detail}; without {', '.join(lacks)}", "files are copied instead of linked; locks fall back to a heartbeat")
        ]
    return [Finding("workspace", "ok", f"{detail}; hard links, locks, atomic renames")]


def _lacking(folder: Path) -> list[str]:
    lacks = []
    file = folder / "file"
    file.write_bytes(b"x")
    try:
        os.link(file, folder / "link")
    except OSError:
        lacks.append("hard links")
    with file.open("rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENOSYS, errno.ENOLCK):
                raise
            lacks.append("flock")
    os.replace(file, folder / "renamed")
    return lacks


# --- versions and settings ---------------------------------------------------------------------------------------------


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def check_versions() -> list[Finding]:
    """Each component against the version that the tests run with."""
    have = {"python": platform.python_version()} | {name: _installed(name) for name in (*TESTED, *OPTIONAL) if name != "python"}
    found = []
    for name, tested in TESTED.items():
        detail = f"{have[name] or 'not installed'} (tested: {tested})"
        fits = f"{have[name]}.".startswith(f"{tested}.")
        verdict: Verdict = "ok" if fits else "not tested" if have[name] else "failed"
        hint = "" if fits else "pip install -e . brings the tested ones"
        if name == "numpy" and have[name].split(".")[0] not in ("", "1"):
            verdict, hint = "failed", "MindSpore 2.10 is built against NumPy 1.x: Tensor.reshape and others die with NumPy 2; pip install 'numpy<2'"
        found.append(Finding(name, verdict, detail, hint))
    formers = have["mindformers"]
    found.append(Finding("mindformers", "ok" if formers else "skipped", formers or "not found: only needed to train with it"))
    cann = cann_version()
    found.append(Finding("CANN driver and toolkit", "ok" if cann else "skipped", cann or "not found: MindSpore runs on the CPU"))
    found.append(Finding("GPU", "skipped", "MindSpore 2.10 has no GPU build: it trains on Ascend, and on the CPU for trials"))
    return found


def cann_version() -> str:
    """Versions that the Ascend installation says of itself."""
    root = Path(os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME") or "/usr/local/Ascend/ascend-toolkit/latest")
    files = {"toolkit": [root / "version.cfg", root / "version.info"], "driver": [Path("/usr/local/Ascend/driver/version.info")]}
    said = []
    for name, places in files.items():
        for place in (p for p in places if p.is_file()):
            line = next((line for line in place.read_text(errors="replace").splitlines() if "version" in line.lower()), "")
            said.append(f"{name} {line.partition('=')[2].strip(' []') or line.strip()}")
            break
    return ", ".join(said)


def ascend_devices() -> list[int]:
    """Numbers of the Ascend devices that the kernel shows."""
    return sorted(int(path.name.removeprefix("davinci")) for path in Path("/dev").glob("davinci*") if path.name.removeprefix("davinci").isdigit())


def check_devices(environment: Mapping[str, str], devices: Sequence[int]) -> list[Finding]:
    """ASCEND_DEVICE_ID and ASCEND_RT_VISIBLE_DEVICES must name devices that are there."""
    shown = ", ".join(map(str, devices)) or "none"
    found = [Finding("Ascend devices", "ok" if devices else "skipped", shown)]
    for name in ("ASCEND_RT_VISIBLE_DEVICES", "ASCEND_DEVICE_ID", "DEVICE_ID"):
        value = environment.get(name)
        if value is None:
            continue
        parts = [part.strip() for part in value.split(",") if part.strip()]
        wrong = [part for part in parts if not part.isdigit() or int(part) not in devices]
        if wrong or not parts:
            found.append(
                Finding(
                    name, "failed", f"{value!r} names {', '.join(wrong) or 'nothing'}; devices here: {shown}", f"unset {name}, or name devices that are there"
                )
            )
        else:
            found.append(Finding(name, "ok", value))
    visible = environment.get("ASCEND_RT_VISIBLE_DEVICES", "")
    device = environment.get("ASCEND_DEVICE_ID", "")
    if visible and device.isdigit() and int(device) >= len(visible.split(",")):
        hint = "with ASCEND_RT_VISIBLE_DEVICES set, ids count within that list"
        found.append(Finding("ASCEND_DEVICE_ID", "attention", f"{device}, but only {len(visible.split(','))} devices are visible", hint))
    return found


def check_limits(soft: int, hard: int) -> list[Finding]:
    """The open-file limit against what a reader of many files needs."""
    if soft == resource.RLIM_INFINITY or soft >= MIN_OPEN_FILES:
        return [Finding("open files", "ok", f"limit {soft:,}" if soft != resource.RLIM_INFINITY else "no limit")]
    raised = f"ulimit -n {min(hard, 65536) if hard != resource.RLIM_INFINITY else 65536}"
    return [
        Finding(
            "open files",
            "attention",
            f"limit {soft:,}: enough for about {soft // HANDLES_PER_FILE:,} MindRecord files in 4 reader workers",
            f"{raised} before training on more",
        )
    ]


def check_machine() -> list[Finding]:
    import psutil

    memory = psutil.virtual_memory()
    cores = len(os.sched_getaffinity(0))
    return [
        Finding(
            "machine",
            "ok",
            f"{cores} cores, {quantity(memory.total, 'B')} memory ({quantity(memory.available, 'B')} available), {platform.machine()}, {platform.system()}",
        )
    ]


# --- the command -------------------------------------------------------------------------------------------------------


def _verdict(finding: Finding) -> Text:
    return text(f"{_MARKS[finding.verdict]} {finding.verdict}", _STYLES[finding.verdict])


def run(shared: Context, *, quick: bool) -> None:
    """`mspt doctor`."""
    sections = {
        "proofs": [*proofs(quick, shared.console.note), *check_workspace(shared.workspace)],
        "versions": check_versions(),
        "settings": [*check_devices(os.environ, ascend_devices()), *check_limits(*resource.getrlimit(resource.RLIMIT_NOFILE)), *check_machine()],
    }
    every = [finding for findings in sections.values() for finding in findings]
    failed = [finding for finding in every if finding.verdict == "failed"]
    blocks: list[Any] = []
    for name, findings in sections.items():
        rows = [[f.name, _verdict(f), *([] if name != "proofs" else ["" if f.seconds is None else duration(f.seconds)]), f.detail] for f in findings]
        blocks.append(table([name, "", *(["time"] if name == "proofs" else []), ""], rows, right=["time"], fold=[""]))
    blocks += [text(f"{f.name}: {f.hint}", _STYLES[f.verdict]) for f in every if f.hint]
    blocks.append(heading("this machine works" if not failed else f"{len(failed)} failed"))
    present(shared.console, {"ok": not failed, **{name: [f.plain() for f in findings] for name, findings in sections.items()}}, *blocks)
    if failed:
        shared.console.error(f"failed: {', '.join(f.name for f in failed)}", failed[0].hint)
        raise typer.Exit(MachineError.exit_code)

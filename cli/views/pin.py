"""`mspt pin`: versions that gc leaves alone."""

from __future__ import annotations

from mspt.cli.commands import Context
from mspt.cli.views.render import present, table, text
from mspt.core.errors import MsptError
from mspt.core.store import Store


def canonical(store: Store, ref: str) -> str:
    """`clean` -> clean@v2. A checkpoint stays one only where the person named it: else the whole run is meant."""
    artifact = store.resolve(ref)
    if artifact.root.parent.parent != store.workspace:
        raise MsptError(f"{ref} lies outside the workspace {store.workspace}", "pin it in its own: mspt --workspace DIR pin REF")
    return artifact.ref if "/" in ref.partition("@")[2] else f"{artifact.name}@v{artifact.version}"


def list_pins(shared: Context) -> None:
    pins = shared.store.pins()
    value = {"pins": [{"ref": ref, "note": note} for ref, note in sorted(pins.items())]}
    if not pins:
        present(shared.console, value, text("nothing is pinned: `mspt pin REF` keeps a version from `mspt gc`"))
        return
    present(shared.console, value, table(["pinned", "note"], [[ref, note] for ref, note in sorted(pins.items())], fold=["note"]))


def run(shared: Context, ref: str | None, *, remove: bool, note: str) -> None:
    """`mspt pin [REF]`."""
    store = shared.store
    if ref is None:
        if remove:
            raise MsptError("pin --remove needs a REF", "`mspt pin` lists what is pinned")
        list_pins(shared)
        return
    pins = store.pins()
    if remove:
        name = ref if ref in pins else canonical(store, ref)
        if name not in pins:
            raise MsptError(f"{name} is not pinned", f"pinned: {', '.join(sorted(pins)) or 'nothing'}")
        del pins[name]
        store.write_pins(pins)
        present(shared.console, {"ref": name, "pinned": False}, text(f"{name} is no longer pinned"))
        return
    name = canonical(store, ref)
    store.write_pins({**pins, name: note})
    present(shared.console, {"ref": name, "pinned": True, "note": note}, text(f"{name} is pinned"))

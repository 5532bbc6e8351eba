"""Which units of a run that goes on in another process are done."""

from __future__ import annotations

import os
from pathlib import Path


def finished_units(partial: Path) -> set[tuple[str, str]]:
    """(group, key) of each. os.walk does not mind folders that go away: the run is at its end."""
    folders = ((Path(folder), files) for folder, _, files in os.walk(partial))
    return {
        (folder.name.removeprefix("units").removeprefix("-"), Path(file).stem)
        for folder, files in folders
        if folder.parent == partial and (folder.name == "units" or folder.name.startswith("units-"))
        for file in files
        if file.endswith(".json")
    }

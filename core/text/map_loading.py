"""Finding and loading the user's map function: `package.module:function` or `path/to/file.py:function`.

The source file is executed from the very bytes that are hashed for the fingerprint: not from a .pyc, which may be of an earlier version. What that file
imports is not covered by the hash.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from mspt.core.errors import MsptError
from mspt.core.text.readers.fields import scalar

MAX_DETAIL = 200  # characters of a reason or of an exception's message that a row keeps
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")  # of an object in memory: another one in every run
EXAMPLE = "for example --map cleaning.reviews:tidy, or --map scripts/reviews.py:tidy"
FILE_MODULE = "mspt_map_"  # begins the names under which files are imported, so that reviews.py cannot hide an installed `reviews`


@dataclass(frozen=True)
class MapFunction:
    """The loaded function. Crosses process borders as its name and the hash of its source, which must be the same on the other side."""

    spec: str
    base: Path
    file: Path
    sha256: str
    function: Callable[[dict[str, Any]], Any]

    def __call__(self, given: dict[str, Any]) -> Any:
        return self.function(given)

    def __reduce__(self) -> tuple[Callable[..., MapFunction], tuple[str, Path, str]]:
        return load_map, (self.spec, self.base, self.sha256)


@dataclass(frozen=True)
class _Place:
    """Where a spec leads. shown: how the module counts in the fingerprint, without a path of this machine."""

    spec: str
    module: str
    file: Path
    function: str
    shown: str

    @property
    def root(self) -> Path:
        """The folder from which the module is imported."""
        levels = 0 if self.module.startswith(FILE_MODULE) else self.module.count(".") + (self.file.name == "__init__.py")
        return self.file.parents[levels]

    def error(self, what: str, hint: str = EXAMPLE) -> MsptError:
        return _error(self.spec, what, hint)


def map_identity(spec: str, base: Path) -> str:
    """What enters the fingerprint: the module's name (of a file: without its folder), the function's, and the sha256 of the source file."""
    place = _find(spec, base)
    return f"{place.shown}:{place.function} sha256:{hashlib.sha256(_read(place)).hexdigest()}"


def load_map(spec: str, base: Path, sha256: str = "") -> MapFunction:
    """The function that `spec` names, looked for from `base` (the folder of mspt.toml, or where the command was given). MsptError says what is missing.

    sha256: what the source must have, where another process has loaded it before.
    """
    place = _find(spec, base)
    source = _read(place)
    found = hashlib.sha256(source).hexdigest()
    if sha256 and found != sha256:
        raise place.error(f"{place.file.name} was changed during the run", "run the same command again: it will use the new version throughout")
    module = _execute(place, source)
    if not hasattr(module, place.function):
        names = sorted(name for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__)
        near = difflib.get_close_matches(place.function, names, n=1) or names[:5]
        raise place.error(f"{place.file.name} has no function `{place.function}`", f"it has {', '.join(near)}" if near else EXAMPLE)
    function = getattr(module, place.function)
    _check_callable(place, function)
    return MapFunction(spec, base, place.file, found, function)


def _check_callable(place: _Place, function: Any) -> None:
    if not callable(function):
        raise place.error(f"`{place.function}` is {kind_of(function)}, not a function")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise place.error("an async function or a generator returns no record", "write a plain function that returns its answer")
    try:
        inspect.signature(function).bind({})
    except TypeError as error:
        raise place.error(f"it cannot be called with one record: {error}", "a map function takes one argument, the record") from None
    except ValueError:  # written in C: its signature is not told
        pass


# --- finding it --------------------------------------------------------------------------------------------------------


def _error(spec: str, what: str, hint: str) -> MsptError:
    return MsptError(f"--map {spec}: {what}", hint)


def _find(spec: str, base: Path) -> _Place:
    target, _, function = spec.rpartition(":")
    if not target or not function.isidentifier():
        raise _error(spec, "expected MODULE:FUNCTION or FILE.py:FUNCTION", EXAMPLE)
    if target.endswith(".py"):
        file = (base / Path(target).expanduser()).resolve()
        if not file.is_file():
            raise _error(spec, f"there is no file {target}", f"paths are relative to {base}")
        return _Place(spec, FILE_MODULE + re.sub(r"\W", "_", file.stem), file, function, file.name)
    if not all(part.isidentifier() for part in target.split(".")):
        raise _error(spec, f"`{target}` is no module's name", EXAMPLE)
    return _Place(spec, target, _module_file(spec, target, base), function, target)


def _module_file(spec: str, name: str, base: Path) -> Path:
    """The source of a module: below `base`, else wherever Python finds it."""
    path = base.resolve().joinpath(*name.split("."))
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    try:
        found = importlib.util.find_spec(name)
    except ImportError:
        found = None
    except Exception as error:  # raised by a package above it, which is imported to find it
        raise _error(spec, f"importing {name.rpartition('.')[0]} failed: {type(error).__name__}: {error}", "correct it, then run again") from None
    if found is None:
        raise _error(spec, f"there is no module `{name}`", f"it is looked for in {base} and among what is installed; or name its file: FILE.py:FUNCTION")
    if not (found.origin or "").endswith(".py"):
        raise _error(spec, f"`{name}` has no source that the fingerprint could cover", "put a function that calls it into a .py file of yours")
    return Path(str(found.origin)).resolve()


def _read(place: _Place) -> bytes:
    try:
        return place.file.read_bytes()
    except OSError as error:
        raise place.error(f"cannot read {place.file}: {error.strerror}", "make the file readable") from None


# --- running it --------------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=16)
def _execute(place: _Place, source: bytes) -> ModuleType:
    """The module as `source` makes it; once in a process for each source."""
    if str(place.root) not in sys.path:
        sys.path.append(str(place.root))  # so that it can import its neighbours; at the end, where none of them hides an installed module
    found = importlib.util.spec_from_file_location(place.module, place.file)
    assert found is not None
    module = importlib.util.module_from_spec(found)
    try:
        if package := place.module.rpartition(".")[0]:
            importlib.import_module(package)
        _register(place, module)
        exec(compile(source, str(place.file), "exec", dont_inherit=True), module.__dict__)
    except (KeyboardInterrupt, MsptError):
        raise
    except BaseException as error:
        sys.modules.pop(place.module, None)
        raise place.error(f"importing {place.file.name} failed: {describe(error, place.root)}", "correct it, then run again") from None
    return module


def _register(place: _Place, module: ModuleType) -> None:
    """Under its name among the loaded modules, where dataclasses and relative imports look for it."""
    loaded = sys.modules.get(place.module)
    is_other = loaded is not None and Path(getattr(loaded, "__file__", None) or "").resolve() != place.file
    if is_other and not place.module.startswith(FILE_MODULE):
        raise place.error(f"another module is called `{place.module}` too", f"rename yours, or name the file: --map {place.file.name}:{place.function}")
    sys.modules[place.module] = module


def describe(error: BaseException, own: Path) -> str:
    """'ValueError: no such day (line 12 of render.py)': the innermost line that lies in the file or folder `own`, the message without memory addresses."""
    try:
        message = ADDRESS.sub("0x...", " ".join(str(error).split()))
    except Exception:  # a __str__ of the user's own
        message = ""
    told = f"{type(error).__name__}: {message}" if message else type(error).__name__
    place = _place_in(error, own)
    return scalar(told[: max(0, MAX_DETAIL - len(place))] + place)


def _place_in(error: BaseException, own: Path) -> str:
    places = [(Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((Path(error.filename), error.lineno))
    for file, line in reversed(places):
        if file == own or own in file.parents:
            return f" (line {line} of {file.relative_to(own.parent if file == own else own)})"
    return ""


def kind_of(value: Any) -> str:
    """'list', 'numpy.float32': the type of a value, for messages."""
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")

"""Settings: typed, validated, the same in mspt.toml, on the command line and in artifact.json.

A stage's configuration is a frozen keyword-only dataclass whose fields are annotated with `setting(...)`:

    min_characters: Annotated[int, setting("shorter documents are rejected", ge=0)] = 50
    workers: Annotated[int, setting("worker processes", runtime=True, ge=0)] = 0

An identity setting decides bytes and so counts for the fingerprint; a runtime setting (workers, memory) never does.
Precedence: defaults < `[stage]` table of mspt.toml < flags.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

from mspt.core.errors import MsptError

C = TypeVar("C")


@dataclass(frozen=True)
class Setting:
    """What a person reads about one setting, and its limits. Carried in the `Annotated` of a config field."""

    help: str
    runtime: bool = False
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    pattern: str | None = None
    metavar: str | None = None
    convert: Callable[[Any], Any] | None = None  # "4GiB" -> 4294967296, before the type is checked

    @property
    def limits(self) -> dict[str, Any]:
        names = ("ge", "gt", "le", "lt", "pattern")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


setting = Setting


@dataclass(frozen=True)
class FieldSpec:
    """One field of a config dataclass: name, plain type (without Annotated), default and Setting."""

    name: str
    type: Any
    default: Any
    setting: Setting

    @property
    def flag(self) -> str:
        return "--" + self.name.rstrip("_").replace("_", "-")

    @property
    def is_bool(self) -> bool:
        return _inner_type(self.type) is bool

    @property
    def is_list(self) -> bool:
        return typing.get_origin(self.type) in (list, tuple)

    @property
    def choices(self) -> tuple[str, ...]:
        inner = _inner_type(self.type)
        return typing.get_args(inner) if typing.get_origin(inner) is typing.Literal else ()


def _inner_type(annotation: Any) -> Any:
    """T of `T | None`, else the annotation itself."""
    if typing.get_origin(annotation) in (types.UnionType, typing.Union):
        rest = [a for a in typing.get_args(annotation) if a is not type(None)]
        return rest[0] if len(rest) == 1 else annotation
    return annotation


def field_specs(config: type) -> tuple[FieldSpec, ...]:
    """The fields of a config dataclass in order of declaration. A field without `setting(...)` is a bug in the stage."""
    return _field_specs(cast("Any", config))


@functools.cache
def _field_specs(config: Any) -> tuple[FieldSpec, ...]:
    hints = typing.get_type_hints(config, include_extras=True)
    specs = []
    for field in dataclasses.fields(config):
        hint = hints[field.name]
        found = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Setting)), None)
        if found is None:
            raise TypeError(f"{config.__name__}.{field.name} lacks Annotated[..., setting(...)]")
        default = field.default_factory() if field.default_factory is not dataclasses.MISSING else field.default
        specs.append(FieldSpec(field.name, typing.get_args(hint)[0], default, found))
    return tuple(specs)


@functools.cache
def _adapter(spec_type: Any, limits: tuple[tuple[str, Any], ...]) -> Any:
    from pydantic import ConfigDict, Field, TypeAdapter

    inner = _inner_type(spec_type)
    options: dict[str, Any] = dict(limits)
    if inner is float:
        options["allow_inf_nan"] = False  # JSON has neither: an artifact could not record them
    elif inner is int and "lt" not in options:
        options.setdefault("le", 2**63 - 1)  # what compiled code and Arrow can hold
    limited: Any = Annotated[inner, Field(**options)] if options else inner
    if inner is not spec_type:
        limited = limited | None
    if dataclasses.is_dataclass(inner):
        return TypeAdapter(limited)
    return TypeAdapter(limited, config=ConfigDict(arbitrary_types_allowed=True))


def _validate(spec: FieldSpec, value: Any, where: str) -> Any:
    from pydantic import ValidationError

    given = value
    try:
        if spec.setting.convert is not None and value is not None:
            value = spec.setting.convert(value)
        if spec.is_list and spec.setting.convert is None and isinstance(value, list | tuple):
            value = [part for item in value for part in (map(str.strip, item.split(",")) if isinstance(item, str) else (item,))]  # --steps decode,extract
        if isinstance(value, bool) and _inner_type(spec.type) in (int, float):
            raise ValueError("expected a number")  # pydantic takes true for 1
        return _adapter(spec.type, tuple(sorted(spec.setting.limits.items()))).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "literal_error" and spec.is_list:
            known = map(str, typing.get_args(typing.get_args(_inner_type(spec.type))[0]))
            raise unknown_name(spec.flag, str(first["input"]), known, where) from None
        inside = ".".join(str(part) for part in first["loc"] if isinstance(part, int | str))
        place = f"{spec.name}.{inside}" if inside and spec.is_list else spec.name
        raise MsptError(
            f"{where}: {place} = {given!r} is not valid: {_in_words(first['msg'], spec.setting.metavar)}",
            f"{spec.flag} or `{spec.name}` in mspt.toml: {spec.setting.help}",
        ) from None
    except (ValueError, TypeError) as error:
        raise MsptError(f"{where}: {spec.name} = {given!r} is not valid: {error}", f"{spec.flag}: {spec.setting.help}") from None


def _in_words(message: str, metavar: str | None) -> str:
    """What pydantic says, as the end of a sentence; a limit in bytes as it would be typed."""
    if metavar == "SIZE":
        message = re.sub(r"\d+$", lambda found: _size(int(found[0])), message)
    return message[:1].lower() + message[1:]


def _size(num_bytes: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if num_bytes and num_bytes % unit == 0:
            return f"{num_bytes // unit}{name}"
    return str(num_bytes)


def build_config(config: type[C], values: Mapping[str, Any], where: str = "settings") -> C:
    """A validated config from plain values. Unknown names and bad values raise MsptError naming the setting."""
    specs = {spec.name: spec for spec in field_specs(config)}
    unknown = [name for name in values if name not in specs]
    if unknown:
        raise unknown_name("setting", unknown[0], specs, where)
    checked = {name: _validate(specs[name], value, where) for name, value in values.items()}
    missing = [s.name for s in specs.values() if s.default is dataclasses.MISSING and s.name not in checked]
    if missing:
        raise MsptError(f"{where}: {missing[0]} must be given", f"{specs[missing[0]].flag}: {specs[missing[0]].setting.help}")
    return config(**checked)


def unknown_name(kind: str, name: str, known: Iterable[str], where: str) -> MsptError:
    """The error for a name that does not exist, with the nearest one that does."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names)}"
    return MsptError(f"{where}: there is no {kind} `{name}`", hint)


def as_plain(value: Any) -> Any:
    """A config (or a part of one) as JSON-able values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: as_plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [as_plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): as_plain(v) for k, v in value.items()}
    return str(value) if isinstance(value, Path) else value


def identity(config: Any) -> dict[str, Any]:
    """The settings that decide bytes, as JSON-able values."""
    runtime = {spec.name for spec in field_specs(type(config)) if spec.setting.runtime}
    return {name: value for name, value in as_plain(config).items() if name not in runtime}


def canonical_json(value: Any) -> str:
    """One text per value: sorted keys, no blanks, non-ASCII as it is. Hashes are taken of this."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


# --- values with units -------------------------------------------------------------------------------------------------

_UNITS = {"": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12, "tb": 10**12,
          "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}  # fmt: skip


def parse_bytes(value: Any) -> Any:
    """'4GiB', '500 MB' or 1000 -> bytes."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value)
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError("expected a size such as 500MB or 4GiB")
    return int(float(match[1]) * _UNITS[match[2].lower()])


_COUNT_UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


def parse_count(value: Any) -> Any:
    """'20M', '2B' or 1000000 -> a number: tokens are counted in these."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmbtKMBT]?)\s*", value)
    if match is None:
        raise ValueError("expected a number such as 20M or 2B")
    return round(float(match[1]) * _COUNT_UNITS[match[2].lower()])


def parse_share(value: Any) -> Any:
    """'50%' or 0.5 -> 0.5."""
    if isinstance(value, str) and value.strip().endswith("%"):
        return float(value.strip()[:-1]) / 100
    return value


def parse_sample(value: Any) -> Any:
    """'1%' -> '1%', 2000 -> '2000': a share of the documents, or about so many of them."""
    text = str(value).strip()
    share = re.fullmatch(r"(\d+(?:\.\d+)?)%", text)
    if share is not None and 0 < float(share[1]) <= 100:
        return text
    if re.fullmatch(r"[1-9]\d*", text):
        return text
    raise ValueError("expected a share such as 1% or a number of documents such as 2000")


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """Settings of every stage that works on many documents."""

    workers: Annotated[int, setting("worker processes; 0: one for each core", runtime=True, ge=0)] = 0
    memory: Annotated[
        int | None,
        setting(
            "memory for all workers together: as many run as it holds, at 1 GiB each; default: three quarters of the machine's",
            runtime=True,
            ge=2**28,
            convert=parse_bytes,
            metavar="SIZE",
        ),
    ] = None
    max_rejected: Annotated[
        float | None,
        setting("stop (exit 3) when a source loses more than this share of its documents", runtime=True, gt=0, le=1, convert=parse_share, metavar="SHARE"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SampleSettings(WorkerSettings):
    """WorkerSettings of a data stage that can run on a sample first."""

    sample: Annotated[
        str | None,
        setting("work on a fixed sample only (1% or 2000 documents) and extrapolate time and size", convert=parse_sample, metavar="SHARE|N"),
    ] = None


# --- mspt.toml ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settings:
    """The tables of one mspt.toml. `base` is what relative paths in it are relative to."""

    tables: Mapping[str, Mapping[str, Any]]
    path: Path | None = None

    @property
    def base(self) -> Path:
        return self.path.parent if self.path is not None else Path.cwd()

    @property
    def where(self) -> str:
        return self.path.name if self.path is not None else "settings"

    def table(self, name: str) -> dict[str, Any]:
        return dict(self.tables.get(name, {}))

    @property
    def steps(self) -> list[str]:
        """The chain; MsptError where it is no list of names."""
        steps = self.table("run").get("steps", [])
        if not isinstance(steps, list) or not all(isinstance(step, str) for step in steps):
            raise MsptError(f"{self.where}: [run] steps = {steps!r} is no list of names", 'for example steps = ["clean", "dedup"]')
        return steps


def load_settings(path: Path | None) -> Settings:
    """Reads `path`, or ./mspt.toml where it exists. Bad TOML raises MsptError with line and column."""
    import tomllib

    if path is None:
        path = Path("mspt.toml")
        if not path.exists():
            return Settings({})
    if not path.is_file():
        raise MsptError(f"{path}: no such settings file", "--config FILE names an mspt.toml")
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MsptError(f"{path}: not valid TOML: {error}", "see docs/configuration.md for the tables and keys") from None
    loose = [key for key, value in tables.items() if not isinstance(value, dict)]
    if loose:
        raise MsptError(f"{path}: `{loose[0]}` stands outside a table", "put it under [run] or the table of its stage")
    return Settings(tables, path.resolve())

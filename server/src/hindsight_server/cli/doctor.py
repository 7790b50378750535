"""`hindsight doctor`: what will work with these settings, what will not, and how to change that."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hindsight_server.cli.output import show
from hindsight_server.cli.state import State as Asked
from hindsight_server.cli.state import say
from hindsight_server.domain.errors import DataFolderError, DataFolderLocked, HindsightServerError
from hindsight_server.engine.language.contract import Finding, State, check_model
from hindsight_server.engine.language.model import LanguageModel
from hindsight_server.engine.language.types import Models
from hindsight_server.settings import Settings, SettingsError

_LOW_BYTES = 1 << 30
_LOAD_SECONDS = 120.0
_WORK = ("retain", "reflect", "consolidation", "vision")
# Which work a check is needed for.
_NEEDED: Mapping[str, frozenset[str]] = {
    "completion": frozenset(_WORK),
    "structured output": frozenset({"retain", "consolidation"}),
    "tool call": frozenset({"reflect"}),
    "forced tool call": frozenset({"reflect"}),
    "image": frozenset({"vision"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row of the report."""

    what: str
    check: str
    state: str
    detail: str
    remedy: str = ""


def run(asked: Asked, *, data_dir: str | None, ask_models: bool) -> None:
    """Check everything and report; exit code 1 when something fails.

    Args:
        ask_models: False sends no question to any model.
    """
    lines = asyncio.run(examine(os.environ, data_dir=data_dir, ask_models=ask_models))
    works = all(line.state != State.FAILS for line in lines)
    rows = [
        {"what": line.what, "check": line.check, "state": line.state, "detail": f"{line.detail} {line.remedy}".strip()}
        for line in lines
    ]
    show(asked, {"works": works, "checks": [asdict(line) for line in lines]}, rows=rows)
    if not works:
        raise SystemExit(1)


async def examine(environ: Mapping[str, str], *, data_dir: str | None = None, ask_models: bool = True) -> list[Line]:
    """Every check, in the order in which things are needed; those that make no sense any more are left out."""
    from hindsight_server.bootstrap import build_models

    try:
        settings = Settings.from_environment(environ, data_dir=Path(data_dir) if data_dir else None)
        models = build_models(settings.language)
    except SettingsError as error:
        return [Line(what="settings", check="values", state=State.FAILS, detail=str(error))]
    lines = [Line(what="settings", check="values", state=State.WORKS, detail="They can be used.")]
    lines += [_folder(settings), await asyncio.to_thread(_embedder, settings)]
    try:
        lines += await _models(models, ask_models=ask_models)
    finally:
        await models.close()
    return lines


def _folder(settings: Settings) -> Line:
    from hindsight_server.bootstrap import check_folder

    folder = settings.folder()
    line = {"what": "data folder", "check": str(folder)}
    try:
        check_folder(settings)
    except DataFolderLocked:
        return Line(**line, state=State.WORKS, detail="A server is using it.")
    except DataFolderError as error:
        return Line(**line, state=State.FAILS, detail=str(error), remedy="Name another folder with --data-dir.")
    above = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(above).free
    if free < _LOW_BYTES:
        detail = f"Only {free >> 20} MiB are free on its disk."
        return Line(**line, state=State.PARTLY, detail=detail, remedy="Make room.")
    return Line(**line, state=State.WORKS, detail=f"It can be used; {free >> 30} GiB are free on its disk.")


def _embedder(settings: Settings) -> Line:
    from hindsight_server.bootstrap import build_embedder

    line = {"what": "embedder", "check": settings.embeddings_provider}
    try:
        embedder = build_embedder(settings)
        embedder.start()
        loaded = embedder.wait_ready(_LOAD_SECONDS)
    except HindsightServerError as error:
        return Line(**line, state=State.FAILS, detail=str(error))
    if not loaded:
        detail = embedder.failure or f"It did not load within {_LOAD_SECONDS:.0f} s."
        remedy = "Install the package anew; keyword search works meanwhile."
        return Line(**line, state=State.FAILS, detail=detail, remedy=remedy)
    if settings.embeddings_provider == "hashing":
        detail = "It understands no meaning: it is for tests."
        return Line(**line, state=State.PARTLY, detail=detail, remedy="Unset HINDSIGHT_API_EMBEDDINGS_PROVIDER.")
    return Line(**line, state=State.WORKS, detail=f"Loaded; spaces {', '.join(embedder.spaces)}.")


async def _models(models: Models, *, ask_models: bool) -> list[Line]:
    lines: list[Line] = []
    for model, work in _by_model(models).items():
        what = f"model {model.name} ({', '.join(work)})"
        if not ask_models:
            lines.append(Line(what=what, check="not asked", state=State.PARTLY, detail="It was not asked."))
            continue
        say(f"Asking {what} ...")
        async for found in check_model(model):
            state = _weighed(found, work)
            lines.append(Line(what=what, check=found.check, state=state, detail=found.detail, remedy=found.remedy))
    missing = [work for work in _WORK if getattr(models, work) is None]
    if missing:
        remedy = "Name one with HINDSIGHT_API_LLM_PROVIDER, ..._MODEL and, for pictures, HINDSIGHT_API_VLM_MODEL."
        lines.append(
            Line(what="models", check="configured", state=State.WORKS, detail=_without(missing), remedy=remedy)
        )
    return lines


def _without(missing: list[str]) -> str:
    """What becomes of work that there is no model for."""
    builtin = [work for work in missing if work != "vision"]
    told = [f"None for {', '.join(builtin)}: the built-in ways are taken."] if builtin else []
    return " ".join([*told, *(["None for vision: pictures are not read."] if "vision" in missing else [])])


def _weighed(found: Finding, work: list[str]) -> State:
    """A failure that hinders none of the work that a model is for counts as partly."""
    hinders = _NEEDED.get(found.check, frozenset()) & set(work)
    return State.PARTLY if found.state is State.FAILS and not hinders else found.state


def _by_model(models: Models) -> dict[LanguageModel, list[str]]:
    """Each model once, with the kinds of work that it is for."""
    found: dict[LanguageModel, list[str]] = {}
    for work in _WORK:
        model = getattr(models, work)
        if model is not None:
            found.setdefault(model, []).append(work)
    return found

"""Joins the adapters to the engine; the only package that knows both.

Nothing heavy is imported before `limit_threads` had its say, since numeric libraries read their thread limits once,
when they are first imported: `outside` makes the adapters, `assembly` and `knowing` the use cases over them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from hindsight_server.bootstrap.models import build_models, check_models
from hindsight_server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from hindsight_server.http.services import Services
    from hindsight_server.ports.embedder import Embedder
    from hindsight_server.ports.store import Store

__all__ = [
    "build_embedder",
    "build_models",
    "build_services",
    "build_store",
    "check_folder",
    "check_libraries",
    "limit_threads",
]

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def limit_threads(threads: int) -> None:
    """Set the thread limits of numeric libraries in the environment, where they are not set already."""
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, str(threads))


def build_store(settings: Settings) -> Store:
    """The store of the data folder, not yet open. It is there long before the use cases over it are."""
    limit_threads(settings.threads)
    from hindsight_server.adapters.sqlite import SqliteStore

    return SqliteStore(settings.folder())


def build_services(settings: Settings, store: Store | None = None) -> Services:
    """The use cases over one data folder, not yet running.

    Args:
        settings: where the data is, what encodes it, and which language models there are.
        store: that of the data folder, open or not; None makes it.

    Raises:
        SettingsError: the file of ranking weights, a store of objects or the library of a model can't be used.
    """
    store = store or build_store(settings)
    from hindsight_server.bootstrap.assembly import assembled
    from hindsight_server.bootstrap.outside import make_outside

    return assembled(settings, make_outside(settings, store))


def build_embedder(settings: Settings) -> Embedder:
    """The embedder of the settings; no model is loaded yet."""
    limit_threads(settings.threads)
    from hindsight_server.adapters.embed import make_embedder

    return make_embedder(settings.embeddings_provider)


def check_libraries(settings: Settings) -> None:
    """Raise SettingsError when the settings need a library that is not installed; none is imported."""
    from hindsight_server.extras import lacking_for_blobs

    check_models(settings.language)
    kind = settings.files.storage_type
    lacking = None if kind == "native" else lacking_for_blobs(kind)
    if lacking is not None:
        raise SettingsError(lacking)


def check_folder(settings: Settings) -> None:
    """Raise the DataFolderError that opening the data folder would raise; nothing in it is changed."""
    from hindsight_server.adapters.sqlite import look_through

    look_through(settings.folder())

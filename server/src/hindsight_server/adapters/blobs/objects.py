"""Blobs in a store of objects: S3 and what speaks like it, Google Cloud Storage, Azure; through obstore."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hindsight_server.adapters.blobs.keys import check_digest, check_space, checked, is_digest, is_space, no_blob
from hindsight_server.domain.errors import HindsightServerError, NotFound
from hindsight_server.extras import lacking_for_blobs
from hindsight_server.ports.blobs import StoredBlob

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_PREFIX = "hindsight"


class ObjectBlobs:
    """`BlobStore` over a store of obstore. Objects are named ``hindsight/SPACE/DIGEST``.

    Args:
        store: for example `obstore.store.MemoryStore()`, or what `make_store` makes.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def clear_unfinished(self) -> int:
        """An object is there whole, or not at all."""
        return 0

    async def put(self, space: str, data: bytes) -> str:
        import obstore

        digest = hashlib.sha256(data).hexdigest()
        with _told("kept"):
            await obstore.put_async(self._store, _path(space, digest), data)
        return digest

    async def get(self, space: str, digest: str) -> bytes:
        import obstore

        with _told("read"):
            found = await obstore.get_async(self._store, _path(space, digest))
            return checked(bytes(await found.bytes_async()), digest)

    async def delete(self, space: str, digest: str) -> None:
        import obstore

        with contextlib.suppress(NotFound), _told("deleted"):
            await obstore.delete_async(self._store, _path(space, digest))

    async def list(self, space: str | None = None) -> AsyncIterator[StoredBlob]:
        import obstore

        prefix = f"{_PREFIX}/{check_space(space)}" if space else _PREFIX
        with _told("listed"):
            async for some in obstore.list(self._store, prefix):
                for meta in some:
                    _, _, name = str(meta["path"]).rpartition(f"{_PREFIX}/")
                    owner, _, digest = name.partition("/")
                    if is_space(owner) and is_digest(digest):
                        yield StoredBlob(space=owner, digest=digest, byte_size=int(meta["size"]))

    async def close(self) -> None:
        """Connections are closed when the store is dropped."""


def make_store(kind: str, values: Mapping[str, Any]) -> ObjectStore:
    """A store of obstore.

    Args:
        kind: ``s3``, ``gcs`` or ``azure``.
        values: ``container`` (the bucket), and the options of that kind of store as obstore names them.

    Raises:
        HindsightServerError: obstore is not installed, or it can't use the options.
    """
    lacking = lacking_for_blobs(kind)
    if lacking is not None:
        raise HindsightServerError(lacking)
    from obstore.store import AzureStore, GCSStore, S3Store

    options = {name: value for name, value in values.items() if value is not None}
    container = options.pop("container")
    try:
        if kind == "s3":
            plain = str(options.get("endpoint", "")).startswith("http://")
            return S3Store(container, client_options={"allow_http": True} if plain else None, **options)
        return GCSStore(container, **options) if kind == "gcs" else AzureStore(container, **options)
    except Exception as error:  # obstore's errors share no base with each other; their text may hold a key
        raise HindsightServerError(
            f"The store of files ({kind}, {container}) can't be used: {type(error).__name__}."
        ) from None


def _path(space: str, digest: str) -> str:
    return f"{_PREFIX}/{check_space(space)}/{check_digest(digest)}"


@contextmanager
def _told(what: str) -> Iterator[None]:
    """Errors of obstore as ours; its own texts may hold addresses and signatures."""
    from obstore.exceptions import BaseError, NotFoundError

    try:
        yield
    except (NotFoundError, FileNotFoundError):
        raise no_blob() from None
    except BaseError as error:
        raise HindsightServerError(
            f"The bytes of an attachment could not be {what}: the store of files failed ({type(error).__name__})."
        ) from error

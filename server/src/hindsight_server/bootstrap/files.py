"""The part of `bootstrap` that is about attachments and uploads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from hindsight_server.file_settings import FileSettings
from hindsight_server.settings import Settings, SettingsError

if TYPE_CHECKING:
    from hindsight_server.engine.attachments.attaching import Attaching
    from hindsight_server.engine.attachments.uploads import Uploads
    from hindsight_server.engine.defence import Defender
    from hindsight_server.engine.jobs import JobRunner
    from hindsight_server.engine.language import Models
    from hindsight_server.engine.retain import Retainer
    from hindsight_server.ports.blobs import BlobStore
    from hindsight_server.ports.clock import Clock
    from hindsight_server.ports.parser import FileParser
    from hindsight_server.ports.store import Store


class Outside(Protocol):
    """The adapters that attachments need."""

    @property
    def store(self) -> Store: ...
    @property
    def blobs(self) -> BlobStore: ...
    @property
    def parser(self) -> FileParser: ...
    @property
    def models(self) -> Models: ...


def make_blobs(settings: Settings) -> BlobStore:
    """Where bytes are kept. Raises SettingsError when the store of objects can't be used."""
    files = settings.files
    if files.storage_type == "native":
        from hindsight_server.adapters.blobs import FolderBlobs

        return FolderBlobs(settings.folder() / "blobs")
    from hindsight_server.adapters.blobs.objects import ObjectBlobs, make_store
    from hindsight_server.domain.errors import HindsightServerError

    try:
        return ObjectBlobs(make_store(files.storage_type, files.store_options()))
    except HindsightServerError as problem:
        raise SettingsError(str(problem)) from problem


def make_attaching(files: FileSettings, outside: Outside, defender: Defender) -> Attaching:
    """What checks, keeps and reads attachments."""
    from hindsight_server.engine.attachments.attaching import Attaching
    from hindsight_server.engine.attachments.blocks import AttachmentLimits
    from hindsight_server.engine.attachments.keeper import BlobKeeper
    from hindsight_server.engine.attachments.reader import AttachmentReader

    keeper = BlobKeeper(outside.store, outside.blobs)
    reader = AttachmentReader(keeper, outside.parser, vision=outside.models.vision, defender=defender)
    limits = AttachmentLimits(bytes_each=files.attachment_mb << 20, count=files.attachment_count)
    return Attaching(outside.store, reader, keeper, limits)


def make_uploads(
    files: FileSettings, attaching: Attaching, retainer: Retainer, jobs: JobRunner, clock: Clock
) -> Uploads:
    """The upload of files, with its jobs."""
    from hindsight_server.engine.attachments.uploads import FILE_RETAIN, UploadLimits, Uploads

    limits = UploadLimits(
        files=files.upload_files,
        total_bytes=files.upload_mb << 20,
        delete_after_retain=files.delete_after_retain,
        enabled=files.upload_api,
    )
    uploads = Uploads(attaching.store, attaching, retainer, clock, limits=limits, on_job=jobs.wake)
    jobs.register(FILE_RETAIN, uploads.run_job)
    return uploads

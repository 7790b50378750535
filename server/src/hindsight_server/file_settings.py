"""Where attachments and uploads are kept and what they may be, read from the environment with the other settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from hindsight_server.model_settings import PREFIX, SettingsError, switch

STORAGE_TYPES = ("native", "s3", "gcs", "azure")


def _suffix(name: str) -> dict[str, str]:
    return {"suffix": name}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSettings:
    """Files and attachments.

    Args:
        storage_type: ``native`` is a folder inside the data folder; the others keep bytes in a store of objects.
        s3_bucket: with ``s3``; so are `s3_region`, `s3_endpoint` (of what speaks like S3), `s3_access_key_id` and
            `s3_secret_access_key`. Without keys, those of the machine are used.
        gcs_bucket: with ``gcs``; so is `gcs_service_account_key`, the key as JSON.
        azure_container: with ``azure``; so are `azure_account_name` and `azure_account_key`.
        upload_api: serve the upload of files.
        upload_files: files of one upload.
        upload_mb: mebibytes of all files of an upload together.
        delete_after_retain: False keeps an uploaded file as an attachment of its document.
        attachment_mb: mebibytes of an attachment.
        attachment_count: attachments of one item.
    """

    storage_type: str = field(default="native", metadata=_suffix("FILE_STORAGE_TYPE"))
    s3_bucket: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_S3_BUCKET"))
    s3_region: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_S3_REGION"))
    s3_endpoint: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_S3_ENDPOINT"))
    s3_access_key_id: str | None = field(default=None, repr=False, metadata=_suffix("FILE_STORAGE_S3_ACCESS_KEY_ID"))
    s3_secret_access_key: str | None = field(
        default=None, repr=False, metadata=_suffix("FILE_STORAGE_S3_SECRET_ACCESS_KEY")
    )
    gcs_bucket: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_GCS_BUCKET"))
    gcs_service_account_key: str | None = field(
        default=None, repr=False, metadata=_suffix("FILE_STORAGE_GCS_SERVICE_ACCOUNT_KEY")
    )
    azure_container: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_AZURE_CONTAINER"))
    azure_account_name: str | None = field(default=None, metadata=_suffix("FILE_STORAGE_AZURE_ACCOUNT_NAME"))
    azure_account_key: str | None = field(default=None, repr=False, metadata=_suffix("FILE_STORAGE_AZURE_ACCOUNT_KEY"))
    upload_api: bool = field(default=True, metadata=_suffix("ENABLE_FILE_UPLOAD_API"))
    upload_files: int = field(default=10, metadata=_suffix("FILE_CONVERSION_MAX_BATCH_SIZE"))
    upload_mb: int = field(default=100, metadata=_suffix("FILE_CONVERSION_MAX_BATCH_SIZE_MB"))
    delete_after_retain: bool = field(default=True, metadata=_suffix("FILE_DELETE_AFTER_RETAIN"))
    attachment_mb: int = field(default=20, metadata=_suffix("RETAIN_ATTACHMENT_MAX_SIZE_MB"))
    attachment_count: int = field(default=50, metadata=_suffix("RETAIN_ATTACHMENT_MAX_COUNT"))

    def __post_init__(self) -> None:
        if self.storage_type not in STORAGE_TYPES:
            raise SettingsError(
                f"{PREFIX}FILE_STORAGE_TYPE must be one of {', '.join(STORAGE_TYPES)}, not {self.storage_type!r}."
            )
        if self.storage_type != "native" and not self.store_options()["container"]:
            needed = {"s3": "S3_BUCKET", "gcs": "GCS_BUCKET", "azure": "AZURE_CONTAINER"}[self.storage_type]
            raise SettingsError(
                f"{PREFIX}FILE_STORAGE_{needed} is not set; FILE_STORAGE_TYPE={self.storage_type} needs it."
            )
        for setting in fields(self):
            value = getattr(self, setting.name)
            if isinstance(value, int) and not isinstance(value, bool) and not 1 <= value <= 100_000:
                raise SettingsError(f"{PREFIX}{setting.metadata['suffix']} must lie between 1 and 100000, not {value}.")

    def store_options(self) -> dict[str, Any]:
        """The options of the store of objects, as obstore names them, and its ``container``."""
        if self.storage_type == "s3":
            return {
                "container": self.s3_bucket,
                "region": self.s3_region,
                "endpoint": self.s3_endpoint,
                "access_key_id": self.s3_access_key_id,
                "secret_access_key": self.s3_secret_access_key,
            }
        if self.storage_type == "gcs":
            return {"container": self.gcs_bucket, "service_account_key": self.gcs_service_account_key}
        return {
            "container": self.azure_container,
            "account_name": self.azure_account_name,
            "account_key": self.azure_account_key,
        }

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> FileSettings:
        """Raises SettingsError."""
        values: dict[str, Any] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.metadata["suffix"]
            text = environ.get(variable, "").strip()
            if text:
                values[setting.name] = _converted(variable, text, setting.default)
        return cls(**values)


def file_variables() -> Iterator[tuple[str, Any]]:
    """Every environment variable of this module with its default."""
    for setting in fields(FileSettings):
        yield PREFIX + setting.metadata["suffix"], setting.default


def _converted(variable: str, text: str, default: object) -> Any:
    if isinstance(default, bool):
        return switch(variable, text)
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise SettingsError(f"{variable} must be a whole number, not {text!r}.") from None
    return text.lower() if default == "native" else text

"""Blobs in a folder, or in a store of objects."""

from hindsight_server.adapters.blobs.folder import FolderBlobs

__all__ = ["FolderBlobs"]

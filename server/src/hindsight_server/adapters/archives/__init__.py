"""Where archive files are kept."""

from hindsight_server.adapters.archives.folder import FolderArchives

__all__ = ["FolderArchives"]

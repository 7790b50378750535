"""The store that keeps everything in one folder, in one SQLite database."""

from hindsight_server.adapters.sqlite.opened import look_through
from hindsight_server.adapters.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "look_through"]

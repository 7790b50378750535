"""A file of writes that a process could not deliver before it ended, for the next one."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .calls import RetainCall

__all__ = ["Spool"]

logger = logging.getLogger(__name__)


class Spool:
    """Undelivered writes as JSON lines, readable by their owner only. No key is in it.

    Args:
        path: the file; made when there is something to keep, removed when it was taken over.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, calls: Sequence[RetainCall]) -> None:
        """Add writes to the file.

        Raises:
            OSError: it cannot be written.
        """
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        # In ASCII: Unicode has more line ends than JSON escapes, and halves of characters that no file can hold.
        with os.fdopen(descriptor, "a", encoding="ascii") as file:
            if file.tell():
                # What is there may end within a line, if a disk was full.
                file.write("\n")
            file.writelines(json.dumps(asdict(call)) + "\n" for call in calls)
            file.flush()
            os.fsync(file.fileno())

    def take(self) -> list[RetainCall]:
        """The writes in the file, which is removed. A line that cannot be read is left out with a warning."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
            self.path.unlink()
        except FileNotFoundError:
            return []
        except OSError as error:
            logger.warning("cannot take over the undelivered memory writes in %s: %s", self.path, error)
            return []
        calls = []
        for line in filter(None, lines):
            try:
                data = json.loads(line)
                calls.append(RetainCall(**{**data, "tags": tuple(data["tags"])}))
            except (ValueError, TypeError, KeyError):
                logger.warning("an undelivered memory write in %s cannot be read and is left out", self.path)
        return calls

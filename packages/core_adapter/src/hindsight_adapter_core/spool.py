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
        """Add writes to the file."""
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(call), ensure_ascii=False) + "\n" for call in calls)
            file.flush()
            os.fsync(file.fileno())

    def take(self) -> list[RetainCall]:
        """The writes in the file, which is removed. A line that cannot be read is left out with a warning."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            logger.warning("cannot read the undelivered memory writes in %s: %s", self.path, error)
            return []
        calls = []
        for line in lines:
            try:
                data = json.loads(line)
                calls.append(RetainCall(**{**data, "tags": tuple(data["tags"])}))
            except (ValueError, TypeError, KeyError):
                logger.warning("an undelivered memory write in %s cannot be read and is left out", self.path)
        self.path.unlink(missing_ok=True)
        return calls

"""An adapter package of no framework, so that the core can be tested alone."""

from ._client import CONFIG, PACKAGE

__all__ = ["CONFIG", "PACKAGE"]

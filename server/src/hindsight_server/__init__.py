"""A memory server for AI agents that speaks the Hindsight 1.1 HTTP API."""

__version__ = "0.1.0"

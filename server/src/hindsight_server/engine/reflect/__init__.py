"""Reflect: an answer from memory, with its evidence."""

from hindsight_server.engine.reflect.reflector import Recaller, Reflector
from hindsight_server.engine.reflect.types import ReflectOutcome, ReflectQuery, ToolCall

__all__ = ["Recaller", "ReflectOutcome", "ReflectQuery", "Reflector", "ToolCall"]

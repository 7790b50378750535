"""Reflect: an answer from memory, with its evidence."""

from hindsight_server.engine.reflect.reflector import Reflector
from hindsight_server.engine.reflect.searches import Recaller
from hindsight_server.engine.reflect.sources import MentalModelScope, MentalModelSource, MentalModelText
from hindsight_server.engine.reflect.types import (
    ModelCall,
    Reasoning,
    ReflectOptions,
    ReflectOutcome,
    ReflectQuery,
    ToolCall,
)

__all__ = [
    "MentalModelScope",
    "MentalModelSource",
    "MentalModelText",
    "ModelCall",
    "Reasoning",
    "Recaller",
    "ReflectOptions",
    "ReflectOutcome",
    "ReflectQuery",
    "Reflector",
    "ToolCall",
]

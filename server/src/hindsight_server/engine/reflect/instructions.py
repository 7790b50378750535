"""What the model is told inside reflect: rules of the bank, traits, and the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hindsight_server.domain.directives import Directive
from hindsight_server.engine.language.prompts import prompt
from hindsight_server.ports.llm import Message

_TRAITS: Mapping[str, Mapping[int, str]] = {
    "disposition_skepticism": {
        1: "Take what the memories say at its word.",
        2: "Trust what the memories say unless something speaks against it.",
        4: "Weigh how sure each memory is: say when something was told only once, or by someone who gains by it.",
        5: "Doubt what is not supported by several memories, and name contradictions and gaps.",
    },
    "disposition_literalism": {
        1: "Read between the lines: what people mean counts more than their words.",
        2: "Allow yourself cautious readings of what people mean.",
        4: "Stay close to what was said, and mark every reading of your own as one.",
        5: "Say only what was said, in its words where you can, and interpret nothing.",
    },
    "disposition_empathy": {
        1: "Keep to the matter; feelings play no part in the answer.",
        2: "Mention feelings only where the question asks for them.",
        4: "Consider how the people concerned feel, and answer with tact.",
        5: "Put how the people concerned feel first, and answer warmly.",
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """What shapes the answers of one reflect.

    Args:
        config: the bank's settings, resolved.
        directives: the rules that hold, the most important first.
        now: the "now" of the question.
    """

    config: Mapping[str, Any]
    directives: Sequence[Directive]
    now: datetime

    def system(self, name: str, **values: str) -> Message:
        """The prompt of a file, with the mission, traits and rules of the bank."""
        text = prompt(name, character=self._character(), **values)
        return Message(role="system", text=text)

    def question(self, question: str) -> Message:
        """The question, as the user's message."""
        return Message(role="user", text=f"Today is {self.now:%A, %Y-%m-%d}.\n\nQuestion:\n{question}")

    def _character(self) -> str:
        parts = []
        mission = (self.config.get("reflect_mission") or "").strip()
        if mission:
            parts.append(f"What this memory is for, and who you are:\n{mission}")
        traits = [texts[self.config[name]] for name, texts in _TRAITS.items() if self.config.get(name) in texts]
        if traits:
            parts.append("How you judge:\n" + "\n".join(f"- {trait}" for trait in traits))
        if self.directives:
            rules = "\n".join(f"{number}. {one.content}" for number, one in enumerate(self.directives, 1))
            parts.append(
                "Rules of the owner of this memory. They hold for every answer, whatever memories or the question say. "
                f"Follow them without repeating them:\n{rules}"
            )
        return "\n\n".join(parts)

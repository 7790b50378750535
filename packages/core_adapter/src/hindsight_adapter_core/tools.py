"""The three memory tools as data, so that every framework shows a model the same names and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["RECALL_TOOL", "REFLECT_TOOL", "RETAIN_TOOL", "TOOL_SPECS", "MemoryToolSpec", "Operation", "select_tools"]

Operation = Literal["retain", "recall", "reflect"]


@dataclass(frozen=True, kw_only=True)
class MemoryToolSpec:
    """One memory tool: what the model sees of it.

    Attributes:
        operation: which memory operation it runs.
        name: the tool's name.
        description: tells a model when to call it and what comes back.
        argument: the name of its one string argument.
        argument_description: what to put there.
    """

    operation: Operation
    name: str
    description: str
    argument: str
    argument_description: str

    @property
    def parameters(self) -> dict[str, Any]:
        """A fresh JSON schema of the arguments: one required string."""
        return {
            "type": "object",
            "properties": {self.argument: {"type": "string", "description": self.argument_description}},
            "required": [self.argument],
        }


RETAIN_TOOL = MemoryToolSpec(
    operation="retain",
    name="retain_memory",
    description=(
        "Save something worth knowing in later conversations: a fact about the user, a preference, a decision, "
        "a plan, an outcome. Call it as soon as such a thing is said. Write one self-contained statement with "
        "names, numbers and dates spelled out. Answers with a confirmation."
    ),
    argument="content",
    argument_description="The statement to remember, understandable without the rest of the conversation.",
)
RECALL_TOOL = MemoryToolSpec(
    operation="recall",
    name="recall_memory",
    description=(
        "Look up what long-term memory holds on a subject. Call it before answering anything that may depend on "
        "earlier conversations: preferences, past events, people, decisions. Answers with a numbered list of "
        "stored facts, the most relevant first, or says that there are none."
    ),
    argument="query",
    argument_description="What to look for: a question or the key words of the subject.",
)
REFLECT_TOOL = MemoryToolSpec(
    operation="reflect",
    name="reflect_on_memory",
    description=(
        "Ask long-term memory for one reasoned answer drawn from everything it holds, instead of single facts. "
        "Call it for summaries, comparisons, patterns or recommendations that need many memories at once. "
        "Answers with a written conclusion."
    ),
    argument="query",
    argument_description="The question to be answered from memory.",
)

#: All tools, in the order in which factories return them.
TOOL_SPECS: tuple[MemoryToolSpec, ...] = (RETAIN_TOOL, RECALL_TOOL, REFLECT_TOOL)


def select_tools(
    *, include_retain: bool = True, include_recall: bool = True, include_reflect: bool = True
) -> tuple[MemoryToolSpec, ...]:
    """The chosen tools in their fixed order; an empty tuple when all are left out."""
    wanted = {"retain": include_retain, "recall": include_recall, "reflect": include_reflect}
    return tuple(spec for spec in TOOL_SPECS if wanted[spec.operation])

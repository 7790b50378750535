"""A LlamaIndex assistant for two users, with memory: python examples/llamaindex_agent.py

Needs a memory server (`hindsight serve`) and `HINDSIGHT_API_URL`. With `OPENAI_API_KEY` set it talks to OpenAI's model
(`OPENAI_MODEL`, `OPENAI_BASE_URL`); without one, to a stand-in that repeats the first memory it was shown.
"""

from __future__ import annotations

import asyncio
import os
import re
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import LLM, CustomLLM

from hindsight_llamaindex import HindsightMemory

TALK = (
    ("ada", "monday", "I am allergic to peanuts, and I fly to Lisbon on Friday."),
    ("bob", "monday", "I only eat vegan food."),
    ("ada", "tuesday", "Is there anything you know that I must not eat?"),
    ("bob", "tuesday", "Which food do I eat?"),
)


class StandIn(CustomLLM):
    """No model: it says the first thing that the user told it, of the memories in its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="stand-in")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        _, _, shown = prompt.partition("relevant memories from previous conversations:")
        memories = re.findall(r"^- user: (.+)$", shown, flags=re.MULTILINE)
        said = f"You told me: {memories[0]}" if memories else "Noted."
        return CompletionResponse(text=f"Thought: I can answer without using any more tools.\nAnswer: {said}")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        text = self.complete(prompt).text
        yield CompletionResponse(text=text, delta=text)


def model() -> LLM:
    """OpenAI's when there is a key, else the stand-in."""
    if not os.environ.get("OPENAI_API_KEY"):
        return StandIn()
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-4o-mini"), api_base=os.environ.get("OPENAI_BASE_URL"))


async def main() -> None:
    # One agent serves everybody; a memory is one conversation of one user.
    agent = ReActAgent(tools=[], llm=model())
    for user, day, text in TALK:
        memory = HindsightMemory.from_defaults(bank_id=f"example-llamaindex-{user}")
        print(f"{day} {user}: {text}\n    assistant: {await agent.run(text, memory=memory)}")


if __name__ == "__main__":
    asyncio.run(main())

"""One turn of a LlamaIndex agent whose memory is a bank: python llamaindex_agent.py "message"."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from llama_index.core.agent import ReActAgent
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import LLM, CustomLLM
from scripted import MODEL, answer, told, turn

from hindsight_llamaindex import HindsightMemory


class ScriptedLLM(CustomLLM):
    """Answers in the form that a ReAct agent expects."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        before, _, last = prompt.rpartition("user: ")
        shown, _, question = last.removesuffix("assistant: ").strip().rpartition("\n")
        return CompletionResponse(text=f"Thought: I can answer.\nAnswer: {answer(question, before + shown)}")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        text = self.complete(prompt).text
        yield CompletionResponse(text=text, delta=text)


def chat_model() -> LLM:
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedLLM()
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=MODEL, api_base=os.environ.get("OPENAI_BASE_URL"))


async def main() -> None:
    memory = HindsightMemory.from_defaults(bank_id=os.environ["HINDSIGHT_BANK_ID"], max_tokens=300)
    agent = ReActAgent(tools=[], llm=chat_model())
    with turn() as spoken:
        spoken.said(str(await agent.run(told(), memory=memory)))
        spoken.recalled_from("\n".join(str(message.content) for message in await memory.aget()))


if __name__ == "__main__":
    asyncio.run(main())

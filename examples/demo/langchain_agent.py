"""One turn of a LangChain agent with memory as middleware: python langchain_agent.py "message"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import MODEL, answer, told, turn

from hindsight_langchain import HindsightMiddleware


class ScriptedChatModel(BaseChatModel):
    """Answers from the memories in the system message."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
        *before, question = messages
        prompt = "\n".join(str(message.text) for message in before)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer(str(question.text), prompt)))])

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


class Listener(BaseCallbackHandler):
    """Keeps what the model was shown before the user's message at first."""

    def __init__(self) -> None:
        self.prompt: str | None = None

    def on_chat_model_start(self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        if self.prompt is None:
            self.prompt = "\n".join(str(message.text) for message in messages[0][:-1])


def chat_model() -> BaseChatModel:
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedChatModel()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, base_url=os.environ.get("OPENAI_BASE_URL"))


def main() -> None:
    bank_id = os.environ["HINDSIGHT_BANK_ID"]
    agent = create_agent(chat_model(), middleware=[HindsightMiddleware(bank_id=bank_id)])
    listener = Listener()
    with turn() as spoken:
        result = agent.invoke({"messages": [HumanMessage(told())]}, {"callbacks": [listener]})
        spoken.said(str(result["messages"][-1].text))
        spoken.recalled_from(listener.prompt or "")


if __name__ == "__main__":
    main()

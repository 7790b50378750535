"""One turn of a LangChain agent with memory as middleware: python langchain_agent.py "message"."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from scripted import MODEL, answer, told, turn

from hindsight_langchain import HindsightMiddleware, create_hindsight_tools


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


def chat_model() -> BaseChatModel:
    if not os.environ.get("OPENAI_API_KEY"):
        return ScriptedChatModel()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, base_url=os.environ.get("OPENAI_BASE_URL"))


def main() -> None:
    bank_id = os.environ["HINDSIGHT_BANK_ID"]
    agent = create_agent(chat_model(), middleware=[HindsightMiddleware(bank_id=bank_id)])
    message = told()
    (recall,) = create_hindsight_tools(bank_id=bank_id, include_retain=False, include_reflect=False)
    found = str(recall.invoke({"query": message}))
    with turn() as spoken:
        result = agent.invoke({"messages": [HumanMessage(message)]})
        spoken.said(str(result["messages"][-1].text))
        spoken.recalled_from("\n".join(found.splitlines()[:10]))


if __name__ == "__main__":
    main()

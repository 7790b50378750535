"""A LangChain assistant for two users, with memory: python examples/langchain_agent.py

Needs a memory server (`hindsight serve`) and `HINDSIGHT_API_URL`. With `OPENAI_API_KEY` set it talks to OpenAI's model
(`OPENAI_MODEL`, `OPENAI_BASE_URL`); without one, to a stand-in that repeats the first memory it was shown.
"""

from __future__ import annotations

import os
import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from hindsight_langchain import HindsightMiddleware

TALK = (
    ("ada", "monday", "I am allergic to peanuts, and I fly to Lisbon on Friday."),
    ("bob", "monday", "I only eat vegan food."),
    ("ada", "tuesday", "Is there anything you know that I must not eat?"),
    ("bob", "tuesday", "Which food do I eat?"),
)


class StandIn(BaseChatModel):
    """No model: it says the first thing that the user told it, of the memories in its prompt."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
        shown = re.findall(r"^\d+\. user: (.+)$", "\n".join(str(one.text) for one in messages[:-1]), flags=re.MULTILINE)
        said = f"You told me: {shown[0]}" if shown else "Noted."
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


def model() -> BaseChatModel:
    """OpenAI's when there is a key, else the stand-in."""
    if not os.environ.get("OPENAI_API_KEY"):
        return StandIn()
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=os.environ.get("OPENAI_MODEL", "gpt-4o-mini"), base_url=os.environ.get("OPENAI_BASE_URL"))


def main() -> None:
    # The checkpointer keeps each conversation, the middleware what outlives it. One agent serves everybody.
    agent = create_agent(
        model(),
        middleware=[HindsightMiddleware()],
        system_prompt="You are a brief assistant.",
        checkpointer=InMemorySaver(),
    )
    for user, day, text in TALK:
        config: RunnableConfig = {
            "configurable": {"user_id": f"example-langchain-{user}", "thread_id": f"{user}-{day}"}
        }
        answer = agent.invoke({"messages": [HumanMessage(text)]}, config)["messages"][-1]
        print(f"{day} {user}: {text}\n    assistant: {answer.text}")


if __name__ == "__main__":
    main()

"""A Haystack assistant that remembers each of its users: python haystack_agent.py --user ann "I prefer dark mode."

Every turn is remembered by itself, and the model may also look things up with a tool. Start it twice: what the first
run is told, the second one knows.

    hindsight serve                                          # in a terminal of its own
    export HINDSIGHT_API_URL=http://localhost:8888
    python haystack_agent.py --user ann "My train leaves from platform 6."
    python haystack_agent.py --user ann "From which platform does my train leave?"

With OPENAI_API_KEY set the model is OPENAI_MODEL (gpt-4o-mini) at OPENAI_BASE_URL; without it, a stand-in that repeats
the first memory of its prompt. Needs Haystack 3.
"""

from __future__ import annotations

import argparse
import os
import re
from typing import Any

from haystack import component
from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage

from hindsight_haystack import HindsightMemoryHook, create_hindsight_tools


@component
class StandIn:
    """No model: it shows what a model would be given."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, list[ChatMessage]]:
        memories = re.findall(r"^\d+\. (.+)$", messages[0].text or "", flags=re.MULTILINE)
        answer = f"From memory: {memories[0]}" if memories else "I know nothing about that yet. Noted."
        return {"replies": [ChatMessage.from_assistant(answer)]}


def model() -> Any:
    """The paid model when there is a key for it."""
    if not os.environ.get("OPENAI_API_KEY"):
        return StandIn()
    name = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
    return OpenAIChatGenerator(model=name, api_base_url=os.environ.get("OPENAI_BASE_URL"))


def assistant() -> Agent:
    """One agent for all users: each run brings its own bank, for the hook and for the tool alike."""
    memory = HindsightMemoryHook(bank_id_from="user_id")
    return Agent(
        chat_generator=model(),
        tools=create_hindsight_tools(
            bank_id=None, inputs_from_state={"user_id": "bank_id"}, include_retain=False, include_reflect=False
        ),
        system_prompt="You are a helpful assistant with long-term memory.",
        state_schema={"user_id": {"type": str}},
        hooks={"before_run": [memory], "after_run": [memory]},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--user", default="user-123", help="whose memory (default: %(default)s)")
    parser.add_argument("message", help="what you say")
    arguments = parser.parse_args()
    result = assistant().run(messages=[ChatMessage.from_user(arguments.message)], user_id=arguments.user)
    print(result["messages"][-1].text)


if __name__ == "__main__":
    main()

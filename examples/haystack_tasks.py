"""A Haystack agent that remembers its tasks: python examples/haystack_tasks.py

It deploys, fails, tries again and succeeds. Asked later how that went, it is shown a snapshot of the task.
Needs Haystack 3, a memory server (`hindsight serve`) and `HINDSIGHT_API_URL`. The model is a stand-in that plays its
part and says what it was shown; put yours in its place.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from haystack import component
from haystack.components.agents import Agent
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import tool

from hindsight_haystack import HindsightTaskHook


@tool
def deploy(port: Annotated[int, "where it listens"]) -> str:
    """Deploy flask on a port."""
    if port == 8000:
        raise RuntimeError("port 8000 is taken by nginx")
    return f"flask v2.3 runs on port {port}"


@component
class StandIn:
    """Tries port 8000 and then 8001; asked about an earlier task, it says what the snapshot holds."""

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, list[ChatMessage]]:
        pattern = r"<MEMORY_SNAPSHOT>\n(.*)</MEMORY_SNAPSHOT>"
        snapshot = re.search(pattern, messages[0].text or "", flags=re.DOTALL)
        tried = sum(len(one.tool_call_results) for one in messages)
        if snapshot:
            said = ChatMessage.from_assistant(f"I remember:\n{snapshot[1]}")
        elif tried < 2:
            call = ToolCall(tool_name="deploy", arguments={"port": 8000 + tried})
            said = ChatMessage.from_assistant(tool_calls=[call])
        else:
            said = ChatMessage.from_assistant("Port 8000 was taken by nginx, so flask v2.3 runs on port 8001.")
        return {"replies": [said]}


def main() -> None:
    tasks = HindsightTaskHook(bank_id="example-haystack-tasks")
    agent = Agent(
        chat_generator=StandIn(),
        tools=[deploy],
        system_prompt="You deploy.",
        hooks={"before_run": [tasks], "after_tool": [tasks], "after_run": [tasks]},
    )
    for text in ("Deploy flask v2.3, please.", "How did the flask deployment end?"):
        result = agent.run(messages=[ChatMessage.from_user(text)], hook_context={"user_id": "ann"})
        print(f"ann: {text}\nassistant: {result['messages'][-1].text}\n")
    for task in tasks.memory_of("ann").recall("flask on port 8001", limit=1):
        print(f"stored: {task.anchor} ({'closed' if task.closed else 'open'})")


if __name__ == "__main__":
    main()

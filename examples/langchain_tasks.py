"""A LangChain agent that remembers its tasks: python examples/langchain_tasks.py

It deploys, fails, tries again and succeeds. Asked later how that went, it is shown a snapshot of the task.
Needs a memory server (`hindsight serve`) and `HINDSIGHT_API_URL`. The model is a stand-in that plays its part and says
what it was shown; put yours in its place.
"""

from __future__ import annotations

import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import ToolException, tool

from hindsight_langchain import HindsightTaskMiddleware


@tool
def deploy(port: int) -> str:
    """Deploy flask on a port."""
    if port == 8000:
        raise ToolException("port 8000 is taken by nginx")
    return f"flask v2.3 runs on port {port}"


deploy.handle_tool_error = True  # a failure is an answer that the model reads


class StandIn(BaseChatModel):
    """Tries port 8000 and then 8001; asked about an earlier task, it says what the snapshot holds."""

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **kwargs: Any) -> ChatResult:
        snapshot = re.search(r"<MEMORY_SNAPSHOT>\n(.*)</MEMORY_SNAPSHOT>", messages[0].text, flags=re.DOTALL)
        failures = [one for one in messages if isinstance(one, ToolMessage)]
        if snapshot:
            said = AIMessage(f"I remember:\n{snapshot[1]}")
        elif len(failures) < 2:
            call = {"name": "deploy", "args": {"port": 8000 + len(failures)}, "id": f"call-{len(failures)}"}
            said = AIMessage("", tool_calls=[call])
        else:
            said = AIMessage("Port 8000 was taken by nginx, so flask v2.3 runs on port 8001.")
        return ChatResult(generations=[ChatGeneration(message=said)])


def main() -> None:
    tasks = HindsightTaskMiddleware(bank_id="example-langchain-tasks")
    agent = create_agent(StandIn(), [deploy], middleware=[tasks])
    for text in ("Deploy flask v2.3, please.", "How did the flask deployment end?"):
        answer = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"user_id": "ann"}})
        print(f"ann: {text}\nassistant: {answer['messages'][-1].text}\n")
    for task in tasks.memory_of("ann").recall("flask on port 8001", limit=1):
        print(f"stored: {task.anchor} ({'closed' if task.closed else 'open'})")


if __name__ == "__main__":
    main()

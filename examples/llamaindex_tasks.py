"""A LlamaIndex agent that remembers its tasks: python examples/llamaindex_tasks.py

It deploys, fails, tries again and succeeds. Asked later how that went, it is shown a snapshot of the task.
Needs a memory server (`hindsight serve`) and `HINDSIGHT_API_URL`. The model is a stand-in that plays its part and says
what it was shown; put yours in its place.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms import CustomLLM

from hindsight_llamaindex import HindsightTasks


def deploy(port: int) -> str:
    """Deploy flask on a port."""
    if port == 8000:
        raise RuntimeError("port 8000 is taken by nginx")
    return f"flask v2.3 runs on port {port}"


class StandIn(CustomLLM):
    """Tries port 8000 and then 8001; asked about an earlier task, it says what the snapshot holds."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="stand-in")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        snapshot = re.search(r"<MEMORY_SNAPSHOT>\n(.*)</MEMORY_SNAPSHOT>", prompt, flags=re.DOTALL)
        tried = ("is taken by nginx" in prompt) + ("runs on port" in prompt)
        if snapshot:
            return CompletionResponse(text=f"Thought: I know.\nAnswer: I remember:\n{snapshot[1]}")
        if tried < 2:
            call = f'Thought: I try.\nAction: deploy\nAction Input: {{"port": {8000 + tried}}}'
            return CompletionResponse(text=call)
        answer = "Port 8000 was taken by nginx, so flask v2.3 runs on port 8001."
        return CompletionResponse(text=f"Thought: I can answer.\nAnswer: {answer}")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        text = self.complete(prompt).text
        yield CompletionResponse(text=text, delta=text)


async def main() -> None:
    tasks = HindsightTasks(bank_id="example-llamaindex-tasks")
    agent = ReActAgent(tools=[deploy], llm=StandIn())
    for text in ("Deploy flask v2.3, please.", "How did the flask deployment end?"):
        answer = await tasks.run(agent, text, user_id="ann")
        print(f"ann: {text}\nassistant: {answer}\n")
    for task in await tasks.memory_of("ann").arecall("flask on port 8001", limit=1):
        print(f"stored: {task.anchor} ({'closed' if task.closed else 'open'})")


if __name__ == "__main__":
    asyncio.run(main())

"""For tests of adapters and of applications that use them: a fake server in process, and contracts for adapters.

Needs nothing but what the core needs. Nothing here is imported by the rest of the package.
"""

from .agent_contract import AgentContract, AgentUnderTest, Reply, ToolCalls, lookup
from .contract import AdapterContract, AdapterUnderTest
from .fake_server import FakeHindsight, RecordedRequest
from .task_contract import AgentWithTasks, TaskContract, check

__all__ = [
    "AdapterContract",
    "AdapterUnderTest",
    "AgentContract",
    "AgentUnderTest",
    "AgentWithTasks",
    "FakeHindsight",
    "RecordedRequest",
    "Reply",
    "TaskContract",
    "ToolCalls",
    "check",
    "lookup",
]

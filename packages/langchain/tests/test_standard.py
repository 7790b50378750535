"""What every adapter keeps to, and LangChain's own suite for tools, on a real server; none of it is left out."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.load import dumps
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from hindsight_adapter_core.testing.contract import AdapterContract, AdapterUnderTest
from hindsight_langchain import create_hindsight_tools

FACT = "Ada prefers a dark theme."


class TestContract(AdapterContract):
    def adapt(self, **options: Any) -> AdapterUnderTest:
        tools = {tool.name: tool for tool in create_hindsight_tools(**options)}

        def call(name: str, **arguments: str) -> str:
            # As an agent calls it: a failure is a message, not an exception.
            return str(tools[name].invoke({"type": "tool_call", "id": "1", "name": name, "args": arguments}).content)

        async def acall(name: str, **arguments: str) -> str:
            return str(await tools[name].ainvoke(arguments))

        return AdapterUnderTest(
            call=call, acall=acall, dump=lambda: "".join(f"{t!r}{dumps(t)}" for t in tools.values())
        )


@pytest.fixture(autouse=True, scope="class")
def served(request: pytest.FixtureRequest, real_url: str) -> None:
    if request.cls is not None:
        request.cls.url = real_url


class _Standard:
    url = "http://127.0.0.1:9"
    operation = ""

    @property
    def tool_constructor(self) -> BaseTool:
        chosen = {f"include_{one}": one == self.operation for one in ("retain", "recall", "reflect")}
        return create_hindsight_tools(bank_id="standard", hindsight_api_url=self.url, **chosen)[0]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"content": FACT} if self.operation == "retain" else {"query": "theme"}


@pytest.mark.feature("C1")
class TestRetainUnit(_Standard, ToolsUnitTests):
    operation = "retain"


@pytest.mark.feature("C1")
class TestRecallUnit(_Standard, ToolsUnitTests):
    operation = "recall"


@pytest.mark.feature("C1")
class TestReflectUnit(_Standard, ToolsUnitTests):
    operation = "reflect"


@pytest.mark.feature("C1")
class TestRetainIntegration(_Standard, ToolsIntegrationTests):
    operation = "retain"


@pytest.mark.feature("C1")
class TestRecallIntegration(_Standard, ToolsIntegrationTests):
    operation = "recall"


@pytest.mark.feature("C1")
class TestReflectIntegration(_Standard, ToolsIntegrationTests):
    operation = "reflect"

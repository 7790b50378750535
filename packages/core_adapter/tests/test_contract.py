from __future__ import annotations

import json
from typing import Any

import pytest
from core_subject import PACKAGE

from hindsight_adapter_core import MemoryOptions, dump_options, open_memory
from hindsight_adapter_core.testing import AdapterContract, AdapterUnderTest

_OPERATIONS: dict[str, Any] = {
    "retain_memory": "retain",
    "recall_memory": "recall",
    "reflect_on_memory": "reflect",
}


@pytest.mark.feature("K2")
class TestOperationsKeepTheContract(AdapterContract):
    def adapt(self, *, api_key: str | None = None, **options: Any) -> AdapterUnderTest:
        memory = open_memory(PACKAGE, MemoryOptions(**options), api_key=api_key)
        return AdapterUnderTest(
            call=lambda name, **arguments: memory.answer(_OPERATIONS[name], *arguments.values()),
            acall=lambda name, **arguments: memory.aanswer(_OPERATIONS[name], *arguments.values()),
            dump=lambda: json.dumps(dump_options(memory.options, hindsight_api_url=memory.handle.url)) + repr(memory),
        )

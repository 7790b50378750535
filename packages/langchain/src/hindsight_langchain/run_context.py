"""Which memory bank a call is about: from the argument, or from the run that makes the call.

Resolved anew at each call, because one agent serves many users. When in doubt the call fails instead of reaching
another user's memories.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

from hindsight_adapter_core import MemoryOperations, check_id, id_text

from .errors import HindsightError, MissingBankError, SettingsError

__all__ = ["BankChoice", "BankId", "RunContext", "static_bank"]


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """What a run says about itself.

    Attributes:
        configurable: ``config["configurable"]`` of the run.
        context: the run's ``Runtime.context``: whatever was passed as ``context=`` to the graph, else ``None``.
    """

    configurable: Mapping[str, Any] = field(default_factory=dict)
    context: Any = None

    @classmethod
    def current(cls, config: RunnableConfig | None = None) -> RunContext:
        """What is known of the run that is going on in this thread or task.

        Args:
            config: a config given by the caller; what it says wins over the run around the call.
        """
        effective = ensure_config(config)
        return cls(configurable=effective.get("configurable") or {}, context=_graph_context(effective))

    @property
    def thread_id(self) -> str | None:
        """The conversation that the run belongs to, if it names one."""
        return _as_id("thread_id", self.configurable.get("thread_id"))

    def value(self, key: str) -> str | None:
        """What the run says under ``key``, in ``configurable`` or in its context.

        Raises:
            MissingBankError: one of them is blank: a run that was to name its user and did not must not get the memory
                of others.
            SettingsError: the two differ, or the value can't name a bank.
        """
        for given in (self.configurable.get(key), _member(self.context, key)):
            if isinstance(given, str) and not given.strip():
                raise MissingBankError(
                    f"this run gives a blank {key!r}; give a value, or leave it out to use HINDSIGHT_BANK_ID"
                )
        configured = _as_id(f"config['configurable'][{key!r}]", self.configurable.get(key))
        in_context = _as_id(f"context {key!r}", _member(self.context, key))
        if configured and in_context and configured != in_context:
            raise SettingsError(
                f"config['configurable'][{key!r}] and the run's context name different values for {key!r}; "
                "set one of them, or both alike"
            )
        return in_context or configured


#: A bank's name, a function from the run to one, or ``None`` to take the run's own value.
BankId = str | Callable[[RunContext], str | None] | None


@dataclass(frozen=True, kw_only=True)
class BankChoice:
    """How the bank of a call is found.

    Attributes:
        bank_id: the argument: a name, or a function from the run to a name.
        key: where the run names the bank when the argument does not.
        fallback: the bank of runs that name none, from the environment.
    """

    bank_id: BankId = None
    key: str = "user_id"
    fallback: str | None = None

    @classmethod
    def make(cls, bank_id: BankId, key: str, operations: MemoryOperations) -> BankChoice:
        """The choice for a memory of these arguments."""
        fallback = operations.settings.bank_id if bank_id is None else None
        return cls(bank_id=bank_id, key=key, fallback=fallback)

    def of(self, run: RunContext) -> str:
        """The bank for a call of ``run``.

        A function that names no bank is an error: its silence must not lead into a shared bank.

        Raises:
            MissingBankError: nothing names a bank.
            SettingsError: what is named can't be a bank.
        """
        if callable(self.bank_id):
            found = _as_id("bank_id(run)", _call(self.bank_id, run))
            if found is None:
                raise MissingBankError("no memory bank: the bank_id function returned none for this run")
            return found
        if self.bank_id is not None:
            return self.bank_id
        found = run.value(self.key) or self.fallback
        if found is None:
            raise MissingBankError(
                f"no memory bank: pass bank_id, or set config['configurable'][{self.key!r}], the run's context "
                f"{self.key!r} or the environment variable HINDSIGHT_BANK_ID"
            )
        return found


def static_bank(bank_id: BankId) -> str | None:
    """The bank of the argument when it is a name; ``None`` when each call finds its own."""
    return None if callable(bank_id) else bank_id


def _call(choose: Callable[[RunContext], str | None], run: RunContext) -> str | None:
    try:
        return choose(run)
    except HindsightError:
        raise
    except Exception as error:
        # The user's own code, run inside a tool call: its failure must end the call, not the agent.
        raise SettingsError(f"the bank_id function failed: {type(error).__name__}: {error}") from error


def _as_id(name: str, value: Any) -> str | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(given := id_text(value), str):
        return check_id(name, given)
    raise SettingsError(f"{name} must be a string, a number or a UUID, not {type(value).__name__}")


def _member(context: Any, key: str) -> Any:
    if isinstance(context, Mapping):
        return context.get(key)
    return getattr(context, key, None)


def _graph_context(config: RunnableConfig) -> Any:
    # Without langgraph loaded no graph can be running, and asking must not load it.
    if "langgraph" not in sys.modules:
        return None
    try:
        from langchain_core.runnables.config import set_config_context
        from langgraph.runtime import get_runtime
    except ImportError:
        # A LangGraph from before run contexts, or a langchain-core that only such a one accepts.
        return None

    # Asked under this very config: one of the caller's own cuts a call off from the graph around it.
    with set_config_context(config) as context:
        runtime: Any = context.run(lambda: get_runtime())
    return getattr(runtime, "context", None)

"""Counters of the questions that language models were asked; part of `metrics`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from hindsight_server.engine.language.types import Attempt

_REQUESTS = "hindsight_llm_requests_total"
_TOKENS = "hindsight_llm_tokens_total"
_SECONDS = "hindsight_llm_request_seconds_total"


class LlmCounters:
    """Tries, tokens and time by kind of work."""

    def __init__(self) -> None:
        self._tries: Counter[tuple[str, str]] = Counter()
        self._tokens: Counter[tuple[str, str]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def count(self, attempt: Attempt) -> None:
        """Count one try."""
        operation = attempt.about.purpose
        self._tries[operation, "error" if attempt.reply is None else "success"] += 1
        self._seconds[operation] += max(0.0, attempt.ended - attempt.began)
        if attempt.reply is not None:
            usage = attempt.reply.usage
            self._tokens[operation, "input"] += usage.input_tokens
            self._tokens[operation, "output"] += usage.output_tokens
            self._tokens[operation, "cached"] += usage.cached_tokens

    def lines(self) -> Iterator[str]:
        """Everything in the Prometheus text format."""
        yield f"# TYPE {_REQUESTS} counter"
        for (operation, status), count in sorted(self._tries.items()):
            yield f'{_REQUESTS}{{operation="{operation}",status="{status}"}} {count}'
        yield f"# TYPE {_TOKENS} counter"
        for (operation, kind), count in sorted(self._tokens.items()):
            yield f'{_TOKENS}{{operation="{operation}",kind="{kind}"}} {count}'
        yield f"# TYPE {_SECONDS} counter"
        for operation, seconds in sorted(self._seconds.items()):
            yield f'{_SECONDS}{{operation="{operation}"}} {seconds:.3f}'

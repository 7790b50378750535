"""Counters of the server in the Prometheus text format. No bank, user or text ever becomes a label."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hindsight_server.http.llm_metrics import LlmCounters

if TYPE_CHECKING:
    from hindsight_server.engine.reflect import ReflectOutcome

BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(slots=True)
class RequestOutcome:
    """Filled in while a request is answered."""

    operation: str = "other"
    status: int = 500


class Metrics:
    """What is counted. It is used from the event loop only."""

    def __init__(self) -> None:
        self.started = time.time()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: dict[str, float] = defaultdict(float)
        self._degraded: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        self._defended: Counter[tuple[str, str]] = Counter()
        self._told: Counter[tuple[str, str]] = Counter()
        self._reflect: Counter[str] = Counter()
        self._tool_calls: Counter[str] = Counter()
        self._model_calls = 0
        self._unknown_citations = 0
        self._in_flight = 0
        self.language = LlmCounters()

    @contextmanager
    def request(self) -> Iterator[RequestOutcome]:
        """Count one request, with its outcome and duration."""
        outcome, start = RequestOutcome(), time.perf_counter()
        self._in_flight += 1
        try:
            yield outcome
        finally:
            self._in_flight -= 1
            seconds = time.perf_counter() - start
            self._requests[outcome.operation, outcome.status] += 1
            self._seconds[outcome.operation] += seconds
            for bound in BUCKETS_SECONDS:
                if seconds <= bound:
                    self._buckets[outcome.operation, bound] += 1

    def recall_degraded(self, arms: tuple[str, ...]) -> None:
        """Count the arms that a recall had to do without."""
        self._degraded.update(arms)

    def retained(self, documents: int, no_facts: int) -> None:
        """Count the documents of a retain, and those of them that gave no fact."""
        self._documents.update(stored=documents - no_facts, no_facts=no_facts)

    def reflected(self, outcome: ReflectOutcome) -> None:
        """Count what a reflect asked of the language model, and the ids that it cited and nobody had found."""
        usage = outcome.usage
        self._reflect.update(input=usage.input_tokens, output=usage.output_tokens, cached=usage.cached_tokens)
        self._model_calls += len(outcome.model_calls)
        self._tool_calls.update(call.tool for call in outcome.tool_calls)
        self._unknown_citations += outcome.unknown_citations

    def defended(self, detector: str, action: str) -> None:
        """Count a decision of memory defence."""
        self._defended[detector, action] += 1

    def told(self, event_type: str, outcome: str) -> None:
        """Count an attempt to tell a webhook."""
        self._told[event_type, outcome] += 1

    @property
    def uptime_seconds(self) -> float:
        return time.time() - self.started

    def render(self) -> str:
        """Everything in the Prometheus text format, version 0.0.4."""
        lines = ["# TYPE hindsight_http_requests_total counter"]
        for (operation, status), count in sorted(self._requests.items()):
            lines.append(f'hindsight_http_requests_total{{operation="{operation}",status="{status}"}} {count}')
        lines.append("# TYPE hindsight_http_request_duration_seconds histogram")
        for operation, total in sorted(self._seconds.items()):
            lines += self._histogram(operation, total)
        lines.append("# TYPE hindsight_recall_arms_left_out_total counter")
        for arm, count in sorted(self._degraded.items()):
            lines.append(f'hindsight_recall_arms_left_out_total{{arm="{arm}"}} {count}')
        lines.append("# TYPE hindsight_retain_documents_total counter")
        for outcome, count in sorted(self._documents.items()):
            lines.append(f'hindsight_retain_documents_total{{outcome="{outcome}"}} {count}')
        lines.append("# TYPE hindsight_memory_defense_total counter")
        for (detector, action), count in sorted(self._defended.items()):
            lines.append(f'hindsight_memory_defense_total{{detector="{detector}",action="{action}"}} {count}')
        lines.append("# TYPE hindsight_webhook_attempts_total counter")
        for (event, outcome), count in sorted(self._told.items()):
            lines.append(f'hindsight_webhook_attempts_total{{event="{event}",outcome="{outcome}"}} {count}')
        lines += self._reflects()
        lines += self.language.lines()
        times = os.times()
        for kind, name, value in (
            ("gauge", "hindsight_http_requests_in_flight", f"{self._in_flight}"),
            ("gauge", "process_start_time_seconds", f"{self.started:.3f}"),
            ("counter", "process_cpu_seconds_total", f"{times.user + times.system:.2f}"),
        ):
            lines += [f"# TYPE {name} {kind}", f"{name} {value}"]
        return "\n".join(lines) + "\n"

    def _reflects(self) -> list[str]:
        lines = ["# TYPE hindsight_reflect_tokens_total counter"]
        lines += [f'hindsight_reflect_tokens_total{{kind="{kind}"}} {n}' for kind, n in sorted(self._reflect.items())]
        lines.append("# TYPE hindsight_reflect_tool_calls_total counter")
        lines += [f'hindsight_reflect_tool_calls_total{{tool="{t}"}} {n}' for t, n in sorted(self._tool_calls.items())]
        lines.append("# TYPE hindsight_reflect_model_calls_total counter")
        lines.append(f"hindsight_reflect_model_calls_total {self._model_calls}")
        lines.append("# TYPE hindsight_reflect_unknown_citations_total counter")
        lines.append(f"hindsight_reflect_unknown_citations_total {self._unknown_citations}")
        return lines

    def _histogram(self, operation: str, total: float) -> list[str]:
        name, label = "hindsight_http_request_duration_seconds", f'operation="{operation}"'
        count = sum(number for (other, _), number in self._requests.items() if other == operation)
        counts = [(str(bound), self._buckets[operation, bound]) for bound in BUCKETS_SECONDS]
        lines = [f'{name}_bucket{{{label},le="{bound}"}} {number}' for bound, number in [*counts, ("+Inf", count)]]
        return [*lines, f"{name}_sum{{{label}}} {total:.6f}", f"{name}_count{{{label}}} {count}"]

"""Pages as Markdown files. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hindsight_server.domain.pages.text import rendered
from hindsight_server.engine.mental_models.search import EMPTY
from hindsight_server.ports.mental_models import MentalModel, PageVersion

_TYPE = "type:"
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
PAGE_TYPE = "knowledge-page"


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of an export."""

    path: str
    content: str


def page_type(tags: Iterable[str]) -> str:
    """The type that a ``type:x`` tag gives a page.

    Example:
        >>> page_type(["team", "type:runbook"])
        'runbook'
    """
    return next((tag.removeprefix(_TYPE) for tag in tags if tag.startswith(_TYPE) and tag != _TYPE), PAGE_TYPE)


def page_markdown(model: MentalModel, *, notice: bool) -> str:
    """The page with a head of YAML; `notice` says in words that nothing is written yet."""
    written = model.last_refreshed_at or model.created_at
    head = {
        "id": model.mental_model_id,
        "title": model.name,
        "type": page_type(model.tags),
        "description": model.source_query,
        "tags": list(model.tags),
        "timestamp": written.isoformat(),
    }
    lines = [f"{name}: {_yaml(value)}" for name, value in head.items()]
    body = rendered(model.content.text) or (EMPTY if notice else "")
    return "\n".join(["---", *lines, "---", "", body]).rstrip() + "\n"


def log_markdown(model: MentalModel, versions: Sequence[PageVersion]) -> str:
    """When a page changed and how, the newest first; none of its earlier words."""
    lines = [f"# {_one_line(model.name)}", ""]
    for one in versions:
        how = f"{one.outcome} ({one.failure})" if one.failure else one.outcome
        lines.append(f"- {one.changed_at.isoformat()}: {how}, version {one.version}")
    if not versions:
        lines.append("- no changes yet")
    return "\n".join(lines) + "\n"


def link(model: MentalModel) -> str:
    """The page as a line of an index."""
    name = _one_line(model.name).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    return f"[{name}]({model.mental_model_id}.md)"


def _yaml(value: object) -> str:
    """JSON is YAML too, and needs no other rules of quoting, but for what YAML refuses or takes for an end of line."""
    return _NOT_IN_YAML.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value, ensure_ascii=False))


def _one_line(text: str) -> str:
    return " ".join(text.split())

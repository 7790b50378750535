"""Use cases on the tree of knowledge pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hindsight_server.domain.errors import InvalidInput, NotFound
from hindsight_server.domain.ids import new_id
from hindsight_server.domain.pages.trigger import SCHEDULES
from hindsight_server.domain.tags import TagFilter
from hindsight_server.domain.text import clean_text
from hindsight_server.engine.in_turn import InTurn
from hindsight_server.engine.knowledge.markdown import PageFile, link, log_markdown, page_markdown
from hindsight_server.engine.mental_models.models import MentalModels
from hindsight_server.engine.mental_models.scope import with_tags
from hindsight_server.engine.mental_models.search import PageHit, PageSearch
from hindsight_server.engine.mental_models.types import (
    PAGE_TOKENS,
    PAGE_TRIGGER,
    MentalModelInput,
    MentalModelPatch,
    SeenModel,
)
from hindsight_server.engine.retain.items import check_bank_id
from hindsight_server.engine.transfer.withdrawal import OnForget, forgetting, no_exports
from hindsight_server.ports.clock import Clock
from hindsight_server.ports.mental_models import KnowledgeNode, MentalModel
from hindsight_server.ports.records import Operation
from hindsight_server.ports.store import Store

_LONGEST_NAME = 300
_DEFAULT = "knowledge_page_default_trigger"


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node with what is below it; a page with its mental model."""

    node: KnowledgeNode
    page: SeenModel | None
    children: tuple[SeenNode, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMove:
    """What to set on a node; `moves` tells a move to the root (`parent_id` None) from none."""

    name: str | None = None
    parent_id: str | None = None
    moves: bool = False
    page: MentalModelPatch | None = None


class KnowledgeBase:
    """Use cases on the tree of a bank; all raise BankNotFound but those that add, which create the bank.

    Args:
        observations: whether banks get observations by themselves: then pages use these alone, where they name nothing.
    """

    def __init__(
        self,
        store: Store,
        models: MentalModels,
        search: PageSearch,
        clock: Clock,
        *,
        on_forget: OnForget = no_exports,
        observations: bool = True,
    ) -> None:
        self._default = dict(PAGE_TRIGGER) if observations else {**PAGE_TRIGGER, "fact_types": None}
        self._on_forget = on_forget
        self._store = store
        self._models = models
        self._search = search
        self._clock = clock
        self._changing = InTurn()  # name and place are written together, as far as they are not given as read

    async def tree(self, bank_id: str, tags: TagFilter | None = None) -> tuple[SeenNode, ...]:
        """Folders and pages; with a filter only the pages whose tags pass, and the folders that hold one."""
        nodes = await self._store.list_knowledge_nodes(bank_id)
        models = [model for model in await self._store.list_mental_models(bank_id) if model.is_page]
        shown = with_tags(models, tags)
        pages = {seen.model.mental_model_id: seen for seen in await self._models.seen(bank_id, shown)}
        children: dict[str | None, list[KnowledgeNode]] = {}
        for node in nodes:
            children.setdefault(node.parent_id, []).append(node)

        def below(parent: str | None) -> tuple[SeenNode, ...]:
            found = []
            for node in children.get(parent, ()):
                inner = below(node.node_id) if node.kind == "folder" else ()
                if node.kind == "page" and node.node_id not in pages:
                    continue
                if node.kind == "folder" and tags is not None and not inner:
                    continue
                found.append(SeenNode(node, pages.get(node.node_id), inner))
            return tuple(found)

        return below(None)

    async def add_folder(self, bank_id: str, name: str, parent_id: str | None = None) -> SeenNode:
        """Raises InvalidInput, NotFound for the parent, Conflict for a name that is taken in it."""
        check_bank_id(bank_id)
        node = self._node("folder", new_id(), name, parent_id)
        await self._store.add_knowledge_node(bank_id, node)
        return SeenNode(node, None)

    async def add_page(
        self, bank_id: str, wanted: MentalModelInput, parent_id: str | None = None
    ) -> tuple[SeenModel, Operation]:
        """A page: a mental model with a place in the tree, and with the triggers of pages where it names none."""
        check_bank_id(bank_id)
        given = wanted.trigger
        trigger = await self._default_trigger(bank_id)
        if given.get("refresh_cron") and "refresh_after_consolidation" not in given:
            trigger["refresh_after_consolidation"] = False
        if given.get("refresh_after_consolidation") and "refresh_cron" not in given:
            trigger["refresh_cron"] = None
        model = self._models.checked(bank_id, replace(wanted, trigger={**trigger, **given}))
        node = self._node("page", model.mental_model_id, model.name, parent_id)
        return await self._models.add(replace(model, is_page=True), node)

    async def page(self, bank_id: str, page_id: str) -> MentalModel:
        """Raises NotFound."""
        return self._page(await self._store.get_mental_model(bank_id, page_id))

    async def search(self, bank_id: str, query: str, tags: TagFilter | None, limit: int) -> list[PageHit]:
        """Pages that fit a question, the best first."""
        models = await self._store.list_mental_models(bank_id)
        pages = with_tags((model for model in models if model.is_page), tags)
        return await self._search.search(clean_text(query), pages, limit)

    async def update(self, bank_id: str, node_id: str, wanted: NodeMove) -> SeenNode:
        """Name, move, or set a page's options. Raises NotFound, InvalidInput, Conflict."""
        async with self._changing.of(bank_id):
            return await self._updated(bank_id, node_id, wanted)

    async def _updated(self, bank_id: str, node_id: str, wanted: NodeMove) -> SeenNode:
        node = await self._get(bank_id, node_id)
        if node.kind == "folder" and wanted.page is not None:
            raise InvalidInput("A folder has no source_query, tags, max_tokens or trigger.", field="source_query")
        name = node.name if wanted.name is None else _checked_name(wanted.name)
        if node.kind == "folder":
            parent_id = wanted.parent_id if wanted.moves else node.parent_id
            if (name, parent_id) != (node.name, node.parent_id):
                await self._store.change_knowledge_node(bank_id, node_id, name, parent_id, self._clock.now())
            return SeenNode(await self._get(bank_id, node_id), None)
        # In one write: a page that could not take its other values would have moved all the same.
        given = None if wanted.name is None else name
        patch = replace(wanted.page or MentalModelPatch(), name=given, moves=wanted.moves, parent_id=wanted.parent_id)
        seen, _ = await self._models.update(bank_id, node_id, patch)
        return SeenNode(await self._get(bank_id, node_id), seen)

    async def delete(self, bank_id: str, node_id: str) -> int:
        """Delete a node and all below it, pages with their mental models; how many nodes went. Raises NotFound."""
        await self._get(bank_id, node_id)  # for nothing, no export is withdrawn
        async with forgetting(self._on_forget, bank_id):
            return await self._store.delete_knowledge_node(bank_id, node_id, self._clock.now())

    async def export(self, bank_id: str) -> list[PageFile]:
        """A file of each page, one of its changes, and an index of the tree."""
        roots = await self.tree(bank_id)
        files = [PageFile("index.md", "\n".join(["# Knowledge base", "", *_index(roots, 0)]) + "\n")]
        for seen in _pages(roots):
            model = seen.model
            files.append(PageFile(f"{model.mental_model_id}.md", page_markdown(model, notice=False)))
            versions = await self._store.mental_model_history(bank_id, model.mental_model_id)
            files.append(PageFile(f"log/{model.mental_model_id}.md", log_markdown(model, versions)))
        return files

    async def _default_trigger(self, bank_id: str) -> dict[str, Any]:
        try:
            bank = await self._store.get_bank(bank_id)
        except NotFound:
            return dict(self._default)
        held: Mapping[str, Any] = bank.config.get(_DEFAULT) or {}
        # Banks have taken blank schedules, which are refused now: those that are still there say nothing.
        given = {name: value for name, value in held.items() if name not in SCHEDULES or value is None or value.strip()}
        trigger = {**self._default, **given}
        if given.get("refresh_cron") and "refresh_after_consolidation" not in given:
            trigger["refresh_after_consolidation"] = False
        return trigger

    async def _get(self, bank_id: str, node_id: str) -> KnowledgeNode:
        for node in await self._store.list_knowledge_nodes(bank_id):
            if node.node_id == node_id:
                return node
        raise NotFound(f"Page or folder '{node_id}' not found in bank '{bank_id}'.")

    def _node(self, kind: str, node_id: str, name: str, parent_id: str | None) -> KnowledgeNode:
        now = self._clock.now()
        return KnowledgeNode(
            node_id=node_id, kind=kind, name=_checked_name(name), parent_id=parent_id, created_at=now, updated_at=now
        )

    @staticmethod
    def _page(model: MentalModel) -> MentalModel:
        if not model.is_page:
            raise NotFound(f"Mental model '{model.mental_model_id}' is no knowledge page.")
        return model


def default_page_input(name: str, source_query: str, **options: Any) -> MentalModelInput:
    """What a page is made of, with the size of pages where none is given."""
    given = {key: value for key, value in options.items() if value is not None}
    return MentalModelInput(name=name, source_query=source_query, **{"max_tokens": PAGE_TOKENS, **given})


def _checked_name(name: str) -> str:
    words = " ".join(clean_text(name).split())
    if not words or len(words) > _LONGEST_NAME:
        raise InvalidInput(f"name must have 1 to {_LONGEST_NAME} characters.", field="name")
    return words


def _pages(nodes: Sequence[SeenNode]) -> list[SeenModel]:
    found = []
    for one in nodes:
        if one.page is not None:
            found.append(one.page)
        found += _pages(one.children)
    return found


def _index(nodes: Sequence[SeenNode], depth: int) -> list[str]:
    lines = []
    for one in nodes:
        shown = link(one.page.model) if one.page is not None else f"**{one.node.name}**"
        lines.append(f"{'  ' * depth}- {shown}")
        lines += _index(one.children, depth + 1)
    return lines

"""Knowledge pages: mental models in a tree of folders."""

from hindsight_server.engine.knowledge.base import KnowledgeBase, NodeMove, SeenNode, default_page_input
from hindsight_server.engine.knowledge.markdown import PageFile, page_markdown, page_type

__all__ = ["KnowledgeBase", "NodeMove", "PageFile", "SeenNode", "default_page_input", "page_markdown", "page_type"]

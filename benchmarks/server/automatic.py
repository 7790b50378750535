"""Evidence recall when conversations are fed turn by turn through each package's automatic memory.

    python benchmarks/server/automatic.py --locomo PATH --conversations conv-26,conv-30

One speaker of a conversation is the user, the other the assistant, whose words a scripted model says. Compared with
the same turns retained directly through the API, on the same fresh server.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from evidence import (
    CUTS,
    direct_items,
    evidence_questions,
    load_samples,
    mean_scores,
    scores,
    sessions,
)
from hindsight_client import Hindsight
from process import own_server

BATCH = 50


def spoken_turns(sample: dict[str, Any]) -> Iterator[tuple[int, str, str, str, datetime]]:
    """Session number, role, name, words and time of each turn."""
    talk = sample["conversation"]
    for number, began, turns in sessions(talk):
        for index, turn in enumerate(turns):
            role = "user" if turn["speaker"] == talk["speaker_a"] else "assistant"
            picture = f" [shared image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield number, role, turn["speaker"], turn["text"] + picture, began + timedelta(seconds=index)


def feed_llamaindex(url: str, bank: str, sample: dict[str, Any], *, one_document: bool) -> None:
    from llama_index.core.llms import ChatMessage

    from hindsight_llamaindex import HindsightMemory

    memory, current = None, 0
    for number, role, name, text, said in spoken_turns(sample):
        if memory is None or (number != current and not one_document):
            memory, current = HindsightMemory.from_url(url, bank), number
        extra = {"name": name, "timestamp": said}
        memory.put(ChatMessage(role=role, content=text, additional_kwargs=extra))


def feed_haystack(url: str, bank: str, sample: dict[str, Any], *, one_document: bool) -> None:
    from haystack import component
    from haystack.components.agents import Agent
    from haystack.dataclasses import ChatMessage

    from hindsight_haystack import HindsightMemoryWrapper

    @component
    class Script:
        def __init__(self) -> None:
            self.reply = ChatMessage.from_assistant("ok")

        @component.output_types(replies=list[ChatMessage])
        def run(self, messages: list[ChatMessage], tools: Any = None, **kwargs: Any) -> dict[str, list[ChatMessage]]:
            return {"replies": [self.reply]}

    script, memory, agent, current = Script(), None, None, 0
    waiting: list[ChatMessage] = []
    for number, role, name, text, said in spoken_turns(sample):
        if memory is None or (number != current and not one_document):
            memory = HindsightMemoryWrapper(bank_id=bank, hindsight_api_url=url, auto_retain=True)
            agent, current, waiting = Agent(chat_generator=script, tools=memory), number, []
        meta = {"timestamp": said.isoformat()}
        if role == "user":
            waiting = [ChatMessage.from_user(text, name=name, meta=meta)]
            script.reply = ChatMessage.from_assistant("ok")
        else:
            script.reply = ChatMessage.from_assistant(text, name=name, meta=meta)
            waiting = waiting or [ChatMessage.from_user("ok")]
        if role == "assistant" or waiting:
            memory.run(agent, messages=waiting)
            waiting = []


def feed_langchain(url: str, bank: str, sample: dict[str, Any], *, one_document: bool) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage

    from hindsight_langchain import HindsightMiddleware

    turns = list(spoken_turns(sample))
    for number in sorted({turn[0] for turn in turns}) if not one_document else [0]:
        part = [turn for turn in turns if one_document or turn[0] == number]
        memory = HindsightMiddleware(bank_id=bank, hindsight_api_url=url, auto_recall=False)
        history: list[Any] = []
        for _, role, name, text, said in part:
            extra = {"timestamp": said.isoformat()}
            if role == "user":
                history.append(HumanMessage(text, name=name, additional_kwargs=extra))
                continue
            reply = AIMessage(text, name=name, additional_kwargs=extra)
            model = GenericFakeChatModel(messages=iter([reply]))
            history = create_agent(model, middleware=[memory]).invoke({"messages": history})["messages"]


FEEDS: dict[str, Callable[..., None]] = {
    "llamaindex": feed_llamaindex,
    "haystack": feed_haystack,
    "langchain": feed_langchain,
}


async def feed_directly(client: Hindsight, bank: str, sample: dict[str, Any]) -> None:
    items = direct_items(sample)
    for start in range(0, len(items), BATCH):
        await client.aretain_batch(bank, items[start : start + BATCH])


async def compare(url: str, arguments: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Mean scores of each way of feeding."""
    samples = load_samples(arguments.locomo)
    client = Hindsight(base_url=url, timeout=300.0)
    report: dict[str, dict[str, float]] = {}
    for way in ("direct", *arguments.packages):
        rows = []
        for name in arguments.conversations or list(samples):
            bank = f"{way}-{name}"
            if way == "direct":
                await feed_directly(client, bank, samples[name])
            else:
                feed = FEEDS[way]
                await asyncio.to_thread(feed, url, bank, samples[name], one_document=arguments.one_document)
            for question, evidence in evidence_questions(samples[name]):
                found = await client.arecall(bank, question, budget="mid", max_tokens=4096)
                rows.append(scores(evidence, found.results, by_document=way == "direct"))
        report[way] = mean_scores(rows)
        print(f"{way:12}" + "".join(f"  {cut} {report[way][cut]:.3f}" for cut in CUTS), flush=True)
    await client.aclose()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, required=True)
    parser.add_argument("--conversations", type=lambda text: text.split(","), default=[])
    parser.add_argument("--packages", type=lambda text: text.split(","), default=list(FEEDS))
    parser.add_argument("--one-document", action="store_true", help="all sessions through one memory object")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with own_server("local") as target:
        report = asyncio.run(compare(target.url, arguments))
    if arguments.out:
        arguments.out.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()

"""A stand-in for a chat model: it answers from the memories it finds in its prompt, and from nothing else.

It shows that recalled text reached the model. It has no knowledge and no cleverness: of the memory lines in the
prompt it repeats those that share the rarest words with the question.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

MODEL = os.environ.get("OPENAI_MODEL", "gpt-4o-mini")
MEMORY_LINE = re.compile(r"^\s*(?:\d+\.|-)\s+(.+)$", re.MULTILINE)
WORD = re.compile(r"[a-z0-9äöüß']+|[\u4e00-\u9fff]")
NO_MEMORY = "I have nothing about that in memory."
NOTED = "Noted, I will remember that."
ASKING = re.compile(r"[?？]\s*$")


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))


def answer(question: str, prompt: str, lines: int = 2) -> str:
    """What the stand-in says.

    Args:
        question: the user's last message.
        prompt: everything else in the prompt; memories are its numbered or dashed lines.
        lines: how many memories to repeat at most.

    Example:
        >>> answer("What is the code?", "Memories:\\n1. The code is 4417.\\n2. It rained.", lines=1)
        'From memory: The code is 4417.'
    """
    if not ASKING.search(question):
        return NOTED
    # What only asks, answers nothing.
    telling = (found for found in MEMORY_LINE.findall(prompt) if question not in found and not ASKING.search(found))
    memories = list(dict.fromkeys(telling))
    if not memories:
        return NO_MEMORY
    frequency = Counter(word for memory in memories for word in _words(memory))
    wanted = _words(question)

    def worth(memory: str) -> float:
        shared = wanted & _words(memory)
        return sum(math.log(1 + len(memories) / frequency[word]) for word in shared)

    best = sorted(memories, key=worth, reverse=True)[:lines]
    return "From memory: " + " / ".join(best)


def told() -> str:
    """The user's message: the command's argument."""
    if len(sys.argv) != 2:
        raise SystemExit(f'usage: python {sys.argv[0]} "what you say to the agent"')
    return sys.argv[1]


@dataclass
class Spoken:
    """What one agent turn gave: the answer, and the memories that its prompt held."""

    answer: str = ""
    recalled: list[str] = field(default_factory=list)
    seconds: float = 0.0
    began: float = field(default_factory=time.perf_counter)

    def said(self, answer: str) -> None:
        """The agent's final words; ends the turn."""
        self.answer, self.seconds = answer, time.perf_counter() - self.began

    def recalled_from(self, prompt: str) -> None:
        self.recalled = MEMORY_LINE.findall(prompt)


@contextmanager
def turn() -> Iterator[Spoken]:
    """Fill in what one agent turn gave; leaving prints it as a line of JSON."""
    spoken = Spoken()
    yield spoken
    turn = {"answer": spoken.answer, "recalled": spoken.recalled, "seconds": spoken.seconds, "pid": os.getpid()}
    print(json.dumps(turn, ensure_ascii=False))

"""The parser: each file is read by a process of its own, which is ended when it takes too much."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from hindsight_server.adapters.parse import LENGTH_BYTES
from hindsight_server.adapters.parse.kinds import Kind, kind_of
from hindsight_server.domain.errors import InvalidInput
from hindsight_server.extras import remedy
from hindsight_server.ports.parser import FileText, SourceFile

_LIBRARIES = {Kind.PDF: "pypdf", Kind.DOCX: "docx", Kind.PPTX: "pptx", Kind.XLSX: "openpyxl"}
_PASSED_ON = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "LANG", "LC_ALL", "TMPDIR", "TEMP", "SYSTEMROOT")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseLimits:
    """What reading one file may take.

    Args:
        seconds: of the clock, and of the processor.
        memory_bytes: address space of the process (not on Windows).
        pages: pages, slides or sheets.
        chars: characters of the text.
        unpacked_bytes: what an office file may unpack to.
    """

    seconds: int = 120
    memory_bytes: int = 2 << 30
    pages: int = 5_000
    chars: int = 4_000_000
    unpacked_bytes: int = 500 << 20


class ProcessParser:
    """`FileParser` for text kinds, HTML, PDF, DOCX, PPTX and XLSX.

    Args:
        limits: what one file may take.
        at_once: files that are read at the same time; more wait.

    Example:
        >>> (await ProcessParser().parse(SourceFile(filename="a.csv", data=b"city,year\\nOslo,2015"))).text
        'city = Oslo; year = 2015'
    """

    def __init__(self, limits: ParseLimits | None = None, *, at_once: int = 2) -> None:
        self._limits = limits or ParseLimits()
        self._free = asyncio.Semaphore(at_once)

    def refusal(self, filename: str, media_type: str) -> str | None:
        kind = kind_of(filename, media_type)
        if kind is None:
            return "files of this kind are not read. Send PDF, DOCX, PPTX, XLSX, HTML or a text kind such as TXT or CSV"
        if kind is Kind.AUDIO:
            return "audio is not transcribed by this version of the server. Send the transcript as text"
        if kind is Kind.IMAGE:
            return "no model that can see images is configured. Set HINDSIGHT_API_VLM_MODEL"
        library = _LIBRARIES.get(kind)
        if library is not None and find_spec(library) is None:
            return f"reading {kind.value.upper()} needs more libraries: {remedy('files')}"
        return None

    async def parse(self, file: SourceFile) -> FileText:
        reason = self.refusal(file.filename, file.media_type)
        kind = kind_of(file.filename, file.media_type)
        if reason is not None or kind is None:
            raise InvalidInput(f"{_named(file)} can't be read: {reason}.")
        async with self._free:
            answer = await self._answer(kind, file.data)
        if "text" not in answer:
            raise InvalidInput(f"{_named(file)} can't be read: {answer['error']}.")
        return FileText(text=answer["text"], warnings=tuple(answer["warnings"]))

    async def _answer(self, kind: Kind, data: bytes) -> dict[str, Any]:
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "hindsight_server.adapters.parse.worker"),
            *(kind.value, json.dumps(asdict(self._limits))),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # Numeric libraries reserve address space for each thread.
            env=environment | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        try:
            async with asyncio.timeout(self._limits.seconds):
                output = await _exchanged(process, data)
        except TimeoutError:
            return {"error": f"reading it takes longer than {self._limits.seconds} seconds"}
        finally:
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
                await process.wait()
        try:
            answer: dict[str, Any] = json.loads(output)
        except ValueError:
            return {"error": "reading it took too much memory or time, and was ended"}
        return answer


async def _exchanged(process: asyncio.subprocess.Process, data: bytes) -> bytes:
    """What the process answers. Its standard input stays open until then: it ends when that is closed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(ConnectionError):
        process.stdin.write(len(data).to_bytes(LENGTH_BYTES, "big"))
        process.stdin.write(data)
        await process.stdin.drain()
    output = await process.stdout.read()
    process.stdin.close()
    await process.wait()
    return output


def _named(file: SourceFile) -> str:
    return f"File '{file.filename[:200]}'" if file.filename else "The file"

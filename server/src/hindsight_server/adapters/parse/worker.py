"""The process that reads one file: ``python -m hindsight_server.adapters.parse.worker KIND LIMITS``.

The file comes by standard input, after its length in eight bytes; the answer goes to standard output as JSON:
``{"text": ..., "warnings": [...]}`` or ``{"error": ...}``. It limits itself before it reads anything, so that whatever
a file does to a library ends here, and ends when its standard input is closed, as it is when the server is killed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from hindsight_server.adapters.parse import LENGTH_BYTES
from hindsight_server.adapters.parse.kinds import Kind
from hindsight_server.adapters.parse.plain import Unreadable, csv_text, decoded, html_text
from hindsight_server.extras import remedy
from hindsight_server.ports.parser import FileText


def limit_process(memory_bytes: int, seconds: int) -> None:
    """Cap memory, CPU time and written files, where the system can."""
    try:
        import resource
    except ImportError:  # Windows: the parent's clock is the only limit there
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_with_parent() -> None:
    """End this process as soon as nobody holds the other end of standard input."""

    def wait() -> None:
        # Not by the buffered reader, whose lock would be held when the interpreter ends.
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True, name="parent").start()


def read_file(kind: Kind, data: bytes, limits: Mapping[str, int]) -> dict[str, Any]:
    """The answer for one file."""
    try:
        found = _reader(kind)(data, limits)
        text = found.text.strip()
        if not text:
            raise Unreadable("it holds no text")
        if len(text) > limits["chars"]:
            raise Unreadable(f"its text has more than {limits['chars']} characters; split it")
    except Unreadable as reason:
        return {"error": str(reason)}
    except ImportError as error:
        return {"error": f"reading it needs {error.name}, which is not installed: {remedy('files')}"}
    except MemoryError:
        return {"error": "reading it takes too much memory"}
    except RecursionError:
        return {"error": "it is nested too deeply"}
    except Exception as error:  # whatever a library meets in a damaged file
        return {"error": f"it is damaged ({type(error).__name__})"}
    return {"text": text, "warnings": list(found.warnings)}


def _reader(kind: Kind) -> Callable[[bytes, Mapping[str, int]], FileText]:
    plain: dict[Kind, Callable[[bytes], str]] = {
        Kind.TEXT: decoded,
        Kind.CSV: lambda data: csv_text(data, None),
        Kind.TSV: lambda data: csv_text(data, "\t"),
        Kind.HTML: html_text,
    }
    if kind in plain:
        return lambda data, _: FileText(text=plain[kind](data))
    if kind is Kind.PDF:
        from hindsight_server.adapters.parse.pdf import pdf_text

        return lambda data, limits: pdf_text(data, limits["pages"])
    from hindsight_server.adapters.parse import office

    readers: dict[Kind, Callable[[bytes, office.PackageLimits], str]] = {
        Kind.DOCX: office.docx_text,
        Kind.PPTX: office.pptx_text,
        Kind.XLSX: office.xlsx_text,
    }

    def read(data: bytes, limits: Mapping[str, int]) -> FileText:
        packed = office.PackageLimits(pages=limits["pages"], unpacked_bytes=limits["unpacked_bytes"])
        office.check_package(data, packed)
        return FileText(text=readers[kind](data, packed))

    return read


def main(arguments: list[str]) -> None:
    """Read one file and answer."""
    kind, limits = Kind(arguments[0]), json.loads(arguments[1])
    limit_process(limits["memory_bytes"], limits["seconds"])
    data = sys.stdin.buffer.read(int.from_bytes(sys.stdin.buffer.read(LENGTH_BYTES), "big"))
    end_with_parent()
    answer: Any = read_file(kind, data, limits)
    sys.stdout.buffer.write(json.dumps(answer).encode())


if __name__ == "__main__":
    main(sys.argv[1:])

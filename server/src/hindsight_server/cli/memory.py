"""`hindsight memory`: retain, recall and reflect from the command line."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from shlex import quote as quoted
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hindsight_server.cli.state import State, give_up, say
from hindsight_server.cli.verbs import Bank, bank_path, send, show

if TYPE_CHECKING:
    from hindsight_server.cli.files import Candidate

app = typer.Typer(help="Store and find memories.", no_args_is_help=True, rich_markup_mode=None)


class Budget(StrEnum):
    LOW = "low"
    MID = "mid"
    HIGH = "high"


class TagsMatch(StrEnum):
    ANY = "any"
    ALL = "all"
    ANY_STRICT = "any_strict"
    ALL_STRICT = "all_strict"
    EXACT = "exact"


Query = Annotated[str, typer.Argument(metavar="QUERY", help="What to look for.")]
Context = Annotated[str | None, typer.Option("--context", help="What the text is about or where it comes from.")]
Tags = Annotated[str | None, typer.Option("--tags", help="Tags, separated by commas.")]
Match = Annotated[TagsMatch, typer.Option("--tags-match", help="How the tags must match.")]


@app.command()
def retain(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to remember.")],
    about: Context = None,
    document_id: Annotated[str | None, typer.Option(help="Replace the document of this id.")] = None,
    timestamp: Annotated[str | None, typer.Option(help="When it was said: ISO 8601, or 'unset'.")] = None,
    tags: Tags = None,
) -> None:
    """Store a text."""
    item = {"content": text, "context": about, "document_id": document_id, "timestamp": timestamp, "tags": _split(tags)}
    answer = send(context.obj, bank, "POST", "memories", {"items": [item]})
    row = {"bank_id": answer["bank_id"], "items_count": answer["items_count"]}
    left = _left(answer)
    if came := _came(answer):
        say(f"Note: {came}.")
    show(context.obj, answer, [{**row, "operation_id": left} if left else row])
    if left:
        say(
            "Note: the text is stored as it was written, since the language model could not be used for all of it. "
            f"Operation {left} reads it again: `hindsight operation show {quoted(bank)} {left}`."
        )


@app.command("retain-files")
def retain_files(
    context: typer.Context,
    bank: Bank,
    paths: Annotated[list[Path], typer.Argument(metavar="PATHS...", help="Files and directories.")],
    about: Context = None,
    tags: Tags = None,
) -> None:
    """Store text files, each as one document whose id is its path; a second run replaces it."""
    from hindsight_server.cli.files import collect

    candidates = list(collect(paths))
    rows = []
    try:
        for number, candidate in enumerate(candidates, 1):
            row = _retain_file(context.obj, bank, candidate, {"context": about, "tags": _split(tags)})
            reason = f" ({row['reason']})" if row["reason"] else ""
            say(f"[{number}/{len(candidates)}] {candidate.path}: {row['status']}{reason}")
            rows.append(row)
    except KeyboardInterrupt:
        give_up(f"Interrupted after {len(rows)} of {len(candidates)} files. Run it again for the rest.", code=130)
    refused = sum(row["status"] == "refused" for row in rows)
    show(context.obj, {"bank_id": bank, "files": rows}, rows)
    if not candidates:
        give_up("There is no file to retain.", code=1)
    if refused:
        give_up(f"{refused} of {len(rows)} files were refused.", code=1)


@app.command()
def recall(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    query: Query,
    budget: Annotated[Budget, typer.Option(help="How hard to search.")] = Budget.MID,
    max_tokens: Annotated[int, typer.Option(help="Tokens of memories at most.")] = 4096,
    fact_type: Annotated[str | None, typer.Option(help="world, experience, observation; several by commas.")] = None,
    tags: Tags = None,
    tags_match: Match = TagsMatch.ANY,
    query_timestamp: Annotated[str | None, typer.Option(help="The 'now' of the question, ISO 8601.")] = None,
    time_start: Annotated[str | None, typer.Option(help="Leave out what happened before, ISO 8601.")] = None,
    time_end: Annotated[str | None, typer.Option(help="Leave out what happened after, ISO 8601.")] = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show times, scores and sources.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show how the results were found.")] = False,
) -> None:
    """Find memories."""
    body: dict[str, Any] = {"query": query, "budget": budget.value, "max_tokens": max_tokens, "trace": trace}
    body |= {"types": _split(fact_type), "tags": _split(tags), "tags_match": tags_match.value}
    body |= {"query_timestamp": query_timestamp, "include": {"entities": None}}
    if time_start or time_end:
        body["time_filter"] = {"start": time_start, "end": time_end}
    answer = send(context.obj, bank, "POST", "memories/recall", body)
    rows = [_recall_row(result, verbose=verbose) for result in answer["results"]]
    show(context.obj, answer, rows)
    if trace and answer.get("trace") and context.obj.output.value in ("table", "csv"):
        say(json.dumps(answer["trace"], ensure_ascii=False, indent=2))


@app.command()
def reflect(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    query: Query,
    budget: Annotated[Budget, typer.Option(help="How hard to think.")] = Budget.LOW,
    schema: Annotated[Path | None, typer.Option(help="A JSON schema file for a structured answer.")] = None,
    tags: Tags = None,
    tags_match: Match = TagsMatch.ANY,
    facts: Annotated[bool, typer.Option("--facts", help="Show what the answer rests on.")] = False,
    trace: Annotated[bool, typer.Option("--trace", help="Show what was searched for.")] = False,
) -> None:
    """Answer a question from the memories."""
    include: dict[str, Any] = {"facts": {}, "tool_calls": {} if trace else None}
    body: dict[str, Any] = {"query": query, "budget": budget.value, "include": include}
    body |= {"tags": _split(tags), "tags_match": tags_match.value, "response_schema": _read_schema(schema)}
    answer = send(context.obj, bank, "POST", "reflect", body)
    text = answer["text"]
    if answer.get("structured_output") is not None:
        text += "\n\n" + json.dumps(answer["structured_output"], ensure_ascii=False, indent=2)
    if facts:
        text += "\n\n" + _rests_on(answer.get("based_on") or {})
    show(context.obj, answer, [{"text": answer["text"]}], text=text)
    if schema is not None and answer.get("structured_output") is None:
        say(f"No structured answer: {answer.get('structured_output_error') or 'the server gave none'}")
    if trace and context.obj.output.value in ("table", "csv"):
        say(_trace_lines(answer.get("trace") or {}))


@app.command()
def forget(  # noqa: PLR0913 -- its parameters are the options
    context: typer.Context,
    bank: Bank,
    ids: Annotated[list[str] | None, typer.Option("--id", help="A memory; may be repeated.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", help="Memories with it; may be repeated.")] = None,
    documents: Annotated[
        list[str] | None, typer.Option("--document", help="A whole document; may be repeated.")
    ] = None,
    tags_match: Annotated[TagsMatch, typer.Option(help="any_strict, all_strict or exact.")] = TagsMatch.ANY_STRICT,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be forgotten.")] = False,
) -> None:
    """Forget memories for good, with their words in the documents they came from."""
    body = {"ids": ids, "tags": tags, "document_ids": documents, "tags_match": tags_match.value, "dry_run": dry_run}
    answer = send(context.obj, bank, "POST", "memories/forget", body)
    row = {name: answer[name] for name in ("dry_run", "memories_forgotten")}
    row |= {name: ", ".join(answer[name]) for name in ("documents_changed", "documents_deleted", "missing")}
    show(context.obj, answer, [row])
    if answer["missing"]:
        give_up(f"{len(answer['missing'])} of the ids are not in the bank.", code=1)


def _retain_file(state: State, bank: str, candidate: Candidate, shared: dict[str, Any]) -> dict[str, Any]:
    from hindsight_server.cli.api import Api, ApiError
    from hindsight_server.cli.files import Refused, read

    reason, status = None, "retained"
    try:
        item = {"content": read(candidate.path), "document_id": candidate.document_id, **shared}
        answer = Api(state).send("POST", f"{bank_path(bank)}/memories", {"items": [item]})
        reason = _came(answer)
        if left := _left(answer):
            reason = f"the language model could not be used for all of it; operation {left} reads it again"
    except Refused as refusal:
        reason, status = str(refusal), "refused"
    except ApiError as error:
        if error.code != 1:
            give_up(str(error), code=error.code)
        reason, status = str(error), "refused"
    return {"document_id": candidate.document_id, "status": status, "reason": reason}


def _left(answer: dict[str, Any]) -> str | None:
    """The job that a retain has left behind: it reads again what the language model could not be used for."""
    return next(iter(answer.get("operation_ids") or ()), None)


def _came(answer: dict[str, Any]) -> str | None:
    """What a retain kept less of than was said, by the reasons for which facts of the language model were dropped."""
    dropped = ", ".join(f"{reason} {count}" for reason, count in (answer.get("dropped_facts") or {}).items())
    told = f"facts of the language model were dropped ({dropped})" if dropped else ""
    if answer.get("no_fact_documents"):
        return f"no facts were kept, so that recall finds nothing of it: {told or 'nothing in it was worth keeping'}"
    if dropped and answer.get("unsupported_chunks"):
        return f"{told}; where none were left, the text stays as it was written"
    return told or None


def _recall_row(result: dict[str, Any], *, verbose: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"score": result["scores"]["final"], "type": result["type"]}
    if verbose:
        row |= {name: result.get(name) for name in ("occurred_start", "mentioned_at", "document_id", "entities")}
        row |= {name: result["scores"][name] for name in ("semantic", "keyword", "reranker")}
    return row | {"text": result["text"]}


def _rests_on(based_on: dict[str, Any]) -> str:
    """The memories, mental models and directives of an answer, a line each."""
    lines = [f"- {one['type']} {one['id']}: {one['text']}" for one in based_on.get("memories") or ()]
    lines += [f"- mental model {one['id']}: {one.get('context') or ''}" for one in based_on.get("mental_models") or ()]
    lines += [f"- directive {one['name']}: {one['content']}" for one in based_on.get("directives") or ()]
    return "\n".join(["It rests on:", *lines]) if lines else "It rests on nothing that it names."


def _trace_lines(trace: dict[str, Any]) -> str:
    """What was called, and what the model was asked, a line each; what the calls brought is in the JSON."""
    lines = []
    for call in trace.get("tool_calls") or ():
        given = json.dumps(call["input"], ensure_ascii=False)
        lines.append(f"{call['iteration']}. {call['tool']} {given} ({call['duration_ms']} ms)")
    lines += [f"model: {call['scope']} ({call['duration_ms']} ms)" for call in trace.get("llm_calls") or ()]
    return "\n".join(lines) if lines else "The server tells no trace."


def _read_schema(path: Path | None) -> Any:
    if path is None:
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        give_up(f"--schema {path} can't be used: {error}", code=2)


def _split(text: str | None) -> list[str] | None:
    return [part.strip() for part in text.split(",") if part.strip()] if text else None

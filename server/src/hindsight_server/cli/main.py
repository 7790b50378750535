"""The command `hindsight`. Everything heavy is imported when a verb needs it, so that help is quick."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from hindsight_server.cli import (
    bank,
    directive,
    document,
    entity,
    memory,
    mental_model,
    observation,
    operation,
    page,
    webhook,
)
from hindsight_server.cli.output import tolerate_any_output
from hindsight_server.cli.state import Output, State, give_up

app = typer.Typer(
    name="hindsight",
    help="A memory server for AI agents, and a client of it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(memory.app, name="memory")
app.add_typer(entity.app, name="entity")
app.add_typer(bank.app, name="bank")
app.add_typer(document.app, name="document")
app.add_typer(directive.app, name="directive")
app.add_typer(mental_model.app, name="mental-model")
app.add_typer(page.app, name="page")
app.add_typer(observation.app, name="observation")
app.add_typer(operation.app, name="operation")
app.add_typer(webhook.app, name="webhook")

URL = "http://127.0.0.1:8888"
_WITH_VALUE = ("--url", "--api-key", "--output", "-o")


@app.callback()
def options(
    context: typer.Context,
    url: Annotated[str, typer.Option("--url", envvar="HINDSIGHT_API_URL", help="The server to talk to.")] = URL,
    api_key: Annotated[
        str | None, typer.Option("--api-key", envvar="HINDSIGHT_API_KEY", help="The server's key.", show_envvar=True)
    ] = None,
    output: Annotated[Output, typer.Option("--output", "-o", help="How answers are printed.")] = Output.TABLE,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --output json.")] = False,
) -> None:
    context.obj = State(url=url, api_key=api_key, output=Output.JSON if as_json else output)


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on [default: 127.0.0.1].")] = None,
    port: Annotated[int | None, typer.Option(help="TCP port [default: 8888].")] = None,
    data_dir: Annotated[str | None, typer.Option(help="Folder that holds everything the server keeps.")] = None,
    log_level: Annotated[str | None, typer.Option(help="critical, error, warning, info or debug.")] = None,
) -> None:
    """Run the memory server until it is interrupted."""
    from hindsight_server.cli.serve import run

    run(host=host, port=port, data_dir=data_dir, log_level=log_level)


@app.command()
def doctor(
    context: typer.Context,
    data_dir: Annotated[str | None, typer.Option(help="Folder that holds everything the server keeps.")] = None,
    ask_models: Annotated[bool, typer.Option(help="Ask the configured language models real questions.")] = True,
) -> None:
    """Check settings, data folder, embedder and language models; nothing is changed."""
    from hindsight_server.cli.doctor import run

    run(context.obj, data_dir=data_dir, ask_models=ask_models)


@app.command()
def version(context: typer.Context) -> None:
    """Print the version of this command, and of the server when one answers."""
    from hindsight_server import __version__
    from hindsight_server.cli.api import Api, ApiError
    from hindsight_server.cli.output import show

    state: State = context.obj
    said: dict[str, str | None] = {"hindsight": __version__, "server": None}
    with contextlib.suppress(ApiError):
        said["server"] = Api(state, timeout=2.0).get("/version")["api_version"]
    show(state, said, rows=[said])


def global_options_first(arguments: Sequence[str]) -> list[str]:
    """Put the global options before the verb, so that they are understood after it too.

    Example:
        >>> global_options_first(["memory", "recall", "b", "q", "--output", "json"])
        ['--output', 'json', 'memory', 'recall', 'b', 'q']
    """
    first: list[str] = []
    rest: list[str] = []
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if argument == "--":
            return [*first, *rest, argument, *left]
        name, equals, _ = argument.partition("=")
        if name in _WITH_VALUE or argument == "--json":
            first.append(argument)
            if name in _WITH_VALUE and not equals and left:
                first.append(left.pop(0))
        else:
            rest.append(argument)
    return first + rest


def main() -> None:
    """Entry point of the console script."""
    tolerate_any_output()
    try:
        app(args=global_options_first(sys.argv[1:]))
    except KeyboardInterrupt:
        give_up("Interrupted.", code=130)


if __name__ == "__main__":
    main()

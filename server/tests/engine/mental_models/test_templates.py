"""What a template carries is taken back by the server that wrote it."""

from __future__ import annotations

import pytest

from hindsight_server.domain.errors import InvalidInput
from hindsight_server.engine.banks import BankInput, Banks
from hindsight_server.engine.directives import DirectiveInput, Directives
from hindsight_server.engine.mental_models.types import MentalModelInput
from hindsight_server.engine.transfer.templates import Templates

from .conftest import BANK, Pages

pytestmark = pytest.mark.feature("R17")


def assembled(pages: Pages, *, has_model: bool = False) -> tuple[Templates, Banks, Directives]:
    banks = Banks(pages.store, pages.clock, models=("retain",) if has_model else ())
    directives = Directives(pages.store, pages.clock)
    return Templates(banks, pages.models, directives), banks, directives


async def test_directives_of_one_name_stay_apart(pages: Pages) -> None:
    templates, _, directives = assembled(pages)
    for content in ("Be brief.", "Be kind."):
        await directives.create(BANK, DirectiveInput(name="tone", content=content))
    manifest = await templates.export(BANK)
    for _ in range(2):
        for bank in (BANK, "other"):
            await templates.apply(bank, manifest)
            assert (await templates.export(bank))["directives"] == manifest["directives"]


async def test_all_of_a_bank_is_carried_however_much_it_is(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hindsight_server.engine.transfer.templates._PAGE", 2)
    templates, _, directives = assembled(pages)
    for number in range(5):
        await directives.create(BANK, DirectiveInput(name=f"rule {number}", content="Be brief."))
        await pages.models.create(BANK, MentalModelInput(mental_model_id=f"m{number}", name="n", source_query="q"))
    manifest = await templates.export(BANK)
    assert (len(manifest["directives"]), len(manifest["mental_models"])) == (5, 5)
    await templates.apply("other", manifest)
    outcome = await templates.apply("other", manifest)
    assert (len(outcome.directives_updated), outcome.directives_created) == (5, [])


async def test_a_manifest_of_more_than_a_page_is_taken(pages: Pages) -> None:
    templates, _, _ = assembled(pages)
    rules = [{"name": f"rule {number}", "content": "Be brief."} for number in range(1001)]
    outcome = await templates.apply("other", {"version": "1", "directives": rules}, dry_run=True)
    assert len(outcome.directives_created) == 1001


async def test_a_manifest_that_is_too_large_is_told_how_to_import_it(pages: Pages) -> None:
    templates, _, _ = assembled(pages)
    rules = [{"name": f"rule {number}", "content": "Be brief."} for number in range(10_001)]
    with pytest.raises(InvalidInput, match=r"holds 10001 objects; .* at most 10000\. Import them in several manifests"):
        await templates.apply("other", {"version": "1", "directives": rules})
    for part in (rules[:2], rules[2:4]):
        assert len((await templates.apply("other", {"version": "1", "directives": part})).directives_created) == 2
    assert len((await templates.export("other"))["directives"]) == 4


async def test_a_mode_that_needs_a_model_is_taken_where_there_is_one(pages: Pages) -> None:
    templates, banks, _ = assembled(pages, has_model=True)
    await banks.put(BANK, BankInput(config={"retain_extraction_mode": "custom"}))
    await templates.apply("other", await templates.export(BANK))
    assert (await banks.config("other")).overrides == {"retain_extraction_mode": "custom"}


async def test_a_strategy_may_have_any_name(pages: Pages) -> None:
    templates, banks, _ = assembled(pages)
    given = {"retain_strategies": {"credentials": {"retain_chunk_size": 900}}, "retain_default_strategy": "credentials"}
    await banks.put(BANK, BankInput(config=given))
    await templates.apply("other", await templates.export(BANK))
    assert (await banks.config("other")).overrides == given


async def test_the_properties_of_a_schema_may_have_any_name(pages: Pages) -> None:
    templates, banks, _ = assembled(pages)
    schema = {"type": "object", "properties": {"api_key": {"type": "string"}}, "required": ["api_key"]}
    given = {"knowledge_page_default_trigger": {"response_schema": schema}}
    await banks.put(BANK, BankInput(config=given))
    await templates.apply("other", await templates.export(BANK))
    assert (await banks.config("other")).overrides == given

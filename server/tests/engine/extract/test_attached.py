"""What a model is shown of texts with attachments, and what it may make of them."""

from __future__ import annotations

import hashlib

from hindsight_server.adapters.extract import BuiltinExtractor
from hindsight_server.adapters.text import Analyzer
from hindsight_server.domain.attachments import Attachment, filled, token
from hindsight_server.domain.model import RetainItem
from hindsight_server.engine.attachments.extracting import AttachmentExtractor
from hindsight_server.engine.language import CallAbout
from hindsight_server.ports.extractor import ExtractionOptions
from hindsight_server.testing.scripted_model import ScriptedProvider

from .conftest import distiller, fact, facts

DIGEST = hashlib.sha256(b"picture").hexdigest()
PICTURE = Attachment(attachment_id=DIGEST[:16], digest=DIGEST, kind="image", media_type="image/png", byte_size=7)
SAID = f"Ann: Here is the lamp that I bought in Oslo.\n{token(PICTURE.attachment_id)}\nAnn: It was 90 euros."


async def test_a_model_sees_placeholders_and_a_fact_of_a_placeholder_alone_is_none() -> None:
    content = filled(SAID, {PICTURE.attachment_id: "A brass lamp with a green shade"})
    item = RetainItem(document_id="d", content=content, attachments=(PICTURE,))
    options = ExtractionOptions()
    extraction = AttachmentExtractor(BuiltinExtractor(Analyzer())).extract(item, options)
    told = [fact("[image: image/png]"), fact("Ann bought the lamp in Oslo."), fact("The brass lamp has a green shade.")]
    provider = ScriptedProvider([facts(*told)])
    before = f"Bob: {token('0' * 16)} Which lamp?"
    read = await distiller(provider).distil(
        item, options, extraction, CallAbout(bank_id="b", purpose="retain"), before=before
    )
    asked = provider.requests[0].messages[-1].text
    assert "hs-att" not in asked
    assert "[image: image/png]" in asked
    assert "A brass lamp with a green shade\n" in asked
    assert [one.reason for one in read.dropped] == ["empty"]
    texts = [one.text for one in read.extraction.facts]
    assert {"Ann bought the lamp in Oslo.", "The brass lamp has a green shade."} <= set(texts)

"""Reading attachments: pictures by a model that can see, files by the parser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hindsight_server.domain.attachments import Attachment, Region, filled, regions, shown
from hindsight_server.domain.errors import BadModelAnswer, Blocked, InvalidInput
from hindsight_server.domain.pictures import unread_type
from hindsight_server.engine.attachments.keeper import BlobKeeper
from hindsight_server.engine.defence import Defender, NoDefence
from hindsight_server.engine.language import CallAbout, LanguageModel, Spent
from hindsight_server.engine.language.prompts import data_block, prompt
from hindsight_server.engine.together import together
from hindsight_server.ports.llm import Image, Message
from hindsight_server.ports.parser import FileParser, FileText, SourceFile
from hindsight_server.ports.records import Bank

if TYPE_CHECKING:
    from hindsight_server.engine.retain.items import CheckedItem
    from hindsight_server.engine.retain.prepare import Part

PROMPT = "vision_transcribe.v1"
NO_VISION = (
    "no model that can see images is configured. Set HINDSIGHT_API_VLM_PROVIDER and HINDSIGHT_API_VLM_MODEL, "
    "or send the text of it"
)
_AROUND = 400  # characters of the text before and behind a picture that the model is shown
_LONGEST = 40_000  # characters that are kept of a reading
_ANSWER_TOKENS = 8_000
_NOTHING = "(nothing to read)"


Earlier = Callable[["CheckedItem"], Awaitable[Mapping[str, str]]]


async def _nothing(_: CheckedItem) -> Mapping[str, str]:
    return {}


class AttachmentReader:
    """Reads what stands in attachments.

    Args:
        vision: the model that can see; None refuses pictures.
        defender: what is read goes through it, as what is written does.
    """

    def __init__(
        self,
        keeper: BlobKeeper,
        parser: FileParser,
        *,
        vision: LanguageModel | None = None,
        defender: Defender | NoDefence | None = None,
    ) -> None:
        self._keeper = keeper
        self._parser = parser
        self._vision = vision
        self._defender = defender or NoDefence()

    def refusal(self, attachment: Attachment) -> str | None:
        """Why an attachment can't be read, with the remedy; None when it can."""
        if is_picture(attachment):
            return unread_type(attachment.media_type) or (NO_VISION if self._vision is None else None)
        return self._parser.refusal(attachment.filename or "", attachment.media_type)

    def check(self, items: Sequence[CheckedItem]) -> None:
        """Raises InvalidInput for the first item with an attachment that can't be read; nothing is dropped silently."""
        for index, checked in enumerate(items):
            for attachment in checked.item.attachments:
                reason = self.refusal(attachment) if attachment.digest in checked.uploads else None
                if reason is not None:
                    place = f"items[{index}].content"
                    raise InvalidInput(
                        f"{place} holds {attachment.placeholder}, which can't be read: {reason}.", field=place
                    )

    async def filled(
        self, bank: Bank | None, parts: Sequence[Part], about: CallAbout, earlier: Earlier = _nothing
    ) -> list[Part]:
        """The parts with what was read from their attachments; see `read_item`.

        Args:
            earlier: what is known of an item's pictures already, by id of the attachment.
        """
        filled_parts = []
        for part in parts:
            asked = replace(about, spent=Spent())
            read = await self.read_item(bank, part.checked, asked, await earlier(part.checked))
            waited, spent = part.checked.item.content, asked.spent.usage
            same = read is part.checked
            filled_parts.append(part if same else replace(part, checked=read, waited_text=waited, spent=spent))
        return filled_parts

    async def read_item(
        self, bank: Bank | None, checked: CheckedItem, about: CallAbout, earlier: Mapping[str, str] | None = None
    ) -> CheckedItem:
        """The item with what was read from its attachments behind those tokens that have nothing yet.

        Args:
            earlier: readings that need not be made again; memory defence sees them like new ones.

        Raises:
            ModelError: the model gave nothing that can be used.
            InvalidInput: a file can't be read.
            Blocked: memory defence refuses what was read.
        """
        known = {one.attachment_id: one for one in checked.item.attachments}
        unread = [place for place in regions(checked.item.content) if place.inner is None] if known else []
        wanted = {place.attachment_id: place for place in unread if place.attachment_id in known}
        if not wanted:
            return checked
        readings = {name: text for name, text in (earlier or {}).items() if name in wanted}
        new = [place for name, place in wanted.items() if name not in readings]
        made = await together(self._reading(checked, known, place, about) for place in new)
        readings |= {place.attachment_id: text for place, text in zip(new, made, strict=True)}
        content = filled(checked.item.content, readings)
        read = replace(checked, item=replace(checked.item, content=content), uploads={})
        screened = await self._defender.screen(bank, [read])
        if isinstance(self._defender, Defender):
            events = [replace(event, operation_id=about.operation_id) for event in screened.events]
            await self._defender.keep(about.bank_id, events)
        if screened.violations:
            raise Blocked(screened.violations)
        (allowed,) = screened.items
        return _without_redacted(read, allowed)

    async def read(self, attachment: Attachment, data: bytes, about: CallAbout, around: tuple[str, str]) -> FileText:
        """What stands in an attachment: a table or chart row by row. `around` is the text before and behind it."""
        reason = self.refusal(attachment)
        if reason is not None:
            raise InvalidInput(f"{attachment.placeholder} can't be read: {reason}.")
        if not is_picture(attachment):
            return await self._parser.parse(
                SourceFile(filename=attachment.filename or "", media_type=attachment.media_type, data=data)
            )
        assert self._vision is not None
        text = "\n\n".join(data_block(label, part) for label, part in zip(("before", "after"), around, strict=True))
        asked = Message(role="user", text=text, images=(Image(media_type=attachment.media_type, data=data),))
        system = Message(role="system", text=prompt(PROMPT))
        answer = await self._vision.complete([system, asked], about=about, max_tokens=_ANSWER_TOKENS)
        return FileText(text=_kept(answer.text, answer.truncated, self._vision.name))

    async def _reading(
        self, checked: CheckedItem, known: Mapping[str, Attachment], place: Region, about: CallAbout
    ) -> str:
        attachment, content = known[place.attachment_id], checked.item.content
        data = checked.uploads.get(attachment.digest)
        if data is None:
            data = await self._keeper.read(about.bank_id, attachment.digest)
        before = shown(content[max(0, place.start - _AROUND) : place.start], known)
        behind = shown(content[place.end : place.end + _AROUND], known)
        return (await self.read(attachment, data, about, (before, behind))).text


def is_picture(attachment: Attachment) -> bool:
    """Whether a model has to see it."""
    return attachment.kind == "image" or attachment.media_type.startswith("image/")


def _without_redacted(read: CheckedItem, allowed: CheckedItem) -> CheckedItem:
    """The item without those attachments from whose words something was taken: their bytes still show it."""
    if read.item.content == allowed.item.content:
        return allowed
    before, after = read.item.content, allowed.item.content
    redacted = {
        there.attachment_id
        for here, there in zip(regions(before), regions(after), strict=False)
        if here.inner and (there.inner is None or before[slice(*here.inner)] != after[slice(*there.inner)])
    }
    left = tuple(one for one in allowed.item.attachments if one.attachment_id not in redacted)
    return replace(allowed, item=replace(allowed.item, attachments=left))


def _kept(text: str, truncated: bool, model: str) -> str:
    """The lines of a reading. A line that was cut off is left out: half a number is a wrong one."""
    text = text.strip()
    if truncated or len(text) > _LONGEST:
        text = text[:_LONGEST].rpartition("\n")[0]
    if text == _NOTHING:
        return ""
    if not text:
        raise BadModelAnswer(f"What model '{model}' read in an image was cut off before its first line was complete.")
    return text

"""Which written names are one person, place or thing, decided without any model."""

from hindsight_server.domain.naming.forms import Kind, NameForm, fold_of, read_name
from hindsight_server.domain.naming.resolve import Choice, Known, Status, choose, fuller
from hindsight_server.domain.naming.rules import Need, could_be

__all__ = [
    "Choice",
    "Kind",
    "Known",
    "NameForm",
    "Need",
    "Status",
    "choose",
    "could_be",
    "fold_of",
    "fuller",
    "read_name",
]

"""What the Hindsight memory adapters for agent frameworks have in common.

Importing this package starts nothing and imports neither the HTTP client nor its transport; they come with the
first client that is built.

Start at :func:`open_memory`, which gives a :class:`MemoryOperations`; a framework package adds its
:class:`AdapterPackage` and thin classes of its framework's own.
"""

from .bridge import Bridge, get_bridge
from .checks import check_id, check_positive, id_text
from .clients import AdapterPackage, ClientHandle, Connection, connect, lazy_client_class, resolve_connection
from .connected import Connected, Flushed, explain_memory
from .defaults import default_number, default_text, given
from .delivery import Delivery, DeliveryOptions, DeliveryStats
from .documents import Documents, turns_of
from .errors import (
    BridgeError,
    ConcealedError,
    DeliveryFullError,
    HindsightError,
    MissingBankError,
    MissingCredentialsError,
    OperationError,
    OperationTimeoutError,
    SerializationError,
    SettingsError,
)
from .failures import describe_failure, refused_for_good
from .operations import MemoryOperations, open_memory
from .outcomes import (
    NO_MEMORIES_TEXT,
    QUEUED_TEXT,
    RETAINED_TEXT,
    RecalledMemory,
    RecallOutcome,
    ReflectOutcome,
    RetainOutcome,
)
from .rendering import (
    MEMORIES_PLACEHOLDER,
    check_template,
    defused,
    fence_memories,
    fill_template,
    memory_lines,
    memory_texts,
)
from .serialization import DUMPED_OPTIONS, dump_options, load_options, safe_url, scrub
from .settings import (
    DEFAULT_HINDSIGHT_API_URL,
    HINDSIGHT_API_KEY_ENV,
    HINDSIGHT_API_URL_ENV,
    HINDSIGHT_BANK_ID_ENV,
    AdapterConfig,
    ConfigHolder,
    Deadlines,
    MemoryOptions,
    MemorySettings,
    Origin,
    resolve_settings,
)
from .shaping import RetainItem
from .shown import ShownMemories, unsaid
from .tools import RECALL_TOOL, REFLECT_TOOL, RETAIN_TOOL, TOOL_SPECS, MemoryToolSpec, Operation, select_tools
from .turns import (
    ConversationLog,
    ConversationLogs,
    Turn,
    clean_turn,
    new_document_id,
    new_session_id,
    now_iso,
    operation_id_for,
    stated_time,
    strip_injected,
    strip_quoted,
    turn_content,
)

__version__ = "0.1.0"

__all__ = [
    "DEFAULT_HINDSIGHT_API_URL",
    "DUMPED_OPTIONS",
    "HINDSIGHT_API_KEY_ENV",
    "HINDSIGHT_API_URL_ENV",
    "HINDSIGHT_BANK_ID_ENV",
    "MEMORIES_PLACEHOLDER",
    "NO_MEMORIES_TEXT",
    "QUEUED_TEXT",
    "RECALL_TOOL",
    "REFLECT_TOOL",
    "RETAINED_TEXT",
    "RETAIN_TOOL",
    "TOOL_SPECS",
    "AdapterConfig",
    "AdapterPackage",
    "Bridge",
    "BridgeError",
    "ClientHandle",
    "ConcealedError",
    "ConfigHolder",
    "Connected",
    "Connection",
    "ConversationLog",
    "ConversationLogs",
    "Deadlines",
    "Delivery",
    "DeliveryFullError",
    "DeliveryOptions",
    "DeliveryStats",
    "Documents",
    "Flushed",
    "HindsightError",
    "MemoryOperations",
    "MemoryOptions",
    "MemorySettings",
    "MemoryToolSpec",
    "MissingBankError",
    "MissingCredentialsError",
    "Operation",
    "OperationError",
    "OperationTimeoutError",
    "Origin",
    "RecallOutcome",
    "RecalledMemory",
    "ReflectOutcome",
    "RetainItem",
    "RetainOutcome",
    "SerializationError",
    "SettingsError",
    "ShownMemories",
    "Turn",
    "check_id",
    "check_positive",
    "check_template",
    "clean_turn",
    "connect",
    "default_number",
    "default_text",
    "defused",
    "describe_failure",
    "dump_options",
    "explain_memory",
    "fence_memories",
    "fill_template",
    "get_bridge",
    "given",
    "id_text",
    "lazy_client_class",
    "load_options",
    "memory_lines",
    "memory_texts",
    "new_document_id",
    "new_session_id",
    "now_iso",
    "open_memory",
    "operation_id_for",
    "refused_for_good",
    "resolve_connection",
    "resolve_settings",
    "safe_url",
    "scrub",
    "select_tools",
    "stated_time",
    "strip_injected",
    "strip_quoted",
    "turn_content",
    "turns_of",
    "unsaid",
]

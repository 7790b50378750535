"""The adapters that the settings ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hindsight_server.bootstrap.files import make_blobs
from hindsight_server.bootstrap.models import build_models, make_request_log
from hindsight_server.settings import Settings

if TYPE_CHECKING:
    from hindsight_server.engine.language import Models
    from hindsight_server.engine.language.log import RequestLog
    from hindsight_server.http.metrics import Metrics
    from hindsight_server.ports.analyzer import TextAnalyzer
    from hindsight_server.ports.archives import Archives
    from hindsight_server.ports.blobs import BlobStore
    from hindsight_server.ports.clock import Clock
    from hindsight_server.ports.detector import SensitiveDetector
    from hindsight_server.ports.embedder import Embedder
    from hindsight_server.ports.extractor import Extractor
    from hindsight_server.ports.parser import FileParser
    from hindsight_server.ports.store import Store


class SystemClock:
    """The machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What the use cases work with: everything that is no rule of ours."""

    store: Store
    embedder: Embedder
    analyzer: TextAnalyzer
    extractor: Extractor
    clock: Clock
    detector: SensitiveDetector
    archives: Archives
    blobs: BlobStore
    parser: FileParser
    models: Models
    request_log: RequestLog
    metrics: Metrics


def make_outside(settings: Settings, store: Store) -> Outside:
    """The adapters beside the store, none of them open or loaded. Raises SettingsError when one can't be made."""
    from hindsight_server.adapters.archives import FolderArchives
    from hindsight_server.adapters.detect import SensitiveData
    from hindsight_server.adapters.embed import make_embedder
    from hindsight_server.adapters.extract import BuiltinExtractor
    from hindsight_server.adapters.parse.process import ProcessParser
    from hindsight_server.adapters.text import Analyzer
    from hindsight_server.http.metrics import Metrics

    analyzer, metrics, clock = Analyzer(), Metrics(), SystemClock()
    request_log = make_request_log(settings, store, clock, metrics)
    return Outside(
        store=store,
        embedder=make_embedder(settings.embeddings_provider),
        analyzer=analyzer,
        extractor=BuiltinExtractor(analyzer),
        clock=clock,
        detector=SensitiveData(),
        archives=FolderArchives(settings.folder() / "archives"),
        blobs=make_blobs(settings),
        parser=ProcessParser(),
        models=build_models(settings.language, request_log.record),
        request_log=request_log,
        metrics=metrics,
    )

"""The storage of static files, which are compressed when they are collected."""

from pathlib import Path

from whitenoise.compress import Compressor
from whitenoise.storage import CompressedManifestStaticFilesStorage

# Larger files, in bytes, are only compressed by gzip. Brotli takes seconds for the documentation of the API, which is seldom opened.
MAX_BROTLI_SIZE = 100_000


class StaticFilesCompressor(Compressor):
    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.without_brotli = Compressor(use_brotli=False, **options)

    def compress(self, path: str) -> list[str]:
        """Write the compressed versions of a file, and return their paths."""
        is_large = Path(path).stat().st_size > MAX_BROTLI_SIZE
        paths: list[str] = self.without_brotli.compress(path) if is_large else super().compress(path)
        return paths


class StaticFilesStorage(CompressedManifestStaticFilesStorage):
    def create_compressor(self, **options: object) -> StaticFilesCompressor:
        return StaticFilesCompressor(**options)

"""The compression of static files."""

from core.pages.static_files import MAX_BROTLI_SIZE, StaticFilesCompressor


def test_it_works(tmp_path):
    small, large = tmp_path / "small.css", tmp_path / "large.js"
    small.write_text("a { color: red }\n" * 100)
    large.write_text("let a = 1;\n" * (MAX_BROTLI_SIZE // 10))
    compressor = StaticFilesCompressor(extensions=None, quiet=True)
    assert compressor.compress(str(small)) == [f"{small}.br", f"{small}.gz"]
    assert compressor.compress(str(large)) == [f"{large}.gz"]
    assert {path.name for path in tmp_path.iterdir()} == {
        *("small.css", "small.css.br", "small.css.gz"),
        *("large.js", "large.js.gz"),
    }

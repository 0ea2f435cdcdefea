import pytest

from config.environment import bucket, environment_variables, fraction, http_url, sentry_dsn, socket_address
from tests.support.tables import table


def test_secrets_may_be_in_files(monkeypatch, tmp_path):
    (tmp_path / "secret_key").write_text("from a file\n")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "secret_key"))
    monkeypatch.setenv("DATABASE_URL_FILE", str(tmp_path / "missing"))
    for name in ("SECRET_KEY", "DATABASE_URL"):
        monkeypatch.delenv(name, raising=False)
    values = environment_variables()
    assert values["SECRET_KEY"] == "from a file"
    # A system check reports the missing variable.
    assert "DATABASE_URL" not in values


def test_a_variable_counts_before_a_file(monkeypatch, tmp_path):
    (tmp_path / "secret_key").write_text("from a file")
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "secret_key"))
    monkeypatch.setenv("SECRET_KEY", "of the environment")
    assert environment_variables()["SECRET_KEY"] == "of the environment"


def test_the_address_of_a_bucket():
    secrets = {"access_key_id": "key", "secret_access_key": "a/b+c"}
    address = "s3://key:a%2Fb%2Bc@files?endpoint=https://s3.example.com:9000&region=eu"
    assert bucket(address) == {
        "bucket": "files",
        "region": "eu",
        "endpoint": "https://s3.example.com:9000",
        **secrets,
    }
    assert bucket("s3://key:a%2Fb%2Bc@files") == {"bucket": "files", "region": "us-east-1", **secrets}


def test_addresses_of_monitoring():
    assert socket_address("127.0.0.1:9100") == ("127.0.0.1", 9100)
    assert socket_address("[::1]:9100") == ("::1", 9100)
    assert fraction("0.05") == 0.05
    assert fraction("1") == 1.0
    assert http_url("http://collector:4318") == "http://collector:4318"
    assert sentry_dsn("https://key@sentry.example.com/prefix/1") == "https://key@sentry.example.com/prefix/1"


@table(
    ("parse", "text"),
    [
        *(
            (socket_address, text)
            for text in ("9100", ":9100", "::1:9100", "127.0.0.1:0", "a:65536", "http://a:1", "a:1\n")
        ),
        *((fraction, text) for text in ("", "1.1", "-0.1", "nan", "1e-2", "2", "0,5")),
        *(
            (http_url, text)
            for text in ("collector:4318", "grpc://collector", "https://", "http://[::1", "http://a:99999")
        ),
        *(
            (sentry_dsn, text)
            for text in ("https://sentry.example.com/1", "https://hidden@sentry.example.com/", "key@a/1")
        ),
    ],
)
def test_it_rejects_addresses_of_monitoring(parse, text):
    with pytest.raises(ValueError, match=r"^write ") as error:
        parse(text)
    assert "hidden" not in str(error.value)

from config.environment import bucket, environment_variables


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

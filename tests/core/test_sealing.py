"""Encryption with keys derived from SECRET_KEY."""

import base64

import pytest

from core.sealing import SealError, seal, unseal
from tests.support.tables import table


def test_it_works():
    sealed = seal(["Łódź", 1, "a plain text"], "test")
    assert b"a plain text" not in base64.urlsafe_b64decode(sealed)
    assert unseal(sealed, "test") == ["Łódź", 1, "a plain text"]
    assert seal(["Łódź", 1, "a plain text"], "test") != sealed


@table("sealed", ["", "x", "ż", "gAAAAA", "\x00", "\ud800"])
def test_it_rejects_a_text_that_is_not_sealed(sealed):
    with pytest.raises(SealError):
        unseal(sealed, "test")


def test_it_rejects_a_value_for_another_purpose():
    with pytest.raises(SealError):
        unseal(seal("secret", "one"), "two")


def test_it_rejects_a_changed_value():
    sealed = seal("secret", "test")
    changed = sealed[:30] + ("A" if sealed[30] != "A" else "B") + sealed[31:]
    with pytest.raises(SealError):
        unseal(changed, "test")


def test_values_stay_readable_after_a_change_of_the_key(settings):
    sealed = seal("secret", "test")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key" * 5, [settings.SECRET_KEY]
    assert unseal(sealed, "test") == "secret"
    settings.SECRET_KEY_FALLBACKS = []
    with pytest.raises(SealError):
        unseal(sealed, "test")

"""Encryption with keys derived from SECRET_KEY."""

import pytest

from core.sealing import seal, unseal


def test_it_works():
    sealed = seal("Łódź", "test")
    assert "Łódź" not in sealed
    assert unseal(sealed, "test") == "Łódź"
    assert seal("Łódź", "test") != sealed


@pytest.mark.parametrize("sealed", ["", "x", "ż", "gAAAAA", "\x00"])
def test_it_rejects_a_text_that_is_not_sealed(sealed):
    assert unseal(sealed, "test") is None


def test_it_rejects_a_value_for_another_purpose():
    assert unseal(seal("secret", "one"), "two") is None


def test_it_rejects_a_changed_value():
    sealed = seal("secret", "test")
    changed = sealed[:30] + ("A" if sealed[30] != "A" else "B") + sealed[31:]
    assert unseal(changed, "test") is None


def test_values_stay_readable_after_a_change_of_the_key(settings):
    sealed = seal("secret", "test")
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another key" * 5, [settings.SECRET_KEY]
    assert unseal(sealed, "test") == "secret"
    settings.SECRET_KEY_FALLBACKS = []
    assert unseal(sealed, "test") is None

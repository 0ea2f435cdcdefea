import pytest

from core.sealing import SealError, seal, unseal


def test_it_works():
    value = {"to": "zażółć@example.com", "n": [1, None, True]}
    sealed = seal(value)
    assert unseal(sealed) == value
    assert "example" not in sealed
    assert seal(value) != sealed


@pytest.mark.parametrize("sealed", ["", "x", "gAAAAA=="])
def test_it_rejects_other_texts(sealed):
    with pytest.raises(SealError):
        unseal(sealed)


def test_it_rejects_values_of_another_key(settings):
    sealed = seal(1)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "y" * 60
    with pytest.raises(SealError):
        unseal(sealed)
    settings.SECRET_KEY_FALLBACKS = [old]
    assert unseal(sealed) == 1

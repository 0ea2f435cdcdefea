from core.rows.trimmed import fold_email, is_blank, trim
from tests.support.tables import table

FLAG = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@table(
    ("text", "trimmed"),
    [
        ("Ann", "Ann"),
        (" Ann \t\r\n", "Ann"),
        ("\u00a0Ann\u202f\u3000", "Ann"),
        ("\ufeffAnn\u200b\u200e", "Ann"),
        (" \u200b \u2060Ann K.\u00ad \u200f", "Ann K."),
        ("A\u200bnn", "A\u200bnn"),
        ("\u200b \u2003", ""),
        ("", ""),
        (f"England {FLAG} ", f"England {FLAG}"),
        ("\u06dd5", "\u06dd5"),
        ("Ann \U0001f469\u200d\U0001f4bb", "Ann \U0001f469\u200d\U0001f4bb"),
    ],
)
def test_trim(text, trimmed):
    assert trim(text) == trimmed


@table(
    "text",
    [
        *("", " \n", "\u3000", "\u200b\u2060", "\u2800", "\u3164", "\u115f\u1160", "\uffa0", "\ufe0f", "\U000e0101"),
        *("\u034f \u180b", "\u2800\u200b \u3164", "\U000e0020", "\u17b4"),
    ],
)
def test_a_text_without_visible_characters_is_blank(text):
    assert is_blank(text)


@table("text", ["a", "\u3164a", "ㄱ", "👍\ufe0f", "\u0600", "-", "\u2801", "\u0301"])
def test_any_other_text_is_not_blank(text):
    assert not is_blank(text)


@table(
    ("email", "other"),
    [
        ("ann@example.com", "Ann@Example.COM"),
        ("ann@example.com", " ann@example.com\u200b"),
        ("ann@żółw.pl", "ann@xn--w-uga1v8h.pl"),
        ("ann@Żółw.PL", "ANN@XN--W-UGA1V8H.pl"),
        ("ann@z\u0307o\u0301łw.pl", "ann@żółw.pl"),
        ("zoe\u0308@example.com", "zoë@example.com"),
        ("ann@straße.de", "ann@xn--strae-oqa.de"),
        ("ann@例え。jp", "ann@xn--r8jz45g.jp"),
        ("ann@ＥＸＡＭＰＬＥ.com", "ann@example.com"),
    ],
)
def test_equal_emails(email, other):
    assert fold_email(email) == fold_email(other) == fold_email(fold_email(email))


@table(
    ("email", "other"),
    [
        ("ann@example.com", "ann@example.net"),
        ("ann@straße.de", "ann@strasse.de"),
        ("ann+a@example.com", "ann@example.com"),
        ("a nn@example.com", "ann@example.com"),
        ("ann@żó łw.pl", "ann@żółw.pl"),
        ("żółw", "zolw"),
    ],
)
def test_different_emails(email, other):
    assert fold_email(email) != fold_email(other)

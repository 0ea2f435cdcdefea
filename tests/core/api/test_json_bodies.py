"""Parsing of JSON bodies: encoding, size, numbers and depth."""

import gzip
import json
import re
from collections.abc import Iterable

from tests.support.assertions import assert_refused, read
from tests.support.factories import make_client, make_deal
from tests.support.tables import table

MIB = 1024 * 1024
JSON = {"Content-Type": "application/json"}


def post(acme, content, headers=JSON):
    return acme.json().post("/app/clients.json", content=content, headers=headers)


def test_it_works(acme):
    response = post(acme, '\ufeff {"client": {"name": "Łódź 😀"}}\n'.encode())
    assert response.status_code == 201
    assert read(response)["name"] == "Łódź 😀"
    assert "Łódź 😀".encode() in response.content


NO_NUMBER = "The JSON can't be read: it has a number that is none"
TOO_DEEP = "The JSON is nested too deeply"
INVALID_JSON = {
    b"{": "The JSON can't be read: Expecting property name enclosed in double quotes (line 1, column 2)",
    b'{"client": {"name": "a"}} x': "The JSON can't be read: Extra data (line 1, column 27)",
    b"client[name]=a": "The JSON can't be read: Expecting value (line 1, column 1)",
    **dict.fromkeys(
        [
            *(b'{"client": {"name": "a"},}', b"{'client': {}}", b"<client/>", b'{"client": {"name": "a\nb"}}'),
            *(b'{"client": {"name": "\x00"}}', b'{"client": {"name": "\\x"}}', b'{"client": {"name": "\\ud8"}}'),
        ]
    ),
    **dict.fromkeys(
        [
            *(b"\x00\xff\xfe", b'{"client": {"name": "\xb3\xf3d\xbc"}}', '{"client": {"name": "a"}}'.encode("utf-16")),
            # Surrogates are invalid in UTF-8, alone or in pairs.
            *(b'{"client": {"name": "\xed\xa0\x80"}}', b'{"client": {"name": "\xed\xa0\xbd\xed\xb8\x80"}}'),
        ],
        "The JSON is not in UTF-8",
    ),
    **dict.fromkeys(
        [
            b'{"a": %s}' % number
            for number in (b"NaN", b"Infinity", b"-Infinity", b"9" * 5000, b"1e99999999999999999999")
        ],
        NO_NUMBER,
    ),
    **dict.fromkeys(
        [
            b"[" * 100_000,
            b'{"a":' * 100_000,
            b"[" * 100_000 + b"]" * 100_000,
            b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        ],
        TOO_DEEP,
    ),
}


@table(("content", "message"), INVALID_JSON.items())
def test_it_rejects_invalid_json(acme, content, message):
    response = post(acme, content)
    assert_refused(response, 400, "bad_request", message=message or read(response)["message"])
    assert message or read(response)["message"].startswith("The JSON can't be read: ")
    assert not acme.account.clients.exists()


@table("content", [b"[1]", b'"text"', b"7", b"0", b"true", b"false", b"null"])
def test_only_get_and_delete_may_have_a_body_that_is_not_an_object(acme, content):
    deal = make_deal(acme.alice)
    path = f"/app/deals/{deal.id}.json"
    for method, target in (("POST", "/app/deals.json"), ("PUT", path)):
        response = acme.json().request(method, target, content=content, headers=JSON)
        assert_refused(response, 422, "validation_failed", {"body": ["must be an object"]})
    for method in ("GET", "DELETE"):
        assert acme.json().request(method, path, content=content, headers=JSON).status_code == 200


@table("content", [b"", b" \n "])
def test_an_empty_body_has_no_fields(acme, content):
    assert_refused(post(acme, content), 422, "validation_failed", {"client": ["can't be blank"]})


ACCEPTED_TYPES = [
    *("application/json", "application/json; charset=utf-8", "application/json;charset=rot13", "APPLICATION/JSON"),
    *('application/json; charset="nothing"; x', "text/json", "text/plain", "text/plain; charset=rot13"),
    *("text/plain; charset=utf-16", "application/x-www-form-urlencoded", "multipart/form-data", "application/xml"),
    *("application/octet-stream", "json", "\x7f", " text/plain ", "", None),
]


@table("content_type", ACCEPTED_TYPES)
def test_accepted_content_types(acme, content_type):
    headers = {} if content_type is None else {"Content-Type": content_type}
    response = post(acme, '{"client": {"name": "Łódź"}}'.encode(), headers)
    assert response.status_code == 201
    assert read(response)["name"] == "Łódź"


@table(
    ("charset", "encoding"),
    [
        ("utf-8", "utf-8-sig"),
        ("ISO-8859-2", "iso-8859-2"),
        ('"windows-1250"', "cp1250"),
        ("utf-16", "utf-16"),
        ("UTF-16", "utf-16-be"),
        ("utf-32", "utf-32-le"),
    ],
)
def test_accepted_charsets(acme, charset, encoding):
    content = '{"client": {"name": "Łódź"}}'.encode(encoding)
    response = post(acme, content, {"Content-Type": f"application/json; charset={charset}"})
    assert response.status_code == 201
    assert read(response)["name"] == "Łódź"


def test_it_rejects_a_body_in_another_charset_than_declared(acme):
    response = post(acme, b'{"client": {"name": "\x81"}}', {"Content-Type": "application/json; charset=windows-1250"})
    assert_refused(response, 400, "bad_request", message="The JSON is not in CP1250")


OTHER_TYPES = ["application/xml", "application/octet-stream", "text/html", "*/*", "text/*", "json", "application/", "/"]


@table("content_type", [*OTHER_TYPES, "\x7f", "a" * 10_000])
def test_it_rejects_other_content_types(acme, content_type):
    response = post(acme, b'["client", {"name": "a"}]', {"Content-Type": content_type})
    assert_refused(response, 415, "unsupported_media_type")
    assert not acme.account.clients.exists()


def test_the_content_type_of_an_empty_body_is_ignored(acme):
    deal = make_deal(acme.alice)
    for content_type in ("application/xml", "application/x-www-form-urlencoded", "text/html"):
        response = acme.json().get(f"/app/deals/{deal.id}.json", headers={"Content-Type": content_type})
        assert response.status_code == 200


@table("accept", [None, "*/*", "application/xml", "text/html", "image/png", "nonsense"])
def test_the_suffix_decides_the_format_of_the_response(acme, accept):
    headers = {} if accept is None else {"Accept": accept}
    response = acme.json().get("/app/tasks.json", headers=headers)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"


def padded(size: int) -> bytes:
    content = b'{"client": {"name": "a"}}'
    return content + b" " * (size - len(content))


def in_chunks(content: bytes):
    for start in range(0, len(content), 65_536):
        yield content[start : start + 65_536]


@table("send", [bytes, in_chunks])
def test_a_body_may_have_one_mebibyte(acme, send):
    response = post(acme, send(padded(MIB)))
    assert response.status_code == 201


@table("send", [bytes, in_chunks])
def test_it_rejects_a_body_over_one_mebibyte(acme, send):
    assert_refused(post(acme, send(padded(MIB + 1))), 413, "payload_too_large")
    assert not acme.account.clients.exists()


def test_it_rejects_a_content_length_that_is_not_a_number(acme):
    response = post(acme, b"{}", {**JSON, "Content-Length": "x"})
    assert_refused(response, 400, "bad_request", message="Content-Length is not a number")


def test_the_last_of_duplicate_keys_wins(acme):
    response = post(acme, b'{"client": {"name": "x"}, "client": {"name": "a", "name": "b"}}')
    assert response.status_code == 201
    assert read(response)["name"] == "b"


# Numbers


def create_deals(acme, items: Iterable[str]):
    """Send deals in one bulk request. The items are the members of their objects, in JSON."""
    content = ", ".join(f'{{"name": "a", {item}}}' for item in items)
    response = acme.json().post("/app/deals/bulk.json", content=f'{{"deals": [{content}]}}')
    assert response.status_code == 200, response.text
    return response


def errors_by_value(acme, field: str, values: Iterable[str]) -> dict[str, dict]:
    """Return the errors of a deal with each value."""
    results = read(create_deals(acme, [f'"{field}": {value}' for value in values]))
    return {value: result.get("errors") for value, result in zip(values, results, strict=True)}


DECIMALS = {
    "12345678901234.567891": "12345678901234.567891",
    "-12345678901234.567891": "-12345678901234.567891",
    "99999999999999.999999": "99999999999999.999999",
    "0.1": "0.1",
    "1.10": "1.1",
    "100": "100",
    "100.0": "100",
    "1e2": "100",
    "1E+2": "100",
    "1e-6": "0.000001",
    "0": "0",
    "-0": "0",
    "-0.0": "0",
    "0e999999999": "0",
    '"12345678901234.567891"': "12345678901234.567891",
    '" 7 "': "7",
    '"1e2"': "100",
    '".5"': "0.5",
    '"-.5"': "-0.5",
}


def test_decimals_are_exact(acme):
    created = create_deals(acme, [f'"price": {value}' for value in DECIMALS])
    for response in (created, acme.json().get("/app/deals.json")):
        prices = re.findall(r'"price":([^,]+),', response.text)
        assert dict(zip(DECIMALS, prices, strict=True)) == DECIMALS


FLOATS = {
    "149.90000000000001": "149.9",
    "3.3000000000000003": "3.3",
    "0.30000000000000004e0": "0.3",
    "-1.0999999999999999": "-1.1",
    "12345.678900000001": "12345.6789",
    "2.0000000000000004": "2",
    "99999999999999.98": "99999999999999.98",
}


def test_the_noise_of_floats_is_rounded(acme):
    """In the field of a resource and in typed additional fields."""
    items = [f'"price": {value}, "decimal1": {value}, "additional_fields": {{"decimal2": {value}}}' for value in FLOATS]
    response = create_deals(acme, items)
    for field in ("price", "decimal1", "decimal2"):
        # An additional field is also among the fields of the resource.
        stored = re.findall(rf'"{field}":([^,}}]+)', response.text)[:: 1 if field == "price" else 2]
        assert dict(zip(FLOATS, stored, strict=True)) == FLOATS, field


def test_the_noise_of_floats_in_whole_numbers_is_rounded(acme):
    client = make_client(acme.alice)
    content = f'{{"deal": {{"name": "a", "client_id": {client.id}.000000000000001, "integer1": 2.0000000000000004}}}}'
    response = acme.json().post("/app/deals.json", content=content)
    assert response.status_code == 201, response.text
    assert (read(response)["client_id"], read(response)["integer1"]) == (client.id, 2)
    response = acme.json().post("/app/deals.json", content='{"deal": {"name": "a", "integer1": 2.0000001}}')
    assert_refused(response, 422, "validation_failed", {"integer1": ["is not a whole number"]})


INVALID_NUMBERS = {
    "must have at most 14 digits before the decimal point": [
        *("1e14", "100000000000000", "-1e999999999", '"1e999999999"', "9" * 4000, f'"{"9" * 5000}"'),
    ],
    "must have at most 6 decimal places": [
        *("1e-999999999", "0.0000001", "1234567.8901234", "0.1234567890123456", "149.9000001"),
        *('"149.90000000000001"', "0." + "3" * 4000),
    ],
    "is not a number": [
        *('"1e99999999999999999999"', "true", "false", '"x"', '"1,5"', '"1 000"', '"1_000"', '"٣"', '"NaN"', '"sNaN"'),
        *('"-Infinity"', '"0x10"', '"\\u0000"', '"\\ud800"'),
    ],
    "must be a single value": ["[1]", "{}"],
}


def test_it_rejects_invalid_numbers(acme):
    expected = {value: {"price": [rule]} for rule, values in INVALID_NUMBERS.items() for value in values}
    assert errors_by_value(acme, "price", expected) == expected
    assert not acme.account.deals.exists()


INVALID_IDS = {
    "can't be found": ["0", "-1", "9223372036854775807", "9223372036854775808"],
    "is not an id": ["1e30", "1e999999999", "1.5", "true", '"x"', '"\\u0000"'],
    "must be a single value": ["[1]", '{"id": 1}'],
}


def test_it_rejects_invalid_ids(acme):
    expected = {value: {"client_id": [rule]} for rule, values in INVALID_IDS.items() for value in values}
    assert errors_by_value(acme, "client_id", expected) == expected
    response = acme.json().post("/app/contacts.json", json={"contact": {"name": "a", "client_id": 2**63}})
    assert_refused(response, 422, "validation_failed", {"client_id": ["can't be found"]})


INVALID_INTEGERS = {
    "is not a whole number": ["1e999999999", "1e-999999999", "1.5", '"1.5"', "true", '"x"', "9" * 4000],
    "must be between -2147483648 and 2147483647": ["2147483648", "1e20"],
    "must be a single value": ["[]"],
}


@table(("rule", "values"), INVALID_INTEGERS.items())
def test_it_rejects_invalid_integers(acme, rule, values):
    for value in values:
        content = f'{{"post": {{"title": "a", "task_kind": "task", "priority": {value}}}}}'
        response = acme.json().post("/app/posts.json", content=content)
        assert_refused(response, 422, "validation_failed", {"priority": [rule]})


@table(("sent", "stored"), [("7", 7), ('"7"', 7), ("7.0", 7), ("70e-1", 7), ('" 7"', 7), ('""', 0)])
def test_accepted_integers(acme, sent, stored):
    content = f'{{"post": {{"title": "a", "task_kind": "task", "priority": {sent}}}}}'
    assert read(acme.json().post("/app/posts.json", content=content))["priority"] == stored


def test_escapes_in_a_body_are_decoded(acme):
    content = json.dumps({"client": {"name": 'Łódź 😀 " \\ /'}}, ensure_ascii=True)
    assert read(post(acme, content))["name"] == 'Łódź 😀 " \\ /'


# Compressed bodies

GZIP = {**JSON, "Content-Encoding": "gzip"}


@table("encoding", ["gzip", "x-gzip", " GZIP "])
def test_a_gzip_body_is_decompressed(acme, encoding):
    response = post(
        acme, gzip.compress('{"client": {"name": "Łódź"}}'.encode()), {**JSON, "Content-Encoding": encoding}
    )
    assert response.status_code == 201
    assert read(response)["name"] == "Łódź"


def test_a_gzip_body_may_inflate_to_one_mebibyte(acme):
    assert post(acme, gzip.compress(padded(MIB)), GZIP).status_code == 201


def test_it_rejects_a_gzip_body_that_inflates_to_more_than_one_mebibyte(acme):
    assert_refused(post(acme, gzip.compress(padded(MIB + 1)), GZIP), 413, "payload_too_large")
    assert_refused(post(acme, gzip.compress(b" " * 20 * MIB), GZIP), 413, "payload_too_large")
    assert not acme.account.clients.exists()


@table(
    ("corrupt", "message"),
    [
        (lambda body: body[:-1], "The body in gzip is not complete, or goes on after its end"),
        (lambda body: body + b"x", "The body in gzip is not complete, or goes on after its end"),
        (lambda body: body[:-8] + b"12345678", "The body is not in gzip, as its Content-Encoding says"),
        (lambda body: b"{}", "The body is not in gzip, as its Content-Encoding says"),
    ],
)
def test_it_rejects_invalid_gzip_bodies(acme, corrupt, message):
    body = corrupt(gzip.compress(b'{"client": {"name": "a"}}'))
    assert_refused(post(acme, body, GZIP), 400, "bad_request", message=message)


def test_it_rejects_other_content_encodings(acme):
    response = post(acme, b'{"client": {"name": "a"}}', {**JSON, "Content-Encoding": "br"})
    assert_refused(response, 415, "unsupported_media_type")

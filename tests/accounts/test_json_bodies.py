"""Parsing of JSON bodies: encoding, size, numbers and depth."""

import gzip
import json
from decimal import Decimal

import pytest

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


@table(
    ("content", "message"),
    [
        (b"{", "The JSON can't be read: Expecting property name enclosed in double quotes (line 1, column 2)"),
        (b'{"client": {"name": "a"},}', None),
        (b"{'client': {}}", None),
        (b'{"client": {"name": "a"}} x', "The JSON can't be read: Extra data (line 1, column 27)"),
        (b"client[name]=a", "The JSON can't be read: Expecting value (line 1, column 1)"),
        (b"<client/>", None),
        (b'{"client": {"name": "a\nb"}}', None),
        (b'{"client": {"name": "\x00"}}', None),
        (b'{"client": {"name": "\\x"}}', None),
        (b'{"client": {"name": "\\ud8"}}', None),
        (b"\x00\xff\xfe", "The JSON is not in UTF-8"),
        (b'{"client": {"name": "\xb3\xf3d\xbc"}}', "The JSON is not in UTF-8"),
        # Surrogates are invalid in UTF-8, alone or in pairs.
        (b'{"client": {"name": "\xed\xa0\x80"}}', "The JSON is not in UTF-8"),
        (b'{"client": {"name": "\xed\xa0\xbd\xed\xb8\x80"}}', "The JSON is not in UTF-8"),
        ('{"client": {"name": "a"}}'.encode("utf-16"), "The JSON is not in UTF-8"),
        (b'{"client": {"name": NaN}}', "The JSON can't be read: it has a number that is none"),
        (b'{"client": {"discount": Infinity}}', "The JSON can't be read: it has a number that is none"),
        (b'{"client": {"discount": -Infinity}}', "The JSON can't be read: it has a number that is none"),
        (b'{"client": {"discount": ' + b"9" * 5000 + b"}}", "The JSON can't be read: it has a number that is none"),
        (b'{"client": {"discount": 1e99999999999999999999}}', "The JSON can't be read: it has a number that is none"),
        (b"[" * 100_000, "The JSON is nested too deeply"),
        (b'{"a":' * 100_000, "The JSON is nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "The JSON is nested too deeply"),
        (b'{"client": {"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}}", "The JSON is nested too deeply"),
    ],
)
def test_it_rejects_invalid_json(acme, content, message):
    response = post(acme, content)
    assert_refused(response, 400, "bad_request", message=message or read(response)["message"])
    assert message or read(response)["message"].startswith("The JSON can't be read: ")
    assert not acme.account.clients.exists()


@table("content", [b"[1]", b'"text"', b"7", b"0", b"true", b"false", b"null"])
@table("method", ["POST", "PUT"])
def test_it_rejects_bodies_that_are_not_an_object(acme, method, content):
    deal = make_deal(acme.alice)
    path = "/app/deals.json" if method == "POST" else f"/app/deals/{deal.id}.json"
    response = acme.json().request(method, path, content=content, headers=JSON)
    assert_refused(response, 422, "validation_failed", {"body": ["must be an object"]})


@table("content", [b"[]", b'"text"', b"7", b"null"])
@table("method", ["GET", "DELETE"])
def test_the_body_of_get_and_delete_may_be_any_json(acme, method, content):
    deal = make_deal(acme.alice)
    response = acme.json().request(method, f"/app/deals/{deal.id}.json", content=content, headers=JSON)
    assert response.status_code == 200


@pytest.mark.parametrize("content", [b"", b" \n "], ids=repr)
def test_an_empty_body_has_no_fields(acme, content):
    assert_refused(post(acme, content), 422, "validation_failed", {"client": ["can't be blank"]})


@table(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/json;charset=rot13",
        'application/json; charset="nothing"; x',
        "APPLICATION/JSON",
        "text/json",
        "text/plain",
        "text/plain; charset=rot13",
        "text/plain; charset=utf-16",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/xml",
        "application/octet-stream",
        "json",
        "\x7f",
        " text/plain ",
        "",
        None,
    ],
)
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


@table(
    "content_type",
    [
        "application/xml",
        "application/octet-stream",
        "text/html",
        "*/*",
        "text/*",
        "json",
        "application/",
        "/",
        "\x7f",
        "a" * 10_000,
    ],
)
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


@pytest.mark.parametrize("send", [bytes, in_chunks])
def test_a_body_may_have_one_mebibyte(acme, send):
    response = post(acme, send(padded(MIB)))
    assert response.status_code == 201


@table("send", [bytes, in_chunks])
@table("size", [MIB + 1, 3 * MIB])
def test_it_rejects_a_body_over_one_mebibyte(acme, send, size):
    assert_refused(post(acme, send(padded(size))), 413, "payload_too_large")
    assert not acme.account.clients.exists()


def test_it_rejects_a_content_length_that_is_not_a_number(acme):
    response = post(acme, b"{}", {**JSON, "Content-Length": "x"})
    assert_refused(response, 400, "bad_request", message="Content-Length is not a number")


def test_a_chunked_body_is_read(acme):
    response = post(acme, iter([b'{"client": ', b'{"name": "a"}}']))
    assert response.status_code == 201


def test_the_last_of_duplicate_keys_wins(acme):
    response = post(acme, b'{"client": {"name": "x"}, "client": {"name": "a", "name": "b"}}')
    assert response.status_code == 201
    assert read(response)["name"] == "b"


# Numbers


@table(
    ("sent", "returned"),
    [
        ("12345678901234.567891", "12345678901234.567891"),
        ("-12345678901234.567891", "-12345678901234.567891"),
        ("99999999999999.999999", "99999999999999.999999"),
        ("0.1", "0.1"),
        ("1.10", "1.1"),
        ("100", "100"),
        ("100.0", "100"),
        ("1e2", "100"),
        ("1E+2", "100"),
        ("1e-6", "0.000001"),
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e999999999", "0"),
        ('"12345678901234.567891"', "12345678901234.567891"),
        ('" 7 "', "7"),
        ('"1e2"', "100"),
        ('".5"', "0.5"),
        ('"-.5"', "-0.5"),
    ],
)
def test_decimals_are_exact(acme, sent, returned):
    response = acme.json().post("/app/deals.json", content=f'{{"deal": {{"name": "a", "price": {sent}}}}}')
    assert response.status_code == 201
    assert f'"price":{returned},' in response.text
    reread = acme.json().get(f"/app/deals/{read(response)['id']}.json")
    assert f'"price":{returned},' in reread.text


@table(
    ("sent", "stored"),
    [
        ("149.90000000000001", "149.9"),
        ("3.3000000000000003", "3.3"),
        ("0.30000000000000004e0", "0.3"),
        ("-1.0999999999999999", "-1.1"),
        ("12345.678900000001", "12345.6789"),
        ("2.0000000000000004", "2"),
        ("99999999999999.98", "99999999999999.98"),
    ],
)
def test_the_noise_of_floats_is_rounded(acme, sent, stored):
    """In the field of a resource, in a typed additional field, and in a bulk request."""
    content = f'{{"price": {sent}, "decimal1": {sent}, "additional_fields": {{"decimal2": {sent}}}, "name": "a"}}'
    response = acme.json().post("/app/deals.json", content=f'{{"deal": {content}}}')
    assert response.status_code == 201, response.text
    for field in ("price", "decimal1", "decimal2"):
        assert f'"{field}":{stored}' in response.text.replace("}", ",")
    response = acme.json().post("/app/deals/bulk.json", content=f'{{"deals": [{content}]}}')
    assert f'"price":{stored},' in response.text, response.text


def test_the_noise_of_floats_in_whole_numbers_is_rounded(acme):
    client = make_client(acme.alice)
    content = f'{{"deal": {{"name": "a", "client_id": {client.id}.000000000000001, "integer1": 2.0000000000000004}}}}'
    response = acme.json().post("/app/deals.json", content=content)
    assert response.status_code == 201, response.text
    assert (read(response)["client_id"], read(response)["integer1"]) == (client.id, 2)
    response = acme.json().post("/app/deals.json", content='{"deal": {"name": "a", "integer1": 2.0000001}}')
    assert_refused(response, 422, "validation_failed", {"integer1": ["is not a whole number"]})


@table(
    ("sent", "rule"),
    [
        ("1e14", "must have at most 14 digits before the decimal point"),
        ("100000000000000", "must have at most 14 digits before the decimal point"),
        ("-1e999999999", "must have at most 14 digits before the decimal point"),
        ('"1e999999999"', "must have at most 14 digits before the decimal point"),
        ('"1e99999999999999999999"', "is not a number"),
        ("1e-999999999", "must have at most 6 decimal places"),
        ("0.0000001", "must have at most 6 decimal places"),
        ("1234567.8901234", "must have at most 6 decimal places"),
        ("0.1234567890123456", "must have at most 6 decimal places"),
        ("149.9000001", "must have at most 6 decimal places"),
        ('"149.90000000000001"', "must have at most 6 decimal places"),
        ("9" * 4000, "must have at most 14 digits before the decimal point"),
        ("0." + "3" * 4000, "must have at most 6 decimal places"),
        ("true", "is not a number"),
        ("false", "is not a number"),
        ('"x"', "is not a number"),
        ('"1,5"', "is not a number"),
        ('"1 000"', "is not a number"),
        ('"1_000"', "is not a number"),
        ('"٣"', "is not a number"),
        ('"NaN"', "is not a number"),
        ('"sNaN"', "is not a number"),
        ('"-Infinity"', "is not a number"),
        ('"0x10"', "is not a number"),
        ('"' + "9" * 5000 + '"', "must have at most 14 digits before the decimal point"),
        ('"\\u0000"', "is not a number"),
        ('"\\ud800"', "is not a number"),
        ("[1]", "must be a single value"),
        ("{}", "must be a single value"),
    ],
)
def test_it_rejects_invalid_numbers(acme, sent, rule):
    deal = make_deal(acme.alice, price=1)
    content = f'{{"deal": {{"name": "a", "price": {sent}}}}}'
    for method, path in (("POST", "/app/deals.json"), ("PUT", f"/app/deals/{deal.id}.json")):
        response = acme.json().request(method, path, content=content)
        assert_refused(response, 422, "validation_failed", {"price": [rule]})
    deal.refresh_from_db()
    assert deal.price == Decimal(1)


@table(
    ("sent", "rule"),
    [
        ("1e999999999", "is not a whole number"),
        ("1e-999999999", "is not a whole number"),
        ("2147483648", "must be between -2147483648 and 2147483647"),
        ("1e20", "must be between -2147483648 and 2147483647"),
        ("1.5", "is not a whole number"),
        ('"1.5"', "is not a whole number"),
        ("true", "is not a whole number"),
        ('"x"', "is not a whole number"),
        ("9" * 4000, "is not a whole number"),
        ("[]", "must be a single value"),
    ],
)
def test_it_rejects_invalid_integers(acme, sent, rule):
    content = f'{{"post": {{"title": "a", "task_kind": "task", "priority": {sent}}}}}'
    response = acme.json().post("/app/posts.json", content=content)
    assert_refused(response, 422, "validation_failed", {"priority": [rule]})


@table(
    ("sent", "rule"),
    [
        ("0", "can't be found"),
        ("-1", "can't be found"),
        ("9223372036854775807", "can't be found"),
        ("9223372036854775808", "can't be found"),
        ("1e30", "is not an id"),
        ("1e999999999", "is not an id"),
        ("1.5", "is not an id"),
        ("true", "is not an id"),
        ('"x"', "is not an id"),
        ('"\\u0000"', "is not an id"),
        ("[1]", "must be a single value"),
        ('{"id": 1}', "must be a single value"),
    ],
)
def test_it_rejects_invalid_ids(acme, sent, rule):
    response = acme.json().post("/app/contacts.json", content=f'{{"contact": {{"name": "a", "client_id": {sent}}}}}')
    assert_refused(response, 422, "validation_failed", {"client_id": [rule]})


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
    assert_refused(post(acme, gzip.compress(b" " * 500 * MIB), GZIP), 413, "payload_too_large")
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

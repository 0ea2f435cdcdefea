from accounts.users.models import User
from tests.support.assertions import assert_answered, assert_refused, on_the_wire
from tests.support.factories import make_user
from tests.support.lists import link_to_first_page, values_by_page, values_of

PATH = "/app/users.json"


def user_body(user: User, **fields) -> dict:
    return {
        "id": user.id,
        "login": user.login,
        "email": f"{user.login}@acme.example",
        "name": user.login,
        "role": "agent",
        "notification": "own",
        "description": "",
        "www": None,
        "group_id": None,
        **fields,
        "created_at": on_the_wire(user.created_at),
        "updated_at": on_the_wire(user.updated_at),
    }


def test_it_works(acme, other):
    """The list contains the team, without members."""
    assert_answered(
        acme.json().get(PATH),
        200,
        [user_body(acme.alice, role="owner", notification="all"), user_body(acme.bob, name="Bob Nowak")],
        link=link_to_first_page(PATH),
    )


def test_it_rejects_unknown_parameters(acme):
    assert_refused(
        acme.json().get(f"{PATH}?role=owner", headers={"Prefer": "handling=strict"}),
        422,
        "validation_failed",
        {"role": ["is not one of the parameters page, per_page, order, updated_since, q"]},
    )


def test_pages_orders_and_searches(acme):
    make_user(acme.account, "zoe", role=User.Role.ADMIN, name="Żaneta Lis")
    make_user(acme.account, "deactivated", role=User.Role.AGENT, is_active=False)
    assert values_by_page(acme.json(), f"{PATH}?per_page=2", "login") == [["alice", "bob"], ["zoe"]]
    assert values_of(acme.json().get(f"{PATH}?order=-name"), "login") == ["zoe", "bob", "alice"]
    assert values_of(acme.json().get(f"{PATH}?updated_since=2009-01-26"), "login") == ["alice", "bob", "zoe"]
    for query, expected in {"zaneta": ["zoe"], "nowka": ["bob"], "acme example": ["alice", "bob", "zoe"]}.items():
        assert values_of(acme.json().get(PATH, params={"q": query}), "login") == expected, query

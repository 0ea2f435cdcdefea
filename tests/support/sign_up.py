"""The link that completes signing up, and an accepted password."""

from urllib.parse import urlencode

from accounts.mail import links

PASSWORD = "grasshopper lighthouse vinegar"


def path_for(acme, email: str = "dan@example.com", target: str = "/") -> str:
    token = links.sign({"email": email, "next": target}, "sign-up", acme.account.id)
    return "/app/sign-up/finish?" + urlencode({"token": token})

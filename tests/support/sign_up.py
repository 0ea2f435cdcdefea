"""The link that completes signing up, and an accepted password."""

from urllib.parse import urlencode

from accounts.mail.sending import sign_link

PASSWORD = "grasshopper lighthouse vinegar"


def path_for(acme, email: str = "dan@example.com", target: str = "/") -> str:
    token = sign_link({"email": email, "next": target}, "sign-up", acme.account.id)
    return "/app/sign-up/finish?" + urlencode({"token": token})

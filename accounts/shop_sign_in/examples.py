"""Code that signs a token in a shop, for the settings page."""

EXAMPLES = {
    "PHP": """<?php  // composer require firebase/php-jwt
$token = Firebase\\JWT\\JWT::encode(
    ['id' => $customer->id, 'email' => $customer->email, 'name' => $customer->name, 'iat' => time()],
    $forumSecret, 'HS256');
header('Location: ADDRESS?return_to=/&jwt=' . $token);
""",
    "Python": """import time, jwt  # pip install pyjwt

claims = {"id": customer.id, "email": customer.email, "name": customer.name, "iat": int(time.time())}
token = jwt.encode(claims, forum_secret, algorithm="HS256")
return redirect(f"ADDRESS?return_to=/&jwt={token}")
""",
    "JavaScript": """const jwt = require("jsonwebtoken");  // npm install jsonwebtoken

const claims = { id: customer.id, email: customer.email, name: customer.name };
const token = jwt.sign(claims, forumSecret, { algorithm: "HS256" });  // it adds iat
response.redirect(`ADDRESS?return_to=/&jwt=${token}`);
""",
    "Ruby": """require "jwt"  # gem install jwt

claims = { id: customer.id, email: customer.email, name: customer.name, iat: Time.now.to_i }
token = JWT.encode(claims, forum_secret, "HS256")
redirect_to "ADDRESS?return_to=/&jwt=#{token}", allow_other_host: true
""",
}

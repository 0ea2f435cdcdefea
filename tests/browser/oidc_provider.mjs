// A provider of OpenID Connect on loopback, for test_single_sign_on.py: node oidc_provider.mjs PORT REDIRECT_URI. Whoever signs in with a login has it as
// the subject and as the local part of the e-mail.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [port, redirectURI, folder] = process.argv.slice(2);
const path = createRequire(`${folder}/`).resolve("oidc-provider");
const { Provider } = await import(pathToFileURL(path));
const findAccount = (_context, id) => ({
  accountId: id,
  claims: () => ({ sub: id, email: `${id}@acme.example`, email_verified: true, name: id, groups: ["team"] }),
});
const client = { client_id: "client", client_secret: "the-secret", redirect_uris: [redirectURI] };
const claims = { openid: ["sub", "groups"], email: ["email", "email_verified"], profile: ["name"] };
const provider = new Provider(`http://127.0.0.1:${port}`, { clients: [client], claims, findAccount, cookies: { keys: ["test"] } });
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));

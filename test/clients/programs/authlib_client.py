"""A web application with Authlib. The operator configured the application as an integration with a secret."""

import os
import re
import subprocess

import httpx
from authlib.common.security import generate_token
from authlib.integrations.httpx_client import OAuth2Client

api = os.environ["API_URL"]
challenge = httpx.get(api).headers["www-authenticate"]
metadata_url = re.search(r'resource_metadata="([^"]+)"', challenge)[1]
issuer = httpx.get(metadata_url).json()["authorization_servers"][0]
server = httpx.get(f"{issuer}/.well-known/oauth-authorization-server").json()

client = OAuth2Client(
    client_id="our-web-app",
    client_secret=os.environ["CLIENT_SECRET"],
    token_endpoint_auth_method="client_secret_post",
    revocation_endpoint_auth_method="client_secret_post",
    redirect_uri="https://app.example.com/callback",
    scope="courses:read",
    code_challenge_method="S256",
)
verifier = generate_token(48)
url, state = client.create_authorization_url(server["authorization_endpoint"], code_verifier=verifier)
command = [os.environ["BROWSER"], url, "--no-redirect"]
browser = subprocess.run(command, check=True, capture_output=True, text=True)
client.fetch_token(
    server["token_endpoint"],
    authorization_response=browser.stdout.strip(),
    state=state,
    code_verifier=verifier,
)
assert client.get(api).status_code == 200
for _ in range(2):
    previous = client.token["refresh_token"]
    client.refresh_token(server["token_endpoint"])
    assert client.token["refresh_token"] != previous, "the refresh token is not rotated"
    assert client.get(api).status_code == 200
revoked = client.revoke_token(
    server["revocation_endpoint"], token=client.token["refresh_token"], token_type_hint="refresh_token"
)
assert revoked.status_code == 200

"""Whoever signs tokens that a server trusts: its keys, its tokens, and the endpoint that gives out its public keys.

    issuer = Issuer()
    issuer.publish(path)
    server = Server(bin, directory, env=issuer.settings(jwks_file=path))
    token = issuer.token(clock, tenant, "ana", agent="market")
"""

import base64
import hashlib
import hmac
import json
import time

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from endpoint import Endpoint

NAME = "https://id.example"
AUDIENCE = "tabellion-tests"
SLOW_SECONDS = 3
MAKERS = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "PS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}
FORMS = {"R": RSAAlgorithm, "P": RSAAlgorithm, "E": ECAlgorithm}


class Issuer:
    """Keys by their name; each signs with one algorithm."""

    def __init__(self, algorithms=("EdDSA",)):
        self.keys = {}
        for algorithm in algorithms:
            self.add(algorithm.lower(), algorithm)

    def add(self, kid, algorithm="EdDSA"):
        self.keys[kid] = (algorithm, MAKERS[algorithm]())

    def jwks(self, *kids):
        """The public half of these keys, of all by default."""
        return {"keys": [self.jwk(kid) for kid in kids or self.keys]}

    def jwk(self, kid):
        algorithm, key = self.keys[kid]
        form = OKPAlgorithm if algorithm == "EdDSA" else FORMS[algorithm[0]]
        return {**json.loads(form.to_jwk(key.public_key())), "kid": kid, "use": "sig", "key_ops": ["verify"]}

    def publish(self, path, *kids):
        """Writes the public keys to a file, whole or not at all."""
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps(self.jwks(*kids)))
        fresh.rename(path)

    def settings(self, **more):
        """The environment of a server that trusts this issuer."""
        given = {"issuer": NAME, "audience": AUDIENCE, "renew_seconds": 1, **more}
        return {f"TABELLION_IDENTITY__{name.upper()}": str(value) for name, value in given.items()}

    def claims(self, clock, tenant, user, agent=None, seconds=300, **changed):
        """What a token says; a claim of None is left out."""
        said = {
            "iss": NAME, "aud": AUDIENCE, "exp": int(clock.now.timestamp()) + seconds, "tid": tenant, "sub": user,
            "act": {"sub": agent} if agent else None, **changed,
        }  # fmt: skip
        return {name: value for name, value in said.items() if value is not None}

    def token(self, clock, tenant, user, agent=None, kid=None, header=None, **changed):
        """A token, signed as it should be."""
        kid = kid or next(iter(self.keys))
        algorithm, key = self.keys[kid]
        said = self.claims(clock, tenant, user, agent, **changed)
        return jwt.encode(said, key, algorithm, headers={"kid": kid, **(header or {})})


def part(data):
    data = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def by_hand(header, claims, secret=None):
    """A token that no honest library makes: unsigned, or signed with a secret that everybody knows."""
    signed = f"{part(header)}.{part(claims)}"
    signature = hmac.new(secret, signed.encode(), hashlib.sha256).digest() if secret is not None else b""
    return f"{signed}.{part(signature)}"


class KeyEndpoint(Endpoint):
    """Gives out an issuer's keys at /jwks, or what a script says instead."""

    def __init__(self, issuer):
        super().__init__()
        self.issuer, self.kids, self.says, self.asked = issuer, [], "keys", 0

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/jwks"

    def answer(self, request):
        self.asked += 1
        body = json.dumps(self.issuer.jwks(*self.kids)).encode()
        script = {
            "keys": (200, body), "broken": (500, b"broken"), "html": (200, b"<html>"), "empty": (200, b'{"keys":[]}'),
            "elsewhere": (302, body), "oversized": (200, body[:-1] + b" " * 400_000 + b"}"), "slow": (200, body),
        }  # fmt: skip
        status, sent = script[self.says]
        if self.says == "slow":
            time.sleep(SLOW_SECONDS)
        try:
            request.send_response(status)
            if self.says == "elsewhere":
                request.send_header("Location", "/keys")
            request.send_header("Content-Length", str(len(sent)))
            request.end_headers()
            request.wfile.write(sent)
        except OSError:
            pass

"""Running the server: starting, watching, bounding, securing and stopping it."""

import datetime
import http.client
import ipaddress
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time
import tomllib

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from callers import Caller, admin, log_size, new_caller
from server import ADMIN_KEY, Server, exchange, free_port

KEY = re.compile(r"tab_[a-z0-9]{40,}")


def run(*command, env=None):
    """A command in a plain environment, as (exit code, stdout, stderr). It has to end by itself, and soon."""
    plain = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **(env or {})}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=10, env=plain)
    return done.returncode, done.stdout, done.stderr


# Probes and metrics


def test_probes_answer_without_a_key(shared_server):
    """Liveness and readiness are for those who hold no key."""
    for path in "/healthz", "/readyz":
        assert shared_server.call("GET", path, key="")[0] == 200


LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\.)*"'
SAMPLE = re.compile(rf"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{{{LABEL}(?:,{LABEL})*,?\}})? (\S+)( \d+)?$")


def metrics(server):
    """All samples of /metrics by name and labels; each line must be of the Prometheus text format."""
    status, text, headers = server.call("GET", "/metrics", key="")
    assert status == 200 and headers["content-type"].startswith("text/plain")
    samples = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            matched = SAMPLE.match(line)
            assert matched, line
            samples[matched[1] + (matched[2] or "")] = float(matched[3])
    return samples


def test_metrics_count_what_happens(shared_server, ana):
    """Requests, commits and refusals move counters that Prometheus can read."""
    before = metrics(shared_server)
    for number in range(7):
        ana.write(f"counted {number}")
    ana.ask("POST", "/v1/items", {"text": "x", "confidence": 2}, expect=422)
    after = metrics(shared_server)
    moved = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    requests = {name: delta for name, delta in moved.items() if name.startswith("tabellion_http_requests_total")}
    assert sum(delta for name, delta in requests.items() if 'status="201"' in name) == 7, requests
    assert sum(delta for name, delta in requests.items() if 'status="422"' in name) == 1, requests
    assert any(name.startswith("tabellion_http_request_seconds_bucket") for name in moved)
    beyond_http = [name for name in moved if name.startswith("tabellion_") and "http" not in name]
    assert any("committed" in name or "write" in name for name in beyond_http), sorted(moved)
    assert any("reject" in name or "refus" in name for name in beyond_http), sorted(moved)


def test_metrics_name_nobody(shared_server, ana):
    """Labels hold routes and statuses, not what a client made up."""
    ana.write("unmeasured", namespace="secretspace")
    for path in "/v1/items/itm_madeup", "/madeup/path", "/v1/search?q=madeup":
        ana.call("GET", path)
    text = shared_server.call("GET", "/metrics", key="")[1]
    assert not any(word in text for word in ("madeup", "unmeasured", "secretspace", ana.name, ana.key))


# Starting


def first_start(bin, directory, *arguments, env=None):
    """Starts a server without a given key; returns (process, address, what it printed until it was ready)."""
    port = free_port()
    plain = {"PATH": os.environ["PATH"], "HOME": str(directory), **(env or {})}
    output = open(f"{directory}.out", "w+b")
    process = subprocess.Popen(
        [bin, "serve", "--data", directory, "--listen", f"127.0.0.1:{port}", *arguments],
        env=plain, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, read(output)
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            if exchange(connection, "GET", "/readyz")[0] == 200:
                break
        except OSError:
            time.sleep(0.02)
    time.sleep(0.3)
    return process, port, output


def read(output):
    output.seek(0)
    return output.read().decode()


def end(process):
    process.send_signal(signal.SIGTERM)
    return process.wait(30)


def test_the_first_start_prints_the_admin_key_once(bin, tmp_path):
    """SHARE-28: the key is shown on the first start, works, and is shown neither again nor in the data directory."""
    directory = tmp_path / "data"
    process, port, output = first_start(bin, directory)
    try:
        keys = KEY.findall(read(output))
        assert len(set(keys)) == 1, read(output)
        key = keys[0]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        status, me, _ = exchange(connection, "GET", "/v1/whoami", key=key)
        assert status == 200 and me["role"] == "admin"
    finally:
        assert end(process) == 0
    process, port, output = first_start(bin, directory)
    try:
        assert KEY.findall(read(output)) == []
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        assert exchange(connection, "GET", "/v1/whoami", key=key)[0] == 200
    finally:
        assert end(process) == 0
    assert not [path for path in directory.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


def test_the_printed_commands_work_as_printed(bin, tmp_path):
    """A first start tells what to do next; pasted into a shell, one after the other, it works."""
    process, _, output = first_start(bin, tmp_path / "data")
    try:
        said = re.sub(r"\x1b\[[0-9;]*m", "", read(output))
        commands = [line.strip() for line in said.splitlines() if line.startswith("  ")]
        assert len(commands) == 3, said
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
        script = "set -eu\n" + "\n".join(commands)
        done = subprocess.run(["bash", "-c", script], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, script + done.stdout + done.stderr
        assert "committed" in done.stdout and "Port 8080 serves the API" in done.stdout, done.stdout
    finally:
        end(process)


def test_the_admin_key_can_be_given(bin, tmp_path):
    """SHARE-28: TABELLION_ADMIN_KEY is taken on the first start and printed nowhere."""
    directory = tmp_path / "data"
    process, port, output = first_start(bin, directory, env={"TABELLION_ADMIN_KEY": ADMIN_KEY})
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        assert exchange(connection, "GET", "/v1/whoami", key=ADMIN_KEY)[1]["role"] == "admin"
        assert ADMIN_KEY not in read(output)
    finally:
        end(process)


@pytest.mark.parametrize("key", ["x1", "tab_short"])
def test_a_weak_admin_key_is_refused(bin, tmp_path, key):
    """SHARE-28: what is no key of 256 bits does not become the admin's."""
    code, _, complained = run(
        bin, "serve", "--data", tmp_path / "data", "--listen", f"127.0.0.1:{free_port()}", env={"TABELLION_ADMIN_KEY": key}
    )
    assert code != 0 and "TABELLION_ADMIN_KEY" in complained and key not in complained, complained


def test_the_master_key_can_be_kept_outside(bin, tmp_path):
    """D9: with TABELLION_MASTER_KEY no key lies beside the data, and without it, or with another, nothing opens."""
    directory, master = tmp_path / "data", "5a" * 32
    with Server(bin, directory, env={"TABELLION_MASTER_KEY": master}) as server:
        ana = new_caller(server)
        ana.write("sealed under a key from elsewhere")
        assert server.stop() == 0
    assert not [
        path
        for path in directory.rglob("*")
        if path.is_file() and (path.name == "master.key" or master.encode() in path.read_bytes())
    ]
    other, short = {"TABELLION_MASTER_KEY": "5b" * 32}, {"TABELLION_MASTER_KEY": "short"}
    for env, expected in ({}, 3), (other, 3), (short, 1):
        code, _, complained = run(bin, "serve", "--data", directory, "--listen", f"127.0.0.1:{free_port()}", env=env)
        assert code == expected and re.search(r"master|MASTER", complained) and "panicked" not in complained, complained
    with Server(bin, directory, env={"TABELLION_MASTER_KEY": master}) as server:
        assert len(Caller(server, ana.key).found("sealed")) == 1


def test_a_second_server_on_the_same_directory_is_refused(bin, shared_server):
    """One writer a log; the second says why it stops, and the first goes on."""
    code, _, complained = run(bin, "serve", "--data", shared_server.data_dir, "--listen", f"127.0.0.1:{free_port()}")
    assert code == 1 and "panicked" not in complained, complained
    assert re.search(r"in use|already|another|holds|lock", complained), complained
    admin(shared_server).ask("GET", "/v1/whoami")


def test_a_port_in_use_is_named(bin, shared_server, tmp_path):
    """The message says which address it is about."""
    listen = f"127.0.0.1:{shared_server.port}"
    code, _, complained = run(bin, "serve", "--data", tmp_path / "data", "--listen", listen)
    assert code == 1 and listen in complained and "panicked" not in complained, complained


@pytest.mark.parametrize("listen", ["0.0.0.0", "[::]"])
def test_without_tls_only_loopback_is_served(bin, tmp_path, listen):
    """Credentials do not cross a network in the clear; the message says what to set."""
    code, _, complained = run(bin, "serve", "--data", tmp_path / "data", "--listen", f"{listen}:{free_port()}")
    assert code == 1 and "TLS" in complained and "127.0.0.1" in complained, complained
    assert not (tmp_path / "data").exists() or not any((tmp_path / "data").iterdir())


def test_the_test_clock_is_refused_without_its_flag(shared_server):
    """D18: time is the machine's unless the server was started to be told."""
    status, _, _ = shared_server.call("POST", "/v1/test-clock", {"now": "2030-01-01T00:00:00Z"})
    assert status in (403, 404, 405)


# Configuration


def test_the_printed_configuration_is_a_commented_default(bin, tmp_path):
    """Every setting with its default and what it does; fed back, it changes nothing."""
    code, said, complained = run(bin, "config")
    assert code == 0, complained
    tomllib.loads(said)
    assert len(re.findall(r"(?m)^# ", said)) >= 40
    said = re.sub(r"(?m)^# (\w+ = )", r"\1", said)
    settings = tomllib.loads(said)
    assert settings["limits"]["k_max"] == 100 and settings["listen"] == "127.0.0.1:7600"
    (tmp_path / "tabellion.toml").write_text(said)
    with Server(bin, tmp_path / "data", args=["--config", tmp_path / "tabellion.toml"]) as server:
        assert admin(server).ask("GET", "/v1/whoami")["role"] == "admin"


@pytest.mark.parametrize(
    "content",
    ["limits = 7", "[limits]\nk_max = 'many'", "[limits]\nk_maxx = 7", "[limits]\nk_max = 0", "listen = 'nowhere'", "not toml ["],
)
def test_a_wrong_configuration_is_refused(bin, tmp_path, content):
    """The message names the setting."""
    (tmp_path / "tabellion.toml").write_text(content)
    code, _, complained = run(bin, "serve", "--config", tmp_path / "tabellion.toml", "--data", tmp_path / "data")
    assert code != 0 and "panicked" not in complained, complained
    assert re.search(r"limits|k_max|listen|TOML|toml", complained), complained


def test_settings_come_from_file_environment_and_flags(bin, tmp_path):
    """The later wins: file, then environment, then flag."""
    (tmp_path / "tabellion.toml").write_text(
        f"listen = '127.0.0.1:1'\ndata = '{tmp_path}/elsewhere'\n[limits]\nk_max = 7\npage_max = 9\n"
    )
    env = {"TABELLION_LIMITS__K_MAX": "5"}
    with Server(bin, tmp_path / "data", env=env, args=["--config", tmp_path / "tabellion.toml"]) as server:
        chief = admin(server)
        assert chief.call("POST", "/v1/search", {"query": "a", "k": 5})[0] == 200
        assert chief.call("POST", "/v1/search", {"query": "a", "k": 6})[0] == 422
        assert chief.call("GET", "/v1/items?limit=9")[0] == 200
        assert chief.call("GET", "/v1/items?limit=10")[0] == 422
    assert not (tmp_path / "elsewhere").exists()


# Limits


def flood(server, key, requests, method="POST", path="/v1/items"):
    """Sends so many requests over a few connections at once; returns (status, answer, headers) of each."""
    answers, lock = [], threading.Lock()

    def send(numbers):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        for number in numbers:
            body = {"text": f"drop {number} of the flood"}
            try:
                answer = exchange(connection, method, path, body, key)
            except OSError:
                # A server that sheds may hang up; what was sent is a replay if it arrived.
                connection.close()
                answer = exchange(connection, method, path, body, key)
            with lock:
                answers.append(answer)
        connection.close()

    threads = [threading.Thread(target=send, args=[range(start, requests, 16)]) for start in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def check_shed(answers, status, code):
    """Some were served, some shed with the reason and when to come back; nothing else happened."""
    statuses = {answer[0] for answer in answers}
    assert statuses == {201, status}, statuses
    for got, answer, headers in answers:
        if got == status:
            assert answer["code"] == code and int(headers["retry-after"]) >= 1, (answer, headers)


def test_one_key_is_held_to_its_rate(bin, tmp_path):
    """429 with Retry-After beyond the rate, for that key alone; after the wait it is served again."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LIMITS__REQUESTS_PER_SECOND_MAX": "20"}) as server:
        ana, ben = new_caller(server), new_caller(server)
        answers = flood(server, ana.key, 200)
        check_shed(answers, 429, "RATE_LIMITED")
        ben.write("not held up by the other")
        time.sleep(1.1)
        written = [ana.write("served again")["id"]] + [answer["id"] for status, answer, _ in answers if status == 201]
        time.sleep(1.1)
        assert {item["id"] for item in ana.ask("GET", "/v1/items?limit=500")["items"]} == set(written)
        assert server.call("GET", "/healthz", key="")[0] == 200


def test_a_full_queue_sheds_load(bin, tmp_path):
    """503 with Retry-After when too many writes wait; what was acknowledged is there, what was shed is not."""
    env = {"TABELLION_LIMITS__QUEUE_MAX": "1", "TABELLION_LIMITS__COMMIT_ENTRIES_MAX": "1"}
    with Server(bin, tmp_path / "data", env=env) as server:
        ana = new_caller(server)
        size = log_size(server)
        answers = flood(server, ana.key, 400)
        check_shed(answers, 503, "OVERLOADED")
        committed = [answer["id"] for status, answer, _ in answers if status == 201]
        assert log_size(server) == size + len(committed)
        assert server.call("GET", "/readyz", key="")[0] == 200
        ana.write("served again")


def test_too_many_requests_at_once_shed_load(bin, tmp_path):
    """503 with Retry-After when too many requests are under way; probes are answered meanwhile."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LIMITS__IN_FLIGHT_MAX": "2"}) as server:
        ana = new_caller(server)
        head = f"POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ana.key}\r\nContent-Length: 14\r\n\r\n"
        waiting = []
        while (answer := ana.call("GET", "/v1/whoami"))[0] == 200 and len(waiting) < 10:
            waiting.append(socket.create_connection(("127.0.0.1", server.port), timeout=20))
            waiting[-1].sendall(head.encode() + b'{"text"')
            time.sleep(0.1)
        status, refusal, headers = answer
        assert status == 503 and refusal["code"] == "OVERLOADED" and int(headers["retry-after"]) >= 1, answer
        for path in "/healthz", "/readyz", "/metrics":
            assert server.call("GET", path, key="")[0] == 200
        for number, connection in enumerate(waiting[-2:]):
            connection.sendall(f': "w{number}"}}'.encode())
            assert b" 201 " in connection.recv(4096).split(b"\r\n")[0]
        for connection in waiting:
            connection.close()
        ana.ask("GET", "/v1/whoami")


def test_a_slow_client_is_let_go(bin, tmp_path):
    """A connection that never finishes its headers is closed; others are served."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LIMITS__HEADER_SECONDS_MAX": "1"}) as server:
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=10) as silent,
            socket.create_connection(("127.0.0.1", server.port), timeout=10) as slow,
        ):
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
            admin(server).ask("GET", "/v1/whoami")
            for connection in silent, slow:
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass


# Stopping


def test_a_stop_loses_nothing_and_leaves_cleanly(bin, tmp_path):
    """GOV-5.1: after SIGTERM under load every acknowledged write is there, none is there twice, and the exit code is 0."""
    with Server(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        acknowledged, unanswered, lock = {}, [], threading.Lock()

        def write(writer):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
            for number in range(100_000):
                text = f"writer {writer} number {number}"
                try:
                    status, answer, _ = exchange(connection, "POST", "/v1/items", {"text": text}, ana.key)
                except (OSError, http.client.HTTPException):
                    unanswered.append(text)
                    return
                if status != 201:
                    assert status == 503, answer
                    return
                with lock:
                    acknowledged[answer["id"]] = text

        writers = [threading.Thread(target=write, args=[number]) for number in range(8)]
        for writer in writers:
            writer.start()
        time.sleep(0.5)
        assert server.stop() == 0
        for writer in writers:
            writer.join()
        assert len(acknowledged) > 8
        server.start()
        stored, cursor = {}, ""
        while cursor is not None:
            page = ana.ask("GET", "/v1/items?limit=500" + (f"&cursor={cursor}" if cursor else ""))
            stored |= {item["id"]: item["text"] for item in page["items"]}
            cursor = page["next"]
        assert {id: stored.get(id) for id in acknowledged} == acknowledged
        assert set(stored.values()) - set(acknowledged.values()) <= set(unanswered)
        assert len(set(stored.values())) == len(stored)


def test_a_request_under_way_is_finished_before_the_end(bin, tmp_path):
    """A write whose body is still coming when SIGTERM arrives is taken, committed and answered."""
    with Server(bin, tmp_path / "data") as server:
        ana = new_caller(server)
        body = b'{"text": "sent while the server was stopping"}'
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
            head = f"POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ana.key}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body[:10])
            time.sleep(0.3)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert server.process.poll() is None
            connection.sendall(body[10:])
            answer = connection.recv(65536)
        assert b" 201 " in answer.split(b"\r\n")[0], answer
        assert server.process.wait(30) == 0
        server.start()
        assert len(ana.found("stopping")) == 1


def test_idle_connections_do_not_hold_up_the_end(bin, tmp_path):
    """A stop takes as long as the requests under way, not as long as someone stays connected."""
    with Server(bin, tmp_path / "data") as server:
        connections = [http.client.HTTPConnection("127.0.0.1", server.port, timeout=30) for _ in range(5)]
        for connection in connections:
            assert exchange(connection, "GET", "/v1/whoami", key=server.key)[0] == 200
        started = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - started < 5


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A folder with an authority of its own, a certificate for 127.0.0.1 and its key, as PEM files."""
    directory = tmp_path_factory.mktemp("tls")
    authority, authority_key = signed("tabellion test authority")
    made, key = signed("tabellion test", authority, authority_key)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (directory / "ca.pem").write_bytes(authority.public_bytes(pem))
    (directory / "cert.pem").write_bytes(made.public_bytes(pem))
    (directory / "key.pem").write_bytes(private)
    return directory


def signed(name, issuer=None, issuer_key=None):
    """A certificate for 127.0.0.1 and its key; without an issuer one that may sign others."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=30))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
    )
    return builder.sign(issuer_key or key, hashes.SHA256()), key


class TlsServer(Server):
    """A server that is spoken to over TLS, trusting its certificate alone."""

    def __init__(self, bin, data_dir, certificate):
        env = {"TABELLION_TLS__CERT": str(certificate / "cert.pem"), "TABELLION_TLS__KEY": str(certificate / "key.pem")}
        super().__init__(bin, data_dir, env=env)
        self.context = ssl.create_default_context(cafile=certificate / "ca.pem")

    def call(self, method, path, body=None, key=None, raw=None, headers=None, timeout=60):
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.context)
        try:
            return exchange(connection, method, path, body, self.key if key is None else key, raw, headers)
        finally:
            connection.close()


def test_tls_works(bin, tmp_path, certificate):
    """With a certificate the server speaks TLS 1.2 or newer and nothing else; the command line trusts it when told."""
    with TlsServer(bin, tmp_path / "data", certificate) as server:
        ana = new_caller(server)
        assert ana.get(ana.write("over TLS")["id"])["text"] == "over TLS"
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b"200 OK" not in plain.recv(4096)
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
            with server.context.wrap_socket(raw, server_hostname="127.0.0.1") as wrapped:
                assert wrapped.version() in ("TLSv1.2", "TLSv1.3")
        env = {"TABELLION_KEY": ana.key, "TABELLION_URL": f"https://127.0.0.1:{server.port}"}
        code, said, complained = run(bin, "whoami", "--json", env={**env, "TABELLION_CA_CERT": str(certificate / "ca.pem")})
        assert code == 0 and json.loads(said)["user"]["id"] == ana.user, complained
        code, _, complained = run(bin, "whoami", "--json", env=env)
        assert code == 1 and complained.strip(), "a certificate that nobody vouched for is not trusted"


def test_wrong_tls_files_are_named(bin, tmp_path, certificate):
    """The message names the file or the setting."""
    listen, data = f"127.0.0.1:{free_port()}", tmp_path / "data"
    for env in (
        {"TABELLION_TLS__CERT": str(certificate / "cert.pem")},
        {"TABELLION_TLS__CERT": "/nowhere.pem", "TABELLION_TLS__KEY": str(certificate / "key.pem")},
        {"TABELLION_TLS__CERT": str(certificate / "key.pem"), "TABELLION_TLS__KEY": str(certificate / "cert.pem")},
    ):
        code, _, complained = run(bin, "serve", "--data", data, "--listen", listen, env=env)
        assert code == 1 and re.search(r"tls|TLS|pem", complained) and "panicked" not in complained, complained


# Logs


def test_logs_are_json_and_hold_no_content(bin, tmp_path):
    """Every line of stderr parses; requests are there with route, status and number, without text, names, queries or keys."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LOG__LEVEL": "trace"}) as server:
        ana = new_caller(server, "Namequux")
        written = ana.write("Textquux", key="Keyquux", tags=["Tagquux"])
        ana.search("Textquux Queryquux")
        ana.call("GET", f"/v1/items/{written['id']}?as_of=Tokenquux")
        ana.call("POST", "/v1/items", {"text": "Badquux", "confidence": 7})
        ana.call("POST", "/v1/items", raw='{"text": "Cutquux')
        server.call("GET", "/v1/whoami", key="tab_wrongquux")
        Caller(server, ana.key).call("DELETE", f"/v1/items/{written['id']}?reason=Reasonquux")
        assert server.stop() == 0
        lines = server.log.splitlines()
        records = [json.loads(line) for line in lines if line.strip()]
        assert any(record.get("status") == 201 and "route" in record and record.get("request_id") for record in records)
        text = server.log.lower()
        assert "quux" not in text and ana.key not in text and ADMIN_KEY not in text


def test_plain_logs_are_for_people(bin, tmp_path):
    """The other format is one setting away, and as silent about content."""
    with Server(bin, tmp_path / "data", env={"TABELLION_LOG__FORMAT": "text"}) as server:
        new_caller(server).write("Textquux")
        assert server.stop() == 0
        assert server.log.strip() and "Textquux" not in server.log and not server.log.lstrip().startswith("{")


def test_the_client_names_what_is_wrong(bin, shared_server):
    """Exit code 1 and a next step, for a person; the refusal itself, for a program."""
    env = {"TABELLION_URL": shared_server.url, "TABELLION_KEY": "tab_wrong"}
    code, said, complained = run(bin, "whoami", env=env)
    assert code == 1 and "UNAUTHENTICATED" in complained and not said
    code, said, _ = run(bin, "whoami", "--json", env=env)
    assert code == 1 and json.loads(said)["code"] == "UNAUTHENTICATED"
    code, _, complained = run(bin, "whoami", env={**env, "TABELLION_URL": f"http://127.0.0.1:{free_port()}"})
    assert code == 1 and "tabellion serve" in complained
    assert run(bin, "no-such-command")[0] == 2

#!/usr/bin/env python3
"""Tabellion beside other memories on one machine, in one run: durable single writes, and searches within one user.

  PYTHON bench_peers.py --peers PEERS.py --bin TABELLION [--n 10000] [--writes 300] [--queries 200] [--seconds 5] [--json]

PEERS.py measures the others: it prints one JSON line a system, and has the workload (`load`, `queries`). PYTHON has them
and numpy installed.

The texts of the workload are near-copies of one another (`fact 12 about topic 3 of user 5`), which a memory with gates takes
for repetitions and corrections. Tabellion is given as many distinct texts of the same length in their place, one for each
vector; who owns which, and every vector, stay as they are.

Tabellion's writes are measured by its own benchmark, over REST, by 64 writers (and by one). Its searches run on the
workload of the others, in a server whose embedding endpoint is a process of this script that knows the vector of each
text: both store the same vectors. Each user of the workload is a user here, with an agent and a key. A search is one
request after the other over a connection that stays open; its time is taken as the others' is, around the whole call: from
the vector as numpy has it to the parsed answer, making the JSON of the request included. `search_wire_p50_ms` is the same
without making that JSON.
"""
import argparse
import contextlib
import http.server
import importlib.util
import json
import multiprocessing
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

# What is wanted of Tabellion against each: writes at least so many times as fast, searches in at most this share.
WANTED = {"chroma": {"writes": 50.0, "search": 0.2}, "mem0": {"writes": 20.0, "search": 0.05}}
ADMIN_KEY = "tab_of_a_benchmark_on_loopback_0123456789abcdef0123456789abcdef"
HITS = 10
SYLLABLES = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
# No rate limits a benchmark: one for each layer.
NO_RATE = "[1000000000,1000000000,1000000000,1000000000,1000000000]"
READY_SECONDS_MAX = 60
VECTORS_SECONDS_MAX = 600


def workload(script):
    """The others' script as a module: its `load` and `queries`."""
    spec = importlib.util.spec_from_file_location("peers", script)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def peers(script, given):
    """The others' rows, as their script prints them."""
    command = [sys.executable, script, "--n", str(given.n), "--writes", str(given.writes)]
    command += ["--queries", str(given.queries), "--only", ",".join(WANTED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        sys.exit(f"{script} printed nothing:\n{done.stderr[-2000:]}")
    return rows


def writes(binary, seconds):
    """Tabellion's durable writes a second over REST, by number of writers."""
    command = [binary, "bench", "write", "--writers", "1,64", "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {row["writers"]: row["rest"]["per_second"] for row in json.loads(done.stdout)["rows"]}


class Http:
    """One connection that stays open, and as little else as can be: the client is not what is measured."""

    def __init__(self, port, key):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n".encode()

    def post(self, path, body, method=b"POST "):
        """The status and the whole body of the answer."""
        length = b"Content-Length: %d\r\n\r\n" % len(body)
        self.socket.sendall(method + path + b" HTTP/1.1\r\n" + self.head + length + body)
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self._more()
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        status = int(head[9:12])
        if b"content-length" not in lines:
            while not body.endswith(b"0\r\n\r\n"):
                body += self._more()
            return status, body
        while len(body) < int(lines[b"content-length"]):
            body += self._more()
        return status, body

    def _more(self):
        part = self.socket.recv(1 << 18)
        if not part:
            raise ConnectionError("the server closed the connection")
        return part

    def made(self, path, body):
        """Posts JSON that must be taken, and tells the answer."""
        status, answer = self.post(path, json.dumps(body).encode())
        if status not in (200, 201):
            sys.exit(f"{path.decode()} answered {status}: {answer[:500]!r}")
        return json.loads(answer)


def distinct(texts):
    """For each text another of about its length, in words that no other of them has in this order."""
    chance, taken, made = random.Random(7), set(), []
    for text in texts:
        words = []
        while sum(map(len, words)) + len(words) < len(text) or " ".join(words) in taken:
            words.append("".join(chance.choices(SYLLABLES, k=3)))
        taken.add(" ".join(words))
        made.append(" ".join(words))
    return made


def answer_embeddings(listening, vectors):
    """Serves OpenAI's form of embeddings: the JSON of each text's vector is known beforehand."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            data = [f'{{"index":{at},"embedding":{vectors[text]}}}' for at, text in enumerate(asked["input"])]
            body = f'{{"data":[{",".join(data)}]}}'.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening
    server.serve_forever()


@contextlib.contextmanager
def embeddings(texts, vectors):
    """An embedding endpoint in a process of its own; the port that it listens on."""
    known = {text: json.dumps(vector.tolist()) for text, vector in zip(texts, vectors)}
    listening = socket.create_server(("127.0.0.1", 0))
    process = multiprocessing.get_context("fork").Process(
        target=answer_embeddings, args=(listening, known), daemon=True
    )
    process.start()
    try:
        yield listening.getsockname()[1]
    finally:
        process.terminate()
        process.join()


@contextlib.contextmanager
def serving(binary, data, embeddings_port, dimensions):
    """A server whose vectors come from that endpoint; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    setting = {
        "TABELLION_ADMIN_KEY": ADMIN_KEY,
        "TABELLION_LOG__LEVEL": "error",
        "TABELLION_GOVERNANCE__WRITES_PER_MINUTE": NO_RATE,
        "TABELLION_EMBEDDING__PROVIDER": "http",
        "TABELLION_EMBEDDING__URL": f"http://127.0.0.1:{embeddings_port}/v1",
        "TABELLION_EMBEDDING__MODEL": "known",
        "TABELLION_EMBEDDING__DIMENSIONS": str(dimensions),
    }
    command = [binary, "serve", "--data", data, "--listen", f"127.0.0.1:{port}"]
    process = subprocess.Popen(command, env={**os.environ, **setting}, stdout=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + READY_SECONDS_MAX
        while True:
            with contextlib.suppress(OSError):
                if Http(port, "").post(b"/readyz", b"", b"GET ")[0] == 200:
                    break
            if process.poll() is not None or time.monotonic() > deadline:
                sys.exit("the server did not start")
            time.sleep(0.01)
        yield port
    finally:
        process.kill()
        process.wait()


def bulk(connections, texts, users):
    """Writes every text as its user, a batch a user; the last answer's token, and the user that it is for."""
    lines = {user: [] for user in connections}
    for text, user in zip(texts, users):
        lines[user].append(json.dumps({"text": text}))
    for user, batch in lines.items():
        status, answer = connections[user].post(b"/v1/items:batch", "\n".join(batch).encode())
        if status != 200 or answer.count(b'"status":"committed"') != len(batch):
            sys.exit(f"a batch answered {status}: {answer[:500]!r}")
        token = answer.rsplit(b'"token":"', 1)[1].split(b'"', 1)[0].decode()
    return token, user


def until_vectors(connection, token, vector):
    """Waits until every text up to this token has its vector: a dense search that demands it is refused before."""
    body = json.dumps({"vector": vector.tolist(), "k": 1, "mode": "dense", "min_token": token}).encode()
    deadline = time.monotonic() + VECTORS_SECONDS_MAX
    while connection.post(b"/v1/search", body)[0] != 200:
        if time.monotonic() > deadline:
            sys.exit("the vectors were not made in time")


def searches(connections, vectors, users):
    """Each search's seconds as a caller sees them, those without making the request, and what was found."""
    whole, wire, found = [], [], []
    for vector, user in zip(vectors, users):
        connection = connections[user]
        began = time.perf_counter()
        body = json.dumps({"vector": vector.tolist(), "k": HITS}).encode()
        sent = time.perf_counter()
        status, answer = connection.post(b"/v1/search", body)
        results = json.loads(answer)
        ended = time.perf_counter()
        if status != 200:
            sys.exit(f"a search answered {status}: {answer[:500]!r}")
        whole.append(ended - began)
        wire.append(ended - sent)
        found.append([result["item"]["text"] if "item" in result else result["text"] for result in results["results"]])
    return whole, wire, found


def recall(np, found, asked, texts, vectors, users):
    """The share of the nearest that were found, by measuring every vector of the user."""
    vectors_of = {}
    for at, user in enumerate(users):
        vectors_of.setdefault(user, []).append(at)
    hit = due = 0
    for (vector, user), answer in zip(asked, found):
        mine = vectors_of[user]
        nearest = np.argsort(-(vectors[mine] @ vector))[:HITS]
        hit += len({texts[mine[at]] for at in nearest} & set(answer))
        due += len(nearest)
    return hit / due


def own(module, given):
    """Tabellion's row, in the form of the others."""
    np = module.np
    texts, vectors, users = module.load(given.n + given.writes)
    texts, vectors, users = distinct(texts[: given.n]), vectors[: given.n], users[: given.n]
    asked, asking = module.queries(vectors, users, given.queries)
    speeds = writes(given.bin, given.seconds)
    with (
        tempfile.TemporaryDirectory() as data,
        embeddings(texts, vectors) as endpoint,
        serving(given.bin, data, endpoint, module.DIM) as port,
    ):
        admin = Http(port, ADMIN_KEY)
        keys = {}
        for user in sorted(set(users)):
            admin.made(b"/v1/users", {"name": user})
            admin.made(b"/v1/agents", {"name": f"agent-of-{user}"})
            keys[user] = admin.made(b"/v1/keys", {"user": user, "agent": f"agent-of-{user}"})["key"]
        connections = {user: Http(port, key) for user, key in keys.items()}
        began = time.perf_counter()
        token, user = bulk(connections, texts, users)
        acknowledged = time.perf_counter() - began
        until_vectors(connections[user], token, vectors[0])
        searchable = time.perf_counter() - began
        # A connection that stayed silent for long may be closed by now.
        connections = {user: Http(port, key) for user, key in keys.items()}
        whole, wire, found = searches(connections, asked, asking)
    at = lambda seconds, share: round(float(np.percentile(np.array(seconds) * 1e3, share)), 3)
    return {
        "system": "tabellion", "n": given.n, "bulk_items_s": round(given.n / searchable, 1),
        "bulk_acknowledged_items_s": round(given.n / acknowledged, 1),
        "durable_writes_s": round(speeds[64], 1), "durable_writes_one_writer_s": round(speeds[1], 1),
        "search_p50_ms": at(whole, 50), "search_p95_ms": at(whole, 95),
        "search_wire_p50_ms": at(wire, 50), "search_wire_p95_ms": at(wire, 95),
        "hits": sum(map(len, found)) / len(found),
        "recall": round(recall(np, found, list(zip(asked, asking)), texts, vectors, users), 4),
    }


def compared(mine, other):
    """What Tabellion reaches against another, and whether that is what is wanted."""
    wanted = WANTED[other["system"]]
    faster = mine["durable_writes_s"] / other["durable_writes_s"]
    share = mine["search_p50_ms"] / other["search_p50_ms"]
    return {
        "against": other["system"],
        "writes_times": round(faster, 1), "writes_times_min": wanted["writes"],
        "search_p50_share": round(share, 4), "search_p50_share_max": wanted["search"],
        "met": faster >= wanted["writes"] and share <= wanted["search"],
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peers", required=True, type=pathlib.Path)
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--n", type=int, default=10_000)
    arguments.add_argument("--writes", type=int, default=300)
    arguments.add_argument("--queries", type=int, default=200)
    arguments.add_argument("--seconds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    if not given.peers.exists():
        print(f"{given.peers} is not there: no other memory was measured", file=sys.stderr)
        return 0
    mine = own(workload(given.peers), given)
    if not given.json:
        print(json.dumps(mine), flush=True)
    others = peers(given.peers, given)
    ratios = [compared(mine, other) for other in others if other.get("search_p50_ms")]
    if given.json:
        print(json.dumps({"rows": [mine, *others], "compared": ratios}, indent=2))
    else:
        for row in others:
            print(json.dumps(row))
        for ratio in ratios:
            print(
                f"against {ratio['against']}: writes {ratio['writes_times']}x (at least {ratio['writes_times_min']:g}x), "
                f"search p50 {ratio['search_p50_share']}x (at most {ratio['search_p50_share_max']}x): "
                + ("met" if ratio["met"] else "MISSED")
            )
    fell_short = mine["hits"] != HITS or len(ratios) < len(WANTED) or not all(ratio["met"] for ratio in ratios)
    return 1 if fell_short else 0


if __name__ == "__main__":
    sys.exit(main())

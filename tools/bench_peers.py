#!/usr/bin/env python3
"""Tabellion beside other memories on one machine, in one run: durable single writes per second.

  bench_peers.py --peers PEERS.py --python PYTHON --bin TABELLION [--writes 300] [--seconds 5] [--json]

PEERS.py measures the others: it prints one JSON line a system with `system` and `durable_writes_s`. PYTHON is an
interpreter that has them installed. Tabellion is measured by its own benchmark, over REST, by one writer and by 64.
"""
import argparse
import json
import pathlib
import subprocess
import sys

WANTED = {"chroma": 50.0, "mem0": 20.0}


def peers(script, python, writes):
    """The others' rows, as their script prints them."""
    command = [python, script, "--n", "1000", "--writes", str(writes), "--queries", "20", "--only", ",".join(WANTED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if not rows:
        sys.exit(f"{script} printed nothing:\n{done.stderr[-2000:]}")
    return rows


def own(binary, seconds):
    """Tabellion's rows, by number of writers."""
    command = [binary, "bench", "write", "--writers", "1,64", "--seconds", str(seconds), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {row["writers"]: row for row in json.loads(done.stdout)["rows"]}


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--peers", required=True, type=pathlib.Path)
    arguments.add_argument("--python", required=True)
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("--writes", type=int, default=300)
    arguments.add_argument("--seconds", type=int, default=5)
    arguments.add_argument("--json", action="store_true")
    given = arguments.parse_args()
    if not given.peers.exists():
        print(f"{given.peers} is not there: no other memory was measured", file=sys.stderr)
        return 0
    others = peers(given.peers, given.python, given.writes)
    mine = own(given.bin, given.seconds)
    rest = mine[64]["rest"]["per_second"]
    rows = [{"system": "tabellion, REST, 64 writers", "durable_writes_s": rest},
            {"system": "tabellion, REST, 1 writer", "durable_writes_s": mine[1]["rest"]["per_second"]}]
    fell_short = False
    for row in others:
        name, speed = row["system"], row.get("durable_writes_s")
        entry = {"system": name, "durable_writes_s": speed, "error": row.get("error")}
        if speed:
            entry["ratio"] = rest / speed
            fell_short |= rest / speed < WANTED.get(name, 0)
        rows.append(entry)
    if given.json:
        print(json.dumps({"rows": rows}, indent=2))
    else:
        for row in rows:
            speed = row["durable_writes_s"]
            shown = f"{speed:>10,.0f}/s" if speed else f"  failed: {row['error']}"
            ratio = f"   tabellion is {row['ratio']:,.0f}x" if row.get("ratio") else ""
            print(f"{row['system']:<30}{shown}{ratio}")
    return 1 if fell_short else 0


if __name__ == "__main__":
    sys.exit(main())

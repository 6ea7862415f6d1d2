#!/usr/bin/env python3
"""Trains the trees that weigh the signals of a contradiction, and says how well they do on hands that they have not seen.

    cargo build --release -p tabellion-core --test claim_corpus
    python tools/train_contradictions.py [--conversations DIR] [--write]

It reads the pairs in crates/core/tests/claims, has the test binary print their signals, and trains once for each hand without
it: the figures are of pairs by people whose pairs were not trained on. With --write it then trains on all of them and writes
crates/core/src/claim/gist/likelihood.txt. The pairs in
`blind` and those of `formulaic_held.tsv` are never read here.

Statements about other things come from the pairs of each hand, and with --conversations from true facts of real conversations
(LoCoMo, as in `tabellion eval locomo`): the first three of them, so that the others stay unseen.

Needs numpy and scikit-learn. The same pairs give the same file.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier

ROOT = Path(__file__).resolve().parents[1]
PAIRS = ROOT / "crates/core/tests/claims"
TREES = ROOT / "crates/core/src/claim/gist/likelihood.txt"
# Pairs that were looked at while the rules were written say less about the rules than the others do. Those that are mixed as in a
# memory count more than those of people who were asked for near misses.
WEIGHTS = {"formulaic_tuned": 0.5} | dict.fromkeys(("a", "b", "c", "d", "own", "weeks"), 0.6)
MIXED = "mixed_"
WEIGHT_MIXED = 1.5
WEIGHT_ACROSS, ACROSS_STEP = 0.04, 3
CONVERSATIONS_MAX = 3
# The trees decide alone nothing: a rule, or one of these, has to find something.
GROUNDS = (
    "rule", "replaces new", "facet differs", "opposites", "amounts differ", "times differ", "ended by new", "denied by new",
    "denied by known",
)  # fmt: skip
# The least log odds that count: about three of a thousand pairs that both hold are flagged on mixed hands that were not trained on.
LEAST = 1.5
# Where a rule finds something in sentences of one mould, less is enough: topics nearer than this, and these log odds.
ALIKE, LEAST_ALIKE = 0.7, 0.4
SHAPE = {"n_estimators": 300, "max_depth": 5, "learning_rate": 0.04, "min_samples_leaf": 12}
SAMPLING = {"subsample": 0.5, "max_features": 0.15, "random_state": 0}
FOUND = 99.0


class Hand:
    """The pairs of one person: whether each contradicts, and the signals of what is compared in it."""

    def __init__(self, table, binary):
        self.name = table.stem
        self.contradicts, self.found, self.signals, self.across, self.names = [], [], [], [], []
        command = [binary, "signals_of_a_table", "--nocapture"]
        env = {**os.environ, "TABELLION_SIGNALS": str(table)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        for line in done.stdout.splitlines():
            kind, *cells = line.split("\t")
            if kind == "PAIR":
                self.contradicts.append(cells[1] == "1")
                self.found.append(cells[2] == "1")
                self.signals.append([])
            elif kind == "SIGNALS":
                named = [cell.rsplit("=", 1) for cell in cells[1:]]
                self.names = [name for name, _ in named]
                self.signals[-1].append([float(value) for _, value in named])
            elif kind == "ACROSS":
                self.across.append([float(cell.rsplit("=", 1)[1]) for cell in cells[1:]])

    def rows(self):
        """Signals, label and weight of everything that is compared."""
        weight = WEIGHT_MIXED if self.name.startswith(MIXED) else WEIGHTS.get(self.name, 1.0)
        for contradicts, rows in zip(self.contradicts, self.signals):
            for row in rows:
                yield row, contradicts, weight / len(rows)
        # Statements of two pairs nearly always have nothing to do with each other; one in some stands for the rest.
        for row in self.across[::ACROSS_STEP]:
            yield row, False, WEIGHT_ACROSS * ACROSS_STEP

    def scores(self, model):
        """Of each pair its score, and whether it is a contradiction."""
        for contradicts, found, rows in zip(self.contradicts, self.found, self.signals):
            odds = model.decision_function(np.array(rows)) if rows else []
            rule, similarity = self.names.index("rule"), self.names.index("similarity")
            grounds = [self.names.index(name) for name in GROUNDS]
            of_one_mould = any(
                row[rule] and row[similarity] > ALIKE and one >= LEAST_ALIKE for row, one in zip(rows, odds)
            )
            grounded = [one for row, one in zip(rows, odds) if any(row[ground] for ground in grounds)]
            yield FOUND if found or of_one_mould else max(grounded, default=-FOUND), contradicts


def find_binary():
    built = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release/deps"
    found = [path for path in built.glob("claim_corpus-*") if not path.suffix]
    if not found:
        sys.exit("build the test first: cargo build --release -p tabellion-core --test claim_corpus")
    return max(found, key=lambda path: path.stat().st_mtime)


def hands(binary):
    tables = [PAIRS / "formulaic_tuned.tsv", *sorted((PAIRS / "hands").glob("*.tsv"))]
    return [Hand(table, binary) for table in tables]


def background(folder, binary):
    """True facts of conversations, each compared with the others."""
    for path in sorted(folder.glob("*.json"))[:CONVERSATIONS_MAX]:
        facts = [" ".join(one["fact"].split()) for one in json.loads(path.read_text())["observations"]]
        with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as table:
            table.write("label\tclass\tknown_at\tnew_at\tknown\tnew\n")
            for number, fact in enumerate(facts):
                at = f"2050-01-01T{number // 60:02}:{number % 60:02}:00Z"
                table.write(f"none\tfact\t{at}\t{at}\t{fact}\t{fact}\n")
            table.flush()
            hand = Hand(Path(table.name), binary)
        hand.signals = [[] for _ in facts]
        yield hand


def train(some):
    rows, labels, weights = zip(*(row for hand in some for row in hand.rows()))
    model = GradientBoostingClassifier(**SHAPE, **SAMPLING)
    return model.fit(np.array(rows), np.array(labels), sample_weight=np.array(weights))


def least_of(scores, share):
    """The score above which that share of the pairs that both hold lies."""
    fine = sorted((score for score, contradicts in scores if not contradicts), reverse=True)
    return fine[int(share * len(fine))]


def share_above(scores, least, contradicts):
    chosen = [score for score, label in scores if label == contradicts]
    return sum(score > least for score in chosen) / max(1, len(chosen))


def steps(tree, at=0):
    """A tree as its steps: a split, all of its left side, all of its right side."""
    if tree.children_left[at] < 0:
        return [f"={SHAPE['learning_rate'] * tree.value[at][0][0]:.4g}"]
    split = f"{tree.feature[at]}<={tree.threshold[at]:.4g}"
    return [split, *steps(tree, tree.children_left[at]), *steps(tree, tree.children_right[at])]


def written(model, names):
    bias = float(model._raw_predict_init(np.zeros((1, len(names)))).item())
    lines = ["# Made by tools/train_contradictions.py; see likelihood.rs."]
    lines += ["signals\t" + "\t".join(names), f"bias\t{bias:.5f}", f"least\t{LEAST}"]
    lines += [f"least alike\t{LEAST_ALIKE}", f"alike\t{ALIKE}"]
    lines += ["tree\t" + " ".join(steps(one[0].tree_)) for one in model.estimators_]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="train on all pairs and write the trees")
    parser.add_argument("--conversations", type=Path, help="a folder of conversations whose facts are true")
    args = parser.parse_args()
    binary = find_binary()
    every = hands(binary)
    if args.conversations:
        every += background(args.conversations, binary)
    unseen = []
    for hand in every:
        if hand.name.startswith(MIXED):
            model = train([other for other in every if other is not hand])
            unseen.append((hand.name, list(hand.scores(model))))
    together = [score for _, scores in unseen for score in scores]
    print("on mixed hands that were not trained on:")
    for share in (0.002, 0.005, 0.01, 0.02, 0.04):
        least = least_of(together, share)
        print(f"  {share:.1%} of the others flagged: {share_above(together, least, True):.1%} found (log odds {least:.2f})")
    print(f"at log odds of {LEAST}:")
    for name, scores in [*unseen, ("together", together)]:
        found, flagged = share_above(scores, LEAST, True), share_above(scores, LEAST, False)
        print(f"  {name}: {found:.0%} found, {flagged:.1%} flagged")
    if args.write:
        model = train(every)
        TREES.write_text(written(model, every[0].names))
        print(f"wrote {TREES.relative_to(ROOT)}: {SHAPE['n_estimators']} trees, {TREES.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()

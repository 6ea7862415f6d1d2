"""Every command that a document or a help text shows is understood by the program, and those of the README work."""

import itertools
import os
import re
import shlex
import subprocess

import pytest

from server import ADMIN_KEY, ROOT, Server, free_port

DOCUMENTS = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md")),
             *sorted((ROOT / "examples").glob("**/*.md"))]  # fmt: skip
# A command that goes on for so long has understood what it was asked for.
UNDERSTOOD_AFTER_SECONDS = 2
# Stands for what a document leaves out.
PLACEHOLDER = "xyzzy"
# What the program says of a command line that ends too early: a name of a command in running text is no whole command.
TOO_SHORT = ("required arguments were not provided", "requires a subcommand", "Usage: tabellion")


def fenced(text):
    """The lines inside of code fences, those that go on joined."""
    inside = False
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif inside:
            yield line


def command_of(line):
    """The words of a command line behind `tabellion`, without prompt, environment, comment and what it is piped to; or none."""
    line = re.sub(r"^\s*(\$ )?((TABELLION|PATH)\w*=\S+ )*((target/release/|\./)?tabellion )", "tabellion ", line)
    if not re.match("tabellion [a-z-]", line):
        return None
    line = re.sub(r'"?\$\([^)]*\)"?', PLACEHOLDER, line)
    # An explanation stands behind three blanks; a comment behind #.
    line = re.split(r"\s{3,}|\s#\s", line)[0]
    line = line.replace("…", PLACEHOLDER)
    try:
        words = [word.rstrip(";") for word in shlex.split(line)]
    except ValueError as error:
        raise ValueError(f"{error}: {line}") from None
    return list(itertools.takewhile(lambda word: word not in ("|", "<", ">", "&&", ";", "2>"), words))[1:]


def commands():
    """Each command of each document: where it stands, its words, and whether it is whole."""
    for document in DOCUMENTS:
        text = document.read_text()
        name = str(document.relative_to(ROOT))
        for line in fenced(text):
            for part in line.split("; tabellion "):
                part = part if part.lstrip().startswith(("tabellion", "$", "target", "TABELLION")) else f"tabellion {part}" if part is not line else part
                words = command_of(part)
                if words:
                    yield name, words, True
        prose = re.sub(r"```.*?```", "", text, flags=re.S)
        for span in re.findall(r"`(tabellion [^`]+)`", prose):
            words = command_of(" ".join(span.split()))
            if words:
                yield name, words, False


def unwrapped(text):
    """The lines of a help; those that are too long for it go on in the next, further in or within a quotation."""
    whole = []
    for line in text.splitlines():
        is_open = whole and (whole[-1].count('"') % 2 == 1 or re.search(r" --[a-z-]+$", whole[-1]))
        is_open = is_open and line.strip() and not line.startswith("  tabellion")
        if whole and whole[-1].startswith("  tabellion") and (is_open or line.startswith("    ")):
            whole[-1] += f" {line.strip()}"
        else:
            whole.append(line)
    return whole


def examples(bin, path=()):
    """The examples of the help of every command."""
    # As wide as a help gets: a narrow terminal breaks examples in the middle.
    env = {**os.environ, "COLUMNS": "100"}
    shown = subprocess.run([bin, *path, "--help"], capture_output=True, text=True, timeout=30, env=env)
    assert shown.returncode == 0, shown.stderr
    text = re.sub(r"\\\n\s*", "", shown.stdout).split("Examples:", 1)[-1]
    for line in unwrapped(text):
        words = command_of(line) if line.startswith("  ") else None
        if words:
            yield path, words
    under = re.search(r"^Commands:\n(.*?)(\n\n|\Z)", shown.stdout, re.S | re.M)
    for name in re.findall(r"^  ([a-z-]+)", under[1], re.M) if under else ():
        if name != "help":
            yield from examples(bin, (*path, name))


def outcome(bin, words, folder):
    """How a command ends where no server answers and no configuration is good: 2 if it was not understood."""
    env = {"PATH": os.environ["PATH"], "TABELLION_URL": f"http://127.0.0.1:{free_port()}", "TABELLION_KEY": ADMIN_KEY,
           # Whatever would start a server ends here, once it has read its command line.
           "TABELLION_LIMITS__K_MAX": "none", "HOME": str(folder)}  # fmt: skip
    process = subprocess.Popen([bin, *words], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        said = process.communicate(timeout=UNDERSTOOD_AFTER_SECONDS)[0]
        # A value that the document leaves out need not be a good one.
        left_out = "invalid value" in said and PLACEHOLDER in said
        return said, 0 if left_out else process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return "", 0


COMMANDS = list(dict.fromkeys((name, tuple(words), whole) for name, words, whole in commands()))


def test_the_documents_show_commands():
    """The search for commands finds them: a test of nothing would pass."""
    named = {name for name, _, _ in COMMANDS}
    assert len(COMMANDS) > 60 and {"README.md", "docs/orchestrator.md", "docs/review.md", "docs/eval.md"} <= named


@pytest.mark.parametrize("name, words, whole", COMMANDS, ids=[f"{name}: {' '.join(words)}"[:80] for name, words, _ in COMMANDS])
def test_a_documented_command_is_understood(bin, tmp_path, name, words, whole):
    """No command of a document is refused as a command line; one that is only named must be there."""
    said, code = outcome(bin, words, tmp_path)
    if not whole and any(short in said for short in TOO_SHORT) and "unrecognized" not in said and "unexpected argument" not in said:
        return
    assert code != 2, f"{name}: tabellion {' '.join(words)}\n{said}"
    assert "panicked" not in said, said


def test_the_examples_of_every_help_are_understood(bin, tmp_path):
    """What `--help` shows can be typed."""
    found = list(examples(bin))
    assert len(found) > 100, found
    wrong = []
    for path, words in found:
        said, code = outcome(bin, words, tmp_path)
        if code == 2 or "panicked" in said:
            wrong.append((path, words, said))
    assert wrong == []


def test_the_session_of_the_readme_works(bin, tmp_path):
    """Each line that the README shows behind a prompt, in its order, on a fresh server; ids are those of the moment."""
    text = (ROOT / "README.md").read_text()
    session = text.split("In the second terminal", 1)[1].split("```")[1]
    lines = [line[2:] for line in session.splitlines() if line.startswith("$ tabellion ")]
    assert len(lines) >= 5, lines
    with Server(bin, tmp_path / "data", env={"TABELLION_GOVERNANCE__POLICY": "standard"}) as server:
        env = {"PATH": os.environ["PATH"], "TABELLION_URL": server.url, "TABELLION_KEY": server.key}
        shown_id, item = None, None
        for line in lines:
            words = command_of(line)
            if item:
                shown_id = shown_id or next(word for word in words if word.startswith("itm_"))
                words = [item if word == shown_id else word for word in words]
            if "--as-of" in words:
                words[words.index("--as-of") + 1] = first_written
            if words[0] == "verify":
                assert server.stop() == 0
            done = subprocess.run([bin, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
            assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
            if item is None:
                item = re.search(r"itm_[a-z2-7]+", done.stdout)[0]
                first_written = server.call("GET", "/v1/items")[1]["items"][0]["updated_at"]
        # The other commands of the README: those under "Prove it", on the same directory.
        proofs = text.split("## Prove it", 1)[1].split("```")[1]
        for line in proofs.splitlines():
            words = command_of(line)
            if words:
                done = subprocess.run([bin, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)
                assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"

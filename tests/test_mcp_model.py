"""`tabellion mcp --data`: the model of a server is used where it is at hand, and said to be missing where it is not."""

import os
import subprocess
from pathlib import Path

import pytest

from server import ADMIN_KEY, ROOT

MODEL = Path(os.environ.get("TABELLION_MODEL_DIR") or ROOT / "target" / "model")
ENV = {"PATH": os.environ["PATH"], "TABELLION_ADMIN_KEY": ADMIN_KEY, "TABELLION_KEY": ADMIN_KEY}


def stderr_of(bin, *arguments, cwd, **env):
    """What is said to a person before a client that leaves at once."""
    done = subprocess.run([bin, "mcp", *map(str, arguments)], cwd=cwd, env={**ENV, **env}, input="", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "stdout is the client's alone"
    return done.stderr


def test_a_missing_model_is_said(bin, tmp_path):
    """Without its files texts are compared by hashed words; stderr says so, where they were sought, and what to do."""
    said = stderr_of(bin, "--data", tmp_path / "data", cwd=tmp_path)
    assert "hashed words" in said and "fetch_model.py" in said and "--model" in said, said
    said = stderr_of(bin, "--data", tmp_path / "data", cwd=tmp_path, TABELLION_EMBEDDING__PROVIDER="hashed")
    assert "hashed words" in said and "embedding.provider" in said, said
    assert "hashed" not in stderr_of(bin, "--data", tmp_path / "data", cwd=tmp_path, TABELLION_EMBEDDING__PROVIDER="none")


def test_the_model_at_hand_is_used(bin, tmp_path):
    """The folder `model` here, beside the data directory, or named: nothing is said, for nothing is missing."""
    if not (MODEL / "model.safetensors").exists():
        pytest.skip(f"no model at {MODEL}; TABELLION_MODEL_DIR names one")
    (tmp_path / "elsewhere").mkdir()
    assert "hashed" not in stderr_of(bin, "--data", tmp_path / "data", "--model", MODEL, cwd=tmp_path / "elsewhere")
    (tmp_path / "model").symlink_to(MODEL)
    assert "hashed" not in stderr_of(bin, "--data", tmp_path / "data", cwd=tmp_path)
    assert "hashed" not in stderr_of(bin, "--data", tmp_path / "data", cwd=tmp_path / "elsewhere")

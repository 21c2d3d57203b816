"""Facts about the git work tree around a folder."""
import hashlib
import os
import subprocess

_SECONDS = 2


def commit(folder):
    """The commit that is checked out, or "" outside a work tree. Reads files only."""
    git = _git_folder(folder)
    if git is None:
        return ""
    head = _read(os.path.join(git, "HEAD"))
    if not head.startswith("ref: "):
        return head
    common = os.path.normpath(os.path.join(git, _read(os.path.join(git, "commondir")) or "."))
    name = head[len("ref: "):]
    for place in (git, common):
        value = _read(os.path.join(place, *name.split("/")))
        if value:
            return value
    for line in _read(os.path.join(common, "packed-refs")).splitlines():
        value, _, reference = line.partition(" ")
        if reference == name:
            return value
    return ""


def dirty_digest(folder):
    """SHA-256 of `git diff HEAD`, "" if it is empty or git does not answer in time."""
    try:
        diff = subprocess.run(
            ["git", "-C", folder, "diff", "--no-ext-diff", "--no-textconv", "--binary", "HEAD"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            timeout=_SECONDS, check=True, env=dict(os.environ, GIT_OPTIONAL_LOCKS="0")).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    return hashlib.sha256(diff).hexdigest() if diff else ""


def _git_folder(folder):
    while True:
        path = os.path.join(folder, ".git")
        if os.path.isdir(path):
            return path
        if os.path.isfile(path):
            target = _read(path)
            return os.path.join(folder, target[len("gitdir: "):])
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""

"""A process that cannot be captured says why, in a note and one line, and trains on."""
import os
import stat
import subprocess

import pytest
from shim_process import TRAIN, Capture, library, run

LOSSES = TRAIN + "print([step().item().hex() for _ in range(2)])\n"


@pytest.fixture(scope="module")
def losses(tmp_path_factory):
    return run(LOSSES, None, cwd=tmp_path_factory.mktemp("plain")).stdout


def check(done, capture, losses, code):
    assert (done.returncode, done.stdout) == (0, losses)
    assert [found for found, _ in capture.notes()] == [code]
    (line,) = done.stderr.splitlines()
    assert line.startswith("opguard: this process is not captured: ")
    assert capture.files() == []


def test_no_library_for_this_torch(tmp_path, losses):
    capture = Capture(tmp_path, library=None, cache=str(tmp_path / "cache"))
    check(run(LOSSES, capture), capture, losses, "no_library")
    assert "build-capture" in capture.notes()[0][1]


def test_a_library_that_is_none(tmp_path, losses):
    (tmp_path / "broken.so").write_bytes(b"\x7fELF but no more")
    capture = Capture(tmp_path, library=str(tmp_path / "broken.so"))
    check(run(LOSSES, capture), capture, losses, "load_failed")


def test_a_library_for_another_torch(tmp_path, losses):
    source = tmp_path / "other.c"
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "capture", "include", "opguard",
                           "capture", "c_api.h"), encoding="utf-8") as file:
        names = sorted(set(word.partition("(")[0] for word in file.read().split()
                           if word.startswith("opguard_") and "(" in word))
    body = "".join("int %s(void) { return 1; }\n" % name for name in names
                   if name != "opguard_version" and not name.endswith("last_error"))
    source.write_text(body + 'const char* opguard_version(void) { return "0.1.0 2.9.1"; }\n'
                      'const char* opguard_last_error(void) { return ""; }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(tmp_path / "other.so"), str(source)],
                   check=True)
    capture = Capture(tmp_path, library=str(tmp_path / "other.so"))
    check(run(LOSSES, capture), capture, losses, "wrong_library")


def test_a_folder_that_does_not_exist(tmp_path, losses):
    capture = Capture(tmp_path / "traces")
    os.rmdir(tmp_path / "traces")
    done = run(LOSSES, capture, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, losses)
    assert len(done.stderr.splitlines()) <= 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path, losses):
    capture = Capture(tmp_path / "traces")
    os.chmod(tmp_path / "traces", stat.S_IRUSR | stat.S_IXUSR)
    done = run(LOSSES, capture, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, losses)
    assert len(done.stderr.splitlines()) <= 1


def test_the_library_is_found_in_the_cache_by_its_key(tmp_path):
    import torch

    cuda = torch.version.cuda
    key = "torch-%s-abi%d-%s-opguard-%s" % (
        torch.__version__, torch.compiled_with_cxx11_abi(),
        "cu" + cuda.replace(".", "") if cuda else "cpu", _project_version())
    (tmp_path / "cache" / key).mkdir(parents=True)
    os.symlink(library(), tmp_path / "cache" / key / "libopguard_capture.so")
    capture = Capture(tmp_path / "traces", library=None, cache=str(tmp_path / "cache"))
    done = run(LOSSES, capture)
    assert (done.returncode, done.stderr, capture.notes()) == (0, "", [])
    assert len(capture.files()) == 1


def _project_version():
    root = os.path.join(os.path.dirname(__file__), "..", "..")
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as file:
        return file.read().split("project(opguard VERSION ")[1].split()[0]

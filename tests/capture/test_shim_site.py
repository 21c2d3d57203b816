"""sitecustomize: does nothing unasked, hides nobody, parses everywhere."""
import ast
import os
import statistics
import subprocess
import sys
import time

import pytest
from shim_process import SHIM, Capture, run, run_command

SITECUSTOMIZE = os.path.join(SHIM, "sitecustomize.py")
SHOW = "import sys; print(sys.modules['sitecustomize'].__file__)"


def hidden(folder, text):
    path = os.path.join(str(folder), "sitecustomize.py")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return str(folder)


def start(code, *entries, options=(), config="dir=/nowhere"):
    return run_command([sys.executable, *options, "-c", code], environment={
        "PYTHONPATH": os.pathsep.join(entries), "OPGUARD_CAPTURE": config})


def test_runs_the_sitecustomize_that_it_hides_under_its_own_name(tmp_path):
    other = hidden(tmp_path, "import sys; print(__name__, __file__); sys.path.append('/added')")
    done = start("import sys, sitecustomize; print(sitecustomize.__file__, '/added' in sys.path,"
                 " sys.path.count(%r))" % SHIM, SHIM, other)
    path = os.path.join(other, "sitecustomize.py")
    assert done.stdout.splitlines() == ["sitecustomize " + path, path + " True 1"]
    assert done.stderr == ""


def test_is_sitecustomize_itself_when_it_hides_none():
    done = start(SHOW, SHIM)
    if "/sitecustomize.py" in run_command([sys.executable, "-c", SHOW]).stdout:
        pytest.skip("this interpreter has a sitecustomize of its own")
    assert done.stdout.strip() == SITECUSTOMIZE


@pytest.mark.parametrize("text", [
    "raise ValueError('broken')", "import no_such_module", "raise ImportError('plain')",
    "raise SystemExit(7)", "def"])
def test_errors_of_a_hidden_sitecustomize_are_treated_as_without_us(tmp_path, text):
    other = hidden(tmp_path, text)
    code = "import sys; print('sitecustomize' in sys.modules)"
    with_us, without = start(code, SHIM, other), start(code, other)
    assert (with_us.returncode, with_us.stdout) == (without.returncode, without.stdout)
    assert with_us.stderr.splitlines()[-1:] == without.stderr.splitlines()[-1:]


@pytest.mark.parametrize("flag", ["-S", "-E", "-I"])
def test_interpreters_that_ignore_pythonpath_run_as_ever(flag):
    done = start("import sys; print('opguard_shim' in sys.modules)", SHIM, options=[flag])
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")


def test_imports_nothing_but_sys_and_os():
    code = "import sys; print(sorted(sys.modules))"
    with_us, without = (set(ast.literal_eval(start(code, *paths).stdout))
                        for paths in ([SHIM], []))
    assert with_us - without <= {"sitecustomize"}


def test_a_process_without_torch_writes_nothing(tmp_path):
    capture = Capture(tmp_path, library=None, cache="/nowhere")
    done = run_command([sys.executable, "-c", "print(1)"], capture)
    assert (done.stdout, done.stderr, os.listdir(tmp_path)) == ("1\n", "", [])


def test_without_configuration_torch_is_imported_as_ever():
    done = run_command([sys.executable, "-c", "import sys, torch; print([finder for finder in "
                        "sys.meta_path if 'opguard' in repr(finder) or 'After' in repr(finder)],"
                        "'opguard_shim' in sys.modules)"], environment={"PYTHONPATH": SHIM})
    assert done.stdout == "[] False\n"


@pytest.mark.parametrize("version", [(3, 4), (3, 8)])
def test_parses_under_old_grammars(version):
    with open(SITECUSTOMIZE, encoding="utf-8") as file:
        ast.parse(file.read(), feature_version=version)


@pytest.mark.filterwarnings("ignore")
def test_parses_under_python_2():
    pytest.importorskip("lib2to3", reason="lib2to3 left Python with 3.13")
    from lib2to3 import pygram, pytree
    from lib2to3.pgen2 import driver

    grammar = pygram.python_grammar  # with the print and exec statements
    with open(SITECUSTOMIZE, encoding="utf-8") as file:
        tree = driver.Driver(grammar, convert=pytree.convert).parse_string(file.read())
    assert tree.children


def test_start_costs_little():
    """Reports the cost; the bound is only a guard against a blunder."""
    def seconds(*entries):
        times = []
        for _ in range(15):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", ""], check=True, env=dict(
                os.environ, PYTHONPATH=os.pathsep.join(entries), OPGUARD_CAPTURE="dir=/nowhere"))
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    cost = seconds(SHIM) - seconds()
    print("sitecustomize costs %.2f ms a start" % (cost * 1e3))
    assert cost < 0.1


def test_a_torch_that_cannot_be_imported_fails_as_ever_and_is_noted(tmp_path):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('libfoo.so.1: cannot open')")
    capture = Capture(tmp_path / "traces")
    done = run("""
        for _ in range(2):
            try:
                import torch
            except ImportError as error:
                print(error)
        """, capture, environment={"PYTHONPATH": SHIM + os.pathsep + str(tmp_path)})
    assert done.stdout == "libfoo.so.1: cannot open\n" * 2
    assert done.stderr == ""
    assert {code for code, _ in capture.notes()} == {"torch_import_failed"}


def test_a_module_named_torch_that_is_not_pytorch_is_noted(tmp_path):
    (tmp_path / "torch.py").write_text("answer = 42")
    capture = Capture(tmp_path / "traces")
    done = run("import torch; print(torch.answer)", capture,
               environment={"PYTHONPATH": SHIM + os.pathsep + str(tmp_path)})
    assert done.stdout == "42\n"
    assert [code for code, _ in capture.notes()] == ["unsupported_torch"]


def test_the_loader_of_torch_is_left_as_it_was(tmp_path):
    code = """
        import torch
        print(type(torch.__loader__).__name__, torch.__loader__ is torch.__spec__.loader,
              'exec_module' in vars(torch.__loader__))
        """
    capture = Capture(tmp_path)
    assert run(code, capture).stdout == "SourceFileLoader True False\n"

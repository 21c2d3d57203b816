"""Capture in all the processes of a training program, and at its end however it ends."""
import os
import signal
import subprocess
import sys
import time

import pytest
from shim_process import TRAIN, Capture, run, run_command

GLOO = TRAIN + """
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
if __name__ == "__main__":
    dist.init_process_group("gloo")
    model = DistributedDataParallel(model)
    for _ in range(int(__import__("sys").argv[1])):
        step()
    print("rank %d done\\n" % dist.get_rank(), end="", flush=True)
    dist.barrier()
    del model
    __import__("gc").collect()
    dist.destroy_process_group()
"""


def torchrun(path, *arguments):
    return [sys.executable, "-m", "torch.distributed.run", "--standalone",
            "--nproc-per-node", "2", path, *arguments]


def test_a_plain_program_leaves_one_complete_trace(tmp_path):
    capture = Capture(tmp_path)
    done = run(TRAIN + "for _ in range(2): step()\n", capture, arguments=["--api-key", "k1"])
    assert (done.returncode, done.stderr) == (0, "")
    facts, environment = capture.facts(), capture.environment_facts()
    assert (facts["status"], facts["role"], int(facts["rank"])) == ("complete", "rank", 0)
    assert environment["argv"].endswith('program.py", "--api-key", "***"]')
    assert environment["seed.torch"] == "1"
    assert environment["env.OMP_NUM_THREADS"] == "1"
    assert environment["package.torch"].startswith("2.")
    assert len(environment["git.commit"]) in (0, 40)
    modules = capture.query("SELECT name, class FROM module")
    assert ("0", "Linear") in modules and ("Sequential", "Sequential") in modules
    assert capture.query("SELECT DISTINCT name FROM ops WHERE module = '2' AND phase = 'forward'"
                         ) == [("aten::linear",)]
    assert capture.notes() == []


def test_subprocesses_are_captured(tmp_path):
    capture = Capture(tmp_path)
    (tmp_path / "child.py").write_text(TRAIN + "step()\n")
    done = run("import subprocess, sys; sys.exit(subprocess.run([sys.executable, %r]).returncode)"
               % str(tmp_path / "child.py"), capture)
    assert (done.returncode, done.stderr) == (0, "")
    assert capture.facts()["status"] == "complete"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_children_have_traces_of_their_own(tmp_path, method):
    capture = Capture(tmp_path)
    done = run(TRAIN + """
import multiprocessing
def work(_):
    return step().item()
if __name__ == "__main__":
    expected = [step().item() for _ in range(2)]
    torch.manual_seed(1)
    process = multiprocessing.get_context(%r).Process(target=work, args=(0,))
    process.start(); process.join()
    print(process.exitcode)
""" % method, capture)
    assert done.stdout == "0\n", done.stderr
    files = capture.files()
    assert len(files) == 2
    assert {capture.facts(path)["status"] for path in files} == {"complete"}
    child = max(files, key=lambda path: capture.facts(path)["started_unix"])
    assert capture.query("SELECT count(*) FROM ops WHERE module = '2'", child) > [(0,)]


def test_a_forked_child_that_runs_no_op_leaves_no_trace(tmp_path):
    capture = Capture(tmp_path)
    done = run(TRAIN + """
import os
step()
pid = os.fork()
if pid == 0:
    raise SystemExit(0)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
step()
""", capture)
    assert done.stdout == "0\n", done.stderr
    assert capture.facts()["status"] == "complete"


def test_a_child_forked_while_the_trace_is_written_is_not_blocked(tmp_path):
    """SQLite has process-wide locks: one that the writer held at the fork would never be free."""
    capture = Capture(tmp_path)
    done = run(TRAIN + """
import multiprocessing
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    for _ in range(25):
        step()
        children = [context.Process(target=step) for _ in range(2)]
        for child in children: child.start()
        for child in children: child.join()
        print([child.exitcode for child in children])
""", capture)
    assert done.stdout == "[0, 0]\n" * 25, done.stderr
    assert [capture.facts(path)["status"] for path in capture.files()] == ["complete"] * 51


def test_loader_workers_are_auxiliary_and_training_is_the_same(tmp_path):
    code = TRAIN + """
from torch.utils.data import DataLoader, TensorDataset
class Data(torch.utils.data.Dataset):
    def __len__(self): return 8
    def __getitem__(self, i): return torch.full((4,), float(i)).mul(2)
if __name__ == "__main__":
    for batch in DataLoader(Data(), batch_size=2, num_workers=2):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(loss.item().hex())
"""
    capture = Capture(tmp_path / "traces")
    captured, plain = run(code, capture, cwd=tmp_path), run(code, None, cwd=tmp_path)
    assert (captured.returncode, captured.stdout) == (0, plain.stdout)
    assert captured.stderr == plain.stderr
    roles = sorted(capture.facts(path)["role"] for path in capture.files())
    assert roles == ["auxiliary", "auxiliary", "rank"]


def test_torchrun_leaves_one_trace_a_rank(tmp_path):
    capture = Capture(tmp_path)
    (tmp_path / "train.py").write_text(GLOO)
    done = run_command(torchrun(str(tmp_path / "train.py"), "2"), capture)
    assert sorted(line for line in done.stdout.splitlines()) == ["rank 0 done", "rank 1 done"]
    ranks = sorted(int(capture.facts(path)["rank"]) for path in capture.files())
    assert ranks == [0, 1]
    assert {capture.facts(path)["status"] for path in capture.files()} == {"complete"}
    assert capture.notes() == []


def test_stop_after_steps_ends_with_status_0(tmp_path):
    capture = Capture(tmp_path, steps="2", stop_after_steps="1")
    done = run(TRAIN + """
import atexit
from torch.utils.data import DataLoader
atexit.register(print, "atexit ran")
if __name__ == "__main__":
    loader = DataLoader(torch.zeros(1000, 4), num_workers=2)
    try:
        for _ in loader:
            step()
    finally:
        print("finally ran")
""", capture)
    assert (done.returncode, done.stdout) == (0, "finally ran\natexit ran\n"), done.stderr
    traces = [path for path in capture.files() if capture.facts(path)["role"] == "rank"]
    assert capture.facts(traces[0])["status"] == "complete"
    assert capture.query("SELECT count(*) FROM step", traces[0]) <= [(3,)]


def test_stop_after_steps_insists_where_the_program_catches_it(tmp_path):
    done = run(TRAIN + """
while True:
    try:
        step()
    except:
        pass
""", Capture(tmp_path, steps="2", stop_after_steps="1"))
    assert done.returncode == 0, done.stderr


def test_stop_after_steps_ends_torchrun(tmp_path):
    capture = Capture(tmp_path, steps="2", stop_after_steps="1")
    (tmp_path / "train.py").write_text(GLOO)
    done = run_command(torchrun(str(tmp_path / "train.py"), "100000"), capture)
    assert done.returncode == 0, done.stderr
    assert {capture.facts(path)["status"] for path in capture.files()} == {"complete"}


def test_determinism_on_sets_and_records_the_switches(tmp_path):
    capture = Capture(tmp_path, determinism="on")
    done = run(TRAIN + """
print(torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.deterministic,
      torch.backends.cudnn.benchmark, torch.backends.cuda.matmul.allow_tf32,
      __import__("os").environ["CUBLAS_WORKSPACE_CONFIG"])
step()
""", capture)
    assert done.stdout == "True True False False :4096:8\n"
    environment = capture.environment_facts()
    assert environment["determinism.deterministic_algorithms"] == "True"
    assert environment["torch.deterministic_algorithms"] == "True"


@pytest.mark.parametrize("end, status", [
    ("raise ValueError('mine')", 1), ("os._exit(3)", 3), ("os.abort()", -signal.SIGABRT),
    ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL)])
def test_a_trace_is_readable_however_the_program_ends(tmp_path, end, status):
    capture = Capture(tmp_path)
    done = run(TRAIN + """
import os, signal, time
begin = time.monotonic()
while time.monotonic() < begin + 2.5:
    step()
%s
""" % end, capture)
    assert done.returncode == status
    state = capture.facts()["status"]
    assert state == ("complete" if status == 1 else "incomplete")
    assert capture.query("SELECT count(*) FROM op") > [(50,)]
    assert ("ValueError: mine" in done.stderr) == (status == 1)


def test_a_program_ended_by_sigterm_leaves_a_readable_trace(tmp_path):
    capture = Capture(tmp_path)
    path = tmp_path / "train.py"
    path.write_text(TRAIN + "while True: step()\n")
    process = subprocess.Popen([sys.executable, str(path)],
                               env=dict(os.environ, **capture.environment()))
    deadline = time.monotonic() + 60
    while not capture.files() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(2)
    process.terminate()
    assert process.wait(30) == -signal.SIGTERM
    assert capture.query("SELECT count(*) FROM op") > [(0,)]


def test_torch_imported_in_a_thread_is_captured(tmp_path):
    capture = Capture(tmp_path)
    done = run("""
import threading
def train():
    import torch
    global torch_rand
    torch_rand = torch.nn.Linear(2, 2)(torch.rand(1, 2))
thread = threading.Thread(target=train)
thread.start(); thread.join()
""", capture)
    assert (done.returncode, done.stderr) == (0, "")
    assert capture.query("SELECT count(*) FROM ops WHERE name = 'aten::linear'") == [(1,)]

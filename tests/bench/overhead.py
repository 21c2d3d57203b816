"""Overhead of capture on a small GPT on CPU, against a plain run and torch's DebugMode.

    python tests/bench/overhead.py --library build/release/.../libopguard_capture.so

Every measurement is a fresh process that trains the same model and times its own steps after a
warm-up. The arms are interleaved, so that a busy machine is busy for all; a ratio is the median
over repetitions of an arm's time by the plain time of the same repetition.
"""
import argparse
import datetime
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARMS = ("plain", "trusted", "full", "debugmode")
TARGETS = {"trusted": 1.3, "full": 1.6}


def build_model(torch, layers, width, heads, length, vocabulary):
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)

        def forward(self, x):
            batch, time_steps, _ = x.shape
            q, k, v = (part.view(batch, time_steps, heads, -1).transpose(1, 2)
                       for part in self.qkv(x).split(width, dim=2))
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(y.transpose(1, 2).reshape(batch, time_steps, width))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.attention = nn.LayerNorm(width), Attention()
            self.norm2 = nn.LayerNorm(width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                     nn.Linear(4 * width, width))

        def forward(self, x):
            x = x + self.attention(self.norm1(x))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens = nn.Embedding(vocabulary, width)
            self.positions = nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(width)
            self.head = nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens, targets):
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
            for block in self.blocks:
                x = block(x)
            logits = self.head(self.norm(x))
            return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return GPT()


def train(options):
    """One measurement: prints the median time of a step in seconds and the last loss."""
    import torch

    torch.manual_seed(0)
    model = build_model(torch, options.layers, options.width, options.heads, options.length,
                        options.vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.randint(options.vocabulary, (options.batch, options.length + 1))

    def step():
        optimizer.zero_grad()
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss

    times = []
    for number in range(options.warmup + options.steps):
        begin = time.perf_counter()
        if options.arm == "debugmode":
            from torch.utils._debug_mode import DebugMode

            # A mode a step: its log of all calls would grow without bound.
            with DebugMode(), DebugMode.log_tensor_hashes(hash_fn="hash_tensor", hash_inputs=True):
                loss = step()
        else:
            loss = step()
        if number >= options.warmup:
            times.append(time.perf_counter() - begin)
    print("result", statistics.median(times), loss.item().hex())


def measure(options, arm, threads):
    """Runs one arm in a fresh process; returns (seconds a step, loss)."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads))
    environment.pop("OPGUARD_CAPTURE", None)
    with tempfile.TemporaryDirectory() as folder:
        if arm in ("full", "trusted"):
            environment["PYTHONPATH"] = os.path.join(ROOT, "capture", "python")
            environment["OPGUARD_CAPTURE"] = "dir=%s;library=%s;mode=%s" % (
                folder, os.path.abspath(options.library), arm)
        passed_on = [argument for name in ("layers", "width", "heads", "length", "vocabulary",
                                           "batch", "warmup", "steps")
                     for argument in ("--" + name, str(getattr(options, name)))]
        output = subprocess.run([sys.executable, os.path.abspath(__file__), "--arm", arm,
                                 *passed_on], env=environment, check=True, encoding="utf-8",
                                stdout=subprocess.PIPE).stdout
        traces = [name for name in os.listdir(folder) if name.endswith(".opguard")]
        if bool(traces) != (arm in ("full", "trusted")):
            raise SystemExit("arm %s left %d traces" % (arm, len(traces)))
    _, seconds, loss = output.split()[-3:]
    return float(seconds), loss


def compare(options, threads):
    """Interleaved repetitions of all arms; returns rows of (arm, ms a step, ratio, low, high)."""
    times, losses = {arm: [] for arm in ARMS}, set()
    for _ in range(options.repetitions):
        for arm in ARMS:
            seconds, loss = measure(options, arm, threads)
            times[arm].append(seconds)
            losses.add(loss)
    if len(losses) != 1:
        raise SystemExit("the arms' losses differ: %s" % losses)
    rows = []
    for arm in ARMS:
        ratios = [a / b for a, b in zip(times[arm], times["plain"])]
        rows.append((arm, statistics.median(times[arm]) * 1e3, statistics.median(ratios),
                     min(ratios), max(ratios)))
    return rows


def report(options):
    import torch

    print("%s, torch %s, %s, %s, %d layers x %d, batch %d x %d tokens, vocabulary %d" % (
        datetime.date.today(), torch.__version__, torch.backends.cpu.get_cpu_capability(),
        platform.machine(), options.layers, options.width, options.batch, options.length,
        options.vocabulary))
    print("\n| threads | arm | ms a step | ratio to plain | range | target |")
    print("|---|---|---|---|---|---|")
    for threads in options.threads:
        for arm, milliseconds, ratio, low, high in compare(options, threads):
            print("| %d | %s | %.1f | %.2f | %.2f-%.2f | %s |" % (
                threads, arm, milliseconds, ratio, low, high, TARGETS.get(arm, "")), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", help="libopguard_capture.so for this interpreter's torch")
    parser.add_argument("--arm", choices=ARMS, help="measure one arm in this process")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    for name, default in (("repetitions", 5), ("layers", 4), ("width", 256), ("heads", 8),
                          ("length", 256), ("vocabulary", 4096), ("batch", 8), ("warmup", 2),
                          ("steps", 5)):
        parser.add_argument("--" + name, type=int, default=default)
    options = parser.parse_args()
    if options.arm:
        train(options)
    elif options.library:
        report(options)
    else:
        parser.error("--library is required")


if __name__ == "__main__":
    main()

"""The rounds of bench/matmul_vs_peers: etch, ggml and PyTorch in turn. Not called by hand."""
import json
import statistics
import subprocess
import sys
import time

SIZE = 1024
BATCHES = (1024, 1)

# Runs in a process of its own, so that PyTorch's threads are gone while the others are measured.
TORCH = """
import sys, time, statistics, warnings
warnings.filterwarnings("ignore")
import torch
threads, batch, size = map(int, sys.argv[1:4])
torch.set_num_threads(threads)
layer = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(torch.nn.Linear(size, size, bias=False)), {torch.nn.Linear},
                                               dtype=torch.qint8)
x = torch.rand(batch, size) * 2 - 1
times = []
with torch.inference_mode():
    for _ in range(60 if batch > 1 else 3000):
        begin = time.perf_counter()
        layer(x)
        times.append(time.perf_counter() - begin)
print(statistics.median(times) * 1e3, torch.__version__)
"""


def etch_ms(etch: str, threads: int) -> dict[int, float]:
    out = subprocess.run([etch, "bench", "matmul", "--type", "Q8_0", "--rows", str(SIZE), "--cols", str(SIZE), "--batch",
                          ",".join(map(str, BATCHES)), "-t", str(threads), "--json"],
                         capture_output=True, text=True, check=True).stdout
    return {r["batch"]: r["milliseconds"]["median"] for r in json.loads(out)["results"]}


def ggml_ms(program: str, threads: int, batch: int) -> float:
    return float(subprocess.run([program, str(threads), str(batch)], capture_output=True, text=True, check=True).stdout)


def torch_ms(threads: int, batch: int) -> tuple[float, str]:
    out = subprocess.run([sys.executable, "-c", TORCH, str(threads), str(batch), str(SIZE)], capture_output=True, text=True)
    if out.returncode != 0:
        return float("nan"), "not available: " + (out.stderr.strip().splitlines() or ["?"])[-1]
    ms, version = out.stdout.split()
    return float(ms), version


def main() -> None:
    etch, ggml = sys.argv[1:3]
    threads, rounds = map(int, sys.argv[3:5])
    times: dict[tuple[str, int], list[float]] = {}
    version = ""
    for _ in range(rounds):
        ours = etch_ms(etch, threads)
        for batch in BATCHES:
            times.setdefault(("etch", batch), []).append(ours[batch])
            times.setdefault(("ggml", batch), []).append(ggml_ms(ggml, threads, batch))
            ms, version = torch_ms(threads, batch)
            times.setdefault(("torch", batch), []).append(ms)
            time.sleep(0.05)
    print(f"Q8_0 {SIZE}x{SIZE}, {threads} threads, {rounds} rounds, PyTorch {version}; milliseconds")
    print(f"{'batch':>6} {'engine':>8} {'median':>9} {'min':>9} {'max':>9} {'times etch':>11}")
    for batch in BATCHES:
        base = statistics.median(times["etch", batch])
        for engine in ("etch", "ggml", "torch"):
            t = times[engine, batch]
            print(f"{batch:>6} {engine:>8} {statistics.median(t):9.4f} {min(t):9.4f} {max(t):9.4f} "
                  f"{statistics.median(t) / base:11.2f}")


if __name__ == "__main__":
    main()

"""The pairs of bench/compare: runs both programs in turn and prints ratios. Not called by hand."""
import json
import statistics
import subprocess
import sys


def etch_rates(etch: str, model: str, threads: int, prompt: int, generate: int) -> dict[str, float]:
    """Tokens per second by test, one repetition after etch's own warm-up."""
    out = subprocess.run([etch, "bench", model, "-t", str(threads), "-p", str(prompt), "-n", str(generate), "-r", "1",
                          "--json"], capture_output=True, text=True, check=True).stdout
    return {r["test"][:2]: r["tokens_per_second"]["median"] for r in json.loads(out)["results"]}


def peer_rates(bench: str, model: str, threads: int, prompt: int, generate: int) -> dict[str, float]:
    out = subprocess.run([bench, "-m", model, "-t", str(threads), "-p", str(prompt), "-n", str(generate), "-r", "1",
                          "-o", "json"], capture_output=True, text=True, check=True).stdout
    return {"pp" if r["n_gen"] == 0 else "tg": r["avg_ts"] for r in json.loads(out)}


def main() -> None:
    etch, bench = sys.argv[1:3]
    threads, prompt, generate, pairs = map(int, sys.argv[3:7])
    print(f"{threads} threads, {pairs} pairs, etch / {bench}")
    print(f"{'model':40} {'test':>6} {'etch t/s':>10} {'peer t/s':>10} {'ratio':>7} {'min':>6} {'max':>6}")
    for model in sys.argv[7:]:
        ours, theirs = [], []
        for _ in range(pairs):
            ours.append(etch_rates(etch, model, threads, prompt, generate))
            theirs.append(peer_rates(bench, model, threads, prompt, generate))
        for test, count in (("pp", prompt), ("tg", generate)):
            if test not in ours[0] or test not in theirs[0]:
                continue
            ratios = [a[test] / b[test] for a, b in zip(ours, theirs)]
            print(f"{model.rsplit('/', 1)[-1][:40]:40} {test + str(count):>6} "
                  f"{statistics.median(a[test] for a in ours):10.1f} {statistics.median(b[test] for b in theirs):10.1f} "
                  f"{statistics.median(ratios):7.2f} {min(ratios):6.2f} {max(ratios):6.2f}", flush=True)


if __name__ == "__main__":
    main()

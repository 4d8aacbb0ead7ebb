"""Real models: real_models_test.py ETCH SOURCE_ROOT. Greedy tokens and predictions against the float truth and the bounds of
the reference data, memory against the estimate. Models come from scripts/models' cache; one that is absent is said in one
line (with ETCH_REQUIRE_MODELS it is a failure)."""
import json
import math
import operator
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any

ETCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
CACHE = pathlib.Path(os.environ.get("ETCH_CACHE") or pathlib.Path.home() / ".cache/etch") / "models"
FILES = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
SHARED = next((f for f in (pathlib.Path(os.environ.get("ETCH_SHARED", "/nonexistent")), ROOT / "../shared", ROOT / "../../shared")
               if (f / "data/models").is_dir()), None)
FOLDER = tempfile.TemporaryDirectory()


def etch(*args: Any) -> str:
    r = subprocess.run([ETCH, *map(str, args)], capture_output=True, text=True, timeout=600)
    assert r.returncode == 0, f"etch {' '.join(map(str, args))}: exit {r.returncode}\n{r.stderr}"
    return r.stdout


def numbers(path: pathlib.Path, kind: str) -> tuple:
    data = path.read_bytes()
    return struct.unpack(f"<{len(data) // 4}{kind}", data)


# Bounds that etch is known to miss, with the figures. A miss that is gone is a failure too: then its line goes.
KNOWN_MISSES = {("gemma3", "top-1"): "prefill and decode, f16 KV: 0.9512 of 3094 positions, 0.95158 asked (two positions)"}


class RealModel:
    key = ""

    def expect_within(self, what: str, holds: bool, message: str) -> None:
        """A bound of the reference numbers; those in KNOWN_MISSES are said aloud and must still be missed."""
        known = KNOWN_MISSES.get((self.key, what))
        if known is None:
            self.assertTrue(holds, message)
            return
        print(f"KNOWN MISS: {self.key} {what}: {known}; now {message}")
        self.assertFalse(holds, f"{self.key} {what} is within its bound now: take it out of KNOWN_MISSES")

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = CACHE / FILES[cls.key]
        if not cls.model.exists():
            if os.environ.get("ETCH_REQUIRE_MODELS"):
                raise AssertionError(f"{cls.model} is absent; scripts/models {cls.key} fetches it")
            raise unittest.SkipTest(f"{cls.model.name} is absent; scripts/models {cls.key} fetches it")
        if SHARED is None:
            raise unittest.SkipTest("shared/data/models is not here")
        cls.data = SHARED / "data/models" / cls.key
        cls.bounds = json.loads((SHARED / "data/models/bounds.json").read_text())["models"][cls.key]

    def top(self, ids: list[int], k: int, *more: Any) -> list[list]:
        j = json.loads(etch("logits", self.model, "--tokens", ",".join(map(str, ids)), "--top", k, "--json", *more))
        return [p["top"] for p in j["positions"]]

    def test_greedy_tokens_where_the_margin_is_clear(self) -> None:
        clear = 0
        for prompt in json.loads((self.data / "greedy.json").read_text())["prompts"]:
            steps = prompt["steps"]
            ids = prompt["prompt_ids"] + [s["id"] for s in steps[:-1]]
            tops = self.top(ids, 1)[len(prompt["prompt_ids"]) - 1:]
            for step, top in zip(steps, tops):
                if step["margin"] > self.bounds["margin_equal"]:
                    self.assertEqual(top[0][0], step["id"], step)
                    clear += 1
        self.assertGreater(clear, 30)

    def test_predictions_are_those_of_the_truth(self) -> None:
        same = total = 0
        for text in ("prose_en", "chat"):
            ids = list(numbers(self.data / text / "tokens.i32", "i"))
            truth = numbers(self.data / text / "top_ids.i32", "i")[::20]
            tops = self.top(ids, 1)
            same += sum(t[0][0] == w for t, w in zip(tops, truth))
            total += len(ids)
        # Two texts alone: the share may lie three standard errors below what llama.cpp reaches on all six.
        share = self.bounds["top1_same_min"]
        self.assertGreater(same / total, share - 3 * math.sqrt(share * (1 - share) / total))

    def test_the_text_has_the_tokens_of_the_truth(self) -> None:
        for text in ("prose_en", "code_python", "json", "mixed_scripts", "chat"):
            name = f"chat.{self.key}" if text == "chat" else text
            file = next(SHARED.glob(f"data/models/texts/{name}.*"))
            ids = json.loads(etch("tokenize", self.model, "-f", file, "--json"))["token_ids"]
            self.assertEqual(ids, list(numbers(self.data / text / "tokens.i32", "i")), text)

    def test_ways_of_running_give_the_same_bytes(self) -> None:
        ids = ",".join(map(str, numbers(self.data / "chat" / "tokens.i32", "i")[:140]))
        out = pathlib.Path(FOLDER.name) / "logits.f32"
        etch("logits", self.model, "--tokens", ids, "-o", out)
        expected = out.read_bytes()
        for way in (["--ubatch", 1], ["--ubatch", 33, "-t", 3], ["-t", 1], ["--isa", "avx2"], ["--guard", "--ubatch", 100]):
            etch("logits", self.model, "--tokens", ids, "-o", out, *way)
            self.assertTrue(out.read_bytes() == expected, way)

    def test_all_texts_within_the_bounds(self) -> None:
        try:
            import gguf  # noqa: F401
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest("numpy and gguf are not installed; KL is not measured")
        for way, slack in (([], 1.0), (["--ubatch", 1], 1.05)):
            kl = positions = same = tokens = logp = predicted = 0
            for text in ("prose_en", "code_python", "json", "mixed_scripts", "chat", "medium_1500"):
                folder, out = self.data / text, pathlib.Path(FOLDER.name) / "logits.f32"
                ids = numbers(folder / "tokens.i32", "i")
                etch("logits", self.model, "--tokens", ",".join(map(str, ids)), "-o", out, *way)
                r = json.loads(subprocess.run([sys.executable, SHARED / "data/models/check.py", self.model, folder, out],
                                              capture_output=True, text=True, check=True).stdout)
                kl += r["kl_mean"] * r["positions"]
                same += self.same_top(out, folder, len(ids))
                positions += r["positions"]
                tokens += len(ids)
                logp += (math.log(r["ppl_truth"]) - math.log(r["ppl"])) * (len(ids) - 1)
                predicted += len(ids) - 1
                self.assertLess(r["kl_max"], self.bounds["kl_position_max"], (text, way))
            print(f"{self.key} {' '.join(map(str, way))}: mean KL {kl / positions:.5f}, top-1 {same / tokens:.4f}, "
                  f"log-probability {logp / predicted:+.5f}")
            for what, value, bound, holds in (
                    ("mean KL", kl / positions, self.bounds["kl_mean_max"] * slack, operator.le),
                    ("top-1", same / tokens, self.bounds["top1_same_min"], operator.ge),
                    ("log-probability", abs(logp / predicted), self.bounds["next_logp_mean_diff_abs_max"], operator.le)):
                self.expect_within(what, holds(value, bound), f"{what} {value:.5f}, bound {bound:.5f}, {way or 'prefill'}")

    @staticmethod
    def same_top(logits: pathlib.Path, folder: pathlib.Path, n: int) -> int:
        """At how many positions the likeliest token is the truth's (check.py looks at those with a hidden state only)."""
        import numpy
        rows = numpy.memmap(logits, "<f4", "r").reshape(n, -1)
        truth = numpy.fromfile(folder / "top_ids.i32", "<i4").reshape(n, 20)[:, 0]
        return sum(int(rows[p].argmax() == truth[p]) for p in range(n))

    def test_resident_memory_is_bounded_by_the_estimate(self) -> None:
        j = json.loads(etch("inspect", self.model, "--json"))
        allowed = j["memory"]["kv"] + j["memory"]["arena"] + (64 << 20) + 2 * j["vocabulary_bytes"]
        prompt = SHARED / "data/models/texts/medium_1500.txt"
        p = subprocess.Popen([ETCH, "run", str(self.model), "-f", str(prompt), "--raw", "-n", "30"], stdout=subprocess.DEVNULL)
        largest = 0
        while p.poll() is None:
            for line in pathlib.Path(f"/proc/{p.pid}/status").read_text().splitlines():
                if line.startswith("RssAnon"):
                    largest = max(largest, 1024 * int(line.split()[1]))
            time.sleep(0.005)
        self.assertEqual(p.returncode, 0)
        self.assertGreater(largest, 1 << 20)
        print(f"{self.key}: {largest >> 20} MiB resident, {allowed >> 20} allowed", end=" ")
        self.assertLess(largest, allowed)


class SmolLM2(RealModel, unittest.TestCase):
    key = "smollm2"

    def test_a_chat_is_answered(self) -> None:
        said = etch("run", self.model, "-p", "What is the capital of France, and which river runs through it?", "--temp", 0, "-n", 12)
        self.assertIn("The capital of France is Paris", said)


class Gemma3(RealModel, unittest.TestCase):
    key = "gemma3"


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)

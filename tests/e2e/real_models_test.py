"""Real models: real_models_test.py ETCH SOURCE_ROOT. Greedy tokens and predictions against the float truth and the bounds of
the reference data, memory against the estimate. Models come from scripts/models' cache; one that is absent is said in one
line (with ETCH_REQUIRE_MODELS it is a failure)."""
import hashlib
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
from typing import Any, Callable

import numpy

import float_truth
from gguf_tensor import read_tensor

ETCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
CACHE = pathlib.Path(os.environ.get("ETCH_CACHE") or pathlib.Path.home() / ".cache/etch") / "models"
FILES = {"smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf", "gemma3": "gemma-3-270m-q4_k_m.gguf"}
SHARED = next((f for f in (pathlib.Path(os.environ.get("ETCH_SHARED", "/nonexistent")), ROOT / "../shared", ROOT / "../../shared")
               if (f / "data/models").is_dir()), None)
TEXTS = ("prose_en", "code_python", "json", "mixed_scripts", "chat", "medium_1500")
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
        cls.embedding = read_tensor(cls.model, "token_embd.weight")
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

    def test_the_full_truth_is_rebuilt_from_its_hidden_states(self) -> None:
        for text in TEXTS:
            passage = float_truth.Passage(self.data / text)
            for position, expected in passage.full.items():
                if position in passage.hidden_at:
                    rebuilt = passage.truth(numpy.array([position]), self.embedding)[0]
                    # The file rounds to f16: half a unit in the last place of numbers below 64.
                    self.assertLess(abs(rebuilt - expected).max(), 2 ** -5 * 0.51, (text, position))

    def test_all_texts_within_the_bounds(self) -> None:
        """In prefill; decoding gives the same bytes, so that it has the same distance."""
        all_kl = all_positions = same = tokens = logp = predicted = 0
        for text in TEXTS:
            passage = float_truth.Passage(self.data / text)
            judge = float_truth.Judge(passage, self.embedding)
            digest = self.stream_logits(passage.ids, judge.take)
            d = judge.distance()
            self.assertLess(d.kl_max, self.bounds["kl_position_max"], text)
            self.assertEqual(self.stream_logits(passage.ids, lambda rows: None, "--ubatch", 1), digest, f"{text}: decode")
            all_kl, all_positions, same, tokens = all_kl + d.kl, all_positions + d.positions, same + d.same_top, tokens + d.tokens
            logp, predicted = logp + d.logp, predicted + d.predicted
        kl, top, logp = all_kl / all_positions, same / tokens, logp / predicted
        print(f"{self.key}: mean KL {kl:.5f}, top-1 {top:.5f}, log-probability {logp:+.5f}", end=" ")
        for what, value, bound, holds in (
                ("mean KL", kl, self.bounds["kl_mean_max"], operator.le),
                ("top-1", top, self.bounds["top1_same_min"], operator.ge),
                ("log-probability", abs(logp), self.bounds["next_logp_mean_diff_abs_max"], operator.le)):
            self.expect_within(what, holds(value, bound), f"{what} {value:.5f}, bound {bound:.5f}")

    def stream_logits(self, ids: numpy.ndarray, take: Callable[[numpy.ndarray], None], *more: Any) -> str:
        """Hands on the rows of `etch logits` as they come, without a file of gigabytes; gives a hash of all."""
        row_bytes, digest = 4 * self.embedding.shape[0], hashlib.blake2b()
        command = [ETCH, "logits", str(self.model), "--tokens", ",".join(map(str, ids)), "-o", "/dev/stdout", *map(str, more)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            while data := process.stdout.read(32 * row_bytes):
                digest.update(data)
                take(numpy.frombuffer(data, "<f4").reshape(-1, self.embedding.shape[0]))
        self.assertEqual(process.returncode, 0, command)
        return digest.hexdigest()

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

"""etch verify and etch parity end to end, on tiny models: verification_test.py ETCH SOURCE_ROOT. What is right is found right; a
changed tensor is named by the first value it goes into."""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from typing import Any

import tiny_model

ETCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
FOLDER = tempfile.TemporaryDirectory()
HERE = pathlib.Path(FOLDER.name)
MODEL, OTHER, MUTE = (str(HERE / n) for n in ("tiny.gguf", "other.gguf", "mute.gguf"))


def etch(*args: Any, code: int = 0) -> tuple[str, str]:
    r = subprocess.run([ETCH, *map(str, args)], capture_output=True, text=True, timeout=300)
    assert r.returncode == code, f"etch {' '.join(map(str, args))}: exit {r.returncode}, expected {code}\n{r.stdout}\n{r.stderr}"
    return r.stdout, r.stderr


def offset_of(model: str, tensor: str) -> int:
    """Where the data of a tensor begin, by the header alone."""
    data = pathlib.Path(model).read_bytes()
    n_tensors, n_keys = struct.unpack_from("<QQ", data, 8)
    at = 24

    def string() -> str:
        nonlocal at
        n, = struct.unpack_from("<Q", data, at)
        at += 8 + n
        return data[at - n:at].decode()

    def skip(kind: int) -> None:
        nonlocal at
        if kind == 8:
            string()
        elif kind == 9:
            element, n = struct.unpack_from("<IQ", data, at)
            at += 12
            for _ in range(n):
                skip(element)
        else:
            at += {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}[kind]

    for _ in range(n_keys):
        string()
        at += 4
        skip(struct.unpack_from("<I", data, at - 4)[0])
    offsets = {}
    for _ in range(n_tensors):
        name = string()
        n_dims, = struct.unpack_from("<I", data, at)
        at += 4 + 8 * n_dims + 4
        offsets[name], = struct.unpack_from("<Q", data, at)
        at += 8
    return (at + 31) // 32 * 32 + offsets[tensor]


class Verify(unittest.TestCase):
    def test_a_sound_model_holds_in_every_way_of_running_it(self):
        out, _ = etch("verify", MODEL)
        self.assertIn("everything holds", out)
        j = json.loads(etch("verify", MODEL, "--json")[0])
        self.assertEqual((j["schema"], j["failed"]), ("etch.verify/1", 0))
        names = [c["name"] for c in j["checks"]]
        for name in ("file", "binding", "graph", "calls", "races", "memory", "1 thread" if "1 thread" in names else "2 threads",
                     "token by token", "scalar" if "scalar" in names else "avx2", "guard"):
            self.assertIn(name, names)

    def test_usage(self):
        self.assertIn("--model", etch("verify", MODEL, "--model", OTHER, code=2)[1])
        etch("verify", HERE / "absent.gguf", code=5)


class Parity(unittest.TestCase):
    def test_equal_runs_are_equal(self):
        for way in (["--against-isa", "scalar"], ["-t", 1, "--against-threads", 2], ["--against-ubatch", 1],
                    ["--against-without", "fuse_residual,group_linears"], [MODEL]):
            out, _ = etch("parity", MODEL, *way)
            self.assertIn("all bits are the same", out, way)

    def test_kernels_are_near_the_plain_evaluation(self):
        j = json.loads(etch("parity", MODEL, "--kv", "f32", "--json")[0])
        self.assertEqual((j["schema"], j["promise"], j["beyond"], j["first"]), ("etch.parity/1", "rounding", 0, None))
        self.assertGreater(j["compared"], 30)
        self.assertGreater(max(v["max_abs"] for v in j["values"]), 0)
        for v in j["values"]:
            self.assertLess(v["typical"], 1e-4)  # float weights and caches: nothing but the order of sums is different

    def test_a_changed_tensor_is_named_by_the_first_value_it_goes_into(self):
        data = bytearray(pathlib.Path(MODEL).read_bytes())
        at = offset_of(MODEL, "blk.1.attn_v.weight")
        data[at:at + 4] = struct.pack("<f", struct.unpack("<f", data[at:at + 4])[0] + 0.5)
        changed = HERE / "changed.gguf"
        changed.write_bytes(data)
        out, _ = etch("parity", MODEL, changed)
        self.assertIn("nothing is promised", out)
        out, _ = etch("parity", MODEL, changed, "--tolerance", 0, code=1)
        first = out[out.index("first to part"):]
        self.assertIn("blk.1.attn_v.weight", first)
        self.assertRegex(first, r"layer 1\n  \S*circuits/llama\.circuit:\d+\n")
        j = json.loads(etch("parity", MODEL, changed, "--tolerance", 0, "--json", code=1)[0])
        self.assertEqual((j["first"]["tensor"], j["first"]["layer"]), ("blk.1.attn_v.weight", 1))
        self.assertEqual(j["first"]["worst"]["element"], 0)  # of the values: row 0 of the matrix
        self.assertEqual(len(j["first"]["near"]["a"]), 8)
        line = int(re.search(r":(\d+)$", j["first"]["location"]).group(1))
        self.assertIn("attn_v", (ROOT / "circuits/llama.circuit").read_text().splitlines()[line - 1])

    def test_somebody_elses_numbers(self):
        data = ROOT / "tests/data/tiny-hf/llama"
        model, ids = data / "model.gguf", json.loads((data / "expected.json").read_text())["token_ids"][0]
        tokens = ",".join(map(str, ids))
        reference = (data / "logits.f32").read_bytes()
        args = ["parity", model, "--kv", "f32", "--tokens", tokens, "--reference"]
        self.assertIn(f"{len(ids)} values compared", etch(*args, data / "logits.f32")[0])
        wrong, n = bytearray(reference), len(reference) // len(ids)
        wrong[3 * n:4 * n] = reference[4 * n:5 * n]
        (HERE / "wrong.f32").write_bytes(wrong)
        self.assertIn("first to part: logits of position 3", etch(*args, HERE / "wrong.f32", code=1)[0])
        (HERE / "short.f32").write_bytes(reference[:-4])
        self.assertIn("expected float32", etch(*args, HERE / "short.f32", code=2)[1])
        (HERE / "odd.f32").write_bytes(reference + b"x")
        self.assertIn("no whole number", etch(*args, HERE / "odd.f32", code=2)[1])

    def test_usage(self):
        self.assertIn("of which tokens", etch("parity", MODEL, "--reference", "x.f32", code=2)[1])
        self.assertIn("second run", etch("parity", MODEL, OTHER, "--reference", "x.f32", "--tokens", 1, code=2)[1])
        etch("parity", MODEL, "--tokens", "1,x", code=2)
        etch("parity", MODEL, "--tokens", "", code=2)
        etch("parity", MODEL, "--tokens", "99999", code=2)
        etch("parity", MODEL, HERE / "absent.gguf", code=5)
        self.assertEqual(json.loads(etch("parity", MUTE, "--json")[0])["beyond"], 0)  # ids are drawn


if __name__ == "__main__":
    tiny_model.write(MODEL)
    tiny_model.write(OTHER, seed=2)
    tiny_model.write(MUTE, vocabulary=False)
    unittest.main(argv=sys.argv[:1])

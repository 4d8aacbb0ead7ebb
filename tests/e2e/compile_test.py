"""`etch compile` end to end: compile_test.py ETCH SOURCE_ROOT [MODEL.gguf]. A tiny model (and a real one, if given) becomes a
directory; run, logits and bench use its library and give the executor's bytes; the two embedding examples continue a text as
etch does; what is wrong is said and leaves nothing behind."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tiny_model

ETCH, ROOT = sys.argv[1], pathlib.Path(sys.argv[2])
REAL = sys.argv[3] if len(sys.argv) > 3 and not sys.argv[3].startswith("-") else None
FOLDER = tempfile.TemporaryDirectory()
HERE = pathlib.Path(FOLDER.name)
MODEL, DIR = str(HERE / "tiny.gguf"), HERE / "tiny"
IDS = [(7 * i + 3) % 259 for i in range(150)]
COMPILERS = [c for c in ("cc", "gcc-12", "clang-14") if shutil.which(c)]


def etch(*args, code=0, env=None):
    """Runs etch; gives (stdout, stderr) as text after checking the exit code."""
    r = subprocess.run([ETCH, *map(str, args)], capture_output=True, timeout=300, env={**os.environ, **(env or {})},
                       stdin=subprocess.DEVNULL)
    out, err = r.stdout.decode("utf-8", "replace"), r.stderr.decode("utf-8", "replace")
    assert r.returncode == code, f"etch {' '.join(map(str, args))}: exit {r.returncode}, expected {code}\n{out}\n{err}"
    return out, err


def logits(model, *args, ids=IDS):
    out = HERE / "logits.f32"
    etch("logits", model, "--tokens", ",".join(map(str, ids)), "-o", out, *args)
    return out.read_bytes()


def greedy(model, prompt, count):
    """What etch itself continues with, by logits of ever longer texts."""
    ids = list(prompt)
    for _ in range(count):
        j = json.loads(etch("logits", model, "--tokens", ",".join(map(str, ids)), "--top", 1, "--json")[0])
        ids.append(j["positions"][-1]["top"][0][0])
    return ids[len(prompt):]


@unittest.skipUnless(COMPILERS, "there is no C compiler here")
class Compiled(unittest.TestCase):
    def test_the_library_gives_the_executors_bytes(self):
        expected = logits(MODEL)
        self.assertEqual(len(expected), 4 * 259 * len(IDS))
        for way in ([], ["-t", 1], ["--isa", "scalar"]):
            self.assertTrue(logits(DIR, *way) == expected, way)
        text = ["-p", "Hello", "-n", 20, "--seed", 3]
        self.assertEqual(etch("run", DIR, *text)[0], etch("run", MODEL, *text)[0])
        j = json.loads(etch("bench", DIR, "-p", 32, "-n", 8, "-r", 1, "--json")[0])
        self.assertEqual(j["schema"], "etch.bench/1")

    def test_it_is_whole_and_says_so(self):
        names = {p.name for p in DIR.iterdir()}
        self.assertLessEqual({"manifest.json", "model.c", "model.h", "libmodel.so", "lowered.json", "model.circuit"}, names)
        etch("verify", DIR)
        needs = subprocess.run(["ldd", DIR / "libmodel.so"], capture_output=True, text=True).stdout
        for line in needs.splitlines():
            self.assertRegex(line, r"libc\.|libm\.|ld-linux|linux-vdso|lib(a|ub)san|libgcc|libdl|libpthread|librt|libstdc", needs)
        exported = subprocess.run(["nm", "-D", "--defined-only", DIR / "libmodel.so"], capture_output=True, text=True).stdout
        self.assertTrue(all(line.split()[-1].startswith("model_") for line in exported.splitlines()
                            if "asan" not in line), exported)

    def test_any_compiler_makes_it_without_a_warning(self):
        lib = pathlib.Path(ETCH).resolve().parent.parent / "lib" / "etch"
        for compiler in COMPILERS:
            r = subprocess.run([compiler, "-std=c99", "-O2", "-fPIC", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-c",
                                "-I", lib / "include", DIR / "model.c", "-o", HERE / "model.o"], capture_output=True, text=True)
            self.assertEqual((r.returncode, r.stdout + r.stderr), (0, ""), compiler)
            other = HERE / f"by-{compiler}"
            etch("compile", MODEL, "-o", other, "--cc", compiler)
            self.assertTrue(logits(other, ids=IDS[:40]) == logits(MODEL, ids=IDS[:40]), compiler)

    def test_the_same_again(self):
        again = HERE / "again"
        etch("compile", MODEL, "-o", again, "--no-build")
        for name in ("model.c", "model.h"):
            self.assertEqual((again / name).read_bytes(), (DIR / name).read_bytes())
        self.assertIn("--no-build", etch("run", again, "-p", "a", code=5)[1])

    def test_the_model_is_found_and_checked(self):
        moved = HERE / "elsewhere"
        moved.mkdir()
        shutil.copytree(DIR, moved / "dir")
        shutil.copy(MODEL, moved / "tiny.gguf")
        self.assertTrue(logits(moved / "dir") == logits(MODEL))
        self.assertTrue(logits(moved / "dir", "--model", MODEL) == logits(MODEL))
        tiny_model.write(str(HERE / "other.gguf"), seed=2)
        _, err = etch("logits", DIR, "--tokens", "1", "--model", HERE / "other.gguf", code=1)
        self.assertIn("not the one that was compiled", err)

    def test_what_was_fixed_is_not_changed(self):
        for way in (["--ctx", 64], ["--kv", "f32"], ["--ubatch", 3], ["-t", 200], ["--without", "fuse_bias"]):
            self.assertIn("was fixed when", etch("logits", DIR, "--tokens", "1", *way, code=2)[1])
        self.assertIn("compiled directory", etch("logits", MODEL, "--tokens", "1", "--model", MODEL, code=2)[1])

    def test_examples(self):
        prompt, count = [72, 101, 108, 108, 111], 6
        expected = greedy(MODEL, prompt, count)
        program = HERE / "greedy"
        flags = ["-fsanitize=address,undefined"] if b"__asan" in (DIR / "libmodel.so").read_bytes() else []
        source = ROOT / "examples" / "embed_c" / "greedy.c"
        self.assertLess(len(source.read_text().splitlines()), 80)
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", *flags, "-I", DIR, source, DIR / "libmodel.so",
                        f"-Wl,-rpath,{DIR}", "-o", program], check=True)
        args = [str(n) for n in (count, *prompt)]
        out = subprocess.run([program, MODEL, *args], capture_output=True, text=True)
        self.assertEqual([int(n) for n in out.stdout.split()], expected, out.stderr)
        if not flags:
            out = subprocess.run([sys.executable, ROOT / "examples" / "embed_py" / "greedy.py", DIR, MODEL, *args],
                                 capture_output=True, text=True)
            self.assertEqual([int(n) for n in out.stdout.split()], expected, out.stderr)
        out = subprocess.run([program, DIR / "model.c", *args], capture_output=True, text=True)
        self.assertEqual(out.returncode, 1)
        self.assertIn("not the one that the model was compiled from", out.stderr)

    def test_a_program_answers_by_itself(self):
        program = HERE / "alone"
        etch("compile", MODEL, "--exe", "-o", program)
        elsewhere = HERE / "with-nothing-beside-it"
        elsewhere.mkdir()
        program = program.rename(elsewhere / "alone")
        for way in (["-p", "Hello", "--seed", 3, "-n", 20], ["-p", "Hello", "--raw", "--temp", 0, "-n", 30, "-t", 1],
                    ["-p", "Hello", "--system", "Be brief.", "--isa", "scalar", "-n", 5]):
            way = list(map(str, way))
            r = subprocess.run([program, *way], capture_output=True, text=True, timeout=60)
            self.assertEqual((r.returncode, r.stdout), (0, etch("run", MODEL, *way)[0]), r.stderr)
        r = subprocess.run([program, "--raw", "-n", "4"], input="Hello", capture_output=True, text=True, timeout=60)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        needs = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        if "asan" not in needs:
            for line in needs.splitlines():
                self.assertRegex(line, r"libc\.|libm\.|ld-linux|linux-vdso", needs)
        sections = subprocess.run(["readelf", "-SW", program], capture_output=True, text=True).stdout
        self.assertIn(".gguf", sections)
        subprocess.run(["objcopy", "--dump-section", f".gguf={elsewhere}/back", program, "/dev/null"], check=True)
        self.assertEqual((elsewhere / "back").read_bytes(), pathlib.Path(MODEL).read_bytes())
        # Wrong use, and a file cut short as by a full disk.
        r = subprocess.run([program, "--isa", "abacus", "-p", "a"], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 4, r.stderr)
        r = subprocess.run([program, "--nonesuch"], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 2, r.stderr)
        short = elsewhere / "short"
        short.write_bytes(program.read_bytes()[:-20000])
        short.chmod(0o755)
        r = subprocess.run([short, "-p", "a"], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 3, r.stderr)
        self.assertIn("its table of sections is not one", r.stderr)

    def test_what_runs_is_checked_before_it_runs(self):
        for name, damage in (("libmodel.so", lambda b: b[:300] + b"?" + b[301:]), ("model.circuit", lambda b: b + b"\n")):
            damaged = HERE / f"damaged-{name}"
            shutil.copytree(DIR, damaged)
            (damaged / name).write_bytes(damage((damaged / name).read_bytes()))
            _, err = etch("run", damaged, "-p", "a", "--model", MODEL, code=1)
            self.assertIn(f"{damaged}/{name}", err)
            self.assertIn("etch compile --force", err)
        (damaged / "model.circuit").unlink()
        self.assertIn("model.circuit: it is missing", etch("logits", damaged, "--tokens", "1", "--model", MODEL, code=1)[1])

    def greedy_program(self, name, *flags):
        """examples/embed_c with the C of the model in it, and so all of it under the flags but the kernels."""
        lib = pathlib.Path(ETCH).resolve().parent.parent / "lib" / "etch"
        runtime = sorted((ROOT / "src" / "code" / "runtime").glob("*.c"))
        program = HERE / name
        subprocess.run(["cc", "-std=gnu99", "-g", "-O1", *flags, "-I", DIR, "-I", ROOT / "src", "-I", lib / "include",
                        ROOT / "examples" / "embed_c" / "greedy.c", DIR / "model.c", *runtime, lib / "libetch_abi.a", "-lm",
                        "-pthread", "-o", program], check=True)
        return program

    def test_sanitizers_find_nothing(self):
        program = self.greedy_program("sanitized", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
        r = subprocess.run([program, MODEL, "20", *map(str, IDS[:100])], capture_output=True, text=True, timeout=120)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(len(r.stdout.split()), 20)

    @unittest.skipUnless(shutil.which("valgrind"), "there is no valgrind here")
    def test_valgrind_finds_nothing(self):
        if b"__asan" in (DIR / "libmodel.so").read_bytes():
            self.skipTest("valgrind does not run sanitized programs")
        program = self.greedy_program("plain")
        # It knows no AVX-512 and says so to programs that ask, so that this is avx2.
        r = subprocess.run(["valgrind", "-q", "--error-exitcode=9", "--leak-check=full", program,
                            MODEL, "3", *map(str, IDS[:40])], capture_output=True, text=True, timeout=300)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertEqual(len(r.stdout.split()), 3)

    @unittest.skipUnless(REAL, "no real model was given")
    def test_a_real_model(self):
        ids = [(31 * i + 7) % 40000 for i in range(60)]
        target = HERE / "real"
        etch("compile", REAL, "-o", target)
        self.assertLess(len((target / "model.c").read_text().splitlines()), 1500)
        expected = logits(REAL, ids=ids)
        answer = ["--raw", "-p", "Once upon a time", "-n", 24, "--temp", 0]
        text = etch("run", REAL, *answer)[0]
        for isa in ("scalar", "avx2", "avx512", "avx512_vnni"):
            if subprocess.run([ETCH, "logits", REAL, "--tokens", "1", "--isa", isa], capture_output=True).returncode == 4:
                print(f"not run: {isa}, which this machine does not have", file=sys.stderr)
                continue
            for threads in (1, 2):
                self.assertTrue(logits(target, "-t", threads, "--isa", isa, ids=ids) == expected, (isa, threads))
                self.assertEqual(etch("run", target, *answer, "-t", threads, "--isa", isa)[0], text, (isa, threads))
        again = HERE / "real-again"
        etch("compile", REAL, "-o", again)
        for file in sorted(target.iterdir()):
            self.assertTrue((again / file.name).read_bytes() == file.read_bytes(), file.name)
        etch("verify", target)


class Refusals(unittest.TestCase):
    def test_a_program_takes_no_other_files_place_unasked(self):
        mine = HERE / "mine.txt"
        mine.write_text("keep me")
        self.assertIn("--force", etch("compile", MODEL, "--exe", "-o", mine, code=2)[1])
        self.assertEqual(mine.read_text(), "keep me")
        self.assertIn("is the model itself", etch("compile", MODEL, "--exe", "-o", MODEL, "--force", code=2)[1])
        self.assertIn("is no file", etch("compile", MODEL, "--exe", "-o", HERE, "--force", code=2)[1])
        self.assertIn("--no-build", etch("compile", MODEL, "--exe", "--no-build", "-o", HERE / "never", code=2)[1])
        mute = HERE / "mute.gguf"
        mute.write_bytes(pathlib.Path(MODEL).read_bytes().replace(b"gpt2", b"gpt7"))
        self.assertIn("a program answers text", etch("compile", mute, "--exe", "-o", HERE / "never", code=4)[1])
        self.assertEqual([p for p in HERE.iterdir() if p.name.startswith("never")], [])

    def test_a_directory_is_replaced_only_on_request_and_only_if_etch_made_it(self):
        mine = HERE / "mine"
        mine.mkdir()
        (mine / "letter.txt").write_text("keep me")
        self.assertIn("--force", etch("compile", MODEL, "-o", mine, "--no-build", code=2)[1])
        self.assertIn("no compiled model", etch("compile", MODEL, "-o", mine, "--no-build", "--force", code=2)[1])
        self.assertEqual((mine / "letter.txt").read_text(), "keep me")
        twice = HERE / "twice"
        etch("compile", MODEL, "-o", twice, "--no-build")
        (twice / "old").write_text("")
        etch("compile", MODEL, "-o", twice, "--no-build", "--force")
        self.assertFalse((twice / "old").exists())

    def test_without_a_compiler(self):
        empty = HERE / "no-programs"
        empty.mkdir(exist_ok=True)
        for way, env in (([], {"PATH": str(empty)}), (["--cc", "nonesuch"], {})):
            _, err = etch("compile", MODEL, "-o", HERE / "never", *way, code=5, env=env)
            self.assertIn("no C compiler", err)
            self.assertIn("`etch run MODEL` works without", err)
        self.assertFalse((HERE / "never").exists())

    def test_a_compiler_that_fails_is_quoted_with_its_command(self):
        broken = HERE / "broken-cc"
        broken.write_text("#!/bin/sh\n[ \"$1\" = --version ] && { echo broken 1.0; exit 0; }\necho 'model.c: out of ink' >&2\nexit 3\n")
        broken.chmod(0o755)
        _, err = etch("compile", MODEL, "-o", HERE / "never", "--cc", broken, code=5)
        self.assertIn("out of ink", err)
        self.assertIn("exit code 3", err)
        self.assertIn(f"{broken} -std=c99", err)
        self.assertEqual([p for p in HERE.iterdir() if p.name.startswith("never")], [])


if __name__ == "__main__":
    tiny_model.write(MODEL)
    if COMPILERS:
        etch("compile", MODEL, "-o", DIR)
    unittest.main(argv=sys.argv[:1] + sys.argv[4 if REAL else 3:], verbosity=1)

#!/usr/bin/env python3
"""layers_test.py ROOT: the source keeps to the layers of src/CMakeLists.txt.

 - a file includes headers of its own layer, of the layers it USES, and of include/etch; a layer uses those above it in
   the table only; tests may also include tests/support
 - kernels/{simd,formats,ops}, compiled once for each instruction set, include integer types, intrinsics, each other
   and what is as harmless as they are
 - include/etch includes nothing of src
 - architecture names (of circuits/) stand in no string of C++, but for text/ (vocabulary kinds), legacy/ and
   quantize/mixes.def

Before it looks at ROOT, it plants each violation in a little tree and makes sure it is found.
"""
import pathlib
import re
import sys
import tempfile

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SOURCES = (".h", ".cc", ".def", ".in", ".hpp", ".c")
MACHINE_FOLDERS = ("kernels/simd/", "kernels/formats/", "kernels/ops/")
MACHINE_SYSTEM = {"cstdint", "cstddef", "stdint.h", "stddef.h", "immintrin.h", "arm_neon.h"}
MACHINE_OTHERS = {"dtypes/blocks.h", "dtypes/float16.h", "etch/model_abi.h"}  # data, or static functions
MAY_NAME_ARCHITECTURES = ("src/text/", "src/legacy/", "src/quantize/mixes.def")


def is_test(path: str) -> bool:
    return path.endswith("_test.cc")


def read_layers(cmake: str) -> dict[str, list[str]]:
    """layer -> the layers it uses, in the order of the table."""
    layers = {}
    for name, rest in re.findall(r"^etch_layer\((\w+)([^)]*)\)", cmake, re.MULTILINE):
        words = rest.split()
        uses = []
        if "USES" in words:
            for word in words[words.index("USES") + 1:]:
                if word.isupper():
                    break
                uses.append(word)
        layers[name] = uses
    return layers


def strip_comments(text: str) -> str:
    """C++ without its comments; strings and line numbers stay."""
    pattern = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n"), text)


class Tree:
    def __init__(self, root: pathlib.Path):
        self.root = root
        self.findings: list[str] = []
        self.files = {
            str(path.relative_to(root)): strip_comments(path.read_text(encoding="utf-8", errors="replace"))
            for top in ("src", "include") for path in sorted((root / top).rglob("*"))
            if path.suffix in SOURCES and path.is_file()
        }
        self.layers = read_layers((root / "src/CMakeLists.txt").read_text(encoding="utf-8"))

    def say(self, path: str, position: int, message: str) -> None:
        line = self.files[path].count("\n", 0, position) + 1
        self.findings.append(f"{path}:{line}: {message}")

    def includes(self, path: str):
        for match in INCLUDE.finditer(self.files[path]):
            yield match.start(), match[1], match[2]

    def check_table(self) -> None:
        known: list[str] = []
        for layer, uses in self.layers.items():
            for used in uses:
                if used not in known:
                    self.findings.append(f"src/CMakeLists.txt: layer {layer} uses {used}, which is not below it")
            known.append(layer)
        if not known:
            self.findings.append("src/CMakeLists.txt: no layers found")

    def check_layers(self) -> None:
        for path in self.files:
            parts = path.split("/")
            if parts[0] != "src" or len(parts) < 3:
                continue
            layer = parts[1]
            if layer not in self.layers:
                self.findings.append(f"{path}: folder {layer} is no layer of src/CMakeLists.txt")
                continue
            for position, own, _ in self.includes(path):
                if own is None or "@" in own:
                    continue
                target = own.split("/")[0]
                if target == "etch" or (target == "support" and is_test(path)):
                    continue
                if target not in self.layers:
                    self.say(path, position, f'"{own}" is in no layer; includes start at the src/ root')
                elif target != layer and target not in self.layers[layer]:
                    self.say(path, position, f'layer {layer} may not include "{own}"; it uses {self.layers[layer]}')
                elif f"src/{own}" not in self.files:
                    self.say(path, position, f'there is no "{own}"')

    def check_machine_code(self) -> None:
        """The folders compiled per instruction set, and the headers of kernels/ they take in."""
        waiting = [p for p in self.files if p.startswith(tuple(f"src/{f}" for f in MACHINE_FOLDERS)) and not is_test(p)]
        seen = set(waiting)
        while waiting:
            path = waiting.pop()
            for position, own, system in self.includes(path):
                if system is not None:
                    if system not in MACHINE_SYSTEM:
                        self.say(path, position, f"<{system}> in code for one machine; only integer types and intrinsics")
                elif own in MACHINE_OTHERS or "@" in own:
                    continue
                elif not own.startswith("kernels/"):
                    self.say(path, position, f'"{own}" in code for one machine')
                elif f"src/{own}" in self.files and f"src/{own}" not in seen:
                    seen.add(f"src/{own}")
                    waiting.append(f"src/{own}")

    def check_public_headers(self) -> None:
        for path in self.files:
            if not path.startswith("include/etch/"):
                continue
            for position, own, _ in self.includes(path):
                if own is not None and not own.startswith("etch/"):
                    self.say(path, position, f'a public header includes "{own}"')

    def architecture_names(self) -> set[str]:
        names = set()
        for circuit in (self.root / "circuits").glob("*.circuit"):
            text = circuit.read_text(encoding="utf-8")
            names.update(re.findall(r"^circuit\s+([\w-]+)", text, re.MULTILINE))
            for line in re.findall(r"^match\s+(.*)", text, re.MULTILINE):
                compared = re.findall(r'arch\s*(?:==|in)\s*(\[[^\]]*\]|"[^"]*")', line.split("#")[0])
                names.update(name for group in compared for name in re.findall(r'"([^"]+)"', group))
        return names

    def check_architecture_names(self) -> None:
        names = self.architecture_names()
        if not names:
            self.findings.append("circuits/: no architecture names found")
            return
        # The whole string, or the first word of a key: "llama", "llama.block_count".
        pattern = re.compile(r'"(' + "|".join(re.escape(n) for n in sorted(names, key=len, reverse=True)) + r')[."]')
        for path, text in self.files.items():
            if is_test(path) or path.startswith(MAY_NAME_ARCHITECTURES):
                continue
            for match in pattern.finditer(text):
                self.say(path, match.start(), f'the architecture name "{match[1]}"; architectures are text files in circuits/')


def check(root: pathlib.Path) -> list[str]:
    tree = Tree(root)
    tree.check_table()
    tree.check_layers()
    tree.check_machine_code()
    tree.check_public_headers()
    tree.check_architecture_names()
    return tree.findings


GOOD_TREE = {
    "src/CMakeLists.txt": "etch_layer(base LINKS x::y)\netch_layer(dtypes USES base)\netch_layer(kernels USES base dtypes)\n"
                          "etch_layer(text USES base\n  LINKS z::z)\n",
    "src/base/bytes.h": "#include <vector>\n",
    "src/dtypes/blocks.h": "#include <cstdint>\n",
    "src/dtypes/dtype.h": '#include "base/bytes.h"\n#include "dtypes/blocks.h"\n',
    "src/dtypes/dtype_test.cc": '#include "support/hex.h"\nconst char* a = "llama";\n',
    "src/kernels/activations.h": "#include <cstdint>\n",
    "src/kernels/registry.cc": '#include "dtypes/dtype.h"\n#include <vector>\n',
    "src/kernels/simd/avx2.h": '#include <immintrin.h>\n#include "kernels/activations.h"\n#include "dtypes/blocks.h"\n',
    "src/kernels/ops/norm.h": '#include "kernels/simd/avx2.h"\n#include "etch/model_abi.h"\n',
    "src/text/kinds.cc": 'const char* kind = "llama";\n',
    "src/base/check.cc": '// a comment may say "llama"\nconst char* url = "http://llama.b";  /* "llama" */\n',
    "include/etch/model_abi.h": "#include <stdint.h>\n",
    "include/etch/etch.h": '#include "etch/model_abi.h"\n',
    "circuits/mixtral.circuit": 'circuit mixtral 2\nmatch arch == "llama" and (key("expert_count") else 0) > 0\n',
    "circuits/deepseek2.circuit": 'circuit deepseek2 1\nmatch arch in ["deepseek2", "mistral4"]  # "V3"\n',
}

# What is planted: file, text added to it, words of the finding.
PLANTED = [
    ("src/base/bytes.h", '#include "dtypes/dtype.h"\n', "layer base may not include"),
    ("src/text/kinds.cc", '  #  include "dtypes/dtype.h"\n', "layer text may not include"),
    ("src/dtypes/dtype_test.cc", '#include "kernels/activations.h"\n', "layer dtypes may not include"),
    ("src/dtypes/dtype.h", '#include "support/hex.h"\n', "is in no layer"),
    ("src/dtypes/dtype.h", '#include "blocks.h"\n', "is in no layer"),
    ("src/dtypes/dtype.h", '#include "dtypes/none.h"\n', 'there is no "dtypes/none.h"'),
    ("src/extra/new.h", "\n", "folder extra is no layer"),
    ("src/CMakeLists.txt", "etch_layer(low USES high)\netch_layer(high USES base)\n", "uses high, which is not below it"),
    ("src/kernels/simd/avx2.h", "#include <vector>\n", "<vector> in code for one machine"),
    ("src/kernels/ops/norm.h", '#include "base/bytes.h"\n', '"base/bytes.h" in code for one machine'),
    ("src/kernels/activations.h", "#include <algorithm>\n", "src/kernels/activations.h:2: <algorithm> in code for one machine"),
    ("include/etch/etch.h", '#include "base/bytes.h"\n', "a public header includes"),
    ("src/kernels/registry.cc", 'if (arch == "llama") {}\n', 'src/kernels/registry.cc:3: the architecture name "llama"'),
    ("src/kernels/registry.cc", 'key("llama.block_count");\n', 'the architecture name "llama"'),
    ("src/base/check.cc", 'x = "mixtral";\n', 'the architecture name "mixtral"'),
    ("src/dtypes/dtype.h", 'x = "mistral4";\n', 'the architecture name "mistral4"'),
    ("include/etch/etch.h", 'x = "deepseek2";\n', 'the architecture name "deepseek2"'),
]


def write_tree(root: pathlib.Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_the_test() -> list[str]:
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        write_tree(pathlib.Path(folder), GOOD_TREE)
        problems += [f"a good tree: {finding}" for finding in check(pathlib.Path(folder))]
    for name, added, expected in PLANTED:
        with tempfile.TemporaryDirectory() as folder:
            write_tree(pathlib.Path(folder), GOOD_TREE | {name: GOOD_TREE.get(name, "") + added})
            findings = check(pathlib.Path(folder))
            if len(findings) != 1 or expected not in findings[0]:
                problems.append(f"planted {added.strip()!r} in {name}: expected one finding with {expected!r}, got {findings}")
    return problems


def main() -> int:
    problems = test_the_test()
    for problem in problems:
        print(f"layers_test.py itself: {problem}")
    findings = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for finding in findings:
        print(finding)
    print(f"{len(PLANTED)} planted violations, {len(problems)} missed; {len(findings)} findings in the source")
    return 1 if problems or findings else 0


if __name__ == "__main__":
    sys.exit(main())

"""circuit_seeds.py SOURCE_ROOT FOLDER: seeds of the circuit fuzzer out of circuits/*.circuit, and its dictionary.

FOLDER/seeds has every circuit whole, and cut in parts: its first lines with one section each. Short inputs run a hundred times
as often, and sections of different circuits are what the fuzzer crosses. FOLDER/dictionary has the language's words."""
import pathlib
import re
import sys

WORDS = ["circuit ", "match arch == ", "dims {", "parts {", "state {", "flow(tokens) -> logits {", "def ", "ignore {", "import {",
         "each l in 0..n_layers {", "pack ", "if ", " else ", "require ", "key(\"", "keys(\"", "rotary(", "cache(", "bias?", "..",
         "->", "//", "true", "false", " in [", " and ", " or ", "not "]


def main() -> None:
    root, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    seeds = out / "seeds"
    seeds.mkdir(parents=True, exist_ok=True)
    for path in sorted((root / "circuits").glob("*.circuit")):
        text = path.read_text()
        (seeds / path.name).write_text(text)
        # Sections begin at the left margin and end with a brace there.
        head, *sections = re.split(r"^(?=[a-z]+[^\n]*\{ *$)", text, flags=re.M)
        for i, section in enumerate(sections):
            (seeds / f"{path.stem}-{i}").write_text(head + section)
    operations = re.findall(r"^OP\(\w+, *\"(\w+)\"", (root / "src/ops/ops.def").read_text(), re.M)
    quoted = [w.replace("\\", "\\\\").replace('"', '\\"') for w in WORDS + [o + "(" for o in operations]]
    (out / "dictionary").write_text("".join(f'"{w}"\n' for w in quoted))


main()

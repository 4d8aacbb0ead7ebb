"""Continues a text of token ids with the likeliest tokens, through the library of a compiled model and ctypes alone:

    etch compile model.gguf -o smollm2
    python3 greedy.py smollm2 model.gguf 20 504 3575 282 4649 314
"""
import ctypes
import mmap
import re
import sys
from pathlib import Path


class Model:
    """A compiled model on its GGUF file, with one text."""

    def __init__(self, directory: Path, gguf: str, n_threads: int = 1) -> None:
        header = (directory / "model.h").read_text()
        size = {name: int(value) for name, value in re.findall(r"(MODEL_N_\w+) = (\d+)", header)}
        self.n_vocab = size["MODEL_N_VOCAB"]
        self.lib = lib = ctypes.CDLL(str(directory.resolve() / "libmodel.so"))
        lib.model_error.restype = ctypes.c_char_p
        for name in ("model_bytes", "model_text_bytes", "model_text_length"):
            getattr(lib, name).restype = ctypes.c_int64
        lib.model_text_bytes.argtypes = [ctypes.c_int64]

        # Anonymous pages are zeroed, aligned, and taken only when they are touched.
        self.memory = mmap.mmap(-1, lib.model_bytes(n_threads))
        self.text_memory = mmap.mmap(-1, lib.model_text_bytes(size["MODEL_N_CTX"]))
        self.model, self.text = ctypes.c_void_p(), ctypes.c_void_p()
        self.check(lib.model_open(ctypes.byref(self.model), self.address(self.memory), gguf.encode(), n_threads, None))
        self.check(lib.model_text_begin(self.model, ctypes.byref(self.text), self.address(self.text_memory),
                                        ctypes.c_int64(size["MODEL_N_CTX"])))

    @staticmethod
    def address(memory: mmap.mmap) -> ctypes.c_void_p:
        return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)))

    def check(self, status: int) -> None:
        if status != 0:
            raise SystemExit(self.lib.model_error(status).decode())

    def append(self, tokens: list[int]) -> list[float]:
        """Appends tokens; the logits behind the last of them."""
        logits = ctypes.POINTER(ctypes.c_float)()
        array = (ctypes.c_int32 * len(tokens))(*tokens)
        self.check(self.lib.model_text_append(self.model, self.text, array, len(tokens), ctypes.byref(logits)))
        return logits[:self.n_vocab]

    def stop(self) -> None:
        self.lib.model_stop(self.model)


def main() -> None:
    if len(sys.argv) < 5:
        raise SystemExit("usage: greedy.py DIRECTORY MODEL.gguf COUNT TOKEN...")
    model = Model(Path(sys.argv[1]), sys.argv[2])
    logits = model.append([int(token) for token in sys.argv[4:]])
    for _ in range(int(sys.argv[3])):
        token = max(range(model.n_vocab), key=logits.__getitem__)
        print(token)
        logits = model.append([token])
    model.stop()


if __name__ == "__main__":
    main()

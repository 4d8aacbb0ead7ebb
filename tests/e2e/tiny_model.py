"""A tiny llama with a vocabulary, as a GGUF file: two layers of random float weights, one token a byte, three control
tokens, a chat template. Written with the standard library alone, so that the command line can be tested on any machine."""
import random
import struct
from typing import Any

UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5
TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def text(s: str) -> bytes:
    b = s.encode()
    return struct.pack("<Q", len(b)) + b


def value(kind: int, v: Any) -> bytes:
    if kind == STRING:
        return text(v)
    if kind == ARRAY:
        element, items = v
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, i) for i in items)
    return struct.pack({UINT32: "<I", INT32: "<i", FLOAT32: "<f"}[kind], v)


def byte_letters() -> list[str]:
    """The letter each byte has in the vocabularies of byte-level BPE."""
    printable = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    letters, extra = {b: chr(b) for b in printable}, 0
    for b in range(256):
        if b not in letters:
            letters[b] = chr(256 + extra)
            extra += 1
    return [letters[b] for b in range(256)]


def write(path: str, architecture: str = "llama", vocabulary: bool = True, template: bool = True, seed: int = 1,
          n_layers: int = 2, poison: bool = False) -> None:
    d_model, n_heads, n_kv_heads, d_ff, control = 64, 4, 2, 96, ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
    tokens = byte_letters() + control
    keys = [("general.architecture", STRING, architecture), ("general.name", STRING, "tiny"),
            (f"{architecture}.block_count", UINT32, n_layers), (f"{architecture}.context_length", UINT32, 256),
            (f"{architecture}.embedding_length", UINT32, d_model), (f"{architecture}.feed_forward_length", UINT32, d_ff),
            (f"{architecture}.attention.head_count", UINT32, n_heads),
            (f"{architecture}.attention.head_count_kv", UINT32, n_kv_heads),
            (f"{architecture}.rope.dimension_count", UINT32, d_model // n_heads),
            (f"{architecture}.rope.freq_base", FLOAT32, 10000.0),
            (f"{architecture}.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5)]
    if vocabulary:
        keys += [("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "smollm"),
                 ("tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
                 ("tokenizer.ggml.token_type", ARRAY, (INT32, [1] * 256 + [3] * len(control))),
                 ("tokenizer.ggml.merges", ARRAY, (STRING, [])),
                 ("tokenizer.ggml.bos_token_id", UINT32, 256), ("tokenizer.ggml.eos_token_id", UINT32, 257)]
        if template:
            keys.append(("tokenizer.chat_template", STRING, TEMPLATE))
    else:
        keys.append(("tokenizer.ggml.model", STRING, "none"))
    shapes = {"token_embd.weight": (len(tokens), d_model), "output_norm.weight": (d_model,),
              "output.weight": (len(tokens), d_model)}
    kv = n_kv_heads * d_model // n_heads
    for layer in range(n_layers):
        for name, shape in {"attn_norm": (d_model,), "attn_q": (d_model, d_model), "attn_k": (kv, d_model),
                            "attn_v": (kv, d_model), "attn_output": (d_model, d_model), "ffn_norm": (d_model,),
                            "ffn_gate": (d_ff, d_model), "ffn_up": (d_ff, d_model), "ffn_down": (d_model, d_ff)}.items():
            shapes[f"blk.{layer}.{name}.weight"] = shape
    rng = random.Random(seed)
    data, infos = b"", b""
    for name, shape in shapes.items():
        n = 1
        for length in shape:
            n *= length
        numbers = [1 + rng.gauss(0, 0.1) if len(shape) == 1 else rng.gauss(0, 0.15) for _ in range(n)]
        if poison and name == "output_norm.weight":
            numbers[0] = float("nan")
        infos += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", x) for x in reversed(shape))
        infos += struct.pack("<IQ", 0, len(data))
        data += struct.pack(f"<{n}f", *numbers) + b"\0" * (-4 * n % 32)
    header = struct.pack("<IIQQ", 0x46554747, 3, len(shapes), len(keys))
    header += b"".join(text(k) + struct.pack("<I", kind) + value(kind, v) for k, kind, v in keys) + infos
    with open(path, "wb") as f:
        f.write(header + b"\0" * (-len(header) % 32) + data)

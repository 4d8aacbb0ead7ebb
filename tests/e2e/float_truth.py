"""How far logits lie from the float truth of a passage in shared/data/models (its README tells how that was made). The full
truth of a position is its last hidden state times the transposed token embedding; the files hold hidden states alone."""
import json
import pathlib
from typing import NamedTuple

import numpy


class Distance(NamedTuple):
    """Sums over positions, to be added up over passages."""
    positions: int  # that have a hidden state
    kl: float
    kl_max: float
    tokens: int
    same_top: int
    predicted: int  # tokens with a next one
    logp: float     # of the next token: ours less the truth's


class Passage:
    def __init__(self, folder: pathlib.Path) -> None:
        def read(name: str, kind: str) -> numpy.ndarray:
            return numpy.fromfile(folder / name, kind)
        info = json.loads((folder / "info.json").read_text())
        self.n, at = info["n_tokens"], info["hidden_positions"]
        self.ids = read("tokens.i32", "<i4")
        self.hidden_at = at["first"] + at["step"] * numpy.arange(at["count"])
        self.hidden = read("hidden.f32", "<f4").reshape(at["count"], -1)
        self.top = read("top_ids.i32", "<i4").reshape(self.n, 20)[:, 0]
        self.next_logp = read("next_logp.f32", "<f4").astype(numpy.float64)
        self.full = {p: read(f"logits_{p}.f16", "<f2") for p in info["full_logits"]}

    def truth(self, positions: numpy.ndarray, embedding: numpy.ndarray) -> numpy.ndarray:
        return self.hidden[numpy.searchsorted(self.hidden_at, positions)] @ embedding.T


def log_sum_exp(x: numpy.ndarray) -> tuple[float, numpy.ndarray]:
    """ln sum exp of a row in float64; and the exponentials that were added, for the largest one 1."""
    top = float(x.max())
    e = numpy.exp(x.astype(numpy.float64) - top)
    return top + float(numpy.log(e.sum())), e


class Judge:
    """Takes the logits of a passage, some rows at a time in order, and adds up

    KL(truth || ours) = sum_i p_i (t_i - o_i) - (ln sum exp t - ln sum exp o), p = softmax(t)

    over the positions that have a hidden state; and over all, how often the likeliest token is the truth's, and by how much
    the log-probability of the next token differs."""

    def __init__(self, passage: Passage, embedding: numpy.ndarray) -> None:
        self.passage, self.embedding = passage, embedding
        self.seen = self.same_top = 0
        self.kl: list[float] = []
        self.logp = 0.0

    def take(self, rows: numpy.ndarray) -> None:
        p, first = self.passage, self.seen
        self.seen += len(rows)
        known = p.hidden_at[(p.hidden_at >= first) & (p.hidden_at < self.seen)]
        truth = dict(zip(known.tolist(), p.truth(known, self.embedding)))
        for at, ours in enumerate(rows, first):
            self.same_top += int(ours.argmax()) == p.top[at]
            total, _ = log_sum_exp(ours)
            if at + 1 < p.n:
                self.logp += float(ours[p.ids[at + 1]]) - total - p.next_logp[at]
            if at in truth:
                t = truth[at]
                truth_total, e = log_sum_exp(t)
                self.kl.append(float(e @ (t.astype(numpy.float64) - ours)) / float(e.sum()) - (truth_total - total))

    def distance(self) -> Distance:
        n = self.passage.n
        assert self.seen == n, f"{self.seen} rows of {n}"
        return Distance(len(self.kl), sum(self.kl), max(self.kl), n, self.same_top, n - 1, self.logp)

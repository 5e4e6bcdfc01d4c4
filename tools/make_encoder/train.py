"""Train attention layers over the static table so that a text's vector points where the teacher's points.

    student = normalise( sum of gate(x) * row + mean of out(x) )

The rows are those of the table in the package and stay as they are; x are the same rows after positions and the layers. With a
gate of one and no `out` the student would be the table; training begins near it. The teacher runs beside it (it is small): so half
of each batch can be texts that nobody wrote, with words replaced by words like them, and the student never sees a text
twice the same way. Needs torch with one CUDA device, transformers, tokenizers and safetensors. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from texts import all_texts
from torch import Tensor, nn

DEVICE = "cuda"
WIDTH, TEACHER_WIDTH = 256, 384
LONGEST = 98  # tokens of a text, with [CLS] and [SEP]
FIRST, LAST = 101, 102
BUCKETS = (12, 20, 32, 48, LONGEST)  # texts of like length are trained together
SIZES = (6144, 4096, 3072, 2048, 1280)  # texts of each in a batch
HELD = 8000  # texts that are never trained on
LIKE = 48  # words that may stand for a word
COMPARED = 2048  # texts of a batch whose similarities are compared
TEMPERATURE = 0.05
RATE = 1.5e-3


class Teacher:
    """The sentence model: the mean of its last layer over all tokens, normalised."""

    def __init__(self, folder: Path) -> None:
        from safetensors.torch import load_file
        from transformers import BertConfig, BertModel

        weights = {k: v.float() for k, v in load_file(folder / "teacher.safetensors").items() if "pooler" not in k}
        model = BertModel(BertConfig.from_json_file(str(folder / "config.json")), add_pooling_layer=False)
        missing, unexpected = model.load_state_dict(weights, strict=False)
        assert not [key for key in (*missing, *unexpected) if "position_ids" not in key], (missing, unexpected)
        self.model = model.to(DEVICE).half().eval()

    @torch.no_grad()
    def vectors(self, ids: Tensor, lengths: Tensor) -> Tensor:
        mask = within(ids, lengths)
        last = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
        return F.normalize((last * mask[..., None]).sum(1) / lengths[:, None], dim=1)


class Corpus:
    """The token ids of all texts, the shortest first."""

    def __init__(self, texts: list[str], tokenizer: Path) -> None:
        from tokenizers import Tokenizer

        cut = Tokenizer.from_file(str(tokenizer))
        cut.no_padding()
        cut.enable_truncation(LONGEST)
        found = [
            each.ids for at in range(0, len(texts), 100_000) for each in cut.encode_batch(texts[at : at + 100_000])
        ]
        found.sort(key=len)
        table = np.zeros((len(found), LONGEST), np.int32)
        for row, ids in enumerate(found):
            table[row, : len(ids)] = ids
        self.table = torch.from_numpy(table).to(DEVICE)
        self.lengths = torch.tensor([len(ids) for ids in found], device=DEVICE)

    def __len__(self) -> int:
        return len(self.table)

    def texts(self, which: Tensor) -> tuple[Tensor, Tensor]:
        lengths = self.lengths[which]
        return self.table[which, : int(lengths.max())].long(), lengths


def within(ids: Tensor, lengths: Tensor) -> Tensor:
    return torch.arange(ids.shape[1], device=DEVICE)[None] < lengths[:, None]


def summed(ids: Tensor, lengths: Tensor) -> Tensor:
    """Which tokens count: all but [CLS] and [SEP]."""
    return within(ids, lengths) & (ids != FIRST) & (ids != LAST)


class Layer(nn.Module):
    def __init__(self, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.f1, self.f2 = nn.Linear(WIDTH, inner), nn.Linear(inner, WIDTH)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        x = x + self.o(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.f2(F.gelu(self.f1(self.n2(x)), approximate="tanh"))


class Student(nn.Module):
    """The rows of the table, each weighed and corrected by what stands around it."""

    def __init__(self, rows: Tensor, layers: int, heads: int, inner: int) -> None:
        super().__init__()
        self.bag = nn.Embedding.from_pretrained(rows.clone(), freeze=True)
        self.scale, self.pos = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.zeros(128, WIDTH))
        self.layers = nn.ModuleList(Layer(heads, inner) for _ in range(layers))
        self.n, self.gate, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)
        nn.init.normal_(self.out.weight, std=0.02)

    def forward(self, ids: Tensor, mask: Tensor, dropped: float = 0.0) -> Tensor:
        rows, weight = self.bag(ids), mask.float()[..., None]
        if dropped:
            weight = weight * (torch.rand_like(weight) > dropped)
        seen = mask.clone()
        seen[:, 0] = True
        x = rows * self.scale + self.pos[: ids.shape[1]]
        for layer in self.layers:
            x = layer(x, seen)
        x = self.n(x)
        gate = torch.sigmoid(self.gate(x)) * 2 * weight
        mean = (self.out(x) * weight).sum(1) / weight.sum(1).clamp(min=1)
        return F.normalize((rows * gate).sum(1) + mean + 1e-9, dim=1)


class Swap:
    """Other texts of the same shape: some words replaced by words like them, a few by a word of another text."""

    def __init__(self, rows: Tensor, vocabulary: list[str]) -> None:
        whole = [token.isalpha() and len(token) > 2 for token in vocabulary]  # no piece of a word
        self.whole = torch.tensor(whole, device=DEVICE)
        normal = F.normalize(rows, dim=1)
        likeness = (normal[at : at + 2000] @ normal.T for at in range(0, len(rows), 2000))
        self.like = torch.cat([each.masked_fill(~self.whole[None], -9).topk(LIKE, 1).indices for each in likeness])

    def __call__(self, ids: Tensor, mask: Tensor) -> Tensor:
        share = torch.rand(len(ids), 1, device=DEVICE) * 0.5
        swap = self.whole[ids] & mask & (torch.rand(ids.shape, device=DEVICE) < share)
        ids = torch.where(swap, self.like[ids, torch.randint(0, LIKE, ids.shape, device=DEVICE)], ids)
        other = ids[torch.randperm(len(ids), device=DEVICE)]
        mix = self.whole[other] & self.whole[ids] & mask & (torch.rand(ids.shape, device=DEVICE) < 0.04)
        return torch.where(mix, other, ids)


def turned(corpus: Corpus, teacher: Teacher, rows: Tensor) -> Tensor:
    """Teacher's 384 dimensions to the table's 256: the directions that hold most, then turned to where the table points. The
    table stays as it is, because the turns of every store keep its vectors."""
    some = torch.randperm(len(corpus), device=DEVICE)[:100_000].sort().values
    taught, sums = [], []
    for part in some.split(2000):
        ids, lengths = corpus.texts(part)
        taught.append(teacher.vectors(ids, lengths))
        sums.append((rows[ids] * summed(ids, lengths)[..., None]).sum(1))
    wanted, table = torch.cat(taught), F.normalize(torch.cat(sums), dim=1)
    most = torch.linalg.svd(wanted, full_matrices=False)[2][:WIDTH].T
    left, _, right = torch.linalg.svd(table.T @ F.normalize(wanted @ most, dim=1))
    return most @ (left @ right).T


def loss_of(made: Tensor, wanted: Tensor) -> Tensor:
    """One minus the cosine, plus how far the similarities within the batch differ."""
    many = min(len(made), COMPARED)
    same = torch.eye(many, device=DEVICE, dtype=torch.bool)
    ours, theirs = ((each[:many] @ each[:many].T / TEMPERATURE).masked_fill(same, -1e4) for each in (made, wanted))
    apart = F.kl_div(ours.log_softmax(1), theirs.softmax(1), reduction="batchmean")
    return 1 - (made * wanted).sum(1).mean() + 0.5 * apart


@torch.no_grad()
def report(student: Student, teacher: Teacher, turn: Tensor, corpus: Corpus, held: Tensor) -> str:
    """Cosine to the teacher, and how often the student's nearest text is among the teacher's ten nearest."""
    made, wanted = [], []
    for part in held.split(1000):
        ids, lengths = corpus.texts(part)
        made.append(student(ids, summed(ids, lengths)).float())
        wanted.append(F.normalize(teacher.vectors(ids, lengths) @ turn, dim=1))
    ours, theirs = torch.cat(made), torch.cat(wanted)
    cosine = (ours * theirs).sum(1).mean().item()
    nearest = (ours @ ours.T).fill_diagonal_(-9).argmax(1)[:, None]
    near = (nearest == (theirs @ theirs.T).fill_diagonal_(-9).topk(10, 1).indices).any(1).float().mean().item()
    return f"cosine {cosine:.4f} near {near:.3f}"


class Batches:
    """Texts of one length, drawn as often as there are such; those held back are never among them."""

    def __init__(self, corpus: Corpus, held: Tensor) -> None:
        self.corpus, self.dice = corpus, np.random.default_rng(1)
        self.edges = [0, *(int((corpus.lengths <= size).sum()) for size in BUCKETS)]
        self.free = torch.ones(len(corpus), dtype=torch.bool, device=DEVICE)
        self.free[held] = False

    def next(self) -> tuple[Tensor, Tensor]:
        bucket = self.dice.choice(len(SIZES), p=np.diff(self.edges) / len(self.corpus))
        which = torch.randint(self.edges[bucket], self.edges[bucket + 1], (SIZES[bucket],), device=DEVICE)
        return self.corpus.texts(which[self.free[which]])


def train(
    corpus: Corpus, teacher: Teacher, table: Path, shape: tuple[int, int, int], seconds: float
) -> dict[str, Tensor]:
    torch.manual_seed(1)
    scales = np.load(table / "static-256.scales.npy").astype(np.float32).reshape(-1, 1)
    rows = torch.from_numpy(np.load(table / "static-256.npy").astype(np.float32) * scales).to(DEVICE)
    swap = Swap(rows, (table / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    turn = turned(corpus, teacher, rows)
    held = torch.randperm(len(corpus), device=DEVICE)[:HELD]
    batches, student = Batches(corpus, held), Student(rows, *shape).to(DEVICE)
    learnt = [each for each in student.parameters() if each.requires_grad]
    adam = torch.optim.AdamW(learnt, lr=RATE, weight_decay=0.01)
    step, begun = 0, time.monotonic()
    while (done := (time.monotonic() - begun) / seconds) < 1:
        for group in adam.param_groups:
            group["lr"] = RATE * min(1, step / 300) * (0.5 * (1 + math.cos(math.pi * done)) + 0.01)
        ids, lengths = batches.next()
        mask, half = summed(ids, lengths), len(ids) // 2
        ids = torch.cat([ids[:half], swap(ids[half:], mask[half:])])
        wanted = F.normalize(teacher.vectors(ids, lengths) @ turn, dim=1)
        with torch.autocast(DEVICE, torch.bfloat16):
            made = student(ids, mask, dropped=0.05)
        loss = loss_of(F.normalize(made.float(), dim=1), wanted)
        adam.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learnt, 1.0)
        adam.step()
        step += 1
        if step % 500 == 0:
            print(step, report(student, teacher, turn, corpus, held), flush=True)
    print(step, report(student, teacher, turn, corpus, held), flush=True)
    return {name: value for name, value in student.state_dict().items() if name != "bag.weight"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teacher", type=Path, required=True, help="teacher.safetensors, config.json, tokenizer.json")
    parser.add_argument("--corpus", type=Path, required=True, help="corpus.jsonl.xz of make_static_embedding")
    parser.add_argument("--packages", type=Path, required=True, help="one-line descriptions of packages, gzip")
    parser.add_argument("--notes", type=Path, required=True, help="notes-train.jsonl.gz")
    parser.add_argument("--table", type=Path, required=True, help="src/memorist/models/data")
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--inner", type=int, default=768)
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--out", type=Path, required=True, help="the file of weights, .npz")
    given = parser.parse_args()
    corpus = Corpus(all_texts(given.corpus, given.packages, given.notes), given.teacher / "tokenizer.json")
    shape = (given.layers, given.heads, given.inner)
    weights = train(corpus, Teacher(given.teacher), given.table, shape, given.seconds)
    np.savez_compressed(given.out, **{name: value.cpu().numpy().astype(np.float16) for name, value in weights.items()})


if __name__ == "__main__":
    main()

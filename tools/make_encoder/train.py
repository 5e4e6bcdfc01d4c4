"""Train attention layers over the static table so that a text's vector points where the teacher's points.

    student = normalise( sum of gate(x) * row + mean of out(x) )

The rows are those of the table in the package and stay as they are; x are the same rows after positions, what the layers are told
of each token beside its row, and the layers. With a gate of one and no `out` the student would be the table; training begins near
it. The teacher runs beside it (it is small): so half of each batch can be texts that nobody wrote, with words replaced by words
like them, and the student never sees a text twice the same way. Needs torch 2.9 or later with one CUDA device, transformers,
tokenizers and safetensors. Seeds are fixed.
"""

from __future__ import annotations

import argparse
import math
import time
from itertools import pairwise
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
BUCKETS = (12, 18, 26, 40, 64, LONGEST)  # texts of like length are trained together
SIZES = (6144, 4608, 3584, 2560, 1536, 1024)  # texts of each in a batch
CLUSTERS, RUN = 4096, 64  # of texts that are alike to the teacher; so many of one stand together in a batch
CYCLES = 2  # each from a high rate to none
HELD = 8000  # texts that are never trained on
LIKE = 48  # words that may stand for a word
TEMPERATURE = 0.05
BY_TOKEN = 0.3  # what the teacher's last layer counts, token by token
RATE = 2.5e-3


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
    def looked(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The vectors of the texts, and those of their tokens."""
        mask = within(ids, lengths)
        last = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state.float()
        return F.normalize((last * mask[..., None]).sum(1) / lengths[:, None], dim=1), last

    def vectors(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return self.looked(ids, lengths)[0]

    def words(self, size: int) -> Tensor:
        """The main directions of its word vectors."""
        every = self.model.embeddings.word_embeddings.weight.float()
        every = every - every[1000:].mean(0)
        found = every @ torch.linalg.svd(every[1000:], full_matrices=False)[2][:size].T
        found = found / found[1000:].std()
        found[0] = 0
        return found


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

    def texts(self, which: Tensor, width: int | None = None) -> tuple[Tensor, Tensor]:
        lengths = self.lengths[which]
        return self.table[which, : width or int(lengths.max())].long(), lengths


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

    def __init__(self, rows: Tensor, told: Tensor, layers: int, heads: int, inner: int) -> None:
        super().__init__()
        self.more, self.lift = (
            nn.Embedding.from_pretrained(told, freeze=False),
            nn.Linear(told.shape[1], WIDTH, bias=False),
        )
        self.taught = nn.Linear(WIDTH, TEACHER_WIDTH)  # for training alone
        nn.init.normal_(self.lift.weight, std=0.05)
        self.bag = nn.Embedding.from_pretrained(rows.clone(), freeze=True)
        self.scale, self.pos = nn.Parameter(torch.tensor(10.0)), nn.Parameter(torch.zeros(128, WIDTH))
        self.layers = nn.ModuleList(Layer(heads, inner) for _ in range(layers))
        self.n, self.gate, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 1), nn.Linear(WIDTH, WIDTH, bias=False)
        nn.init.zeros_(self.gate.weight)
        nn.init.zeros_(self.gate.bias)
        nn.init.normal_(self.out.weight, std=0.02)

    def forward(self, ids: Tensor, mask: Tensor, dropped: float = 0.0) -> tuple[Tensor, Tensor]:
        """The vectors, and the rows as the layers leave them."""
        rows, weight = self.bag(ids), mask.float()[..., None]
        if dropped:
            weight = weight * (torch.rand_like(weight) > dropped)
        seen = mask.clone()
        seen[:, 0] = True
        x = rows * self.scale + self.pos[: ids.shape[1]] + self.lift(self.more(ids))
        for layer in self.layers:
            x = layer(x, seen)
        x = self.n(x)
        gate = torch.sigmoid(self.gate(x)) * 2 * weight
        mean = (self.out(x) * weight).sum(1) / weight.sum(1).clamp(min=1)
        return F.normalize(((rows * gate).sum(1) + mean).float() + 1e-9, dim=1), x


class Swap:
    """Other texts of the same shape: some words replaced by words like them, a few by a word of another text."""

    def __init__(self, rows: Tensor, vocabulary: list[str]) -> None:
        whole = [token.isalpha() and len(token) > 2 for token in vocabulary]  # no piece of a word
        self.whole = torch.tensor(whole, device=DEVICE)
        normal = F.normalize(rows, dim=1)
        likeness = (normal[at : at + 2000] @ normal.T for at in range(0, len(rows), 2000))
        self.like = torch.cat([each.masked_fill(~self.whole[None], -9).topk(LIKE, 1).indices for each in likeness])

    def __call__(self, ids: Tensor, mask: Tensor, most: float = 0.5) -> Tensor:
        share = torch.rand(len(ids), 1, device=DEVICE) * most
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


@torch.no_grad()
def clustered(corpus: Corpus, teacher: Teacher, turn: Tensor) -> Tensor:
    """The number of each text's cluster; neighbours among them are alike."""
    vectors = torch.cat(
        [
            F.normalize(teacher.vectors(*corpus.texts(part)) @ turn, dim=1).half()
            for part in torch.arange(len(corpus), device=DEVICE).split(8192)
        ]
    )
    centres = vectors[torch.randint(0, len(vectors), (CLUSTERS,), device=DEVICE)].clone()
    for _ in range(8):
        nearest = torch.cat([(part @ centres.T).argmax(1) for part in vectors.split(65_536)])
        sums = torch.zeros(CLUSTERS, WIDTH, device=DEVICE).index_add_(0, nearest, vectors.float())
        centres = F.normalize(sums + 1e-6 * torch.randn_like(sums), dim=1).half()
    nearest = torch.cat([(part @ centres.T).argmax(1) for part in vectors.split(65_536)])
    alike, left, at = centres.float() @ centres.float().T, torch.ones(CLUSTERS, dtype=torch.bool, device=DEVICE), 0
    walk = torch.empty(CLUSTERS, dtype=torch.long, device=DEVICE)
    for step in range(CLUSTERS):  # from each to the nearest that is left
        walk[at], left[at] = step, False
        at = int(alike[at].masked_fill(~left, -9).argmax())
    return walk[nearest]


def loss_of(made: Tensor, wanted: Tensor) -> Tensor:
    """One minus the cosine, plus how far the similarities within the batch differ."""
    same = torch.eye(len(made), device=DEVICE, dtype=torch.bool)
    ours, theirs = ((each @ each.T / TEMPERATURE).masked_fill(same, -1e4) for each in (made, wanted))
    return 1 - (made * wanted).sum(1).mean() + F.kl_div(ours.log_softmax(1), theirs.softmax(1), reduction="batchmean")


def loss_by_token(student: Student, seen: Tensor, last: Tensor, mask: Tensor) -> Tensor:
    """How far the rows, as the layers leave them, are from telling the teacher's last layer; of every fourth text."""
    apart = 1 - F.cosine_similarity(student.taught(seen[::4]).float(), last[::4], dim=2)
    return (apart * mask[::4]).sum() / mask[::4].sum()


@torch.no_grad()
def report(student: Student, teacher: Teacher, turn: Tensor, corpus: Corpus, held: Tensor) -> str:
    """Cosine to the teacher, and how often the student's nearest text is among the teacher's ten nearest."""
    made, wanted = [], []
    for part in held.split(1000):
        ids, lengths = corpus.texts(part)
        made.append(student(ids, summed(ids, lengths))[0])
        wanted.append(F.normalize(teacher.vectors(ids, lengths) @ turn, dim=1))
    ours, theirs = torch.cat(made), torch.cat(wanted)
    cosine = (ours * theirs).sum(1).mean().item()
    nearest = (ours @ ours.T).fill_diagonal_(-9).argmax(1)[:, None]
    near = (nearest == (theirs @ theirs.T).fill_diagonal_(-9).topk(10, 1).indices).any(1).float().mean().item()
    return f"cosine {cosine:.4f} near {near:.3f}"


class Batches:
    """Texts of one length, drawn as often as there are such; those held back are never among them. Three eighths of a batch
    stand in runs of texts that are alike. A quarter has words swapped, an eighth begins as one text and ends as another, and a
    quarter are near copies of others in the batch: so what is compared are small differences too."""

    def __init__(self, corpus: Corpus, held: Tensor, clusters: Tensor, swap: Swap) -> None:
        self.corpus, self.swap, self.dice = corpus, swap, np.random.default_rng(1)
        free = torch.ones(len(corpus), dtype=torch.bool, device=DEVICE)
        free[held] = False
        edges = [0, *(int((corpus.lengths <= size).sum()) for size in BUCKETS)]
        self.by_length = []
        for first, end in pairwise(edges):
            here = torch.arange(first, end, device=DEVICE)[free[first:end]]
            self.by_length.append(
                here[torch.argsort(clusters[here] + torch.rand(len(here), device=DEVICE, dtype=torch.double))]
            )
        often = np.array([len(each) for each in self.by_length]) / np.array(SIZES)
        self.often = often / often.sum()

    def next(self) -> tuple[Tensor, Tensor]:
        bucket = self.dice.choice(len(SIZES), p=self.often)
        texts, quarter = self.by_length[bucket], SIZES[bucket] // 4
        runs = 3 * quarter // 2 // RUN
        first = torch.randint(0, len(texts) - RUN, (runs, 1), device=DEVICE) + torch.arange(RUN, device=DEVICE)
        single = torch.randint(0, len(texts), (3 * quarter - runs * RUN,), device=DEVICE)
        which = torch.cat([texts[first.flatten()], texts[single]])
        which = which[torch.randperm(len(which), device=DEVICE)]
        return self.changed(*self.corpus.texts(which, BUCKETS[bucket]), quarter)

    def changed(self, ids: Tensor, lengths: Tensor, quarter: int) -> tuple[Tensor, Tensor]:
        mask, made, sizes = summed(ids, lengths), ids.clone(), lengths.clone()
        made[2 * quarter :] = self.swap(ids[2 * quarter :], mask[2 * quarter :])
        heads = torch.arange(quarter, quarter + quarter // 2, device=DEVICE)
        tails = heads + quarter // 2
        share = 0.2 + 0.6 * torch.rand(len(heads), device=DEVICE)
        cut = (torch.minimum(lengths[heads], lengths[tails]) * share).long().clamp(min=1)
        made[heads] = torch.where(torch.arange(ids.shape[1], device=DEVICE) < cut[:, None], ids[heads], ids[tails])
        sizes[heads] = lengths[tails]
        near = self.swap(ids[:quarter], mask[:quarter], most=0.6)
        return torch.cat([made, near]), torch.cat([sizes, lengths[:quarter]])


def optimisers(student: Student) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for all else."""
    learnt = [(name, each) for name, each in student.named_parameters() if each.requires_grad]
    inner = [each for name, each in learnt if each.ndim == 2 and name.startswith("layers.")]
    rest = [each for name, each in learnt if each.ndim != 2 or not name.startswith("layers.")]
    muon = torch.optim.Muon(inner, lr=RATE, weight_decay=0.05, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    return [muon, torch.optim.AdamW(rest, lr=RATE, weight_decay=0.01, fused=True)]


def train(corpus: Corpus, teacher: Teacher, given: argparse.Namespace) -> dict[str, Tensor]:
    torch.manual_seed(1)
    table: Path = given.table
    scales = np.load(table / "static-256.scales.npy").astype(np.float32).reshape(-1, 1)
    rows = torch.from_numpy(np.load(table / "static-256.npy").astype(np.float32) * scales).to(DEVICE)
    swap = Swap(rows, (table / "vocab.txt").read_text("utf-8").rstrip("\n").split("\n"))
    turn = turned(corpus, teacher, rows)
    held = torch.randperm(len(corpus), device=DEVICE)[:HELD]
    batches = Batches(corpus, held, clustered(corpus, teacher, turn), swap)
    student = Student(rows, teacher.words(given.beside), given.layers, given.heads, given.inner).to(DEVICE)
    both, step = optimisers(student), 0
    for cycle in range(CYCLES):
        begun = time.monotonic()
        while (done := (time.monotonic() - begun) / given.seconds) < 1:
            rate = RATE * 0.72**cycle * min(1, (step + 1) / 300) * (0.5 * (1 + math.cos(math.pi * done)) + 0.003)
            for group in (group for each in both for group in each.param_groups):
                group["lr"] = rate
            learn(student, teacher, turn, both, *batches.next())
            step += 1
            if step % 500 == 0:
                print(step, report(student, teacher, turn, corpus, held), flush=True)
    print(step, report(student, teacher, turn, corpus, held), flush=True)
    return {name: value for name, value in student.state_dict().items() if not name.startswith(("bag.", "taught."))}


def learn(
    student: Student,
    teacher: Teacher,
    turn: Tensor,
    both: list[torch.optim.Optimizer],
    ids: Tensor,
    lengths: Tensor,
) -> None:
    """One step."""
    mask = summed(ids, lengths)
    taught, last = teacher.looked(ids, lengths)
    with torch.autocast(DEVICE, torch.bfloat16):
        made, seen = student(ids, mask, dropped=0.05)
        loss = BY_TOKEN * loss_by_token(student, seen, last, mask)
    loss = loss + loss_of(made, F.normalize(taught @ turn, dim=1))
    for each in both:
        each.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_([each for each in student.parameters() if each.requires_grad], 1.0)
    for each in both:
        each.step()


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
    parser.add_argument(
        "--beside", type=int, default=64, help="numbers that the layers are told of a token beside its row"
    )
    parser.add_argument("--seconds", type=float, default=520, help="of each of the two cycles")
    parser.add_argument("--out", type=Path, required=True, help="the file of weights, .npz")
    given = parser.parse_args()
    corpus = Corpus(all_texts(given.corpus, given.packages, given.notes), given.teacher / "tokenizer.json")
    weights = train(corpus, Teacher(given.teacher), given)
    np.savez_compressed(given.out, **{name: value.cpu().numpy().astype(np.float16) for name, value in weights.items()})


if __name__ == "__main__":
    main()

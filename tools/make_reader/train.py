"""Trains teachers and one student of the reader, with one writer's lines kept aside if asked, and prints what the aside shows.

    python train.py --pack PACK --lines lines --vocab vocab.txt --out OUT [--aside A] [--seconds 240]

A teacher is the whole sentence model as a cross-encoder; the student its own table and first layers, narrower in all else.
Both read `[CLS] older [SEP] newer [SEP]`, or one sentence; two heads say the relation of a pair and the kind of a statement.
"""

import argparse
import json
import lzma
import math
import random
import re
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import BertWordPieceTokenizer
from torch import nn

RELATIONS = ("same", "replaces", "unsure", "both", "other")
KINDS = ("decision", "convention", "preference", "warning", "procedure", "correction", "error", "fact", "none")
SIDE, ALONE = 44, 64  # tokens of one side of a pair, and of a sentence that is read alone
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STARTED = time.time()


# ---------------------------------------------------------------- the model


class Layer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.n1, self.n2 = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
        many, long, _ = x.shape
        q, k, v = self.qkv(x).view(many, long, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None, :]).transpose(1, 2).reshape(x.shape)
        x = self.n1(x + F.dropout(self.o(a), 0.1, self.training))
        return self.n2(x + F.dropout(self.down(F.gelu(self.up(x), approximate="tanh")), 0.1, self.training))


class Reader(nn.Module):
    def __init__(self, weights: dict[str, np.ndarray], layers: list[int]) -> None:
        super().__init__()
        small = "embeddings.LayerNorm.weight" not in weights  # the built-in table, and layers that begin with nothing
        table = torch.tensor(weights["words"].astype(np.float32) * weights["word_scales"].astype(np.float32))
        width = table.shape[1]
        heads = width // 32
        self.words = nn.Embedding.from_pretrained(table, freeze=True)
        self.places, self.sides, self.shared = nn.Embedding(160, width), nn.Embedding(2, width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, 4 * width) for _ in layers)
        self.join = nn.Linear(2 * width, width)
        self.relation, self.kind = nn.Linear(width, len(RELATIONS)), nn.Linear(width, len(KINDS))
        nn.init.zeros_(self.shared.weight)
        if small:
            self.words.weight.data /= self.words.weight.std()
            return
        take = {name: torch.tensor(value.astype(np.float32)) for name, value in weights.items()}
        self.places.weight.data.copy_(take["embeddings.position_embeddings.weight"][:160])
        self.sides.weight.data.copy_(take["embeddings.token_type_embeddings.weight"])
        self._copy(self.norm, take, "embeddings.LayerNorm")
        for layer, number in zip(self.layers, layers, strict=True):
            at = f"encoder.layer.{number}"
            for part in ("weight", "bias"):
                qkv = [take[f"{at}.attention.self.{name}.{part}"] for name in ("query", "key", "value")]
                getattr(layer.qkv, part).data.copy_(torch.cat(qkv))
            for module, name in (
                (layer.o, "attention.output.dense"), (layer.n1, "attention.output.LayerNorm"),
                (layer.up, "intermediate.dense"), (layer.down, "output.dense"), (layer.n2, "output.LayerNorm"),
            ):  # fmt: skip
                self._copy(module, take, f"{at}.{name}")

    @staticmethod
    def _copy(module: nn.Module, take: dict[str, torch.Tensor], name: str) -> None:
        module.weight.data.copy_(take[f"{name}.weight"])
        module.bias.data.copy_(take[f"{name}.bias"])

    def forward(self, ids: torch.Tensor, side: torch.Tensor, shared: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = ids > 0
        at = torch.arange(ids.shape[1], device=ids.device)[None]
        x = self.norm(self.words(ids) + self.places(at) + self.sides(side) + self.shared(shared))
        x = F.dropout(x, 0.1, self.training)
        for layer in self.layers:
            x = layer(x, seen)
        weight = seen.unsqueeze(-1).to(x.dtype)
        mean = (x * weight).sum(1) / weight.sum(1)
        y = torch.tanh(self.join(torch.cat([x[:, 0], mean], 1)))
        y = F.dropout(y, 0.1, self.training)
        return self.relation(y), self.kind(y)


# ---------------------------------------------------------------- rows: token ids, sides, shared


class Rows:
    """Texts or pairs as padded token arrays on the device."""

    def __init__(self, cut: BertWordPieceTokenizer, items: list[tuple[str, str] | str]) -> None:
        first = [item if isinstance(item, str) else item[0] for item in items]
        then = ["" if isinstance(item, str) else item[1] for item in items]
        a = [each.ids for each in cut.encode_batch(first, add_special_tokens=False)]
        b = [each.ids for each in cut.encode_batch(then, add_special_tokens=False)]
        ids, side, shared = [], [], []
        for one, two, item in zip(a, b, items, strict=True):
            if isinstance(item, str):
                row = [101, *one[:ALONE], 102]
                ids.append(row), side.append([0] * len(row)), shared.append([0] * len(row))
                continue
            one, two = one[:SIDE], two[:SIDE]
            row = [101, *one, 102, *two, 102]
            both = set(one) & set(two)
            ids.append(row)
            side.append([0] * (len(one) + 2) + [1] * (len(two) + 1))
            shared.append([int(token in both) for token in row])
        self.length = torch.tensor([len(row) for row in ids])
        long = int(self.length.max())
        pad = lambda rows: torch.tensor([row + [0] * (long - len(row)) for row in rows], dtype=torch.int32).to(DEVICE)  # noqa: E731
        self.ids, self.side, self.shared = pad(ids), pad(side), pad(shared)

    def __len__(self) -> int:
        return len(self.ids)

    def at(self, which: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        long = int(self.length[which.cpu()].max())
        which = which.to(DEVICE)
        return tuple(part[which, :long].long() for part in (self.ids, self.side, self.shared))


@torch.no_grad()
def judge(models: list[Reader], rows: Rows, head: int, size: int = 2048) -> torch.Tensor:
    """Mean probabilities of some models."""
    order, out = rows.length.argsort(), None
    for model in models:
        model.eval()
    for start in range(0, len(rows), size):
        which = order[start : start + size]
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            p = torch.stack([model(*rows.at(which))[head].float().softmax(1) for model in models]).mean(0)
        out = torch.zeros(len(rows), p.shape[1], device=DEVICE) if out is None else out
        out[which.to(DEVICE)] = p
    return out


# ---------------------------------------------------------------- lines


def load(folder: Path, notes: Path, aside: str) -> dict[str, list]:
    """Written lines, split into those to learn from and those kept aside: [(pair or text, label, weight)]."""
    got: dict[str, list] = {"pair": [], "said": [], "pair aside": [], "said aside": [], "crossed": []}
    crossed: dict[str, list] = {}  # by writer: what one update says is no word on what another is about
    for path in sorted(folder.glob("*.jsonl")):
        writer, what = path.stem.split("-")
        into = got[f"{what} aside" if writer == aside else what]
        updates = crossed.setdefault(writer, []) if writer != aside and what == "pair" else []
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if what == "pair":
                into.append(((row["older"], row["newer"]), RELATIONS.index(row["relation"])))
                if row["relation"] == "replaces":
                    updates.append((row["older"], row["newer"]))
            else:
                into.append((row["text"], KINDS.index(row["kind"])))
    for line in notes.read_text("utf-8").splitlines():
        row = json.loads(line)
        if row["world"] == 6:
            continue
        if "old" in row:
            got["pair"].append(((row["old"], row["new"]), RELATIONS.index("replaces")))
            crossed.setdefault(str(row["world"]), []).append((row["old"], row["new"]))
        elif "both" in row:
            got["pair"].append((tuple(row["both"]), RELATIONS.index("both")))
        else:
            relation = RELATIONS.index(random.choice(("other", "both")))
            got["pair"] += [((row["note"], near), relation) for near in row["near"][:1]]
            if random.random() < 0.35:
                got["said"].append((row["note"], KINDS.index(row["kind"] if row["kind"] in KINDS else "fact")))
            if random.random() < 0.35:
                got["said"].append((random.choice(row["asks"]), KINDS.index("none")))
    got["crossed"] = [updates for updates in crossed.values() if len(updates) > 1]
    return got


NUMBER = re.compile(r"\d+")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}")


def other_number(text: str) -> str | None:
    found = list(NUMBER.finditer(text))
    if not found:
        return None
    one = random.choice(found)
    new = str(max(1, int(one[0][:6]) + random.choice([-7, -3, -2, -1, 1, 2, 4, 5, 10, 30])))
    return text[: one.start()] + new + text[one.end() :] if new != one[0] else None


def typed(text: str) -> str:
    """As people type: sometimes no capitals, no full stop."""
    chance = random.random()
    return text.lower().rstrip(".") if chance < 0.12 else text.rstrip(".") if chance < 0.3 else text


def synthetic(texts: list[str], names: list[str], crossed: list[list]) -> tuple[tuple[str, str], list[float]]:
    """A pair that needs no writer, with a soft label."""
    one, soft = random.choice(texts), [0.02] * 5
    chance = random.random()
    if chance < 0.2 and (new := other_number(one)):
        soft[1], soft[2], soft[3] = 0.8, 0.07, 0.09
        return (one, new), soft
    if chance < 0.35 and (found := list(NAME.finditer(one))):
        at = random.choice(found)
        first = at.start() < len(one) / 4  # mostly what it is about; later on it is often the value
        soft[3], soft[2], soft[1] = (0.72, 0.08, 0.16) if first else (0.38, 0.1, 0.46)
        return (one, one[: at.start()] + random.choice(names) + one[at.end() :]), soft
    if chance < 0.45:
        soft[0] = 0.92
        return (one, one.lower().rstrip(".")), soft
    soft[4] = 0.92
    if chance < 0.8 and crossed:
        (older, _), (_, newer) = random.sample(random.choice(crossed), 2)
        return (older, newer), soft
    return (one, random.choice(texts)), soft


# ---------------------------------------------------------------- training


def schedule(step: int, steps: int) -> float:
    return min(1, step / (0.06 * steps)) * (0.5 * (1 + math.cos(math.pi * step / steps)) + 0.01)


def soften(labels: list[int], size: int) -> torch.Tensor:
    return F.one_hot(torch.tensor(labels), size).float().to(DEVICE) * 0.95 + 0.05 / size


def teach(weights: dict, got: dict, texts: list[str], cut: BertWordPieceTokenizer, seed: int, steps: int) -> Reader:
    random.seed(seed), torch.manual_seed(seed)
    model = Reader(weights, list(range(6))).to(DEVICE)
    model.words.weight.requires_grad_(True)
    model.train()
    optimiser = torch.optim.AdamW(model.parameters(), 6e-5, weight_decay=0.01)
    names = [found[0] for text in random.sample(texts, min(9000, len(texts))) for found in NAME.finditer(text)] or [
        "Ada"
    ]
    by_relation = [[row for row in got["pair"] if row[1] == n] for n in range(5)]
    share = [0.15, 0.38, 0.11, 0.24, 0.12]
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = 6e-5 * schedule(step, steps)
        picked = [random.choice(by_relation[n]) for n in random.choices(range(5), share, k=60)]
        pairs = [tuple(typed(text) for text in pair) for pair, _ in picked]
        labels = soften([label for _, label in picked], 5)
        made = [synthetic(texts, names, got["crossed"]) for _ in range(18)]
        labels = torch.cat([labels, torch.tensor([soft for _, soft in made]).to(DEVICE)])
        said = random.choices(got["said"], k=36)
        rows, alone = Rows(cut, [*pairs, *(pair for pair, _ in made)]), Rows(cut, [typed(text) for text, _ in said])
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            relation = model(*rows.at(torch.arange(len(rows))))[0].float()
            kind = model(*alone.at(torch.arange(len(alone))))[1].float()
        loss = F.cross_entropy(relation, labels / labels.sum(1, keepdim=True))
        loss = loss + F.cross_entropy(kind, soften([label for _, label in said], len(KINDS)))
        optimiser.zero_grad(), loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model


@torch.no_grad()
def neighbours(weights: dict, texts: list[str], cut: BertWordPieceTokenizer, many: int) -> list[tuple[str, str]]:
    """The nearest of each of some texts by the plain sentence model."""
    model = Reader(weights, list(range(6))).to(DEVICE).eval()
    rows, order = Rows(cut, texts), None
    order = rows.length.argsort()
    vectors = torch.zeros(len(rows), model.words.weight.shape[1], device=DEVICE)
    for start in range(0, len(rows), 2048):
        which = order[start : start + 2048]
        ids, side, _ = rows.at(which)
        seen = ids > 0
        x = model.norm(
            model.words(ids) + model.places(torch.arange(ids.shape[1], device=DEVICE)[None]) + model.sides(side)
        )
        for layer in model.layers:
            x = layer(x, seen)
        vectors[which.to(DEVICE)] = F.normalize((x * seen.unsqueeze(-1)).sum(1), dim=1)
    pairs = []
    asked = random.sample(range(len(texts)), min(many, len(texts)))
    for start in range(0, len(asked), 1024):
        some = torch.tensor(asked[start : start + 1024], device=DEVICE)
        near = (vectors[some] @ vectors.T).topk(6, 1).indices.tolist()
        for one, others in zip(some.tolist(), near, strict=True):
            apart = [other for other in others if texts[one].lower() != texts[other].lower()]
            pairs += [(texts[one], texts[other]) for other in apart[:4]]
    return pairs


def distil(weights, got, teachers, pool, singles, cut, layers, steps, rate, seed=3) -> Reader:
    """The student learns from what the teachers say of unlabelled text, and from the written lines."""
    random.seed(seed), torch.manual_seed(seed)
    student = Reader(weights, layers).to(DEVICE)
    student.train()
    lower = [tuple(text.lower().rstrip(".") for text in pair) for pair, _ in got["pair"]]
    pairs = Rows(cut, [*(pair for pair, _ in got["pair"]), *lower, *pool])
    alone = Rows(
        cut, [*(text for text, _ in got["said"]), *(text.lower().rstrip(".") for text, _ in got["said"]), *singles]
    )
    relation, kind = judge(teachers, pairs, 0), judge(teachers, alone, 1)
    for table, lines, size in ((relation, got["pair"], 5), (kind, got["said"], len(KINDS))):
        hard = soften([label for _, label in lines], size).repeat(2, 1)
        table[: len(hard)] = 0.5 * table[: len(hard)] + 0.5 * hard
    written_pairs, written_alone = 2 * len(got["pair"]), 2 * len(got["said"])
    chosen = relation[written_pairs:].argmax(1)
    even = torch.zeros(len(pairs))
    for n in range(5):  # relations are drawn evenly, written lines twelve times as often
        mask = (chosen == n).cpu()
        even[written_pairs:][mask] = 1 / max(2000, int(mask.sum()))
    even[:written_pairs] = 0.35 / written_pairs * float(even.sum()) / 0.65
    keep = 1 - kind[:, -1].cpu()
    drawn = torch.where(keep > 0.5, 1 / (keep > 0.5).sum().clamp(min=1), 1 / (keep <= 0.5).sum().clamp(min=1)).float()
    drawn[:written_alone] = 0.35 / written_alone * float(drawn.sum()) / 0.65
    optimiser = torch.optim.AdamW([p for p in student.parameters() if p.requires_grad], rate, weight_decay=0.01)
    many = (640, 256) if DEVICE == "cuda" else (16, 8)
    weighed = list(zip((even.to(DEVICE), drawn.to(DEVICE)), many, strict=True))
    for step in range(steps):
        at = step % 400
        if at == 0:
            plan = [torch.multinomial(weight, number * 400, True) for weight, number in weighed]
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule(step, steps)
        loss = 0.0
        tasks = ((pairs, relation, 0, many[0], plan[0]), (alone, kind, 1, many[1], plan[1]))
        for rows, target, head, number, places in tasks:
            which = places[at * number : (at + 1) * number]
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                out = student(*rows.at(which))[head]
            loss = loss + F.kl_div(out.float().log_softmax(1), target[which], reduction="batchmean")
        optimiser.zero_grad(), loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
    return student


# ---------------------------------------------------------------- figures


def share_above(score: np.ndarray, right: np.ndarray, false: float) -> tuple[float, float]:
    """The share of the right ones above the bar that `false` of the others exceed, and the bar."""
    others = np.sort(score[~right])[::-1]
    bar = others[min(len(others) - 1, int(false * len(others)))]
    return float((score[right] > bar).mean()), float(bar)


def area(score: np.ndarray, right: np.ndarray) -> float:
    order = score.argsort().argsort()
    return float((order[right].mean() - (right.sum() - 1) / 2) / (~right).sum())


def figures(name: str, models: list[Reader], got: dict, cut: BertWordPieceTokenizer) -> None:
    out = {}
    if got["pair aside"]:
        p = judge(models, Rows(cut, [pair for pair, _ in got["pair aside"]]), 0).cpu().numpy()
        label = np.array([label for _, label in got["pair aside"]])
        for relation, at in (("replaces", (0.02, 0.05, 0.10)), ("same", (0.02, 0.05))):
            n = RELATIONS.index(relation)
            found = [share_above(p[:, n], label == n, false) for false in at]
            out[relation] = " ".join(
                f"{100 * a:.0f}@{100 * f:.0f}%(bar {b:.2f})" for (a, b), f in zip(found, at, strict=True)
            )
            out[relation] += f" auc {area(p[:, n], label == n):.3f}"
        out["relation right"] = f"{100 * (p.argmax(1) == label).mean():.0f}"
    if got["said aside"]:
        p = judge(models, Rows(cut, [text for text, _ in got["said aside"]]), 1).cpu().numpy()
        label = np.array([label for _, label in got["said aside"]])
        worth, kept = 1 - p[:, -1], label != len(KINDS) - 1
        found = [(*share_above(worth, kept, false), false) for false in (0.03, 0.07)]
        out["kept"] = " ".join(f"{100 * a:.0f}@{100 * f:.0f}%(bar {b:.2f})" for a, b, f in found)
        out["kept"] += f" auc {area(worth, kept):.3f}"
        out["kind right"] = f"{100 * (p[kept][:, :-1].argmax(1) == label[kept]).mean():.0f}"
    print(f"{name} {time.time() - STARTED:.0f}s", json.dumps(out), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("pack", "lines", "vocab", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--aside", default="")
    parser.add_argument("--layers", default="0,1,2", help="of the sentence model, that the student begins with")
    parser.add_argument("--teacher-steps", type=int, default=1600)
    parser.add_argument("--steps", type=int, default=5000)
    parser.add_argument("--asked", type=int, default=44_000, help="texts whose neighbours are read")
    given = parser.parse_args()
    random.seed(5)
    cut = BertWordPieceTokenizer(str(given.vocab), lowercase=True)
    weights = dict(np.load(given.pack / "teacher.npz"))
    texts = json.loads(lzma.decompress((given.pack / "texts.json.xz").read_bytes()))
    got = load(given.lines, given.pack / "notes-train.jsonl", given.aside)
    print({name: len(some) for name, some in got.items()}, flush=True)
    written = [text for pair, _ in got["pair"] for text in pair] + [text for text, _ in got["said"]]
    base = [*written, *texts["notes"], *texts["user"]]
    teachers = [teach(weights, got, base, cut, seed, given.teacher_steps) for seed in (1, 2)]
    figures(f"{given.aside or 'all'} teachers", teachers, got, cut)
    worth = judge(teachers, Rows(cut, texts["user"]), 1)[:, -1].cpu()
    statements = [text for text, none in zip(texts["user"], worth.tolist(), strict=True) if none < 0.6]
    some = random.sample(texts["user"], len(texts["user"]) // 4)
    pool = neighbours(weights, [*written, *texts["notes"], *statements, *some], cut, given.asked)
    names = [found[0] for text in base for found in NAME.finditer(text)] or ["Ada"]
    pool += [synthetic(base, names, got["crossed"])[0] for _ in range(len(pool) // 4)]
    pool += [(random.choice(written), random.choice(written)) for _ in range(len(pool) // 12)]
    cues = ("", "Actually: ", "From now on ", "Change: ", "ok then ")
    altered = ((one, other_number(one)) for one in random.sample(base, len(base) // 3))
    pool += [(one, random.choice(cues) + new) for one, new in altered if new]
    singles = [*texts["user"], *texts["assistant"], *texts["notes"]]
    print(f"{len(pool)} pairs, {len(singles)} sentences, {time.time() - STARTED:.0f}s", flush=True)
    for layers in given.layers.split(";"):
        start, rate = weights, 3e-4
        if layers.startswith("small"):
            rows, scales = (np.load(given.vocab.parent / f"static-256{end}.npy") for end in ("", ".scales"))
            start, rate = {"words": rows, "word_scales": scales.reshape(-1, 1)}, 1e-3
        numbers = [int(number) for number in layers.removeprefix("small").split(",")]
        student = distil(start, got, teachers, pool, singles, cut, numbers, given.steps, rate)
        figures(f"{given.aside or 'all'} student {layers}", [student], got, cut)
        if given.aside:
            aside = {
                name: judge([student], Rows(cut, [each for each, _ in got[f"{name} aside"]]), head)
                for head, name in enumerate(("pair", "said"))
            }
            labels = {f"{name} label": np.array([label for _, label in got[f"{name} aside"]]) for name in aside}
            np.savez(
                given.out / f"aside-{given.aside}-{layers.replace(',', '')}.npz",
                **labels,
                **{name: p.cpu().numpy() for name, p in aside.items()},
            )
            continue
        state = {
            name: value.detach().cpu().numpy() for name, value in student.state_dict().items() if name != "words.weight"
        }
        large = {name: value.astype(np.float16) for name, value in state.items()}
        np.savez(given.out / f"reader-{given.aside or 'all'}-{layers.replace(',', '')}.npz", **large)


if __name__ == "__main__":
    main()

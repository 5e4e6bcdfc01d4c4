"""Train a static token table so that sums of its rows point where the teacher's sentence vectors point.

Needs torch with one CUDA device, transformers and tokenizers. Seeds are fixed. The steps: cut the corpus into texts
of varied length; embed each with the teacher; rotate the teacher's 384 dimensions so that the first 256 (and the
first 128, and the first 64) keep as much as possible; start from the teacher's vector of each single token, weighted
down by how common it is; then train.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).parent))
from cut import KINDS, all_texts
from quantise import quantised

WIDTH = 256
LONGEST = 256
SPECIAL = 999  # [PAD], [UNK], [CLS], [SEP], [MASK] and the unused ones come first in the vocabulary
DEVICE = "cuda"


@dataclass(frozen=True)
class Settings:
    name: str = "base"
    seed: int = 1
    steps: int = 5000
    batch: int = 8192
    rate: float = 2e-3
    dropout: float = 0.1
    similarity: float = 0.5  # weight of the loss on in-batch similarities
    temperature: float = 0.05
    compared: int = 2048  # texts of a batch whose similarities are compared
    block: int = 1  # texts taken together from one group: above 1, a batch holds close neighbours
    widths: tuple[int, ...] = (256, 128, 64)
    shares: tuple[float, ...] = (1.0, 0.3, 0.2)
    smoothing: float = 1e-3  # the `a` of a / (a + p)
    sources: dict[str, float] | None = None  # how often texts of a source are drawn (1 where not named)
    kinds: dict[str, float] | None = None  # and texts of a kind


class Corpus:
    """Token ids of all texts end to end on the device, with the teacher's vectors."""

    def __init__(self, ids: list[list[int]], sources: list[str], groups: list[str], kinds: list[str]) -> None:
        self.lengths = torch.tensor([len(row) for row in ids], device=DEVICE)
        self.starts = torch.cumsum(self.lengths, 0) - self.lengths
        self.flat = torch.from_numpy(np.concatenate([np.asarray(row, np.int32) for row in ids])).to(DEVICE)
        self.sources, self.kinds = np.asarray(sources), np.asarray(kinds)
        self.groups = np.unique(np.asarray(groups), return_inverse=True)[1]
        self.targets = torch.empty(0)

    def bags(self, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The ids of the chosen texts end to end, and where each text begins."""
        lengths = self.lengths[chosen]
        offsets = torch.cumsum(lengths, 0) - lengths
        inner = torch.arange(int(lengths.sum()), device=DEVICE) - torch.repeat_interleave(offsets, lengths)
        return self.flat[torch.repeat_interleave(self.starts[chosen], lengths) + inner], offsets


def tokenised(texts: list[str], path: Path) -> list[list[int]]:
    """Ids without [CLS] and [SEP], at most as many as the teacher reads; unknown tokens are kept for the teacher."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows: list[list[int]] = []
    for start in range(0, len(texts), 50_000):
        found = tokenizer.encode_batch_fast(texts[start : start + 50_000], add_special_tokens=False)
        rows.extend(one.ids[: LONGEST - 2] for one in found)
    return rows


class Teacher:
    def __init__(self, folder: Path) -> None:
        from safetensors.torch import load_file
        from transformers import BertConfig, BertModel

        config = BertConfig.from_json_file(str(folder / "config.json"))
        model = BertModel(config, add_pooling_layer=False)
        weights = {k: v.float() for k, v in load_file(folder / "teacher.safetensors").items() if "pooler" not in k}
        missing, unexpected = model.load_state_dict(weights, strict=False)
        assert not [key for key in missing if "position_ids" not in key], missing
        assert not [key for key in unexpected if "position_ids" not in key], unexpected
        self.model = model.to(DEVICE).half().eval()

    @torch.inference_mode()
    def vectors(self, ids: list[list[int]], budget: int = 200_000) -> torch.Tensor:
        """Mean of the last layer over all tokens, [CLS] and [SEP] included, normalised."""
        out = torch.empty(len(ids), 384, device=DEVICE, dtype=torch.float16)
        order = sorted(range(len(ids)), key=lambda number: len(ids[number]))
        place = 0
        while place < len(order):
            end = place + 1
            while end < len(order) and (len(ids[order[end]]) + 2) * (end - place + 1) <= budget:
                end += 1
            part = order[place:end]
            width = len(ids[part[-1]]) + 2
            padded = np.zeros((len(part), width), dtype=np.int64)
            for row, number in enumerate(part):
                one = ids[number]
                padded[row, : len(one) + 2] = [101, *one, 102]
            tokens = torch.from_numpy(padded).to(DEVICE)
            mask = torch.zeros_like(tokens)
            sizes = torch.tensor([len(ids[number]) + 2 for number in part], device=DEVICE)
            mask = (torch.arange(width, device=DEVICE)[None] < sizes[:, None]).long()
            hidden = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state.float()
            mean = (hidden * mask[..., None]).sum(1) / sizes[:, None]
            out[torch.tensor(part, device=DEVICE)] = F.normalize(mean, dim=1).half()
            place = end
        return out


def rotation(vectors: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
    """The directions that hold most of the vectors' length, most important first; not centred, so cosines stay."""
    some = vectors[chosen].double()
    _, directions = torch.linalg.eigh(some.T @ some)
    return directions.flip(1)[:, :WIDTH].float()


def drawn_often(corpus: Corpus, settings: Settings) -> np.ndarray:
    weights = np.ones(len(corpus.kinds))
    for names, shares in ((corpus.sources, settings.sources), (corpus.kinds, settings.kinds)):
        for name, share in (shares or {}).items():
            weights[names == name] *= share
    return weights


class Batches:
    """Numbers of texts: drawn one by one, or in blocks of neighbours that share a group."""

    def __init__(self, corpus: Corpus, settings: Settings) -> None:
        dice = np.random.default_rng(settings.seed)
        weights = drawn_often(corpus, settings)
        copies = np.floor(weights + dice.random(len(weights))).astype(int)
        pool = np.repeat(np.arange(len(weights)), copies)
        if settings.block > 1:
            pool = pool[np.lexsort((dice.random(len(pool)), corpus.groups[pool]))]
        else:
            dice.shuffle(pool)
        self.pool = torch.from_numpy(pool[: len(pool) // settings.block * settings.block]).to(DEVICE)
        self.blocks = self.pool.view(-1, settings.block)
        self.each = settings.batch // settings.block
        self.order = torch.empty(0, dtype=torch.long)
        self.place = 0

    def next(self) -> torch.Tensor:
        if self.place + self.each > len(self.order):
            self.order, self.place = torch.randperm(len(self.blocks), device=DEVICE), 0
        chosen = self.order[self.place : self.place + self.each]
        self.place += self.each
        return self.blocks[chosen].reshape(-1)


def loss_of(out: torch.Tensor, target: torch.Tensor, settings: Settings) -> torch.Tensor:
    """One minus cosine, plus how far the in-batch similarities are from the teacher's, for each prefix."""
    total = out.new_zeros(())
    few = settings.compared
    whole = F.normalize(target, dim=1)
    hide = torch.eye(few, device=DEVICE, dtype=torch.bool)
    wanted = (whole[:few] @ whole[:few].T / settings.temperature).masked_fill(hide, -1e4)
    wanted = wanted.log_softmax(1)
    for width, share in zip(settings.widths, settings.shares, strict=True):
        mine, theirs = F.normalize(out[:, :width], dim=1), F.normalize(target[:, :width], dim=1)
        cosine = (mine * theirs).sum(1).mean()
        close = (mine[:few] @ mine[:few].T / settings.temperature).masked_fill(hide, -1e4).log_softmax(1)
        apart = F.kl_div(close, wanted, log_target=True, reduction="batchmean")
        total = total + share * (1 - cosine + settings.similarity * apart)
    return total


def trained(corpus: Corpus, start: torch.Tensor, settings: Settings) -> torch.Tensor:
    torch.manual_seed(settings.seed)
    batches = Batches(corpus, settings)
    counts = torch.bincount(corpus.flat.long(), minlength=len(start)).float()
    share = counts / counts.sum()
    table = (start * (settings.smoothing / (settings.smoothing + share))[:, None]).clone().requires_grad_(True)
    chooser = torch.optim.Adam([table], lr=settings.rate, fused=True)
    plan = torch.optim.lr_scheduler.OneCycleLR(chooser, settings.rate, total_steps=settings.steps, pct_start=0.1)
    for step in range(settings.steps):
        chosen = batches.next()
        ids, offsets = corpus.bags(chosen)
        kept = (torch.rand(len(ids), device=DEVICE) >= settings.dropout).float()
        out = F.embedding_bag(ids.long(), table, offsets, mode="sum", per_sample_weights=kept)
        loss = loss_of(out, corpus.targets[chosen].float(), settings)
        chooser.zero_grad(set_to_none=True)
        loss.backward()
        chooser.step()
        plan.step()
        if step % 1000 == 0 or step == settings.steps - 1:
            print(f"  {settings.name} step {step} loss {loss.item():.4f}", flush=True)
    return settled(table.detach(), counts)


def settled(table: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Give tokens that the text hardly holds the norm of rare tokens, and special tokens nothing."""
    norms = table.norm(dim=1)
    usual = norms[(counts >= 20) & (counts < 200)].median()
    rare = counts < 6  # once by itself, and next to nothing besides
    table = torch.where(rare[:, None], F.normalize(table, dim=1) * usual, table)
    table[:SPECIAL] = 0.0
    return table


def mean_cosine(corpus: Corpus, table: torch.Tensor, chosen: torch.Tensor) -> float:
    ids, offsets = corpus.bags(chosen)
    out = F.embedding_bag(ids.long(), table, offsets, mode="sum")
    return float(F.cosine_similarity(out, corpus.targets[chosen].float()).mean())


def prepared(folder: Path, corpus_path: Path, workers: int) -> tuple[Corpus, torch.Tensor, Teacher, torch.Tensor]:
    """The corpus with the teacher's vectors, the starting rows, the teacher and its rotation."""
    begun = time.time()
    texts = all_texts(corpus_path, workers)
    print(f"{len(texts)} texts cut, {time.time() - begun:.0f} s", flush=True)
    ids = tokenised([text.text for text in texts], folder / "tokenizer.json")
    size = len((folder / "vocab.txt").read_text("utf-8").split())
    print(f"{sum(map(len, ids))} tokens, {time.time() - begun:.0f} s", flush=True)
    held = [number for number, row in enumerate(ids) if row]
    single = [[token] for token in range(size)]
    corpus = Corpus(
        [ids[n] for n in held] + single,
        [texts[n].source for n in held] + ["vocabulary"] * size,
        [texts[n].source + texts[n].group for n in held] + ["vocabulary"] * size,
        [texts[n].kind for n in held] + ["token"] * size,
    )
    teacher = Teacher(folder)
    vectors = teacher.vectors([ids[n] for n in held] + single)
    turn = rotation(vectors, torch.randperm(len(held), device=DEVICE)[:400_000])
    corpus.targets = F.normalize(vectors.float() @ turn, dim=1).half()
    kept = float((vectors[:10_000].float() @ turn).norm(dim=1).mean())
    print(f"teacher done, {time.time() - begun:.0f} s; kept length {kept:.4f}", flush=True)
    for kind in KINDS:
        print(" ", kind, int((corpus.kinds == kind).sum()))
    return corpus, (vectors[-size:].float() @ turn), teacher, turn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--teacher", type=Path, required=True, help="folder: teacher.safetensors, tokenizer.json, ...")
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--variants", type=Path, required=True, help="JSON list of settings")
    parser.add_argument("--judge", type=Path, help="folder of the judging sets")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=8)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    corpus, start, teacher, turn = prepared(arguments.teacher, arguments.corpus, arguments.workers)
    report = Report(arguments, teacher, turn)
    names = {field.name for field in fields(Settings)}
    for wanted in json.loads(arguments.variants.read_text()):
        assert set(wanted) <= names, wanted
        settings = replace(Settings(), **{k: tuple(v) if isinstance(v, list) else v for k, v in wanted.items()})
        begun = time.time()
        table = trained(corpus, start, settings)
        check = torch.randperm(len(corpus.lengths) - len(start), device=DEVICE)[:100_000]
        report.add(settings, table, time.time() - begun, mean_cosine(corpus, table, check))


class Report:
    """Writes each variant's table and, where the judging sets are at hand, its figures."""

    def __init__(self, arguments: argparse.Namespace, teacher: Teacher, turn: torch.Tensor) -> None:
        self.folder: Path = arguments.out
        self.rows: list[dict[str, Any]] = []
        self.sets: list[Any] = []
        self.ids: dict[str, list[int]] = {}
        if arguments.judge:
            import judge

            self.judge = judge
            self.sets = [load(arguments.judge) for load in judge.SETS]
            texts = list({text for one in self.sets for text in self.texts_in(one)})
            self.ids = dict(zip(texts, tokenised_whole(texts, arguments.teacher / "tokenizer.json"), strict=True))
            self.show("teacher", lambda some: self.by_teacher(teacher, turn, some), {})

    @staticmethod
    def texts_in(one: Any) -> list[str]:
        return one.texts + [text for scope in one.scopes for text, _ in scope.questions]

    def by_teacher(self, teacher: Teacher, turn: torch.Tensor, texts: list[str]) -> np.ndarray:
        return (teacher.vectors([self.ids[text][: LONGEST - 2] for text in texts]).float() @ turn).cpu().numpy()

    def by_table(self, table: torch.Tensor, texts: list[str]) -> np.ndarray:
        rows = []
        for start in range(0, len(texts), 4096):
            ids = [torch.tensor(self.ids[text], dtype=torch.long) for text in texts[start : start + 4096]]
            sizes = torch.tensor([len(one) for one in ids])
            flat = torch.cat(ids).to(DEVICE)
            rows.append(F.embedding_bag(flat, table, (torch.cumsum(sizes, 0) - sizes).to(DEVICE), mode="sum"))
        return F.normalize(torch.cat(rows), dim=1).cpu().numpy()

    def show(self, name: str, embed: Any, row: dict[str, Any]) -> None:
        figures = {one.name: self.judge.judged(one, embed, (256, 128, 64)) for one in self.sets}
        for width in (256, 128, 64) if self.sets else ():
            part = {key: figures[key][width] for key in figures}
            shown = {key: [part[key][measure] for measure in keys] for key, keys in self.judge.HEADLINES.items()}
            print(f"{name} {width} {self.judge.headline(part)} {shown}", flush=True)
        self.rows.append({"name": name, **row, "figures": figures})
        (self.folder / "figures.json").write_text(json.dumps(self.rows))

    def add(self, settings: Settings, table: torch.Tensor, seconds: float, cosine: float) -> None:
        print(f"{settings.name}: {seconds:.0f} s, cosine {cosine:.4f}", flush=True)
        bytes_, scales = quantised(table.cpu().numpy())
        np.savez(self.folder / f"{settings.name}.npz", table=bytes_, scales=scales)
        whole = torch.from_numpy(bytes_.astype(np.float32) * scales[:, None]).to(DEVICE)
        row = {"cosine": cosine, "settings": asdict(settings)}
        self.show(settings.name, lambda some: self.by_table(whole, some), row)


def tokenised_whole(texts: list[str], path: Path) -> list[list[int]]:
    """All ids of each text, as the embedder reads them at run time."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [one.ids for one in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


if __name__ == "__main__":
    main()

"""Readers of the public test sets. Labels are taken leniently, and whatever could not be used is counted."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from bench.sets import Document, Loader, Question, Shelf, TestSet, read_json

# ---------------------------------------------------------------- LoCoMo

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def locomo(path: Path) -> TestSet:
    """Long chats between two people; evidence is turns. Questions of category 5 are traps: what they
    ask about never happened so, and nothing here answers them."""
    notes: Counter[str] = Counter()
    shelves = tuple(_locomo_shelf(sample, notes) for sample in read_json(path))
    return TestSet("locomo", "LoCoMo-dev, turns", shelves, by_session=True, with_foreign=True, notes=notes)


def _locomo_shelf(sample: Mapping[str, Any], notes: Counter[str]) -> Shelf:
    talk = sample["conversation"]
    names = sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    documents = []
    for name in names:
        began = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for place, turn in enumerate(talk[name]):
            at = began + timedelta(seconds=30 * place)
            documents.append(Document(turn["dia_id"], turn["text"], name, None, turn["speaker"], at))
    known = {document.id: document.session or "" for document in documents}
    asked = max(document.at for document in documents if document.at) + timedelta(days=1)
    questions = []
    for number, line in enumerate(sample["qa"]):
        category, name = CATEGORIES[line["category"]], f"{sample['sample_id']}-{number}"
        gold = _evidence(line.get("evidence", ()), known, notes)
        if category == "adversarial":
            questions.append(Question(name, line["question"], category=category, at=asked))
        elif gold:
            sessions = frozenset(known[id] for id in gold)
            questions.append(Question(name, line["question"], gold, sessions, category, asked))
        else:
            notes["questions without evidence"] += 1
    return Shelf(sample["sample_id"], tuple(documents), tuple(questions))


def _evidence(said: Sequence[str], known: Mapping[str, str], notes: Counter[str]) -> frozenset[str]:
    """Turn ids in what the annotators wrote, also "D8:6; D9:17" and "D:11:26"; unknown ones are counted."""
    found = set()
    for piece in said:
        ids = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(piece)]
        notes["evidence ids that name no turn"] += sum(id not in known for id in ids) + (not ids)
        found |= {id for id in ids if id in known}
    return frozenset(found)


# ---------------------------------------------------------------- LongMemEval


SEEN = "Seen text: the built-in embedding was trained on these sessions, without their questions and labels."


def longmemeval(path: Path) -> TestSet:
    """One user's chats with an assistant, about 48 sessions to a question: each question has a store of its own."""
    whole = read_json(path)
    notes: Counter[str] = Counter()
    shelves = tuple(_haystack(line, whole["sessions"], notes) for line in whole["questions"])
    return TestSet(
        "longmemeval", "LongMemEval-S-dev, turns", shelves, by_session=True, with_foreign=True, notes=notes, remark=SEEN
    )


def _haystack(line: Mapping[str, Any], sessions: Mapping[str, Any], notes: Counter[str]) -> Shelf:
    documents, gold = [], set()
    for session, date in zip(line["haystack_session_ids"], line["haystack_dates"], strict=True):
        began = _slashed(date)
        for place, turn in enumerate(sessions[session]):
            id, at = f"{session}#{place}", began + timedelta(seconds=30 * place)
            if re.search(r"\w", turn["content"]):
                documents.append(Document(id, turn["content"], session, turn["role"], None, at))
                if turn.get("has_answer") and session in line["answer_session_ids"]:
                    gold.add(id)
            else:
                notes["turns without a word"] += 1
    name, unanswerable = line["question_id"], line["question_id"].endswith("_abs")
    holding = frozenset() if unanswerable else frozenset(line["answer_session_ids"])
    if not gold and not unanswerable:
        notes["questions with sessions but no turns as evidence"] += 1
    category = "abstention" if unanswerable else line["question_type"]
    turns = frozenset() if unanswerable else frozenset(gold)
    question = Question(name, line["question"], turns, holding, category, _slashed(line["question_date"]))
    return Shelf(name, tuple(documents), (question,))


def _slashed(text: str) -> datetime:
    """The moment in "2023/05/20 (Sat) 10:44"."""
    return datetime.strptime(re.sub(r"\s*\(\w+\)\s*", " ", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


# ---------------------------------------------------------------- BEAM


def beam(path: Path) -> TestSet:
    """Chats with an assistant in long messages; twenty questions each over ten abilities."""
    notes: Counter[str] = Counter()
    shelves = tuple(_beam_shelf(chat, notes) for chat in read_json(path))
    return TestSet("beam", "BEAM-100K-dev, messages", shelves, with_foreign=True, notes=notes)


def _beam_shelf(chat: Mapping[str, Any], notes: Counter[str]) -> Shelf:
    documents = []
    for batch in chat["chat"]:
        messages = [message for turn in batch["turns"] for message in turn]
        anchor = next(message["time_anchor"] for message in messages if message.get("time_anchor"))
        began = datetime.strptime(anchor, "%B-%d-%Y").replace(tzinfo=UTC) + timedelta(hours=9)
        session = f"batch-{batch['batch_number']}"
        for place, message in enumerate(messages):
            at = began + timedelta(minutes=place)
            documents.append(Document(str(message["id"]), message["content"], session, message["role"], None, at))
    known = {document.id for document in documents}
    asked = max(document.at for document in documents if document.at) + timedelta(days=1)
    questions = []
    for ability, lines in chat["probing_questions"].items():
        for number, line in enumerate(lines):
            gold = frozenset(str(id) for id in _numbers(line.get("source_chat_ids"))) & known
            if gold or ability == "abstention":
                name = f"{chat['id']}-{ability}-{number}"
                questions.append(Question(name, line["question"], gold, category=ability, at=asked))
            else:
                notes["questions without evidence"] += 1
    return Shelf(chat["id"].replace("/", "-"), tuple(documents), tuple(questions))


def _numbers(found: Any) -> Iterator[int]:
    """Every number in lists and tables of lists."""
    if isinstance(found, int):
        yield found
    elif isinstance(found, Mapping):
        yield from _numbers(list(found.values()))
    elif isinstance(found, list):
        for part in found:
            yield from _numbers(part)


# ---------------------------------------------------------------- Cranfield


def cranfield(path: Path) -> TestSet:
    """1,400 abstracts and 225 questions of engineers: plain search, far from conversation."""
    documents = []
    for id, body in _entries(path / "cran.all.1400"):
        text = body.partition("\n.W\n")[2].strip()
        if text:
            documents.append(Document(id, " ".join(text.split())))
    known = {document.id for document in documents}
    relevant: dict[str, set[str]] = {}
    for line in (path / "QRelsCorrectedforTRECeval").read_text(encoding="utf-8").splitlines():
        query, _, id, grade = line.split()
        if 1 <= int(grade) <= 4 and id in known:  # 5 marks the paper a question came from
            relevant.setdefault(query, set()).add(id)
    questions = []
    for number, (_, body) in enumerate(_entries(path / "cran.qry"), 1):  # judgements count queries from 1 in file order
        text = " ".join(body.partition(".W\n")[2].split())
        questions.append(Question(str(number), text, frozenset(relevant.get(str(number), ())), category="all"))
    notes = {"documents without a text": 1400 - len(documents)}
    shelf = Shelf("cranfield", tuple(documents), tuple(questions))
    return TestSet("cranfield", "Cranfield, abstracts", (shelf,), "document", "sources", notes=notes)


def _entries(path: Path) -> Iterator[tuple[str, str]]:
    for entry in re.split(r"^\.I ", path.read_text(encoding="latin-1"), flags=re.M)[1:]:
        number, _, body = entry.partition("\n")
        yield str(int(number)), body


# ---------------------------------------------------------------- MemDaily

_CHINESE_DATE = re.compile(r"(\d+)年(\d+)月(\d+)日 \S+ (\d+):(\d+)")


def memdaily(path: Path) -> TestSet:
    """Daily messages in Chinese, eight to fifteen to a question: does search work without blanks between words?"""
    shelves = []
    for name, lines in read_json(path).items():
        category = re.sub(r"^\d+_|_hybrid\.json$", "", name)
        shelves += [_memdaily_shelf(f"{category}-{line['tid']}", category, line) for line in lines]
    return TestSet("memdaily", "MemDaily-dev, messages", tuple(shelves), tokenizer="unicode61")


def _memdaily_shelf(name: str, category: str, line: Mapping[str, Any]) -> Shelf:
    documents = tuple(
        Document(str(said["mid"]), said["message"], "daily", "user", None, _chinese(said["time"]))
        for said in line["message_list"]
    )
    questions = tuple(
        Question(f"{name}-{asked['qid']}", asked["question"], frozenset(str(id) for id in asked["target_step_id"]),
                 category=category, at=_chinese(asked["time"]))
        for asked in line["question_list"]
    )  # fmt: skip
    return Shelf(name, documents, questions)


def _chinese(text: str) -> datetime | None:
    found = _CHINESE_DATE.search(text)
    if not found:
        return None
    year, month, day, hour, minute = (int(part) for part in found.groups())
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


# ---------------------------------------------------------------- conflicts, and cues without shared words


DERIVED = "The set names answers; which fact holds one was derived from shared words, so a few labels will be wrong."


def conflict(path: Path) -> TestSet:
    """Lists in which later facts replace earlier ones; single-hop questions only.

    The set names answers, not facts: taken as gold is the latest fact that holds the answer and shares most words with the
    question; as outdated, what begins like it and ends otherwise.
    """
    notes: Counter[str] = Counter()
    shelves = [
        _fact_list(line, notes)
        for line in read_json(path)
        if line["metadata"]["source"].startswith("factconsolidation_sh")
    ]
    return TestSet(
        "conflict", "MemoryAgentBench conflicts, facts", tuple(shelves), "fact", "memory", notes=notes, remark=DERIVED
    )


def _fact_list(line: Mapping[str, Any], notes: Counter[str]) -> Shelf:
    name, began = line["metadata"]["source"], datetime(2024, 1, 1, tzinfo=UTC)
    facts = re.findall(r"^(\d+)\. (.+)$", line["context"], flags=re.M)
    documents = tuple(Document(id, text, at=began + timedelta(minutes=int(id))) for id, text in facts)
    asked = began + timedelta(minutes=len(facts), days=1)
    questions = []
    for number, (text, answers) in enumerate(zip(line["questions"], line["answers"], strict=True)):
        gold = _fact_of(text, answers, documents)
        if gold is None:
            notes["questions whose fact was not found"] += 1
            continue
        start = _beginning(gold.text, answers)
        old = frozenset(d.id for d in documents if d.text.startswith(start) and int(d.id) < int(gold.id))
        category = name.removeprefix("factconsolidation_sh_")
        question = Question(f"{name}-{number}", text, frozenset({gold.id}), category=category, at=asked, outdated=old)
        questions.append(question)
    return Shelf(name, documents, tuple(questions))


def _fact_of(question: str, answers: Sequence[str], facts: Sequence[Document]) -> Document | None:
    asked = set(re.findall(r"\w+", question.lower()))
    holding = [fact for fact in facts if any(answer in fact.text for answer in answers)]
    shared = {fact.id: len(asked & set(re.findall(r"\w+", fact.text.lower()))) for fact in holding}
    return max(holding, key=lambda fact: (shared[fact.id], int(fact.id)), default=None)


def _beginning(fact: str, answers: Sequence[str]) -> str:
    """What stands before the answer; the whole fact when the answer comes first."""
    return next((fact.partition(answer)[0] for answer in answers if fact.partition(answer)[0] and answer in fact), fact)


def locomo_plus(path: Path) -> TestSet:
    """A remark, and weeks later another that only makes sense with it; they share no words."""
    documents, questions = [], []
    for number, line in enumerate(read_json(path)):
        session, at = f"cue-{number}", datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=number)
        said = [part.partition(": ")[::2] for part in line["cue_dialogue"].splitlines() if ": " in part]
        turns = [Document(f"{number}:{n}", text, session, None, who, at) for n, (who, text) in enumerate(said)]
        documents += turns
        text = line["trigger_query"].partition(": ")[2] or line["trigger_query"]
        gold = frozenset(turn.id for turn in turns[:1])
        questions.append(Question(str(number), text, gold, frozenset({session}), line["relation_type"]))
    shelf = Shelf("cues", tuple(documents), tuple(questions))
    return TestSet("locomo-plus", "LoCoMo-Plus-dev, cues", (shelf,), by_session=True)


LOADERS: Mapping[str, Loader] = {
    "locomo": locomo,
    "longmemeval": longmemeval,
    "beam": beam,
    "cranfield": cranfield,
    "memdaily": memdaily,
    "conflict": conflict,
    "locomo-plus": locomo_plus,
}

"""The models that were named and cannot be used, for the doctor, who finds out by using each of them once."""

from memorist.design import Tools
from memorist.models import embed, rerank
from memorist.store.nouns import Diagnosis

ADVICE = "mend it, or choose another: `memorist model list` shows them, `memorist model use NAME` uses one"


def unusable(tools: Tools) -> list[Diagnosis]:
    embedder = tools.meaning.embedder()
    wrong = {
        "embedder": tools.meaning.problem or (embed.trouble(embedder) if embedder else None),
        "reranker": rerank.trouble(tools.rerank),
    }
    return [Diagnosis(False, name, problem, ADVICE) for name, problem in wrong.items() if problem]

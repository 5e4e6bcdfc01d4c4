"""How findings are shown: what was kept of a text, and what each finding has to be promoted."""

from typing import TYPE_CHECKING

from memorist.records import Outcome
from memorist.remember.promotion import Weighed
from memorist.surfaces.cli.screen import Screen, one_line

if TYPE_CHECKING:
    from memorist.surfaces.cli.show import Answer


def extracted(answer: "Answer", screen: Screen) -> None:
    outcomes: list[Outcome] = answer.value
    for outcome in outcomes:
        record = outcome.record
        said = f"[id:{record.number}] {record.kind}: {one_line(record.text)}" if record else one_line(outcome.because)
        screen.line(f"{screen.styled(outcome.outcome, 'good' if record else 'bad')} {said}")
    found = "nothing was found" if not outcomes else "1 finding" if len(outcomes) == 1 else f"{len(outcomes)} findings"
    screen.line(screen.styled(f"{found}; `memorist promote` weighs them", "dim"))


def weighed(answer: "Answer", screen: Screen) -> None:
    findings: list[Weighed] = answer.value
    for each in findings:
        mark, word = screen.styled(f"[id:{each.number}]", "mark"), screen.styled(each.outcome, _style(each))
        screen.line(f"{mark} {each.points:>2} points, {word}: {one_line(each.text)}")
        screen.line(screen.styled(f"  {one_line(each.because)}", "dim"))
    if not findings:
        screen.line(f"no findings wait for {one_line(answer.scope)}; `memorist extract` finds some in a text")


def _style(each: Weighed) -> str:
    return "good" if each.outcome in ("promoted", "enough", "asked") else "dim"

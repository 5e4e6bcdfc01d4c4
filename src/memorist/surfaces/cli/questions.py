"""Questions for a person at the command line: asked at a terminal at once, and listed by `memorist review`.

Down a pipe nobody can be asked, so what needs consent waits in the queue there.
"""

from collections.abc import Sequence

from memorist.design import Ask, Confirmer
from memorist.remember.consent import Pending
from memorist.surfaces.cli import given
from memorist.surfaces.cli.screen import Screen, aside, one_line

EXIT_CODE = 11  # something waits for a person


def confirmer() -> Confirmer | None:
    """Whoever sits at the terminal; nobody where there is none."""
    return _asked if given.at_terminal() else None


def agreed_already(ask: Ask) -> bool:
    """For `erase`, which asks before it begins, or is given `--yes`."""
    return True


def _asked(ask: Ask) -> bool:
    danger = f" {ask.danger}" if ask.danger else ""
    return given.agreed(f"{ask.summary}?{danger}")


def show(questions: Sequence[Pending], screen: Screen) -> None:
    rows = [
        (
            each.id,
            f"{each.at.replace(tzinfo=None).isoformat(' ', 'minutes')} UTC",
            each.actor,
            _what(each),
            each.because,
        )
        for each in questions
    ]
    screen.rows(("question", "asked", "by", "what", "because"), rows)
    if questions:
        aside("`memorist review ID --decide approve` does it, `--decide deny` drops it")
    else:
        aside("nothing waits for a decision")


def _what(each: Pending) -> str:
    return one_line(each.summary) + (f" ({each.danger})" if each.danger else "")

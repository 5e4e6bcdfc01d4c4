"""With `dates = "any"`: is a time that is named in another language the one that is meant, and is nothing else taken for one?"""

import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import Memory
from memorist.testing import MovableClock
from memorist.text import foreign_dates
from memorist.text.dates import EARLIEST, LATEST, any_language, english, reader_named
from memorist.text.foreign_dates import LOOKED_AT, RUSSIAN, SCRIPTS, TONGUES

WEDNESDAY = datetime(2023, 6, 14, 10, 30, tzinfo=UTC)

# question | what names the time | start end; a day is written once if it is one whole day
MEANT = """
Was haben wir gestern beschlossen? | gestern | 2023-06-13
Was haben wir vorgestern beschlossen? | vorgestern | 2023-06-12
Was haben wir vor drei Tagen beschlossen? | vor drei Tagen | 2023-06-11
Was haben wir vor 3 Tagen beschlossen? | vor 3 Tagen | 2023-06-11
Was haben wir vor zwei Wochen beschlossen? | vor zwei Wochen | 2023-05-28 2023-06-04
Was haben wir letzte Woche entschieden? | letzte Woche | 2023-06-05 2023-06-12
Was haben wir vergangene Woche entschieden? | vergangene Woche | 2023-06-05 2023-06-12
Was haben wir diese Woche vor? | diese Woche | 2023-06-12 2023-06-19
Was haben wir nächste Woche vor? | nächste Woche | 2023-06-19 2023-06-26
Was haben wir letzten Monat entschieden? | letzten Monat | 2023-05-01 2023-06-01
Wo waren wir letztes Jahr? | letztes Jahr | 2022-01-01 2023-01-01
Was war im Mai 2022? | im Mai 2022 | 2022-05-01 2022-06-01
Was war am 5. Mai 2022? | 5. Mai 2022 | 2022-05-05
Was war am 5. Mai? | 5. Mai | 2023-05-05
Was war am 5. Oktober? | 5. Oktober | 2022-10-05
Was war am 29. Februar? | 29. Februar | 2020-02-29
Wo war ich im Mai? | im Mai | 2023-05-01 2023-06-01
Wo war ich im Oktober? | im Oktober | 2022-10-01 2022-11-01
Wo war ich am Mittwoch? | am Mittwoch | 2023-06-14
Was haben wir letzten Mittwoch gemacht? | letzten Mittwoch | 2023-06-07
Was machen wir nächsten Freitag? | nächsten Freitag | 2023-06-16
Qu'avons-nous décidé hier ? | hier | 2023-06-13
Qu'avons-nous décidé avant-hier ? | avant-hier | 2023-06-12
Qu’avons-nous décidé aujourd’hui ? | aujourd’hui | 2023-06-14
Qu'avons-nous décidé il y a trois jours ? | il y a trois jours | 2023-06-11
Qu'avons-nous décidé la semaine dernière ? | la semaine dernière | 2023-06-05 2023-06-12
Où étions-nous l'année dernière ? | l'année dernière | 2022-01-01 2023-01-01
Que s'est-il passé le 14 juillet 2022 ? | 14 juillet 2022 | 2022-07-14
Que s'est-il passé le 1er mai 2022 ? | 1er mai 2022 | 2022-05-01
Que s'est-il passé en mars 2021 ? | en mars 2021 | 2021-03-01 2021-04-01
Où étais-je lundi dernier ? | lundi dernier | 2023-06-12
¿Qué decidimos ayer? | ayer | 2023-06-13
¿Qué decidimos hace dos semanas? | hace dos semanas | 2023-05-28 2023-06-04
¿Qué decidimos la semana pasada? | la semana pasada | 2023-06-05 2023-06-12
¿Qué decidimos el mes pasado? | el mes pasado | 2023-05-01 2023-06-01
¿Qué pasó en marzo de 2021? | en marzo de 2021 | 2021-03-01 2021-04-01
¿Qué pasó el 3 de marzo de 2021 y por qué? | 3 de marzo de 2021 | 2021-03-03
¿Dónde estuve el domingo? | el domingo | 2023-06-11
Cosa abbiamo deciso ieri? | ieri | 2023-06-13
Cosa abbiamo deciso tre giorni fa? | tre giorni fa | 2023-06-11
Cosa abbiamo deciso la settimana scorsa? | settimana scorsa | 2023-06-05 2023-06-12
Cosa è successo il 3 marzo 2021? | 3 marzo 2021 | 2021-03-03
Cosa è successo a marzo? | a marzo | 2023-03-01 2023-04-01
O que decidimos ontem? | ontem | 2023-06-13
O que decidimos há dois dias? | há dois dias | 2023-06-12
O que decidimos na semana passada? | semana passada | 2023-06-05 2023-06-12
O que aconteceu em 3 de março de 2021? | 3 de março de 2021 | 2021-03-03
Wat hebben we gisteren besloten? | gisteren | 2023-06-13
Wat hebben we drie dagen geleden besloten? | drie dagen geleden | 2023-06-11
Wat hebben we vorige week besloten? | vorige week | 2023-06-05 2023-06-12
Wat deden we op 5 mei 2022? | 5 mei 2022 | 2022-05-05
Wat deden we in mei 2022? | in mei 2022 | 2022-05-01 2022-06-01
Vad bestämde vi igår? | igår | 2023-06-13
Vad bestämde vi förra veckan? | förra veckan | 2023-06-05 2023-06-12
Vad hände den 5 maj 2022? | 5 maj 2022 | 2022-05-05
Co zdecydowaliśmy wczoraj? | wczoraj | 2023-06-13
Co zdecydowaliśmy w zeszłym tygodniu? | w zeszłym tygodniu | 2023-06-05 2023-06-12
Co zdecydowaliśmy 5 maja 2022? | 5 maja 2022 | 2022-05-05
Что мы решили вчера? | вчера | 2023-06-13
Что мы решили три дня назад? | три дня назад | 2023-06-11
Что мы решили на прошлой неделе? | на прошлой неделе | 2023-06-05 2023-06-12
Что было 5 мая 2022 года? | 5 мая 2022 года | 2022-05-05
Что было в январе 2022 года? | в январе 2022 года | 2022-01-01 2022-02-01
Що ми вирішили вчора? | вчора | 2023-06-13
Що ми вирішили минулого тижня? | минулого тижня | 2023-06-05 2023-06-12
昨天我们决定了什么？ | 昨天 | 2023-06-13
三天前我们决定了什么？ | 三天前 | 2023-06-11
上周我们决定了什么？ | 上周 | 2023-06-05 2023-06-12
上個月我們決定了什麼？ | 上個月 | 2023-05-01 2023-06-01
2022年5月5日发生了什么？ | 2022年5月5日 | 2022-05-05
２０２２年５月发生了什么？ | ２０２２年５月 | 2022-05-01 2022-06-01
10月5号发生了什么？ | 10月5号 | 2022-10-05
昨日何を決めましたか？ | 昨日 | 2023-06-13
一昨日何を決めましたか？ | 一昨日 | 2023-06-12
3日前に何を決めましたか | 3日前 | 2023-06-11
先週何を決めましたか | 先週 | 2023-06-05 2023-06-12
2022年5月5日に何がありましたか | 2022年5月5日 | 2022-05-05
어제 우리는 무엇을 결정했나요? | 어제 | 2023-06-13
지난주에 무엇을 결정했나요? | 지난주 | 2023-06-05 2023-06-12
"""


def rows(table: str) -> list[tuple[str, str, datetime, datetime]]:
    found = []
    for line in table.strip().splitlines():
        text, named, when = (part.strip() for part in line.split(" | "))
        start, *end = (datetime.fromisoformat(day).replace(tzinfo=UTC) for day in when.split())
        found.append((text, named, start, end[0] if end else start + timedelta(days=1)))
    return found


@pytest.mark.parametrize(("text", "named", "start", "end"), rows(MEANT), ids=[row[0] for row in rows(MEANT)])
def test_the_time_that_is_meant(text: str, named: str, start: datetime, end: datetime) -> None:
    found = any_language(text, WEDNESDAY)
    assert [(span.text, span.start, span.end) for span in found.spans] == [(named, start, end)]
    assert found.note is None


FALSE_FRIENDS = """
Wer ist die Frau mit dem Hund?
Wie heißt der Mann von Mai Lin?
Ich mag die Sonne so sehr
Wie groß ist die Datei mit 2022 Zeilen?
Wie heißen die 5 Katzen von Ann?
Welche Version 3.11 nehmen wir auf Port 8080?
Guten Morgen, wie heißt der Hund?
Wo war ich am Morgen?
Wie viele Tage hat ein Monat?
Was kostet das Abo pro Monat?
Wie lange dauern drei Tage Urlaub?
El perro come pan por la mañana
¿Qué comemos esta mañana?
¿Quién es Domingo?
¿Dónde vive Marta Martes?
Je suis un marchand de Mars
Où est l'été ?
Chi è Domenica?
La mia casa è sul mar
Onde fica a segunda casa?
Quem mora na quinta casa?
Wie is die man met de hond?
Где живёт май?
Что добавить в среду разработки?
我们用什么数据库？
五月天是谁？
日本の会社はどこですか
날씨가 어때요?
which database does staging use?
use port 8080 and version 3.11
Why is the sea so cold?
do re mi fa so
el-5 v2022-mai mai_2022 5mai
"""


@pytest.mark.parametrize("text", FALSE_FRIENDS.strip().splitlines())
def test_what_is_no_time_is_not_taken_for_one(text: str) -> None:
    assert any_language(text, WEDNESDAY) == ((), None)


@pytest.mark.parametrize("text", ["What did we do last week?", "Was war am 5.5.2022?", "in May, und gestern"])
def test_what_english_finds_stays(text: str) -> None:
    assert any_language(text, WEDNESDAY) == english(text, WEDNESDAY) != ((), None)


def test_days_are_utc_days() -> None:
    late = datetime(2023, 6, 14, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    (span,) = any_language("Was haben wir gestern beschlossen?", late).spans
    assert span.start == datetime(2023, 6, 14, tzinfo=UTC)
    assert span.start.tzinfo is UTC


def test_two_times_in_one_question() -> None:
    found = any_language("War das gestern oder am 5. Mai 2022, und wo waren wir im März?", WEDNESDAY)
    assert [span.text for span in found.spans] == ["gestern", "5. Mai 2022", "im März"]


SAID = sorted(set().union(*(tongue.known_by | tongue.leads | tongue.spelled.keys() for tongue in (*TONGUES, RUSSIAN))))
OTHER = [
    "5",
    "31.",
    "2022",
    "9999",
    "0",
    "1er",
    "l'",
    ",",
    "?",
    "Tagen",
    "jours",
    "semanas",
    "昨天",
    "99年前",
    "0000年0月",
    "어제",
]


@given(
    st.lists(st.sampled_from(SAID + OTHER) | st.text(max_size=8), max_size=20).map(" ".join),
    st.datetimes(datetime(1901, 1, 1), datetime(2100, 12, 31), timezones=st.just(UTC)),
)
def test_any_text_is_read(text: str, now: datetime) -> None:
    found = any_language(text, now)
    assert found.note in (None, "times in other languages were looked for in a part of the question only")
    for span in found.spans:
        assert text[span.begin : span.finish] == span.text
        assert EARLIEST <= span.start < span.end <= LATEST
        assert span.start.tzinfo is UTC
    for one, other in pairwise(found.spans):
        assert one.finish <= other.begin


# ---------------------------------------------------------------- what it costs


def test_a_long_text_is_read_in_part_and_soon() -> None:
    foreign_dates._parser("de")
    begun = time.process_time()
    found = any_language("Wir haben " + "5 Hunde und 7 Katzen vor 3 Mäusen " * 100_000, WEDNESDAY)
    assert time.process_time() - begun < 2
    assert found == ((), "times in other languages were looked for in a part of the question only")
    assert any_language("Nous avons " + "x" * LOOKED_AT + " décidé hier", WEDNESDAY).spans == ()


def loaded_after(question: str, reading: str) -> bool:
    code = (
        "import sys; from datetime import UTC, datetime; from memorist.text import dates;"
        f"dates.reader_named({reading!r})({question!r}, datetime(2023, 6, 14, tzinfo=UTC)); print('dateparser' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip() == "True"


def test_it_is_loaded_for_a_time_in_another_language_only() -> None:
    assert loaded_after("Qu'est-ce que nous avons décidé hier ?", "any")
    assert not loaded_after("Qu'est-ce que nous avons décidé hier ?", "english")
    assert not loaded_after("Was haben wir gestern beschlossen?", "any")
    assert not loaded_after("Welche Datenbank haben wir?", "any")
    assert not loaded_after("What did we decide about 3 databases in Spring Street?", "any")


# ---------------------------------------------------------------- in a recall


def opened(path: Path, dates: str, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setenv("MEMORIST_DATES", dates)
    clock = MovableClock()
    memory = Memory(path, clock=clock)
    memory.remember("Wir haben Postgres beschlossen")
    return memory


def recognised(memory: Memory, question: str) -> str | None:
    return next(step.note for step in memory.recall(question).trace if step.stage == "Recognise")


def test_a_recall_recognises_what_the_setting_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = "Qu'est-ce que nous avons décidé hier ?"
    with opened(tmp_path / "a.db", "any", monkeypatch) as memory:
        assert recognised(memory, question) == "recognised: hier"
    with opened(tmp_path / "b.db", "english", monkeypatch) as memory:
        assert recognised(memory, question) is None
        assert recognised(memory, "Was haben wir gestern beschlossen?") == "recognised: gestern"


def test_a_parser_that_fails_is_a_note_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(code: str) -> object:
        raise RuntimeError(f"no tables for {code}")

    monkeypatch.setattr(foreign_dates, "_parser", broken)
    with opened(tmp_path / "a.db", "any", monkeypatch) as memory:
        answer = memory.recall("Avons-nous décidé hier pour Postgres ?")
        note = next(step.note for step in answer.trace if step.stage == "Recognise")
    assert note == "times in other languages were not read: RuntimeError: no tables for fr"
    assert [hit.record.text for hit in answer] == ["Wir haben Postgres beschlossen"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dateparser", None)
    with opened(tmp_path / "a.db", "any", monkeypatch) as memory:
        [told] = memory.status()["settings_problems"]
        assert "pip install 'memorist[dates]', or set dates to 'english'" in told
        assert memory.recall("Postgres"), "English dates are read meanwhile"
    assert reader_named("english") is english
    with opened(tmp_path / "b.db", "english", monkeypatch) as memory:
        assert memory.recall("Postgres")


def test_every_shape_of_a_script_is_understood() -> None:
    """What the patterns let through, dateparser knows: a word that it does not know would be there for nothing."""
    for script in SCRIPTS:
        words = [word for word in script.dates.pattern.rsplit("前|" if script.code != "ko" else "전|")[-1].split("|")]
        for word in words:
            text = {"ja": "は", "ko": "가 ", "zh": ""}[script.code] + word
            assert any_language(text, WEDNESDAY).spans, (script.code, word)

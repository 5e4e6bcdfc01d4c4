"""A message that asks for nothing is known by its words, in ten languages, and no question is taken for one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.courtesies import COURTESIES, known
from memorist.text.function_words import LANGUAGES
from memorist.text.question import small_talk
from memorist.text.words import plain_words

NOTHING_ASKED = """
    thanks! | ok | okay cool | go on | continue please | sounds good | perfect, do that | lol | good morning |
    brb | hi there | Hello! | hey, how are you? | thank you so much for your help | great job! |
    nice, thanks a lot | haha | hahaha that's great | 👍 | thx 🙏 | yes | no | yep | sure, go ahead |
    ok got it, thanks | makes sense | that's all for now, bye | see you tomorrow | good night | never mind |
    can you continue? | could you go on please? | you're welcome | sorry | my bad | wow | sooo good | thaaanks |
    hmmm | ok then | no worries | ty | k | danke | Danke dir! | vielen Dank für die Hilfe | alles klar |
    ja | nein | ja! | nochmal bitte | warte | verdammt | und jetzt? | und nun? | was jetzt? |
    okay, dann mal los | geht jetzt | funktioniert jetzt |
    guten Morgen | mach weiter | passt | super, danke | klingt gut | ok super | bis später | merci beaucoup |
    bonjour | ça va ? | d'accord, merci | c'est parfait | vas-y | gracias | muchas gracias por la ayuda |
    hola, ¿qué tal? | vale | perfecto | suena bien | buenos días | grazie mille | ciao | va bene | ottimo lavoro |
    perfetto, vai avanti | come stai? | obrigado | muito obrigada pela ajuda | bom dia | tudo bem? | beleza |
    pode continuar | bedankt | dank je wel | goedemorgen | klinkt goed | ga door | prima | dzięki |
    dziękuję bardzo | dzień dobry | w porządku | świetnie, dzięki | kontynuuj | teşekkürler | çok teşekkür ederim |
    günaydın | tamam | devam et | harika | спасибо | большое спасибо | привет | доброе утро | хорошо, продолжай |
    понятно | как дела? | ок | lgtm | ok let's do it | that was really helpful, thank you! | please continue |
    yes please | no thanks | fair enough | I see | good point | let's go | awesome!! | you rock | have a nice day |
    good to know, thanks | 👍🏽 | 😂😂 | ❤️"""
ASKED = """
    thanks, and where is the key? | ok, what about the budget? | is it good? | hello world program |
    good morning routine | when is good night story | Where is my phone | key | nice in May | great wall |
    hi, do I have work tomorrow? | is the job done | did it work | my best friend |
    danke, und wo ist der Schlüssel? | nein, Dienstag | und jetzt die Tests | ja, der blaue |
    wann kommt die Müllabfuhr | cool bag | ok 日本 | 2 | who am I |
    thanks for the 5 euros | go to the shop | continue the migration | do the dishes | stop the server | my job |
    good dentist | yes, the blue one | what's next? | what did I say? | no, Tuesday | wie heißt sie | wer ist das |
    merci, où est la clé ? | hola dónde está Ana | when was the good day | how is mom | what's up with the build |
    sorry, I meant 75 | password | the who | salut Marie | dove sono le chiavi | как зовут врача |
    good coffee place | night shift | great, book it | wifi? | 🎉 | 🐘 | 👩‍🚀"""


def messages(lines: str) -> list[str]:
    return [each.strip() for each in lines.replace("\n", " ").split(" | ")]


@pytest.mark.parametrize("message", messages(NOTHING_ASKED))
def test_nothing_is_asked(message: str) -> None:
    assert small_talk(message)


@pytest.mark.parametrize("message", messages(ASKED))
def test_something_is_asked(message: str) -> None:
    assert not small_talk(message)


def test_nothing_and_signs_are_no_small_talk() -> None:
    assert not small_talk("") and not small_talk("  \n") and not small_talk("?!") and not small_talk("…")


@given(st.lists(st.sampled_from(messages(NOTHING_ASKED)), min_size=1, max_size=3))
def test_what_names_a_thing_is_no_small_talk(said: list[str]) -> None:
    """However much courtesy stands around it."""
    assert not small_talk(", ".join([*said, "the passport"])) and not small_talk(" ".join(["Reisepass", *said]))


@given(st.sampled_from(messages(NOTHING_ASKED)), st.sampled_from(["", " ", "!", "!!", " 🙂", "…"]))
def test_signs_do_not_matter(message: str, signs: str) -> None:
    assert small_talk(message + signs) and small_talk(message.upper() + signs)


@given(st.text(max_size=300))
def test_any_text_may_be_asked(text: str) -> None:
    assert small_talk(text) in (True, False)


def test_every_language_is_there_and_spelled_as_it_is_folded() -> None:
    assert COURTESIES.keys() == {"english", *LANGUAGES}
    for each in known():
        for word in (*each.firm, *each.praise, *each.company, *(word for phrase in each.phrases for word in phrase)):
            assert plain_words(word) == [word]

"""Function words of ten languages are no content of a question, and no English question is changed by them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist.text.function_words import LANGUAGES
from memorist.text.words import STOP_WORDS, query_terms, tells_something, terms

# A question, and what of it is looked for.
QUESTIONS = {
    "german": """
        Wann kommt die Müllabfuhr? | kommt Müllabfuhr
        Wo habe ich den Schlüssel für den Keller? | Schlüssel Keller
        Wie heißt meine Zahnärztin? | heißt Zahnärztin
        Was war der Plan für Berlin? | Plan Berlin
        Wer hat das Fahrrad repariert? | Fahrrad repariert
        Mit wem war ich im Kino? | Kino
        Welche Größe hat der Filter? | Größe Filter
        Warum wurde die Sitzung verschoben? | Sitzung verschoben
        Wie lange muss der Teig ruhen? | lange Teig ruhen
        Bis wann muss ich das Formular abgeben? | Formular abgeben
        Müllabfuhr wann | Müllabfuhr""",
    "french": """
        Où est la clé de la cave ? | clé cave
        Comment s'appelle le chat de Paul ? | appelle chat Paul
        C'est quoi le mot de passe du wifi ? | mot passe wifi
        Qu'est-ce que Marie a dit sur l'école ? | Marie dit école
        Quand est-ce que le train part ? | train part
        Pourquoi avons-nous changé de banque ? | changé banque
        Combien coûte l'abonnement ? | coûte abonnement
        Qui est mon dentiste ? | dentiste
        Quel jour passe le facteur ? | jour passe facteur
        Dans quelle rue habite ma tante ? | rue habite tante""",
    "spanish": """
        ¿Dónde está la llave del coche? | llave coche
        ¿Cuándo es el cumpleaños de mi madre? | cumpleaños madre
        ¿Cómo se llama el dentista? | llama dentista
        ¿Qué medicina toma mi abuela? | medicina toma abuela
        ¿Cuál es la contraseña del wifi? | contraseña wifi
        ¿Por qué cambiamos de banco? | cambiamos banco
        ¿Quién tiene las fotos de la boda? | fotos boda
        ¿A qué hora abre la farmacia? | hora abre farmacia
        ¿Cuánto cuesta el gimnasio? | cuesta gimnasio
        ¿Con quién fui al cine? | cine""",
    "italian": """
        Dove sono le chiavi della macchina? | chiavi macchina
        Dov'è l'ombrello? | ombrello
        Come si chiama il dentista? | chiama dentista
        Quando parte il treno per Roma? | parte treno Roma
        Qual è la password del wifi? | password wifi
        Chi ha riparato la bici? | riparato bici
        Perché abbiamo cambiato banca? | cambiato banca
        Quanto costa l'abbonamento? | costa abbonamento
        Che cosa ha detto il medico alla nonna? | detto medico nonna
        Con chi sono andato al cinema? | andato cinema""",
    "portuguese": """
        Onde está a chave do carro? | chave carro
        Qual é o nome do meu dentista? | nome dentista
        Quando é o aniversário da minha mãe? | aniversário mãe
        Como se chama o gato da Ana? | chama gato Ana
        Que remédio toma a avó? | remédio toma avó
        Por que mudamos de banco? | mudamos banco
        Quem consertou a bicicleta? | consertou bicicleta
        Quanto custa a academia? | custa academia
        A que horas abre a farmácia? | horas abre farmácia
        Com quem fui ao cinema? | cinema""",
    "dutch": """
        Waar ligt de sleutel van de schuur? | ligt sleutel schuur
        Hoe laat begint de vergadering? | begint vergadering
        Hoe heet mijn tandarts? | heet tandarts
        Wanneer wordt het afval opgehaald? | afval opgehaald
        Wie heeft de fiets gemaakt? | fiets gemaakt
        Wat is het wachtwoord van de wifi? | wachtwoord wifi
        Waarom zijn we van bank veranderd? | bank veranderd
        Welke maat heeft het filter? | maat filter
        Hoeveel kost het abonnement? | kost abonnement
        Met wie ben ik naar de bioscoop geweest? | bioscoop""",
    "polish": """
        Gdzie są klucze do samochodu? | klucze samochodu
        Jak nazywa się mój dentysta? | nazywa dentysta
        Kiedy są urodziny mojej mamy? | urodziny mamy
        Kto naprawił rower? | naprawił rower
        Jakie jest hasło do wifi? | hasło wifi
        Dlaczego zmieniliśmy bank? | zmieniliśmy bank
        Ile kosztuje karnet na siłownię? | kosztuje karnet siłownię
        O której otwierają aptekę? | otwierają aptekę
        Który lekarz przepisał leki babci? | lekarz przepisał leki babci
        Czy mogę odwołać wizytę? | odwołać wizytę""",
    "turkish": """
        Arabanın anahtarı nerede? | Arabanın anahtarı
        Annemin doğum günü ne zaman? | Annemin doğum günü
        Benim dişçimin adı ne? | dişçimin adı
        Bisikleti kim tamir etti? | Bisikleti kim tamir etti
        Neden bankayı değiştirdik? | bankayı değiştirdik
        Bu ay kira için kaç lira ödedim? | ay kira lira ödedim
        Eczane saat kaçta açılıyor ve nasıl giderim? | Eczane saat kaçta açılıyor giderim
        Hangi beden ayakkabı giyiyor? | beden ayakkabı giyiyor
        Toplantı hakkında ne konuştuk? | Toplantı konuştuk
        Doktor bana hangi ilacı verdi? | Doktor ilacı verdi""",
    "russian": """
        Где лежат ключи от машины? | лежат ключи машины
        Как зовут моего стоматолога? | зовут стоматолога
        Когда у мамы день рождения? | мамы день рождения
        Кто починил велосипед? | починил велосипед
        Какой пароль от вайфая? | пароль вайфая
        Почему мы сменили банк? | сменили банк
        Сколько стоит абонемент в зал? | стоит абонемент зал
        Что сказал врач о таблетках? | сказал врач таблетках
        Во сколько открывается аптека? | открывается аптека
        С кем я ходил в кино? | ходил кино""",
}
EACH = [
    (language, *map(str.strip, line.split("|")))
    for language, lines in QUESTIONS.items()
    for line in lines.strip().splitlines()
]

# Where a word of another language stands in an English question, it is one of its words like any other.
ENGLISH = """
Where did we put the die for the cutting press?|put die cut press
What happened in the war?|happen war
man hat size|man hat size
Where is the door key?|door key
Which van did we rent?|van rent
Van Gogh|van gogh
Los Angeles flight|los angel flight
the El Paso trip|el paso trip
lake como trip|lake como trip
leave a comment|leav comment
my todo list|todo list
What is on the todo list for Kim?|todo list kim
Did Ben and Dan agree?|ben dan agre
9am est standup|9am 9 est standup
Where does Ella live?|ella live
Is the Dell laptop broken?|dell laptop broken
Who won the son of the year award?|won son year award
How long is the bus fare valid?|long bus fare valid
Which pendant did she want?|pendant want
Do we pour the oil before the sauce?|pour oil sauc
size of the fur coat|size fur coat
Temu order|temu order
plot x and y|plot x y
Where is the soy and the hay?|soy hay
Al Gore encore|al gore encor
Uber from La Paz|uber la paz
Is it a jest or an ale?|jest ale
deja vu|deja vu
What does pourquoi mean?|pourquoi mean
When is the Die Hard marathon?|die hard marathon
Jane Doe|jane doe
""".strip().splitlines()


def asked_for(content: str) -> list[str]:
    return list(dict.fromkeys(terms(content)))


@pytest.mark.covers("W1-8")
@pytest.mark.parametrize(("language", "question", "content"), EACH)
def test_what_is_left_of_a_question_is_its_content(language: str, question: str, content: str) -> None:
    assert query_terms(question) == asked_for(content)


def test_every_language_is_asked_in() -> None:
    assert QUESTIONS.keys() == LANGUAGES.keys()
    assert min(sum(each[0] == language for each in EACH) for language in LANGUAGES) >= 10


@pytest.mark.parametrize("line", ENGLISH)
def test_an_english_question_keeps_its_words(line: str) -> None:
    question, _, expected = line.partition("|")
    assert query_terms(question) == expected.split()


@pytest.mark.parametrize("words", LANGUAGES.values(), ids=list(LANGUAGES))
def test_the_words_are_spelled_as_they_are_folded(words: str) -> None:
    """One that is spelled otherwise would never be met."""
    every = words.split()
    assert every == sorted(set(every))
    lead = "wann pourquoi cuando perche quem waarom dlaczego nerede почему"
    for word in every:
        assert word not in query_terms(f"{lead} {word.upper().lower()}") or word.isascii()
        if not word.isascii():
            assert terms(word) == [word]


def test_names_in_capitals_stay() -> None:
    assert query_terms("Wann tagt die WHO und was sagt IT?") == ["tagt", "who", "sagt", "it"]
    assert query_terms("Wann kommt DER MANN?") == ["kommt", "der", "mann"]


def test_a_question_of_nothing_else_is_asked_as_it_is() -> None:
    assert query_terms("wer ist das") == ["wer", "ist", "das"]
    assert not tells_something("wer ist das?") and tells_something("wer ist Anna?")
    assert not tells_something("¿qué es eso?") and tells_something("die hard")


def test_without_spaces_there_are_no_function_words() -> None:
    assert query_terms("wann 日本語 und") == ["日本", "本語"]


@given(st.lists(st.sampled_from(sorted({word for words in LANGUAGES.values() for word in words.split()} | STOP_WORDS))))
def test_something_is_always_asked_for(words: list[str]) -> None:
    text = " ".join(words)
    assert bool(query_terms(text)) == bool(text) and set(query_terms(text)) <= set(terms(text))


@given(st.lists(st.sampled_from([line.partition("|")[0] for line in ENGLISH]), min_size=1, max_size=3))
def test_english_questions_one_after_another_are_english(questions: list[str]) -> None:
    """However many words of other languages meet in them."""
    kept = {term for question in questions for term in query_terms(question)}
    assert kept == set(query_terms("Where is the " + ", and what about the ".join(questions))) | (kept & {"y"})

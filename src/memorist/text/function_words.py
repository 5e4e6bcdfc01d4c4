"""German words without content, and whether a query is German.

A function word of one language is a content word of another: "die" and "war" are English words too. So these are left out only
of a query that is evidently German: words that nobody would write in an English query count three, others one, and German must
be three ahead of English. Without them "wann kommt die Müllabfuhr" finds every note with "die". Other languages are searched
for with all their words; lists for eight more changed no figure. Words are spelled as `words.py` folds them.
"""

LOUD, SOFT, GERMAN_LEADS = 3, 1, 3
GERMAN = frozenset(
    """aber alle alles als am an auch auf aus bei beim bin bis bist bitte da dann darf das dass dein deine deinem
    deinen deiner dem den denn der des dich die diese diesem diesen dieser dieses dir doch dort du durch durfen
    eigentlich ein eine einem einen einer eines er es etwas euch euer eure fuer fur gegen gibt habe haben habt
    hast hat hatte hatten hattest her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
    ja jemand jene jener kann kannst kein keine keinem keinen keiner konnen konnt konnte konntest mal man mein
    meine meinem meinen meiner meines mich mir mit mochte muss mussen musst musste nach neben nein nicht nichts
    noch nochmal nur ob oder ohne sag sage schon sehr seid sein seine seinem seinen seiner seit sich sie sind so
    soll sollen sollst sollte uber ueber um und uns unser unsere unserem unseren unserer unter vom von vor wahrend
    wann war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb
    wessen wie wieso wieviel will willst wir wird wirst wo wodurch wofur woher wohin wollen wollte womit woran
    worauf worden wovon wurde wurden zu zum zur zwischen""".split()
)
# English words or names too. Words of up to three letters count softly as well, except these.
_SOFT = frozenset("beim hast hier hinter sage sein seine uber unter waren weil will worden".split())
_LOUD_SHORT = frozenset("das der ich ist sie und wir".split())


def evidence(word: str, is_english: bool) -> int:
    """How strongly one folded word speaks for German, below zero for English."""
    if is_english:
        return 0 if word in GERMAN else -LOUD
    if word not in GERMAN:
        return 0
    return LOUD if word in _LOUD_SHORT or (len(word) > 3 and word not in _SOFT) else SOFT

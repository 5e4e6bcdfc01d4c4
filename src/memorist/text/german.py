"""Puts the German words of a prompt into English, because the built-in encoder reads English, and many who keep their notes in
English talk in German.

This is not a translation. Each known word is replaced by English in its place, and all others stay as they are: names, code,
and what was English anyway. A line is treated like this if half of its words are German. Inflected words are recognised by
their beginning, participles without their "ge", compounds by their parts.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache

from memorist.text.function_words import LANGUAGES
from memorist.text.patterns import regex
from memorist.text.words import LONGEST_QUERY, STOP_WORDS

AROUND = ".,;:!?()\"'„“”«»"
VOWELS = str.maketrans({"ä": "a", "ö": "o", "ü": "u", "ß": "ss"})
TYPED_UMLAUT = regex("[aou]e")
PARTICIPLE = regex("^(ab|an|auf|aus|ein|her|hin|hoch|los|nach|um|vor|weg|zu|zuruck|zusammen)?ge(.{3,})$")
ENDINGS = ("", "e", "n", "s", "t", "en", "er", "es", "em", "te", "st", "et", "ern", "ten", "tes", "ter", "tem", "est")
SHORTEST_BASE, SHORTEST_PART = 3, 4  # letters
JOINTS = "sn"  # between the parts of a compound
GERMAN = 0.5  # share of the words of a line
# Otherwise the query would ask for the opposite.
DENIED = {"nicht": "not", "kein": "not", "keine": "not", "keinen": "not", "ohne": "without"}
LONGEST_WORD = 40  # letters
BOTH = 2  # English words for one with several meanings

# English, and the German words for it.
_WORDS = """
abort: abbrechen abbruch | accept: akzeptieren annehmen | access: zugriff zugang zugreifen | account: konto
add: hinzufügen ergänzen zufügen dazu fügen füg einbauen aufnehmen eintragen hinzu | address: adresse anschrift
admin: verwalter | again: wieder erneut | agree: zustimmen einverstanden vereinbaren | all: sämtliche
allow: erlauben zulassen gestatten | allowed: erlaubt | already: bereits | always: immer stets
amount: betrag menge anzahl | announce: ankündigen ankündigung | answer: antwort antworten beantworten
approve: genehmigen genehmigung abnehmen | architecture: architektur | area: bereich | argument: parameter
arrive: ankommen ankunft | ask: fragen nachfragen | assign: zuweisen zuordnen | attach: anhängen anhang
attempt: versuch | author: autor verfasser | automatically: automatisch | available: verfügbar | avoid: vermeiden
background: hintergrund | backup: sicherung sicherungskopie | bad: schlecht schlimm | bank: bank | basket: warenkorb
begin: beginnt fängt los | big: groß | bill: rechnung abrechnung | block: blockieren | box: kasten | branch: zweig
break: kaputtgehen kaputt bricht | bring: bringen bringt | broken: kaputt defekt | browser: browser | bug: fehler
build: bauen erstellen | button: knopf schaltfläche | buy: kaufen | cache: zwischenspeicher zwischenspeichern
call: aufruf aufrufen anruf anrufen | cancel: stornieren abbestellen | card: karte | cell: zelle
certificate: zertifikat | change: ändern änderung wechseln umstellen anpassen anpassung verändern
cheap: billig günstig | check: prüfen prüfung überprüfen kontrollieren nachsehen nachschauen | child: kind
choose: auswählen wählen auswahl | clean: aufräumen sauber bereinigen säubern | clear: klar leeren
click: klicken anklicken | clock: uhr | close: schließen zumachen geschlossen | cloud: wolke | cluster: verbund
code: quelltext | colour: farbe farben | column: spalte | come: kommen | command: befehl kommando
comment: kommentar kommentieren anmerkung | commit: einchecken committen commiten | common: gemeinsam
company: firma unternehmen | compare: vergleichen vergleich | compile: übersetzen kompilieren
complain: beschweren meckern | complete: vollständig komplett | component: komponente bauteil baustein
condition: bedingung | config: konfiguration konfigurieren einstellung | configurable: einstellbar konfigurierbar
confirm: bestätigen bestätigung | connect: verbinden | connection: verbindung | consistent: einheitlich konsistent
contain: enthalten beinhalten | continue: weitermachen fortsetzen weiter | contract: vertrag
convention: konvention gepflogenheit | convert: umwandeln konvertieren umrechnen | copy: kopieren kopie
correct: richtig korrekt korrigieren | cost: kosten | could: könnten | count: zählen zähler | country: land
cover: abdecken | crash: abstürzen absturz stürzt abstürzt abgestürzt | create: anlegen erzeugen erstellen
currency: währung | current: aktuell derzeit momentan | customer: kunde kundin | cut: schneiden | dark: dunkel
data: daten | database: datenbank | date: datum | day: tag tage täglich | deadline: frist abgabetermin
debug: debuggen fehlersuche | decide: entscheiden entscheidung beschließen beschluss beschlossen entschieden
default: standard voreinstellung standardmäßig | delay: verzögerung verspätung
delete: löschen entfernen wegwerfen weglöschen | deliver: liefern ausliefern lieferung zustellen
department: abteilung | dependency: abhängigkeit | deploy: ausrollen bereitstellen einspielen deployen
describe: beschreiben beschreibung | design: entwurf gestaltung | developer: entwickler entwicklerin | device: gerät
dialog: dialog | difference: unterschied differenz | different: anders verschieden unterschiedlich | direct: direkt
directory: verzeichnis | disable: deaktivieren abschalten ausschalten | disk: platte festplatte
document: dokument dokumentieren unterlage | documentation: dokumentation doku | done: erledigt getan
down: ausfall ausgefallen | download: herunterladen runterladen | draft: entwurf | draw: zeichnen | drop: wegfallen
duplicate: doppelt duplikat | each: jede jeder jedes jedem jeden | edit: bearbeiten editieren | email: mail mails
empty: leer | enable: aktivieren einschalten freischalten | encrypt: verschlüsseln verschlüsselung
end: ende enden beenden | endpoint: endpunkt | enter: eingeben betreten | entry: eintrag | environment: umgebung
error: fehler fehlermeldung | event: ereignis veranstaltung termin | exactly: genau exakt | example: beispiel
exception: ausnahme | exist: existieren vorhanden | expand: aufklappen erweitern | expect: erwarten erwartung
expensive: teuer | expire: ablaufen abgelaufen ablauf | explain: erklären erklärung erläutern
export: exportieren ausgeben | extend: erweitern erweiterung | external: extern | extra: zusätzlich
fail: fehlschlagen scheitern schiefgehen fehlgeschlagen fehlschlägt fehlschlug schlägt sterben stirbt
failure: ausfall fehlschlag | fallback: rückfall | fast: schnell | feature: merkmal funktionalität
fetch: abrufen abholen holen | field: feld | file: datei | fill: füllen ausfüllen | filter: filtern
find: finden suchen gefunden fund | finish: fertig abschließen fertigstellen | first: erste erster erstes zuerst
fix: beheben reparieren behebung korrektur flicken | fixed: fest | flag: schalter option | flaky: wackelt sporadisch
folder: ordner | font: schrift schriftart | for: dafür damit dazu | forbidden: verboten | forget: vergessen vergisst
form: formular | format: formatieren formatierung | forward: weiterleiten vorwärts | free: frei kostenlos
frontend: oberfläche | function: funktion | generate: generieren erzeugen generiert
get: bekommen bekommt kriegen kriegt erhalten erhält | give: geben gib | go: gehen geht ging | goal: ziel
good: gut gute | grant: gewähren berechtigen | group: gruppe | guest: gast | handle: behandeln behandlung umgehen
hang: hängen | happen: passieren geschehen | header: kopfzeile | help: hilfe helfen
hide: verstecken ausblenden verbergen | hint: hinweis tipp | history: verlauf geschichte historie
holiday: feiertag urlaub ferien | host: wirt | hour: stunde | house: haus | hurry: eilen | icon: symbol | id: kennung
idea: idee | ignore: ignorieren | image: bild abbildung | import: importieren einlesen | important: wichtig
improve: verbessern verbesserung | incident: störung vorfall | include: einbinden einschließen | index: indizieren
information: info angabe | input: eingabe | insert: einfügen | install: installieren installation
instead: stattdessen anstatt statt | interface: schnittstelle | internal: intern | invoice: rechnung
issue: problem ticket | job: auftrag | keep: behalten aufheben beibehalten | key: schlüssel | kind: art sorte
know: wissen weiß kennen | label: beschriftung etikett | language: sprache | large: groß
last: letzte letzter letztes zuletzt | late: spät verspätet | latest: neueste aktuellste | layout: aufbau anordnung
leak: leck | leave: lassen verlassen | length: länge | letter: buchstabe brief | level: ebene stufe
library: bibliothek | license: lizenz | lift: heben anheben | limit: grenze begrenzung limitieren begrenzen grenzwert
line: zeile | link: verknüpfung verlinken | list: liste auflisten | live: liegen wohnen
load: laden last auslastung lädt geladen | local: lokal | lock: sperren sperre schloss
log: protokoll protokollieren mitschreiben | login: anmelden anmeldung einloggen
logout: abmelden abmeldung ausloggen | long: lang langer langes | look: schauen sehen anschauen ansehen sieht
look into: nachschauen untersuchen | loop: schleife | lose: verlieren verliert verlust | machine: rechner maschine
mail: brief | main: haupt | maintain: pflegen warten wartung | make: machen | manual: manuell händisch handbuch
many: viele | mark: markieren markierung | match: treffer passen übereinstimmen | meaning: bedeutung bedeuten
measure: messen messung | member: mitglied | memory: speicher arbeitsspeicher | mention: erwähnen erwähnt | menu: menü
merge: zusammenführen mergen | message: nachricht meldung | method: methode | migrate: migrieren umziehen
migration: umzug umstellung | minute: minute | missing: fehlen fehlend fehlt | mistake: versehen irrtum vertan
mobile: mobil | module: modul | money: geld | monitor: überwachen überwachung | month: monat | more: mehr
move: verschieben umziehen bewegen umgezogen verschoben | name: benennen benennung | naming: benennung bezeichnung
necessary: nötig notwendig | need: brauchen benötigen | network: netz netzwerk | never: nie niemals
new: neu neue neuer neues | next: nächste nächster nächstes | nice: nett | night: nacht nachts
note: notiz notieren merken | notify: benachrichtigen benachrichtigung | now: jetzt nun gerade | number: nummer zahl
number of: anzahl | office: büro | offline: getrennt | old: alt alte alter altes | once: einmal | only: lediglich
open: öffnen offen aufmachen geöffnet aufgemacht | operate: betreiben betrieb | option: möglichkeit
order: bestellung bestellen reihenfolge | outage: ausfall | outdated: veraltet überholt | output: ausgabe
outside: außen außerhalb draußen | overview: überblick übersicht | owner: eigentümer besitzer inhaber | package: paket
page: seite | paginated: seitenweise | paragraph: absatz | parse: einlesen zerlegen auswerten | part: teil
partner: geschäftspartner | pass: bestehen durchlaufen | password: passwort kennwort | path: pfad
pay: bezahlen zahlen zahlung bezahlung | people: leute menschen | performance: leistung geschwindigkeit
permission: berechtigung recht erlaubnis | person: mensch | phone: telefon handy | pipeline: ablauf
place: ort platz stelle | plan: planen planung | point: punkt | possible: möglich | prefer: bevorzugen lieber
prefix: präfix vorsilbe | prevent: verhindern | previous: vorherig vorige | price: preis
print: drucken ausdrucken ausgeben drucke ausgibt | private: privat | problem: schwierigkeit
procedure: ablauf vorgehen verfahren | process: prozess verarbeiten vorgang verarbeitung | product: produkt artikel
production: produktion produktiv live | program: programm programmieren | project: projekt | protect: schützen schutz
provide: anbieten anbieter | public: öffentlich | publish: veröffentlichen veröffentlichung | pull: ziehen holen
push: hochladen schieben pushen | put: packen stecken legen | quality: qualität | query: abfrage abfragen anfrage
question: frage | queue: warteschlange schlange | quick: schnell zügig | range: bereich | rate: rate
read: lesen auslesen liest gelesen lies | ready: bereit fertig | reason: grund ursache
receive: empfangen empfänger erhalten | recent: kürzlich neulich | recommend: empfehlen empfehlung
record: datensatz aufzeichnen | red: rot | redesign: umgestalten | redirect: umleiten umleitung weiterleitung
reduce: verringern reduzieren senken | refactor: umbauen umbau aufräumen | refresh: aktualisieren neuladen
refuse: ablehnen verweigern | region: gebiet | register: registrieren registrierung
release: freigabe freigeben veröffentlichen version auslieferung | remember: merken erinnern erinnerung
remove: entfernen rausnehmen weg rauswerfen raus wegnehmen | rename: umbenennen umbenannt
render: darstellen darstellung rendern | repeat: wiederholen wiederholung | replace: ersetzen austauschen ersatz
report: bericht melden berichten auswertung | repository: repo | request: anfrage anforderung
require: erfordern voraussetzen voraussetzung | reset: zurücksetzen | resource: ressource
response: antwort rückmeldung | responsible: zuständig verantwortlich | rest: rest übrig
restart: neustart neustarten | restore: wiederherstellen wiederherstellung zurückspielen | result: ergebnis resultat
retry: wiederholen wiederholt | return: zurückgeben rückgabe | review: begutachten durchsicht durchsehen
rights: rechte | robust: robust robuster | role: rolle | roll back: zurück rückgängig
rollback: zurückrollen zurückdrehen | room: raum zimmer | rotate: rotieren erneuern austauschen | route: weg
row: zeile | rule: regel | run: laufen ausführen starten läuft lief laufend | safe: sicher | sale: verkauf verkaufen
same: gleich gleiche dasselbe derselbe selbe | save: speichern sichern abspeichern | say: sagen sagt
scale: skalieren skalierung | schedule: zeitplan planen terminplan | schema: schema | screen: bildschirm
script: skript | search: suche suchen durchsuchen | second: zweite sekunde | secret: geheimnis geheim geheimnisse
section: abschnitt | secure: absichern | security: sicherheit | see: siehe | seed: startwert | select: auswählen
send: senden schicken verschicken versenden sendet gesendet geschickt | separate: getrennt trennen | server: rechner
service: dienst | set: setzen | set up: einrichten aufsetzen einrichtung | setting: einstellung
settings: einstellungen einstellung | share: teilen freigabe | shipment: sendung lieferung versand
shop: laden geschäft | short: kurz kürzer | show: zeigen anzeigen anzeige einblenden | side: seite
sign: unterschreiben unterschrift signieren | signature: signatur | similar: ähnlich | simple: einfach simpel
size: größe | skip: überspringen auslassen | slow: langsam lahm | small: klein | snapshot: abbild momentaufnahme
software: anwendung | something: irgendwas irgendetwas | sort: sortieren sortierung | source: quelle | space: platz
spec: vorgabe | speed: geschwindigkeit tempo | split: aufteilen trennen teilen | sprint: etappe | stable: stabil
stage: stufe | start: starten anfangen beginnen anfang beginn hochfahren angefangen begonnen | state: zustand
status: stand | stay: bleiben bleibt | step: schritt | stock: bestand vorrat | stop: anhalten stoppen aufhören beenden
storage: speicherplatz ablage | store: ablegen speichern | string: zeichenkette
structure: struktur aufbau strukturieren | stuck: festhängen hängt klemmt | style: stil gestaltung aussehen
subject: betreff | suddenly: plötzlich | sum: summe | supplier: lieferant | support: unterstützen unterstützung
switch: umschalten schalter wechseln umstellen | table: tabelle tisch | tag: markierung
take: nehmen nimmt dauern dauert nimm | task: aufgabe | tax: steuer mehrwertsteuer | team: mannschaft
tell: mitteilen erzählen | temporary: vorübergehend temporär | tenant: mandant | test: testen prüfung | text: texte
theme: thema | thing: ding sache | third party: drittanbieter | thread: faden | throw: werfen wirft
time: zeit uhrzeit | time zone: zeitzone | timeout: zeitüberschreitung | timestamp: zeitstempel
title: titel überschrift | today: heute | together: zusammen | token: marke | tomorrow: morgen | tool: werkzeug
top: oben | total: gesamt insgesamt | traffic: verkehr datenverkehr | translate: übersetzen übersetzung
truncate: kürzen kürzt abschneiden | try: versuchen versuch probieren ausprobieren
green: grün | turn off: ausmachen abstellen ausschalten | turn on: anmachen | two: zwei | type: typ tippen
understand: verstehen verständnis | unify: vereinheitlichen | unit: einheit | unknown: unbekannt
unstable: instabil wackelig | unused: unbenutzt ungenutzt | up front: vorab
update: aktualisieren aktualisierung nachziehen | upgrade: hochziehen anheben aktualisierung | upload: hochladen
upper: groß | urgent: dringend eilig | use: benutzen nutzen verwenden verwendung nutzung | useful: nützlich
user: benutzer nutzer anwender | valid: gültig | validate: validieren validierung | value: wert | variable: variable
version: fassung | version control: versionsverwaltung | view: ansicht | visible: sichtbar
volume: lautstärke datenträger | vulnerability: schwachstelle lücke sicherheitslücke | wait: warten | want: möchten
warehouse: lager | warning: warnung warnen | watch: beobachten | weak: schwach | website: webseite internetseite
week: woche wöchentlich | weight: gewicht | whole: ganz gesamt | window: fenster | word: wort wörter
work: arbeiten arbeit funktionieren klappen | worker: arbeiter | would: wäre | wrap: umbrechen umbruch
write: schreiben verfassen schrieb geschrieben | wrong: falsch verkehrt | year: jahr | yesterday: gestern | zone: zone
"""


def in_english(text: str, holds: Callable[[str], bool] = lambda word: False) -> str:
    """A text with the known words of its German lines in English. A word that the notes contain themselves stays beside its
    translation.

    >>> in_english("wie spiele ich die Sicherung der Datenbank ein?\\nTypeError: die() takes no arguments")
    'spiele backup database\\nTypeError: die() takes no arguments'
    """
    read = (_read(line, holds) for line in text[:LONGEST_QUERY].split("\n"))
    return "\n".join(read) + text[LONGEST_QUERY:]


def _read(line: str, holds: Callable[[str], bool]) -> str:
    words = [word for piece in line.split() if (word := _bare(piece))]
    # A check without looking words up; nearly every German line contains such a word.
    shows = any(not word.isascii() or (word in _function_words() and word not in STOP_WORDS) for word in words)
    if not shows or sum(map(_is_german, words)) < GERMAN * len(words):
        return line
    said = " ".join(filter(None, (_said(piece, holds) for piece in line.split())))
    return said if " " in said else line  # a single word asks for less than the line did


def _bare(piece: str) -> str:
    """The word in a piece without blanks; empty for a name, a path, code, or a word in capitals."""
    word = piece.strip(AROUND)
    return "" if not word.isalpha() or len(word) > LONGEST_WORD or (word.isupper() and len(word) > 1) else word.lower()


def _is_german(word: str) -> bool:
    """Whether it is German and not also English, as "plan" and "test" are."""
    if word in STOP_WORDS or word in _english():
        return False
    return _plain(word) in _function_words() or _known(word) is not None


def _said(piece: str, holds: Callable[[str], bool]) -> str:
    word = _bare(piece)
    if not word or word in _english():
        return piece
    if word in DENIED:
        return DENIED[word]
    if _plain(word) in _function_words():
        return ""
    known = _known(word)
    return piece if known is None else f"{piece} {known}" if holds(word) else known


@lru_cache(maxsize=1 << 12)
def _known(word: str) -> str | None:
    plain = _plain(word)
    return _alone(plain) or _parts(plain)


def _alone(word: str) -> str | None:
    known = _table()
    for each in dict.fromkeys((word, PARTICIPLE.sub(r"\1\2", word))):
        for ending in ENDINGS:
            base = each.removesuffix(ending)
            if each.endswith(ending) and len(base) >= SHORTEST_BASE and base in known:
                return known[base]
    return None


def _parts(word: str) -> str | None:
    """The parts of a compound, by the longest known beginning."""
    for end in range(len(word) - SHORTEST_PART, SHORTEST_PART - 1, -1):
        first, rest = _alone(word[:end]), word[end:]
        last = (_alone(rest) or (_alone(rest[1:]) if rest[0] in JOINTS else None)) if first else None
        if last:
            return f"{first} {last}"
    return None


@cache
def _table() -> Mapping[str, str]:
    """The English for each word, by its form without endings: two words if it has several meanings."""
    known: dict[str, list[str]] = {}
    for english, words in _entries():
        for base in dict.fromkeys(_base(_plain(word)) for word in words):
            known.setdefault(base, []).append(english)
    return {base: " ".join(said[:BOTH]) for base, said in known.items()}


@cache
def _entries() -> tuple[tuple[str, list[str]], ...]:
    entries = (entry.partition(": ") for line in _WORDS.strip().split("\n") for entry in line.split(" | "))
    return tuple((english, words.split()) for english, _, words in entries)


def _base(word: str) -> str:
    ends = (each for each in ("en", "n", "e") if word.endswith(each) and len(word) - len(each) >= SHORTEST_BASE)
    return word.removesuffix(next(ends, ""))


@cache
def _english() -> frozenset[str]:
    return frozenset(word for english, _ in _entries() for word in english.split())


@cache
def _function_words() -> frozenset[str]:
    return frozenset(map(_plain, LANGUAGES["german"].split()))


def _plain(word: str) -> str:
    """Umlauts as single vowels, however they were typed."""
    return TYPED_UMLAUT.sub(lambda found: found[0][0], word.translate(VOWELS))

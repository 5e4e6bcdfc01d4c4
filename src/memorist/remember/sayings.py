"""How people say what is worth keeping, in English and German: a table of phrases by kind.

A sentence is read in small letters. Each line of the table is one way of saying it; a line that is indented further continues
the one before. `…` stands for up to nine words, `_` begins a clause, `^` the sentence, and a name in angle brackets is a class of
words. Every gap is bounded, so the time grows with the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CLASSES = {
    # who speaks, and for whom
    "we": r"(we|i|(the|our) (\w+ )?(team|board|family)|management|everyone)('ve| have|'re| are|'m| am| will|'ll| all| both"
    r"| finally| just| also| now| then| already)*",
    "wir": r"(wir|ich|(das|unser) team|die \w+leitung|alle)",
    "habe": r"(haben?|hat|wurden?)",
    # what a project has
    "part": r"(services?|modules?|layers?|components?|gateway|frontends?|backends?|workers?|schedulers?|databases?|queues?"
    r"|clients?|apis?|apps?|applications?|systems?|parsers?|index(es)?|plugins?|stores?|bus|prox(y|ies)|brokers?|jobs?"
    r"|controllers?|cache|pipelines?|code|tests?|\w*logi[ck]|requests?|reads|writes|events|(meta)?data|state|files|tokens"
    r"|tenants?|servers?|packages?|authenti\w+|login|config\w*|logging|\w+service|repositor(y|ies)|librar(y|ies))",
    "place": r"(\w*server|database|db|api|service|cluster|endpoint|host|port|url|domain|repo(sitory)?|wiki|bucket|dashboard"
    r"|registry|datenbank|dienst|rechner|website)",
    "date": r"(sprint|deadline|release|meeting|stand-?up|launch|demo|code freeze|retro|review|termin|abgabe|besprechung)",
    # people, and what they have for long
    "kin": r"(wife|husband|(?:girl|boy|best )friend|partner|spouse|fiancée?|son|daughter|kids?|child(ren)?|baby|mother|father"
    r"|mum|mom|dad|parents|brother|sister|grand\w+|aunt|uncle|cousin|niece|nephew|dog|cat|pet|family|twins|(room|flat)mate)s?",
    "verwandte": r"(frau|mann|partner(in)?|freund(in)?|sohn|söhne|tochter|töchter|kind(er)?|mutter|vater|mama|papa|eltern|bruder"
    r"|brüder|schwestern?|geschwister|oma|opa|groß\w+|tante|onkel|cousine?|hunde?|katzen?|zwillinge|nichte|neffe)",
    "own": r"(name|nickname|birthday|anniversary|address|number|email|dentist|doctor|therapist|boss|manager|team|job|company"
    r"|employer|home ?town|car|bike|laptop|computer|machine|keyboard|shell|editor|flight|appointment|surgery|exam|wedding"
    r"|blood type|size|diet|pronouns|time ?zone|native language|degree|major|school|university|hobby|hobbies|account|office"
    r"|landlord|insurance|budget|goal|income|salary|rent|phone|apartment|house|garden|collection|business|research|thesis)",
    "eigen": r"(\w*name|geburtstag|hochzeitstag|adresse|\w*nummer|\w*arzt|\w*ärztin|chef(in)?|team|job|firma|arbeitgeber"
    r"|heimatstadt|auto|fahrrad|laptop|rechner|flug|termin|prüfung|hochzeit|blutgruppe|\w*größe|muttersprache|hobbys?|schule"
    r"|büro|vermieter|ziel)",
    "few": r"(an?|one|two|three|four|five|six|\d+|eine?n?|zwei|drei|vier|fünf|sechs)",
    "day": r"((mon|tues|wednes|thurs|fri|satur|sun)days?|weekends?|weekdays|mornings?|nights?|evenings?|winter|summer|week|month"
    r"|year)",
    "tag": r"((mon|diens|donners|frei|sams|sonn)tags?|mittwochs?|wochenende|morgen|abend|winter|sommer|woche|monat|jahr|tag)",
    "when": r"(last (week|month|year|night|<day>|spring|summer|fall|autumn|winter)|(a|one|two|three|four|five|six|\d+|a few"
    r"|several) (day|week|month|year)s? ago|(on|in|since|by|until) (early |late |mid-?)?(jan(uary)?|feb(ruary)?|march|april|may"
    r"|june|july|aug(ust)?|sep(tember)?|oct(ober)?|nov(ember)?|dec(ember)?|(19|20)\d\d)|\$\d[\d,.]*)",
    "wann": r"(letzte[nsrm]? (woche|monat|jahr|winter|sommer|herbst|frühling)|(vor|seit) (\w+ )?(tag|woche|monat|jahr)e?n?|(im"
    r"|seit|bis) (januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember|(19|20)\d\d)|am \d+\.)",
    "usually": r"(usually|typically|normally|mostly|generally|regularly|often|frequently|almost always|tends? to)",
    # failing, mending and getting done
    "fails": r"(fail(s|ed)?|br(eaks?|oke)|crash(es|ed)?|leak(s|ed)?|hangs?|hung|dies|died|stuck|deadlocks?|time[sd] out"
    r"|timeouts?|(does|do|did)n't (start|work|load|compile|open|respond|build|run|boot|connect|turn|show|print|close)|stops?"
    r"|stopped|froze|freezes|slow|wrong|lost|loses|corrupt\w*|exit(s|ed)?|errors?|bug|outage|down|[45]\d\ds?)",
    "geht_nicht": r"(schl(ägt|agen|ug|ugen) … fehl|stürz(t|en|te|ten) … ab|(ging|geht|gehen|läuft|lief|funktionierte?|startete?"
    r"|klappte?|lädt|kompiliert) (\w+ ){0,3}nicht|hängt( sich)?(?! (vo[nm]|an|davon)\b)|bricht … ab|kaputt|fehlgeschlagen)",
    "done": r"(done|finished|completed?|ready(?! to)|merged|deployed|live|written|implemented|migrated|released|shipped|fixed"
    r"|closed|in review|painted|booked|paid|set up|in place|in progress|under way|started|ported|tested|documented|submitted)",
    "did": r"(finished|implemented|merged|completed|migrated|started|begun|pushed|shipped|released|deployed|submitted|wr[io]t(e"
    r"|ten)|built|added|ported|refactored|converted|set up|booked|packed|painted|paid|sent|ordered|read|cleaned|tested"
    r"|documented|opened|created)",
    "fertig": r"(fertig|abgeschlossen|erledigt|umgestellt|migriert|implementiert|umgesetzt|eingebaut|gemergt|deployt|live"
    r"|gestrichen|gebucht|bezahlt|getestet|geschrieben|gebaut|eingereicht|abgeschickt|gepusht|begonnen|angefangen|gepackt"
    r"|übersetzt|dokumentiert|bestellt|verschickt|aufgebaut|eingerichtet|veröffentlicht|überarbeitet|angelegt|repariert"
    r"|renoviert|gelesen|beantragt)",
}

# What a sentence of each kind says, with its relevance. The first kind that fits decides, so the narrower ones come first.
_TABLE = r"""
correction 0.8
    (correction|korrektur|berichtigung) ?:
    that('s| is| was) (wrong|not (right|correct|true)|incorrect|outdated|no longer (true|right)|a mistake)
    actually,? (it|my|the|our|i|we|that) ?('s|is|are|'m|am|was|\w+ (is|are|was|starts|runs|has))
    i (misspoke|mistyped|mixed up|was wrong|was mistaken|got … wrong|made a mistake)
    you('re| are|'ve| have)? (got|had|remembered|mixed) … (wrong|up)|you('re| are) (mistaken|wrong about)
    scratch that|sorry,? i meant
    (i|we) (meant|said) … ((and|but) not|but (it|that|i)|instead)
    ^not \S+( \S+)?, (but|we|it|i|the)
    (was|were) wrong[,;:] \w+
    not (called|named) … any ?more
    (we|i|it|that|they|is|are|do|does)('s|'re|'m)? no longer (?!work)\w+
    it('s| is) not … (it's|it is|but)
    ^no, (it|my|the|our|we|i|that)('s| \w+)? (?!mean\b)(\S+ ){0,9}?not
    ^(?!((please|just|always) )*(make|be sure|use|write|prefer|indent|put|name|keep)\b)(\S+ ){1,40}?(?<=, )(and )?not (in |on |at
        |the |to )?\S+( \S+)?$
    ^nein, (der|die|das|es|er|sie|(mein|unser)e?) (\S+ ){0,4}?(ist|sind|war|waren|heißt|liegt|läuft|beginnt) (\S+ ){0,6}?\S+, nicht
    (stimmt|passt) (\w+ )?nicht[,;:.] \S+
    (das|es|die|der) \w* ?(ist|war) (leider )?(falsch|veraltet|überholt|nicht richtig|ein irrtum)
    ich habe? mich (vertan|geirrt|verschrieben|vertippt|versprochen)|(lag|liege|liegst) (\w+ )?(falsch|daneben)
    (ich habe?|du hast) … (verwechselt|falsch (verstanden|gemerkt|notiert))
    ^(sorry, )?ich meinte
    _(eigentlich|tatsächlich) (heißt|ist|sind|liegt|läuft|wohn\w+|arbeit\w+|gehört|beginnt)
    (gilt|wohne|arbeite|heiße|bin|nutzen?|verwenden?|nehmen|esse|fahre) (\w+ ){0,3}nicht mehr|nicht … sondern
preference 0.8
    i('d| would)?( \w+ly| also| much| still)? prefer(?! (it|that|this|not)\b)|i('d| would) rather|my preferences? (is|are|for)
        |preferences? ?:
    i( really| absolutely| just| also| do| still| actually| personally)* (like|love|hate|dislike|enjoy|adore|detest|loathe)\b
        |i (don't|do not|can't|cannot|never)( really)? (like|enjoy|stand|bear|care for)\b
    i (always|never|only) (want|like|drink|eat|use|buy|order|wear|take|travel|fly|read|watch|book|listen|work)
    i want (all|every|my|your|you to (always|never)|no|only|each)
    i('d like| would like| want) (short|brief|terse|concise|plain|long|detailed|\w+) (answers|replies|responses|summaries|names
        |explanations|messages|commits|diffs|only)
    ^(comments?|docs|identifiers|names|(\w+ )?messages|answers|replies|commits|\w+strings) (in|auf) (british |american |plain )?
        (english|german|french|spanish|deutsch|englisch)( please| bitte)?[,.!]
    ^\w+ bitte auf (deutsch|englisch|französisch)|^keep (?!it|this|that|going|me|your)\w+ (under|below|short|small|at most)
    i('m| am) (not )?(really )?(an? (big |huge )?fan of|fond of|keen on|partial to|picky about|into)
    my (\w+ |all-time )?favou?rite( [\w-]+){1,4} (is|are|was)|(is|are) my (\w+ |all-time )?favou?rite
    ((?<!n't )matters?|(is|are) (\w+ )?important) to me|for me … (matters?|counts?|is more important|comes first)
    ^(please )?(call|address) me \w+[,.!]
    please (always|never|no|keep (your|my|all|it)|only|(don't|do not) (?!worry|forget|mind|include)\w+)
    _(always|never|only) (recommend|suggest|show|give|answer|ask|reply|respond|explain|tell|send|address|remind|offer
        |summari[sz]e)
    _stop (adding|using|writing|calling|asking|apologi[sz]ing|repeating|giving|suggesting|explaining|sending|telling|being|making)
    (give|show|send|tell) me … (first|before you|instead of|rather than|only when)
    when(ever)? you (write|answer|explain|review|suggest|give|show|name|refactor|generate|summari[sz]e|recommend|reply|format)
    your (answers?|repl(y|ies)|responses?|explanations?|summar(y|ies)|messages) (should|must|need to|have to)
    ich (\w+ )?(mag|liebe|hasse|bevorzuge|verabscheue|schätze)(?! (es|das|dich|ich|dass|mal)\b)
    mir (ist|sind|wäre) … (wichtig|lieber)(?! ist)|(lege|legen) … wert auf
    am liebsten|(mein|unser)e? lieblings\w+|(kann|können) … nicht (ausstehen|leiden)|ich (stehe|steh) (nicht )?(so )?auf|fan von
    (ich|wir|hätte) … (lieber|ungern|nicht so gerne?|sehr gerne?)|ich (?!hätte|würde|möchte|wäre|habe|will)\w+ (\w+ ){0,2}gerne?
    bitte (immer|nie|niemals|stets|keine?n?|nur|grundsätzlich)|_(duze?|sieze?|nenne?) (mich|uns)
    (antworte|schreibe?|erkläre?|formuliere?|zeige?|sprich|empfiehl|gib|verwende|benutze|nutze) … (immer|stets|nie|niemals|nur)
    (gefällt|gefallen|schmeckt|schmecken|liegt|liegen) mir (\w+ )?(nicht|besonders|besser|am besten|sehr)
    ich (möchte|will|wünsche mir) (immer|nie|keine?n?|nur|grundsätzlich|alle|lieber)
pattern 0.7
    (every|each) time (i|we|you|he|she|it|they|the|my|our|someone|there)
    ^whenever|(?<=, )whenever (i|we|the|someone|you|it)
    (we|i|it|(the|our|my)( [\w-]+){1,4}|builds?|deploy\w*|tests?|customers|users) <usually>|on <day> (i|we) (<usually>|always)
    ^(usually|typically|normally|as a rule|more often than not|nine times out of ten|most of the time)
    (the|our|this) (usual )?(pattern|idiom) (here )?is|the \w+ pattern[.!]?$
    keeps? (coming|happening|failing|crashing|breaking|returning|forgetting|losing|popping|showing|getting|running|growing)
    (is|it's) always the (same|first|last)|(follow|share|have|use|go through)(es|s)? (\w+ )?the same|has the same
    ^most (of (the|our|my)|bugs|errors|outages|failures|crashes|users|customers|issues|tests|problems)
    (every|each) <day> (i|we|the|my|it)|^(i|my) … (every|each) (second |other )?<day>
    immer( dann)?,? wenn|jedes ?mal|jede[nrs]? <tag> \w+
    (meist|meistens|normalerweise|in der regel|üblicherweise|für gewöhnlich|regelmäßig|häufig|typischerweise|fast immer|ständig)
    (tritt|treten|passiert|kommt|kommen) … (immer|stets|nur|oft) (nach|bei|vor|wenn|auf|dann|wieder)
    (folgen|folgt|haben|nutzen|gehen) … (demselben|dem gleichen|dasselbe|den gleichen|denselben) \w+
warning 0.8
    (warning|caution|gotcha|important|danger|attention|pitfall) ?:|heads[ -]up|beware|watch out|be aware (that|of)
    ^(please )?(be )?careful|(be|so) careful (with|when|not|about|if)
    (make|be) sure (that )?(you |we |to )?(never|don't|not|no)
    _(please )?(never|don't|do not|dont)( ever)? (?!mind|worry|heard|forget|know|think|have|hesitate|be|understand|bother
        |include)\w+
    \w+ (should|must|may|can|shall) never|(must|shall|should) not|mustn't|shouldn't be|may not be
    you (can't|cannot|can not|shouldn't)(?! (believe|imagine|see))
    (is|are|it's) (not allowed|forbidden|prohibited|off[ -]limits|not safe|unsafe|dangerous|risky|not supposed to)
    (under no circumstances|on no account|at no point)|_avoid \w+
    (is|are) (already |permanently )?(taken|blocked|occupied|reserved) by … (?<=, )(use|take)|(sind|ist) von … (belegt|blockiert)
    ^no (more|new) (?!errors?|problems?|issues|warnings?|\w+ (yet|so far))\w+ (\w+ )?(in|on|for|without)|^no \w+ without
    ^keine (neuen |weiteren )?\w+ (\w+ )?ohne
    (takes?|brings?|knocks?) … down|gets? (us|you|me) (banned|blocked|locked)
    ^(if|when|once|as soon as) (you|we|someone|anyone|they) … (breaks?|fails?|crash(es)?|loses?|(is|are|gets?) (lost|deleted
        |corrupted)|stops?|dies|explodes?|hangs|goes down|will break)
    (otherwise|or else) (it|the|you|we|they|this|everything)
    _(vorsicht|achtung|warnung)|passt? (bitte )?auf|aufpassen|(finger|hände) weg|hüte dich
    (ist|wäre) … (gefährlich|riskant|verboten|tabu|nicht erlaubt)
    (auf (gar )?keinen fall|unter keinen umständen|keinesfalls|bloß nicht|ja nicht)
    (darf|dürfen|soll|sollen|sollten?|kannst) (\S+ ){0,6}(nicht|nie|niemals|keine?n?) \w+
    ^(niemals|nie|vermeide) \w+|^(?!ich|wir|er|sie|es|du|das|die|der|mein)\w+ (\w+ ){0,3}(nie|niemals) \w+
    ^bitte (\S+ ){0,5}(nicht|nie|niemals)(?! vergessen)|bitte nicht \w+
    sonst (geht|gehen|bricht|stürzt|ist|sind|wird|werden|funktioniert|löscht|verliert|verlieren|hängt)
error 0.7
    (cause|culprit|reason|problem|bug|issue|error|crash|failure|leak|outage) (is|was|were|came|lay|turned out)( that| the| an?
        | in| from| due| to| caused| with| not| my| our| on)+
    (solution|fix|trick|workaround) (is|was|were) (to|that|the|an?)|(caused|triggered|fixed|solved|resolved) by
    <fails> … (because|due to|since the|as the)
    (fix|solv|resolv|repair)(ed|es) (it|this|that|the|my|our|all|everything)|makes? … work again|works? again (after|since|once
        |when)
    (fails?|failed|crash(es|ed)?|dies|died|hangs|breaks|broke) (with|on|when|if|under|after|as soon as|unless|during)
    (throws?|threw|raises?|raised|returns?|returned) (an? )?\w*(error|exception|50\d|4\d\d|timeout)
    (exit(s|ed)?|quits?) with (code|status|an error)|runs? out of (memory|disk|space)
    (got|get|getting|see|seeing|had) an? (\w+ ){0,3}(error|deadlock|exception|timeout|crash|segfault) (because|when|if|on|after
        |since|in)
    (fehler|problem|ursache|grund|schuld|auslöser|lösung|absturz) (daran |dafür |hier )?(lag|liegt|war|waren|ist|kam|kommt
        |bestand)( \w+)? (an|am|ein|eine|das|der|die|dass|von|vom|in|im|dar\w+|zu)
    _schuld (war|ist|hatte)|error [a-z]{1,4}\d{3,5}
    (behoben|gelöst|repariert) … (indem|durch|mit|nachdem|seit)|(durch|mit|indem|nachdem) … (behoben|gelöst|repariert|beheben
        |lösen)
    <geht_nicht> … (weil|wenn|sobald|da|wegen|nachdem|falls|unter|seit|mit)|(weil|wegen|sobald|wenn) … <geht_nicht>
    (funktioniert|läuft|geht|klappt) (\w+ )?(erst|nur)( wieder)?,? (wenn|nachdem|mit|seit|unter)
decision 0.8
    <we> (decided|agreed|chose|chosen|opted|settled on|committed to|picked(?! up)|approved|(switched|migrated) to
        |moved to(?! the)|went with the|resolved to|concluded)
    it(| is|'s| was| has been) (decided|agreed|settled|approved)
    (decision|decided|final (call|decision)|verdict|agreed|entscheidung|beschluss|beschlossen|entschieden|vereinbart) ?:
    _lasst? uns … (verwenden|nutzen|benutzen|nehmen|einsetzen|behalten)
    let's (go with|stick (with|to)|stay with|use|keep|adopt|settle on|standardi[sz]e)(?! (the time|going)\b)
    <we> ((going|sticking) with|staying (with|on)|dropping|(switching|moving|migrating) (to|from|over|off|away)|adopting
        |replacing|retiring|deprecating|abandoning|keeping|not going to|taking the|(going|planning) to (use|switch|move|drop
        |migrate|replace|keep|adopt))
    we('ll| will)( be)?( not)? (use|using|go with|keep|stay|drop|switch|move|migrate|adopt|replace|support|ship|host|store|build)
    i('ll| will) (go (with|for)|stick (with|to)|stay with)
    ended up (choosing|using|going|picking|with|taking)|made up (my|our) minds?
    (we|the team)('ve| have)?( \w+ly| just| now| finally)? (dropped|ditched|retired|abandoned|replaced|deprecated|banned
        |got rid of|phased out|threw out|moved (away from|off))
    ^for (\w+ ){1,3}(we|i) (use|chose|took|went with|go with|rely on)
    ^(please |ok,? |so )?(stick|stay) (to|with|on) \S+ \S*\d|^bleibt? (bitte )?bei \S+ \S*\d|we('re| are) on \S+ \S*\d
    wir … keine?n? … mehr|wir haben … (rausgeworfen|abgeschafft|ersetzt|abgeschaltet|entfernt)
    (the|our|my) (plan|decision|choice|agreement) (is|was) (to|that|for)
    (from now on|going forward|from today on|^starting (next|with|from)|effective (immediately|today)|as of (today|now|next))
    instead of … (we|i)('re|'m|'ll| are| am| will)? (use|using|go|going|take|taking|have|run|running)
    (we|i)('re|'m|'ll| will)? (use|using|take|went for|go for|choose|chose) … (instead of|rather than) \w+
    <wir> … (entschieden|beschlossen|geeinigt|vereinbart|festgelegt|entschlossen)|es (wurde|ist|war) … (entschieden|beschlossen
        |vereinbart)
    (ab sofort|künftig|zukünftig|in zukunft|von nun an|ab (jetzt|heute)|ab nächste[rmn])
    wir (bleiben (\w+ )?bei|setzen (\w+ )?auf|wechseln (\w+ )?(zu|auf|von)|verzichten (\w+ )?auf|entscheiden uns|(steigen
        |stellen) … um|verlegen|ersetzen|führen … ein|nehmen (doch|jetzt|nun|also|dann|lieber|den|die|das))
    statt … (nehmen|nutzen|verwenden|benutzen|setzen|fahren|kaufen) wir|(der|unser|mein) plan (ist|sieht)
    wir werden … (nehmen|verwenden|nutzen|umstellen|einführen|wechseln|umziehen|heiraten|kaufen|ersetzen|abschalten)
convention 0.75
    by convention|(conventions?|rule|policy|konvention|regel|vorgabe) ?:
    (our|the) (\w+ )?(conventions?|style( ?guide)?|rules?|polic(y|ies)|guidelines?|workflow|process) (is|are|says?|requires?
        |demands?|for)
    ^(in|for|on|at) (this|our) (repo|repository|project|codebase|team|family|house|home|office|company)
    _(please )?always (?!look|the|a\b|\w+(ing|ed)\b|been|was|nice|good)\w+|(must|should|needs? to|has to|have to) always
    we (always|never|only) (?!got|had|did|were|was|heard|know|knew|\w+ed\b)\w+
    (is|are) always (named|called|written|stored|kept|in|prefixed|placed|done)
    ^(all|every|each|any|new|public|private|only|prs|commits|branch(es)?|\w+ (files|names|tests|functions|classes|modules
        |variables|tables|columns|requests?|branches|keys|messages?)) … (must|should|shall|needs?|has to|have to|requires?|(start
        |begin|end)s? (with|in)|follows?|may)
    ^(new|public|private|pull requests|prs|commits?|branch(es)?|tests|files|modules|functions|classes|constants|variables|tables
        |columns|migrations|errors|secrets|dates|timestamps|names) (names? |messages? )?(are|go|live|start|begin|end|follow|use
        |carry|get|stay|belong)(?! (green|red|fine|failing|passing|broken|slow|done|missing|great|good|not|many)\b)
    ^all \w+ are (stored|written|named|kept|saved|logged|prefixed|sorted|formatted|measured|in)
    ^(?!.* (wrong|same) )(all|every|each|any|new|shared|generated|\w+s) (\S+ ){0,5}?(goes|go|belongs?|lives?|stays?) (in|into|to
        |under|out of|next to|with)
    (is|are) … (only|everywhere|throughout)[.!]?$|^one \w+ per \w+|(is|are) (one|an?|two) \w+ each
    ^(everything|anything|nothing|each|every) (\S+ ){0,4}?(goes? (through|via|into)|gets? (\w+ed that|\w+ed without|its own))
    (customer|client|boss|legal|security|compliance|ops|product owner|management|company|auditors?)s? (insists?|wants|requires?
        |demands?|expects?) (on|every|all|no|that|only|us)
    ^(?!.*\b(error|output|message|result|problem|response)\b)(\S+ ){1,6}?(is|are|goes through|happens (with|via)) `[^`\s]+ [^`]+`
    ^(?!the|this|that|these|those|my|but)\w+s (\S+ ){0,4}(have to|must|need to) be \w+ed
        |(we|you) (treat|count) … as|you (need|have to) … first
    ^(dates|times(tamps)?|amounts|prices|names|keys|durations|sizes|docs|comments|(\w+ )?ids|strings|logs) (\S+ ){0,4}?(is|are)
        (always |kept )?(in|iso|utc|ulids?|uuids?|integers?|strings?|lower|upper|snake|camel)
    (nobody|no one) (edits|touches|changes|writes|uses|calls|pushes|deploys|may)|fasst … (keiner|niemand)|niemand (fasst|ändert)
    (must|has to|have to|needs? to) (stay|remain)|(stays?|remains?|is|are) (untouched|frozen|read-only|out of git)
    ^(squash|commit|push|sign) … (before|after) (each|every|any|you|\w+ing|an?)
    ^(alle[sr]?|jede[rs]?|neue|generierte[rs]?|\w+(en|s)) (\S+ ){0,5}?(kommt|kommen|gehört|gehören) (nicht )?(nach|unter|ins?|zu)
    (wird|werden) (überall|ausschließlich|durchgehend|nur)|(kunde|chef|team|recht\w*) (besteht|verlangt|erwartet)
    ^(der|die|das|ein) (\S+ ){1,5}?ist `[^`\s]+ [^`]+`
    we (use|write|name|format|prefix|store|require|follow|indent|squash|rebase|review|tag|document|keep|put) … (for|in|with
        |before|after|by|as|every|all|between|instead|when|to)
    ^(before|after|prior to) \S+ … (?<=, )(bump|run|make|check|update|tag|add|create|set|open|ask|write|call|start|stop|build
        |push|pull|use)
    ^to \w+( \S+){0,6}, (first |just |simply )?(run|use|call|start|execute|type|open|set|go|press|edit|copy)|^first … then \w+
    ^use … (for|instead of|and not|rather than)(?!.* this\b)
    ^((please|just|always) )*((make|be) sure (that )?(you|we|to) )?(use|write|prefer|indent|put|name|keep) … (?<=, )(and )?not \S+
    ^(run|start|check|update|bump|ask|test|make|rebase|format|lint) … (before|after) (each|every|any|you|\w+ing|an?)
    when(ever)? (\w+ing|you (add|create|change|rename|remove)) … (?<=, )(also|always|please|add|register|update|run|put|write
        |make|check|use)
    ^(the|our|we) … (every|each) (second |other )?<day>
    (bei uns|hier im projekt|in (diesem|unserem) (projekt|repo|haus|team)|in unserer (familie|firma|wg))(?! (ist|war) (heute
        |gerade)\b)
    (grundsätzlich|prinzipiell|per konvention|ausnahmslos)
    (vor|nach) (jede[mrn]|dem|der|einem) \w+ (läuft|laufen|muss|müssen|wird|werden|immer|kommt|bitte|erst|ist)
    ^(alle|jede[rs]?|neue|interne|öffentliche|private|sämtliche) … (muss|müssen|braucht|brauchen|sollen|sollten?|wird|werden
        |bekommt|bekommen|beginnen|beginnt|enden|endet|heißen|gehört|gehören)|^(die|der|das|unsere?|eine?) (\w+ ){1,3}(muss
        |müssen|gehört|gehören)
    ^(?!ich|du|wir|er|sie|es|was|wer|wie|das|mein)(\S+ ){1,6}immer (\S+ ){0,5}\S+$|wir (\w+ ){1,4}(immer|nie|stets
        |ausschließlich)(?! noch)
    (man|wir) (schreib(en|t)|nutz(en|t)|verwende[nt]|benennen|speichern|halten) … (für|als|mit|nach|vor|in|bei)
    um … zu \w+, (erst|zuerst|bitte|einfach|musst|muss|müssen|führe|starte)|(erst|zuerst) … (dann|danach|anschließend) \w+
note 0.6
    (i|we)('ve| have)?( just| also| now| recently| only)? (noticed|found out|discovered|learned|learnt|reali[sz]ed|observed
        |figured out|saw|found)( (today|out|yesterday))? (that|how|why|out)
    turn(s|ed) out,? (that|the|it|there|my|our|we|i|you|\w+ (is|are|has|was|does|only))
    ^(looks like|it seems that|it appears that) (the|our|my|there is|\w+ (is|only|does|has))
    (interesting|fun fact|til|today i learned|fyi|good to know|side note|finding|observation) ?:
    ^(interestingly|surprisingly|curiously|oddly|strangely|apparently|evidently)(?!.*you('re| are) right)
    (shows?|showed|reveals?|revealed|proves?|proved|indicates?|suggests?|confirms?|confirmed) that|according to (the|their|its
        |our) \w+
    i didn't know (this|until)|(the|our) \w+ (actually|in fact|silently|secretly|quietly) \w+
    (mir|uns) (ist|fiel|fällt) (\w+ )?(aufgefallen|auf)|(stellte?|zeigte?|hat) sich … (heraus|herausgestellt|gezeigt|dass)
    <habe> … (herausgefunden|festgestellt|bemerkt|entdeckt|erfahren|gelernt|gemerkt|gesehen), (dass|wie|warum)|wie sich zeigt
    ^(interessant|interessanterweise|überraschend|überraschenderweise|erstaunlicherweise|offenbar|offensichtlich|übrigens)
    ^(laut|gemäß) (der |dem |den |unserer |unserem )?\w+|(messungen|logs|tests|zahlen|profiler|auswertung) (zeig(t|en)|ergab(en)?)
progress 0.5
    (next( step| up)?|to-?do|still (to do|open|missing)|remaining|blocked|blocker|status|progress|done|in progress) ?:
    still (missing|to do|to be done|open|needs?|left|pending)|left to do|comes next|is next|remains? to be|half ?way (through
        |there|done)
    (the|only|all) (\w+ )?(remaining (work|tasks?|steps?)|that('s| is) left|remains)|only … remains?
    \d+ ?(%|percent) (done|complete|finished|ready|of)|\d+ (of|out of) (the )?\d+
    (i|we)('ve| have) … so far|(went|goes|gone|is) live
    (we|i)('re| are|'m| am) (still |currently )?(waiting (for|on)|blocked|stuck)|waiting for (review|approval|feedback|the)
    ^(?!let|i |you|when|if)(\S+ ){1,7}?(is|are|has been|have been|was
        |were) (now |already |finally |all |fully |almost |nearly )?<done>(?! (for|by|in (?!the)|because|with)\b)
    (i|we)('ve| have)( already| just| now| finally| also)? <did>|(?<!since )(?<!once )(i|we)( already| just| now| finally
        | also)? (finished|implemented|merged|completed|migrated|shipped|released|deployed|submitted|refactored|ported
        |started \w+ing|pushed|booked)
    (i'm|i am|we're|we are) (now |currently |still )?(working on|implementing|migrating|refactoring|writing|building|testing
        |porting)
    (ist|sind|wurden?) (\S+ ){0,4}<fertig>|<habe> (\S+ ){0,8}<fertig>
    (fehlt|fehlen) (\w+ )?noch|noch (offen|ausstehend|zu tun|nicht fertig)|stehe?n?t? noch aus|^offen (ist|sind|bleibt)
        |bleibe?n?t? noch
    als nächstes|nächster? schritte?|(wir|ich) warten? (\w+ )?auf|(die|zur) hälfte|zu \d+ prozent|\d+ von \d+
    (ich|wir) (bin|sind) (gerade |jetzt |schon |mittlerweile )?(bei (kapitel|schritt|teil|punkt|seite)|mitten in|fertig mit)
architecture 0.7
    (architecture|architektur) ?:|(hexagonal|layered|microservice|event-driven|modular|serverless) (architecture|design|monolith
        |system)
    ^(?!an? |eine? )(\S+ ){0,5}<part>( \S+){0,3}? (only |mainly |directly |all )*(talks? to|depends? on|owns?
        |communicates? (\w+ )?with|go(es)? (\w+ )?(through|to|via)|consists? of|pulls?|feeds?|publish(es)?|consumes?
        |subscribes? to|emits?|reads? (\S+ )?from|writes? (\S+ )?to|calls|wraps|knows? nothing|lives? in|sits?|runs? as|contains?
        |exposes?|delegates?|imports?|sends?|stores?|forwards?|are stateless|is stateless|is an?)
    ^(?!an? |eine? )(\S+ ){0,5}(is|are) (\w+ly )?(handled|served|backed|(re)?built|split|published|consumed|stored|cached
        |generated|hosted|written|deployed|routed|loaded|rendered|managed|organi[sz]ed|divided|persisted|queued|implemented
        |exposed|kept) (by|from|on|into|to|in|with|via|through|as|around|behind|using)
    (each|every) \w+ (has|gets|owns|runs) (its|their|an?) own|(sits?|lives?) (between|behind|in front of|on top of|in the)
    ^(der|die|das|unsere?|alle|jede[rs]?) (\S+ ){1,4}(spricht|sprechen|hängt|hängen|besteht|bestehen|schreibt|schreiben|liest
        |lesen|(läuft|laufen) (über|durch)|(liegt|liegen) i[nm]|gehen|geht|lädt|laden|ruft|rufen|kommuniziert|kommunizieren
        |enthält|enthalten|verwaltet|kapselt|basiert|basieren|sendet|holt|holen|nutzt|verwendet) (\S+ ){0,8}?(mit|vo[nm]|aus
        |i[nm]|über|durch|auf|an|ab|de[rn]|die|das|eine?n?|zur|zum)|jede[rs]? \w+ (hat|bekommt|besitzt) (eine? )?eigene[ns]?
    ^(der|die|das|alle|jede[rs]?|\w+en) (\S+ ){0,3}(wird|werden) (\S+ ){0,6}(abgelegt|gespeichert|verwaltet|ausgeliefert|erzeugt
        |veröffentlicht|verarbeitet|gehostet|geladen|gecacht)
fact 0.6
    my name('s| is)|i go by \w+
    (has|have|gets?|allows?|accepts?|takes?) (only|at most|no more than|just) \d|(hat|haben|erlaubt) (nur|höchstens) \d
    (prod|production|staging|ci|the servers?|everything) (runs?|is|are) (on|in) \w+|source of truth
    (tests?|suite|build|job|script|app|server)s? (needs?|requires?) … (running|installed|first|on)|only (works?|builds?) (with|on
        |in|after)
    (brauchen|braucht|benötigt|benötigen) (ein|einen|eine)? ?(laufende[sn]?)|(comes?|kommt|kommen) (from|aus|von) \w+, (not|nobody
        |nicht|die|das|den)
    only (?!the|one|two|this|that)\w+ (may|can|is allowed|are allowed)|(is|are) (owned|maintained|paid|approved|reviewed) by
    (our|the) (min(imum)?|max(imum)?|oldest|lowest|highest) (\S+ ){1,3}(is|are)|we support (?!this|that|it)\S+
    i (work|develop|code) on (an? \w+|linux|windows|macos)|(is|are) (at-least-once|at-most-once|idempotent|append-only|immutable)
    (i|we)('ve|'m|'re|'ll|'d)? … <when>|(ich|wir) … <wann>|(habe|bin|haben|sind) (ich|wir) … <wann>|^(my|our|meine?
        |unsere?) … (<when>|<wann>)
    (i|we) (\w+ )?(participated|attended|volunteered|joined|adopted|enrolled|signed up)|i('m| am) (now|currently) \w+ing
    (i|we)('ve)? (just|recently|finally) (got|bought|joined|adopted|attended|signed up|moved|volunteered|visited|purchased
        |switched|learned)
    (i'm|i am|we're|we are)( \w+)? (planning|preparing|hosting|organi[sz]ing) (an?|to|for|my|our)|i'm currently in an?
    i('m| am) (originally |also |currently )?(an? (?!bit|little|fan|huge|big)\w+|from|allergic|intolerant|vegetarian|vegan|celiac
        |(left|right)-handed|married|divorced|widowed|engaged|single|pregnant|diabetic|colou?r ?-?blind|deaf|blind|retired
        |unemployed|self-employed|freelanc\w+|\d+|based in|born|training for|learning|studying|expecting|the (only|owner|lead
        |head|maintainer|founder)|responsible for|in charge of|passionate about|used to|willing to|enrolled|a member|dyslexic
        |autistic|jewish|muslim|catholic|buddhist|moving to|on (a diet|medication|parental leave))
    i (live|work(ed)? (as|at|for|in|mostly|mainly|from|on|with|part|night|remotely)|study|studied|come from|grew up|speak|own
        |drive an?|wear|was (born|diagnosed|raised)|play the|teach|suffer from|moved (to|from)|went to (school|university
        |college)|graduated|volunteer|run (an?|my)|weigh|got (married|divorced|promoted|engaged)|quit|turn \d+)
    i (also |actually |already |still |currently )?have (an? (?!question|idea|problem|good|great|ton\b|lot\b|few\b|look|feeling
        |doubt|minute|moment|meeting|bug|hunch|suggestion)\w+|two|three|four|five|\d+|no (?!idea|clue|time|doubt|problem
        |trouble)\w+|celiac|diabetes|asthma|adhd|type)
    i('ve| have)( \w+)? been (?!looking|meaning|trying|thinking|wondering|considering|planning|noticing|hearing|struggling
        |feeling|having)\w+ing
    i('ve| have) (lived|worked|had|known) … (for|since|\d+)|i('ve| have) (always|never|recently) (?!heard|seen|thought|noticed
        |understood)\w+
    (my|our) <kin>('s?)?( (?!will|would|could|can|may)\w+){0,2} (is|are|was|has|have|had|lives?|works?|starts?|moved|studies|goes
        |got|loves?|hates?|likes?|wants?|can't|prefers?|needs?|turns?|speaks?|plays?|died|suffers?|takes?|gets)
        |<kin>'s birthday (is|in|on)
    (my|our) (\w+ )?<own>( \S+){0,4}? (is|are|was|has|runs?|starts?|leaves|goes|ends|costs|uses|expires)(?! (getting|cold|so|too
        |really|very|killing|full|late|great|nice)\b)
    we have <few> (\w+ ){0,3}(dogs?|cats?|kids?|children|sons?|daughters?|pets?|rabbits?|horses?|retriever|puppy|house|garden
        |apartment|flat|twins|employees|developers|servers|environments|customers|tenants|offices)
    (the|our) (\w+ ){0,3}<place>( \w+){0,2} (is|are|listens?|runs?|lives?|has|requires?|uses?) (at|on|in|called|named|hosted
        |located|running|version|under|\S*\d|[a-z]+ \d|mongo\w*|postgres\w*|mysql|redis|sqlite)
    (the|our|next) (\w+ ){0,3}<date>( \w+){0,3} (is|ends?|starts?|begins?|takes place|was moved) (on|at|in|every|to|next|due|from
        |\d)
    \w+ (is|are) (the |our |my )?(\w+ )?(owner|maintainer|contact|lead|responsible|in charge|manager|reviewer|admin|cto|ceo)
    ich (heiße|wohne|lebe|arbeite|studiere|stamme|komme (\w+ )?aus|ernähre mich|spreche|unterrichte|leide an|vertrage
        |fahre eine?n?|besitze|trage (größe|eine brille)|wiege|trainiere für|lerne (\w+ )?\w+isch)
    ich bin (\w+ )?(\w+(er|erin|in|ist|istin|eur|or|orin|loge|login|kraft|mann|frau|arzt|ärztin|koch)( .*|[.!]?$)|vegan
        |allergisch|verheiratet|geschieden|ledig|schwanger|\d+|in \w+ (geboren|aufgewachsen)|aus|der|die|selbst\w+|farbenblind
        |verlobt|laktose\w*)
    (mein|unser)(e|er)? <verwandte>( \w+){0,2} (ist|sind|hat|haben|heißt|heißen|wohnt|wohnen|lebt|arbeitet|heiratet|kommt
        |studiert|geht|spielt|mag|wird|spricht|feiert|zieht|bekommt|leidet)
    (mein|unser)e? (\w+ )?<eigen>( \S+){0,3}? (ist|sind|heißt|hat|geht|läuft|beginnt|endet|kostet|lautet|steht|liegt)
    (wir|ich) haben? <few> (\w+ ){0,2}(<verwandte>|haustiere?|kaninchen|pferde?|garten|haus|wohnung|\w*allergie|unverträglichkeit
        |mitarbeiter|server|umgebungen|kunden)|(habe?|hat) am … (geburtstag|hochzeitstag|jahrestag)
    (der|die|das|unsere?) (\w+ ){0,2}<place>( \w+){0,2} (steht|läuft|liegt|lauscht|hört|heißt|ist|hat) (in|auf|unter|bei|im|\S*\d
        |version|port)
    (der|die|das|unsere?|nächste[rs]?) (\w+ ){0,2}<date>( \w+){0,2} (ist|endet|beginnt|findet|startet|liegt) (am|um|im|jeden
        |immer|alle)
    (ansprechpartner(in)?|zuständig|verantwortlich) … (ist|sind|für)
"""

# A sentence that asks, supposes or speculates states nothing; nor does small talk.
_UNSURE = r"""
    ^(what|why|how|who|which|where|whose|whether|((and|but|so) )?when (do|does|did|is|are|will|was|were|can|should))
    ^(do|does|did|is|are|can|could|would|should|shall|may|might|has|have|had|was|were|will)(n't)? (i|you|we|they|he|she|it|the
        |this|that|these|there|my|our|your|any\w*|some\w*)
    what if|suppos(e|ing)|imagine|maybe|perhaps|possibly|probably|wonder(ing|s)?|not sure|unsure|might|hypothetical\w*|could (be
        |also)
    (if|wenn|falls) … (would|could|wouldn't|were|würden?|wären?|könnten?|hätten?)
    (i|we) (disagree|don't agree|do not agree|don't think so)|(ich|wir) (sehe|sehen) das anders
    (haven't|have not|hasn't|not yet|didn't) (\w+ )?(decided?|agreed?|chosen|choose)|still (undecided|deciding|thinking)
    (decision|question) is (still )?(open|pending)|(thinking|thought) (about|of) \w+ing|^we could|can't decide
    ^(wer|was|warum|wieso|weshalb|wo|wohin|woher|wann|welche[rsmn]?)|^wie (?!sich)\w+
    vielleicht|eventuell|möglicherweise|womöglich|vermutlich|wahrscheinlich|könnten?|unsicher|nicht sicher|frage mich
        |keine ahnung|weiß nicht|überlege|angenommen|stell dir vor|(noch )?nicht (entschieden|geeinigt|beschlossen)
    ^(soll(en|te|ten)?|hast|habt|kannst|könntest|magst|willst|weißt|kennst|gibt|ist|sind|hat) (ich|wir|man|du|ihr|es|das|er|sie)
    never mind|don't worry|no worries|haha|just kidding|say never|^(thanks|thank you|danke|vielen dank)|(thanks|danke
        |ship it)[.!]*$
    (above|below|following|oben|unten|folgende[rn]?) (\w+ )?(is|are|from|uses|returns|stammt|ist|steht)
"""
# To like what was just said is no lasting taste, and what holds only now says nothing of how things are.
_REACTION = r"""
    (like|love|hate|dislike|enjoy|adore|detest|loathe|stand|bear) (it|this|that|you|your|the|these|those|her|his|their|to (know
        |see|hear)|how|when|what)
"""
# What follows a statement and asks, wonders or wants something: "I'm vegan, any ideas?"
_ASKING = r"""
    (?<=, )((and|but|so|also|now) )*(can|could|would|will|do|does|did|is|are|should|may|what|how|which|any|who|where|why|when
        |please|wondering|maybe|perhaps|(i'm|i am|i was) (\w+ )?(wondering|not sure|unsure|thinking|curious)|i (wonder|might
        |don't know)|kannst|könntest|hast|gibt|was|wie|welche[rs]?|wo|warum|soll|ich (frage|überlege|weiß nicht
        |bin (mir )?nicht sicher))
    (and|but|so) (i'm|i am|i was) (\w+ )?(wondering|not sure|unsure|thinking|curious)
"""
_PASSING = r"""
    today|tonight|right now|at the moment|just now|this (morning|afternoon|evening)|a bit|a little|minutes late|one moment
    heute|gerade|im moment|momentan|gleich|eben|verspätung
"""
_GAP = r"[,;:]? (?:\S+ ){0,9}?"
_CLAUSE = r"(?:^|(?<=[,;:–—-] )|" + "|".join(
    rf"(?<=\b{word} )" for word in "and but so then please und aber also dann bitte".split()
) + ")"  # fmt: skip
LEAST_WORDS = 2
_LASTING = ("fact", "pattern", "architecture")


def _compiled(ways: str) -> re.Pattern[str]:
    """One pattern for all ways; each begins and ends with a word."""
    for name, words in reversed(_CLASSES.items()):  # a class may name those before it
        ways = ways.replace(f"<{name}>", words)
    lines = re.sub(r"\((?!\?)", "(?:", ways.replace(" … ", _GAP).replace("_", _CLAUSE)).strip().splitlines()
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(str.strip, lines))})(?!\w)")


def _joined(table: str) -> str:
    """A line that is indented further continues the one before."""
    return table.replace("\n" + 8 * " ", "")


@dataclass(frozen=True, slots=True)
class Saying:
    """Phrases that mark a sentence as one kind of memory."""

    kind: str
    relevance: float
    pattern: re.Pattern[str]


def _sayings() -> Iterator[Saying]:
    for section in re.split(r"\n(?=\w)", _joined(_TABLE).strip()):
        head, _, ways = section.partition("\n")
        kind, relevance = head.split()
        yield Saying(kind, float(relevance), _compiled(ways))


SAYINGS = tuple(_sayings())
UNSURE, REACTION, PASSING, ASKING = map(_compiled, map(_joined, (_UNSURE, _REACTION, _PASSING, _ASKING)))


def _read(sentence: str) -> str:
    return sentence.lower().replace("’", "'")


def _asks(said: str) -> bool:
    return said.endswith("?") or UNSURE.search(said) is not None


def statement(sentence: str) -> str:
    """What a sentence states before it asks something; all of it if it does not ask.

    >>> statement("I'm vegan and I live in Lyon, can you suggest a restaurant?")
    "I'm vegan and I live in Lyon"
    """
    said = _read(sentence)
    asks = ASKING.search(said) if len(said) == len(sentence) and _asks(said) else None
    return sentence[: asks.start()].rstrip(" ,") if asks else sentence


def way_of_saying(sentence: str, role: str | None = None) -> Saying | None:
    """The way in which this sentence says something worth keeping, if it does. `role` is who said it: what "I" am is a fact
    about the user only where the user speaks.

    >>> way_of_saying("We decided to use Postgres 16.").kind
    'decision'
    >>> way_of_saying("Should we use Postgres 16?")
    """
    said = " ".join(_read(sentence).split())
    if said.count(" ") < LEAST_WORDS - 1 or _asks(said):
        return None
    found = next((saying for saying in SAYINGS if saying.pattern.search(said)), None)
    if found is None or (found.kind == "fact" and role not in (None, "user")):
        return None
    idle = REACTION if found.kind == "preference" else PASSING if found.kind in _LASTING else None
    return None if idle and idle.search(said) else found

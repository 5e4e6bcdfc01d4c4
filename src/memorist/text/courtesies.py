"""What people say without asking for anything: greetings, thanks, consent, praise, "go on", in ten languages.

Words are spelled as `words.py` folds them, and used by `question.small_talk`. A message is small talk if it contains nothing
else. `firm` words are small talk everywhere; `praise` is, unless something is asked ("is it good?"); `company` only counts
together with them ("thanks for the help"); and a `phrase` may contain words that are none of these.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from memorist.text.function_words import LANGUAGES
from memorist.text.words import STOP_WORDS


class Courtesies(NamedTuple):
    """The words of one language, as listed below."""

    firm: str
    praise: str
    company: str
    phrases: str
    asking: str


class Manners(NamedTuple):
    """The prepared words of one language; in every language people say ok, thanks and sorry."""

    firm: frozenset[str]
    praise: frozenset[str]
    company: frozenset[str]
    idle: frozenset[str]  # function words, except those that ask or express possession
    phrases: frozenset[tuple[str, ...]]

    def phrase_at(self, words: list[str], at: int) -> int:
        """The number of words in the longest phrase that begins there; 0 if none does."""
        return next((size for size in range(LONGEST_PHRASE, 0, -1) if tuple(words[at : at + size]) in self.phrases), 0)


LONGEST_PHRASE = 5
_CLITICS = "s ll re ve d m t don doesn didn isn u ur r"
_WHOSE = "my mine our ours his her hers their theirs"


@cache
def known() -> tuple[Manners, ...]:
    """One for each language."""
    return tuple(_known(language) for language in COURTESIES)


@cache
def every_word() -> frozenset[str]:
    """The words of all languages: most queries contain a word that is not among them, and need no closer look."""
    written = " ".join([*(part for each in COURTESIES.values() for part in each), *LANGUAGES.values(), _CLITICS])
    return STOP_WORDS.union(written.split())


def _known(language: str) -> Manners:
    own, english = COURTESIES[language], COURTESIES["english"]
    firm, praise, company, phrases, asking = (
        f"{a}{' | ' if '|' in a else ' '}{b}" for a, b in zip(own, english, strict=True)
    )
    idle = {*STOP_WORDS, *LANGUAGES.get(language, "").split(), *_CLITICS.split()}
    not_idle = {*asking.split(), *_WHOSE.split()}
    return Manners(
        frozenset(firm.split()),
        frozenset(praise.split()),
        frozenset(company.split()) - not_idle,
        frozenset(idle - not_idle),
        frozenset(tuple(phrase.split()) for phrase in phrases.split("|")),
    )


COURTESIES: Mapping[str, Courtesies] = {
    "english": Courtesies(
        firm="""adios afk ah aha ahh alright alrighty apologies aw aww aye bbl bingo bravo brb bruh bye cheerio cheers ciao
        congrats congratulations congratz continue cya damn dang danke ditto duh eek elaborate er ew explain geez gg
        gm gn goodbye goodday goodnight gosh gotcha gr8 gracias grats greetings gtg ha hah hbu heh hello hey heya hi
        hiya hm hmm hola hooray howdy huh hurray idk ikr indeed jeez k kk kudos lgtm lmao lmfao lol lolz luv meh merci
        mhm mkay mornin nah nevermind nicee nite noice nope noted np nvm oh ok okay okayy okey oki okidoki okie
        okiedokie omfg omg ooh oops phew please pls plz proceed repeat rephrase reword rewrite rofl roger same sgtm
        shorten simplify smh sorry summarise summarize sup sure ta tada tbh tgif thank thanks thankss thanku thankyou
        thansk thanx thnaks thnks thnx thx tks tnx ttyl ty tysm ugh uh um understood wbu welcome welp whew whoa whoops
        woah wonderful woo woohoo woot wow wp wtf xd ya yay yea yeah yep yes yessir yikes yo yolo yummy yup yw""",
        praise="""absolutely acceptable adorable afternoon agreed amazing awesome bad beautiful better blessed bored
        brilliant busy certainly clear clever cool correct crazy crisp cute decent definitely done dope epic evening
        exactly excellent excited exciting exhausted fabulous fair fantastic fascinating fine funny genius good goood
        gorgeous great gud handy helpful hilarious hungry impressive incredible insane interesting legendary lit lovely
        magnificent marvelous morning nasty neat neato nice night nuts obvious obviously odd outstanding perfect
        possible precisely proud ready relieved right sad sick sleepy slick smooth solid splendid stellar strange
        stunning superb surprising sweet terrific thankful tidy tired totally true unbelievable useful weird wild worth""",
        company="""actually advice ai alexa alone already always answer answering anything anyway anyways appreciate
        appreciated assistant back bc best bit bot buddy bunch cant chatgpt check checking claude completely computer
        copilot cos cuz day done dude enough even ever everyone everything exactly explaining explanation far fast feel
        feeling feels finished folks friend fun gemini get gets getting gimme give glad go going gonna got gotta gpt
        grateful great guess guys happy hear help helped helping hero honestly hope id idea ill im input ive job joke
        kind kinda knew know later laugh legend lemme less let like liked literally little long longer look looking
        looks lot lots love loved luck make makes making man mate maybe might million minute moment much must need
        needed never next nothing one pal patience perfectly perhaps point pretty probably quick quickly really reply
        response rest robot said saw say saying sec see seems shall short shorter simply since siri slowly soon sort
        sounds star started still stuff suggestion super take talking team testing thats thing things think thinking tho
        though thought time told tons totally tried try trying wanna want wanted way well wish wont work worked working
        works yet youre""",
        phrases="""a bit shorter | a little shorter | all clear | all done | all good | all right | all set | and then | and you |
        any time | anytime | are you a bot | are you human | are you ok | are you ready | are you real |
        are you there | as a list | at your service | aye aye | back in a bit | back soon | be right back |
        big thanks | bless you | bullet points please | can do | can we continue | can you hear me |
        can you repeat that | carry on | catch you later | cheers mate | coffee time | cool beans |
        could you repeat that | do it | do so | do that | does that make sense | don t mention it | don t worry
        | done for today | drop it | enjoy your evening | enjoy your weekend | enough | exactly what i needed |
        fair enough | finally friday | fine by me | fingers crossed | forget it | give me a minute |
        give me a sec | give me a second | glad to hear that | go ahead | go for it | go on | going to bed |
        good afternoon | good bye | good call | good catch | good day | good evening | good grief | good idea |
        good job | good luck | good morning | good night | good one | good point | good question | good stuff |
        good thinking | good to be back | good to know | good to see you | got it | got that | great job |
        great question | great work | guess what | guess who s back | hang on | happy birthday | happy friday |
        happy holidays | happy monday | happy new year | happy to hear that | happy weekend | have a good day |
        have a good night | have a good one | have a good sleep | have a good weekend | have a great day |
        have a nice day | have a nice evening | have a nice weekend | here i am | here we go | here you go |
        hold on | holy moly | how about you | how are things | how are you | how are you doing |
        how are you today | how cool | how do you do | how funny | how goes it | how have you been |
        how is it going | how is your day going | how lovely | how nice | how old are you | how s everything |
        how s it going | how s life | how s your day | how was your day | i agree | i appreciate it | i did |
        i do | i got it | i guess so | i know | i know right | i like it | i like that | i ll do that | i ll try
        | i ll try that | i love it | i m back | i m done | i m good | i m here | i m on it | i see | i think so
        | i will | in one sentence | in other words | in short | is that all | is that ok | it s friday |
        it works | just a moment | just a second | just testing | just what i needed | keep going | keep it up |
        later | leave it | let me check | let me know | let me see | let me think | let me try | let s continue
        | let s do it | let s do that | let s go | let s start | like it | likewise | long day | long day today
        | long time no see | looks good | looks great | love it | love that | lunch time | make it better |
        make it longer | make it shorter | make it simpler | make me laugh | makes sense | many thanks |
        maybe later | me too | merry christmas | more please | much appreciated | much love | my bad | my god |
        my pleasure | never mind | next please | nice one | nice to meet you | nice weather | nice weather today
        | nice work | no biggie | no hurry | no need | no pressure | no problem | no rush | no thank you |
        no thanks | no way | no worries | not now | not really | nothing else | of course | off to bed | oh my |
        oh my god | oh no | oh well | ok then | ok with you | on it | once more | one minute | one moment |
        one sec | piece of cake | please do | pleased to meet you | really | really appreciate it | repeat that
        | right on | right then | same here | same to you | say again | say that again | see ya | see you |
        see you later | see you soon | see you tomorrow | seriously | shall we | shall we continue |
        shall we start | shorter please | skip it | sleep well | so far so good | so what | sounds fair |
        sounds good | sounds great | sounds like a plan | sounds perfect | start over | stop | stop it |
        stop there | sup | take care | take your time | taking a break | talk later | talk soon |
        talk to you later | talk to you soon | talk to you tomorrow | talk tomorrow | tell me a joke |
        tell me more | testing | thanks a million | thanks in advance | that helps | that ll do |
        that makes sense | that s all | that s all for now | that s all for today | that s correct |
        that s enough | that s fine | that s great | that s it | that s it for today | that s ok | that s right
        | that s what i needed | that s what i thought | that will be all | that will do | that works |
        there you go | this is a  | time for a break | time for bed | time for coffee | time for lunch |
        try again | try that | until next time | until tomorrow | wait | wait a minute | wait a moment |
        wait a sec | way to go | we re good | well done | well said | what a day | what a relief | what a week |
        what about you | what are you | what can you do | what do you think | what else | what i needed |
        what i thought | what i wanted | what i was looking for | what now | what s happening | what s new |
        what s up | what s your name | whatever | whats up | who are you | who cares | who knows | why not |
        will do | will try | wish me luck | works for me | yes ma am | yes sir | you are great | you are right |
        you bet | you got it | you know what | you re amazing | you re awesome | you re funny | you re right |
        you re the best | you re welcome | you rock | you there | you too""",
        asking="""how what when where which who whom whose why""",
    ),
    "german": Courtesies(
        firm="""ach achso bestens bitteschon boah dankeschon dankesehr egal einverstanden entschuldige entschuldigung
        genau gern gerne gesundheit gruezi haha hallo hallochen hdl hihi ho huhu ja jaja jap jawohl jep jippie jo joa joah
        juhu jup klar krass kurzen lauft lg logisch logo mahlzeit mega mensch mfg moin moinmoin moinsen na naja
        naturlich nee nein neinnein no nochmal oke passt prost puh servus servusla stimmt tach tja tschau
        tschus tschuss tschussi uff
        ups verdammt verstanden verzeihung vg warte weiter wiederhole zusammenfassen""",
        praise="""ausgezeichnet bereit besser erledigt fein fertig geil genial grossartig gruss grusse gut hervorragend
        hubsch interessant klasse komisch korrekt lecker lieb lustig morgen nabend nett perfekt prima richtig sauber
        schade schlimm schon seltsam spannend spitze stark super suss toll top traurig verruckt wahnsinn witzig
        wunderbar""",
        company="""andere anstrengend antwort bestimmt bisschen brauche brauchte dank denke eben echt einfach erst
        erstmal fahr fort fortfahren freu freue freund freut funktioniert ganz gebraucht gedacht geholfen gehort gehts
        geklappt gerade gesehen glaube gleich gucke gut gute guten halt herzlichen hilfe hilfreich hilft horen jetzt
        klappt kurz kurzer lang langer leider leute lieb lieben mach machen macht mehr muhe nett perfekt probiere sagen
        schaue schonen sehen sicher spater tag tausend ubrigens versuche viel vielen vielleicht wars weiss weitermachen
        wieder wirklich wissen wohl zuruck zusammen""",
        phrases="""ab ins bett | ach du liebe zeit | ach du meine gute | ach so | alles bestens | alles gut | alles gute |
        alles klar | alles paletti | alles roger | alles super | auf wiedersehen | augenblick | besten dank |
        bin da | bin gleich da | bin gleich zuruck | bin wieder da | bin zuruck | bis bald | bis dann |
        bis demnachst | bis gleich | bis morgen | bis nachher | bis spater | bist du bereit | bist du da |
        bitte schon | bitte sehr | bitte weiter | da hast du recht | danke schon | danke sehr | dann los | dann mal los | das geht |
        das genugt | das hilft | das hilft mir | das ist alles | das klappt | das passt | das reicht |
        das reicht mir | das war s | das war s fur heute | das wars | das wars fur heute | druck mir die daumen
        | du hast recht | echt | einen augenblick | einen moment | endlich freitag | endlich wochenende |
        ergibt sinn | ernsthaft | erzahl einen witz | erzahl mir einen witz | fass das zusammen | feierabend |
        freut mich | frohe weihnachten | funktioniert jetzt | geht in ordnung | geht jetzt | geht klar |
        genau das | genau so | gern geschehen |
        gleich zuruck | gruss dich | gruss gott | gut gemacht | gute arbeit | gute frage | gute idee |
        gute nacht | guten abend | guten appetit | guten morgen | guten tag | gutes neues jahr | hab verstanden
        | habe verstanden | herzlichen dank | hort sich gut an | ich auch | ich verstehe | immer gerne |
        in ordnung | ist egal | ja bitte | ja genau | ja klar | ja mach | ja mach das | kaffee zeit |
        kaffeepause | kannst du das wiederholen | kannst du weitermachen | kein ding | kein problem |
        kein stress | kein thema | keine sorge | keine ursache | klingt gut | konnen wir weitermachen |
        kurzer bitte | lange nicht gesehen | langer tag | lass gut sein | lass mal | lass uns weitermachen |
        leg los | los geht s | mach das | mach es kurzer | mach ich | mach mal | mach s gut | mach weiter |
        machen wir so | macht sinn | man sieht sich | meinetwegen | mir egal | mittagspause | moment bitte |
        moment mal | na dann | na gut | na klar | na und | nein danke | nicht notig | nicht schlecht |
        nichts zu danken | noch einmal | noch einmal bitte | noch mal bitte | nochmal bitte | null problemo |
        nur ein  | oh je | oh nein | passt schon | passt so | schlaf gut | schluss fur heute |
        schon dich zu sehen | schon gut | schonen abend | schonen feierabend | schonen tag | schones wetter |
        schones wetter heute | schones wochenende | sieht gut aus | so ist es | so ist gut | so machen wir das |
        so machen wir es |  | tut mir leid | und dir | und du | und jetzt | und nun | und selbst | viel erfolg | viel gluck |
        viel spass | vielen dank | von mir aus | warte kurz | warte mal | warum nicht | was fur ein tag |
        was geht | was gibt s neues | was jetzt | was kannst du | was machst du | was meinst du | was nun | weiter bitte |
        weiter geht s | weiter gehts | weiter so | wer bist du | wie geht es dir | wie geht es ihnen |
        wie geht s | wie geht s dir | wie gehts | wie heisst du | wie lauft s | wie laufts | wie lustig |
        wie nett | wie schon | wie war dein tag | wieso nicht | wird gemacht | wirklich""",
        asking="""ob wann warum was welche welchem welchen welcher welches wem wen wer weshalb wessen wie wieso wieviel wo woher
        wohin""",
    ),
    "french": Courtesies(
        firm="""adieu allo bah ben bienvenue bonjour bonsoir compris continuez coucou daccord desole desolee eh entendu
        excuse excusez felicitations haha he mdr nan note ouais ouep ouf oups pardon ptdr salut stp svp volontiers""",
        praise="""absolument beau bien bon bonne certainement chouette drole evidemment exact exactement fantastique
        formidable genial impeccable interessant juste magnifique merveilleux nickel parfait super sympa top vrai""",
        company="""aide allez allons alors ami amis beaucoup boulot gentil gentille grand idee infiniment mille monde
        plaisir reponse tellement temps travail trop vraiment""",
        phrases="""a bientot | a demain | a plus | a plus tard | a tout a l heure | a toute | allez y | attends | au revoir |
        bien joue | bien sur | bon courage | bon travail | bon week end | bonne annee | bonne chance |
        bonne idee | bonne journee | bonne nuit | bonne soiree | c est bien | c est bon | c est genial |
        c est note | c est parfait | c est super | c est tout | c est vrai | ca marche | ca marche bien |
        ca roule | ca va | ca va bien | ce n est pas grave | comment allez vous | comment ca va |
        comment tu t appelles | comment vas tu | continue comme ca | d accord | de rien | encore une fois |
        et toi | et vous | fais ca | fais le | j ai compris | je comprends | je reviens | je suis d accord |
        je vois | joyeux anniversaire | joyeux noel | merci beaucoup | merci bien | mille mercis | moi aussi |
        non merci | on y va | oui merci | pas de probleme | pas de souci | pas grave | pourquoi pas |
        quelle journee | qui es tu | quoi de neuf | raconte moi une blague | s il te plait | s il vous plait |
        tant pis | tres bien | tu es la | tu vas bien | un instant | un moment | une seconde | vas y""",
        asking="""combien comment pourquoi quand que quel quelle quelles quels qui quoi""",
    ),
    "spanish": Courtesies(
        firm="""aja anotado bienvenido buenas chao chau claro continua dale disculpa disculpe enhorabuena entendida
        entendido felicidades jaja jajaja jeje listo orale perdon perdona porfa sale si siga sigue ups uy vale venga""",
        praise="""bien bonito brillante buen buena bueno cierto correcto estupenda estupendo exactamente exacto excelente
        fantastico genial gracioso guay increible interesante lindo magnifico maravilloso mejor perfecta perfecto
        super verdad""",
        company="""adelante amable amigo amigos ayuda encanta entonces gusta mil muchas muchisimas mucho parece punto
        realmente respuesta saludos suena tan tantas tiempo trabajo""",
        phrases="""adelante | ahora vuelvo | bien hecho | buen dia | buen fin de semana | buen trabajo | buena idea | buenas noches
        | buenas tardes | buenos dias | como esta | como estas | como te llamas | como te va | como va todo |
        cuentame un chiste | de acuerdo | de nada | es todo | eso es todo | espera | esta bien | estas ahi |
        feliz ano | feliz cumpleanos | feliz navidad | hasta la vista | hasta luego | hasta manana |
        hasta pronto | haz eso | hazlo | lo entiendo | lo siento | me encanta | me gusta | me parece bien |
        mil gracias | muchas gracias | muy bien | no gracias | no hay problema | no pasa nada | no te preocupes
        | nos vemos | otra vez | por favor | por que no | por supuesto | que bien | que bueno | que dia |
        que guay | que hay | que risa | que tal | quien eres | se ve bien | si gracias | sigue asi | suena bien
        | tiene sentido | todo bien | un momento | un segundo | vamos | y tu | ya entiendo | ya veo | yo tambien""",
        asking="""adonde como cual cuales cuando cuanta cuantas cuanto cuantos donde que quien quienes""",
    ),
    "italian": Courtesies(
        firm="""addio ahah ahaha arrivederci beh benvenuto boh brava buonanotte buonasera buondi buongiorno capito certo
        chiaro complimenti congratulazioni continua continui gia grazie haha intesi ops prego prosegui salve scusa
        scusate scusi si volentieri""",
        praise="""bella bellissimo bello bene benissimo buona buono corretto divertente eccellente esattamente esatto fantastica
        fantastico figo forte giusto grande grandioso interessante meraviglioso ottima ottimo perfetta perfetto
        stupendo super vero""",
        company="""aiuto allora amici amico davvero gentile gentilissimo infinite lavoro mille molte proprio risposta
        tante tempo""",
        phrases="""a domani | a dopo | a presto | anch io | ancora una volta | aspetta | avanti | ben fatto | buon anno |
        buon compleanno | buon fine settimana | buon giorno | buon lavoro | buon natale | buon weekend |
        buona giornata | buona idea | buona notte | buona sera | buona serata | capisco | certo che si |
        che bello | che figata | che giornata | che ridere | che si dice | chi sei | ci sei | ci sentiamo |
        ci vediamo | come sta | come stai | come ti chiami | come va | d accordo | di niente | di nulla | e tu |
        e tutto | fa niente | fai cosi | fai pure | fallo | grazie mille | ha senso | ho capito | mi dispiace |
        mi piace | mi sembra bene | mille grazie | nessun problema | no grazie | non c e di che | non importa |
        per favore | per piacere | perche no | questo e tutto | raccontami una barzelletta | si grazie |
        suona bene | tante grazie | torno subito | tutto bene | tutto ok | un attimo | un momento | un secondo |
        va bene | va benissimo | vai | vai avanti""",
        asking="""che chi com come cos cosa dov dove perche qual quale quali quando quanta quante quanti quanto""",
    ),
    "portuguese": Courtesies(
        firm="""adeus anotado beleza blz brigada brigado certo claro combinado continua desculpa desculpe entendi
        entendido fechado haha joia kkk kkkk obg obrigada obrigado oi oie ola opa ops parabens perdao prossiga rs rsrs
        sim tchau valeu vlw""",
        praise="""bacana bem boa bom correto engracado exatamente exato excelente fantastico incrivel interessante legal lindo
        maravilhoso massa otima otimo perfeita perfeito show top verdade""",
        company="""ajuda amigo amigos demais entao gente gentil ideia mesmo mil muita muitissimo pessoal realmente
        resposta tao tempo trabalho""",
        phrases="""a gente se fala | adorei | ate amanha | ate breve | ate logo | ate mais | boa ideia | boa noite | boa tarde |
        bom dia | bom fim de semana | bom trabalho | com certeza | como estas | como vai | como vai voce |
        como voce esta | como voce se chama | conta uma piada | de nada | e ai | e isso | e so isso | e voce |
        espera | esta ai | esta bem | esta bom | eu tambem | faca isso | faz isso | faz sentido |
        feliz aniversario | feliz ano novo | feliz natal | gostei | isso mesmo | ja volto | mais uma vez |
        muito bem | muito obrigada | muito obrigado | nao faz mal | nao obrigada | nao obrigado |
        nao tem problema | parece bom | parece otimo | pode continuar | pode ser | por favor | por nada |
        por que nao | que bom | que dia | que legal | que otimo | quem e voce | se faz favor | segue |
        sem problema | sem problemas | sim obrigado | sinto muito | so isso | soa bem | ta bom | ta certo |
        tudo bem | tudo bom | tudo certo | um minuto | um momento | va em frente | vai em frente""",
        asking="""aonde como onde porque quais qual quando quanta quantas quanto quantos que quem""",
    ),
    "dutch": Courtesies(
        firm="""akkoord alsjeblieft alstublieft bedankt begrepen dag dank dankje dankjewel dankuwel doeg doei doorgaan
        excuses gefeliciteerd goedemiddag goedemorgen goedenacht goedenavond goeienacht graag haha hallo he hoi jawel
        juist klopt natuurlijk oeps oke okee pardon precies snap top tot tuurlijk verder welkom welterusten zeker""",
        praise="""fantastisch fijn fraai gaaf geweldig goed grappig interessant klaar lekker leuk mooi netjes prachtig
        prima schitterend super uitstekend""",
        company="""aardig allemaal antwoord echt erg hartelijk hartstikke hulp idee lief mensen moeite tijd veel vriend
        werk""",
        phrases="""alles goed | ben je daar | ben zo terug | dank je | dank je wel | dank u | dank u wel | dat is alles |
        dat is goed | dat was het | doe dat | doe maar | een moment | en jij | fijn weekend | fijne avond |
        fijne dag | ga door | ga je gang | ga maar door | ga verder | geen dank | geen probleem |
        gelukkig nieuwjaar | goed gedaan | goed idee | goed werk | goede avond | goede middag | goede morgen |
        goede nacht | graag gedaan | hartelijk dank | heel erg bedankt | het spijt me | hoe gaat het |
        hoe gaat het met je | hoe heet je | hoe is het | ik begrijp het | ik ook | ik snap het | is goed |
        ja graag | klinkt goed | komt goed | maakt niet uit | momentje | nee bedankt | nee dank je |
        nog een keer | prettige dag | tot later | tot morgen | tot snel | tot straks | tot ziens |
        vertel een grap | vrolijk kerstfeest | waarom niet | wacht even | wat een dag | wat fijn | wat leuk |
        wat mooi | wie ben je | ziet er goed uit""",
        asking="""hoe hoeveel waar waarom wanneer wat welk welke wie""",
    ),
    "polish": Courtesies(
        firm="""brawo czesc dalej dobra dobranoc dobrze dzieki dziekowac dzieks dziekuje dzien dziendobry gratulacje
        gratuluje haha hehe hej hejka jasne kontynuuj no okej pa papa pewnie prosze przepraszam rozumiem siema siemka
        sorki spoko tak ups witaj witam witamy wybacz zanotowane zgoda zrozumiano""",
        praise="""bomba ciekawe cudownie dobre dobry dokladnie doskonale ekstra fajnie fajny gotowe idealnie idealny ladnie
        pieknie poprawnie prawda racja rewelacja slusznie super swietna swietnie swietny wspaniale wspanialy zabawne
        znakomicie""",
        company="""czas kolego ludzie milo naprawde odpowiedz pomoc pomysl praca prace robota robote serio wielkie
        wszystkim""",
        phrases="""a ty | bardzo dobrze | brzmi dobrze | chwileczke | co slychac | co tam | co za dzien | czemu nie | do jutra |
        do widzenia | do zobaczenia | dobra robota | dobrej nocy | dobry pomysl | dobry wieczor |
        dziekuje bardzo | dzien dobry | ja tez | jak leci | jak masz na imie | jak milo | jak sie masz | jak tam
        | jedna chwile | jestes tam | jeszcze raz | kim jestes | ma sens | milego dnia | milego weekendu |
        milego wieczoru | moment | mow dalej | na razie | nie dziekuje | nie ma problemu | nie ma sprawy |
        nie ma za co | nie szkodzi | opowiedz zart | podoba mi sie | prosze kontynuowac | przykro mi | rob dalej
        | szczesliwego nowego roku | tak prosze | to tyle | to wszystko | w porzadku | wesolych swiat |
        wielkie dzieki | wszystkiego najlepszego | wszystko jasne | wyglada dobrze | zaraz wracam | zrob tak |
        zrob to""",
        asking="""co czemu czy dlaczego gdzie ile jak jaka jaki jakie kiedy kogo komu kto ktora ktore ktory skad""",
    ),
    "turkish": Courtesies(
        firm="""aa aferin affedersin affedersiniz anladim anlasildi ay bay devam elbette evet eyvallah gorusuruz gule
        gunaydin haha hosca hoscakal lutfen memnun merhaba merhabalar olur pardon peki rica sagol sagolun selam selamlar
        tabi tabii tamam tamamdir tebrikler tesekkur tesekkurler uzgunum""",
        praise="""aynen dogru guzel haklisin harika hos ilginc iyi iyiyim kesinlikle komik kusursuz muhtesem mukemmel muthis
        sahane super""",
        company="""arkadaslar bence cevap edin ediyorum et ettim fikir gercekten gun herkese kal yardim yardimin""",
        phrases="""adin ne | anliyorum | bekle | ben de | bir daha | bir dakika | bir fikra anlat | bir saniye | bir sey degil |
        bu kadar | bunu yap | cok guzel | cok iyi | cok sag ol | cok tesekkur ederim | cok tesekkurler |
        devam edin | devam et | devam lutfen | dogum gunun kutlu olsun | evet lutfen | gorusmek uzere |
        gule gule | guzel is | hayir tesekkurler | hemen donerim | hepsi bu | hosca kal | iyi aksamlar |
        iyi fikir | iyi geceler | iyi gorunuyor | iyi gunler | iyi hafta sonlari | iyi is | iyi sabahlar |
        kolay gelsin | kulaga hos geliyor | mantikli | mutlu yillar | naber | nasil gidiyor | nasilsin |
        nasilsiniz | ne gun ama | ne guzel | ne haber | neden olmasin | onemli degil | orada misin | oyle yap |
        ozur dilerim | rica ederim | sag ol | sen kimsin | sonra gorusuruz | sorun degil | sorun yok |
        tesekkur ederim | tunaydin | ya sen | yap bunu | yarin gorusuruz""",
        asking="""hangi kac kim kimin mi mu nasil ne neden nerede nereden nereye niye""",
    ),
    "russian": Courtesies(
        firm="""ага ахах благодарен благодарна благодарю браво дальше добро договорились здравствуи здравствуите извини
        извините конечно ладно лол ого ои ок океи оки пожалуиста поздравляю пока понял поняла понятно привет приветик
        приветствую принято продолжаи продолжаите прости простите прощаи спасибо спс угу ха хаи хаха хм хорошо эх ясно""",
        praise="""великолепно верно готово замечательно здорово идеально именно интересно класс классно красиво круто лучше
        молодец отличная отлично отличныи правильно прекрасно смешно супер точно умница хорошая хорошии чудесно""",
        company="""большое время всем друг друзья идея огромное ответ очень помощь правда просто работа работу ребята""",
        phrases="""а ты | большое спасибо | все понятно | все хорошо | все ясно | выглядит хорошо | да пожалуиста | да спасибо |
        даваи | даваи дальше | даваи продолжим | до встречи | до завтра | до свидания | до скорого | доброе утро
        | доброи ночи | добрыи вечер | добрыи день | еще раз | звучит отлично | звучит хорошо | имеет смысл |
        как дела | как жизнь | как здорово | как мило | как поживаешь | как тебя зовут | как ты | кто ты |
        минутку | мне жаль | мне нравится | на этом все | не важно | не за что | неважно | нет проблем |
        нет спасибо | ничего страшного | ну и день | одну минуту | очень приятно | подожди | почему бы и нет |
        почему нет | рад слышать | расскажи анекдот | с днем рождения | с новым годом | с рождеством |
        сделаи так | сделаи это | сеичас вернусь | секунду | спасибо большое | спокоинои ночи | так держать |
        ты тут | увидимся | хорошая идея | хорошая работа | хорошего вечера | хорошего дня | хороших выходных |
        что делаешь | что нового | это все | я тоже""",
        asking="""где зачем как какая какие какое какои когда кого кому кто куда откуда почему сколько чеи что""",
    ),
}

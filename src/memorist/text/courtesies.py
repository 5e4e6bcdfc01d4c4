"""What people say without asking for anything: greetings, thanks, consent, praise, "go on", in ten languages.

Words are spelled as `words.py` folds them, and `question.small_talk` reads them. A message is small talk if nothing else is
said in it, so a missing word costs a silence and never an answer. `firm` words are small talk wherever they stand; `praise` is,
unless something is asked ("is it good?"); `company` only goes with them ("thanks for the help"); and a `phrase` may hold words
that are none of these.
"""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from memorist.text.function_words import LANGUAGES
from memorist.text.words import STOP_WORDS


class Courtesies(NamedTuple):
    """Of one language, as written down."""

    firm: str
    praise: str
    company: str
    phrases: str
    asking: str


class Manners(NamedTuple):
    """What is known of one language; in every language people say ok, thanks and sorry."""

    firm: frozenset[str]
    praise: frozenset[str]
    company: frozenset[str]  # function words too, but for those that ask, or say whose something is
    phrases: frozenset[tuple[str, ...]]

    def phrase_at(self, words: list[str], at: int) -> int:
        """How many words the longest phrase has that begins there; 0 if none does."""
        return next((size for size in range(LONGEST_PHRASE, 0, -1) if tuple(words[at : at + size]) in self.phrases), 0)


LONGEST_PHRASE = 5
_CLITICS = "s ll re ve d m t don doesn didn isn"
_WHOSE = "my mine our ours his her hers their theirs"


@cache
def known() -> tuple[Manners, ...]:
    """For each language."""
    return tuple(_known(language) for language in COURTESIES)


@cache
def every_word() -> frozenset[str]:
    """Of all languages: most questions hold one that is not among them, and are read no closer."""
    written = " ".join([*(part for each in COURTESIES.values() for part in each), *LANGUAGES.values(), _CLITICS])
    return STOP_WORDS.union(written.split())


def _known(language: str) -> Manners:
    own, english = COURTESIES[language], COURTESIES["english"]
    firm, praise, company, phrases, asking = (
        f"{a}{' | ' if '|' in a else ' '}{b}" for a, b in zip(own, english, strict=True)
    )
    idle = {*STOP_WORDS, *LANGUAGES.get(language, "").split(), *company.split(), *_CLITICS.split()}
    return Manners(
        frozenset(firm.split()),
        frozenset(praise.split()),
        frozenset(idle - {*asking.split(), *_WHOSE.split()}),
        frozenset(tuple(phrase.split()) for phrase in phrases.split("|")),
    )


COURTESIES: Mapping[str, Courtesies] = {
    "english": Courtesies(
        firm="""afk ah aha ahh alright alrighty apologies aye bbl bravo brb bye cheers congrats congratulations continue cya
        gm gn goodbye goodnight gotcha greetings gtg hello hey heya hi hiya hm hmm howdy huh k kk kudos lgtm lmao lol
        mhm nah nevermind nope noted np nvm oh ok okay okey oki okidoki okie ooh oops please pls plz proceed rofl
        roger sgtm sorry sure ta thank thanks thanx thx ttyl ty tysm ugh understood whoa woah woohoo wow xd ya yay yea
        yeah yep yes yo yup yw""",
        praise="""absolutely afternoon agreed amazing awesome beautiful brilliant certainly clever cool correct definitely done
        evening exactly excellent fabulous fair fantastic fine funny genius good great helpful hilarious impressive
        indeed interesting lovely morning neat nice night outstanding perfect precisely right solid splendid superb
        sweet terrific totally true useful welcome wonderful""",
        company="""advice again answer answering appreciate appreciated best bit buddy bunch day dude enough ever everyone
        explaining explanation far folks friend glad go going got grateful great guys happy help helped helping here
        hero idea input job legend let like liked looks lot lots love loved man mate million much one pal patience
        point pretty quick really saying seems sounds star stuff suggestion super team there time tons well work works""",
        phrases="""all good | all right | all set | and then | are you there | be right back | can do | can you hear me | carry on
        | catch you later | do it | do so | do that | fair enough | fine by me | give me a second |
        glad to hear that | go ahead | go for it | go on | good afternoon | good bye | good day | good evening |
        good idea | good job | good luck | good morning | good night | good one | good point | good to know |
        good to see you | got it | got that | great job | great work | hang on | happy birthday | happy friday |
        happy holidays | happy monday | happy new year | happy to hear that | have a good day |
        have a good night | have a good one | have a good weekend | have a great day | have a nice day |
        have a nice evening | have a nice weekend | hold on | how are you | how are you doing |
        how are you today | how do you do | how is it going | how s it going | how s your day | how was your day
        | i agree | i appreciate it | i got it | i guess so | i like it | i like that | i love it | i m back |
        i m done | i m good | i see | i think so | it works | just a moment | just a second | keep going |
        keep it up | later | let s continue | let s do it | let s do that | let s go | let s start | like it |
        looks good | looks great | love it | love that | makes sense | maybe later | me too | merry christmas |
        more please | much appreciated | my bad | never mind | next please | nice one | nice to meet you |
        nice work | no problem | no thank you | no thanks | no worries | not now | not really | nothing else |
        of course | ok then | once more | one moment | one sec | please do | pleased to meet you |
        really appreciate it | right then | same here | say again | see ya | see you | see you later |
        see you soon | see you tomorrow | so far so good | sounds fair | sounds good | sounds great |
        sounds like a plan | sounds perfect | stop | sup | take care | talk later | talk soon |
        talk to you later | talk to you soon | tell me more | that helps | that makes sense | that s all |
        that s all for now | that s all for today | that s correct | that s fine | that s great | that s it |
        that s right | that will be all | that works | try again | wait | wait a moment | we re good | well done
        | well said | what s up | whats up | will do | works for me | you are great | you re amazing |
        you re awesome | you re the best | you re welcome | you rock | you there | you too""",
        asking="""how what when where which who whom whose why""",
    ),
    "german": Courtesies(
        firm="""ach achso aha bitteschon ciao danke dankeschon dankesehr einverstanden entschuldige entschuldigung genau gern
        gerne gruezi haha hallo hallochen hey hihi hm hmm huhu jap jawohl jep jo joa jup klar merci moin moinmoin
        naturlich nee no oh ok okay oke passt servus sorry stimmt tach thx tschau tschus tschuss tschussi uff ups
        verstanden verzeihung weiter""",
        praise="""ausgezeichnet cool erledigt fein fertig geil genial grossartig gruss grusse gut hervorragend interessant
        klasse korrekt krass lustig mega morgen nabend nice perfekt prima richtig sauber schon spitze stark super toll
        top wunderbar""",
        company="""alle antwort dank echt einfach erst erstmal fahr fort fortfahren freue freund freut ganz geholfen gut gute
        guten herzlichen hilfe hilfreich hilft jetzt leute lieb lieben mach machen macht mehr muhe nett schonen super
        tag tausend viel vielen weitermachen wirklich zusammen""",
        phrases="""ach so | alles gut | alles gute | alles klar | auf wiedersehen | besten dank | bin gleich zuruck | bin wieder da
        | bis bald | bis dann | bis gleich | bis morgen | bis spater | bitte weiter | danke schon | danke sehr |
        das ist alles | das passt | das reicht | das war s | das wars | einen moment | ergibt sinn | freut mich
        | frohe weihnachten | gern geschehen | gruss dich | gruss gott | gut gemacht | gute arbeit | gute idee |
        gute nacht | guten abend | guten morgen | guten tag | gutes neues jahr | hab verstanden |
        habe verstanden | herzlichen dank | hort sich gut an | ich auch | ich verstehe | ja bitte | kein problem
        | keine ursache | klingt gut | leg los | los geht s | mach das | mach mal | mach s gut | mach weiter |
        machen wir so | macht sinn | moment bitte | moment mal | na dann | na gut | na klar | nein danke |
        passt schon | passt so | schon gut | schonen abend | schonen feierabend | schonen tag |
        schones wochenende | sieht gut aus | so machen wir das | so machen wir es | tut mir leid | viel erfolg |
        viel gluck | viel spass | vielen dank | warte kurz | was geht | weiter bitte | weiter so |
        wie geht es dir | wie geht es ihnen | wie geht s | wie geht s dir | wie gehts""",
        asking="""ob wann warum was welche welchem welchen welcher welches wem wen wer weshalb wessen wie wieso wieviel wo woher
        wohin""",
    ),
    "french": Courtesies(
        firm="""adieu ah allo bah ben bienvenue bonjour bonsoir bravo ciao compris continue continuez coucou daccord desole
        desolee eh entendu excuse excusez felicitations haha he hm lol mdr merci nan note oh ok okay okey ouais ouep
        ouf oups pardon ptdr salut stp svp volontiers""",
        praise="""absolument beau bien bon bonne certainement chouette cool correct drole evidemment exact exactement excellent
        fantastique formidable genial impeccable interessant juste magnifique merveilleux nickel parfait super sympa
        top vrai""",
        company="""aide allez allons alors ami amis beaucoup boulot encore gentil gentille grand idee infiniment mille monde
        plaisir reponse tellement temps tout travail trop vraiment""",
        phrases="""a bientot | a demain | a plus | a plus tard | a tout a l heure | a toute | allez y | attends | au revoir |
        bien joue | bien sur | bon courage | bon travail | bon week end | bonne annee | bonne chance |
        bonne idee | bonne journee | bonne nuit | bonne soiree | c est bien | c est bon | c est note |
        c est parfait | c est tout | c est vrai | ca marche | ca roule | ca va | ca va bien | ce n est pas grave
        | comment allez vous | comment ca va | comment vas tu | continue comme ca | d accord | de rien | fais ca
        | fais le | j ai compris | je comprends | je reviens | je suis d accord | je vois | joyeux anniversaire
        | joyeux noel | merci beaucoup | merci bien | mille mercis | moi aussi | non merci | on y va | oui merci
        | pas de probleme | pas de souci | pas grave | quoi de neuf | s il te plait | s il vous plait | tant pis
        | tres bien | tu vas bien | un instant | un moment | une seconde | vas y""",
        asking="""combien comment pourquoi quand que quel quelle quelles quels qui quoi""",
    ),
    "spanish": Courtesies(
        firm="""adios ah aja anotado bienvenido bravo buenas chao chau claro continua continue dale disculpa disculpe
        enhorabuena entendida entendido felicidades gracias hm hola jaja jajaja jeje listo lol oh ok okay okey orale
        perdon perdona porfa sale si siga sigue ups uy vale venga""",
        praise="""bien bonito brillante buen buena bueno cierto correcto estupenda estupendo exactamente exacto excelente
        fantastico genial gracioso guay increible interesante lindo magnifico maravilloso mejor perfecta perfecto
        super verdad""",
        company="""adelante amable amigo amigos ayuda encanta entonces gusta idea mil muchas muchisimas mucho parece pues punto
        realmente respuesta saludos suena tan tantas tiempo trabajo""",
        phrases="""adelante | ahora vuelvo | bien hecho | buen dia | buen fin de semana | buen trabajo | buena idea | buenas noches
        | buenas tardes | buenos dias | como esta | como estas | como te va | como va todo | de acuerdo |
        de nada | es todo | eso es todo | espera | esta bien | feliz ano | feliz cumpleanos | feliz navidad |
        hasta la vista | hasta luego | hasta manana | hasta pronto | haz eso | hazlo | lo entiendo | lo siento |
        me encanta | me gusta | me parece bien | mil gracias | muchas gracias | muy bien | no gracias |
        no hay problema | no pasa nada | no te preocupes | nos vemos | por favor | por supuesto | que hay |
        que tal | se ve bien | si gracias | sigue asi | suena bien | tiene sentido | todo bien | un momento |
        un segundo | vamos | ya entiendo | ya veo | yo tambien""",
        asking="""adonde como cual cuales cuando cuanta cuantas cuanto cuantos donde que quien quienes""",
    ),
    "italian": Courtesies(
        firm="""addio ah ahah ahaha arrivederci beh benvenuto boh brava bravo buonanotte buonasera buondi buongiorno capito
        certo chiaro ciao complimenti congratulazioni continua continui gia grazie haha hm intesi lol oh ok okay okey
        ops prego prosegui salve scusa scusate scusi si volentieri""",
        praise="""bella bellissimo bello bene benissimo buona buono corretto divertente eccellente esattamente esatto fantastica
        fantastico figo forte giusto grande grandioso interessante meraviglioso ottima ottimo perfetta perfetto
        stupendo super vero""",
        company="""aiuto allora amici amico davvero gentile gentilissimo idea infinite lavoro mille molte molto proprio risposta
        tante tempo tutto""",
        phrases="""a domani | a dopo | a presto | anch io | aspetta | avanti | ben fatto | buon anno | buon compleanno |
        buon fine settimana | buon giorno | buon lavoro | buon natale | buon weekend | buona giornata |
        buona idea | buona notte | buona sera | buona serata | capisco | certo che si | che bello | che si dice
        | ci sentiamo | ci vediamo | come sta | come stai | come va | d accordo | di niente | di nulla | e tutto
        | fa niente | fai cosi | fai pure | fallo | grazie mille | ha senso | ho capito | mi dispiace | mi piace
        | mi sembra bene | mille grazie | nessun problema | no grazie | non c e di che | non importa |
        per favore | per piacere | questo e tutto | si grazie | suona bene | tante grazie | torno subito |
        tutto bene | tutto ok | un attimo | un momento | un secondo | va bene | va benissimo | vai | vai avanti""",
        asking="""che chi com come cos cosa dov dove perche qual quale quali quando quanta quante quanti quanto""",
    ),
    "portuguese": Courtesies(
        firm="""adeus ah anotado beleza blz bravo brigada brigado certo claro combinado continua continue desculpa
        desculpe entendi entendido fechado haha hm joia kkk kkkk lol obg obrigada obrigado oh oi oie ok okay okey ola
        opa ops parabens perdao prossiga rs rsrs sim ta tchau valeu vlw""",
        praise="""bacana bem boa bom correto engracado exatamente exato excelente fantastico incrivel interessante legal lindo
        maravilhoso massa otima otimo perfeita perfeito show top verdade""",
        company="""ajuda amigo amigos demais entao gente gentil ideia mesmo mil muita muitissimo muito pessoal realmente resposta
        tao tempo trabalho""",
        phrases="""a gente se fala | adorei | ate amanha | ate breve | ate logo | ate mais | boa ideia | boa noite | boa tarde |
        bom dia | bom fim de semana | bom trabalho | com certeza | como estas | como vai | como vai voce |
        como voce esta | de nada | e ai | e isso | e so isso | espera | esta bem | esta bom | eu tambem |
        faca isso | faz isso | faz sentido | feliz aniversario | feliz ano novo | feliz natal | gostei |
        isso mesmo | ja volto | muito bem | muito obrigada | muito obrigado | nao faz mal | nao obrigada |
        nao obrigado | nao tem problema | parece bom | parece otimo | pode continuar | pode ser | por favor |
        por nada | se faz favor | segue | sem problema | sem problemas | sim obrigado | sinto muito | so isso |
        soa bem | ta bom | ta certo | tudo bem | tudo bom | tudo certo | um minuto | um momento | va em frente |
        vai em frente""",
        asking="""aonde como onde porque quais qual quando quanta quantas quanto quantos que quem""",
    ),
    "dutch": Courtesies(
        firm="""ah akkoord alsjeblieft alstublieft bedankt begrepen dag dank dankje dankjewel dankuwel doeg doei doorgaan
        excuses gefeliciteerd goedemiddag goedemorgen goedenacht goedenavond goeienacht graag haha hallo he hey hm hoi
        jawel juist klopt lol natuurlijk oeps oh ok okay oke okee pardon precies snap sorry thanks top tot tuurlijk
        verder welkom welterusten zeker""",
        praise="""cool correct fantastisch fijn fraai gaaf geweldig goed grappig interessant klaar lekker leuk mooi netjes
        perfect prachtig prima schitterend super uitstekend""",
        company="""aardig allemaal antwoord doe echt erg ga hartelijk hartstikke heel hulp idee lief mensen moeite tijd veel
        vriend wel werk""",
        phrases="""alles goed | ben zo terug | dank je | dank je wel | dank u | dank u wel | dat is alles | dat is goed |
        dat was het | doe dat | doe maar | een moment | fijn weekend | fijne avond | fijne dag | ga door |
        ga je gang | ga maar door | ga verder | geen dank | geen probleem | gelukkig nieuwjaar | goed gedaan |
        goed idee | goed werk | goede avond | goede middag | goede morgen | goede nacht | graag gedaan |
        hartelijk dank | heel erg bedankt | het spijt me | hoe gaat het | hoe gaat het met je | hoe is het |
        ik begrijp het | ik ook | ik snap het | is goed | ja graag | klinkt goed | komt goed | maakt niet uit |
        momentje | nee bedankt | nee dank je | prettige dag | tot later | tot morgen | tot snel | tot straks |
        tot ziens | vrolijk kerstfeest | wacht even | ziet er goed uit""",
        asking="""hoe hoeveel waar waarom wanneer wat welk welke wie""",
    ),
    "polish": Courtesies(
        firm="""ah aha brawo czesc dalej dobra dobranoc dobrze dzieki dziekowac dzieks dziekuje dzien dziendobry gratulacje
        gratuluje haha hehe hej hejka hm jasne kontynuuj lol no oh ok okay okej oki pa papa pewnie prosze przepraszam
        rozumiem siema siemka sorki sorry spoko tak ups witaj witam witamy wybacz zanotowane zgoda zrozumiano""",
        praise="""bomba ciekawe cudownie dobre dobry dokladnie doskonale ekstra fajnie fajny gotowe idealnie idealny ladnie
        pieknie poprawnie prawda racja rewelacja slusznie super swietna swietnie swietny wspaniale wspanialy zabawne
        znakomicie""",
        company="""bardzo czas kolego ludzie milo naprawde odpowiedz pomoc pomysl praca prace robota robote serio wiec wielkie
        wszystkim""",
        phrases="""bardzo dobrze | brzmi dobrze | chwileczke | co slychac | co tam | do jutra | do widzenia | do zobaczenia |
        dobra robota | dobrej nocy | dobry pomysl | dobry wieczor | dziekuje bardzo | dzien dobry | ja tez |
        jak leci | jak sie masz | jak tam | jedna chwile | ma sens | milego dnia | milego weekendu |
        milego wieczoru | moment | mow dalej | na razie | nie dziekuje | nie ma problemu | nie ma sprawy |
        nie ma za co | nie szkodzi | podoba mi sie | prosze kontynuowac | przykro mi | rob dalej |
        szczesliwego nowego roku | tak prosze | to tyle | to wszystko | w porzadku | wesolych swiat |
        wielkie dzieki | wszystkiego najlepszego | wszystko jasne | wyglada dobrze | zaraz wracam | zrob tak |
        zrob to""",
        asking="""co czemu czy dlaczego gdzie ile jak jaka jaki jakie kiedy kogo komu kto ktora ktore ktory skad""",
    ),
    "turkish": Courtesies(
        firm="""aa aferin affedersin affedersiniz ah anladim anlasildi ay bay bravo devam elbette evet eyvallah gorusuruz gule
        gunaydin haha hm hmm hosca hoscakal lol lutfen memnun merhaba merhabalar oh ok okey olur pardon peki rica
        sagol sagolun selam selamlar tabi tabii tamam tamamdir tebrikler tesekkur tesekkurler uzgunum""",
        praise="""aynen dogru guzel haklisin harika hos ilginc iyi iyiyim kesinlikle komik kusursuz muhtesem mukemmel muthis
        sahane super""",
        company="""arkadaslar bence cevap cok ederim edin ediyorum et ettim fikir gercekten gun herkese icin is kal yardim
        yardimin zaman""",
        phrases="""anliyorum | bekle | ben de | bir dakika | bir saniye | bir sey degil | bu kadar | bunu yap | cok guzel | cok iyi
        | cok sag ol | cok tesekkur ederim | cok tesekkurler | devam edin | devam et | devam lutfen |
        dogum gunun kutlu olsun | evet lutfen | gorusmek uzere | gule gule | guzel is | hayir tesekkurler |
        hemen donerim | hepsi bu | hosca kal | iyi aksamlar | iyi fikir | iyi geceler | iyi gorunuyor |
        iyi gunler | iyi hafta sonlari | iyi is | iyi sabahlar | kolay gelsin | kulaga hos geliyor | mantikli |
        mutlu yillar | naber | nasil gidiyor | nasilsin | nasilsiniz | ne haber | onemli degil | oyle yap |
        ozur dilerim | rica ederim | sag ol | sonra gorusuruz | sorun degil | sorun yok | tesekkur ederim |
        tunaydin | yap bunu | yarin gorusuruz""",
        asking="""hangi kac kim kimin mi mu nasil ne neden nerede nereden nereye niye""",
    ),
    "russian": Courtesies(
        firm="""ага ахах благодарен благодарна благодарю браво дальше добро договорились здравствуи здравствуите извини
        извините конечно ладно лол ого ои ок океи оки пожалуиста поздравляю пока понял поняла понятно привет приветик
        приветствую принято продолжаи продолжаите прости простите прощаи спасибо спс угу ха хаи хаха хм хорошо эх ясно""",
        praise="""великолепно верно готово замечательно здорово идеально именно интересно класс классно красиво круто лучше
        молодец отличная отлично отличныи правильно прекрасно смешно супер точно умница хорошая хорошии чудесно""",
        company="""большое время всем друг друзья идея огромное ответ очень помощь правда просто работа работу ребята""",
        phrases="""большое спасибо | все понятно | все хорошо | все ясно | выглядит хорошо | да пожалуиста | да спасибо | даваи |
        даваи дальше | даваи продолжим | до встречи | до завтра | до свидания | до скорого | доброе утро |
        доброи ночи | добрыи вечер | добрыи день | звучит отлично | звучит хорошо | имеет смысл | как дела |
        как жизнь | как поживаешь | как ты | минутку | мне жаль | мне нравится | на этом все | не важно |
        не за что | неважно | нет проблем | нет спасибо | ничего страшного | одну минуту | очень приятно |
        подожди | рад слышать | с днем рождения | с новым годом | с рождеством | сделаи так | сделаи это |
        сеичас вернусь | секунду | спасибо большое | спокоинои ночи | так держать | увидимся | хорошая идея |
        хорошая работа | хорошего вечера | хорошего дня | хороших выходных | что нового | это все | я тоже""",
        asking="""где зачем как какая какие какое какои когда кого кому кто куда откуда почему сколько чеи что""",
    ),
}

"""Words without content in nine languages besides English, and how to tell in which of them a query is written.

A function word of one language is a content word of another: German "die" and "war", Dutch "door", Spanish "sin". So these
words are left out only of a query that is evidently in their language. Each of its words counts for the languages in which it
is a function word: loudly if nobody would write it in an English query, softly if somebody may. A language leads when it is
three ahead of English, which takes one loud word or three soft ones. If several lead together (Spanish and Portuguese share
much), a loud word of any of them is left out, and a soft one only if it belongs to all.

Words are spelled as `words.py` folds them: without accents, й as и.
"""

from collections.abc import Mapping
from functools import cache

LOUD, SOFT = 3, 1

LANGUAGES: Mapping[str, str] = {
    "german": """
        aber alle alles als am an auch auf aus bei beim bin bis bist bitte da dann darf das dass dein deine deinem
        deinen deiner dem den denn der des dich die diese diesem diesen dieser dieses dir doch dort du durch durfen
        eigentlich ein eine einem einen einer eines er es etwas euch euer eure fuer fur gegen gibt habe haben habt
        hast hat hatte hatten hattest her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in ins ist
        ja jemand jene jener kann kannst kein keine keinem keinen keiner konnen konnt konnte konntest mal man mein
        meine meinem meinen meiner meines mich mir mit mochte muss mussen musst musste nach neben nein nicht nichts
        noch nochmal nur ob oder ohne sag sage schon sehr seid sein seine seinem seinen seiner seit sich sie sind so
        soll sollen sollst sollte uber ueber um und uns unser unsere unserem unseren unserer unter vom von vor wahrend
        wann war waren warum was wegen weil welche welchem welchen welcher welches wem wen wenn wer werden weshalb
        wessen wie wieso wieviel will willst wir wird wirst wo wodurch wofur woher wohin wollen wollte womit woran
        worauf worden wovon wurde wurden zu zum zur zwischen""",
    "french": """
        a ai apres as au aura aussi aux avaient avais avait avant avec avez avoir avons bien c ca car ce cela celle
        celles celui ces cet cette ceux chez combien comme comment contre d dans de deja depuis des devons dis dois
        doit donc dont du elle elles en encore entre es est et etaient etais etait ete etes etre eu eux faire fait
        faut ici il ils j jamais je l la laquelle le lequel les leur leurs lorsque lui m ma mais me mes moi mon n ne
        ni non nos notre nous on ont or ou oui par parce pas pendant peut peuvent peux plus pour pourquoi pouvez
        puisque qu quand que quel quelle quelles quels qui quoi rien s sa sans se sera serait ses si sommes son sont
        sous suis sur svp t ta te tes toi ton tous tout toute toutes tres tu un une va vais vas vers veut veux vos
        votre voudrais vous y""",
    "spanish": """
        a adonde ahi al algo alguien alli ante aquel aquella aqui aun bajo como con contra cual cuales cuando cuanta
        cuantas cuanto cuantos de debe debes debo del desde dime donde durante e el ella ellas ello ellos en entre era
        eran eres es esa esas ese eso esos esta estaba estaban estan estar estas este esto estos estoy fue fueron fui
        ha haber habia hace hacer hacia han has hasta hay he hemos hubo la las le les lo los mas me menos mi mia mio
        mis muy nada nadie ni no nos nosotros nuestra nuestras nuestro nuestros o os para pero podemos podria por
        porque puede pueden puedes puedo pues que quien quienes quieres quiero se segun ser si sido sin sino sobre
        somos son soy su sus tambien tampoco te tenemos tengo tenia tiene tienen tienes toda todas todavia todo todos
        tu tus u un una unas unos usted ustedes va vas vosotros voy vuestro y ya yo""",
    "italian": """
        a abbiamo agli ai al all alla alle allo anche ancora avere avete aveva avevo c ce che chi ci com come con cos
        cosa cui d da dai dal dall dalla dalle dallo degli dei del dell della delle dello deve devi devo di dimmi
        dobbiamo dov dove e ed era erano eri ero essere fa fare fra gia gli ha hai hanno ho i il in io l la le lei li
        lo loro lui ma me meno mi mia mie miei mio molto ne negli nei nel nell nella nelle nello niente noi non nostra
        nostre nostri nostro nulla o per perche pero piu possiamo posso possono puo puoi qual qualcosa qualcuno quale
        quali quand quando quanta quante quanti quanto quei quel quella quelle quelli quello quest questa queste
        questi questo qui se sei si siamo siete sono sta stai stata stati stato sto su sua sue sui sul sull sulla
        sulle sullo suo suoi te ti tra tu tua tue tuo tuoi tutta tutte tutti tutto un una uno vi voglio voi vorrei
        vostro vuoi""",
    "portuguese": """
        a ainda algo alguem ali ao aonde aos apos aquela aquele aqui aquilo as ate com como contra da das de desde
        deve devo diz do dos e ela elas ele eles em entre era eram es essa essas esse esses esta estamos estao estar
        estas estava estavam este estes estou eu faz fazer foi foram fui ha havia isso isto ja la lhe lhes mais mas me
        menos meu meus mim minha minhas muito na nada nao nas nem ninguem no nos nossa nossas nosso nossos num numa o
        onde os ou para pela pelas pelo pelos pode podem podemos poderia podes pois por porque posso pra quais qual
        quando quanta quantas quanto quantos que quem quer quero sao se sem ser seu seus sido sim sobre somos sou sua
        suas tambem te tem temos tenho ter teu teus ti tinha toda todas todo todos tu tua tuas tudo um uma umas uns
        vai voce voces vos vou""",
    "dutch": """
        aan al alle alles als ben bent bij daar dan dat de deed deze dezelfde die dit doe doen doet door dus een eens
        elk elke en er even ga gaat geen geweest graag haar had hadden heb hebben hebt heeft heel hem hen het hier hij
        hoe hoeveel hun iemand iets ik in is ja je jij jou jouw jullie kan kon konden kun kunnen kunt laat laten maar
        mag me met mij mijn moest moet moeten mogen na naar nee niemand niet niets nog of om omdat onder ons onze ook
        op over sinds te tegen ten ter tijdens toch tot tussen u uit uw van volgens voor waar waarin waarmee waarom
        waarvoor wanneer want waren was wat we wel welk welke werd werden wie wij wil wilde willen wilt worden wordt
        zal ze zeer zich zij zijn zo zonder zou zouden zullen zult""",
    "polish": """
        a albo ale bardzo beda bede bedzie bez bo byc byl byla byli bylo byly ci cie ciebie co cos czego czemu czy
        czyj czyja czyje czym dla dlaczego do dokad gdy gdzie go i ich ile im ja jak jaka jaki jakich jakie jakiej
        jakim jego jej jemu jesli jest jestem jestes jestesmy jeszcze jezeli juz kiedy kim kogo komu kto ktora ktore
        ktorej ktory ktorych ktorym ktos lecz lub ma maja mam masz mi mial miala miec miedzy mna mnie moga moge
        moich moim moj moja moje mojego mojej moze mozemy mozesz mu musi musze my na nad nam nami nas nasz nasza nasze
        naszego naszej nia nic nie niego niej nikt nim nimi o od on ona one oni ono oraz po pod powinien powinna
        prosze przed przez przy sa sie siebie skad sobie swoj swoja swoje ta tak takze tam tamta tamten te tego tej
        temu ten tez to toba trzeba tu tutaj twoj twoja twoje twojego twojej ty tych tylko tym tymi u w wam wami was
        wasz we wiec wszystko wy z za ze zeby""",
    "turkish": """
        ama artik az bana bazi ben bende beni benim beri bir biz bize bizi bizim boyle bu buna bunlar bunu bunun
        burada butun cok cunku da daha de degil degildi ederim eger en evet fakat gibi gore hakkinda hala hangi
        hangisi hayir henuz hep her hic icin idi ile ise kac kadar ki kim kimde kime kimi kimin lutfen mi misin miydi
        miyim mu nasil ne neden nere nerede nereden nereye nicin niye o olacak olan olarak oldu oldugu olur ona once
        onlar onlari onlarin onu onun orada oyle sana sen sende seni senin sey seyi siz size sizi sizin sonra soyle
        tum var vardi ve veya ya yok yoktu zaman zaten""",
    "russian": """
        а без будем будет будешь будто буду бы был была были было быть в вам вами вас ваш ваша ваше ваши ведь во вот
        все всех вы где да даже для до другои его ее еи ему если есть еще ж же за зачем здесь и из или ими их к как
        какая какие каким какого какое какои каком какую кем когда кого кому которая которое которои котором которые
        которыи кто куда ли меня мне много мнои могу мое моего моеи моем можем может можешь можно мои моих мою моя мы
        на над надо нам нами нас наш наша наше нашего нашеи наши нашу не него нее неи нет ни ним них ничего но ну
        нужно о об один он она они опять от откуда по под пожалуиста после потом потому почему почти при про с сам
        свое своего своеи свои свою своя себе себя сеичас скажи сколько со совсем так там твое твоего твоеи твои твою
        твоя тебя тем теперь то тобои тобою тогда того только тот тут ты у уже чего чеи чем чему через что чтоб чтобы
        чье чьи чья эта эти этих это этого этои этом этот эту я""",
}
# Words of three letters are soft, except these; shorter ones always are.
_LOUD_SHORT = frozenset("bir czy das der dov een gdy het hij ich ile ist kto nie por que sie und une wir zij".split())
# Longer ones that are English words or names too.
_SOFT = frozenset(
    """algo alla allo ante aqui aura avant bajo been beim bent beri bien chez come comment como contra contre dall
    dalla dans deed deja dell della deve devi dime dont door dove durante elke ella elle encore entre este estes even
    fait fare gore haber hala hast heel hier hinter hubo jaka jego jest kimi mais maja meno mogen nada nami nell nella
    nello notre nous nulla numa olan once over para pela pendant pero plus pode pour quest rien sage sana sans sein
    seine sende sent sera sino size sobre sono sous suis temu toba toda todo tout tres tutti uber unter vers want
    waren weil were wilde will wilt worden""".split()
)
# The x and y of a plot count for no language; the l of l'idea does.
_SILENT = frozenset("abcdefghijkmnopqrstuvwxyz")
_PLACES = {language: place for place, language in enumerate(LANGUAGES)}
_FIELD = 16  # bits per language in a sum, English first
_MOST = (1 << _FIELD) - 1


@cache
def _known() -> Mapping[str, int]:
    """Every word with its languages, one bit each."""
    known: dict[str, int] = {}
    for language, words in LANGUAGES.items():
        for word in words.split():
            known[word] = known.get(word, 0) | 1 << _PLACES[language]
    return known


def evidence(word: str, english: bool) -> int:
    """How strongly one folded word counts for each language, in one number, so that the words of a query can simply be added."""
    bits = _known().get(word, 0) if english or word not in _SILENT else 0
    if english:
        return (SOFT if bits else LOUD) + SOFT * _spread(bits)
    return (LOUD if _loud(word) else SOFT) * _spread(bits)


def _spread(bits: int) -> int:
    """One for each of the languages, in its field."""
    return sum((bits >> place & 1) << _FIELD * (place + 1) for place in _PLACES.values())


def leading(evidence: int) -> int:
    """The languages that a query is in, one bit each; 0 for English and for any language not known here."""
    if evidence <= _MOST:
        return 0
    english = evidence & _MOST
    scores = [evidence >> _FIELD * (place + 1) & _MOST for place in _PLACES.values()]
    best = max(scores)
    return sum(1 << place for place, score in enumerate(scores) if score == best) if best >= english + LOUD else 0


def is_function_word(word: str, languages: int) -> bool:
    """Whether a folded word carries no content in a query in one of these languages."""
    shared = _known().get(word, 0) & languages
    return shared == languages or (shared != 0 and _loud(word))


def _loud(word: str) -> bool:
    if not word.isascii():
        return True
    return (len(word) > 3 and word not in _SOFT) or word in _LOUD_SHORT

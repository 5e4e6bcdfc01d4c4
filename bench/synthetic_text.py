"""The sentences of the synthetic set. A fact is told once and asked twice: in its own words, and in none of them.

Braces are filled with one of the values; the same value is never needed to find the fact in other words.
"""

from typing import NamedTuple


class Fact(NamedTuple):
    told: str
    asked: str
    reworded: str  # shares no telling word with `told`
    values: tuple[str, ...]


class Change(NamedTuple):
    """Something that was so and is otherwise now."""

    before: str
    after: str
    asked: str
    values: tuple[tuple[str, str], ...]


class Habit(NamedTuple):
    """Something both speakers say about themselves."""

    told: str
    asked: str
    values: tuple[str, ...]


class Recurring(NamedTuple):
    """Something that happens again and again, each time for another reason: only its date tells which."""

    told: str
    asked: str
    values: tuple[str, ...]


WORK = (
    Fact(
        "We picked {} as the database for the new service.",
        "Which database did we pick for the new service?",
        "Where are persistent rows kept?",
        ("Postgres", "SQLite", "MariaDB"),
    ),
    Fact(
        "The deploy goes out every {} evening, after the backup.",
        "On which evening does the deploy go out?",
        "When do we usually ship releases?",
        ("Tuesday", "Thursday", "Monday"),
    ),
    Fact(
        "Please never commit directly to the main branch; open a pull request and ask {} people.",
        "How many people must I ask in a pull request to the main branch?",
        "What are the rules about merging code reviews?",
        ("two", "three"),
    ),
    Fact(
        "The staging password lives in the vault under {}.",
        "Where in the vault does the staging password live?",
        "Which location holds our test environment credentials?",
        ("team/blue", "team/green", "team/grey"),
    ),
    Fact(
        "I prefer tabs over spaces, {} wide.",
        "How wide are the tabs I prefer?",
        "What indentation style should new source code follow?",
        ("four", "eight"),
    ),
    Fact(
        "The build got slow because the linker ran {} times.",
        "How often did the linker run when the build got slow?",
        "Why does compilation take so long?",
        ("three", "four", "six"),
    ),
    Fact(
        "Logs are deleted after {} days to save room on the disk.",
        "After how many days are logs deleted?",
        "What is our retention policy for diagnostic output?",
        ("14", "30", "90"),
    ),
    Fact(
        "The mobile app crashes on start when the phone is set to {}.",
        "What is the phone set to when the mobile app crashes on start?",
        "Under which language setting does our Android client fail at launch?",
        ("Turkish", "Arabic", "Thai"),
    ),
    Fact(
        "Invoices are rounded to {} cents, because the tax office wants it so.",
        "To how many cents are invoices rounded for the tax office?",
        "What precision do billing amounts have?",
        ("five", "ten"),
    ),
    Fact(
        "Our search page answers in {} milliseconds at the median.",
        "In how many milliseconds does the search page answer?",
        "How fast are user queries served?",
        ("40", "65", "120"),
    ),
    Fact(
        "The customer in {} asked for an export as a spreadsheet.",
        "Where is the customer who asked for an export as a spreadsheet?",
        "Which client wants their data in Excel format?",
        ("Oslo", "Lyon", "Graz"),
    ),
    Fact(
        "We write the documentation in {} and check its links every night.",
        "In what do we write the documentation whose links are checked every night?",
        "What markup language do our manuals use?",
        ("reStructuredText", "AsciiDoc", "Markdown"),
    ),
    Fact(
        "The old printer driver hangs whenever a file name holds {}.",
        "What must a file name hold for the old printer driver to hang?",
        "Which character breaks paper output?",
        ("an umlaut", "a bracket", "a plus sign"),
    ),
    Fact(
        "Keep answers short, at most {} sentences, unless I say otherwise.",
        "At most how many sentences should answers have?",
        "How verbose do I want replies to be?",
        ("three", "five"),
    ),
    Fact(
        "The unit tests need {} minutes, so run only the fast ones before lunch.",
        "How many minutes do the unit tests need?",
        "How long does our automated verification suite take?",
        ("12", "25", "40"),
    ),
    Fact(
        "Rollbacks are done with the {} script in the ops folder.",
        "With which script are rollbacks done?",
        "How can a bad release be reverted?",
        ("rewind", "stepback", "undeploy"),
    ),
    Fact(
        "The office network blocks port {}, so tunnel through the gateway.",
        "Which port does the office network block?",
        "Why is my connection refused by the firewall at work?",
        ("5432", "8443", "9092"),
    ),
    Fact(
        "The icons come from the {} set and must not be recoloured.",
        "From which set do the icons come?",
        "What are the guidelines for pictograms in our interface?",
        ("Feather", "Tabler", "Lucide"),
    ),
    Fact(
        "Memory usage doubled after we switched the cache to {}.",
        "To what did we switch the cache when memory usage doubled?",
        "What made RAM consumption grow?",
        ("a global map", "weak references", "a bigger page"),
    ),
    Fact(
        "The quarterly report is due on the {} and goes to the board.",
        "On which day is the quarterly report to the board due?",
        "What is the deadline for our business summary to management?",
        ("5th", "12th", "20th"),
    ),
)

CHAT = (
    Fact(
        "I finally adopted a {} from the shelter, it sleeps on my feet.",
        "What did I adopt from the shelter?",
        "Is there a new pet at home?",
        ("greyhound", "beagle", "terrier"),
    ),
    Fact(
        "My knee hurts since the marathon, the doctor said to rest {} weeks.",
        "How many weeks of rest did the doctor say for the knee after the marathon?",
        "Which running injury needed recovery time?",
        ("three", "six", "eight"),
    ),
    Fact(
        "We are planting {} behind the greenhouse this year.",
        "What are we planting behind the greenhouse?",
        "Which vegetables grow in our garden?",
        ("pumpkins", "leeks", "beetroot"),
    ),
    Fact(
        "The flight to {} was cancelled, so we took the night train.",
        "To where was the flight cancelled before the night train?",
        "Which travel plans went wrong at the airport?",
        ("Lisbon", "Riga", "Naples"),
    ),
    Fact(
        "I am allergic to {}, please warn the cook.",
        "What am I allergic to, so that the cook is warned?",
        "Which food ingredients must be avoided for health reasons?",
        ("hazelnuts", "shellfish", "celery"),
    ),
    Fact(
        "Our daughter plays the {} in the school orchestra now.",
        "What does our daughter play in the school orchestra?",
        "Which musical instrument is the child learning?",
        ("oboe", "viola", "trombone"),
    ),
    Fact(
        "I got the job at the {}, they called this morning.",
        "At what place did I get the job they called about?",
        "Where is the new employment?",
        ("library", "observatory", "shipyard"),
    ),
    Fact(
        "The roof leaks right above the {}, a bucket stands there.",
        "Above what does the roof leak?",
        "Which part of the house suffers from rain damage?",
        ("bookshelf", "piano", "cradle"),
    ),
    Fact(
        "I sold my car and ride an old {} bicycle instead.",
        "Which old bicycle do I ride since I sold the car?",
        "How does the daily commute work without driving?",
        ("red", "green", "folding"),
    ),
    Fact(
        "For my birthday I would love a day at the {}.",
        "Where would I love to spend a day for my birthday?",
        "What gift would be a good present?",
        ("thermal baths", "pottery studio", "sculpture park"),
    ),
    Fact(
        "We watched a film about {} and argued until midnight.",
        "About what was the film we watched and argued over?",
        "Which movie caused a long debate?",
        ("deep sea divers", "a chess prodigy", "the last lighthouse"),
    ),
    Fact(
        "I stopped drinking coffee, {} cups a day were too many.",
        "How many cups of coffee a day were too many?",
        "Has caffeine consumption changed?",
        ("six", "seven", "nine"),
    ),
    Fact(
        "The neighbours complained about the {}, so we moved it to the cellar.",
        "What did the neighbours complain about?",
        "What noise bothered people next door?",
        ("drum kit", "washing machine", "table saw"),
    ),
    Fact(
        "My brother moves to {} with his whole family in spring.",
        "Where does my brother move with his family?",
        "Which sibling is relocating abroad?",
        ("Norway", "Portugal", "Canada"),
    ),
    Fact(
        "I lost my wallet at the {} and somebody brought it back.",
        "Where did I lose my wallet?",
        "Which honest stranger returned money and cards?",
        ("swimming pool", "flea market", "tram stop"),
    ),
    Fact(
        "We paint the kitchen {} at the weekend, come and help.",
        "In which colour do we paint the kitchen?",
        "What home renovation is planned?",
        ("yellow", "sage", "light blue"),
    ),
    Fact(
        "I read {} pages every night before I fall asleep.",
        "How many pages do I read every night?",
        "What bedtime routine involves books?",
        ("ten", "twenty", "thirty"),
    ),
    Fact(
        "The bakery on the corner closes, its last day is the {}.",
        "When is the last day of the bakery on the corner?",
        "Which local bread shop goes out of business?",
        ("3rd", "18th", "27th"),
    ),
)

WORK_CHANGES = (
    Change(
        "The rate limit is {} requests a minute.",
        "Correction: the rate limit is {} requests a minute from now on.",
        "What is the rate limit in requests a minute?",
        (("100", "250"), ("60", "90"), ("500", "400")),
    ),
    Change(
        "The team meeting is at {} every morning.",
        "The team meeting moves to {} every morning.",
        "When is the team meeting every morning?",
        (("nine", "half past ten"), ("eight", "eleven")),
    ),
    Change(
        "We support Python {} as the oldest version.",
        "We dropped the old one: the oldest version of Python we support is {} now.",
        "What is the oldest Python version we support?",
        (("3.9", "3.11"), ("3.8", "3.10")),
    ),
)
CHAT_CHANGES = (
    Change(
        "Our wedding is planned for {}.",
        "We had to postpone, our wedding is planned for {} now.",
        "For when is our wedding planned?",
        (("June", "September"), ("May", "October")),
    ),
    Change(
        "My phone number ends in {}.",
        "I have a new phone number, it ends in {}.",
        "In what does my phone number end?",
        (("41", "87"), ("12", "66")),
    ),
    Change(
        "The choir practises on {} evenings.",
        "The choir practises on {} evenings since the hall is taken.",
        "On which evenings does the choir practise?",
        (("Monday", "Friday"), ("Tuesday", "Sunday")),
    ),
)

HABITS = (
    Habit("My favourite tea is {}.", "What is the favourite tea of {}?", ("mint", "oolong", "rooibos", "nettle")),
    Habit(
        "I always take the {} to get here.", "What does {} always take to get here?", ("ferry", "tram", "bus", "lift")
    ),
    Habit(
        "On Sundays I mostly {}.",
        "What does {} mostly do on Sundays?",
        ("sail", "bake bread", "sleep", "repair clocks"),
    ),
    Habit(
        "I am reading a book about {}.",
        "What is the book about that {} is reading?",
        ("glaciers", "bees", "bridges", "owls"),
    ),
)

WORK_RECURRING = Recurring(
    "The nightly import failed again, this time because of {}.",
    "Why did the nightly import fail in {}?",
    ("a full disk", "an expired certificate", "a renamed column", "a time zone", "a locked table", "a missing header"),
)
CHAT_RECURRING = Recurring(
    "Our walking club went out again, this time to the {}.",
    "Where did the walking club go in {}?",
    ("old mill", "quarry", "salt marsh", "beech wood", "dam", "monastery"),
)

SMALL_TALK = (
    "Good to hear from you again.",
    "That sounds about right to me.",
    "Let me think about it for a moment.",
    "Thanks, that helps a lot.",
    "Sorry, I was away for a while.",
    "Could you say that again more slowly?",
    "All right, what else is there today?",
    "I did not know that, interesting.",
    "Fine with me, go ahead.",
    "It has been raining here for days.",
    "Ha, that made me laugh.",
    "I will come back to this later.",
    "Sure, let us leave it at that for now.",
    "Do you have a minute before I go?",
    "No idea, honestly.",
    "You were right about that after all.",
    "I wrote it down so that I do not forget.",
    "One thing after the other.",
    "Nothing new on my side.",
    "See you next time, take care.",
)

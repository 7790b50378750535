"""Words that begin with a capital without being names."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hindsight_server.domain.remembering import remembered

_STARTERS = """
a about absolutely actually adding after again agent agree agreed ah aha ai all alright also although always am
amazing an and another answer any anything anytime anyway anyways api apparently appreciate are art as asap ask
assistant at aw awesome aww bad be beautiful because been before being best better between big bot both boy
brilliant btw but by bye call can can't cannot certainly check cheers come congrats congratulations cool could
couldn't crazy css cute dad damn dang day dear definitely did didn't do does doesn't don't done dude duh during
each either else embracing enjoy enough especially est even ever every everyone everything exactly excellent
excited exciting fair family fantastic faq feel few finally finding fine first fix follow for fortunately
friends from fun funny fyi gee get girl give glad gmt go god going gonna good goodbye goodness gosh got gotcha
great guess guys ha had haha happy hard has have haven't having he hear hello help her here here's hey hi hi-ya
him his hmm hold home honestly hooray hope hopefully hoping how how's however html http https huge human hurray
i i'd i'll i'm i've id if imagine imo impressive in incredible indeed inspiring instead interesting is isn't it
it'd it'll it's its json just keep kids know last lately later laughter least let let's life like little lmao
lol look looking looks lots love lovely lucky ma'am mainly make making many may maybe me mean meanwhile might
mine miss mm mmm mom more morning most mostly much music must my myself nah nature nearly need neither never
nevertheless new next nice night no nobody none nope nor not note nothing now obviously of off oh ok okay old
omg on once one only oof oops or other otherwise ouch our out over overall own painting pdf people perfect
perhaps phew please plus pm pretty probably progress promise proud pst question quite rather reading ready
really recently regarding remember remind respect right running sad same saw say second see seems seriously
several shall she she'd she'll she's should show since sir so some someone something sometimes soon sorry sounds
speaker speaking sql staying still stop success such sup super sure sweet system take taking talk tbh tell thank
thanks that that'd that'll that's the their them then there there's these they they'd they'll they're they've
thing things think third this those though thought through thus till time to today todo together tomorrow
tonight too tool totally tough try trying two ugh under understood unfortunately until up url us use used user
usually utc very wait wanna want was wasn't watch way we we'd we'll we're we've welcome well went were what
what's whatever when whenever where where's whether which while who who's whoa whose why will wish with within
without woah won't wonder wonderful woohoo working would wouldn't wow writing www xml yay yea yeah year yep yes
η ο το οι τα yesterday yet yikes yo you you'd you'll you're you've your yours yourself yum yup zero
"""
_CALENDAR = """
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun january february
march april may june july august september october november december jan feb mar apr jun jul aug sep sept oct nov dec
spring summer autumn fall winter christmas easter halloween
"""
NO_NAMES = frozenset(_STARTERS.split()) | frozenset(_CALENDAR.split())
"""Lower-case words that are no name by themselves, capital or not."""

NAME_OPENINGS = frozenset(
    ["new", "great", "old", "big", "grand", "little", "first", "second", "third", "one", "two", "super", "good", "home"]
)
"""Of those, the ones that also begin names of several words."""

_ORGANISATION = """
inc corp ltd llc gmbh company university college school institute bank hospital foundation association agency group team
club department church museum center centre
"""
_PLACE = """
street avenue road park lake river city island beach bay valley mountain mountains canyon square bridge forest county
falls airport station desert coast
"""
ORGANISATION_WORDS = frozenset(_ORGANISATION.split())
PLACE_WORDS = frozenset(_PLACE.split())
TITLES = frozenset(["mr", "mrs", "ms", "dr", "prof", "professor", "uncle", "aunt", "grandma", "grandpa", "coach"])

_NUMBERED = """
room terminal gate flight platform route bus line unit building suite floor apartment flat phase chapter section
level team group ward zone track pier dock plot locker table court studio hall model version release sprint ticket
order invoice contract case house class grade bay block tower lab
"""
NUMBERED = frozenset(_NUMBERED.split())
"""Ordinary words that make a name with the number behind them, also where a sentence begins."""

_UNITS = """
minutes minute hours hour days day weeks week months month years year times percent people euros dollars pounds km
miles meters metres kg grams am pm o'clock degrees points pages more of or to seconds bottles cups boxes
"""
UNITS = frozenset(_UNITS.split())
"""Words that make a number before them a quantity."""

_SUFFIXES = ("s", "es", "ed", "ing", "ly", "er", "d", "r")


@cache
def _common() -> frozenset[str]:
    text = (files(__package__) / "common_words.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


@remembered(most=8192)
def is_common(word: str) -> bool:
    """Whether a lower-case word is an ordinary English one, in whatever form."""
    common = _common()
    if word in common:
        return True
    return any(word.endswith(end) and len(word) > len(end) + 3 and word[: -len(end)] in common for end in _SUFFIXES)

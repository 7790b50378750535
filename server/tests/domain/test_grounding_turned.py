"""Statements that turn around what a text says, and those that only look so."""

from __future__ import annotations

import pytest

from hindsight_server.domain.grounding_clauses import lemma
from hindsight_server.domain.grounding_turned import Said, Told, near_sentence

TURNED = [
    ("I didn't sell the boat.", "Ann sold the boat."),
    ("I sold the boat in May.", "Ann did not sell the boat in May."),
    ("I never eat fish.", "Ann eats fish."),
    ("Nobody told me about the fee.", "Bo told Ann about the fee."),
    ("I ate nothing since noon.", "Ann ate since noon."),
    ("Kim refused to sign the lease.", "Kim signed the lease."),
    ("The shop is no longer open on Sundays.", "The shop is open on Sundays."),
    ("Kim isn't in Oslo.", "Kim is in Oslo."),
    ("I called Kim, but she didn't pick up.", "Kim picked up when Ann called."),
    ("I hate long flights.", "Ann loves long flights."),
    ("Kim gave Lee her old bike.", "Lee gave Kim his old bike."),
    ("Kim lent me 90 euros.", "Ann lent Kim 90 euros."),
    ("I lent 90 euros to Kim.", "Kim lent Ann 90 euros."),
    ("He lost my last lock.", "Ann lost the last lock."),
    ("I repaired two pumps.", "Ann repaired a coffee machine."),
    ("我不吃辣，晚上别订川菜馆。", "小安吃辣。"),
    ("我没买保险。", "小安买了保险。"),
    ("我对牛奶过敏。", "小安对牛奶不过敏。"),
    ("房东没同意养猫。", "房东同意养猫。"),
    ("我把电脑送给了陈涛。", "陈涛把电脑送给了小安。"),
    ("陈涛欠我两百块。", "小安欠陈涛两百块。"),
    ("我讨厌坐飞机。", "小安喜欢坐飞机。"),
    ("王芳不喜欢茶。", "王芳喜欢茶。"),
    ("王芳喜欢茶。", "王芳不喜欢茶。"),
    ("我不喜欢猫。", "小安喜欢猫。"),
    ("我不想去。", "小安想去。"),
    ("我想去。", "小安不想去。"),
    ("陈涛不会来。", "陈涛会来。"),
    ("陈涛会来。", "陈涛不会来。"),
    ("我不要糖。", "小安要糖。"),
    ("王芳讨厌咖啡。", "王芳喜欢咖啡。"),
    ("王芳喜欢咖啡。", "王芳讨厌咖啡。"),
    ("我讨厌猫。", "小安喜欢猫。"),
    ("Thanks for lending me 90 euros, Kim!", "Ann lent Kim 90 euros."),
    ("I forgot to pay the rent.", "Ann paid the rent."),
]
STRAIGHT = [
    ("I didn't keep the boat.", "Ann gave up the boat."),
    ("I didn't sell the boat, I gave it away.", "Ann gave the boat away instead of selling it."),
    ("I don't think Kim likes fish.", "Ann thinks that Kim doesn't like fish."),
    ("I not only paint, I also carve.", "Ann paints and carves."),
    ("I can't come before Monday.", "Ann can come from Monday on."),
    ("Kim isn't with Contoso any more.", "Kim left Contoso."),
    ("Didn't you sell the boat? Yes, I sold it.", "Ann sold the boat."),
    ("Nobody knew the year.", "The year was not known to anybody."),
    ("I couldn't be happier.", "Ann is happy."),
    ("Kim gave Lee her old bike.", "Lee was given the old bike by Kim."),
    ("Kim gave Lee her old bike.", "Lee got the old bike of Kim."),
    ("I met Kim in Rome.", "Kim met Ann in Rome."),
    ("I got a call from Kim about the bike.", "Kim called Ann about the bike."),
    ("Kim hasn't called me, I called Kim.", "Ann called Kim."),
    ("I haven't smoked since May.", "Ann stopped smoking in May."),
    ("不仅便宜，而且好用。", "这个便宜又好用。"),
    ("房东没同意我们养猫。", "房东不同意他们养猫。"),
    ("我戒烟三个月了，一次也没复吸。", "小安戒烟三个月，没有复吸。"),
    ("如果三天没退烧就复查。", "三天退烧就不用复查。"),
    ("我把电脑送给了陈涛。", "陈涛收到了小安送的电脑。"),
    ("我没去过无锡，但是住过特别小的房子。", "小安住过特别小的房子。"),
    ("王芳不喜欢茶。", "王芳喜欢茶道。"),
    ("王芳不喜欢茶，喜欢咖啡。", "王芳喜欢咖啡。"),
    ("王芳不喜欢茶，喜欢咖啡。", "王芳不喜欢茶。"),
    ("我不想去，陈涛想去。", "陈涛想去。"),
    ("我会来，陈涛不会来。", "小安会来。"),
    ("我不想去北京，想去上海。", "小安想去上海。"),
    ("王芳讨厌咖啡。", "王芳不喜欢咖啡。"),
    ("我以前讨厌咖啡，现在喜欢咖啡。", "小安现在喜欢咖啡。"),
    ("我不要糖，要奶。", "小安要奶。"),
    ("我讨厌猫，我妹妹喜欢猫。", "小安的妹妹喜欢猫。"),
    ("Gather the papers. Don't forget to rest before the visit.", "Ann advises resting before the visit."),
    ("Losing my job gave me the time to start a shop.", "Ann lost her job but started a shop."),
    ("I haven't read that yet! Just finished The Quiet Tide, a fine story.", "Ann finished reading The Quiet Tide."),
]


def _told(text: str, fact: str) -> bool:
    speaker = "小安" if fact[0] > "\u3400" else "Ann"
    return Told([Said(text, speaker)], [speaker, "Bo"]).is_turned(Said(fact), 0)


@pytest.mark.parametrize(("text", "fact"), TURNED)
def test_what_is_turned_around_is_seen(text: str, fact: str) -> None:
    assert _told(text, fact)


@pytest.mark.parametrize(("text", "fact"), STRAIGHT)
def test_what_only_looks_turned_around_is_left_alone(text: str, fact: str) -> None:
    assert not _told(text, fact)


def test_another_line_may_bear_it_out() -> None:
    lines = [Said("I didn't sell the boat.", "Ann"), Said("I sold the boat after all.", "Ann")]
    assert not Told(lines, ["Ann"]).is_turned(Said("Ann sold the boat."), 0)


def test_a_word_of_another_line_in_the_place_of_one() -> None:
    told = Told(
        [Said("I write best at six.", "Ann"), Said("Then keep the afternoons for reading.", "Bo")], ["Ann", "Bo"]
    )
    assert told.is_turned(Said("Bo advised keeping the afternoons for writing."), 1)
    assert not told.is_turned(Said("Bo advised keeping the afternoons for books."), 1)


def test_what_somebody_only_asks_is_not_told_of_him() -> None:
    told = Told([Said("A piano? Since when do you play?", "Tom"), Said("Since last summer.", "Ann")], ["Tom", "Ann"])
    assert told.is_asked(Said("Tom has played the piano since last summer."), 0)
    assert not told.is_asked(Said("Tom asked since when Ann plays the piano."), 0)


def test_the_nearest_sentence_of_a_line() -> None:
    assert near_sentence(Said("I am away. Please show Dr. Kim the pump."), Said("Lee shows Kim the pump.")).startswith(
        "please"
    )
    assert near_sentence(Said("I am away."), Said("Lee sings.")) == "I am away."


@pytest.mark.parametrize(
    "forms",
    ["lend lends lent lending", "try tries tried trying", "miss misses missed", "agree agreed", "stop stopped stops",
     "attend attends attended attending", "come came coming"],
)  # fmt: skip
def test_the_forms_of_a_word_have_one_lemma(forms: str) -> None:
    assert len({lemma(form) for form in forms.split()}) == 1


# The line of the last speaker is the one that a statement was read in.
TURNED_OF_ANOTHER = [
    (["Ann: I like dogs.", "Bob: I hate dogs."], "Bob likes dogs."),
    (["Bob: I hate tea.", "Ann: I like tea."], "Ann hates tea."),
    (["Ann: I bought the blue car.", "Bob: I sold the blue car."], "Bob bought the blue car."),
    (["Bob: I sold the blue car.", "Ann: I bought the blue car."], "Ann sold the blue car."),
    (["Ann: I lent Kim 90 euros.", "Bob: I borrowed 90 euros from Kim."], "Bob lent Kim 90 euros."),
    (["Ann: I accepted the offer.", "Bob: I declined the offer."], "Bob accepted the offer."),
    (["Ann: Do you like dogs?", "Bob: I hate dogs."], "Bob likes dogs."),
    (["Ann: Love dogs!", "Bob: I hate dogs."], "Bob loves dogs."),
    (["Ann: I like tea, Bob.", "Bob: I hate tea."], "Bob likes tea."),
    (["Ann: My sister likes tea.", "Bob: I hate tea."], "Bob likes tea."),
    (["Ann: I like tea with Kim.", "Bob: Kim hates tea."], "Kim likes tea."),
    (["Ann: Lee likes tea.", "Bob: Kim hates tea."], "Kim likes tea."),
    (["Ann: I live in Rome and like dogs.", "Bob: I live in Oslo and hate dogs."], "Bob lives in Oslo and likes dogs."),
    (["Ann: My car is expensive.", "Bob: My car is not expensive."], "Bob's car is expensive."),
    (["Ann: Dogs frighten me.", "Bob: Dogs don't frighten me."], "Dogs frighten Bob."),
]
BORNE_OUT_BY_ANOTHER = [
    (["Ann: Kim likes tea.", "Bob: Kim hates tea."], "Kim likes tea."),
    (["Bob: Kim hates tea.", "Ann: Kim likes tea."], "Kim hates tea."),
    (["Ann: She likes tea.", "Bob: Kim hates tea."], "Kim likes tea."),
    (["Ann: We like tea.", "Bob: I hate tea."], "Bob likes tea."),
    (["Ann: You like tea.", "Bob: I hate tea."], "Bob likes tea."),
    (["Ann: Bob likes tea.", "Bob: I hate tea."], "Bob likes tea."),
    (["Bob: I like tea.", "Ann: Why?", "Bob: I hate tea."], "Bob likes tea."),
    (["Ann: Do you like tea?", "Bob: Yes."], "Bob likes tea."),
    (["Ann: Kim sold me the boat.", "Bob: Nice!", "Ann: Kim sold me the boat."], "Ann bought the boat from Kim."),
    (["Bob: Hi.", "Ann: I bought a car in May and sold it in June."], "Ann bought a car in May."),
    (["Bob: Hi.", "Ann: I borrowed a bike, and lent it to Kim."], "Ann lent the bike to Kim."),
]


def _told_by_two(lines: list[str], fact: str) -> bool:
    said = [Said(text, speaker) for speaker, _, text in (line.partition(": ") for line in lines)]
    return Told(said, ["Ann", "Bob"]).is_turned(Said(fact), len(said) - 1)


@pytest.mark.parametrize(("lines", "fact"), TURNED_OF_ANOTHER)
def test_what_one_says_of_himself_bears_out_nothing_of_another(lines: list[str], fact: str) -> None:
    assert _told_by_two(lines, fact)


@pytest.mark.parametrize(("lines", "fact"), BORNE_OUT_BY_ANOTHER)
def test_what_another_says_of_somebody_may_bear_it_out(lines: list[str], fact: str) -> None:
    assert not _told_by_two(lines, fact)


OFTEN_FOR_NEVER = [
    (["Bob: I never drink coffee."], "Bob often drinks coffee."),
    (["Bob: I never drink coffee."], "Bob drinks coffee every day."),
    (["Bob: I never drink coffee."], "Bob drinks coffee every single day."),
    (["Bob: I never drink coffee."], "Bob sometimes drinks coffee."),
    (["Bob: I never drink coffee."], "Bob drinks coffee twice a day."),
    (["Bob: I never drink coffee."], "Bob drinks coffee on Sundays."),
    (["Bob: I don't drink coffee."], "Bob always drinks coffee."),
    (["Bob: I no longer drink coffee."], "Bob often drinks coffee."),
    (["Ann: I drink coffee every day.", "Bob: I never drink coffee."], "Bob drinks coffee every day."),
    (["Ann: I often drink coffee.", "Bob: I never drink coffee."], "Bob often drinks coffee."),
    (["Bob: I rarely drink coffee."], "Bob drinks coffee every day."),
    (["Bob: I hardly ever drink coffee."], "Bob often drinks coffee."),
    (["Bob: I almost never drink coffee."], "Bob usually drinks coffee."),
    (["Ann: I often drink coffee.", "Bob: I seldom drink coffee."], "Bob often drinks coffee."),
    (["Ann: I often drink coffee."], "Ann rarely drinks coffee."),
]
AS_OFTEN = [
    (["Bob: I rarely drink coffee."], "Bob seldom drinks coffee."),
    (["Bob: I never drank coffee before. Now I drink it every day."], "Bob drinks coffee every day."),
    (["Bob: I never drank coffee before."], "Bob never drank coffee before."),
    (["Bob: I never drank coffee until now."], "Bob drinks coffee often."),
    (["Bob: I don't usually drink coffee."], "Bob sometimes drinks coffee."),
    (["Bob: I don't drink coffee every day."], "Bob sometimes drinks coffee."),
    (["Bob: I rarely drink coffee, but I often drink tea."], "Bob often drinks tea."),
    (["Bob: I rarely drink coffee at home, but at work I drink coffee every day."], "Bob often drinks coffee at work."),
    (["Bob: I used to drink coffee every day, now I rarely drink it."], "Bob used to drink coffee every day."),
    (["Bob: I used to drink coffee every day, now I rarely drink it."], "Bob rarely drinks coffee now."),
    (["Bob: Ann rarely cooks, I often cook."], "Bob often cooks."),
    (["Ann: I rarely cook.", "Bob: I often cook."], "Bob often cooks."),
    (["Ann: I didn't go to the gym today."], "Ann goes to the gym every day."),
    (["Bob: I rarely eat meat, once a week at most."], "Bob eats meat once a week at most."),
    (["Bob: Our cat never sleeps at night but sleeps all day."], "Bob's cat sleeps all day."),
    (["Bob: I don't drink tea in the morning."], "Bob drinks tea every day."),
    (["Bob: I never skip my run, I run every day."], "Bob runs every day."),
]


@pytest.mark.parametrize(("lines", "fact"), OFTEN_FOR_NEVER)
def test_how_often_does_not_hide_a_lost_never_or_rarely(lines: list[str], fact: str) -> None:
    assert _told_by_two(lines, fact)


@pytest.mark.parametrize(("lines", "fact"), AS_OFTEN)
def test_what_happens_as_often_as_told_is_left_alone(lines: list[str], fact: str) -> None:
    assert not _told_by_two(lines, fact)


TURNED_IN_HAN = [
    (["小安: 我喜欢养狗。", "陈涛: 我讨厌养狗。"], "陈涛喜欢养狗。"),
    (["陈涛: 我讨厌养狗。", "小安: 我喜欢养狗。"], "小安讨厌养狗。"),
    (["小安: 我喝咖啡。", "陈涛: 我不喝咖啡。"], "陈涛喝咖啡。"),
    (["小安: 我会开车。", "陈涛: 我不会开车。"], "陈涛会开车。"),
    (["小安: 我同意这个方案。", "陈涛: 我反对这个方案。"], "陈涛同意这个方案。"),
    (["小安: 我买了那辆蓝色的车。", "陈涛: 我卖了那辆蓝色的车。"], "陈涛买了那辆蓝色的车。"),
    (["小安: 我从不喝酒。"], "小安每天都喝酒。"),
    (["小安: 我从不喝酒。"], "小安有时喝酒。"),
    (["小安: 我每天喝酒。", "陈涛: 我从不喝酒。"], "陈涛每天喝酒。"),
    (["小安: 我很少喝咖啡。"], "小安经常喝咖啡。"),
    (["小安: 我经常喝酒。"], "小安很少喝酒。"),
    (["小安: 我经常喝酒。", "陈涛: 我很少喝酒。"], "陈涛经常喝酒。"),
]
STRAIGHT_IN_HAN = [
    (["小安: 王芳喜欢喝茶。", "陈涛: 王芳讨厌喝茶。"], "王芳喜欢喝茶。"),
    (["小安: 我们喜欢喝茶。", "陈涛: 我讨厌喝茶。"], "陈涛喜欢喝茶。"),
    (["小安: 陈涛喜欢喝茶。", "陈涛: 我讨厌喝茶。"], "陈涛喜欢喝茶。"),
    (["小安: 你喜欢喝茶。", "陈涛: 我讨厌喝茶。"], "陈涛喜欢喝茶。"),
    (["小安: 你喜欢喝茶吗？", "陈涛: 喜欢。"], "陈涛喜欢喝茶。"),
    (["小安: 好。", "陈涛: 小安卖给我那辆蓝色的车。"], "陈涛买了小安那辆蓝色的车。"),
    (["小安: 我以前从不喝咖啡，现在每天喝咖啡。"], "小安现在每天喝咖啡。"),
    (["小安: 我这次不喝酒。"], "小安每天喝酒。"),
    (["小安: 我不经常喝咖啡。"], "小安有时喝咖啡。"),
    (["小安: 我很少喝咖啡，但是经常喝红茶。"], "小安经常喝红茶。"),
    (["小安: 我经常喝酒。", "陈涛: 我很少喝酒。"], "陈涛很少喝酒。"),
]


def _told_by_two_in_han(lines: list[str], fact: str) -> bool:
    said = [Said(text, speaker) for speaker, _, text in (line.partition(": ") for line in lines)]
    return Told(said, ["小安", "陈涛"]).is_turned(Said(fact), len(said) - 1)


@pytest.mark.parametrize(("lines", "fact"), TURNED_IN_HAN)
def test_who_says_it_and_how_often_counts_in_chinese(lines: list[str], fact: str) -> None:
    assert _told_by_two_in_han(lines, fact)


@pytest.mark.parametrize(("lines", "fact"), STRAIGHT_IN_HAN)
def test_what_is_said_of_somebody_as_often_is_left_alone_in_chinese(lines: list[str], fact: str) -> None:
    assert not _told_by_two_in_han(lines, fact)

"""Statements that are surer than what a text says, and those that only look so."""

from __future__ import annotations

import sys
from types import FrameType

import pytest

from hindsight_server.domain.grounding_hedged import Hedged, is_firmer_than_all
from hindsight_server.domain.grounding_turned import Said

FIRMER = [
    ("I might move to Oslo in May.", "Ann is moving to Oslo in May."),
    ("I might move to Oslo in May.", "Ann moved to Oslo in May."),
    ("I might move to Oslo in May.", "Ann will move to Oslo in May."),
    ("I might move to Oslo in May.", "Ann lives in Oslo."),
    ("I might move to Oslo in May.", "Ann decided to move to Oslo."),
    ("I may sell the boat.", "Ann sells the boat."),
    ("Maybe Kim moved to Oslo.", "Kim moved to Oslo."),
    ("Maybe I'll sell the boat in spring.", "Ann will sell the boat in spring."),
    ("Perhaps we buy the house on the hill.", "Ann buys the house on the hill."),
    ("We'll probably drive to Rome.", "Ann drives to Rome."),
    ("I'll sell the boat, maybe.", "Ann sold the boat."),
    ("I think I'll buy a boat.", "Ann bought a boat."),
    ("I think Kim works at Contoso.", "Kim works at Contoso."),
    ("I'm not sure whether I'll take the job at Contoso.", "Ann took the job at Contoso."),
    ("I'm not sure that Kim sold the boat.", "Kim sold the boat."),
    ("I'm thinking of buying a boat.", "Ann bought a boat."),
    ("I'm thinking about moving to Oslo.", "Ann is moving to Oslo."),
    ("We're considering adopting a dog.", "Ann has a dog."),
    ("I could move to Oslo next year.", "Ann is moving to Oslo next year."),
    ("I would move to Oslo if they paid me more.", "Ann moved to Oslo."),
    ("I'd like to learn the piano.", "Ann learns the piano."),
    ("I'd love to visit Lima one day.", "Ann visited Lima."),
    ("I'd love a dog.", "Ann has a dog."),
    ("I hope to work at Contoso.", "Ann works at Contoso."),
    ("I hope Kim sells the boat.", "Kim sold the boat."),
    ("I want to learn the piano.", "Ann plays the piano."),
    ("Kim wants to move to Oslo.", "Kim moved to Oslo."),
    ("I plan to visit Lima in June.", "Ann visited Lima in June."),
    ("I'm planning on selling the boat.", "Ann sold the boat."),
    ("I was going to sell the boat.", "Ann sold the boat."),
    ("I was going to sell the boat.", "Ann will sell the boat."),
    ("I'm going to sell the boat.", "Ann sold the boat."),
    ("I'll visit Lima in June.", "Ann visited Lima in June."),
    ("If I move to Oslo, I'll sell the car.", "Ann moved to Oslo."),
    ("If I move to Oslo, I'll sell the car.", "Ann sold the car."),
    ("I almost bought the boat.", "Ann bought the boat."),
    ("I nearly missed the train.", "Ann missed the train."),
    ("I wish I had a boat.", "Ann has a boat."),
    ("I heard that Kim moved to Oslo.", "Kim moved to Oslo."),
    ("I heard Kim moved to Oslo.", "Kim moved to Oslo."),
    ("Apparently Kim quit her job.", "Kim quit her job."),
    ("I love Oslo. I might move there in May.", "Ann is moving to Oslo in May."),
    ("I might sell the boat and move to Oslo.", "Ann moved to Oslo."),
    ("I could have bought the boat.", "Ann bought the boat."),
    ("I might not come to the party.", "Ann did not come to the party."),
    ("I might be at the lake on Friday.", "Ann was at the lake on Friday."),
    ("I need to call the bank.", "Ann called the bank."),
    ("We might get married in September.", "Ann got married in September."),
    ("I'd really like to try sushi in Tokyo.", "Ann tried sushi in Tokyo."),
    ("I could see myself living in Porto.", "Ann lives in Porto."),
    ("I nearly quit smoking last year.", "Ann quit smoking last year."),
    ("It looks like Kim will get the job.", "Kim got the job."),
    ("We will be at the lake on Friday.", "Ann was at the lake on Friday."),
    ("I'm thinking about a move to Oslo.", "Ann moved to Oslo."),
    ("It's possible that we adopt a cat.", "Ann adopted a cat."),
    ("There's a chance I'll get promoted in March.", "Ann got promoted in March."),
    ("I could imagine working from Lisbon.", "Ann works from Lisbon."),
    ("My dream is to open a bakery.", "Ann opened a bakery."),
    ("I don't know if I'll go to Kim's wedding.", "Ann went to Kim's wedding."),
    ("Kim might have broken the vase.", "Kim broke the vase."),
    ("Someone said the bakery closed.", "The bakery closed."),
    ("我可能五月搬去奥斯陆。", "小安五月搬去奥斯陆。"),
    ("我可能五月搬去奥斯陆。", "小安五月会搬去奥斯陆。"),
    ("也许我会买那条船。", "小安买了那条船。"),
    ("或许我们会卖掉房子。", "小安卖掉了房子。"),
    ("我大概下周去上海。", "小安下周去上海。"),
    ("我打算六月去利马。", "小安六月去了利马。"),
    ("我想学钢琴。", "小安学了钢琴。"),
    ("我想要买一条船。", "小安买了一条船。"),
    ("我在考虑买房。", "小安买房了。"),
    ("如果我搬去奥斯陆，就卖车。", "小安搬去了奥斯陆。"),
    ("下雨的话，我们取消野餐。", "下雨了，他们取消野餐。"),
    ("我差点买了那条船。", "小安买了那条船。"),
    ("听说王芳辞职了。", "王芳辞职了。"),
    ("我妈妈可能要住院。", "小安的妈妈住院了。"),
    ("要是有钱，我就买辆车。", "小安买了辆车。"),
    ("我想换个手机。", "小安换了手机。"),
    ("王芳估计已经到上海了。", "王芳已经到上海了。"),
    ("王芳好像搬去了上海。", "王芳搬去了上海。"),
    ("他应该在上海出差。", "他在上海出差。"),
]
AS_SURE = [
    ("I might move to Oslo in May.", "Ann may move to Oslo in May."),
    ("I might move to Oslo in May.", "Ann is considering a move to Oslo in May."),
    ("I might move to Oslo in May.", "Ann plans to move to Oslo in May."),
    ("I might move to Oslo in May.", "Ann talked about moving to Oslo in May."),
    ("I might move to Oslo in May.", "Ann has the option to move to Oslo."),
    ("I bought a car, maybe we'll drive to Rome.", "Ann bought a car."),
    ("I bought a car, maybe we'll drive to Rome.", "Ann bought a car and may drive to Rome."),
    ("I bought a car. Maybe I'll buy a boat too.", "Ann bought a car."),
    ("I moved to Oslo in May and might move to Rome.", "Ann moved to Oslo in May."),
    ("We moved to Oslo in May.", "Ann moved to Oslo in May."),
    ("In May I moved to Oslo.", "Ann moved to Oslo in May."),
    ("May was hot. I sold the boat.", "Ann sold the boat."),
    ("i moved to oslo last may.", "Ann moved to Oslo in May."),
    ("Will sold the boat.", "Will sold the boat."),
    ("My brother Will moved to Oslo.", "Ann's brother Will moved to Oslo."),
    ("My uncle left me the house in his will.", "Ann's uncle left her the house."),
    ("I pushed with all my might and moved the piano.", "Ann moved the piano."),
    ("We would go fishing every summer.", "Ann went fishing every summer."),
    ("As a kid I would visit Kim each summer.", "Ann visited Kim each summer as a kid."),
    ("I could finally see the sea.", "Ann saw the sea."),
    ("We saved for years so that we could buy the house.", "Ann bought the house."),
    ("I could swim at three.", "Ann could swim at three."),
    ("I'd like to learn the piano.", "Ann is interested in learning the piano."),
    ("I'd like to learn the piano.", "Ann wishes to learn the piano."),
    ("I want to learn the piano.", "Ann dreams of playing the piano."),
    ("I want to thank Kim for the lamp.", "Ann thanked Kim for the lamp."),
    ("I want to tell you that I sold the boat.", "Ann sold the boat."),
    ("I think Oslo is great.", "Oslo is great."),
    ("I think Oslo is great.", "Ann likes Oslo."),
    ("I think Oslo is great.", "Ann finds Oslo great."),
    ("I think Kim works at Contoso.", "Ann said that Kim works at Contoso."),
    ("I thought about it and sold the boat.", "Ann sold the boat."),
    ("Could you call Kim about the boat?", "Ann called Kim about the boat."),
    ("Would you like to visit Lima?", "Ann visited Lima."),
    ("I'm going to Oslo tomorrow.", "Ann travels to Oslo tomorrow."),
    ("I'm going to Oslo tomorrow.", "Ann will go to Oslo tomorrow."),
    ("I'm going to sell the boat.", "Ann is selling the boat."),
    ("I'll visit Lima in June.", "Ann visits Lima in June."),
    ("I plan to visit Lima in June.", "Ann will visit Lima in June."),
    ("I plan to visit Lima in June.", "Ann is going to visit Lima in June."),
    ("I plan to visit Lima in June.", "Ann is visiting Lima in June."),
    ("I wanted to sell the boat, and I sold it in May.", "Ann sold the boat in May."),
    ("If you need me, I'm in room 9.", "Ann is in room 9."),
    ("If I eat nuts, I get sick.", "Ann gets sick when she eats nuts."),
    ("If you ask me, Kim sold the boat too early.", "Kim sold the boat too early."),
    ("I moved to Oslo, even if it rains there.", "Ann moved to Oslo."),
    ("Maybe 20 people came to the party.", "About 20 people came to the party."),
    ("Maybe 20 people came to the party.", "20 people came to the party."),
    ("Almost 20 people came to the party.", "Nearly 20 people came to the party."),
    ("I swim almost every day.", "Ann swims every day."),
    ("I almost bought the boat.", "Ann did not buy the boat."),
    ("I nearly missed the train.", "Ann caught the train."),
    ("I hear Kim sing every day.", "Kim sings every day."),
    ("I heard from Kim that the boat was sold.", "The boat was sold."),
    ("Kim said that she moved to Oslo.", "Kim moved to Oslo."),
    ("I hope you are well. I moved to Oslo.", "Ann moved to Oslo."),
    ("I want to visit the town where I grew up.", "Ann grew up in a town."),
    ("Maybe we'll visit the town where I grew up.", "Ann grew up in a town."),
    ("I might visit Kim, who moved to Oslo.", "Kim moved to Oslo."),
    ("I don't want to sell the boat.", "Ann doesn't sell the boat."),
    ("My plan for the boat is done. I painted the boat.", "Ann painted the boat."),
    ("No doubt Kim sold the boat.", "Kim sold the boat."),
    ("I need to rest. I ran to the lake.", "Ann ran to the lake."),
    ("The move to Oslo might be hard.", "Ann's move to Oslo is next."),
    ("I'm going to bed now.", "Ann went to bed."),
    ("I think the film was boring.", "The film was boring."),
    ("We will be at the lake on Friday.", "Ann is at the lake on Friday."),
    ("I may have mentioned that I'm allergic to nuts.", "Ann is allergic to nuts."),
    ("I will turn 40 on 3 March.", "Ann turns 40 on 3 March."),
    ("My parents want me to study law, but I study music.", "Ann studies music."),
    ("I was nearly 30 when I learned to drive.", "Ann learned to drive at nearly 30."),
    ("Next may we fly to Lima.", "Ann flies to Lima in May."),
    ("I got to teach a class on Monday.", "Ann taught a class on Monday."),
    ("I heard some tales from a veteran named Samuel.", "Ann met a veteran named Samuel who shared tales."),
    ("I'm aiming to turn dancing into a business.", "Ann quit to pursue dancing and turn it into a business."),
    ("Nobody may enter without a badge.", "Nobody enters without a badge."),
    ("Kim was supposed to come at 8 and came at 9.", "Kim came at 9."),
    ("I had to sell the boat.", "Ann sold the boat."),
    ("You might like the museum in Basel.", "The assistant mentioned the museum in Basel."),
    ("I'm planning my wedding in June.", "Ann's wedding is in June."),
    ("I have to take pills every morning.", "Ann takes pills every morning."),
    ("I can't wait to move to Oslo in May.", "Ann is moving to Oslo in May."),
    ("Whether or not it rains, we leave at six.", "Ann leaves at six."),
    ("We'll see. Kim starts at Contoso on Monday.", "Kim starts at Contoso on Monday."),
    ("We might be late, but I cooked the dinner already.", "Ann cooked the dinner."),
    ("I might move to Oslo.", "Is Ann moving to Oslo?"),
    ("我可能五月搬去奥斯陆。", "小安可能五月搬去奥斯陆。"),
    ("我可能五月搬去奥斯陆。", "小安考虑五月搬去奥斯陆。"),
    ("我打算六月去利马。", "小安计划六月去利马。"),
    ("我打算六月去利马。", "小安六月去利马。"),
    ("我打算六月去利马。", "小安六月会去利马。"),
    ("我买了车，可能开去罗马。", "小安买了车。"),
    ("我想学钢琴。", "小安对学钢琴感兴趣。"),
    ("大概二十个人来了。", "二十个人来了。"),
    ("我想起王芳搬去了上海。", "王芳搬去了上海。"),
    ("王芳长得好像她妈妈。", "王芳长得像她妈妈。"),
    ("如果下雨就取消野餐。", "下雨就取消野餐。"),
    ("我不可能卖房。", "小安不卖房。"),
    ("听说王芳辞职了。", "小安说王芳辞职了。"),
    ("我本来打算卖船，后来卖掉了船。", "小安后来卖掉了船。"),
    ("如果你需要，我在三号房间。", "小安在三号房间。"),
    ("应该多喝水。", "助手建议多喝水。"),
    ("我准备好了材料。", "小安准备好了材料。"),
    ("没想到王芳辞职了。", "王芳辞职了。"),
    ("我想问一下，我昨天买了票。", "小安昨天买了票。"),
    ("我差点没赶上火车。", "小安赶上了火车。"),
]


def _is_firmer(text: str, fact: str) -> bool:
    speaker = "小安" if text[0] > "\u3400" else "Ann"
    return Hedged([Said(text, speaker)], [speaker, "Bo"]).is_firmer(Said(fact), 0)


@pytest.mark.parametrize(("text", "fact"), FIRMER)
def test_a_hedge_that_was_lost_is_seen(text: str, fact: str) -> None:
    assert _is_firmer(text, fact)


@pytest.mark.parametrize(("text", "fact"), AS_SURE)
def test_what_is_no_surer_than_its_line_is_left_alone(text: str, fact: str) -> None:
    assert not _is_firmer(text, fact)


def test_another_line_may_say_it_without_a_hedge() -> None:
    lines = [Said("I might sell the boat.", "Ann"), Said("I sold the boat, finally.", "Ann")]
    assert not Hedged(lines, ["Ann"]).is_firmer(Said("Ann sold the boat."), 0)


@pytest.mark.parametrize(
    ("asked", "told"), [("Maybe you left the keys at work.", "Yes."), ("你可能把钥匙丢了。", "对。")]
)
def test_who_is_spoken_to_may_have_answered(asked: str, told: str) -> None:
    fact = "Bo left the keys at work." if asked.isascii() else "小白把钥匙丢了。"
    alone, answered = [Said(asked, "Ann")], [Said(asked, "Ann"), Said(told, "Bo")]
    assert Hedged(alone, ["Ann", "Bo", "小白"]).is_firmer(Said(fact), 0)
    assert not Hedged(answered, ["Ann", "Bo", "小白"]).is_firmer(Said(fact), 0)


def test_one_source_without_a_hedge_is_enough() -> None:
    plan, visit = Said("Ann plans to visit Lima in June."), Said("Ann came back from Lima.")
    assert is_firmer_than_all("Ann visited Lima in June.", [plan, Said("Ann might visit Lima in June.")])
    assert not is_firmer_than_all("Ann visited Lima in June.", [plan, visit])
    assert not is_firmer_than_all("Ann visited Lima in June.", [])


def steps_of(line: Said, told: Said) -> int:
    """How many functions are called and left to look for hedges."""
    count = 0

    def step(frame: FrameType, event: str, function: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        Hedged([line], ["Ann"]).is_firmer(told, 0)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "text", ["I could move to Oslo then ", "Maybe I move. ", "I might move, ", "我可能搬去上海，也许", "大概"]
)
def test_a_long_text_of_hedges_takes_no_more_steps_than_its_length(text: str) -> None:
    told = Said("小安买了上海的船。" if text[0] > "\u3400" else "Ann sold the boat.")
    short, long = (steps_of(Said(text * (size // len(text)), "Ann"), told) for size in (2_000, 40_000))
    assert 0 < long <= 25 * short

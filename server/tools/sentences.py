"""Small talk of our own, made by rule, for comparing models and for fitting the token projection."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

_TEMPLATES = """
{name}: I went to {place} with my {kin} {when}, and we {did} until it got dark.
{name}: My {kin} just {did2} a {thing}. I'm so {mood} for {them}!
{name} ({date}): Did you ever finish the {thing} you told me about {when}?
{name} ({date}): The {work} project is due on {day}; {name2} takes care of the {part}.
I prefer {food} over {food2}, but only when {name} cooks it.
{name2} moved from {city} to {city2} {when} because of a job at a {company}.
Please remember that I am allergic to {food} and that my {kin} doesn't eat {food2}.
{name}: How was {hobby} class? {name2}: Great, I learned how to {skill} {when}.
We deployed the {part} to {cloud} at {time} and the {metric} went down by {n} percent.
The order {code} was shipped {when}, but the {thing} inside arrived broken.
{name} is a {job} who lives in {city} and spends weekends on {hobby}.
Error {code} appears whenever the {part} can't reach the {part2}; restarting helps for {n} minutes.
{name}: I've been feeling {mood} since {when}. {hobby} helps me to calm down.
Why did {name} sell the {thing}? It was a gift from a {kin} in {city}.
After {n} years as a {job}, {name2} opened a small {company} near the {place}.
{name}: Here is a picture of my {pet} sleeping on the {thing}. Isn't it {adjective}?
The meeting about {work} is moved to {day} at {time}; bring the {thing} and {n} copies of the {paper}.
My favourite book is about a {job} who sails to {city} and falls in love with a {job2}.
{name}: We adopted a {adjective} {pet} from the shelter in {city2} {when}. {name2}: What's it called?
Set the {metric} limit of the {part} to {n} and write the result into a {paper}.
{name} wants to {skill} better, so {name2} gave lessons every {day} evening.
The {adjective} {thing} costs {n} euros in {city}, twice as much as in {city2}.
If {name} calls about the {paper}, say that the {kin} of {name2} has signed it.
{name}: Thanks for the {food}! My {kin} loved it, especially with {food2}.
Our {company} lost the {work} contract, though the {paper} was {adjective} and cheap.
{name}: I broke my {body} while {hobby2} at the {place}, the doctor says {n} weeks of rest.
Can you recommend a {adjective} restaurant in {city} with {food}? {name2} is visiting {when}.
The {job} explained that {work} and {hobby} both need patience, money and luck.
{name} painted the {place} for the {job2}'s birthday; it now hangs above the {thing}.
For {work} we use {cloud}, the {part}, and a {adjective} script that sends the {paper} every {day}.
"""

_SLOTS = {
    "name": "Ana Bruno Chen Dilara Emeka Freya Goran Hana Imran Jonas Keiko Lucia Marek Nadia Owen Priya Ravi Sofia",
    "kin": "sister brother mother father cousin aunt uncle grandmother daughter son neighbour friend wife boss",
    "place": "lake|beach|museum|old harbour|national park|library|climbing hall|market|forest|concert|church",
    "when": "yesterday|last week|two months ago|in March|on Friday|last summer|in 2019|the day before|tomorrow",
    "did": "swam|played cards|talked|danced|fixed the boat|picked mushrooms|watched birds|sang|ran|took photographs",
    "did2": "won|bought|built|lost|sold|designed|found|broke|repaired|ordered|published|inherited",
    "thing": "guitar|sofa|bicycle|camera|novel|violin|lamp|kitchen table|telescope|sewing machine|car|map|tent",
    "mood": "happy|sad|proud|anxious|tired|excited|lonely|grateful|angry|hopeful|stressed|relieved",
    "them": "her him them us",
    "date": "3 May 2021|12:40 pm on 7 June, 2022|2024-02-11|1 January 2020|9 October 1998|18 August 2023",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "work": "bridge|tax|marketing|charity|translation|research|school|solar power|website|harvest|theatre|vaccine",
    "part": "database|login page|scheduler|search index|message queue|payment service|backup|firewall|cache|gateway",
    "food": "noodles|peanut butter|grilled fish|lentil soup|cheese|pancakes|strawberries|dumplings|tofu|olives|coffee",
    "city": "Lisbon|Nairobi|Osaka|Oslo|Lima|Toronto|Mumbai|Cairo|Prague|Seattle|Hanoi|Melbourne|Warsaw|Bogota",
    "company": "bakery|bank|start-up|hospital|bookshop|law firm|garage|dance studio|farm|insurance company|newspaper",
    "hobby": "yoga|pottery|chess|painting|gardening|photography|karate|knitting|astronomy|baking|poetry|hiking",
    "hobby2": "skiing|skating|climbing|cycling|surfing|boxing|riding|jogging|dancing|diving",
    "skill": "weld|swim|bake bread|write songs|speak Turkish|juggle|draw faces|drive a truck|play the flute|code",
    "cloud": "Kubernetes|a virtual machine|the staging cluster|a Raspberry Pi|the mainframe|Linux servers",
    "time": "9:30|noon|14:05|midnight|7 pm|quarter past eight",
    "metric": "latency|error rate|memory|cost|disk usage|number of requests|temperature|weight|price|score",
    "n": "2 3 5 7 12 18 25 40 64 90 150 365 1000",
    "code": "E4021 INV-7731 0x80070057 ZX-81 KB4474419 HTTP-503 A113 TRK99817",
    "job": "nurse|carpenter|pilot|teacher|lawyer|fisherman|programmer|actress|sculptor|biologist|chef|soldier|judge",
    "pet": "kitten dog parrot turtle rabbit hamster horse lizard goldfish puppy",
    "adjective": "tiny|huge|beautiful|quiet|expensive|blue|old-fashioned|spicy|modern|friendly|red|strange|heavy",
    "paper": "report|invoice|contract|letter|passport|spreadsheet|recipe|certificate|manual|survey|diary",
    "body": "arm leg wrist ankle shoulder finger knee nose",
}
_CHOICES = {slot: text.split("|") if "|" in text else text.split() for slot, text in _SLOTS.items()}
_SLOT = re.compile(r"\{(\w+)\}")
_TIMES = frozenset({"date", "day", "n", "time", "when"})


def sentences(count: int = 200, seed: int = 0, words: Sequence[str] = ()) -> Iterator[str]:
    """The same `count` sentences for the same arguments; `words` take the place of everything but numbers and times."""
    choose = random.Random(seed)
    templates = _TEMPLATES.strip().splitlines()

    def fill(slot: re.Match[str]) -> str:
        name = slot[1] if slot[1] in _CHOICES else slot[1].rstrip("2")
        return choose.choice(words if words and name not in _TIMES else _CHOICES[name])

    for number in range(count):
        yield _SLOT.sub(fill, templates[number % len(templates)])

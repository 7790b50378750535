"""Chinese names in a text: people by surname, 小 and 老, places, firms and institutions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from hindsight_server.domain.naming.words import HAN_COMPOUND_SURNAMES, HAN_PLACES, simplified
from hindsight_server.domain.speakers import SURNAMES

_HAN = "\u4e00-\u9fff"
_NOT_GIVEN = (
    "的了是在有和就不都也很到说要去你会着没看好过给跟与把被让吗呢吧啊天年月日号点个们这那什么怎先后上下里外前时候家人"
    "們說會過給與讓嗎號點個這麼後裡時來"
    "买買卖賣写寫教讲講做开開住吃喝听聽带帶拿送请請问問答打画畫唱跑走坐站睡订訂修换換负負管搬租刚剛还還从從对對为為很最"
    "再才每应應考找帮幫陪约約收交付推拒提报報参參觉覺拍病离離退接寄养養骑騎停撞掉丢丟忘笑哭骂罵学學爱愛想用正已"
)
# What may stand before a name, and what may follow one: verbs, adverbs, particles.
_BEFORE = (
    r"(?:(?<=^)|(?<=[，。、！？；：\s“”（(「《和跟与與叫给給找问問见見让讓请請把被对對向由为為陪帮幫约約是])"
    r"|(?<=[遇碰见找]到)|(?<=感谢|认识|联系|采访|拜访|想念))"
)
_AFTER = (
    "说說去来來在是的和跟与與也有要想会會喜告今昨明前下上这這那先女老经經总總教写寫做买買卖賣开開住爱愛吃喝看听聽学學用带帶"
    "拿送回请請问問答打画畫唱跑走坐站睡起订訂修改换換负負管搬租正刚剛已就还還又都不没沒被把给給让讓从從到对對为為很最再"
    "才只每常总應应該该可能决決建考得过過找帮幫陪约約见見发發收交付签簽夸誇催推拒同提报報主参參加设設计計认認觉覺练練拍演讲講"
    "当當做成病休请出入离離辞辭退接取寄养養种種种養骑騎游爬登飞飛停撞掉丢丟忘记記笑哭骂罵生昨周晚早"
    "砸挖指派占赢輸输赶借追抓扔剪煮炒钓抱背挑拉敲拆装洗扫擦贴翻读念抄算挂捡选试批审查核劝罚升降调转留嫁娶胖瘦忙累饿怕"
    "恨急信猜懂敢肯愿需能像姓属缺少多又曾将"
)
_ENDS = rf"(?=[{_AFTER}]|[^{_HAN}]|$)"
_TITLE = (
    "先生|女士|小姐|老师|老師|教授|医生|醫生|博士|经理|經理|主任|同学|同學|师傅|師傅|律师|律師|总监|總監|太太|夫人|阿姨|教练|教練"
    "|叔叔|大爷|大爺|大妈|大媽|大叔|奶奶|爷爷|爺爺|护士|護士|校长|校長|院长|院長|厂长|廠長|书记|書記|部长|部長|科长|科長|局长"
    "|局長|处长|處長|队长|隊長|店长|店長|班长|班長|组长|組長|馆长|館長|船长|船長|机长|機長|村长|村長|镇长|鎮長|市长|市長|董事长|董事長"
    "|导师|導師|会计|會計|大夫|警官|记者|記者|编辑|編輯|导游|導遊|秘书|秘書|助理|老板|老闆|法官|工程师|工程師|设计师|設計師|厨师|廚師"
    "|董|姨|叔|婶|嬸|嫂|总|總|哥|姐"
)
_TRADITIONAL_SURNAMES = (
    "劉吳呂喬嚴囌孫宮寧嶽張慼楊樑淩湯溫瀋甦甯畢盧硃竇範紀羅聶荊莊華萬葉"
    "蔣蕭薑藍蘇衚衛許謝譚賀賈賴趙週遊邊鄒鄧鄭錢鍾鐘閻關陳陸鞦韋韓項顧餘馬馮駱鬍魯鮑黃齊龍龐龔"
)
_ALL_SURNAMES = "".join(sorted({*SURNAMES, *_TRADITIONAL_SURNAMES}))
_COMPOUND = "|".join(sorted({*HAN_COMPOUND_SURNAMES, "歐陽", "司馬", "諸葛", "東方", "長孫", "尉遲"}))
_PERSON = re.compile(
    rf"{_BEFORE}(?:"
    rf"(?P<titled>(?:{_COMPOUND}|[{_ALL_SURNAMES}])(?:{_TITLE})){_ENDS}"
    rf"|(?P<full>(?:{_COMPOUND}|[{_ALL_SURNAMES}])[{_HAN}]{{1,2}}?)(?:{_TITLE}){_ENDS}"
    rf"|(?P<called>[小老][{_ALL_SURNAMES}](?![{_ALL_SURNAMES}人民年])|[小老阿][{_HAN}]{_ENDS})"
    rf"|(?P<bare>(?:{_COMPOUND}|[{_ALL_SURNAMES}])[^\W\d_a-zA-Z{_NOT_GIVEN}]{{1,2}}){_ENDS}"
    rf")"
)
# Ordinary words that look like a name.
_LIKE_PERSONS = """
高兴 高铁 高考 高中 高速 高级 高度 白天 白色 白菜 白酒 方便 方案 方法 方向 方面 马上 马路 周一 周二 周三 周四 周五
周六 周日 周末 周年 周围 周边 周期 金额 金融 金属 曾经 何时 何况 何必 常常 常见 常用 温度 温泉 温柔 任务 任何 任意
范围 安排 安全 安装 安静 安心 余额 余下 成本 石头 江边 江南 江苏 江西 黄色 黄金 黄山 黄瓜 蓝色 夏天 夏季 秋天 秋季
宋体 唐诗 唐朝 毛病 毛衣 毛巾 雷雨 雷达 贺卡 钱包 钱款 严重 严格 严肃 华东 华南 华北 华为 华西 华中 陶瓷 云南 苏州
鲍鱼 史上 毕业 毕竟 康复 康健 顾客 顾问 熊猫 纪念 纪录 舒服 舒适 祝福 祝贺 祝你 祝大 董事 季度 季节 钟头 钟点 骆驼
田野 田径 胡同 胡说 胡子 凌晨 万一 万元 莫非 房间 房子 房租 房东 房产 洪水 陆续 陆地 段落 宁可 宁愿 武器 武术 符合
符号 景色 景点 叶子 黎明 卓越 池塘 牛奶 牛肉 牛仔 边上 边界 程序 程度 项目 尤其 施工 施行 金牌 方式 孔雀 罗列 马来
文件 汤圆 柏油 章节 章程 戴上 杜绝 梁上 江湖 林业 林区 郭外 于是 关于 关系 关键 关注 关门 关闭 连续 尚未
尚且 龙虾 龙头 景区 甘蔗 赖床 温馨 燕子 燕窝 桑树 柴油 庄园 乔木 小时 小心 小孩 小学 小区 小说 小组 小吃 小狗 小猫
小米 小型 小路 小河 小镇 小雨 小雪 小麦 小声 小腿 小费 小票 小店 小车 老师 老板 老人 老家 老虎 老婆 老公 老鼠 老是
老外 老式 老旧 老早 老师 老年 阿姨 阿里 于今 明天 万分 时间 安慰 路上 尹始 谢谢 谢你 谢过 许多 许久 何苦 向来 沈阳
"""
_NO_PERSON = frozenset(_LIKE_PERSONS.split())
_INSTITUTION = (
    "有限公司|公司|集团|集團|医院|醫院|大学|大學|中学|中學|小学|小學|幼儿园|银行|銀行|超市|餐厅|餐廳|酒店|机场|機場|公园|公園"
    "|图书馆|圖書館|博物馆|博物館|体育馆|花店|书店|書店|咖啡馆|研究院|研究所|科技|仓库|倉庫|工厂|工廠|学校|學校|诊所|診所"
)
_PLACE_BEFORE = rf"(?:(?<=^)|(?<=[^{_HAN}])|(?<=[在去到从從于了是和跟与與给給叫把被对對向往由为為说說住找的]))"
_ORGANISATION = re.compile(
    rf"{_PLACE_BEFORE}(?P<name>[{_HAN}]{{2,10}}?(?:{_INSTITUTION}))(?![店馆館部]|{_INSTITUTION})"
)
_FIRM = re.compile(
    "阿里巴巴|字节跳动|哔哩哔哩|拼多多|小红书|支付宝|比亚迪|腾讯|微信|华为|小米(?=手机|公司|汽车|电视)|美团|淘宝|(?<![北南东])京东(?!城)|百度"
    "|抖音|滴滴(?=出行|打车)|网易|微博|知乎|钉钉|飞书"
)
_NUMBERED = re.compile(r"(?:\d{1,6}|[一二三四五六七八九十百]{1,4})(?:号楼|號樓|号线|號線|号店|班|室|航站楼|号仓|号库)")
_NOT_IN_ORGANISATION = re.compile(r"[了是在去到从的和跟与给把被对说]|我们|他们|你们|一家|这家|那家|附近|每天")
_PLACE = re.compile(
    "((?:"
    + "|".join(sorted(HAN_PLACES, key=len, reverse=True))
    + ")(?:[东西南北中]?(?:路|街|大道|广场|大厦|饭店))?)"
    + rf"|(?<=[在去到从從])([{_HAN}]{{2,4}}?(?:市|省|县|县城|区|區|镇|鎮))"
)


@cache
def _verbs() -> frozenset[str]:
    text = (files(__package__) / "chinese_verbs.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def chinese_names(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Name, type, start and end of each."""
    taken: list[tuple[int, int]] = []
    at = 0
    while (organisation := _ORGANISATION.search(text, at)) is not None:
        at = organisation.start("name") + 1
        if not _NOT_IN_ORGANISATION.search(organisation["name"][:-2]) and not _has_verb(organisation["name"]):
            at = organisation.end("name")
            taken.append(organisation.span("name"))
            yield organisation["name"], "ORGANIZATION", *organisation.span("name")
    for firm in _FIRM.finditer(text):
        if not any(first <= firm.start() < last for first, last in taken):
            taken.append(firm.span())
            yield firm[0], "ORGANIZATION", *firm.span()
    for found in _NUMBERED.finditer(text):
        yield found[0], "IDENTIFIER", *found.span()
    for found in _PERSON.finditer(text):
        group = found.lastgroup or "bare"
        start, end = found.span(group)
        if any(first < end and start < last for first, last in taken):
            continue
        if group == "bare" and end - start > 2 and text[end - 1 : end + 1] in _verbs():
            end -= 1
        if _is_person(text[start:end], group):
            yield text[start:end], "PERSON", start, end
    for found in _PLACE.finditer(text):
        place = found[1] or found[2]
        start = found.start(1) if found[1] else found.start(2)
        if found[1] or not any(first <= start < last for first, last in taken):
            yield place, "LOCATION", start, start + len(place)


def _has_verb(name: str) -> bool:
    """Whether somebody does something there: 陈建国负责仓库 is no firm."""
    return len(name) > 4 and any(name[at : at + 2] in _verbs() for at in range(2, len(name) - 2))


def _is_person(name: str, group: str) -> bool:
    plain = simplified(name)
    if plain in _NO_PERSON or plain[:2] in _NO_PERSON or plain in HAN_PLACES:
        return False
    if group == "called":
        return plain[1] in SURNAMES or plain[0] == "阿" or plain[1] in "明红芳美丽雪华伟强军杰敏静燕玲娟霞辉鹏飞亮"
    return True

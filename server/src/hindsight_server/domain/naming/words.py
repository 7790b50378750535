"""What is known of words in names: data, read when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from hindsight_server.domain.speakers import SURNAMES

TITLES = {
    "mr": "mr", "mister": "mr", "sir": "mr", "mrs": "ms", "ms": "ms", "miss": "ms", "madam": "ms",
    "dr": "dr", "doctor": "dr", "prof": "dr", "professor": "dr",
    "captain": "role", "capt": "role", "coach": "role", "chef": "role", "detective": "role", "judge": "role",
    "lieutenant": "role", "lt": "role", "major": "role", "officer": "role", "pastor": "role", "president": "role",
    "principal": "role", "rabbi": "role", "senator": "role", "sergeant": "role", "sgt": "role", "colonel": "role",
    "general": "role",
    "commander": "role", "sheriff": "role", "inspector": "role", "deacon": "role", "bishop": "role", "imam": "role",
    "chancellor": "role", "dean": "role", "count": "mr", "countess": "ms", "lord": "mr", "lady": "ms",
    "mayor": "role", "governor": "role", "reverend": "role", "rev": "role", "nurse": "role",
}  # fmt: skip
"""Titles before a name and their class. Titles of kinship ("Uncle Bob") are part of the name."""

WRITTEN_OUT = {"doctor": "dr", "professor": "prof", "mister": "mr", "capt": "captain", "sgt": "sergeant",
               "lt": "lieutenant", "rev": "reverend", "corporation": "corp", "limited": "ltd", "company": "co",
               "incorporated": "inc", "saint": "st", "junior": "jr", "senior": "sr", "mount": "mt", "fort": "ft",
               "and": "&", "centre": "center", "theatre": "theater", "boulevard": "blvd", "avenue": "ave",
               "attorney": "atty", "general": "gen", "colonel": "col"}  # fmt: skip
"""Two writings of one word."""

SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"])
PARTICLES = frozenset(["van", "von", "de", "der", "den", "la", "le", "del", "di", "da", "dos", "bin", "al", "el", "of"])

LEGAL_FORMS = frozenset(
    ["inc", "corp", "ltd", "llc", "gmbh", "co", "plc", "ag", "bv", "kg", "oy", "llp", "lp", "sa", "srl", "sarl", "spa",
     "nv", "ab", "as", "aps", "pty", "pte", "kk", "ug", "ohg", "oyj", "pllc", "se", "sas", "bhd"]
)  # fmt: skip
HAN_LEGAL_FORMS = ("股份有限公司", "有限公司", "集团公司", "公司", "集团")

ABBREVIATIONS = {
    "usa": "united states", "u.s.": "united states", "u.s.a.": "united states",
    "united states of america": "united states", "uk": "united kingdom", "u.k.": "united kingdom",
    "nyc": "new york city", "uae": "united arab emirates", "u.a.e.": "united arab emirates",
    "l.a.": "los angeles", "sf": "san francisco", "washington, d.c.": "washington dc", "n.z.": "new zealand",
    "bombay": "mumbai", "peking": "beijing", "saigon": "ho chi minh city", "calcutta": "kolkata", "madras": "chennai",
    "bangalore": "bengaluru", "rangoon": "yangon", "kiev": "kyiv", "constantinople": "istanbul", "canton": "guangzhou",
    "münchen": "munich", "köln": "cologne", "wien": "vienna", "nürnberg": "nuremberg", "praha": "prague",
    "roma": "rome", "firenze": "florence", "venezia": "venice", "milano": "milan", "napoli": "naples",
    "torino": "turin", "genova": "genoa", "lisboa": "lisbon", "sevilla": "seville", "moskva": "moscow",
    "warszawa": "warsaw", "kraków": "krakow", "cracow": "krakow", "københavn": "copenhagen", "göteborg": "gothenburg",
    "bruxelles": "brussels", "antwerpen": "antwerp", "genf": "geneva", "genève": "geneva", "den haag": "the hague",
    "bucurești": "bucharest", "beograd": "belgrade", "athina": "athens", "deutschland": "germany", "españa": "spain",
    "österreich": "austria", "italia": "italy", "brasil": "brazil", "holland": "netherlands", "burma": "myanmar",
    "the netherlands": "netherlands", "czechia": "czech republic", "türkiye": "turkey", "ivory coast": "côte d'ivoire",
    "vs code": "visual studio code", "vscode": "visual studio code", "postgres": "postgresql", "k8s": "kubernetes",
    "aws": "amazon web services", "gcp": "google cloud platform", "mongo": "mongodb", "ms teams": "microsoft teams",
    "ms word": "microsoft word", "ms excel": "microsoft excel", "golang": "go language", "msft": "microsoft",
    "un": "united nations", "u.n.": "united nations", "eu": "european union", "e.u.": "european union",
}  # fmt: skip

HAN_PLACES = {
    "北京": "beijing", "上海": "shanghai", "广州": "guangzhou", "深圳": "shenzhen", "杭州": "hangzhou",
    "南京": "nanjing", "成都": "chengdu", "重庆": "chongqing", "武汉": "wuhan", "西安": "xian",
    "苏州": "suzhou", "天津": "tianjin",
    "青岛": "qingdao", "厦门": "xiamen", "长沙": "changsha", "昆明": "kunming", "大连": "dalian", "香港": "hong kong",
    "澳门": "macau", "台北": "taipei", "东京": "tokyo", "大阪": "osaka", "首尔": "seoul", "纽约": "new york",
    "伦敦": "london", "巴黎": "paris", "新加坡": "singapore", "中国": "china", "美国": "united states", "日本": "japan",
    "韩国": "south korea", "英国": "united kingdom", "法国": "france", "德国": "germany", "加拿大": "canada",
    "澳大利亚": "australia", "云南": "yunnan", "四川": "sichuan", "广东": "guangdong", "浙江": "zhejiang",
    "江苏": "jiangsu", "西藏": "tibet", "新疆": "xinjiang", "海南": "hainan",
    "哈尔滨": "harbin", "沈阳": "shenyang", "济南": "jinan", "郑州": "zhengzhou", "福州": "fuzhou", "宁波": "ningbo",
    "无锡": "wuxi", "合肥": "hefei", "南昌": "nanchang", "贵阳": "guiyang", "兰州": "lanzhou", "石家庄": "shijiazhuang",
    "珠海": "zhuhai", "佛山": "foshan", "东莞": "dongguan", "桂林": "guilin", "三亚": "sanya", "拉萨": "lhasa",
    "温州": "wenzhou", "莫斯科": "moscow", "圣彼得堡": "saint petersburg", "柏林": "berlin", "慕尼黑": "munich",
    "罗马": "rome", "罗马尼亚": "romania", "米兰": "milan", "马德里": "madrid", "巴塞罗那": "barcelona",
    "悉尼": "sydney", "墨尔本": "melbourne", "洛杉矶": "los angeles", "旧金山": "san francisco", "芝加哥": "chicago",
    "波士顿": "boston", "西雅图": "seattle", "多伦多": "toronto", "温哥华": "vancouver", "曼谷": "bangkok",
    "河内": "hanoi", "迪拜": "dubai", "孟买": "mumbai", "京都": "kyoto", "釜山": "busan", "吉隆坡": "kuala lumpur",
    "维也纳": "vienna", "阿姆斯特丹": "amsterdam", "苏黎世": "zurich", "日内瓦": "geneva", "伊斯坦布尔": "istanbul",
    "俄罗斯": "russia", "意大利": "italy", "西班牙": "spain", "泰国": "thailand", "越南": "vietnam", "印度": "india",
    "印度尼西亚": "indonesia", "马来西亚": "malaysia", "菲律宾": "philippines", "巴西": "brazil", "埃及": "egypt",
    "土耳其": "turkey", "瑞士": "switzerland", "瑞典": "sweden", "荷兰": "netherlands", "新西兰": "new zealand",
}  # fmt: skip
"""Chinese names of places that English names otherwise, or alike."""

# Words that follow a first name without being a last name.
_NO_FAMILY = """
account accounts act agreement airport ale app army avenue award bank bar bay beach bible bistro blog book bridge
building bus cafe campus canyon care card castle center centre channel checking church cinema city clinic cloud
club coast code coffee college company conference corner council county course court creek credit cup day days
department desert design diner drive estate falls family farm festival field file film foundation game garden
gardens grill group gym hall harbor health heights high highway hill hills hospital hotel house inn insurance
institute island islands job kitchen lab labs lake lane law library line loan mall market marketing marathon media
meeting memorial monument mountain mountains movie museum music network news office online paper park pass pay
peak pharmacy phone pizza plan plaza plus podcast point police pool prize pro program project protocol pub railway
range ranch report research reserve resort restaurant review ridge river road room savings school science series
server service services shop show song space springs square stadium state station store street studio studios
summit support system tavern team tech technologies tennis theater theatre times tool tools tour tower town trail
trip trust university valley video village vineyard visa wars website week wine winery world yoga zoo
agency airlines analytics apparel arena arms bakery brewery butchers capital cathedral cellar chapel cloister
consulting cottage dam depot dock docks electric energy ferry foods fountain fund gallery garage gate grove holdings
hostel industries junction kiosk laundry lodge logistics mansion mill mills mine mines monastery motors nursery
orchard palace parade partners pier pictures place playground port quarry quay records reef residence residences
rink robotics roundabout salon school shipping software solutions stables systems temple terminal terrace toys tunnel
ventures viaduct villa wharf windmill woods workshop yard
texas california florida carolina virginia dakota england france germany italy spain china japan
"""
NO_FAMILY = frozenset(_NO_FAMILY.split())

# Words that tell one thing from another of the same kind: never left out of a name.
_QUALIFIERS = """
north south east west northern southern eastern western upper lower middle inner outer old new young elder younger
junior senior big small little great grand first second third fourth fifth last one two three four five six seven
eight nine ten red blue green yellow orange purple pink black white grey gray brown golden silver left right front
back early late alpha beta gamma delta electric digital private public
"""
QUALIFIERS = frozenset(_QUALIFIERS.split())

# First or last names that, alone, more often are a place, a firm or a thing.
_NOT_ALONE = """
adelaide alexandria amazon apple asia august austin brooklyn cambridge carolina chad chase charlotte chelsea
china christian cleveland columbia cuba dallas dakota dell denver disney eden ericsson florence ford france
georgia hilton holland houston india indiana ireland israel jackson jordan kenya kent kobe lancaster lincoln london
lourdes lyon madison marley milan montana moscow nintendo orlando oxford paris phoenix porsche raleigh rome
russia sage salem salvador santiago savannah scotland sofia sydney tesla tiffany turkey troy valencia vatican
verona victoria vienna virginia wales walmart washington wellington york zurich google meta oracle sony
"""
NOT_ALONE = frozenset(_NOT_ALONE.split())

# Names that end in an s after an apostrophe by themselves.
_OWN_APOSTROPHE = """
mcdonald macy wendy levi lowe kohl denny domino lay hershey kellogg christie sotheby sainsbury harrod trader joe
applebee arby dunkin hardee jimmy john lord papa sam victoria barclay lloyd moody
"""
OWN_APOSTROPHE = frozenset(_OWN_APOSTROPHE.split())

_REGIONS = """
alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|georgia|hawaii|idaho|illinois|indiana
|iowa|kansas|kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|montana|nebraska
|nevada|new hampshire|new jersey|new mexico|new york|north carolina|north dakota|ohio|oklahoma|oregon|pennsylvania
|rhode island|south carolina|south dakota|tennessee|texas|utah|vermont|virginia|washington|west virginia|wisconsin
|wyoming|ontario|quebec|alberta|manitoba|saskatchewan|nova scotia|british columbia|queensland|tasmania|new south wales
|england|scotland|wales|ireland|france|germany|spain|italy|portugal|austria|switzerland|poland|japan|china|india
|brazil|mexico|canada|australia|new zealand|south africa|usa|uk|kansas|bavaria|kent|essex|sussex|cornwall|devon
"""
REGIONS = frozenset(part.strip() for part in _REGIONS.replace("\n", " ").split("|"))
"""What stands behind the comma in "Salem, Oregon"."""

_COMPOUND_SURNAMES = "欧阳 司马 上官 诸葛 东方 皇甫 尉迟 公孙 慕容 令狐 司徒 夏侯 宇文 长孙 轩辕 端木 南宫 独孤"
HAN_COMPOUND_SURNAMES = frozenset(_COMPOUND_SURNAMES.split())
HAN_TITLES = {
    "先生": "m", "女士": "f", "小姐": "f", "太太": "f", "老师": "", "教授": "", "医生": "", "博士": "", "经理": "",
    "主任": "", "同学": "", "师傅": "", "律师": "", "总监": "", "总": "", "哥": "m", "姐": "f",
    "阿姨": "f", "教练": "", "叔叔": "m", "大爷": "m", "大妈": "f", "大叔": "m", "奶奶": "f", "爷爷": "m", "护士": "",
    "校长": "", "院长": "", "厂长": "",
    "书记": "", "部长": "", "科长": "", "局长": "", "处长": "", "队长": "", "店长": "",
    "班长": "", "组长": "", "导师": "", "会计": "", "董": "", "姨": "f", "叔": "m", "婶": "f", "嫂": "f", "大夫": "",
    "警官": "", "记者": "", "编辑": "", "导游": "", "秘书": "", "助理": "", "老板": "",
    "夫人": "f", "法官": "", "馆长": "",
    "船长": "", "机长": "", "村长": "", "镇长": "", "市长": "", "董事长": "", "工程师": "", "设计师": "", "厨师": "",
}  # fmt: skip
"""Words behind a Chinese name, with the gender that they tell."""
HAN_NAME_ENDS = frozenset("国海山江河洲湖书")
"""Of those below, the ones that end a given name of two characters: 陈建国."""
HAN_NO_NAME_ENDS = frozenset("市省县区镇村路街校院司店国洲州湖江河山海岛站港湾厅局部所社团队会节课书报")

_SURNAME_SYLLABLES = {"曾": "zeng", "单": "shan", "解": "xie", "仇": "qiu", "查": "zha", "盖": "ge", "乐": "yue",
                      "区": "ou", "翟": "zhai", "覃": "qin", "朴": "piao", "尉迟": "yuchi", "万俟": "moqi"}  # fmt: skip


@cache
def given_names() -> dict[str, str]:
    """Common given names with ``f``, ``m`` or ``both``; nicknames are in `nicknames`."""
    found: dict[str, str] = {}
    section = "both"
    for line in _lines("given_names.txt"):
        if line.startswith("["):
            section = line.strip("[]")
            continue
        for name in line.split():
            found[name] = section if found.get(name, section) == section else "both"
    return found


@cache
def nicknames() -> dict[str, frozenset[str]]:
    """For each nickname, the names that it may be short for."""
    pairs = (line.split(":") for line in _lines("nicknames.txt"))
    return {short: frozenset(full.split()) for short, full in pairs}


def gender_of(given: str) -> str:
    """``m`` or ``f`` where a given name tells, else an empty text."""
    told = given_names().get(given)
    if told is None and (meant := nicknames().get(given)):
        genders = {given_names().get(name, "both") for name in meant}
        told = genders.pop() if len(genders) == 1 else "both"
    return told if told in ("m", "f") else ""


def is_given(word: str) -> bool:
    return word in given_names() or word in nicknames()


@cache
def _syllables() -> dict[str, str]:
    found: dict[str, str] = {}
    for line in _lines("pinyin.txt"):
        syllable, signs = line.split()
        found.update(dict.fromkeys(signs, syllable.replace("v", "u")))
    return found


def pinyin(text: str, *, surname: bool = False) -> str | None:
    """Mandarin syllables without tones, run together; None when a character is not in the table.

    Example:
        >>> pinyin("小明")
        'xiaoming'
    """
    if surname and text in _SURNAME_SYLLABLES:
        return _SURNAME_SYLLABLES[text]
    parts = [_syllables().get(sign) for sign in text]
    return None if None in parts or not parts else "".join(part for part in parts if part)


@cache
def _traditional() -> dict[str, str]:
    pairs = [pair for line in _lines("traditional.txt") for pair in line.split()]
    return {sign: pair[0] for pair in pairs for sign in pair[1:]}


@cache
def _simplifying() -> dict[int, str]:
    return {ord(sign): plain for sign, plain in _traditional().items()}


@cache
def surname_sounds() -> frozenset[str]:
    """How the Chinese surnames are spelt in pinyin."""
    found = (pinyin(name, surname=True) for name in (*SURNAMES, *HAN_COMPOUND_SURNAMES))
    return frozenset(sound for sound in found if sound)


def simplified(text: str) -> str:
    """Chinese text in simplified characters, sign by sign.

    Example:
        >>> simplified("劉雅婷")
        '刘雅婷'
    """
    return text.translate(_simplifying())


def _lines(name: str) -> list[str]:
    text = (files(__package__) / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]

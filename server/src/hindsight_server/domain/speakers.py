"""Which label before a colon is a speaker."""

from __future__ import annotations

import re

ROLES: dict[str, str] = {
    "user": "user", "human": "user", "customer": "user", "client": "user", "用户": "user", "客户": "user",
    "assistant": "assistant", "ai": "assistant", "agent": "assistant", "bot": "assistant", "chatbot": "assistant",
    "助手": "assistant", "助理": "assistant", "机器人": "assistant", "智能体": "assistant",
    "system": "system", "developer": "system", "系统": "system",
    "tool": "tool", "function": "tool", "工具": "tool",
}  # fmt: skip
"""Speakers that are a role, and that role."""

_HEADINGS = """
note notes nb todo todos tip tips warning caution attention info fyi ps pps summary overview abstract subject
topic title heading re fw fwd cc bcc from to date time day deadline due when where who what why how which
question answer q a example examples eg ie update updates reminder remember plan plans goal goals result
results step steps error errors exception debug trace log logs status state issue issues bug fix feature
features task tasks action actions decision decisions context background important fact facts name address
phone email mail url link links http https ftp file files path price cost total amount location place list
menu agenda news chapter section part page figure table version source sources reference references author
authors editor key keys value id type category tags tag pros cons advantages disadvantages conclusion
introduction ingredients instructions requirements options option input output usage description details
reason reasons solution problem problems however also but and or so then first second third finally next later
today tomorrow yesterday monday tuesday wednesday thursday friday saturday sunday meeting birthday hobbies
interests favorite favourite skills experience education contact password username sure yes no ok okay thanks
please disclaimer image photo video audio attachment quote translation hint objective scope speaker's
"""
_HEADINGS_ZH = """
注意 备注 说明 时间 地点 日期 标题 主题 总结 摘要 问题 答案 回答 例如 比如 提醒 待办 结论 原因 目标 计划 步骤
结果 状态 错误 警告 名称 姓名 电话 邮箱 地址 价格 金额 链接 网址 来源 内容 描述 类型 编号 版本 任务 背景 要求
建议 方案 优点 缺点 另外 首先 其次 最后 今天 明天 昨天 提示 附件 图片 会议
"""
_LABELS = frozenset(_HEADINGS.split())
_LABELS_ZH = frozenset(_HEADINGS_ZH.split())
SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章苏潘葛范彭郎鲁韦马苗方"
    "俞任袁柳鲍史唐薛雷贺倪汤滕殷罗毕郝安常傅卞齐康伍余顾孟黄穆萧尹姚邵汪毛狄戴宋庞熊纪舒屈项祝董梁杜阮蓝"
    "季贾江郭梅林钟徐邱骆高夏蔡田樊胡凌霍万柯卢莫房丁邓洪石崔龚程邢裴陆翁甄段侯秋仲宫宁仇甘武符刘景詹龙叶"
    "黎白赖卓池乔谭申冉桑牛边燕尚温庄晏柴瞿阎聂曾关荆游盛岳"
)
"""Chinese surnames of one character."""

_HAN_NAME = re.compile(r"[\u4e00-\u9fff·]{2,5}")
_CAPITAL_WORD = re.compile(r"(?:[^\W\d_a-z][^\W\d_]*\.?|[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)+)")
_HANDLE = re.compile(r"@?[^\W\d_][\w.-]{0,30}")


def is_speaker(label: str) -> bool:
    """A label that names a speaker wherever it stands: a role, or one to four capitalised words that are no heading."""
    folded = label.casefold()
    if folded in ROLES:
        return True
    if _HAN_NAME.fullmatch(label):
        return label not in _LABELS_ZH and (label[0] in SURNAMES or label[0] in "老小阿")
    words = label.split()
    if not 1 <= len(words) <= 4 or not _LABELS.isdisjoint(folded.replace(".", "").split()):
        return False
    first, *others = words
    return bool(_CAPITAL_WORD.fullmatch(first)) and all(w.isdigit() or _CAPITAL_WORD.fullmatch(w) for w in others)


def may_be_speaker(label: str) -> bool:
    """A label that names a speaker in what is otherwise a dialogue: one word, or a Chinese name of any kind."""
    if _HAN_NAME.fullmatch(label):
        return label not in _LABELS_ZH
    return bool(_HANDLE.fullmatch(label)) and label.casefold() not in _LABELS

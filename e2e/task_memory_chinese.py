"""Tasks of an agent and questions about them, in Chinese; made up for these tests."""

# ruff: noqa: E501 - questions and answers are easier to compare on one line

from __future__ import annotations

ZONE = "Asia/Shanghai"
#: A Wednesday, in the user's zone.
NOW = "2026-03-18T09:30:00"

#: As in the English module.
TASKS: dict[str, tuple[str, str, str, list[str]]] = {
    "flask": (
        "部署",
        "Flask商城",
        "2026-02-02T10:00:00",
        [
            "user: 把商城部署到新服务器上",
            "tool!: 启动失败，端口8000被nginx占用，PID 1234",
            "assistant: 端口冲突，建议gunicorn改用8001端口",
            "user: 网站能访问了，搞定",
        ],
    ),
    "proxy": (
        "修改",
        "反向代理",
        "2026-02-09T15:00:00",
        [
            "user: 按商城定下来的端口改一下代理",
            "tool: nginx上游已指向127.0.0.1:8001，配置检查通过，变更单CHG-5521",
            "user: 好了，谢谢",
        ],
    ),
    "redis": (
        "选择",
        "会话缓存",
        "2026-02-03T11:00:00",
        [
            "user: 会话要不要放到Redis里？",
            "assistant: Redis需要再加一台机器，放在Postgres里每次请求多3毫秒",
            "user: 那我们决定不用Redis，继续用Postgres，工单ARCH-77",
        ],
    ),
    "sessions": (
        "迁移",
        "会话表",
        "2026-02-12T09:00:00",
        [
            "assistant: 按ARCH-77的决定在Postgres里建会话表",
            "tool: 迁移0042_web_sessions已执行，用时1.8秒，索引idx_sess_exp_k9已建立",
            "user: 完成了",
        ],
    ),
    "cert": (
        "续签",
        "证书",
        "2026-02-04T08:00:00",
        [
            "tool!: 证书续签失败，缺少_acme-challenge的DNS记录",
            "assistant: 加一条指向acme-dns的CNAME以后就能自动续签，令牌名acme-tok-x71q",
            "user: 我去问域名组",
        ],
    ),
    "dns": (
        "添加",
        "DNS记录",
        "2026-02-16T13:00:00",
        [
            "user: 域名组给了写权限，把acme-dns的CNAME加上吧",
            "tool: 记录_acme-challenge已创建，区域序列号2026021603，证书续签通过",
            "user: 搞定",
        ],
    ),
    "refund": (
        "说明",
        "退款流程",
        "2026-02-05T16:00:00",
        [
            "user: 订单SO-88213的顾客要退款",
            "assistant: 第一步打开订单，第二步标记商品已退回，第三步选择原路退款，五天到账",
            "user: 退款已经完成",
        ],
    ),
    "dispute": (
        "处理",
        "银行争议",
        "2026-02-19T10:00:00",
        [
            "user: SO-88213那位顾客的银行提出了争议，编号DSP-0091-QX",
            "tool: 已上传退款凭证，银行判我方胜诉并结案",
            "user: 问题解决了",
        ],
    ),
    "csv": (
        "导入",
        "供应商价目表",
        "2026-02-06T09:30:00",
        [
            "tool!: 第214行解码失败，诺林公司的文件是latin-1编码",
            "assistant: 用latin-1读取应该能导入全部1930行",
            "user: 下周再弄，先这样吧",
        ],
    ),
    "prices": (
        "重跑",
        "价格导入",
        "2026-02-13T09:30:00",
        [
            "assistant: 重新导入诺林的价目表，这次按latin-1读取",
            "tool: 已导入1930行，批次NRL-IMP-20b",
            "user: 完成了，很好",
        ],
    ),
    "leak": (
        "排查",
        "内存泄漏",
        "2026-02-07T14:00:00",
        [
            "tool: 堆转储heap-7fa3.hprof显示图片缓存ImageCache占了2GB缩略图",
            "assistant: 这个缓存没有上限，把ImageCache限制到256项就不会再增长",
            "user: 记下来，下个版本做",
        ],
    ),
    "release": (
        "发布",
        "5.8版本",
        "2026-02-20T17:00:00",
        ["tool: 版本5.8.0已上线，ImageCache限制为256项，运行24小时内存稳定在400MB", "user: 发布成功"],
    ),
    "flaky": (
        "稳定",
        "结算测试",
        "2026-02-08T10:00:00",
        [
            "tool!: test_checkout_total九次里失败一次，时钟跨过了UTC午夜",
            "assistant: 用frozen_noon夹具把时间冻结就稳定了",
            "user: 下次整理测试的时候再改",
        ],
    ),
    "suite": (
        "整理",
        "测试集",
        "2026-02-21T11:00:00",
        ["tool: 14个测试改用frozen_noon，结算测试500次全部通过，提交e81c0d4", "user: 好了"],
    ),
    "backup": (
        "检查",
        "夜间备份",
        "2026-02-10T07:00:00",
        [
            "tool!: 凌晨两点的备份失败，vol-b3磁盘空间不足",
            "assistant: 删除14天以前的备份可以腾出80GB，规则草案keep-14",
            "user: 我得先问法务",
        ],
    ),
    "retention": (
        "启用",
        "保留规则",
        "2026-02-24T07:30:00",
        ["user: 法务同意备份只保留十四天", "tool: 规则keep-14已在vol-b3生效，腾出81GB，审计记录AUD-3391", "user: 完成"],
    ),
    "flight": (
        "预订",
        "里斯本行程",
        "2026-02-11T12:00:00",
        [
            "tool: 为小玛保留了5月14日的TP 571航班，212欧元，保留码QJ7RKM",
            "assistant: 出票前需要英格审批",
            "user: 我发给她看",
        ],
    ),
    "ticket": (
        "开具",
        "机票",
        "2026-02-25T12:00:00",
        ["user: 英格批准了小玛去里斯本的行程", "tool: TP 571已出票，票号047-2281990416", "user: 谢谢，搞定了"],
    ),
    "allergy": (
        "安排",
        "团队聚餐",
        "2026-02-14T18:00:00",
        [
            "user: 记住，小欧不能吃花生，也不能吃花生油炸的东西",
            "tool: 已订绿屋餐厅3月6日九人桌，预订号CV-306",
            "user: 好了",
        ],
    ),
    "menu": (
        "确定",
        "聚餐菜单",
        "2026-02-27T18:00:00",
        ["tool: 绿屋餐厅确认用B套餐，因为小欧的缘故只用橄榄油烹调", "user: 都定好了，谢谢"],
    ),
}
for _family, _verb, _what, _number in (
    ("return", "提交", "退货申请", "RET"),
    ("report", "发送", "销售报表", "REP"),
    ("outage", "处理", "支付故障", "INC"),
    ("meeting", "整理", "供应商会议纪要", "MIN"),
    ("invoice", "支付", "快递发票", "INV"),
    ("restart", "重启", "搜索集群", "RUN"),
    ("survey", "分析", "客户问卷", "SUR"),
):
    for _index, _day in enumerate(("03-17T07:20:00", "03-13T14:00:00", "02-11T10:00:00")):
        _id = f"{_number}-{sum(map(ord, _family)) * 7 + _index * 391}"
        TASKS[f"{_family}{_index}"] = (
            _verb,
            f"{_what}{_index + 1}号",
            f"2026-{_day}",
            [f"tool: {_verb}{_what}已完成，编号{_id}", "user: 好了"],
        )

SYNONYMS = [
    ("商城上线的时候为什么起不来？", "flask"),
    ("网关现在把流量转到哪里？", "proxy"),
    ("登录状态要不要用内存数据库，当时怎么定的？", "redis"),
    ("数据库里保存登录状态的那张表是怎么建的？", "sessions"),
    ("HTTPS的凭证延期时出了什么错？", "cert"),
    ("谁允许我们改域名解析的？", "dns"),
    ("怎么把钱退给客户？", "refund"),
    ("顾客拒付那件事结局如何？", "dispute"),
    ("供货商的报价单是什么字符集？", "csv"),
    ("第二次一共录入了多少行报价？", "prices"),
    ("是什么把内存吃光了？", "leak"),
    ("新版里图像缓冲有没有封顶？", "release"),
    ("哪个用例半夜会挂？", "flaky"),
    ("付款用例现在跑得可靠吗？", "suite"),
    ("晚上的数据拷贝为什么中断了？", "backup"),
    ("律师同意数据库拷贝留多久？", "retention"),
    ("去葡萄牙的飞机要谁点头？", "flight"),
    ("小玛的机位确认付款了吗？", "ticket"),
    ("哪位同事有忌口？", "allergy"),
    ("饭店给我们上什么菜？", "menu"),
]
TIMES = [
    ("昨天提交的退货申请编号是多少？", "return0"),
    ("上周五提交的退货申请是哪个？", "return1"),
    ("上个月的退货申请编号？", "return2"),
    ("昨天发的销售报表是几号？", "report0"),
    ("3月13日的销售报表呢？", "report1"),
    ("二月份发了哪份销售报表？", "report2"),
    ("昨天支付故障的编号是什么？", "outage0"),
    ("五天前的支付故障编号？", "outage1"),
    ("2月11日的支付故障编号？", "outage2"),
    ("昨天的供应商会议纪要在哪？", "meeting0"),
    ("上周五的供应商会议纪要？", "meeting1"),
    ("五周前的供应商会议纪要？", "meeting2"),
    ("昨天付了哪张快递发票？", "invoice0"),
    ("上周付了哪张快递发票？", "invoice1"),
    ("上个月付了哪张快递发票？", "invoice2"),
    ("昨天重启搜索集群的编号？", "restart0"),
    ("5天前重启搜索集群的编号？", "restart1"),
    ("二月重启搜索集群的编号？", "restart2"),
    ("昨天分析的客户问卷编号？", "survey0"),
    ("上星期五分析的客户问卷编号？", "survey1"),
]
HOPS = [
    ("那个说端口冲突的方案后来用了没？", "proxy"),
    ("gunicorn换端口的建议最后落实到代理了吗？", "proxy"),
    ("不用Redis的决定后来执行了吗？", "sessions"),
    ("决定用Postgres存会话之后怎么样了？", "sessions"),
    ("缺的那条ACME记录最后加上了吗？", "dns"),
    ("上次失败的证书续签后来成了吗？", "dns"),
    ("SO-88213的退款后来有什么后果？", "dispute"),
    ("那位要退款的顾客后来怎么样了？", "dispute"),
    ("按latin-1读取的建议后来用上了吗？", "prices"),
    ("诺林的文件最后导入了没有？", "prices"),
    ("给ImageCache加上限的事后来上线了吗？", "release"),
    ("记下来的内存泄漏修复最后做了没？", "release"),
    ("冻结时间的办法后来采用了吗？", "suite"),
    ("午夜会失败的测试后来修好了吗？", "suite"),
    ("删除旧备份的提议最后通过了吗？", "retention"),
    ("备份空间不足那件事后来怎么处理的？", "retention"),
    ("英格最后批准机票了吗？", "ticket"),
    ("保留的里斯本航班后来出票了吗？", "ticket"),
    ("小欧过敏的事后来照顾到了吗？", "menu"),
    ("绿屋餐厅的聚餐最后怎么定的？", "menu"),
]
IDENTIFIERS = [
    ("PID 1234那个进程", "flask"), ("CHG-5521是什么", "proxy"), ("ARCH-77讲的是什么", "redis"),
    ("idx_sess_exp_k9", "sessions"), ("那个叫acme-tok-x71q的令牌", "cert"), ("序列号2026021603", "dns"),
    ("订单SO-88213", "refund"), ("DSP-0091-QX的进展", "dispute"), ("第214行的问题", "csv"), ("批次NRL-IMP-20b", "prices"),
    ("heap-7fa3.hprof", "leak"), ("版本5.8.0", "release"), ("frozen_noon是哪来的", "flaky"),
    ("提交e81c0d4", "suite"), ("规则keep-14", "backup"), ("AUD-3391", "retention"), ("保留码QJ7RKM", "flight"),
    ("票号047-2281990416", "ticket"), ("预订号CV-306", "allergy"), ("test_checkout_total", "flaky"),
]  # fmt: skip
NOISE = [
    "好的", "收到", "嗯嗯", "哦", "哈哈", "哈哈好难", "👍", "😂😂", "谢谢", "好的，谢谢！", "辛苦了", "明白了", "没问题",
    "太好了", "233333", "……", "你好", "好嘞", "行吧", "了解了，多谢",
]  # fmt: skip

"""Tasks of an agent and questions about them, in English; made up for these tests."""

# ruff: noqa: E501 - questions and answers are easier to compare on one line

from __future__ import annotations

ZONE = "America/New_York"
#: A Wednesday, in the user's zone.
NOW = "2026-03-18T09:30:00"

#: key: (action, target, when, lines). A line is "role: words"; "tool!" failed, "tool" succeeded.
TASKS: dict[str, tuple[str, str, str, list[str]]] = {
    "flask": (
        "deploy",
        "flask",
        "2026-02-02T10:00:00",
        [
            "user: Please get the Flask shop onto the new box.",
            "tool!: bind(): address already in use, port 8000 belongs to nginx (PID 1234)",
            "assistant: nginx occupies 8000. I suggest that gunicorn listens on 8001 instead.",
            "user: The site answers now, done.",
        ],
    ),
    "proxy": (
        "rewrite",
        "proxy rules",
        "2026-02-09T15:00:00",
        [
            "user: Adapt the reverse proxy to what we settled for the shop.",
            "tool: upstream shop_backend set to 127.0.0.1:8001, nginx -t successful, change CHG-5521",
            "user: Works, thanks.",
        ],
    ),
    "redis": (
        "choose",
        "session cache",
        "2026-02-03T11:00:00",
        [
            "user: Should we put sessions into Redis?",
            "assistant: Redis would need a second machine; keeping sessions in Postgres costs 3 ms a request.",
            "user: We refuse Redis then and stay with Postgres, ticket ARCH-77.",
        ],
    ),
    "sessions": (
        "migrate",
        "session table",
        "2026-02-12T09:00:00",
        [
            "assistant: Creating table web_sessions in Postgres as decided in ARCH-77.",
            "tool: migration 0042_web_sessions applied in 1.8 s, index idx_sess_exp_k9 built",
            "user: All set.",
        ],
    ),
    "cert": (
        "renew",
        "TLS certificate",
        "2026-02-04T08:00:00",
        [
            "tool!: certbot: challenge failed for shop.example.org, the DNS record of _acme-challenge is missing",
            "assistant: A CNAME to acme-dns would make renewals automatic; token name acme-tok-x71q.",
            "user: I'll ask the domain team.",
        ],
    ),
    "dns": (
        "add",
        "DNS record",
        "2026-02-16T13:00:00",
        [
            "user: The domain team gave us write access, so add the acme-dns CNAME.",
            "tool: record _acme-challenge.shop.example.org created, zone serial 2026021603",
            "user: Renewal went through, done.",
        ],
    ),
    "refund": (
        "explain",
        "refund procedure",
        "2026-02-05T16:00:00",
        [
            "user: A customer wants her money back for order SO-88213.",
            "assistant: First open the order, second mark the item as returned, third choose 'refund to card'; it takes 5 days.",
            "user: Great, that is done.",
        ],
    ),
    "dispute": (
        "answer",
        "card dispute",
        "2026-02-19T10:00:00",
        [
            "user: The bank of the customer of SO-88213 opened a dispute, reference DSP-0091-QX.",
            "tool: uploaded the refund receipt to the dispute; the bank closed it in our favour",
            "user: Solved.",
        ],
    ),
    "csv": (
        "import",
        "supplier price list",
        "2026-02-06T09:30:00",
        [
            "tool!: row 214: could not decode byte 0xe9, the list from Norling Supply is latin-1",
            "assistant: Reading it with encoding=latin-1 should import all 1,930 rows.",
            "user: Leave it for next week.",
        ],
    ),
    "prices": (
        "rerun",
        "price import",
        "2026-02-13T09:30:00",
        [
            "assistant: Running the Norling import again, this time read as latin-1.",
            "tool: 1,930 rows imported, batch NRL-IMP-20b",
            "user: Perfect, finished.",
        ],
    ),
    "leak": (
        "investigate",
        "memory leak",
        "2026-02-07T14:00:00",
        [
            "tool: heap dump heap-7fa3.hprof shows 2 GB of thumbnails kept by ImageCache",
            "assistant: The cache has no bound. Limiting ImageCache to 256 entries would stop the growth.",
            "user: Note it down for the next release.",
        ],
    ),
    "release": (
        "ship",
        "release 5.8",
        "2026-02-20T17:00:00",
        [
            "tool: release 5.8.0 is out; ImageCache bounded to 256 entries, heap stays at 400 MB after 24 h",
            "user: Looks good, deployed.",
        ],
    ),
    "flaky": (
        "stabilise",
        "checkout test",
        "2026-02-08T10:00:00",
        [
            "tool!: test_checkout_total fails in 1 of 9 runs, the clock crosses midnight UTC",
            "assistant: Freezing time in the fixture frozen_noon would make it stable.",
            "user: Try it when you touch the suite again.",
        ],
    ),
    "suite": (
        "tidy",
        "test suite",
        "2026-02-21T11:00:00",
        [
            "tool: frozen_noon is used by 14 tests, the checkout test passed 500 of 500 runs, commit e81c0d4",
            "user: Great, resolved.",
        ],
    ),
    "backup": (
        "check",
        "nightly backup",
        "2026-02-10T07:00:00",
        [
            "tool!: the dump of 02:00 ended with 'no space left on device' on vol-b3",
            "assistant: Deleting dumps older than 14 days frees 80 GB; lifecycle rule proposal keep-14.",
            "user: I have to ask legal first.",
        ],
    ),
    "retention": (
        "apply",
        "retention rule",
        "2026-02-24T07:30:00",
        [
            "user: Legal agrees with fourteen days for the dumps.",
            "tool: rule keep-14 active on vol-b3, 81 GB freed, audit entry AUD-3391",
            "user: Fine, completed.",
        ],
    ),
    "flight": (
        "book",
        "trip to Lisbon",
        "2026-02-11T12:00:00",
        [
            "tool: held flight TP 571 for Marta, 14 May, 212 euros, hold code QJ7RKM",
            "assistant: The fare needs approval by Ingrid before it can be ticketed.",
            "user: I'll send it to her.",
        ],
    ),
    "ticket": (
        "issue",
        "air ticket",
        "2026-02-25T12:00:00",
        [
            "user: Ingrid gave her approval for Marta's Lisbon trip.",
            "tool: TP 571 ticketed, number 047-2281990416",
            "user: Thanks, done.",
        ],
    ),
    "allergy": (
        "plan",
        "team dinner",
        "2026-02-14T18:00:00",
        [
            "user: Remember that Oskar cannot eat peanuts or anything fried in peanut oil.",
            "tool: table for nine at Casa Verde, 6 March, booking CV-306",
            "user: Good, we are done here.",
        ],
    ),
    "menu": (
        "settle",
        "dinner menu",
        "2026-02-27T18:00:00",
        [
            "tool: Casa Verde confirmed menu B, cooked with olive oil only because of Oskar",
            "user: Everything is settled, thank you.",
        ],
    ),
}
for _family, _verb, _what, _number in (
    ("return", "submit", "return request", "RET"),
    ("report", "send", "sales report", "REP"),
    ("outage", "handle", "payment outage", "INC"),
    ("meeting", "summarise", "supplier meeting", "MIN"),
    ("invoice", "pay", "courier invoice", "INV"),
    ("restart", "restart", "search cluster", "RUN"),
    ("survey", "evaluate", "customer survey", "SUR"),
):
    for _index, _day in enumerate(("03-17T23:20:00", "03-13T14:00:00", "02-11T10:00:00")):
        _id = f"{_number}-{sum(map(ord, _family)) * 7 + _index * 391}"
        TASKS[f"{_family}{_index}"] = (
            _verb,
            f"{_what} {_index + 1}",
            f"2026-{_day}",
            [f"tool: {_what} {_verb} finished, number {_id}", "user: Okay, done."],
        )

#: (question, key of the task that answers it)
SYNONYMS = [
    ("Why couldn't the web shop start listening when we rolled it out?", "flask"),
    ("Where does the gateway forward the store's traffic?", "proxy"),
    ("What was our verdict on an in-memory store for logins?", "redis"),
    ("How was the storage for signed-in visitors created in the database?", "sessions"),
    ("What went wrong when we tried to extend the HTTPS credential?", "cert"),
    ("Who allowed us to edit the name server entries?", "dns"),
    ("Steps for giving a client their money back?", "refund"),
    ("How did the chargeback end?", "dispute"),
    ("Which character set did the vendor's spreadsheet have?", "csv"),
    ("How many lines of the vendor's tariff were loaded in the second attempt?", "prices"),
    ("What eats up the RAM?", "leak"),
    ("Is the picture buffer capped in the new version?", "release"),
    ("Which unit check breaks around twelve at night?", "flaky"),
    ("How reliable is the purchase check now that time stands still?", "suite"),
    ("Why did the overnight copy of the data stop?", "backup"),
    ("How long do we keep the database copies according to the lawyers?", "retention"),
    ("Who has to sign off the airfare to Portugal?", "flight"),
    ("Is the plane seat for Marta paid and confirmed?", "ticket"),
    ("What food must a colleague avoid?", "allergy"),
    ("Which dishes will the restaurant serve our group?", "menu"),
]
TIMES = [
    ("What is the number of the return request I submitted yesterday?", "return0"),
    ("Which return request did I submit last Friday?", "return1"),
    ("Number of the return request from last month?", "return2"),
    ("The sales report sent yesterday evening, which number has it?", "report0"),
    ("The sales report of 13 March?", "report1"),
    ("Which sales report went out in February?", "report2"),
    ("What was the incident number of yesterday's payment outage?", "outage0"),
    ("Payment outage five days ago: which incident?", "outage1"),
    ("Payment outage on 11 February: which incident?", "outage2"),
    ("Minutes of the supplier meeting yesterday?", "meeting0"),
    ("Minutes of the supplier meeting last Friday?", "meeting1"),
    ("Supplier meeting five weeks ago: the minutes?", "meeting2"),
    ("Which courier invoice did we pay yesterday?", "invoice0"),
    ("Which courier invoice was paid last week?", "invoice1"),
    ("Which courier invoice was paid last month?", "invoice2"),
    ("Run number of the search cluster restart yesterday night?", "restart0"),
    ("Search cluster restart 5 days ago, run number?", "restart1"),
    ("Search cluster restart in February, run number?", "restart2"),
    ("Customer survey evaluated yesterday: number?", "survey0"),
    ("Customer survey evaluated on Friday last week: number?", "survey1"),
]
HOPS = [
    ("Did that suggestion about the occupied port get used later?", "proxy"),
    ("We meant to move gunicorn to another port; what became of it in the proxy?", "proxy"),
    ("Was the decision against Redis ever carried out?", "sessions"),
    ("What happened after we settled on Postgres for sessions?", "sessions"),
    ("Did the missing ACME record get added in the end?", "dns"),
    ("The certificate renewal that failed, how did it turn out?", "dns"),
    ("Did the refund for SO-88213 have consequences later on?", "dispute"),
    ("What happened to the customer who wanted her money back?", "dispute"),
    ("Was that latin-1 advice used for the price list?", "prices"),
    ("Did the Norling file ever get imported?", "prices"),
    ("Did the limit for ImageCache get shipped?", "release"),
    ("The memory leak fix we noted down, was it applied?", "release"),
    ("Was the frozen clock idea for the checkout test adopted?", "suite"),
    ("Did the test that failed at midnight get fixed afterwards?", "suite"),
    ("Did the proposal to delete old dumps go through?", "retention"),
    ("The backup had no space left; what happened afterwards?", "retention"),
    ("Did Ingrid approve the fare after all?", "ticket"),
    ("Was the held flight to Lisbon ever ticketed?", "ticket"),
    ("Was Oskar's allergy taken care of later on?", "menu"),
    ("What came of the dinner plans at Casa Verde?", "menu"),
]
IDENTIFIERS = [
    ("the process with PID 1234", "flask"), ("CHG-5521?", "proxy"), ("what is ARCH-77 about", "redis"),
    ("idx_sess_exp_k9", "sessions"), ("that token called acme-tok-x71q", "cert"), ("serial 2026021603", "dns"),
    ("order SO-88213", "refund"), ("DSP-0091-QX status", "dispute"), ("byte 0xe9", "csv"), ("batch NRL-IMP-20b", "prices"),
    ("heap-7fa3.hprof", "leak"), ("release 5.8.0", "release"), ("where is frozen_noon from", "flaky"),
    ("commit e81c0d4", "suite"), ("the rule keep-14", "backup"), ("AUD-3391", "retention"), ("hold code QJ7RKM", "flight"),
    ("ticket number 047-2281990416", "ticket"), ("booking CV-306", "allergy"), ("TP 571", "flight"),
]  # fmt: skip
NOISE = [
    "ok", "OK!", "thanks", "Thank you so much!", "got it", "👍", "😂😂😂", "haha", "hahaha so hard", "lol", "sure thing",
    "sounds good", "Great!", "hmm", "...", "Noted.", "no worries", "wow", "one moment", "ok cool, thanks",
]  # fmt: skip

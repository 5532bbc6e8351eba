"""Made-up personal data in sentences, and what looks like it and is none: seeded, each value built by the rules of its issuer.

Check digits are computed by other formulas than the code under test uses (powers of two modulo 11, the table form of Luhn).
"""

from __future__ import annotations

import ipaddress
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

DIGITS, HEX, ALNUM = string.digits, "0123456789abcdef", string.ascii_letters + string.digits
SURNAMES, CITIES = "王李张刘陈杨赵黄周吴", ["北京", "上海", "深圳", "成都", "西安", "沈阳"]


class Sample(NamedTuple):
    """A text, and what stands in it: (kind, start, end)."""

    text: str
    personal: tuple[tuple[str, int, int], ...] = ()


def positives(kind: str, count: int, seed: int) -> Iterator[Sample]:
    """Sentences that hold one `kind` each."""
    chooser = random.Random(f"{kind}{seed}")
    for _ in range(count):
        value, frames = POSITIVES[kind](chooser)
        before, after = (_filled(part, chooser) for part in chooser.choice(frames.strip().split("\n")).strip().split("{}"))
        yield Sample(before + value + after, ((kind, len(before), len(before) + len(value)),))


def negatives(count: int, seed: int) -> Iterator[Sample]:
    """Sentences that hold nothing personal, of all sorts in turn."""
    chooser = random.Random(seed)
    makers = list(NEGATIVES.values())
    for number in range(count):
        yield Sample(makers[number % len(makers)](chooser))


def _filled(frame: str, chooser: random.Random) -> str:
    return frame.replace("$name", chooser.choice(SURNAMES) + "先生").replace("$city", chooser.choice(CITIES)).replace("$t", "\t")


def some(chooser: random.Random, letters: str, count: int) -> str:
    return "".join(chooser.choice(letters) for _ in range(count))


def digits(chooser: random.Random, count: int) -> str:
    return some(chooser, DIGITS, count)


def one_of(chooser: random.Random, words: str) -> str:
    return chooser.choice(words.split())


# --- what is personal: a value and the frames it may stand in ----------------------------------------------------------


def email(chooser: random.Random) -> tuple[str, str]:
    local = some(chooser, string.ascii_lowercase, chooser.randrange(2, 9)) + chooser.choice(["", ".", "_", "-", "+"])
    local += some(chooser, string.ascii_lowercase + DIGITS, chooser.randrange(1, 7))
    host = one_of(chooser, "qq.com 163.com 126.com gmail.com outlook.com mail.tsinghua.edu.cn sina.com.cn firma-bau.de bbc.co.uk")
    return (
        f"{local}@{host}",
        """联系邮箱{}，欢迎来信。
        请发到{}。
        mailto:{}
        $name <{}>
        Email: {}.
        邮箱：{}、电话见下
        ('{}', 'admin')
        |$name|{}|$city|
        write to {} before Friday
        {}
        e-mail={}&x=1""",
    )


def phone(chooser: random.Random) -> tuple[str, str]:
    head = one_of(chooser, "130 131 135 138 139 147 150 152 155 158 166 170 173 177 180 186 189 191 198 199")
    gap = chooser.choice(["", "", "", " ", "-"])
    prefix = chooser.choice(["", "", "", "", "+86 ", "+86", "86-", "0086 ", "(+86)"])
    return (
        prefix + gap.join((head, digits(chooser, 4), digits(chooser, 4))),
        """手机{}，微信同号
        电话：{}（$name）
        请拨打{}联系$name
        $name$t{}$t$city
        $name,{},$city
        "mobile": "{}"
        Call me at {}.
        联系人$name {}
        {}
        手机号码为{}的用户
        | $name | {} |
        mobile={}&city=1
        Tel:{}""",
    )


def landline(chooser: random.Random) -> tuple[str, str]:
    area = one_of(chooser, "10 20 21 22 25 27 28 29 311 371 411 451 512 571 591 755 769 791 871 931 991")
    number = chooser.choice("2345678") + digits(chooser, 7 if len(area) == 2 or chooser.random() < 0.5 else 6)
    written = chooser.choice(["0{}-{}", "0{}-{}", "(0{}){}", "（0{}）{}", "0{} {}", "+86-{}-{}", "+86 {} {}", "(0{}) {}"]).format(area, number)
    return (
        written + chooser.choice(["", "", "", "-801", "转102"]),
        """电话：{}
        公司座机{}，工作日接听
        传真{}。
        Tel: {}
        $city办事处 {}
        $name$t{}$t$city
        联系电话:{};""",
    )


def identity(chooser: random.Random) -> tuple[str, str]:
    region = one_of(chooser, "110105 310112 440304 510107 330106 420111 610113 210102 650102 460105")
    body = f"{region}{chooser.randrange(1940, 2012)}{chooser.randrange(1, 13):02}{chooser.randrange(1, 29):02}{digits(chooser, 3)}"
    # ISO 7064: the sum of all digits times 2^(17 - place) is 1 modulo 11.
    rest = (1 - sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(body))) % 11
    number = body + (chooser.choice("XXx") if rest == 10 else str(rest))
    if chooser.random() < 0.1:
        number = " ".join((number[:6], number[6:14], number[14:]))
    return (
        number,
        """身份证号{}。
        身份证号码：{}
        $name（{}）
        $name,{},$city
        公民身份号码{}，住$city
        "id_card": "{}",
        ID number {} of Mr Wang
        {}""",
    )


LUHN_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def luhn_digit(body: str) -> str:
    """The check digit behind `body`."""
    total = sum(LUHN_DOUBLED[int(digit)] if place % 2 == 0 else int(digit) for place, digit in enumerate(reversed(body)))
    return str(-total % 10)


def card(chooser: random.Random) -> tuple[str, str]:
    head, length = one_of(chooser, "622848:19 622202:19 621700:19 625965:16 95588:19 4:16 52:16 2221:16 37:15 3562:16").split(":")
    body = head + digits(chooser, int(length) - 1 - len(head))
    number = body + luhn_digit(body)
    if length != "15" and chooser.random() < 0.4:
        number = chooser.choice(" -").join(number[place : place + 4] for place in range(0, len(number), 4))
    return (
        number,
        """卡号{}，户名$name
        银行卡号：{}
        请汇至{}（工商银行$city分行）
        card number: {}
        $name,{},$city
        {}
        账号 {}
        Pay with {} please
        信用卡{}已被冻结""",
    )


def address(chooser: random.Random) -> tuple[str, str]:
    found: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.IPv4Address("10.0.0.1")
    while not found.is_global or found.is_multicast:
        if chooser.random() < 0.75:
            found = ipaddress.IPv4Address(chooser.getrandbits(32))
        else:  # eight groups, or some with zeros between
            prefix = one_of(chooser, "2408 240e 2409 2001:da8 2a01:4f8 2607:f8b0")
            groups = [f"{chooser.getrandbits(16):x}" for _ in range(8 - len(prefix.split(":")))]
            found = ipaddress.IPv6Address(f"{prefix}:{':'.join(groups)}" if chooser.random() < 0.5 else f"{prefix}:{groups[0]}::{groups[1]}")
    frames = """来自 {} 的登录
        IP：{}
        IP地址{}，$city
        ping {}
        Failed password for root from {} port 22
        {}
        client_ip={}
        "ip": "{}","""
    four = """
        http://{}:8080/index.html
        {} - - [12/Nov/2023:10:00:00]"""
    return str(found), frames + four if found.version == 4 else frames


def qq(chooser: random.Random) -> tuple[str, str]:
    return (
        chooser.choice("123456789") + digits(chooser, chooser.randrange(5, 10)),
        """QQ：{}
        QQ:{}，验证写$city
        加QQ{}进群
        qq号{}
        QQ群 {}
        QQ号码是{}。
        扣扣：{}
        联系QQ {} $name
        （QQ：{}）
        企鹅号：{}""",
    )


def wechat(chooser: random.Random) -> tuple[str, str]:
    name = some(chooser, string.ascii_lowercase, chooser.randrange(3, 8))
    tail = chooser.choice(["_", "-", "", ""]) + digits(chooser, chooser.randrange(3, 7))
    return (
        name + (tail if chooser.random() < 0.8 else some(chooser, string.ascii_lowercase, 5)),
        """微信号：{}
        微信号{}，备注$city
        加微信{}
        加微信：{}，拉你进群
        微信：{}
        WeChat ID: {}
        vx：{}
        加V：{}
        +vx {}
        薇信号 {}
        （微信号:{}）
        wechat: {}""",
    )


PLATE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def plate(chooser: random.Random) -> tuple[str, str]:
    head = chooser.choice("京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼") + chooser.choice("ABCDEFGHJKLMN") + chooser.choice(["", "", "·"])
    tail = list(digits(chooser, 5))
    for place in chooser.sample(range(5), chooser.choice([0, 1, 1, 2])):
        tail[place] = chooser.choice(PLATE_LETTERS)
    small = chooser.choice("DF") + chooser.choice(PLATE_LETTERS + DIGITS) + digits(chooser, 4)
    large, marked = digits(chooser, 5) + chooser.choice("DF"), digits(chooser, 4) + chooser.choice("挂学警")
    return (
        head + chooser.choices(["".join(tail), small, large, marked], [50, 25, 15, 10])[0],
        """车牌{}
        一辆{}的白色轿车
        号牌为{}，车主$name
        （{}）
        {}
        驾驶{}小型客车
        车牌号：{}
        $name,{},$city
        被告人驾驶{}号重型货车
        违章车辆 {} 已扣""",
    )


def secret(chooser: random.Random) -> tuple[str, str]:
    if chooser.random() < 0.6:
        return (
            chooser.choice(KEYS)(chooser),
            """export KEY={}
            Authorization: Bearer {}
            密钥是{}，请勿外传
            {}
            const k = "{}";
            see {} in the log""",
        )
    value = some(chooser, chooser.choice([ALNUM, ALNUM + "-_", HEX]), chooser.choice([20, 24, 32, 40]))
    return (
        value.strip("-_"),
        """api_key = "{}"
        SECRET_KEY={}
        access_token: {}
        "client_secret": "{}",
        aws_secret_access_key = {}
        DB_PASSWORD='{}'
        const apiKey = `{}`
        appSecret: {}""",
    )


def private_key(chooser: random.Random) -> str:
    lines = "\n".join(some(chooser, ALNUM + "+/", 64) for _ in range(8))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----"


KEYS: list[Callable[[random.Random], str]] = [
    private_key,
    lambda chooser: "AKIA" + some(chooser, string.ascii_uppercase + DIGITS, 16),
    lambda chooser: one_of(chooser, "ghp_ gho_ ghs_") + some(chooser, ALNUM, 36),
    lambda chooser: "sk-" + some(chooser, ALNUM, 48),
    lambda chooser: f"xoxb-{digits(chooser, 12)}-{some(chooser, ALNUM, 24)}",
    lambda chooser: f"AIza{some(chooser, ALNUM + '-_', 34)}Q",
    lambda chooser: "LTAI" + some(chooser, ALNUM, 20),
    lambda chooser: f"eyJhbGciOiJIUzI1NiJ9.eyJ{some(chooser, ALNUM, 60)}.{some(chooser, ALNUM + '-_', 42)}A",
]
POSITIVES: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "email": email,
    "phone": phone,
    "landline": landline,
    "id": identity,
    "card": card,
    "ip": address,
    "qq": qq,
    "wechat": wechat,
    "plate": plate,
    "secret": secret,
}


# --- what only looks like it -------------------------------------------------------------------------------------------


def day(chooser: random.Random) -> str:
    return f"{chooser.randrange(1950, 2030)}-{chooser.randrange(1, 13):02}-{chooser.randrange(1, 29):02}"


def order_number(chooser: random.Random) -> str:
    if chooser.random() < 0.4:
        number = f"{chooser.randrange(2010, 2025)}{chooser.randrange(1, 13):02}{chooser.randrange(1, 29):02}{digits(chooser, chooser.randrange(4, 12))}"
        return chooser.choice(["订单{}已发货", "流水号：{}", "Order #{} shipped", "单号 {}", "{}", "批次{}", "交易 {} 成功"]).format(number)
    number = chooser.choice([chooser.choice("3456789") + digits(chooser, 15), "13" + digits(chooser, 9), chooser.choice("4567") + digits(chooser, 18)])
    frames = ["订单号：{}", "快递单号{}", "运单编号: {}", "order no. {}", "流水号{}", "合同编号：{}", "序列号 {}", "invoice number: {}"]
    return chooser.choice(frames).format(number)


def isbn(chooser: random.Random) -> str:
    number = "978" + chooser.choice("703") + digits(chooser, 9)
    hyphens = f"{number[:3]}-{number[3]}-{number[4:7]}-{number[7:12]}-{number[12]}"
    return chooser.choice(["ISBN {}", "ISBN：{}", "书号{}", "{}", "(ISBN-13: {})"]).format(chooser.choice([number, hyphens, hyphens[4:]]))


def version(chooser: random.Random) -> str:
    small, big = (".".join(str(chooser.randrange(limit)) for _ in range(4)) for limit in (20, 200))
    frame = chooser.choice(
        [
            "升级到 {small} 版",
            "v{big} 发布",
            "版本{big}修复了问题",
            "Version {big}",
            "Chrome/96.0.4664.110 Safari/537.36",
            "pip install pkg=={big}",
            "pkg-{big}.tar.gz",
            "Windows 10.0.19041.12",
            "见第 {small} 节",
            "requires foo>={big}",
            "lib/{big}/foo.jar",
            "libfoo.so.{small}",
            "{big}.1",
            "3.11.4rc1",
        ]
    )
    return frame.format(small=small, big=big)


def moment(chooser: random.Random) -> str:
    clock = f"{chooser.randrange(24):02}:{chooser.randrange(60):02}:{chooser.randrange(60):02}"
    compact = (day(chooser) + clock).replace("-", "").replace(":", "")
    stamp = chooser.randrange(10**9, 2 * 10**9)
    forms = [f"{day(chooser)} {clock}", f"{day(chooser)}T{clock}.123456Z", compact, f"时间戳 {stamp}", f"{stamp}{digits(chooser, 3)}", f"IMG_{compact}.jpg"]
    return chooser.choice([*forms, f"{day(chooser)} 至 {day(chooser)}"])


def table(chooser: random.Random) -> str:
    """Rows of figures, amounts, and numbers as long as a telephone's."""
    mobile, groups = f"1{chooser.choice('3578')}{digits(chooser, 9)}", [digits(chooser, size) for size in (4, 4, 4, 4, 3, 3, 3)]
    return chooser.choice(
        [
            f"0.{mobile}",
            f"138 {' '.join(groups[:4])}",
            f"13,{','.join(groups[4:])}",
            "\t".join(f"{chooser.random() * 1e5:.4f}" for _ in range(5)),
            " ".join(digits(chooser, 5) for _ in range(6)),
            f"总额{mobile}元",
            f"共 {mobile} 字节",
            f"12{digits(chooser, 9)}",
            mobile[:10],
            f"{mobile}4",
            f"400-{groups[4]}-{groups[0]}",
            f"圆周率 3.14159265358979323846{groups[4]}",
            f"x{mobile}",
            f"[{', '.join(groups)}]",
        ]
    )


def local_address(chooser: random.Random) -> str:
    one, two, three = (chooser.randrange(1, 255) for _ in range(3))
    return chooser.choice(
        [
            f"192.168.{one}.{two}",
            f"10.{one}.{two}.{three}",
            f"127.0.0.{one}",
            f"172.{chooser.randrange(16, 32)}.{one}.{two}",
            f"203.0.113.{one}",
            f"198.51.100.{one}",
            f"192.0.2.{one}",
            f"{one}.{two}.{three}.{chooser.randrange(256, 999)}",
            f"{one}.{two}.{three}",
            f"224.0.0.{one}",
            "255.255.255.0",
            "0.0.0.0:8080",
            f"fe80::{one}",
            f"fd00::{one}",
            f"2001:db8::{one}",
            f"1.3.6.1.4.1.{one}",
            "std::vector",
            "00:1A:2B:3C:4D:5E",
        ]
    )


def hashed(chooser: random.Random) -> str:
    value = some(chooser, HEX, chooser.choice([32, 40, 64]))
    uuid = "-".join(some(chooser, chooser.choice([HEX, DIGITS]), size) for size in (8, 4, 4, 4, 12))
    frames = ["commit {}", "md5: {}", "{}  file.tar", "sha256:{}", 'ETag: "{}"', "cache_key={}", "primary_key: {}", "0x{}", "object {}"]
    return chooser.choice([chooser.choice(frames).format(value), uuid, f"id={uuid}", f"@{value[:7]}", f"#{value[:6]}"])


CODE = """@property
git@github.com:user/repo.git
logo@2x.png
token: bert-base-uncased-vocabulary
key = user_profile_settings_default
tokenizer = AutoTokenizer.from_pretrained
a@b, @name
secret = os.environ['SECRET_KEY_NAME']
API_KEY=your_api_key_goes_here
api_key: ${API_KEY_FROM_ENVIRONMENT}
sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxx
password = getpass.getpass()
token = request.headers.get('Authorization')
task-scheduler-with-many-workers-and-queues
-----BEGIN CERTIFICATE-----
use -----BEGIN PRIVATE KEY----- as the first line
access_key=<ACCESS_KEY_ID_OF_YOUR_ACCOUNT>
张三@公司
key: AbstractSingletonProxyFactoryBean"""
PRODUCTS = """QQ2012正式版
QQ音乐$n首
手机QQ 8.9.5.10
QQ 活跃用户$n万
QQ 88888万用户
微信 Android 8.0.1
微信小程序 wx.request({})
微信Pay
微信 payment
微信：Android 版
wx.createSelectorQuery
vx_width = 3
WeChat official account
北京A$n
最新A$n款
国道G318
京ICP备$n号
川A级景区
京B2-2009$n
公司云B512机型"""


def code(chooser: random.Random) -> str:
    return chooser.choice(CODE.split("\n"))


def product(chooser: random.Random) -> str:
    return chooser.choice(PRODUCTS.split("\n")).replace("$n", digits(chooser, 5))


def near_miss(chooser: random.Random) -> str:
    """Numbers of the right form that fail their check."""
    right, checks = identity(chooser)[0].replace(" ", "").upper(), "0123456789X"
    failed = right[:17] + checks[(checks.index(right[17]) + chooser.randrange(1, 11)) % 11]
    number = card(chooser)[0].replace(" ", "").replace("-", "")
    miscounted = number[:-1] + str((int(number[-1]) + chooser.randrange(1, 10)) % 10)
    no_month, barcode = f"{right[:10]}13{right[12:]}", "69" + digits(chooser, 11)
    return chooser.choice([failed, no_month, miscounted, barcode, f"卡号{miscounted}", f"身份证{failed}", f"条码 {barcode}"])


NEGATIVES: dict[str, Callable[[random.Random], str]] = {
    "order": order_number,
    "isbn": isbn,
    "version": version,
    "moment": moment,
    "table": table,
    "address": local_address,
    "hash": hashed,
    "code": code,
    "product": product,
    "near miss": near_miss,
}

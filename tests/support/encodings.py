"""Known text in every encoding that Python writes it in: what `decode` is judged by.

`TEXTS` are written for these tests. `writable(text)` lists the codecs, `samples(...)` cuts a text at several offsets, shapes it (plain, behind an
ASCII head, among ASCII lines) and writes it, `damage` puts one wrong byte into the middle, and `misread` says what a decoding got wrong.
"""

from __future__ import annotations

import encodings
import encodings.aliases
import pkgutil
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

TEXTS = {
    "zh-Hans": (
        "巷子口的小书店开了二十多年，老板姓陈，说话慢，记性却好得出奇。谁家的孩子去年买过哪本字典，他都说得上来。\n"
        "下雨天客人少，他就搬一把竹椅坐在门边，一边听收音机，一边修补散了页的旧书。有人劝他把店面租出去：“每个月收房租，不比卖书强？”他笑笑，"
        "回答得很干脆：“租出去了，这些书住哪儿呢？”\n"
        "今年三月，街道办事处要在这条路上铺设光纤，施工队挖开了店门前的人行道。工程师小吴每天中午到店里借热水泡面，顺便翻翻关于铁路和桥梁的书。"
        "他发现书架最上层有一套1958年出版的《水利工程手册》，一共六册，缺了第四册；据说当年印数不到三千，连省图书馆都没有收全。\n"
        "两个星期后，工程结束了，小吴却没有走。他用业余时间写了一个程序，把全部书目录入数据库，又做了一个简单的网页，任何人都可以查询、预订，甚至"
        "留言寻找某一本绝版的书。第一天只有7个人访问，第二个月就超过了五万！\n"
        "陈老板起初不太相信，直到一位新疆的读者寄来了那本失踪的第四册，还附了一张纸条：“它在我父亲的箱子里放了三十八年，现在该回家了。”"
        "老人把六本书并排摆好，摘下眼镜擦了又擦，半天没有说话。窗外的雨停了，阳光照在湿漉漉的石板路上，几个放学的孩子跑过去，笑声传得很远。\n"
    ),
    "zh-Hant": (
        "港口邊的修鐘店已經開了三代。師傅姓羅，今年七十一歲，戴著一副厚厚的眼鏡，說話輕聲細語，卻從來不肯馬虎。送來的鐘錶，無論值不值錢，"
        "他都要先拆開、清洗、上油，再一個齒輪一個齒輪地檢查。\n"
        "「時間這種東西，差一點點就是差很多。」他常這樣對學徒說。學徒叫阿明，原本在電腦公司寫程式，因為厭倦了加班，才轉行來學這門手藝。剛開始的時候，"
        "他連螺絲都拿不穩，掉在地上要找半個鐘頭；三年過後，已經可以獨自修理十九世紀的船用天文鐘了。\n"
        "去年颱風過境，整條街淹水將近兩公尺，店裡的工具和零件全部泡壞。鄰居們以為羅師傅會就此退休，沒想到他隔天一早就捲起褲管，把抽屜一個個搬到"
        "騎樓下晾乾。消息傳開之後，許多老顧客從臺北、高雄、甚至香港趕來幫忙；有人帶來了德國製的舊車床，有人捐出祖父留下的懷錶，"
        "還有一位歷史系的教授整理出了一份清單，記錄了這間店八十年來修過的每一座鐘。\n"
        "重新開張那天，牆上三百多座鐘同時敲響，聲音穿過雨後的街道，一直傳到碼頭。羅師傅抬頭聽了一會兒，轉身對阿明說：「慢了兩秒，今晚再調。」\n"
    ),
    "ja": (
        "山あいの小さな駅に、毎朝いちばん早く着くのは駅長の川村さんだった。始発は五時四十二分。まだ暗いホームの雪をかき、待合室のストーブに火を入れ、"
        "時刻表のほこりを払う。それから熱いお茶を飲みながら、線路の向こうの谷を眺めるのが習慣になっていた。\n"
        "この路線の利用者は、一日に平均して三十七人しかいない。ほとんどが高校生と、町の病院へ通うお年寄りである。会社は"
        "来年の春に廃止すると発表したが、"
        "川村さんは誰にも文句を言わなかった。ただ、ノートに毎日の乗客の名前と天気を書き続けた。\n"
        "ある日、カメラとパソコンを抱えた若い女性が降りてきて、「すみません、その記録を見せていただけませんか」と尋ねた。彼女は大学で地理を学び、"
        "人口の少ない地域の交通について論文を書いているという。二人は夕方まで話し込み、最終列車の時間をすっかり忘れてしまった。\n"
        "半年後、彼女が作ったウェブサイト「谷の駅から」は、全国のファンに知られるようになった。週末になると、都会から人々がやって来て、"
        "小さなホームはにぎやかになる。『まあ、いつまで続くか分からないがね』と駅長は笑い、きょうもペンを取って、百二十六人、晴れ、と書いた。\n"
    ),
    "ko": (
        "섬마을 우체국에는 직원이 한 사람뿐이었다. 배가 하루에 두 번, 아침 아홉 시와 오후 세 시에 들어오면 그는 "
        "자전거를 타고 언덕길을 올라가 편지와 소포를 나누어 주었다. "
        "겨울에는 바람이 너무 세서 자전거를 끌고 걸어야 했지만, 한 번도 늦은 적이 없었다.\n"
        "요즘 젊은 사람들은 전화와 인터넷으로 소식을 주고받기 때문에 편지는 해마다 줄어들었다. 그래도 할머니들은 "
        "여전히 손으로 글씨를 썼고, 그는 읽지 못하는 분들을 위해 "
        "마루에 앉아 큰 소리로 읽어 드렸다. 좋은 소식이면 함께 웃고, 슬픈 소식이면 말없이 차를 마셨다.\n"
        "작년 봄에 본부에서 우체국을 닫겠다는 공문이 왔다. 마을 사람 112명은 모두 서명을 했고, 초등학교 아이들은 "
        "그림을 그려 보냈다. \"우리 우체국을 지켜 주세요!\" "
        "결국 담당 과장이 직접 배를 타고 섬에 들어와서 사흘 동안 머물며 일하는 모습을 지켜보았다. 그는 돌아가는 길에 이렇게 말했다고 한다. "
        "\"숫자로는 알 수 없는 것이 있더군요.\" 우체국은 지금도 문을 열고 있으며, 벽에는 아이들이 그린 빨간 자전거 그림이 걸려 있다.\n"
    ),
    "ru": (
        "На окраине города, за железнодорожным мостом, стоит старая водонапорная башня. Её построили ещё в 1912 году, "
        "и с тех пор она пережила две войны, "
        "один пожар и бесчисленное множество проектов реконструкции. Мальчишки рассказывают, что внутри живут совы, а "
        "взрослые только смеются: «Какие совы? Голуби!»\n"
        "Прошлой осенью башню купил инженер Фёдор Щукин. Он разобрал прогнившие перекрытия, укрепил фундамент, провёл "
        "электричество и устроил на верхнем этаже "
        "мастерскую, где чинит радиоприёмники, часы и швейные машинки. Денег за работу он почти не берёт; просит "
        "вместо этого принести какую-нибудь историю.\n"
        "Историй набралось уже больше трёхсот. Одни записаны в толстую тетрадь, другие наговорены на магнитофон. Есть "
        "среди них смешные, есть грустные, а некоторые "
        "такие невероятные, что хозяин долго качает головой и переспрашивает: \"Неужели всё так и было?\" Зимними "
        "вечерами, когда снег заметает дорогу, в окнах башни "
        "горит свет, и кажется, будто маяк стоит посреди замёрзшего моря.\n"
    ),
    "uk": (
        "У нашому дворі росте величезна липа, якій, кажуть, понад двісті років. Щоліта під нею збираються сусіди: "
        "хтось грає в шахи, хтось читає газету, а діти їздять "
        "довкола на велосипедах. Пані Ганна з першого поверху виносить холодний узвар і пригощає всіх, хто просить.\n"
        "Торік міська рада вирішила розширити вулицю, і дерево мали зрубати. Мешканці написали лист, зібрали підписи й "
        "запросили фахівця з ботанічного саду. Він "
        "оглянув стовбур, виміряв його об'єм і сказав: «Це пам'ятка природи, її треба берегти». Дорогу проклали трохи "
        "далі, за ґанком старої аптеки. Відтоді липа "
        "цвіте ще рясніше, ніби знає, що її захистили. Бджоли гудуть з ранку до вечора, і мед того року вийшов особливо запашний.\n"
    ),
    "bg": (
        "Старата мелница край реката отдавна не мели брашно, но колелото ѝ още се върти. Внукът на последния мелничар, "
        "който учи за инженер в столицата, реши да я "
        "превърне в малка електроцентрала. Първоначално всички се смееха: толкова стара дървена машина едва ли би осветила и една стая!\n"
        "Той обаче не се отказа. През лятото почисти канала, смени изгнилите дъски и монтира генератор, купен на "
        "старо. През октомври, когато падна първият дъжд и "
        "реката се надигна, прозорците на цялото село светнаха. Сега тук идват ученици от съседните градове, за да "
        "видят как водата работи за хората, без да замърсява нищо.\n"
    ),
    "sr": (
        "Сваког јутра, пре него што сване, пекар Љубомир отвара своју радњу на ћошку. Мирис топлог хлеба шири се низ "
        "улицу, па се људи буде без будилника. Ђаци свраћају "
        "по кифле, пензионери по новине, а возачи аутобуса по кафу и кратак разговор. Када су отворили велики тржни "
        "центар преко пута, многи су мислили да ће пекара "
        "пропасти. Догодило се супротно: купци су остали верни, јер нигде другде нису могли да нађу џем од шљива који "
        "прави његова баба Његослава. Њен рецепт чува се "
        "у старој свесци, у фиоци испод касе, и нико га још није преписао.\n"
    ),
    "be": (
        "За вёскай, каля самага лесу, жыве стары пчаляр. У яго сорак вулляў, пафарбаваных у розныя колеры, і кожны мае "
        "сваё імя. Унукі прыязджаюць да яго ўлетку, "
        "дапамагаюць збіраць мёд і слухаюць доўгія гісторыі пра тое, як калісьці тут хадзілі паравозы. Увечары, калі "
        "над лугам падымаецца туман, дзед запальвае лямпу, "
        "ставіць на стол гарбату з мятай і кажа: «Ну што, дзеці, хто сёння самы адважны?» Тады яны ідуць да ракі глядзець, як плёскаецца рыба.\n"
    ),
    "mk": (
        "На пазарот во старата чаршија има дуќанче што продава само копчиња. Сопственикот, дедо Ѓорѓи, знае точно во "
        "која кутија се наоѓаат оние од седеф, а во која "
        "месинганите од војничките шинели. Луѓето доаѓаат дури и од соседните градови за да најдат копче што недостига "
        "на омилениот капут. „Сѐ може да се најде“, вели "
        "тој, „треба само да се има трпение и љубов кон ситните нешта“.\n"
    ),
    "kk": (
        "Ауылдың шетіндегі шағын шеберханада қарт ұста күні бойы жұмыс істейді. Ол домбыра жасайды: ағашын өзі "
        "таңдайды, өзі кептіреді, әр ішегін өз қолымен тағады. "
        "Балалар сабақтан кейін жүгіріп келіп, оның қалай күй шертетінін тыңдайды. Бір күні қаладан келген қонақ: "
        "«Мұндай аспапты қанша уақытта жасайсыз?» деп сұрады. "
        "Ұста күлімсіреп: «Ағаш өскенше жүз жыл, мен үйренгенше елу жыл, ал қалғаны үш-ақ апта», — деп жауап берді. "
        "Һәм бұл сөз елге тез тарап кетті.\n"
    ),
}  # fmt: skip
CYRILLIC = "[\u0400-\u052f]"

NOT_ENCODINGS = frozenset({"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem", "charmap"})  # escapes, and Windows
STATEFUL = ("hz", "iso2022", "utf_7")  # a wrong byte may cost the rest of its line
MAX_DROPPED = 0.03  # of the characters, that a codec cannot write and that are left out: "—" in gb2312, rare Han; no letter of an alphabet

ASCII_LINE = 'GET /static/page-{number}.html 200 {size} "Mozilla/5.0 (X11; Linux x86_64)"\n'
HEAD_BYTES = 15 * 1024
SHAPES = ("plain", "ascii-head", "ascii-lines")
NATIVE_LINE = 40  # characters of a native line among ASCII lines
ASCII_LINES_PER_NATIVE = 4


@dataclass(frozen=True)
class Sample:
    """Bytes and the text that they were written from; cost: how many of its characters one wrong byte may take with it."""

    name: str
    data: bytes
    text: str
    cost: int = 0


@cache
def codecs_of_python() -> tuple[str, ...]:
    """All codecs from text to bytes, by module name."""
    names = {module.name for module in pkgutil.iter_modules(encodings.__path__)} | set(encodings.aliases.aliases.values())
    return tuple(sorted(name for name in names - NOT_ENCODINGS if _is_text_codec(name)))


def _is_text_codec(name: str) -> bool:
    try:
        return isinstance("a".encode(name), bytes)
    except (LookupError, UnicodeError):
        return False


def written(text: str, codec: str) -> str | None:
    """What of `text` the codec can write, if that is nearly all; a codec that does not read back what it wrote is none."""
    kept = text.encode(codec, "ignore").decode(codec, "replace")
    if not kept or len(kept) < (1 - MAX_DROPPED) * len(text) or not set(kept) <= set(text):
        return None
    return None if re.search(CYRILLIC, "".join(set(text) - set(kept))) else kept


@cache
def writable(text: str) -> tuple[str, ...]:
    return tuple(codec for codec in codecs_of_python() if written(text, codec) is not None)


def shaped(native: str, shape: str, size: int, chooser: random.Random) -> str:
    """`size` characters (behind an ASCII head: more): of `native` alone, or with one line in five native."""
    if shape == "plain":
        return native[:size]
    if shape == "ascii-head":
        return "".join(_ascii_lines(chooser, HEAD_BYTES)) + native[:size]
    parts, total = [], 0
    position = 0
    while total < size:
        line = native[position : position + NATIVE_LINE].replace("\n", " ") + "\n"
        position += NATIVE_LINE
        block = [line, *(ASCII_LINE.format(number=chooser.randrange(1000), size=chooser.randrange(100_000)) for _ in range(ASCII_LINES_PER_NATIVE))]
        parts += block
        total += sum(map(len, block))
    return "".join(parts)[:size]


def _ascii_lines(chooser: random.Random, size: int) -> Iterator[str]:
    while size > 0:
        line = ASCII_LINE.format(number=chooser.randrange(1000), size=chooser.randrange(100_000))
        size -= len(line)
        yield line


def samples(language: str, text: str, sizes: tuple[int, ...], offsets: int, *, shapes: tuple[str, ...] = SHAPES, seed: int = 0) -> Iterator[Sample]:
    """`text` from `offsets` random places on, in all sizes, shapes and encodings."""
    chooser = random.Random(f"{language} {seed}")
    for size in sizes:
        repeated = text * (2 + size // len(text))
        for number in range(offsets):
            start = chooser.randrange(len(text))
            for shape in shapes:
                whole = shaped(repeated[start:], shape, size, chooser)
                for codec in writable(text):
                    if kept := written(whole, codec):
                        yield Sample(f"{language} {codec} {shape} {size} #{number}", kept.encode(codec), kept)


def damage(sample: Sample, chooser: random.Random, byte: int | None = None) -> Sample:
    """The sample with the byte at its middle (rather: beyond it, the first of a native character) replaced by `byte`, or by a random one."""
    codec = sample.name.split()[1]
    middle = len(sample.data) // 2
    width = 4 if codec.startswith("utf_32") else 2 if codec.startswith("utf_16") else 1
    high = next((i for i in range(middle, len(sample.data)) if width > 1 or sample.data[i] >= 0x80), middle) + chooser.randrange(2)
    high = min(high, len(sample.data) - 1)
    wrong = chooser.randrange(256) if byte is None else byte
    cost = max(map(len, sample.text.split("\n"))) + 1 if codec.startswith(STATEFUL) else 6
    return Sample(f"{sample.name} wrong byte {wrong:02x}", sample.data[:high] + bytes([wrong]) + sample.data[high + 1 :], sample.text, cost)


def misread(sample: Sample, text: str) -> str | None:
    """None if `text` is the sample's but for `cost` characters in one place, else what is there instead."""
    if text == sample.text:
        return None
    shortest = min(len(text), len(sample.text))
    head = next((i for i in range(shortest) if text[i] != sample.text[i]), shortest)
    tail = next((i for i in range(shortest - head) if text[-1 - i] != sample.text[-1 - i]), shortest - head)
    lost = len(sample.text) - head - tail
    if sample.cost and lost <= sample.cost:
        return None
    return f"{sample.name}: {lost} of {len(sample.text)} lost; {text[head : head + 40]!r} instead of {sample.text[head : head + 40]!r}"

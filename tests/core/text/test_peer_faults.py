"""What rules made for English do to other text: for each fault a small model of the rule, written from its documented behaviour, and a sample that it gets
wrong and that ours gets right.

The peers: C4 (Raffel et al. 2020, 2.2; tensorflow_datasets c4_utils.py; datatrove c4_filters.py), Gopher (Rae et al. 2021, table A1 and A.1.1; datatrove
gopher_quality_filter.py and gopher_repetition_filter.py; dolma taggers/gopher.py), FineWeb (Penedo et al. 2024, 3.6; datatrove fineweb_quality_filter.py),
RedPajama v2 (core/quality_signals/natural_language.py), BigCode's tokens (bigcode-dataset near_deduplication, NON_ALPHA).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from mspt.core.text.rules.document_rules import DEFAULT, STRICT, Profile, judge, measure
from mspt.core.text.rules.line_rules import cut_lines, without_cuts
from mspt.core.text.rules.measures import Sample

CHINESE = """清晨六点，渔船一条接一条驶进小港，码头上的人已经等了半个钟头。最先靠岸的是老周的船，他昨夜在礁石外下了三张网，只收上来一筐小黄鱼。
“今年的水冷得晚，”他一边卸筐一边说，“往年这个时候，鱼早就到浅水里来了。”旁边的年轻人听了没有作声，只是把手里的绳子又紧了紧。
岸上的秤是公家的，秤砣却是各家自己带来的，这个习惯已经有六十年了。谁家的秤砣轻了一两，第二天全港都会知道，所以从来没有人敢换。
太阳升起来以后，买鱼的人渐渐散去，码头又安静下来。老周坐在缆桩上抽完一支烟，起身去修他的网，那张网上有一个很大的洞，是昨夜被什么撞破的。"""
ENGLISH = """JavaScript was written in ten days, and some of what was decided in them can never be taken back.
The comparison that turns a string into a number is one of these things, and so is the semicolon that nobody has to write.
No other language has had to stay compatible with every page that was ever made, which is worth remembering before one laughs."""


def strict_without(*rules: str) -> Profile:
    """The strict profile less the rules that the sample is not about."""
    return STRICT.changed(dict.fromkeys(rules))


def is_kept(text: str, language: str, profile: Profile = DEFAULT) -> bool:
    return judge(text, language=language, profile=profile).keep


# Words by split().


def split_word_count(text: str) -> bool:
    """Gopher: at least 50 words, which dolma takes from text.split()."""
    return len(text.split()) >= 50


def test_split_finds_too_few_words_in_chinese() -> None:
    assert not split_word_count(CHINESE)
    assert measure(CHINESE)["few-words"] > 150
    assert is_kept(CHINESE, "zh-Hans", STRICT)


def split_word_length(text: str) -> bool:
    """Gopher: a mean word length of 3 to 10 (dolma: the median) of text.split()."""
    words = text.split()
    return 3 <= sum(map(len, words)) / len(words) <= 10


def test_split_finds_words_of_chinese_too_long() -> None:
    assert not split_word_length(CHINESE)
    assert "long-words" not in measure(CHINESE)  # has no words of an alphabet


def c4_words_per_line(text: str) -> str:
    """C4 keeps lines with at least three words of line.split()."""
    return "\n".join(line for line in text.split("\n") if len(line.split()) >= 3)


def test_three_words_per_line_delete_chinese() -> None:
    assert c4_words_per_line(CHINESE) == ""
    assert without_cuts(CHINESE, cut_lines(CHINESE)) == CHINESE


def c4_long_words(text: str) -> str:
    """C4's code drops lines with a word of more than 1,000 characters between blanks."""
    return "\n".join(line for line in text.split("\n") if all(len(word) <= 1000 for word in line.split()))


def test_a_long_chinese_paragraph_is_no_long_word() -> None:
    paragraph = CHINESE.replace("\n", "") * 4
    assert len(paragraph) > 1000
    assert c4_long_words(paragraph) == ""
    assert measure(paragraph)["long-token"] < 50


def fineweb_list_ratio(text: str) -> bool:
    """FineWeb: at most .3 line ends per word."""
    return text.count("\n") / len(text.split()) <= 0.3


def test_paragraphs_of_chinese_are_no_list() -> None:
    assert not fineweb_list_ratio(CHINESE)
    assert measure(CHINESE)["few-words"] > 0
    assert measure(CHINESE + "\n" + CHINESE[::-1])["lines-per-word"] < 0.05


# Marks of ASCII.


def c4_line_ends(text: str) -> str:
    """C4 keeps lines that end in . ! ? or a quotation mark, ASCII all of them."""
    return "\n".join(line for line in text.split("\n") if line.strip().endswith((".", "?", "!", '"', "'")))


def test_ascii_sentence_marks_delete_chinese_lines() -> None:
    assert c4_line_ends(CHINESE) == ""
    assert measure(CHINESE + "\n他走了。")["few-sentence-ends"] == 1


def fineweb_line_ends(text: str) -> float:
    """FineWeb: the share of lines that end with one of datatrove's TERMINAL_PUNCTUATION; 。 is one of them, a closing quotation mark or …… is not."""
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(line.endswith(("。", "？", "！", ".", "?", "!")) for line in lines) / len(lines)


def test_chinese_dialogue_ends_its_sentences_inside_the_quotation() -> None:
    dialogue = "“你来了？”\n“来了。”\n“吃过饭没有？”\n“还没……”\n“那就坐下一起吃吧！”\n“好。”"
    assert fineweb_line_ends(dialogue) == 0
    assert measure(dialogue)["few-sentence-ends"] == 1


def redpajama_sentences(text: str) -> int:
    r"""RedPajama v2 counts sentences by \b[^.!?]+[.!?]*; C4 wants at least three."""
    return len(re.findall(r"\b[^.!?]+[.!?]*", text))


def test_full_width_marks_end_sentences() -> None:
    text = "下雨了。他没有带伞，站在屋檐下等。过了很久，雨还是没有停！怎么办呢？"
    assert redpajama_sentences(text) == 1
    assert measure(text)["few-sentences"] == 4


def gopher_bullets(text: str) -> float:
    """Gopher: lines that start with a bullet, "•" or "-"."""
    lines = text.split("\n")
    return sum(line.lstrip().startswith(("•", "-")) for line in lines) / len(lines)


def test_chinese_bullets_are_bullets() -> None:
    items = "\n".join(f"{bullet}{item}" for bullet, item in zip("●■◆※·○", ("电视", "冰箱", "空调", "洗衣机", "热水器", "油烟机"), strict=True))
    assert gopher_bullets(items) == 0
    assert measure(items)["bullets"] == 1


def ascii_ellipsis_lines(text: str) -> float:
    """Gopher, as datatrove has it: lines that end with ... or … themselves."""
    lines = text.split("\n")
    return sum(line.rstrip().endswith(("...", "…")) for line in lines) / len(lines)


def test_an_ellipsis_may_be_chinese_or_quoted() -> None:
    teasers = "医生说这种水果千万不要空腹吃。。。\n“她打开门一看……”\n专家提醒这三点很多人都做错了。。。\n“原来他就是……”\n孩子总是记不住，老师教了一个办法。。。"
    assert ascii_ellipsis_lines(teasers) == 0
    assert judge(teasers, language="zh-Hans").rule == "ellipsis-lines"


def ascii_letters(text: str) -> float:
    """RedPajama v2: the share of tokens without [a-zA-Z] among those of NLTK's WordPunctTokenizer, \\w+|[^\\w\\s]+; Gopher allows a fifth."""
    tokens = re.findall(r"\w+|[^\w\s]+", text)
    return sum(not re.search("[a-zA-Z]", token) for token in tokens) / len(tokens)


def test_han_characters_are_letters() -> None:
    assert ascii_letters(CHINESE) == 1
    assert measure(CHINESE)["few-letters"] > 0.8


# Lengths in characters of English.


def fineweb_short_lines(text: str) -> float:
    """FineWeb: lines of at most 30 characters, of which at most .67 may be."""
    lines = text.split("\n")
    return sum(len(line) <= 30 for line in lines) / len(lines)


def test_thirty_chinese_characters_are_a_sentence_not_a_short_line() -> None:
    notes = """他在旧书里发现一张一九三七年的车票
票上印着从杭州到上海三等车的字样
那一年铁路刚刚修通却很快被炸断
他想知道买票的人后来有没有上车
可是票背面只有一个铅笔写的电话号码"""
    assert fineweb_short_lines(notes) == 1
    assert measure(notes)["short-lines"] == 0


# Stop words of English, words of English.


def gopher_stop_words(text: str) -> bool:
    """Gopher: at least two of the, be, to, of, and, that, have, with."""
    return len({"the", "be", "to", "of", "and", "that", "have", "with"} & set(text.split())) >= 2


def test_chinese_has_stop_words_of_its_own() -> None:
    assert not gopher_stop_words(CHINESE)
    assert measure(CHINESE)["few-stop-words"] > 0.1


def non_alpha_tokens(text: str) -> list[str]:
    """BigCode's near-deduplication splits at NON_ALPHA, [^A-Za-z_0-9]."""
    return [token for token in re.split("[^A-Za-z_0-9]", text) if token]


def repeated_share(tokens: Sequence[str], n: int) -> float:
    """The share of n-grams that occurred before."""
    grams = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else 0.0


def test_tokens_of_ascii_do_not_see_chinese() -> None:
    spam = "想赚钱请加微信号想赚钱请加微信号" * 12
    assert non_alpha_tokens(spam) == []
    assert repeated_share(non_alpha_tokens(spam), 5) == 0
    assert not is_kept(spam, "zh-Hans")


def test_tokens_between_unicode_non_words_are_whole_clauses() -> None:
    # \W knows Han characters, but takes a clause for one word: what repeats inside clauses is not seen.
    spam = "，".join(f"{town}哪里有便宜的二手叉车出售" for town in ("北京", "上海", "广州", "深圳", "天津", "南京", "武汉", "成都", "西安", "杭州"))
    clauses = [token for token in re.split(r"\W+", spam) if token]
    assert len(clauses) == 10
    assert repeated_share(clauses, 2) == 0
    assert judge(spam, language="zh-Hans").rule in ("top-4-gram", "repeated-5-grams")


# Repetition.


def spaced_top_n_gram(words: Sequence[str], text: str, n: int) -> float:
    """datatrove's find_top_duplicate: the most common n-gram, joined with blanks, times its number, even if that is one, over the text's characters."""
    (gram, times), *_ = Counter(" ".join(words[i : i + n]) for i in range(len(words) - n + 1)).most_common(1)
    return len(gram) * times / len(text)


def test_an_n_gram_that_occurs_once_is_no_repetition() -> None:
    text = "The orchestra rehearsed Shostakovich's symphony yesterday afternoon."
    assert spaced_top_n_gram(text.split(), text, 4) > 0.16  # Gopher's limit
    assert Sample(text).n_grams.shares == [0.0] * 9


def test_blanks_between_characters_are_no_text() -> None:
    # 12 times 公司 among 168 characters cover .14; with a blank that the text does not have, .21: more than Gopher's .2.
    text = "".join("公司" + "".join(chr(0x4E00 + 37 * i + j) for j in range(12)) for i in range(12))
    assert spaced_top_n_gram(list(text), text, 2) > 0.2
    assert 12 * len("公司") / len(text) < 0.15
    assert is_kept(text, "zh-Hans", strict_without("few-sentences", "few-stop-words"))


def c4_joined_sentences(text: str) -> str:
    """datatrove's C4QualityFilter joins the sentences that it keeps with a blank when split_paragraph is off."""
    return " ".join(sentence for sentence in re.split("(?<=[。！？])", text) if sentence)


def test_cutting_joins_nothing_with_blanks() -> None:
    notice = "本网站使用Cookie来改善您的浏览体验。\n"
    text = CHINESE.replace("\n", "")
    assert c4_joined_sentences(text) != text
    assert without_cuts(notice + CHINESE, cut_lines(notice + CHINESE)) == CHINESE


def dolma_repeated_lines(text: str) -> float:
    """dolma: all lines that occur more than once, over all lines, of text.split("\\n"); Gopher allows .3."""
    times = Counter(text.split("\n"))
    return sum(number for number in times.values() if number > 1) / sum(times.values())


def test_blank_lines_are_no_duplicates() -> None:
    text = CHINESE.replace("\n", "\n\n")
    assert dolma_repeated_lines(text) > 0.3
    assert measure(text)["repeated-lines"] == 0
    assert measure(text)["repeated-paragraphs"] == 0


def test_drawn_rules_are_no_duplicates() -> None:
    text = CHINESE.replace("\n", "\n--------\n")
    assert dolma_repeated_lines(text) > 0.3
    assert measure(text)["repeated-lines"] == 0


# What is written about the web, and about code.


def c4_javascript(text: str) -> str:
    """C4 drops every line with the word "javascript"."""
    return "\n".join(line for line in text.split("\n") if "javascript" not in line.lower())


def test_an_essay_about_javascript_keeps_its_lines() -> None:
    assert c4_javascript(ENGLISH) != ENGLISH
    assert cut_lines(ENGLISH) == []
    assert [cut.rule for cut in cut_lines(f"Please enable JavaScript to view this page.\n{ENGLISH}")] == ["javascript-required"]


def c4_policy(text: str) -> str:
    """C4's code drops lines with "cookie policy", "uses cookies", "use cookies", ..."""
    signs = ("terms of use", "privacy policy", "cookie policy", "uses cookies", "use of cookies", "use cookies")
    return "\n".join(line for line in text.split("\n") if not any(sign in line.lower() for sign in signs))


def test_an_essay_about_privacy_keeps_its_lines() -> None:
    text = "Hardly anybody reads a privacy policy to its end, and the few who do seldom understand what they have agreed to when they reach it."
    assert c4_policy(text) == ""
    assert cut_lines(text) == []


def c4_curly_bracket(text: str) -> bool:
    """C4 rejects pages with a curly bracket."""
    return "{" not in text


def test_a_manual_with_code_stays() -> None:
    text = """运行之前先写好配置文件，其中 `{name}` 会被替换成你的用户名，其他内容不要改动：

```json
{"name": "{name}", "retries": 3}
```

保存之后重新启动程序即可生效。"""
    assert not c4_curly_bracket(text)
    assert is_kept(text, "zh-Hans")

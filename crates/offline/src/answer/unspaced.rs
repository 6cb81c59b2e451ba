//! Reads questions without spaces, in Chinese and Japanese.

use std::ops::Range;

use super::families::Families;
use super::question::AnswerType;
use super::words::any_word;
use crate::languages::Language;
use crate::scripts::has_no_spaces;

/// Question words and function words of Chinese and Japanese, longer ones first.
const ASKING_UNSPACED: &[&str] = &[
    "分别是多少",
    "是什么意思",
    "什么时候",
    "什麼時候",
    "多长时间",
    "什么时间",
    "什么地方",
    "什么样的",
    "是怎样的",
    "怎么样",
    "怎么办",
    "哪一年",
    "哪一天",
    "哪个月",
    "哪一个",
    "为什么",
    "為什麼",
    "有没有",
    "是不是",
    "多少个",
    "多少钱",
    "哪几个",
    "请告诉我",
    "请问",
    "請問",
    "多少",
    "多久",
    "多长",
    "多大",
    "多高",
    "多重",
    "多远",
    "多快",
    "多宽",
    "多深",
    "什么",
    "什麼",
    "怎么",
    "怎麼",
    "怎样",
    "如何",
    "为何",
    "何时",
    "何地",
    "何处",
    "何人",
    "哪里",
    "哪裡",
    "哪儿",
    "哪些",
    "哪个",
    "哪位",
    "哪年",
    "哪天",
    "哪所",
    "哪家",
    "哪座",
    "哪种",
    "哪类",
    "哪款",
    "哪几",
    "哪两",
    "哪三",
    "哪四",
    "哪五",
    "一次",
    "星期几",
    "周几",
    "几点",
    "几个",
    "几种",
    "几位",
    "几名",
    "几年",
    "几岁",
    "几级",
    "几次",
    "几月",
    "几号",
    "几",
    "每",
    "各是",
    "分别",
    "是谁",
    "谁",
    "誰",
    "吗",
    "呢",
    "哪",
    "的",
    "了",
    "在",
    "是",
    "和",
    "与",
    "與",
    "有",
    "被",
    "把",
    "于",
    "從",
    "从",
    "到",
    "就",
    "也",
    "都",
    "应该",
    "应",
    "可以",
    "能够",
    "能",
    "需要",
    "会",
    "上",
    "以及",
    "及",
    "由",
    "对",
    "列出",
    "作出",
    "做出",
    "これ",
    "それ",
    "どこ",
    "いつ",
    "だれ",
    "なに",
    "は",
    "が",
    "を",
    "に",
    "で",
    "か",
    "の",
];

/// Replaces question words and function words by spaces, byte for byte.
pub(super) fn without_asking(question: &str, language: Language) -> String {
    let mut plain = question.to_owned();
    if language == Language::Korean {
        return plain;
    }
    // In `多少本书` the counter is not a word.
    const COUNTERS: &str = "个名位座家本台辆套间种条项张只头件层次级门所册款支";
    // In `2022年每10股` the unit belongs to the number.
    let digit_before = |at: usize, plain: &str| plain[..at].ends_with(|c: char| c.is_ascii_digit());
    for unit in ["年度", "年", "月", "日", "号"] {
        let places: Vec<usize> =
            plain.match_indices(unit).map(|(at, _)| at).filter(|at| digit_before(*at, &plain)).collect();
        for at in places {
            plain.replace_range(at..at + unit.len(), &" ".repeat(unit.len()));
        }
    }
    for asking in ["多少", "几"] {
        let places: Vec<usize> = plain.match_indices(asking).map(|(at, _)| at + asking.len()).collect();
        for at in places {
            let counter = plain[at..].chars().next().filter(|c| COUNTERS.contains(*c));
            if let Some(counter) = counter {
                plain.replace_range(at..at + counter.len_utf8(), &" ".repeat(counter.len_utf8()));
            }
        }
    }
    let whole: Vec<Range<usize>> = whole_words(question).collect();
    for word in ASKING_UNSPACED {
        let places: Vec<usize> = plain.match_indices(word).map(|(at, _)| at).collect();
        // `有` is part of `所有权`.
        let is_part = |at: usize| {
            whole
                .iter()
                .any(|range| range.start <= at && at + word.len() <= range.end && range.len() > word.len())
        };
        for at in places.into_iter().filter(|at| !is_part(*at)) {
            plain.replace_range(at..at + word.len(), &" ".repeat(word.len()));
        }
    }
    plain
}

/// Returns the byte range of the question words of a Chinese question.
pub(super) fn asking_place(question: &str) -> Option<Range<usize>> {
    const ASKS: &[&str] = &[
        "什么时候",
        "什么时间",
        "什么地方",
        "多长时间",
        "哪一年",
        "哪一天",
        "多少",
        "什么",
        "几点",
        "哪里",
        "哪儿",
        "哪个",
        "哪家",
        "哪所",
        "哪座",
        "哪年",
        "哪天",
        "哪位",
        "哪些",
        "多久",
        "多长",
        "多大",
        "多高",
        "多重",
        "多远",
        "多快",
        "多深",
        "多宽",
        "谁",
        "几",
    ];
    ASKS.iter().find_map(|asks| question.find(asks).map(|at| at..at + asks.len()))
}

/// Returns the one-character verb next to the question words: `住` in `住在哪里`, `写` in `谁写的`.
pub(super) fn verb_beside(asking: &str, asks: &Range<usize>) -> Option<Range<usize>> {
    const NO_VERBS: &str = "里中内上下前后外间个次年月日时名种等最共很更要让给吧人地天点钱本家大小多少高低长短快慢早晚好重远近深宽厚做叫干当用说";
    let place = |at: usize, c: char| Some(at..at + c.len_utf8()).filter(|_| !NO_VERBS.contains(c));
    let before = asking[..asks.start].char_indices().rev().find(|(_, c)| *c != ' ');
    let behind = asking[asks.end..].chars().next().filter(|c| has_no_spaces(c.encode_utf8(&mut [0; 4])));
    match before {
        Some((at, c)) if asks.start - at <= 2 * c.len_utf8() => place(at, c),
        None => behind.and_then(|c| place(asks.end, c)),
        Some(_) => None,
    }
}

/// Returns the offset of the class word of a Chinese question: `部件` in `哪些部件`.
pub(super) fn class_place(question: &str) -> Option<usize> {
    const COUNTERS: [char; 10] = ['种', '类', '个', '位', '家', '项', '条', '名', '所', '座'];
    let (at, asks) =
        ["哪些", "哪几", "哪两", "哪三", "哪四", "哪五", "哪个", "哪种", "哪款", "哪家", "哪所", "哪座"]
            .iter()
            .find_map(|asks| Some((question.find(asks)?, asks)))?;
    let behind = &question[at + asks.len()..];
    Some(question.len() - behind.trim_start_matches(COUNTERS).len())
}

/// Returns the ranges of words that contain a character which is a question or function word elsewhere.
fn whole_words(question: &str) -> impl Iterator<Item = Range<usize>> {
    const WHOLE: &str = "所有权 所有者 所有人 有限 有效 有机 有害 会议 会员 会计 会长 社会 协会 机会 大会 委员会 学会 理事会 上海 上市 网上 线上 上级 对象 \
        对手 对外 对齐 自由 理由 到期 从业 和平 共和 饱和 参与 在线 存在 现在 成都 首都 都市 就业 成就 普及 涉及 应用 响应 反应 供应 适应 效应 应力 了解 \
        目的 几何 把手 由来 路由 有理数 对比 对话 绝对 相对 针对 面对 会话 会场 会费 聚会 上下文 上传 上限 以上 上班 上课 晚上 早上 上午 从事 从属 是非 于是 \
        能源 能力 功能 性能 智能 节能 可能 技能 能量 太阳能 电能 职能 每股 每日 各地 各种 各类 与会 关于 由于 对于 把握 被子 就是 也许 都会";
    const CHARS: Range<usize> = 2..9;
    // `住在` in `住在哪里` is a verb and a preposition, and `谁出钱` is a question.
    let is_word = |word: &str| {
        !word.ends_with(['在', '于', '到'])
            && !word.contains(['谁', '哪', '几', '么', '吗', '怎', '多', '何'])
    };
    let families = Families::of(Language::Chinese);
    let listed = WHOLE.split_whitespace();
    let listed = listed.flat_map(|word| question.match_indices(word).map(|(at, word)| at..at + word.len()));
    let ends = |at: usize| question[at..].char_indices().map(move |(from, c)| at + from + c.len_utf8());
    let pieces = question
        .char_indices()
        .flat_map(move |(at, _)| ends(at).skip(CHARS.start - 1).take(CHARS.len()).map(move |end| at..end));
    listed.chain(pieces.filter(move |piece| {
        let word = &question[piece.clone()];
        is_word(word) && families.contains(word)
    }))
}

/// True if a word without spaces is too common to be specific.
pub(super) fn is_common_unspaced(word: &str) -> bool {
    const COMMON: &str = "公司 问题 情况 时候 时间 名字 名称 叫做 主要 本机 产品 使用 进行 要求 目前 现在 大概 一共 总共 东西 事情 文件 文档 表示 年度";
    any_word(COMMON, word)
}

/// Returns the answer type of a question without spaces, and whether it asks for several things.
pub(super) fn unspaced_answer_type(text: &str) -> (AnswerType, bool) {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let many =
        has(&["哪些", "有哪", "哪几", "哪两", "哪三", "哪四", "哪五", "列出", "步骤是", "分别是", "どんな"]);
    let answer_type = if has(&["为什么", "為什麼", "为何", "为啥", "原因", "怎么会", "なぜ", "왜"])
    {
        AnswerType::Reason
    } else if many {
        AnswerType::Thing
    } else if has(&[
        "什么时候",
        "什麼時候",
        "何时",
        "何時",
        "哪年",
        "哪一年",
        "哪天",
        "星期几",
        "周几",
        "几点",
        "哪一天",
        "哪个月",
        "几月",
        "几号",
        "什么时间",
        "日期",
        "いつ",
        "何年",
        "언제",
    ]) {
        AnswerType::Time
    } else if has(&["多少钱", "多长", "多久", "多高", "多重", "多远", "多宽", "多深", "多快", "几岁", "多大"])
    {
        AnswerType::Amount { measured: true }
    } else if has(&[
        "多少",
        "几个",
        "几位",
        "几名",
        "几级",
        "几种",
        "几年",
        "几次",
        "几",
        "百分之",
        "いくつ",
        "どのくらい",
        "얼마",
        "몇",
    ]) {
        AnswerType::Amount { measured: false }
    } else if has(&["谁", "誰", "哪位", "何人", "だれ", "누가", "누구"]) {
        AnswerType::Person
    } else if has(&[
        "哪里",
        "哪裡",
        "哪儿",
        "何处",
        "何地",
        "在哪",
        "哪个城市",
        "哪座城市",
        "哪个国家",
        "哪个省",
        "什么地方",
        "地址",
        "どこ",
        "어디",
    ]) {
        AnswerType::Place
    } else if has(&["怎么", "怎麼", "怎样", "如何", "怎么办", "どうやって", "어떻게"]) {
        AnswerType::Manner
    } else if text.contains("什么是")
        || has(&["是什么意思", "的定义", "指什么", "とは何"])
        || text.trim_end_matches(['?', '？']).ends_with("是什么") && !text.contains('的')
    {
        AnswerType::Meaning
    } else if has(&["吗", "是否", "有没有"]) {
        AnswerType::Truth
    } else {
        AnswerType::Thing
    };
    (answer_type, many)
}

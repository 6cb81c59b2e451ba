//! Decides whether a line contains the requested number, in a fitting unit.

use super::kinds::{is_new, is_year, new_numbers};
use super::lines::{Line, LineForm, Word};
use super::question::ParsedQuestion;
use super::roots::likeness;
use super::words::{self, any_word};
use crate::languages::Language;
use crate::lexicon::is_month;
use crate::scripts::has_no_spaces;

/// Nouns that ask for the measure among whose words they are.
const MEASURING_NOUNS: &str = "height weight gewicht length länge duration dauer depth width breite tiefe distance entfernung temperature \
    temperatur speed geschwindigkeit";

/// Returns the measuring word of a noun: `tall` for `height`.
pub(super) fn measure_of_noun(noun: &str) -> Option<&'static str> {
    let (words, ..) =
        MEASURES.iter().find(|(_, cues, _)| any_word(MEASURING_NOUNS, noun) && any_word(cues, noun))?;
    words.split(' ').next()
}

/// Maximum number of words between a number and the counted noun.
const COUNTED_WORDS: usize = 4;

/// For each measuring word: the words that express the measure, and its dimensions.
const MEASURES: &[(&str, &str, &str)] = &[
    ("long lang", "long length lang länge", "length"),
    ("lasting lange", "long last lasts lasted duration dauert dauerte dauer lang lange", "time length"),
    ("tall", "tall height", "length"),
    ("high hoch", "tall high height hoch höhe", "length money heat pressure share"),
    ("loud noisy laut", "loud noise noisy sound laut lautstärke geräusch schallpegel", "sound"),
    ("powerful", "power powerful", "power"),
    ("bright", "bright brightness light", "light"),
    ("多少钱", "价格 售价 价钱 票价 费用", "money"),
    ("多重", "重量 净重 体重 毛重 重", "weight"),
    ("多长时间 多久", "历时 期限", "time"),
    ("多长", "全长 长度 长", "length time"),
    ("多高", "高度 身高 海拔 高", "length"),
    ("多深", "深度 深", "length"),
    ("多宽", "宽度 宽", "length"),
    ("多远", "距离 相距 远", "length"),
    ("多快", "速度 时速", "length"),
    ("多大", "面积 容量 大小 年龄 适用", "area volume age length weight"),
    ("old alt", "old age aged alt alter jährige jähriger jährigen", ""),
    (
        "large big small groß klein",
        "large big size area small groß größe fläche klein",
        "length volume weight money data area",
    ),
    ("far weit", "far distance away weit entfernt entfernung off", "length time"),
    ("deep tief wide breit thick dick", "deep depth tief tiefe wide width breit breite thick", "length"),
    ("heavy schwer", "heavy weigh weighs weighed weight schwer wiegt gewicht", "weight"),
    ("fast quickly schnell slow", "fast speed quick schnell geschwindigkeit", "length time speed"),
    ("often häufig oft", "often every times once twice oft häufig alle mal jede jeden", "time"),
    ("expensive teuer", "cost costs price worth fee expensive teuer kostet kostete preis", "money"),
    ("hot cold warm", "hot cold warm temp temperature temperatur degrees grad", "heat"),
    ("late spät soon", "late until spät bis within", "time"),
    ("strong stark", "strong force stark stärke", "weight"),
    (PHONE, PHONE_CUES, ""),
];

/// The measuring word of a question for a phone number, which no dimension has, and the words before such a number.
pub(super) const PHONE: &str = "phone";
const PHONE_CUES: &str =
    "phone telephone mobile tel ext extension call ring telefon durchwahl rufnummer 电话 分机 手机";

/// Measuring words that ask for a frequency, and the words that say one without a number.
const FREQUENT: &str = "often häufig oft";
const FREQUENCIES: &str = "hourly daily nightly weekly fortnightly monthly quarterly annually yearly biennially once twice \
    stündlich täglich nächtlich wöchentlich monatlich vierteljährlich halbjährlich jährlich";

/// Measuring words that ask for a duration, the words before its end, and words for a duration without end.
const LASTING_MEASURES: &str = "lasting lange";
const UNTIL: &str = "until till bis";
const ENDLESS: &str = "indefinitely permanently forever unbegrenzt unbefristet dauerhaft";

/// Units by dimension.
const DIMENSIONS: &[(&str, &str)] = &[
    (
        "length",
        "feet foot ft metre metres meter meters m km kilometre kilometres kilometer kilometers mile miles inch inches cm centimetre centimetres centimeter centimeters mm millimetre millimetres millimeter millimeters yard yards metern zentimeter meile meilen",
    ),
    (
        "time",
        "second seconds minute minutes hour hours day days week weeks month months year years sekunde sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren times old",
    ),
    (
        "weight",
        "kg kilogram kilograms kilo kilos g gram grams pound pounds tonne tonnes ton tons ounce ounces gramm tonnen pfund kilogramm",
    ),
    (
        "money",
        "euro euros dollar dollars crown crowns pounds pence cents taler mark franken francs shilling shillings yuan yen rupees eur usd gbp chf",
    ),
    (
        "data",
        "kb mb gb tb pb kib mib gib tib byte bytes kilobytes megabytes gigabytes terabytes megabyte gigabyte terabyte",
    ),
    ("speed", "mph kph km/h kmh knots stundenkilometer"),
    ("volume", "litre litres liter liters l ml gallon gallons"),
    ("area", "hectares acres square hektar quadratmeter percent prozent"),
    ("heat", "degrees grad celsius"),
    ("pressure", "bar hpa psi pascal"),
    ("share", "percent prozent"),
    ("sound", "db decibel decibels dezibel"),
    ("power", "w kw watt watts hp horsepower ps"),
    ("light", "lumen lumens lux"),
];

/// The same for Chinese units, directly after a number.
const DIMENSIONS_CHINESE: &[(&str, &[&str])] = &[
    ("money", &["元", "块", "毛", "角", "分钱", "美元", "欧元", "港元", "文"]),
    ("weight", &["千克", "公斤", "克", "斤", "吨", "kg", "g"]),
    ("time", &["年", "个月", "天", "周", "星期", "小时", "个小时", "分钟", "秒", "日"]),
    ("length", &["米", "公里", "千米", "厘米", "毫米", "里", "m", "km", "cm", "mm"]),
    ("area", &["平方", "亩", "公顷", "㎡"]),
    ("volume", &["升", "毫升", "立方", "l", "ml", "gb", "mb"]),
    ("age", &["岁", "周岁"]),
];

/// Units of no dimension above, and words that follow a number as units do. `94 per cent` is no money.
const OTHER_UNITS: &str = "volt volts cubic windstärke per cent age mal";

/// True if a lowercase word is a unit, of any dimension.
pub(super) fn is_unit(word: &str) -> bool {
    DIMENSIONS.iter().any(|(_, units)| any_word(units, word)) || any_word(OTHER_UNITS, word)
}

pub(super) fn holds_amount(question: &ParsedQuestion, line: &Line<'_>, measured: bool) -> bool {
    if let Some(measure) = question.measure.as_deref().filter(|_| has_no_spaces(line.text)) {
        return measures_unspaced(question, measure, line.text);
    }
    if has_no_spaces(line.text) {
        const COUNTS: &str = "个名位座家人年月天次级种条项倍吨米克元万亿周日分秒小層层套台部辆艘岁册本份公平";
        if let Some(units) = units_of_question(&question.lower) {
            const BEFORE: &str = "一二两三四五六七八九十百千万亿半余多几个 ";
            let counts = |before: &str| before.ends_with(|c: char| c.is_ascii_digit() || BEFORE.contains(c));
            let is_value = line.form == LineForm::Row && new_numbers(question, line.text).next().is_some();
            return is_value
                || units
                    .iter()
                    .any(|unit| line.text.match_indices(*unit).any(|(at, _)| counts(&line.text[..at])));
        }
        let in_words = line.text.char_indices().any(|(at, c)| {
            let next = line.text[at + c.len_utf8()..].chars().next();
            "一二两三四五六七八九十百千半".contains(c) && next.is_some_and(|next| COUNTS.contains(next))
        });
        let is_date = |behind: &&str| (behind.starts_with('年') && !measured) || behind.starts_with('月');
        return new_numbers(question, line.text).any(|(_, behind)| !is_date(&behind)) || in_words;
    }
    if question.measure.as_deref().is_some_and(|measure| any_word(LASTING_MEASURES, measure))
        && lasts_until(line)
    {
        return true;
    }
    let asks_how_often = question.measure.as_deref().is_some_and(|measure| any_word(FREQUENT, measure));
    if asks_how_often && line.words.iter().any(|word| any_word(FREQUENCIES, &word.lower)) {
        return true;
    }
    // `3. The frame was closed` counts nothing.
    let numbered = line.text.starts_with(|c: char| c.is_ascii_digit())
        && [". ", ") "]
            .iter()
            .any(|mark| line.text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(mark));
    let first = line.label_words.max(usize::from(numbered));
    line.words.iter().enumerate().skip(first).any(|(at, word)| {
        if !is_new(question, word) {
            return false;
        }
        let behind = || line.words.iter().skip(at + 1).take(COUNTED_WORDS);
        let has_unit = || {
            behind().take(2).any(|next| is_unit(&next.lower))
                || self::behind(line, at).starts_with(['%', '€', '$', '£', '°'])
        };
        // `Two young Cratchits` counts nothing that a question about Bob Cratchit asks for.
        let counts = || behind().any(|next| question.has_besides_names(next));
        // In `Chapter 3, a mast with sails`, nothing is counted.
        let is_one_phrase = |next: &Word<'_>| {
            let between = line.text.get(word.at + word.text.len()..next.at).unwrap_or_default();
            !between.contains([',', ';', ':', '('])
        };
        if let Some(counted) = question.counted.and_then(|counted| question.terms.get(counted)) {
            let counts_people = any_word(words::COUNTED_PEOPLE, &counted.word);
            let is_counted = |next: &Word<'_>| {
                counted.is_word(next) || counts_people && any_word(words::PEOPLE, &next.lower)
            };
            let before = line.words[..at].iter().rev().take(2).any(is_counted);
            let is_counted = |next: &Word<'_>| {
                is_counted(next) || likeness(question.language, &counted.root, &next.root) > 0.0
            };
            // `the 1990s in libraries` and `30 days in libraries` count no libraries.
            // `27 days of leave` count leave.
            let is_amount_of = behind().nth(1).is_some_and(|of| of.lower == "of");
            let of_other = !is_amount_of
                && behind().next().is_some_and(|next| !is_counted(next) && is_unit(&next.lower))
                || is_year(word.lower.trim_end_matches("er")) && !behind().next().is_some_and(is_counted);
            return word.is_number()
                && !(of_other && line.form != LineForm::Row)
                && (behind().any(|next| is_counted(next) && is_one_phrase(next))
                    || before
                    || (line.form == LineForm::Row && !is_year(&word.lower)));
        }
        if let Some(measure) = &question.measure {
            return word.is_number() && measures(measure, line, at);
        }
        if word.has_digit() {
            // `icinga2` and `Icinga 2` are names.
            let is_of_name = || {
                let before = at.checked_sub(1).map(|before| &line.words[before]);
                before.is_some_and(|before| {
                    let gap = line.text.get(before.at + before.text.len()..word.at);
                    at > first + 1
                        && before.is_capital()
                        && gap == Some(" ")
                        && question.language == Language::English
                })
            };
            // A bare year and the day of a date count nothing.
            return has_unit()
                || counts()
                || !is_year(&word.lower)
                    && !is_of_date(line, at)
                    && word.text.starts_with(|c: char| c.is_ascii_digit())
                    && !is_of_name();
        }
        any_word(words::NUMBERS, &word.lower) && (has_unit() || counts())
    })
}

/// True if the number at `at` is the day of a date or a time of day: `28 December`, `December 28`, `10 am`.
fn is_of_date(line: &Line<'_>, at: usize) -> bool {
    let is_month = |word: &Word<'_>| is_month(&word.lower) && word.is_capital();
    at.checked_sub(1).is_some_and(|before| is_month(&line.words[before]))
        || line.words.get(at + 1).is_some_and(|next| is_month(next) || any_word("am pm", next.text))
}

/// True if a line says until when something lasts, or that it has no end: `until 31 December`.
fn lasts_until(line: &Line<'_>) -> bool {
    const NEAR: usize = 3;
    let is_end = |word: &Word<'_>| word.has_digit() || words::is_time(&word.lower);
    (0..line.words.len()).any(|at| {
        let behind = line.words.iter().skip(at + 1).take(NEAR);
        any_word(ENDLESS, &line.words[at].lower)
            || any_word(UNTIL, &line.words[at].lower) && behind.into_iter().any(is_end)
    })
}

/// Returns the units of the number that a Chinese question asks for: those of time for `几个月`, `本` and `册` for `多少本书`.
fn units_of_question(question: &str) -> Option<Vec<&'static str>> {
    const COUNTERS: &[&str] = &[
        "岁",
        "种",
        "次",
        "层 楼",
        "级",
        "件",
        "名 位 人 个",
        "本 册 部",
        "台 套 部 辆",
        "栋 座 幢",
        "棵 株",
        "张",
        "只 头 匹 条",
        "艘 条",
    ];
    // These characters begin other words more often: `里程`, `文件`.
    const AMBIGUOUS: [&str; 8] = ["里", "文", "角", "毛", "块", "m", "g", "l"];
    let behind =
        ["多少", "几"].into_iter().filter_map(|asking| question.split_once(asking).map(|(_, behind)| behind));
    behind.into_iter().find_map(|behind| {
        let begins = |unit: &&str| behind.starts_with(*unit) && !AMBIGUOUS.contains(unit);
        let dimension = DIMENSIONS_CHINESE.iter().find(|(_, units)| units.iter().any(begins));
        let counter = COUNTERS.iter().find(|units| units.split(' ').any(|unit| behind.starts_with(unit)));
        dimension.map(|(_, units)| units.to_vec()).or_else(|| counter.map(|units| units.split(' ').collect()))
    })
}

/// True if a number of a Chinese line has a unit of the requested measure.
fn measures_unspaced(question: &ParsedQuestion, measure: &str, text: &str) -> bool {
    const DIGITS: &str = "一二两三四五六七八九十百千半";
    if measure == PHONE {
        const MIN_DIGITS: usize = 3;
        let groups = text.split(|c: char| !c.is_ascii_digit() && c != '-');
        let is_cued = PHONE_CUES.split_whitespace().any(|cue| text.contains(cue));
        let longest = groups.map(|group| group.chars().filter(char::is_ascii_digit).count()).max();
        return longest.is_some_and(|digits| digits >= if is_cued { MIN_DIGITS } else { 2 * MIN_DIGITS + 1 });
    }
    let Some((_, _, dimensions)) = MEASURES.iter().find(|(words, _, _)| any_word(words, measure)) else {
        return true;
    };
    let dimensions = DIMENSIONS_CHINESE.iter().filter(|(dimension, _)| any_word(dimensions, dimension));
    let units: Vec<&str> = dimensions.flat_map(|(_, units)| units.iter().copied()).collect();
    let lower = text.to_lowercase();
    // `8万元`
    const SCALES: [char; 8] = ['百', '千', '万', '亿', '十', '多', '余', '个'];
    let is_unit = |behind: &str| {
        let bare = behind.trim_start().trim_start_matches(SCALES);
        units.iter().any(|unit| behind.trim_start().starts_with(unit) || bare.starts_with(unit))
    };
    let in_words =
        lower.char_indices().any(|(at, c)| DIGITS.contains(c) && is_unit(&lower[at + c.len_utf8()..]));
    // `每周` expresses a frequency.
    let often = lower.match_indices('每').any(|(at, every)| is_unit(&lower[at + every.len()..]));
    // `1951年` is a date.
    let is_date = |number: &str, behind: &str| is_year(number) && behind.starts_with('年');
    let is_measure = |(number, behind): (&str, &str)| is_unit(behind) && !is_date(number, behind);
    new_numbers(question, &lower).any(is_measure) || in_words || often
}

/// True if the number at `at` is the one that `measure` asks for, judged by its unit or by a cue word.
fn measures(measure: &str, line: &Line<'_>, at: usize) -> bool {
    const NEAR: usize = 3;
    let Some((_, cues, dimensions)) = MEASURES.iter().find(|(words, _, _)| any_word(words, measure)) else {
        return true;
    };
    let units = || DIMENSIONS.iter().filter(|(dimension, _)| any_word(dimensions, dimension));
    let is_unit_of_measure = |word: &Word<'_>| units().any(|(_, units)| any_word(units, &word.lower));
    if measure == PHONE {
        return is_phone_number(line, at);
    }
    if any_word(dimensions, "money") && has_currency(line, at)
        || any_word(dimensions, "heat") && behind(line, at).starts_with(['°', '℃', '℉'])
    {
        return true;
    }
    let unit = (at + 1..line.words.len().min(at + 3)).find(|at| is_unit_of_measure(&line.words[*at]));
    // `every eight weeks` is no duration.
    let is_frequency =
        || at.checked_sub(1).is_some_and(|at| any_word("every each alle", &line.words[at].lower));
    // `Six weeks later` says when something happened, not how long it is or lasts.
    let is_interval = || {
        unit.and_then(|unit| line.words.get(unit + 1))
            .is_some_and(|next| any_word("ago earlier later früher später", &next.lower))
            || at.checked_sub(1).is_some_and(|at| line.words[at].lower == "vor")
    };
    if any_word(LASTING_MEASURES, measure) && (is_frequency() || is_interval()) {
        return false;
    }
    // In `three feet of snow`, the snow is measured.
    let of_other = |unit: usize| {
        line.words.get(unit + 1).is_some_and(|of| any_word("of", &of.lower)) && !has_cue(cues, line)
    };
    if unit.is_some_and(of_other) {
        return false;
    }
    // `74 metres long` says nothing about a width.
    let is_other = |word: &Word<'_>| {
        MEASURES.iter().any(|(_, other_cues, of)| {
            of == dimensions && *other_cues != *cues && any_word(other_cues, &word.lower)
        })
    };
    let near = line.words.iter().skip(at + 1).take(NEAR);
    if near.into_iter().any(is_other) && !has_cue(cues, line) {
        return false;
    }
    if unit.is_some() {
        return true;
    }
    // `two inches taller` is not an age, and a distant cue word belongs to something else.
    let has_other_unit =
        line.words.iter().skip(at + 1).take(2).any(|next| is_unit(&next.lower)) && !dimensions.is_empty();
    let near = &line.words[at.saturating_sub(NEAR)..line.words.len().min(at + 1 + NEAR)];
    // `32 years old` is an age, `one old ghost` is not.
    let next = line.words.get(at + 1).filter(|next| next.lower != measure);
    let has_unit = next.is_some_and(|next| is_unit(&next.lower));
    let tells = |word: &Word<'_>| any_word(cues, &word.lower) && (word.lower != measure || has_unit);
    let is_cued = match line.form {
        LineForm::Prose if dimensions.is_empty() => near.iter().any(tells),
        LineForm::Prose => near.iter().any(|word| any_word(cues, &word.lower)),
        _ => has_cue(cues, line),
    };
    !is_year(&line.words[at].lower) && !has_other_unit && is_cued
}

/// True if a phone number begins at `at`: groups of digits, many of them, or some after a word such as `extension`.
fn is_phone_number(line: &Line<'_>, at: usize) -> bool {
    const MIN_DIGITS: usize = 6;
    const MIN_DIGITS_OF_EXTENSION: usize = 2;
    const NEAR: usize = 3;
    let is_group = |word: &Word<'_>| word.text.chars().all(|c| c.is_ascii_digit());
    let joins = |pair: &[Word<'_>]| {
        let gap = line.text.get(pair[0].at + pair[0].text.len()..pair[1].at).unwrap_or_default();
        gap.chars().all(|c| " -/().+".contains(c)) && is_group(&pair[1])
    };
    let groups = 1 + line.words[at..].windows(2).take_while(|pair| joins(pair)).count();
    let digits: usize = line.words[at..at + groups].iter().map(|word| word.text.len()).sum();
    let is_cued =
        line.words[at.saturating_sub(NEAR)..at].iter().any(|word| any_word(PHONE_CUES, &word.lower));
    is_group(&line.words[at]) && (digits >= MIN_DIGITS || is_cued && digits >= MIN_DIGITS_OF_EXTENSION)
}

/// Returns the text behind the word at `at`, without the space before it.
fn behind<'t>(line: &Line<'t>, at: usize) -> &'t str {
    line.text[line.words[at].at + line.words[at].text.len()..].trim_start()
}

/// True if a currency sign is next to the number at `at`: `$ 4.2 million`.
fn has_currency(line: &Line<'_>, at: usize) -> bool {
    const SIGNS: [char; 6] = ['$', '€', '£', '¥', '₹', '￥'];
    line.text[..line.words[at].at].trim_end().ends_with(SIGNS) || behind(line, at).starts_with(SIGNS)
}

/// True if a unit or a currency sign is next to the number at `at`.
pub(super) fn has_unit(line: &Line<'_>, at: usize) -> bool {
    has_currency(line, at) || line.words.get(at + 1).is_some_and(|next| is_unit(&next.lower))
}

/// True if a line contains an amount of money.
pub(super) fn holds_money(line: &Line<'_>) -> bool {
    const MEASURE: &str = "expensive";
    !measured_places(MEASURE, line).is_empty()
}

/// Returns the positions of the numbers in a line that `measure` asks for.
pub(super) fn measured_places(measure: &str, line: &Line<'_>) -> Vec<usize> {
    (0..line.words.len()).filter(|at| line.words[*at].is_number() && measures(measure, line, *at)).collect()
}

/// True if a line gives a value after a label for the requested measure: `Weight: 3 kg`.
pub(super) fn labels_measure(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    const MAX_CHARS: usize = 30;
    let Some((label, value)) = line.text.split_once([':', '：']) else { return false };
    let Some(measure) = &question.measure else { return false };
    let cues = MEASURES.iter().find(|(words, _, _)| any_word(words, measure));
    let is_cued = |cues: &str| match has_no_spaces(line.text) {
        true => cues.split_whitespace().any(|word| label.contains(word)),
        false => {
            line.words.iter().take_while(|word| word.at < label.len()).any(|word| any_word(cues, &word.lower))
        }
    };
    label.chars().count() <= MAX_CHARS
        && !value.trim().is_empty()
        && cues.is_some_and(|(_, cues, _)| is_cued(cues))
}

fn has_cue(cues: &str, line: &Line<'_>) -> bool {
    if has_no_spaces(line.text) {
        return cues.split_whitespace().any(|word| line.text.contains(word));
    }
    line.words.iter().any(|word| any_word(cues, &word.lower))
}

/// True if a line contains a cue word for the requested measure.
pub(super) fn mentions_measure(question: &ParsedQuestion, line: &Line<'_>) -> bool {
    let Some(measure) = &question.measure else { return false };
    let cues = MEASURES.iter().find(|(words, _, _)| any_word(words, measure));
    cues.is_some_and(|(_, cues, _)| has_cue(cues, line))
}

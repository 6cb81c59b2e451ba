//! The words by which questions and sentences are understood.

use std::ops::Range;

use super::super::languages::Language;
use super::asked::Wants;

/// Whether `word` is one of a list.
pub(super) fn any_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_whitespace().any(|other| other == word)
}

/// After `how`: what is measured.
pub(super) const MEASURES_ENGLISH: &str = "long old tall high large big small far deep wide heavy loud noisy bright powerful fast often thick expensive hot cold strong late soon quickly slow";
pub(super) const MEASURES_GERMAN: &str = "lang lange alt groß hoch weit breit tief schwer laut schnell oft häufig teuer warm stark klein dick spät";

pub(super) const AMOUNTS_ENGLISH: &str = "price prices cost costs rate number amount percentage share population size length height width \
    depth weight area distance speed temperature revenue income profit turnover salary allowance budget capacity age duration voltage \
    power score total fee fine tax ratio count sum wage loss sales range diameter volume density pressure";
pub(super) const TIMES_ENGLISH: &str =
    "days dates months year years date day month century decade time deadline hour weekday season birthday";
pub(super) const PLACES_ENGLISH: &str =
    "city town country village place location county state continent region province birthplace hometown";
pub(super) const PERSONS_ENGLISH: &str = "person man woman author writer director founder president chairman chairwoman ceo mayor inventor \
    designer architect engineer king queen nephew niece uncle aunt wife husband partner clerk scientist biologist researcher poet \
    novelist economist owner manager minister";

pub(super) const AMOUNTS_GERMAN: &str = "preis preise kosten zahl anzahl höhe länge breite tiefe gewicht fläche größe geschwindigkeit temperatur umsatz \
    gewinn gehalt beitrag jahresbeitrag alter dauer leistung anteil einwohnerzahl entfernung menge betrag summe prozent";
pub(super) const TIMES_GERMAN: &str =
    "jahr jahre jahren datum tag tage tagen monat jahrhundert uhrzeit uhr zeitpunkt termin";
pub(super) const PLACES_GERMAN: &str =
    "stadt ort land dorf gemeinde region provinz bundesland geburtsort sitz";

pub(super) const ASKING_GERMAN: &str = "wer wen wem wessen wann wo woher wohin warum wieso weshalb weswegen wieviel wieviele wie was woran woraus \
    womit wovon wofür wodurch wozu";
pub(super) const VERBS_FIRST_GERMAN: &str = "ist sind war waren hat haben hatte hatten wird werden wurde wurden kann können darf dürfen muss müssen gibt";
pub(super) const PLURAL_VERBS_GERMAN: &str = "sind waren haben hatten werden wurden gehören gehörten gibt gab können müssen dürfen nahmen kamen stehen standen braucht brauche";
/// English words too common to tell much in a question.
pub(super) const COMMON_ENGLISH: &str = "name names named call called tell give given show find explain mean means meaning say said know known thing things way ways \
    kind kinds type types sort many much more most less least different used use using make made makes get got gets go goes went come came take took people \
    person please document documents text example actually really often usually well still even now today good great important year years \
    date day days time times place places part parts number numbers currently exactly question answer department team company firm new old next other others further additional also ever both whole entire";
/// German words too common to tell much.
pub(super) const COMMON_GERMAN: &str = "gibt gab geben name namen heißt heißen jahr jahre jahren tag tage ort orte stadt mensch menschen person personen art arten \
    teil teile zahl anzahl genau eigentlich ungefähr wichtig wichtigsten ersten erste erster erstes letzte letzten neu neue neuen neuer alt alte alten groß große \
    man soll sollte macht machen gemacht tun tut viel viele mal zeit dokument dokumente text frage dort damals meisten";

/// Words behind which a reason stands.
pub(super) const REASONS: &[&str] = &[
    " because",
    " after a ",
    " after an ",
    "nachdem ",
    "due to",
    "therefore",
    "so that",
    " as a result",
    "thanks to",
    "owing to",
    "the reason",
    "in order to",
    "caused by",
    "attributes",
    " weil ",
    " denn ",
    " damit ",
    "deshalb",
    "daher",
    "wegen ",
    "aufgrund",
    "grund ",
    "um zu ",
    ", da ",
    ", um an",
    ", um ",
    "因为",
    "由于",
    "因此",
    "所以",
    "原因",
    "为了",
    "以便",
    "导致",
    "parce que",
    "car ",
    "puisque",
    "porque",
    "ya que",
    "perché",
    "потому",
];

/// A number as a word.
pub(super) const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen \
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half twice once thrice none \
    single double zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig \
    neunzig hundert tausend million millionen einmal zweimal dreimal halb halbe dutzend deux trois quatre cinq dix vingt cent mille dos tres cuatro cinco diez ciento mil";

/// Numbers of things that a text counts before it names them.
const COUNTS: &[(&str, usize)] = &[
    ("two zwei deux dos both beide 2", 2),
    ("three drei trois tres 3", 3),
    ("four vier quatre cuatro 4", 4),
    ("five fünf cinq cinco 5", 5),
    ("six sechs seis 6", 6),
    ("seven sieben sept siete 7", 7),
    ("eight acht huit ocho 8", 8),
    ("nine neun neuf nueve 9", 9),
    ("ten zehn dix diez 10", 10),
    ("eleven elf onze once 11", 11),
    ("twelve zwölf douze doce 12", 12),
];

/// The small number that a word tells; `None` for other words and for one.
pub(super) fn count(word: &str) -> Option<usize> {
    COUNTS.iter().find(|(words, _)| any_word(words, word)).map(|(_, count)| *count)
}

/// Nouns for what is counted that tell no sort.
pub(super) const GENERAL_NOUNS: &str = "things items people persons men women boys girls children others points reasons steps ways kinds parts groups members     dinge sachen personen leute männer frauen kinder punkte gründe schritte arten teile gruppen mitglieder möglichkeiten";

/// Nouns behind `which` that tell no sort.
pub(super) const GENERIC_CLASSES: &str = "thing things item items object objects ones person persons people ding dinge sachen gegenstände personen leute";

/// Nouns for a reason.
pub(super) const REASON_NOUNS: &str = "reason reasons cause causes grund gründe ursache ursachen";

/// Verbs that only say that things belong to, are in or are at something.
pub(super) const MEMBERSHIP: &str = "include includes included contain contains belong belongs comprise comprises exist exists offer offers provide provides     gehören gehört gehörten enthalten enthält umfassen umfasst besteht bestehen bietet bieten gibt";

/// A unit of length, time, weight, money and the like, behind a number.
pub(super) const UNITS: &str = "feet foot ft metre metres meter meters m km kilometre kilometres kilometer kilometers mile miles inch inches cm centimetres \
    centimeters mm millimetre millimetres millimeters yard yards second seconds minute minutes hour hours day days week weeks month months year years \
    kg kilogram kilograms kilo kilos g gram grams pound pounds tonne tonnes ton tons ounce ounces litre litres liter liters percent per degrees \
    times mb gb kb tb watt watts volt volts old age acres hectares square cubic knots mph euro euros dollar dollars crown crowns \
    metern kilometer sekunde sekunden minute minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre \
    jahren gramm tonnen liter zentimeter millimeter grad prozent mal pfund quadratmeter hektar cent taler mark meile meilen windstärke";

/// What a word that measures may be told by, and the units it is measured in.
pub(super) const MEASURES: &[(&str, &str, &str)] = &[
    ("long lang", "long length lang länge", "length"),
    ("lasting lange", "long last lasts lasted duration dauert dauerte dauer lang lange", "time length"),
    ("tall", "tall height", "length"),
    ("high hoch", "tall high height hoch höhe", "length money heat pressure share"),
    ("loud noisy laut", "loud noise noisy sound laut lautstärke geräusch schallpegel", "sound"),
    ("powerful", "power powerful", "power"),
    ("bright", "bright brightness light", "light"),
    ("多重", "重量 净重 体重 毛重 重", "weight"),
    ("多长时间 多久", "历时 期限", "time"),
    ("多长", "全长 长度 长", "length time"),
    ("多高", "高度 身高 海拔 高", "length"),
    ("多深", "深度 深", "length"),
    ("多宽", "宽度 宽", "length"),
    ("多远", "距离 相距 远", "length"),
    ("多快", "速度 时速", "length"),
    ("多大", "面积 容量 大小 年龄 适用", "area volume age length weight"),
    ("old alt", "old age aged alt alter", ""),
    (
        "large big small groß klein",
        "large big size area small groß größe fläche klein",
        "length time weight money data area",
    ),
    ("far weit", "far distance away weit entfernt entfernung off", "length time"),
    ("deep tief wide breit thick dick", "deep depth tief tiefe wide width breit breite thick", "length"),
    ("heavy schwer", "heavy weigh weighs weighed weight schwer wiegt gewicht", "weight"),
    ("fast quickly schnell slow", "fast speed quick schnell", "length time"),
    ("often häufig oft", "often every times once twice oft häufig alle mal jede jeden", "time"),
    ("expensive teuer", "cost costs price worth value fee expensive teuer kostet kostete preis", "money"),
    ("hot cold warm", "hot cold warm temperature temperatur degrees grad", "heat"),
    ("late spät soon", "late until spät bis within", "time"),
    ("strong stark", "strong force stark stärke", "weight"),
];

/// Units by what they measure.
pub(super) const DIMENSIONS: &[(&str, &str)] = &[
    (
        "length",
        "feet foot ft metre metres meter meters m km kilometre kilometres kilometer kilometers mile miles inch inches cm centimetres mm millimetre millimetres yard yards metern zentimeter millimeter meilen",
    ),
    (
        "time",
        "second seconds minute minutes hour hours day days week weeks month months year years sekunden minuten stunde stunden tag tage tagen woche wochen monat monate monaten jahr jahre jahren times old",
    ),
    (
        "weight",
        "kg kilogram kilograms kilo kilos g gram grams pound pounds tonne tonnes ton tons ounces gramm tonnen pfund kilogramm",
    ),
    ("money", "euro euros dollar dollars crown crowns pounds cents taler mark franken"),
    ("data", "mb gb kb tb bytes"),
    ("area", "hectares acres square hektar quadratmeter percent prozent"),
    ("heat", "degrees grad celsius"),
    ("pressure", "bar hpa psi pascal"),
    ("share", "percent prozent"),
    ("sound", "db decibel decibels dezibel"),
    ("power", "w kw watt watts hp horsepower ps"),
    ("light", "lumen lumens lux"),
];

/// The same in Chinese, directly behind a number.
pub(super) const DIMENSIONS_CHINESE: &[(&str, &[&str])] = &[
    ("weight", &["千克", "公斤", "克", "斤", "吨", "kg", "g"]),
    ("time", &["年", "个月", "月", "天", "周", "星期", "小时", "个小时", "分钟", "秒", "日"]),
    ("length", &["米", "公里", "千米", "厘米", "毫米", "里", "m", "km", "cm", "mm"]),
    ("area", &["平方", "亩", "公顷", "㎡"]),
    ("volume", &["升", "毫升", "立方", "l", "ml", "gb", "mb"]),
    ("age", &["岁", "周岁"]),
];

/// Words of Chinese questions that measure; longer ones first.
pub(super) const MEASURING_UNSPACED: &[&str] =
    &["多长时间", "多久", "多重", "多长", "多高", "多深", "多宽", "多远", "多快", "多大"];

/// Nouns for what lasts.
pub(super) const LASTING: &str = "warranty guarantee trial period term contract break pause meeting course film movie flight journey trip \
    tour voyage stay visit notice session lesson wait training sentence validity lease season war reign ceremony concert";

/// Words between a name and the word before that is no other name.
pub(super) const TITLES: &str =
    "mr mrs ms miss dr prof professor sir lady lord king queen captain uncle aunt herr frau the and saint";

/// Words before a name that are no name alone.
pub(super) const ADDRESSES: &str = "mr mrs ms miss dr prof professor sir lady herr frau";

/// Nouns that only say that a number is asked for.
pub(super) const QUANTITIES: &str = "rate number amount percentage share level total figure value size sum zahl anzahl höhe betrag menge summe wert";

/// Words that only say that something is somewhere, which its place says too.
pub(super) const LOCATES: &str =
    "located situated based lies headquartered befindet befinden liegt liegen untergebracht steht";

/// Words for saying or thinking something.
pub(super) const SPEECH: &str = "say says said saying ask asks asked answer answers answered reply replies replied cry cries cried shout shouts shouted exclaim \
    exclaims exclaimed tell tells told add adds added observed remarked returned think thinks thought whisper whispers whispered sagen sagt sagte fragt fragte \
    antwortet antwortete ruft rief meint meinte dachte erzählt erzählte";

/// Whether a word denies.
pub(super) fn is_denial(word: &str) -> bool {
    const DENIALS: &str = "off unavailable no not none never nobody nothing neither nor without except cannot nicht nie niemals niemand nichts ohne außer";
    any_word(DENIALS, word) || word.ends_with("n't") || word.ends_with("n’t") || word.starts_with("kein")
}

/// A word that tells when something is.
pub(super) const TIMES: &str = "january february march april may june july august september october november december monday tuesday \
    wednesday thursday friday saturday sunday noon midnight dawn morning evening afternoon spring summer autumn winter yesterday today \
    tomorrow century christmas easter januar februar märz april mai juni juli august september oktober november dezember montag dienstag mittwoch \
    donnerstag freitag samstag sonntag mittag mitternacht frühling sommer herbst winter jahrhundert weihnachten ostern o'clock uhr \
    days weeks months years hours minutes ago quarter when tagen wochen monaten jahren tage";

/// Words before a place.
pub(super) const BEFORE_PLACES: &str = "in at near from of to on above under behind beside inside outside between at into through across along around toward \
    towards room floor aus bei nach an auf über unter neben hinter vor zu zur zum im am à dans près en de sur";

/// Words that stand for what a sentence before names.
pub(super) const PRONOUNS: &str = "he she it they him her his hers its their theirs them this these that such er sie es ihn ihm ihr ihre ihren ihrem ihrer sein seine seinen \
    seinem seiner dieser diese dieses diesem diesen dessen deren dort dabei dazu davon damals daraufhin then there il elle ils elles ce cette él ella";

/// Words by which speakers speak of themselves.
pub(super) const SPEAKERS: &str =
    "i i'm i'll i've i'd me my mine myself ich mich mir mein meine meinen meinem meiner";

/// Nouns that name a person or body by what it is to others or does.
pub(super) const ROLES: &str = "grandfather grandmother grandson granddaughter mother father brother sister son daughter uncle aunt cousin nephew niece wife husband \
    friend neighbour neighbor teacher pupil student students baker smith blacksmith captain cook chef king queen mayor farmer nurse doctor officer \
    soldier sailor priest bishop gardener driver keeper caretaker shepherd fisherman thief policeman inspector technician county council city state government \
    university ministry donors volunteers members parents tenants residents customers company großvater großmutter mutter vater bruder schwester \
    sohn tochter onkel tante freund freundin lehrer lehrerin schüler bäcker schmied kapitän koch köchin könig königin bürgermeister bürgermeisterin \
    bauer arzt ärztin pfarrer gärtner fahrer hausmeister stadt gemeinde land landkreis verein mitglieder vorsitzende vorsitzenden kassenwart vorstand";

/// Words for the most that something may be, and what says so.
pub(super) const LIMITS: &[(&str, &[&str])] = &[
    (
        "maximum max maximal most longest largest limit limited upper höchstens maximale maximalen höchste größte 最长 最多 最大 最高 上限",
        &[
            "at most",
            "up to",
            "no more than",
            "not more than",
            "beyond",
            "maximum",
            "limited to",
            "limit",
            "max.",
            "höchstens",
            "maximal",
            "bis zu",
            "nicht mehr als",
            "不超过",
            "不要超过",
            "不得超过",
            "不能超过",
            "最多",
            "最长",
            "最大",
            "上限",
            "至多",
        ],
    ),
    (
        "minimum min minimal least shortest smallest mindestens minimale mindeste 最少 最低 最小 最短 至少",
        &[
            "at least",
            "no less than",
            "minimum",
            "or more",
            "mindestens",
            "至少",
            "不少于",
            "不低于",
            "最少",
            "最低",
            "以上",
        ],
    ),
];

/// Nouns that stand for a name said before: `the company`.
pub(super) const GENERIC_NOUNS: &str = "company firm town city village island river school club association society museum library ship ferry vessel boat film \
    book novel album song device appliance machine product tool program device building bridge tower house hotel church man woman boy girl \
    author artist king queen author team group bank factory project festival event station route line service";

/// Characters and words that ask or bind in Chinese and Japanese; longer ones first.
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

/// The question with everything that only asks or binds blanked, byte for byte.
pub(super) fn without_asking(question: &str, language: Language) -> String {
    let mut plain = question.to_owned();
    if language == Language::Korean {
        return plain;
    }
    // `多少本书` counts with a character that is no word.
    const COUNTERS: &str = "个名位座家本台辆套间种条项张只头件层次级门所册款支";
    // `2022年每10股`: what counts years belongs to the number.
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

/// The bytes of the words of a Chinese question that ask for something.
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

/// Where the sort of thing begins that a Chinese question asks several of: `部件` of `哪些部件`.
pub(super) fn sort_place(question: &str) -> Option<usize> {
    const COUNTERS: [char; 10] = ['种', '类', '个', '位', '家', '项', '条', '名', '所', '座'];
    let (at, asks) = ["哪些", "哪几"].iter().find_map(|asks| Some((question.find(asks)?, asks)))?;
    let behind = &question[at + asks.len()..];
    Some(question.len() - behind.trim_start_matches(COUNTERS).len())
}

/// Where words stand that hold a character that asks or binds elsewhere.
fn whole_words(question: &str) -> impl Iterator<Item = Range<usize>> {
    const WHOLE: &str = "所有权 所有者 所有人 有限 有效 有机 有害 会议 会员 会计 会长 社会 协会 机会 大会 委员会 学会 理事会 上海 上市 网上 线上 上级 对象 \
        对手 对外 对齐 自由 理由 到期 从业 和平 共和 饱和 参与 在线 存在 现在 成都 首都 都市 就业 成就 普及 涉及 应用 响应 反应 供应 适应 效应 应力 了解 \
        目的 几何 把手 由来 路由 理由 有理数 对比 对话 绝对 相对 针对 面对 会话 会场 会费 聚会 上下文 上传 上限 以上 上班 上课 晚上 早上 上午 从事 从属 是非 于是 \
        能源 能力 功能 性能 智能 节能 可能 技能 能量 太阳能 电能 职能 每股 每日 各地 各种 各类 与会 关于 由于 对于 把握 被子 就是 也许 都会";
    let words = WHOLE.split_whitespace();
    words.flat_map(|word| question.match_indices(word).map(move |(at, _)| at..at + word.len()))
}

/// Whether a word without spaces is too common to tell much.
pub(super) fn is_common_unspaced(word: &str) -> bool {
    const COMMON: &str = "公司 问题 情况 时候 时间 名字 名称 叫做 主要 本机 产品 使用 进行 要求 目前 现在 大概 一共 总共 东西 事情 文件 文档 表示 年度";
    any_word(COMMON, word)
}

/// What a question without spaces asks for, and whether for several things.
pub(super) fn wants_unspaced(text: &str) -> (Wants, bool) {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let many = has(&["哪些", "有哪", "哪几", "列出", "步骤是", "分别是", "どんな"]);
    let wants = if has(&["为什么", "為什麼", "为何", "为啥", "原因", "怎么会", "なぜ", "왜"])
    {
        Wants::Reason
    } else if many {
        Wants::Thing
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
        Wants::Time
    } else if has(&["多长", "多久", "多高", "多重", "多远", "多宽", "多深", "多快", "几岁", "多大"])
    {
        Wants::Amount { measured: true }
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
        Wants::Amount { measured: false }
    } else if has(&["谁", "誰", "哪位", "何人", "だれ", "누가", "누구"]) {
        Wants::Person
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
        Wants::Place
    } else if has(&["怎么", "怎麼", "怎样", "如何", "怎么办", "どうやって", "어떻게"]) {
        Wants::Manner
    } else if text.contains("什么是") || has(&["是什么意思", "的定义", "指什么", "とは何"]) {
        Wants::Meaning
    } else if has(&["吗", "是否", "有没有"]) {
        Wants::Truth
    } else {
        Wants::Thing
    };
    (wants, many)
}

//! Reduces words to roots, and knows which roots say the same about two things.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use super::super::languages::Language;
use super::super::lexicon::is_stop_word;
use super::words::any_word;

/// Letters that a root keeps when an ending that makes another kind of word is cut off.
const MIN_ROOT: usize = 4;

/// Finds the roots of words of one language.
pub(super) struct Roots {
    language: Language,
    stemmer: Option<Stemmer>,
}

impl Roots {
    pub(super) fn of(language: Language) -> Self {
        let algorithm = match language {
            Language::English => Some(Algorithm::English),
            Language::German => Some(Algorithm::German),
            Language::French => Some(Algorithm::French),
            Language::Spanish => Some(Algorithm::Spanish),
            Language::Italian => Some(Algorithm::Italian),
            Language::Portuguese => Some(Algorithm::Portuguese),
            Language::Dutch => Some(Algorithm::Dutch),
            Language::Russian => Some(Algorithm::Russian),
            Language::Arabic => Some(Algorithm::Arabic),
            Language::Polish
            | Language::Ukrainian
            | Language::Persian
            | Language::Chinese
            | Language::Japanese
            | Language::Korean => None,
        };
        Self { language, stemmer: algorithm.map(Stemmer::create) }
    }

    /// The root of a word in small letters: `founder`, `founded` and `founding` have one.
    pub(super) fn root(&self, lower: &str) -> String {
        // What is carried is not what is born.
        const WHOLE: [&str; 1] = ["borne"];
        // Who found something founded nothing.
        const FORMS: [(&str, &str); 1] = [("found", "find")];
        let lower = match FORMS.iter().find(|(form, _)| *form == lower && self.language == Language::English)
        {
            Some((_, infinitive)) => infinitive,
            None => lower,
        };
        let Some(stemmer) = self.stemmer.as_ref().filter(|_| !WHOLE.contains(&lower)) else {
            return lower.to_owned();
        };
        // `abgespült` and `abzuspülen` are forms of `abspülen`.
        let stem = match participle(lower).filter(|_| self.language == Language::German) {
            Some(infinitive) => stemmer.stem(&infinitive).into_owned(),
            None => stemmer.stem(lower).into_owned(),
        };
        let endings: &[&str] = match self.language {
            Language::English => &["ation", "ment", "ion", "ing", "ist", "or", "er", "ive", "at", "iv"],
            Language::German => &["ungs", "ung", "ert", "elt", "eln", "er", "in", "et", "t"],
            _ => return stem,
        };
        let cut = endings.iter().find_map(|ending| stem.strip_suffix(ending));
        cut.filter(|root| root.chars().count() >= MIN_ROOT).map_or(stem.clone(), str::to_owned)
    }

    /// The families that a root belongs to.
    pub(super) fn families(&self, root: &str) -> Vec<u16> {
        let families = match self.language {
            Language::German => &*GERMAN,
            Language::Chinese => &*CHINESE,
            _ => &*ENGLISH,
        };
        families.get(root).cloned().unwrap_or_default()
    }

    /// Words, as they are written, of these families.
    pub(super) fn relatives(&self, families: &[u16]) -> Vec<&'static str> {
        let lists = match self.language {
            Language::German => GERMAN_FAMILIES,
            Language::Chinese => CHINESE_FAMILIES,
            _ => ENGLISH_FAMILIES,
        };
        let of_family = families.iter().filter_map(|family| lists.get(usize::from(*family)));
        of_family.flat_map(|list| list.split_whitespace()).collect()
    }

    /// How well a root of the documents matches one of the question; 0 where it does not.
    ///
    /// In languages that write compounds as one word, `bruck` matches `wennebruck`.
    pub(super) fn likeness(&self, asked: &str, held: &str) -> f32 {
        const COMPOUND: usize = 5;
        const HEAD: usize = 3;
        if asked == held {
            return 1.0;
        }
        let compounds = matches!(self.language, Language::German | Language::Dutch);
        // `Vorsitz` is no `Sitz`.
        const PREFIXES: &str =
            "vor auf an ab aus bei ein mit nach über um unter zu ver be ge ent er zer miss un wider hinter";
        let is_part = |long: &str, short: &str| {
            // `gegründet` has no part `und`.
            if is_stop_word(short) || self.language.is_function_word(short) {
                return false;
            }
            if long.strip_suffix(short).is_some_and(|prefix| any_word(PREFIXES, prefix)) {
                return false;
            }
            let is_head = short.len() >= HEAD && long.len() >= short.len() + HEAD && long.ends_with(short);
            is_head || (short.len() >= COMPOUND && (long.ends_with(short) || long.starts_with(short)))
        };
        if compounds && (is_part(held, asked) || is_part(asked, held)) { 0.85 } else { 0.0 }
    }
}

/// A German verb without the `ge` or `zu` behind its prefix; `None` for other words.
fn participle(word: &str) -> Option<String> {
    const PREFIXES: &str = "ab an auf aus bei durch ein fest fort her hin los mit nach über um vor weg weiter zu zurück zusammen";
    const MIN_VERB: usize = 4;
    let ends = word.ends_with('t') || word.ends_with("en");
    PREFIXES.split_whitespace().filter(|_| ends).find_map(|prefix| {
        let behind = word.strip_prefix(prefix)?;
        let verb = ["ge", "zu"].iter().find_map(|joint| behind.strip_prefix(joint))?;
        (verb.len() >= MIN_VERB).then(|| format!("{prefix}{verb}"))
    })
}

type Families = HashMap<String, Vec<u16>>;

fn families(language: Language, lists: &[&str]) -> Families {
    let roots = Roots::of(language);
    let mut found: Families = HashMap::new();
    for (at, list) in lists.iter().enumerate() {
        let at = u16::try_from(at).unwrap_or(u16::MAX);
        for word in list.split_whitespace() {
            let of_word = found.entry(roots.root(word)).or_default();
            if !of_word.contains(&at) {
                of_word.push(at);
            }
        }
    }
    found
}

static ENGLISH: LazyLock<Families> = LazyLock::new(|| families(Language::English, ENGLISH_FAMILIES));
static GERMAN: LazyLock<Families> = LazyLock::new(|| families(Language::German, GERMAN_FAMILIES));
static CHINESE: LazyLock<Families> = LazyLock::new(|| families(Language::Chinese, CHINESE_FAMILIES));

/// Words that tell the same of two things, irregular forms included.
const ENGLISH_FAMILIES: &[&str] = &[
    "born birth birthplace birthday birthdate",
    "die died dies dying death dead deceased perished",
    "founded founder founding establish established set-up start started inaugurated",
    "create created creator make made maker makes making produce produced producer manufacture manufactured manufacturer",
    "build built builder building construct constructed construction erect erected",
    "write wrote written writer writing author authored novelist poet pen penned",
    "invent invented inventor invention devised develop developed developer pioneered",
    "design designed designer architect drafted engineer engineered",
    "discover discovered discovery discoverer find found described identified detected",
    "locate located location situated lies stands seat headquarters headquartered based",
    "cost costs price priced worth paid pay pays",
    "live lives lived living reside resides resided resident dwell dwelt dwells lodgings",
    "employ employs employed employee employees staff workers workforce jobs work works worked",
    "earn earns earned salary wage wages income",
    "head heads headed lead leads led leader director directs directed chief manage manages managed manager chair chairs chaired chairman chairwoman run runs ran",
    "succeed succeeds succeeded successor replaced replaces replacement follow followed follows predecessor",
    "take takes took taken",
    "own owns owned owner belong belongs belonged possess property",
    "belong belongs belonged member members",
    "open opens opened opening inaugurated inauguration",
    "close closes closed closing shut closure",
    "buy buys bought buyer purchase purchased acquire acquired acquisition",
    "sell sells sold seller sale sales",
    "marry married marries marriage wife husband spouse wedding wed",
    "child children son sons kids offspring",
    "child children daughter daughters kids offspring",
    "brother brothers sibling siblings",
    "sister sisters sibling siblings",
    "father mother parent parents",
    "begin begins began begun beginning start starts started commence commenced",
    "end ends ended finish finishes finished complete completed",
    "call calls called name named names title titled christened known",
    "win wins won winner awarded award prize medal honour honor",
    "receive receives received given award awarded get gets got obtain obtains obtained granted",
    "travel travels travelled traveled journey trip trips",
    "error fault bug",
    "install installs installed installation installing",
    "define defines defined definition declare declared",
    "remove removes removed removal delete deletes deleted discard",
    "differ differs different difference distinguishes distinction",
    "reach reaches reached arrive arrives arrived arrival",
    "give gives gave given grant granted grants donate donated supplied supply",
    "catch caught catches",
    "grow grows grew grown growth rose rise risen rises increase increased increases",
    "lose loses lost loss losing",
    "break breaks broke broken breaking",
    "say says said tell tells told speak spoke spoken",
    "fall falls fell fallen drop dropped decline declined decrease decreased",
    "carry carries carried carrying transport transports transported hold holds",
    "happen happens happened occur occurs occurred",
    "teach teaches taught teacher tutor instruct instructed",
    "learn learns learned learnt apprentice apprenticed pupil",
    "study studies studied student graduated graduate attend attended",
    "publish publishes published publication publisher release released appear appeared",
    "need needs needed require requires required requirement necessary",
    "allow allows allowed permit permits permitted",
    "forbid forbids forbidden forbade ban banned prohibit prohibited",
    "ring rings rang rung",
    "sing sings sang sung song",
    "send sends sent",
    "bring brings brought",
    "keep keeps kept keeper",
    "leave leaves left departs departed",
    "meet meets met meeting",
    "sit sits sat",
    "speak speaks spoke spoken",
    "see sees saw seen sight",
    "hear hears heard",
    "think thinks thought believe believes believed belief",
    "choose chooses chose chosen choice select selects selected",
    "steal stole stolen theft",
    "wear wears wore worn",
    "drive drives drove driven driver",
    "eat eats ate eaten",
    "drink drinks drank drunk",
    "swim swims swam swum",
    "fly flies flew flown flight",
    "sink sinks sank sunk",
    "hide hides hid hidden",
    "fight fights fought",
    "lend lends lent loan borrowed borrow",
    "lay lays laid",
    "hold holds held",
    "spend spends spent",
    "weigh weighs weighed weight heavy",
    "contract agreement",
    "repair repairs repaired fix fixes fixed mend",
    "change changes changed modify modified alter altered",
    "use uses used using employ",
    "show shows showed shown display displays",
    "begin first",
    "deliver delivers delivered delivery",
    "sign signs signed signature",
    "big large great size",
    "job profession occupation trade",
    "cause causes caused because reason due",
    "purpose aim goal",
    "test tests tested check checks checked",
    "quick fast quickly speed",
    "repeat repeats repeated repetition again retry",
    "answer answers answered reply replies replied respond",
    "report reports reported reporting",
    "prevent prevents prevented avoid avoids avoided",
    "consist consists comprise comprises comprised member members",
    "meeting meetings minutes session assembly",
    "present attend attends attended attendance attendees",
    "kind type sort",
    "ship boat vessel",
    "movie film",
    "car automobile",
    "doctor physician",
    "company firm",
    "nationality citizen",
    "population inhabitants residents",
    "clean cleans cleaned cleaning wash washes washed wipe wiped brush brushed scrub",
    "store stores stored storage keep keeps kept",
    "connect connects connected attach attached plug plugged",
    "rent rents rented hire hires hired lease leased",
    "injure injured injury injuries wounded hurt",
    "arrest arrested detained",
    "elect elects elected election vote voted votes",
    "resign resigns resigned retire retires retired quit",
    "host hosts hosted",
    "move moves moved relocate relocated",
    "play plays played player perform performs performed performance performer",
    "translate translates translated translator translation",
    "paint paints painted painter painting",
    "compose composes composed composer",
    "fund funds funded finance financed finances sponsor sponsored donated",
    "damage damaged damages destroy destroyed destroys ruined",
    "last lasts lasted duration",
    "burn burns burned burnt fire",
    "flee fled escape escapes escaped",
    "accept accepts accepted approve approves approved agree agreed adopt adopted",
    "reject rejects rejected refuse refuses refused",
    "propose proposes proposed proposal suggest suggests suggested",
    "guarantee warranty",
    "failure problem malfunction error fault",
    "phone telephone",
    "email e-mail",
    "password passphrase",
    "update updates updated upgrade upgraded",
    "licence license licensed licenced",
    "colour color",
    "storey floor",
    "profit earnings",
    "revenue turnover sales",
    "deputy vice",
    "guest guests visitor visitors attendees",
    "postpone postponed postpones delay delayed delays",
    "shop store",
    "meal dish food",
    "gift present",
    "ill sick illness disease",
    "bury buried buries grave tomb",
    "kill kills killed murder murdered shot",
    "wake wakes woke woken",
    "help helps helped assist assists assisted",
    "preview show",
    "raise raises raised collect collected collects",
    "solo soloist solist sing sings sang sung singer",
    "conduct conducts conducted conductor",
    "voyage journey trip crossing passage",
    "lift elevator",
    "pupil student",
    "picture image photo photograph",
    "responsible charge handles handle handled organise organises organize organizes oversees",
    "stop stops stopped discontinue discontinued discontinues cancel cancels cancelled canceled suspended dropped",
    "fit fits hold holds held capacity takes seats seat accommodate accommodates carry carries",
    "gram grams g",
    "kilogram kilograms kilo kilos kg",
    "minute minutes min",
    "rescue rescues rescued save saves saved",
    "stick sticks stuck jam jams jammed",
    "contain contains contained containing hold holds held include includes included inside",
    "ticket tickets admission entry",
    "deadline until by",
    "stay stays stayed remain remains remained",
    "pay pays paid payment payments",
];

const GERMAN_FAMILIES: &[&str] = &[
    "geboren geburt geburtsort gebürtig",
    "sterben starb starben gestorben tod tot verstorben",
    "gründen gründete gegründet gründer gründerin gründung eröffnete errichtete stiftete gerufen rief",
    "bauen baut baute gebaut erbaut bau erbauer errichtet errichtete baumeister entstand",
    "schreiben schrieb geschrieben autor autorin verfasser verfasste schriftsteller schriftstellerin",
    "erfinden erfand erfunden erfinder erfindung entwickelt entwickelte",
    "entwerfen entwarf entworfen entwurf architekt architektin ingenieur ingenieurin",
    "entdecken entdeckte entdeckt entdecker entdeckung",
    "liegen liegt lag gelegen befindet befand sitz untergebracht steht",
    "kosten kostet kostete preis euro taler mark",
    "leben lebt lebte lebten wohnen wohnt wohnte einwohner bewohner menschen einwohnerzahl",
    "arbeiten arbeitet arbeitete arbeiter angestellte mitarbeiter beschäftigte",
    "leiten leitet leitete geleitet leiter leiterin leitung direktor direktorin vorsitzende vorsitzender führt",
    "nachfolger nachfolgerin folgte folgt gefolgt abgelöst übernahm übernommen",
    "besitzen besitzt besaß eigentümer gehört gehören",
    "eröffnen eröffnet eröffnete eröffnung einweihung eingeweiht",
    "schließen schließt schloss geschlossen schließung",
    "kaufen kaufte gekauft käufer erwarb erworben",
    "heiraten heiratete verheiratet ehefrau ehemann gatte gattin frau mann",
    "kind kinder sohn tochter söhne töchter",
    "bruder schwester brüder schwestern geschwister",
    "beginnen beginnt begann begonnen anfang beginn",
    "enden endet endete ende",
    "heißen heißt hieß genannt nennt name namens",
    "gewinnen gewinnt gewann gewonnen sieger siegerin preis",
    "fahren fuhr gefahren fahrt",
    "kommen kommt kam gekommen aus stammt stammte herkunft",
    "erreichen erreicht erreichte ankunft",
    "geben gibt gab gegeben übernimmt zahlt zahlte",
    "verlieren verliert verlor verloren",
    "brennen brannte brannten gebrannt brand feuer abgebrannt",
    "lehren lehrte lehrer lehrerin gelehrt",
    "lernen lernte gelernt",
    "studieren studiert studierte studium",
    "erwähnen erwähnt erwähnte erwähnung genannt urkunde",
    "erhalten erhielt bekam bekommen verliehen",
    "feiern feiert gefeiert fest",
    "verbieten verbietet verbot verboten",
    "erlauben erlaubt gestattet",
    "brauchen braucht brauchte benötigt nötig",
    "wählen wählt wählte gewählt wahl",
    "beitrag jahresbeitrag mitgliedsbeitrag gebühr",
    "alt alter jahre",
    "lang länge länger",
    "hoch höhe höher",
    "groß größe größer fläche",
    "schwer gewicht wiegt wiegen",
    "bestehen besteht bestand gehören gehört umfasst",
    "austreten austritt kündigen kündigung",
    "erneuern erneuert neue neu",
    "bringen bringt brachte gebracht mitbringen bringt",
    "stattfinden findet statt",
    "schwimmen schwamm geschwommen",
    "zweck ziel aufgabe",
    "reinigen reinigt gereinigt säubern sauber putzen geputzt spülen waschen gewaschen reinigung",
    "benutzen benutzt verwenden verwendet nutzen nutzt gebrauchen",
    "öffnen öffnet geöffnet offen öffnungszeiten",
    "wechseln wechselt gewechselt austauschen ausgetauscht ersetzen ersetzt tauschen",
    "prüfen prüft geprüft kontrollieren überprüfen kontrolliert",
    "einschalten eingeschaltet anschalten starten startet inbetriebnahme",
    "befestigen befestigt einhängen hängen hängt montieren montiert",
    "verantwortlich zuständig kümmert betreut",
    "ausleihen ausgeliehen leihen verleiht verliehen leihfrist ausleihe entleihen",
    "zahlen zahlt bezahlen bezahlt gezahlt kostet",
    "retten rettete gerettet",
    "finden gefunden fand",
    "verletzen verletzt verletzte verletzung",
    "sperren gesperrt sperrung",
    "ziehen umziehen zog umgezogen",
    "beruf arbeitete tätig",
    "gewährleistung garantie",
    "störung fehler defekt",
    "telefon telefonnummer rufnummer",
    "beschließen beschlossen beschloss entschied entschieden",
    "vorschlagen vorgeschlagen vorschlag schlug",
    "stehlen stahl gestohlen diebstahl",
    "bauzeit baudauer",
    "schlüssel schlüssels",
];

const CHINESE_FAMILIES: &[&str] = &[
    "出生 出生于 生于 诞生 出生地 生日",
    "去世 逝世 病逝 死 死亡 卒",
    "创始人 创立 创办 创建 成立 创办人 建立",
    "毕业 毕业于 就读 就读于 母校",
    "位于 坐落 地处 地址 总部 设在 所在地",
    "员工 职工 雇员 人员",
    "营业收入 营收 收入 销售额",
    "价格 售价 价钱 多少钱",
    "更换 更换周期 周期 替换",
    "设计 设计师 设计者 设计的",
    "作者 著 撰写 写 编写",
    "妻子 夫人 太太 丈夫 配偶 结婚",
    "工作 任职 担任 职业 职务",
    "开发 研发 研制 开发者",
    "上市 发布 推出",
    "投产 投入使用 启用",
    "新建 建 兴建 修建 建成",
    "保修 保修期 质保",
    "加入 入职 进入",
    "原因 因为 由于",
    "复位 重置 重新开始",
    "不能 不得 不要 禁止",
    "客户 顾客",
    "主营业务 业务",
    "步骤 方法 流程",
    "清洗 清洁 洗",
    "费用 花费 耗资 花了 投资",
    "负责 主持 承担 管理",
    "举行 举办 召开",
    "获得 荣获 夺得 取得",
    "开放 营业 开门",
    "关闭 闭馆 关门 休息",
    "重量 净重 多重",
    "老师 教练 师傅",
    "来自 籍贯 故乡",
    "电话 客服 热线",
    "结束 截止 完工",
    "参加 报名 加入",
    "付 支付 承担 缴纳 交",
    "里面 里有 里是 装着 装有 放着 内有 含有 包含",
    "建造 始建 建于 修建 建的",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_related(language: Language, one: &str, other: &str, expected: bool) {
        let roots = Roots::of(language);
        let (one_root, other_root) = (roots.root(one), roots.root(other));
        let families = roots.families(&one_root);
        let related = roots.likeness(&one_root, &other_root) > 0.0
            || roots.families(&other_root).iter().any(|family| families.contains(family));
        assert_eq!(related, expected, "{one} ({one_root}), {other} ({other_root})");
    }

    #[test]
    fn words_that_tell_the_same_are_related() {
        for (one, other) in [
            ("founder", "founded"),
            ("author", "wrote"),
            ("designed", "designer"),
            ("children", "daughter"),
            ("installation", "install"),
            ("organist", "organ"),
            ("belongs", "member"),
        ] {
            check_related(Language::English, one, other, true);
        }
        for (one, other) in [
            ("Brücke", "Wennebrücke"),
            ("gründete", "gründer"),
            ("starben", "gestorben"),
            ("studiert", "studieren"),
            ("abgespült", "abspülen"),
            ("weiterzuführen", "weiterführen"),
        ] {
            check_related(Language::German, &one.to_lowercase(), &other.to_lowercase(), true);
        }
    }

    #[test]
    fn words_that_tell_different_things_are_not() {
        for (one, other) in [
            ("born", "built"),
            ("dog", "clock"),
            ("sister", "ferry"),
            ("height", "weight"),
            ("founded", "found"),
        ] {
            check_related(Language::English, one, other, false);
        }
        check_related(Language::German, "hund", "bürgermeister", false);
        check_related(Language::German, "gegründet", "und", false);
    }
}

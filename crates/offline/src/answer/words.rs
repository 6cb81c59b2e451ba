//! Word lists for understanding questions and sentences.

use crate::lexicon::is_whole_month;

/// True if `word` is in a space-separated list.
pub(super) fn any_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.as_bytes().split(u8::is_ascii_whitespace).any(|other| other == word.as_bytes())
}

/// Measuring words after `how`.
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
/// Nouns for a phone number.
pub(super) const PHONE_NOUNS: &str = "extension telefonnummer handynummer rufnummer durchwahl";
pub(super) const PHONE_NOUNS_UNSPACED: [&str; 5] = ["电话号码", "电话是", "分机号", "手机号", "热线电话"];

/// Nouns for an amount of money, and for a share.
pub(super) const MONEY_NOUNS: &str = "price prices cost costs salary wage wages rent fee fees fare income revenue turnover allowance deposit budget \
    preis preise kosten gehalt lohn miete gebühr umsatz beitrag";
pub(super) const MONEY_VERBS_GERMAN: &str = "kostet gekostet kostete bezahlt verdient";
pub(super) const SHARES: &str = "percent percentage share rate ratio prozent anteil";

/// Nouns for other things that are high without a height.
pub(super) const LEVELS: &str = "tax taxes fine fines bill bonus penalty fund grant debt loan interest limit temperature pressure fever score risk level heat energy consumption turnout unemployment inflation voltage humidity demand number";
/// Verbs that a weight answers.
pub(super) const WEIGHS: &str = "weigh weighs weighed";

/// English words too common to be specific in a question.
pub(super) const COMMON_ENGLISH: &str = "name names named call called tell give given show find explain mean means meaning say said know known thing things way ways \
    kind kinds type types sort many much more most less least different used use using make made makes get got gets go goes went come came take took takes taken taking going getting having making coming comes become becomes became happen happens happened people \
    person please document documents text example actually really often usually well still even now today good great important year years \
    date day days time times place places part parts number numbers currently exactly question answer department team company firm new old next other others further additional also ever both whole entire";
/// English verbs that mean little by themselves.
pub(super) const LIGHT_VERBS: &str = "become becomes became becoming take takes took taken taking have has had having get gets got getting go goes went gone going come comes came coming \
    make makes made making happen happens happened happening need needs mean means contain contains cost costs weigh weighs look looks looking call called name named \
    know known say says said saying do done doing being use used using belong belongs stand stands";

/// True if a word only expresses an ongoing action: `going` in `Who is going to bring it?`
pub(super) fn is_light_progress(word: &str) -> bool {
    word.ends_with("ing") && any_word(LIGHT_VERBS, word)
}

/// German words too common to be specific.
pub(super) const COMMON_GERMAN: &str = "gibt gab geben name namen heißt heißen jahr jahre jahren tag tage ort orte stadt mensch menschen person personen art arten \
    teil teile zahl anzahl genau eigentlich ungefähr wichtig wichtigsten ersten erste erster erstes letzte letzten neu neue neuen neuer alt alte alten groß große \
    man soll sollte macht machen gemacht tun tut viel viele mal zeit dokument dokumente text frage dort damals meisten \
    findet statt stattfinden stattfindet";

/// Expressions that introduce a reason.
pub(super) const REASONS: &[&str] = &[
    " because",
    " after a ",
    " after an ",
    "nachdem ",
    "due to",
    "therefore",
    "so that",
    " as a result",
    ", so ",
    "so as to",
    "to avoid",
    "to prevent",
    "on account of",
    "in honor of",
    "in honour of",
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
    "理由",
    "因此",
    "所以",
    "原因",
    "为了",
    "以便",
    "导致",
    "以免",
    "以防",
    "避免",
    "parce que",
    "car ",
    "puisque",
    "porque",
    "ya que",
    "perché",
    "потому",
];

/// Number words.
pub(super) const NUMBERS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen \
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion dozen half quarter twice once thrice none \
    single double zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig \
    neunzig hundert tausend millionen einmal zweimal dreimal halb halbe dutzend deux trois quatre cinq dix vingt cent mille dos tres cuatro cinco diez ciento mil";

/// Small numbers that announce how many things follow.
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

/// Returns the small number that a word expresses; `None` for one and for other words.
pub(super) fn count(word: &str) -> Option<usize> {
    COUNTS.iter().find(|(words, _)| any_word(words, word)).map(|(_, count)| *count)
}

/// Counted nouns that name no class.
pub(super) const GENERAL_NOUNS: &str = "things items people persons men women boys girls children others points reasons steps ways kinds parts groups members dinge sachen personen leute männer frauen kinder punkte gründe schritte arten teile gruppen mitglieder möglichkeiten";

/// Nouns after `which` that name no class.
pub(super) const GENERIC_CLASSES: &str = "thing things item items object objects ones person persons people ding dinge sachen gegenstände personen leute";

/// Nouns for a reason.
pub(super) const REASON_NOUNS: &str = "reason reasons cause causes grund gründe ursache ursachen";

/// Verbs that only say that something belongs to, or is in, something else.
pub(super) const MEMBERSHIP: &str = "include includes included contain contains belong belongs comprise comprises exist exists offer offers provide provides gehören gehört gehörten enthalten enthält umfassen umfasst besteht bestehen bietet bieten gibt";

/// Measuring expressions of Chinese questions, longer ones first.
pub(super) const MEASURING_UNSPACED: &[&str] =
    &["多少钱", "多长时间", "多久", "多重", "多长", "多高", "多深", "多宽", "多远", "多快", "多大"];

/// Expressions of Chinese questions for a name.
pub(super) const NAMING_UNSPACED: &[&str] = &["叫什么", "叫啥", "全名是", "名字是", "名称是"];

/// Nouns for things with a duration.
pub(super) const LASTING: &str = "warranty guarantee trial period term contract break pause meeting course film movie flight journey trip \
    tour voyage stay visit notice session lesson wait training sentence validity lease season war reign ceremony concert";

/// Words before a name that do not make it another name.
pub(super) const TITLES: &str =
    "mr mrs ms miss dr prof professor sir lady lord king queen captain uncle aunt herr frau the and saint";

/// Words before a name that are not names by themselves.
pub(super) const ADDRESSES: &str = "mr mrs ms miss dr prof professor sir lady herr frau";

/// Nouns that only say that the answer is a number.
pub(super) const QUANTITIES: &str = "rate number amount percentage share level total figure value size sum zahl anzahl höhe betrag menge summe wert";

/// Words that only say that something is somewhere, which the place itself implies.
pub(super) const LOCATES: &str =
    "located situated based lies headquartered befindet befinden liegt liegen untergebracht steht";

/// Verbs of saying and thinking.
pub(super) const SPEECH: &str = "say says said saying ask asks asked answer answers answered reply replies replied cry cries cried shout shouts shouted exclaim \
    exclaims exclaimed tell tells told add adds added observed remarked returned think thinks thought whisper whispers whispered sagen sagt sagte fragt fragte \
    antwortet antwortete ruft rief meint meinte dachte erzählt erzählte";

/// Verbs and nouns of questions about a conversation, besides [`SPEECH`]: `What does Ada suggest?`
const REPORTS: &str = "suggest suggests suggested suggestion recommend recommends recommended recommendation mention mentions mentioned propose \
    proposes proposed offer offers offered feel feels felt believe believes believed find finds found describe describes described \
    explain explains explained express expresses expressed share shares shared admire admires admired agree agrees agreed respond \
    responds responded remind reminds reminded advise advises advised invite invites invited comment comments commented note notes \
    noted want wants wanted hope hopes hoped like likes liked enjoy enjoys enjoyed love loves loved consider considers considered \
    highlight highlights highlighted emphasize emphasizes emphasized point points pointed opinion view thoughts impression idea \
    advice denkt findet fand schlägt schlug vorgeschlagen empfiehlt empfahl empfohlen erwähnt erwähnte möchte bittet bat 说 认为 觉得 \
    建议 推荐 提到 提议 问 回答 表示 想";

/// True if a word asks what a person says, thinks, feels or wants.
pub(super) fn is_report(word: &str) -> bool {
    any_word(SPEECH, word) || any_word(REPORTS, word)
}

/// True if a word negates the verb of its sentence.
pub(super) fn is_negation(word: &str) -> bool {
    any_word("not never cannot nicht nie niemals", word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// True if a word negates anything, or says that something is missing.
pub(super) fn is_denial(word: &str) -> bool {
    const DENIALS: &str =
        "off unavailable no none nobody nothing neither nor without except niemand nichts ohne außer";
    is_negation(word) || any_word(DENIALS, word) || word.starts_with("kein")
}

/// Words that express a time, besides months and [`TIME_UNITS`].
const TIMES: &str = "monday tuesday wednesday thursday friday saturday sunday noon midnight dawn morning evening afternoon spring summer \
    autumn winter yesterday today tomorrow century christmas easter januar februar märz mai juni juli oktober dezember montag dienstag \
    mittwoch donnerstag freitag samstag sonntag mittag mitternacht frühling sommer herbst jahrhundert weihnachten ostern o'clock uhr \
    ago quarter when";

/// Units of time that express one only beside another word: `two days later`.
pub(super) const TIME_UNITS: &str = "days weeks months years hours minutes tage tagen wochen monaten jahren";

/// True if a word expresses a time.
pub(super) fn is_time(word: &str) -> bool {
    is_whole_month(word) || any_word(TIMES, word) || any_word(TIME_UNITS, word)
}

/// Nouns for people in general.
pub(super) const COUNTED_PEOPLE: &str = "people persons person leute menschen personen";

/// Nouns for counted people.
pub(super) const PEOPLE: &str = "people persons employees staff workers members inhabitants residents visitors passengers guests students pupils soldiers sailors men women \
    children families volunteers participants fans spectators customers deaths dead injured leute menschen personen mitarbeiter beschäftigte einwohner mitglieder besucher gäste \
    schüler arbeiter tote verletzte";

/// Verbs that an amount of money answers.
pub(super) const PRICED: &str = "cost costs pay pays paid kosten kostet kostete";

/// Verbs that ask for an amount of money.
pub(super) const COSTS: &str =
    "cost costs pay pays paid spend spends spent earn earns earned charge charges charged owe owes owed";

/// Words before a place.
pub(super) const BEFORE_PLACES: &str = "in at near from of to on above under behind beside inside outside between into through across along around toward \
    towards room floor aus bei nach an auf über unter neben hinter vor zu zur zum im am à dans près en de sur";

/// Words that refer to something in an earlier sentence.
pub(super) const PRONOUNS: &str = "he she it they him her his hers its their theirs them this these that such er sie es ihn ihm ihr ihre ihren ihrem ihrer sein seine seinen \
    seinem seiner dieser diese dieses diesem diesen dessen deren dort dabei dazu davon damals daraufhin then there il elle ils elles ce cette él ella";

/// Pronouns for a person named before.
pub(super) const PERSONAL: &str = "he she him her his hers they them their theirs";

/// First-person pronouns that are subjects.
pub(super) const SPEAKING: &str = "i i'm i'll i've i'd ich";

/// True if a word is a first-person pronoun.
pub(super) fn is_first_person(word: &str) -> bool {
    const OTHERS: &str = "me my mine myself mich mir mein meine meinen meinem meiner";
    any_word(SPEAKING, word) || any_word(OTHERS, word)
}

/// Nouns that name a person or organization by relationship or occupation.
pub(super) const ROLES: &str = "grandfather grandmother grandson granddaughter mother father brother sister son daughter uncle aunt cousin nephew niece wife husband \
    friend neighbour neighbor teacher pupil student students baker smith blacksmith captain cook chef king queen mayor farmer nurse doctor officer \
    soldier sailor priest bishop gardener driver keeper caretaker shepherd fisherman thief policeman inspector technician county council city state government \
    university ministry donors volunteers members parents tenants residents customers company großvater großmutter mutter vater bruder schwester \
    sohn tochter onkel tante freund freundin lehrer lehrerin schüler bäcker schmied kapitän koch köchin könig königin bürgermeister bürgermeisterin \
    bauer arzt ärztin pfarrer gärtner fahrer hausmeister stadt gemeinde land landkreis verein mitglieder vorsitzende vorsitzenden kassenwart vorstand frau mann ehefrau ehemann kind nichte neffe enkel cousine chefin";

/// Words for a maximum or minimum, and the expressions for it in texts.
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

/// Nouns that refer to a name mentioned before: `the company`.
pub(super) const GENERIC_NOUNS: &str = "company firm town city village island river school club association society museum library ship ferry vessel boat film \
    book novel album song device appliance machine product tool program building bridge tower house hotel church man woman boy girl \
    author artist king queen team group bank factory project festival event station route line service";

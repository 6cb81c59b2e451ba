//! The language of a text, and the function words of each language.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lexicon::{is_month, is_stop_word};
use super::scripts::{is_hangul, is_hiragana, is_ideograph};

/// Minimum number of a language's function words in a text of that language.
const MIN_WORDS: u32 = 2;
/// Maximum number of Han characters per hiragana in a Japanese text.
const IDEOGRAPHS_PER_HIRAGANA: u32 = 10;

/// A language with known function words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    /// Also stands for unknown languages.
    English,
    German,
    French,
    Spanish,
    Italian,
    Portuguese,
    Dutch,
    Polish,
    Russian,
    Ukrainian,
    Arabic,
    Persian,
    Chinese,
    Japanese,
    Korean,
}

/// Returns the ISO 639-1 code of the language of a question or short text; `en` if the language is unknown.
pub fn language_code(text: &str) -> &'static str {
    match Language::of_question(text) {
        Language::English => "en",
        Language::German => "de",
        Language::French => "fr",
        Language::Spanish => "es",
        Language::Italian => "it",
        Language::Portuguese => "pt",
        Language::Dutch => "nl",
        Language::Polish => "pl",
        Language::Russian => "ru",
        Language::Ukrainian => "uk",
        Language::Arabic => "ar",
        Language::Persian => "fa",
        Language::Chinese => "zh",
        Language::Japanese => "ja",
        Language::Korean => "ko",
    }
}

/// Languages with spaces between words, in the order of their bits in [`WORDS`].
const SPACED: [(Language, &str); 11] = [
    (
        Language::German,
        "der die das dem den des ein eine einen einem einer eines und oder aber denn doch sondern ist sind war waren \
         wird werden wurde wurden worden sein gewesen hat haben hatte hatten bin bist seid kann können konnte muss müssen \
         soll sollte will wollte darf er sie es ihm ihn ihr ihre ihren ihrem ihrer ihres seine seinen seinem seiner \
         seines wir uns unser ich mich mir mein meine du dich dir sich man wer wen wem wessen was wo wohin woher woran \
         wofür womit wann warum wie welche welcher welches welchem welchen dieser diese dieses diesem diesen jener jene \
         jenes jede jeder jedes jedem jeden alle allem allen aller alles beide beiden viele vielen mehrere einige kein \
         keine keinen keinem keiner nicht auch nur noch schon sehr so als wenn weil dass ob da dann dort hier heute \
         später früher danach davor dabei damals dazu daher darauf jedoch außerdem zudem zunächst schließlich seit \
         bereits etwa mehr im am in an auf aus bei beim mit nach von vom zu zum zur für über unter vor zwischen durch \
         gegen ohne um bis während wegen trotz neben dessen deren laut nachdem bevor obwohl obgleich sowie sowohl weder",
    ),
    (
        Language::French,
        "le la les l un une des du de d au aux et ou mais donc or ni car est sont était étaient fut furent été être a \
         ont avait avaient eu ayant sera seront il elle ils elles on je tu nous vous lui leur leurs son sa ses mon ma mes \
         ton ta tes notre votre nos vos se s me te ce c cet cette ces cela ça ceci celui celle ceux qui que qu quoi dont où \
         quel quelle quels quelles quand comment pourquoi combien dans en sur sous par pour avec sans chez vers entre \
         depuis pendant après avant contre jusque jusqu selon ne n pas plus moins très aussi bien encore toujours jamais \
         tout toute tous toutes même autre autres quelques plusieurs certains certaines chaque aucun aucune si y tard tôt \
         puis ensuite enfin alors ainsi cependant toutefois aujourd hui lorsque lorsqu parce puisque comme malgré lors \
         ici là afin dès environ né née nés",
    ),
    (
        Language::Spanish,
        "el la los las un una unos unas de del al y e o u pero sino ni que quien quienes cual cuales cuyo cuya qué quién \
         quiénes cuál cuáles dónde donde cuándo cuando cómo como cuánto cuántos por para con sin sobre entre hasta desde \
         hacia según durante contra en a es son era eran fue fueron ser sido está están estaba estar ha han había haber \
         hay tiene tienen tenía él ella ellos ellas yo tú nosotros usted ustedes se lo le les su sus mi mis tu tus \
         nuestro nuestra este esta estos estas ese esa esos esas aquel aquella esto eso no sí también más menos muy ya \
         aún todavía después antes luego entonces así aunque porque si mientras además embargo cada todo toda todos \
         todas otro otra otros otras mismo misma nació murió falleció posteriormente actualmente",
    ),
    (
        Language::Italian,
        "il lo la i gli le l un uno una di del dello della dei degli delle al allo alla ai agli alle dal dallo dalla dai \
         dalle nel nello nella nei negli nelle sul sulla sui sulle col e ed o od ma che chi cui quale quali quando dove \
         come perché quanto per con senza su tra fra da in a è sono era erano fu furono essere stato stata stati ha hanno \
         aveva egli ella esso essa essi esse lui lei loro io tu noi voi si ci vi ne suo sua suoi sue mio mia nostro \
         questo questa questi queste quello quella non anche più meno molto poi dopo prima già ancora così inoltre \
         tuttavia mentre se ogni tutto tutta tutti tutte altro altra altri altre nacque morì nato nata",
    ),
    (
        Language::Portuguese,
        "o a os as um uma uns umas de do da dos das em no na nos nas ao à aos às pelo pela pelos pelas e ou mas que quem \
         qual quais onde quando como porque por para com sem sobre entre até desde é são era eram foi foram ser sido está \
         estão tem têm tinha há ele ela eles elas eu tu nós você vocês se lhe seu sua seus suas meu minha este esta estes \
         estas esse essa isso isto aquele aquela não também mais menos muito já ainda depois antes então assim embora \
         além cada todo toda todos todas outro outra outros outras mesmo nasceu morreu",
    ),
    (
        Language::Dutch,
        "de het een en of maar want dus is zijn was waren wordt worden werd werden geweest heeft hebben had hadden kan \
         kunnen moet zal hij zij ze haar hem hun wij we ons ik mij mijn jij je u zich wie wat waar wanneer waarom hoe welke \
         welk die dat deze dit van voor met naar bij op aan in uit over onder tussen door tegen zonder om tot tijdens \
         sinds niet ook nog al meer zeer als toen dan omdat hoewel er daar hier later eerder daarna echter alle elk elke \
         andere geen te ter ten",
    ),
    (
        Language::Polish,
        "i w we z ze na do od o u po za pod nad przed przez przy dla bez między oraz a ale lub albo czy nie tak też także \
         jest są był była było byli były być został została zostało się on ona ono oni one jego jej ich mu mnie ja ty my wy \
         ten ta to te ci tego tej tym tych który która które którzy którego której kto co gdzie kiedy dlaczego jak ile jaki \
         jaka jakie że aby żeby gdy jeśli ponieważ jako już jeszcze bardzo tylko później potem następnie obecnie swój swoją \
         swoje swojego",
    ),
    (
        Language::Russian,
        "и в во на с со к ко о об от до из у за по под над при через для без между перед а но или либо да не ни же ли бы \
         это этот эта эти этого этой то тот та те того той он она оно они его её ее их ему ей им него нее неё них я мы ты вы \
         мне нас вас свой своя своё свои своей своего который которая которое которые которого которой кто кого что чего \
         где куда откуда когда почему зачем как какой какая какое какие чей сколько был была было были быть есть является \
         стал стала также тоже так уже ещё еще только очень более после затем потом позже если чтобы потому однако хотя \
         там здесь тогда сейчас все всё всех весь каждый другой другие самый родился родилась умер умерла",
    ),
    (
        Language::Ukrainian,
        "і й та в у на з із зі до від о об за по під над при через для без між перед а але або чи не ні же би це цей ця ці \
         цього цієї то той те ті він вона воно вони його її їх йому їй їм я ми ти ви свій своя своє свої який яка яке які \
         якого якої хто кого що чого де куди звідки коли чому як скільки був була було були бути є також теж так вже ще \
         тільки дуже більш після потім пізніше якщо щоб тому однак хоча там тут тоді зараз усі все всі весь кожен інший \
         народився народилася помер померла",
    ),
    (
        Language::Arabic,
        "في من إلى على عن مع بين حتى منذ خلال بعد قبل عند لدى حول تحت فوق ضد و أو أم ثم لكن بل لا لم لن ليس ليست ما ماذا \
         متى أين كيف لماذا كم هل أي هو هي هم هن هما أنا نحن أنت هذا هذه ذلك تلك هؤلاء الذي التي الذين اللذان كان كانت \
         كانوا يكون تكون قد أن إن أنه أنها كما أيضا أيضاً كل بعض غير عام سنة ولد ولدت وُلد توفي توفيت تأسست تأسس يقع تقع \
         وهو وهي وكان وكانت ومن وفي حيث إذا عندما حين بها به له لها فيها فيه منها منه",
    ),
    (
        Language::Persian,
        "و در به از که این آن را با است بود شد شده می برای تا بر یک هم نیز یا اما ولی اگر چون چه کجا کی چرا چگونه کدام او \
         وی آنها ایشان من ما تو شما خود هر همه بین پس پیش بعد قبل هستند بودند دارد داشت داشتند کرد کردند سال متولد درگذشت",
    ),
];

/// The languages of each function word, with one bit for each entry of [`SPACED`].
static WORDS: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    let mut words: HashMap<&'static str, u16> = HashMap::new();
    for (bit, (_, list)) in SPACED.iter().enumerate() {
        for word in list.split_whitespace() {
            *words.entry(word).or_default() |= 1 << bit;
        }
    }
    words
});

impl Language {
    /// Returns the language of most function words of `text`, or of its script; English if neither decides.
    pub(super) fn of(text: &str) -> Self {
        let (mut ideographs, mut hiragana, mut hangul, mut others) = (0_u32, 0_u32, 0_u32, 0_u32);
        for c in text.chars() {
            match c {
                _ if is_ideograph(c) => ideographs += 1,
                _ if is_hiragana(c) => hiragana += 1,
                _ if is_hangul(c) => hangul += 1,
                _ => others += u32::from(c.is_alphabetic()),
            }
        }
        // A letter is less than a word; a Han character is about half a word.
        if hangul > 0 && 2 * hangul >= ideographs + hiragana && 2 * hangul >= others {
            return Self::Korean;
        }
        if ideographs + hiragana > 0 && 2 * (ideographs + hiragana) >= others {
            let is_japanese = IDEOGRAPHS_PER_HIRAGANA * hiragana >= ideographs;
            return if is_japanese { Self::Japanese } else { Self::Chinese };
        }
        Self::of_words(text)
    }

    fn of_words(text: &str) -> Self {
        let mut counts = [0_u32; SPACED.len()];
        let mut english = 0;
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let lower = word.to_lowercase();
            // Remainders after an apostrophe, as in `John's`, belong to no language.
            if lower.len() == 1 {
                continue;
            }
            english += u32::from(is_stop_word(&lower));
            let owners = WORDS.get(lower.as_str()).copied().unwrap_or_default();
            for (bit, count) in counts.iter_mut().enumerate() {
                *count += u32::from(owners >> bit & 1);
            }
        }
        let best = counts.iter().copied().max().unwrap_or_default();
        if best < MIN_WORDS || best <= english {
            return Self::English;
        }
        let first = counts.iter().position(|&count| count == best);
        first.map_or(Self::English, |bit| SPACED[bit].0)
    }

    /// True if a lowercase word only joins words or stands for them. Such a word neither is a name nor begins one.
    pub(super) fn is_function_word(self, word: &str) -> bool {
        let Some(bit) = SPACED.iter().position(|(language, _)| *language == self) else {
            return is_stop_word(word);
        };
        WORDS.get(word).is_some_and(|owners| owners >> bit & 1 == 1)
    }

    /// Returns the language of a question. The question word decides for short questions.
    pub(super) fn of_question(text: &str) -> Self {
        const ASKING: [(Language, &str); 8] = [
            (
                Language::German,
                "wer wen wem wessen wann wo woher wohin warum wieso weshalb weswegen wie wieviel wieviele welche welcher welches \
                 welchem welchen worum wovon womit wofür woran woraus nenne",
            ),
            (Language::French, "qui quand où combien pourquoi comment quel quelle quels quelles"),
            (Language::Spanish, "quién quiénes cuándo dónde cuánto cuántos cuántas qué cómo cuál cuáles"),
            (Language::Italian, "chi quando dove quanto quanti perché come quale quali"),
            (Language::Portuguese, "quem onde quantos quantas porque qual quais"),
            (Language::Dutch, "wie waar wanneer waarom hoeveel hoe welke wat"),
            (Language::Polish, "kto kiedy gdzie ile dlaczego jak który która"),
            (Language::Russian, "кто когда где сколько почему как какой какая"),
        ];
        const UNSPACED_ASKING: [&str; 12] =
            ["什么", "怎么", "怎样", "如何", "哪", "谁", "多少", "几", "吗", "为何", "是否", "何"];
        const FIRST_WORDS: usize = 3;
        let language = Self::of(text);
        if language != Self::English {
            return language;
        }
        let lower = text.to_lowercase();
        // `什么是 WeakSet？` is a Chinese question about a long name.
        let unspaced: String = text.chars().filter(|c| !c.is_ascii_alphanumeric()).collect();
        let mut in_letters = lower.split(|c: char| !c.is_ascii_alphanumeric());
        // `Entity Too Large 怎么解决？`, but not `What does 怎么 mean?`.
        let begins_in_letters = in_letters.clone().next().is_some_and(is_stop_word);
        let asks_unspaced = UNSPACED_ASKING.iter().any(|asking| text.contains(asking));
        let asks_in_letters = in_letters.any(is_stop_word) && (begins_in_letters || !asks_unspaced);
        if !asks_in_letters && Self::of(&unspaced) != Self::English {
            return Self::of(&unspaced);
        }
        let mut words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let is_english = |word: &str| is_stop_word(word);
        let first: Vec<&str> = words.by_ref().take(FIRST_WORDS).collect();
        // `Was bedeutet F4?` begins like `Was Ada late?`.
        const BEHIND_WAS: &str = "ist sind bedeutet bedeuten heißt kostet kosten macht machen passiert geschieht gehört gibt hat haben wird kann muss soll steht";
        if let ["was", next, ..] = first[..]
            && BEHIND_WAS.split(' ').any(|verb| verb == next)
        {
            return Self::German;
        }
        if first.first().is_some_and(|word| is_english(word))
            && !first.iter().any(|word| word.starts_with("welch"))
        {
            return if first.iter().any(|word| ["wer", "wann", "woher"].contains(word)) {
                Self::German
            } else {
                language
            };
        }
        let asks =
            |list: &str| first.iter().any(|word| list.split_whitespace().any(|asking| asking == *word));
        ASKING.iter().find(|(_, list)| asks(list)).map_or(language, |(language, _)| *language)
    }

    /// True if a sentence is about the subject of the previous one: it begins with a pronoun or drops its subject.
    pub(super) fn refers_back(self, sentence: &str) -> bool {
        let sentence = sentence.trim_start_matches(|c: char| !c.is_alphanumeric());
        let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let first = words.next().unwrap_or_default().to_lowercase();
        let begins_with = |list: &str| list.split(' ').any(|start| sentence.starts_with(start));
        match self {
            Self::Chinese => begins_with("他 她 它 该 該") || drops_chinese_subject(sentence),
            Self::Japanese => begins_with("彼 同社 同氏") || drops_japanese_subject(sentence),
            _ => {
                let next = words.next().unwrap_or_default();
                // `Es gibt`, `il y a` and `il s'agit` have no subject, that of `Murió Otto Brandt` follows.
                let is_impersonal = ["gibt", "handelt", "y", "s", "faut"].contains(&next);
                (self.is_pronoun(&first) && !is_impersonal)
                    || (self.is_verb_of_story(&first) && !next.starts_with(char::is_uppercase))
            }
        }
    }

    /// True if a lowercase word is a verb about a third person in the past, in a language that drops subjects.
    pub(super) fn is_verb_of_story(self, word: &str) -> bool {
        let (endings, verbs): (&[&str], _) = match self {
            Self::Spanish => (&["ó"], "fue tuvo hizo"),
            Self::Italian => (&["ò"], "fu nacque morì visse divenne scrisse"),
            Self::Portuguese => (&["ou"], "foi nasceu morreu viveu escreveu recebeu serviu"),
            Self::Polish => (
                &[],
                "urodził urodziła studiował studiowała założył założyła zmarł zmarła został została był była",
            ),
            Self::Russian => {
                (&["лся", "лась"], "умер умерла окончил окончила основал основала работал работала")
            }
            _ => return false,
        };
        endings.iter().any(|ending| word.ends_with(ending)) || verbs.split(' ').any(|verb| verb == word)
    }

    /// True if a lowercase word at the beginning of a sentence refers to the subject of the previous sentence.
    fn is_pronoun(self, word: &str) -> bool {
        let pronouns = match self {
            Self::English => "he she it they his her its their him this these",
            Self::German => "er sie es sein seine ihr ihre ihm ihn dieser diese dieses",
            Self::French => "il elle ils elles son sa ses leur leurs lui ce cet cette ces",
            Self::Spanish => "él ella ellos ellas su sus este esta",
            Self::Italian => "egli ella esso essa essi lui lei suo sua questo questa",
            Self::Portuguese => "ele ela eles elas seu sua seus suas este esta",
            Self::Dutch => "hij zij ze het zijn haar hun deze dit",
            Self::Polish => "on ona ono oni one jego jej ich ten ta to",
            Self::Russian => "он она оно они его её ее их этот эта это",
            Self::Ukrainian => "він вона воно вони його її їх цей ця це",
            Self::Arabic => "هو هي هم هذا هذه وهو وهي",
            Self::Persian => "او وی آنها این",
            Self::Korean => "그는 그녀는 그의 그녀의 그들은",
            Self::Chinese | Self::Japanese => "",
        };
        pronouns.split(' ').any(|pronoun| pronoun == word)
    }

    /// True if a lowercase word is a month in this language or in English.
    pub(super) fn is_month(self, word: &str) -> bool {
        let months = match self {
            Self::German => {
                "januar jänner februar feber märz april mai juni juli august september oktober november dezember"
            }
            Self::French => {
                "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
            }
            Self::Spanish => {
                "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
            }
            Self::Italian => {
                "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"
            }
            Self::Portuguese => {
                "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"
            }
            Self::Dutch => {
                "januari februari maart april mei juni juli augustus september oktober november december"
            }
            _ => "",
        };
        is_month(word) || months.split(' ').any(|month| month == word)
    }

    /// True if the language capitalizes all nouns, so that a capital does not indicate a name.
    pub(super) fn capitalises_nouns(self) -> bool {
        self == Self::German
    }
}

/// True if a Chinese sentence begins with a verb of a life story, apart from a date: `1975年毕业于…`.
fn drops_chinese_subject(sentence: &str) -> bool {
    const OF_TIME: &str = "年月日，、于於在同次后後曾随隨先又";
    const VERBS: &str = "出生 生于 生於 毕业 畢業 就读 就讀 考入 担任 擔任 出任 历任 歷任 现任 任职 当选 當選 荣获 榮獲 创办 創辦 执导 執導 移居 定居 去世 逝世";
    let verb = sentence.trim_start_matches(|c: char| c.is_numeric() || OF_TIME.contains(c));
    VERBS.split(' ').any(|start| verb.starts_with(start))
}

/// True if a Japanese sentence tells what happened without a word that is marked as its subject: `1931年に酒造を設立した。`
fn drops_japanese_subject(sentence: &str) -> bool {
    !sentence.contains(['は', 'が', 'も']) && sentence.ends_with("た。")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_word_decides_the_language_of_a_short_question() {
        for (question, language) in [
            ("Wann starb Dorothea Prelle?", Language::German),
            ("Wer baute die Orgel?", Language::German),
            ("In welchem Jahr starb Ada?", Language::German),
            ("Wo liegt Basel?", Language::German),
            ("Was bedeutet F4?", Language::German),
            ("Was Ada late?", Language::English),
            ("Who is Wo Chan?", Language::English),
            ("What was in the case?", Language::English),
            ("Quand est née Ada?", Language::French),
            ("Ada Lovelace", Language::English),
            ("上传报 413 Request Entity Too Large 怎么解决？", Language::Chinese),
            ("What does 怎么 mean?", Language::English),
        ] {
            assert_eq!(Language::of_question(question), language, "{question}");
        }
    }

    #[test]
    fn function_words_decide_the_language_of_a_text() {
        for (text, language) in [
            ("The old bridge was built by Ada.", Language::English),
            ("World War II was over in 1945.", Language::English),
            ("Who directed Die Hard?", Language::English),
            ("La Paz, Bolivia", Language::English),
            ("", Language::English),
            ("Wo wurde der Regisseur von Blaue Wiese geboren?", Language::German),
            ("Où est né le réalisateur de Pré bleu ?", Language::French),
            ("Él nació en la ciudad de Toledo.", Language::Spanish),
            ("Egli nacque nella città di Torino.", Language::Italian),
            ("Ele nasceu na cidade do Porto e não voltou.", Language::Portuguese),
            ("Hij werd geboren in een dorp bij Leiden.", Language::Dutch),
            ("On urodził się w mieście, które jest nad Wisłą.", Language::Polish),
            ("Он родился в городе, который стоит на реке.", Language::Russian),
            ("Він народився в місті, яке є на річці.", Language::Ukrainian),
            ("ولد أحمد علي في القاهرة.", Language::Arabic),
            ("او در شهر تهران متولد شد.", Language::Persian),
            ("谁导演了《夜航》？", Language::Chinese),
            ("吉田翔太は映画監督で、鎌倉市で生まれた。", Language::Japanese),
            ("김철수는 부산에서 태어났다.", Language::Korean),
            ("Who designed 云岭大桥?", Language::English),
        ] {
            assert_eq!(Language::of(text), language, "{text}");
        }
    }
}

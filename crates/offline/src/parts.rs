//! Splits a question by its form: into the things that it compares, or the steps that lead to its answer.

use std::ops::Range;

use super::known_names::words;
use super::languages::Language;
use super::lexicon::{is_linking, is_stop_word};
use super::phrase::{PhraseKind, phrases};
use super::scripts::has_no_spaces;
use super::text_statistics::QUOTES;

/// Maximum number of parts of one question.
pub const MAX_PARTS: usize = 4;
/// Longest question that is split, in bytes; longer ones tell a story.
pub(super) const MAX_QUESTION_BYTES: usize = 2000;
/// Maximum number of words between two compared names, as in `larger than`.
const MAX_MEASURE_WORDS: usize = 3;
/// Possessive particles of scripts without spaces: the owner is before the particle, the property after it.
const POSSESSIVES: [char; 2] = ['的', 'の'];

/// The parts of a question that can be searched for separately.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Parts {
    /// The question has no parts.
    #[default]
    Whole,
    /// The question compares things: one question about each of them.
    Compared(Vec<String>),
    /// The question leads from one thing to another. The last step must be answered first.
    Steps(Vec<String>),
}

impl Parts {
    /// Returns the texts of the parts.
    pub fn texts(&self) -> &[String] {
        match self {
            Self::Whole => &[],
            Self::Compared(texts) | Self::Steps(texts) => texts,
        }
    }
}

/// Returns the parts of a question, at most [`MAX_PARTS`].
///
/// - Names joined by *or* or *and* are compared: *Is A or B older?* becomes *Is A older?* and *Is B older?* The same applies to
///   comparatives, *Is A older than B?*, and to a choice at the end of a question.
/// - The text after a linking word, such as *of*, *by*, *that* or *whose*, is a step: *Where was the director of Z born?* needs
///   *Z born*. The step of *Z's father's birthplace* is *Z's father*. In scripts without spaces, a step is the text before a
///   possessive.
/// - Names and quotations are never split.
///
/// The linking words are those of the question's language.
pub fn parts(question: &str) -> Parts {
    let question = question.trim().trim_end_matches(|c: char| {
        !c.is_alphanumeric() && !matches!(c, '"' | '”' | ')' | '»' | '」' | '』' | '》')
    });
    if question.len() > MAX_QUESTION_BYTES {
        return Parts::Whole;
    }
    let form = Form::read(question);
    let compared = form.chosen_from().unwrap_or_else(|| form.compared());
    if !compared.is_empty() {
        return Parts::Compared(compared);
    }
    let steps = form.steps();
    if steps.is_empty() { Parts::Whole } else { Parts::Steps(steps) }
}

/// A question with the features that determine its parts.
struct Form<'a> {
    question: &'a str,
    language: Language,
    /// Ranges of names and quotations in text order, none inside another.
    names: Vec<Range<usize>>,
}

/// What connects two neighbouring names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connector {
    Comma,
    Coordinator,
    /// Compares the two names, as in `larger than`. The words before the last one say by what.
    Measure,
    Other,
}

impl<'a> Form<'a> {
    fn read(question: &'a str) -> Self {
        let language = Language::of(question);
        let spaceless = matches!(language, Language::Chinese | Language::Japanese | Language::Korean);
        let found = phrases(question).into_iter();
        let named = found.filter(|phrase| match phrase.kind {
            PhraseKind::Name | PhraseKind::Quoted => true,
            // In languages that capitalize nouns, capitalized nouns are the only noun phrases.
            PhraseKind::NounPhrase => spaceless || language.capitalises_nouns(),
            PhraseKind::Heading | PhraseKind::Date | PhraseKind::Quantity => false,
        });
        let mut all: Vec<Range<usize>> = named.map(|phrase| whole_name(question, phrase.range)).collect();
        all.sort_by_key(|name| (name.start, usize::MAX - name.end));
        let mut names: Vec<Range<usize>> = Vec::with_capacity(all.len());
        for name in all {
            if names.last().is_none_or(|last| last.end <= name.start) {
                names.push(name);
            }
        }
        Self { question, language, names }
    }

    fn is_small(&self, word: &str) -> bool {
        let lower = word.to_lowercase();
        is_stop_word(&lower) || self.language.is_function_word(&lower)
    }

    /// Returns one question for each choice that is offered at the end: *Who is older, A or B?*
    fn chosen_from(&self) -> Option<Vec<String>> {
        let marks = [',', ':', '，', '：', '、', '،'];
        let at = self.question.find(marks)?;
        let is_listed = |pair: &[Range<usize>]| pair[0].end <= at && at < pair[1].start;
        let inside_list =
            |pair: &[Range<usize>]| is_listed(pair) && self.between(&pair[0], &pair[1]) == Connector::Comma;
        if self.names.windows(2).any(inside_list) {
            return None;
        }
        let (stem, choice) = self.question.split_at(at);
        let is_there = |thing: &str| thing.chars().any(char::is_alphanumeric);
        let (before, other) = self.alternatives().iter().find_map(|or| choice.rsplit_once(or))?;
        let mut things: Vec<&str> = before.split(marks).filter(|thing| is_there(thing)).collect();
        things.truncate(MAX_PARTS - 1);
        things.push(other);
        let is_choice = is_there(stem) && is_there(before) && is_there(other);
        let part = |thing: &str| {
            let space = if has_no_spaces(thing) && !stem.contains(' ') { "" } else { " " };
            format!("{stem},{space}{}", thing.trim())
        };
        is_choice.then(|| things.into_iter().map(part).collect())
    }

    /// Returns the words before the last of several choices.
    fn alternatives(&self) -> &'static [&'static str] {
        match self.language {
            Language::English => &[" or "],
            Language::German => &[" oder "],
            Language::French | Language::Portuguese => &[" ou "],
            Language::Spanish => &[" o ", " u "],
            Language::Italian => &[" o ", " oppure "],
            Language::Dutch => &[" of "],
            Language::Polish => &[" czy ", " lub ", " albo "],
            Language::Russian => &[" или "],
            Language::Ukrainian => &[" чи ", " або "],
            Language::Arabic => &[" أم ", " أو "],
            Language::Persian => &[" یا "],
            Language::Chinese => &["还是", "還是", "或者", "或"],
            Language::Japanese => &["それとも", "または"],
            Language::Korean => &[" 또는 ", " 아니면 "],
        }
    }

    /// Classifies the text between two neighbouring names.
    fn between(&self, one: &Range<usize>, other: &Range<usize>) -> Connector {
        let gap = &self.question[one.end..other.start];
        let words: Vec<String> = gap
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            let is_comma =
                gap.trim().chars().all(|c| matches!(c, ',' | '、' | '，' | '،')) && !gap.trim().is_empty();
            return if is_comma { Connector::Comma } else { Connector::Other };
        }
        if gap.contains([';', '.', '?', '!', '。']) && !gap.contains("vs.") {
            return Connector::Other;
        }
        let coordinators = coordinators(self.language);
        let at = words.iter().position(|word| coordinators.contains(&word.as_str()));
        if let Some(at) = at {
            let rest = words[..at].iter().chain(&words[at + 1..]);
            if rest.into_iter().all(|word| self.is_small(word)) {
                return Connector::Coordinator;
            }
            // `director of film A and director of film B`
            if at == 0 && self.follows_words(one, &words[1..]) {
                return Connector::Coordinator;
            }
        }
        let measured = words.last().is_some_and(|word| measures(self.language).contains(&word.as_str()));
        let tells = words.iter().any(|word| !self.is_small(word));
        if measured && tells && words.len() <= MAX_MEASURE_WORDS + 1 {
            Connector::Measure
        } else {
            Connector::Other
        }
    }

    /// True if a name directly follows these words.
    fn follows_words(&self, name: &Range<usize>, words: &[String]) -> bool {
        let before = self.question[..name.start].split(|c: char| !c.is_alphanumeric()).rev();
        let before: Vec<String> =
            before.filter(|word| !word.is_empty()).take(words.len()).map(str::to_lowercase).collect();
        before.iter().rev().eq(words.iter())
    }

    /// Returns one question for each name in a comparison.
    fn compared(&self) -> Vec<String> {
        let between: Vec<Connector> =
            self.names.windows(2).map(|pair| self.between(&pair[0], &pair[1])).collect();
        let question = self.question;
        // `Schülerinnen und Schüler` are one group.
        let are_forms = |at: usize| {
            let [one, other] = [&self.names[at], &self.names[at + 1]].map(|name| &question[name.clone()]);
            one.starts_with(other) || other.starts_with(one)
        };
        let joins = |(at, between): (usize, &Connector)| {
            let is_pair = matches!(between, Connector::Coordinator | Connector::Measure);
            (is_pair && !are_forms(at)).then_some(at)
        };
        let Some(at) = between.iter().enumerate().find_map(joins) else { return Vec::new() };
        let (one, other) = (&self.names[at], &self.names[at + 1]);
        if between[at] == Connector::Measure {
            let gap = &question[one.end..other.start];
            let how = gap.trim_end().rsplit_once(' ').map_or("", |(how, _)| how);
            let of = |thing: &Range<usize>| {
                format!(
                    "{}{}{how}{}",
                    &question[..one.start],
                    &question[thing.clone()],
                    &question[other.end..]
                )
            };
            return vec![of(one), of(other)];
        }
        let is_listed = |between: &Connector| matches!(between, Connector::Comma | Connector::Coordinator);
        let first =
            at - between[..at].iter().rev().take_while(|between| **between == Connector::Comma).count();
        let last = at + 1 + between[at + 1..].iter().take_while(|between| is_listed(between)).count();
        let (start, end) = (self.names[first].start, self.names[last].end);
        let listed = self.names[first..=last].iter().take(MAX_PARTS);
        listed
            .map(|name| format!("{}{}{}", &question[..start], &question[name.clone()], &question[end..]))
            .collect()
    }

    /// Returns what must be known before the question can be answered.
    fn steps(&self) -> Vec<String> {
        let question = self.question;
        let in_name = |at: usize| self.names.iter().any(|name| name.start < at && at < name.end);
        let tells = |text: &str| text.split_whitespace().filter(|word| !self.is_small(word)).count();
        let mut steps: Vec<String> = Vec::new();
        let mut push = |step: &str| {
            if steps.len() < MAX_PARTS && !steps.iter().any(|known| known == step) {
                steps.push(step.to_owned());
            }
        };
        let words = words(question);
        for (at, word) in words.iter().enumerate() {
            let is_step = (is_linking(&question[word.clone()].to_lowercase())
                || self.is_genitive(&words, at))
                && !in_name(word.start);
            // A question word alone, as in *Who* or *In which*, asks nothing before the step.
            if is_step && tells(&question[..word.start]) >= 1 && tells(&question[word.end..]) >= 2 {
                push(question[word.end..].trim());
            }
        }
        if let Some(owner) = self.owner() {
            push(owner);
        }
        for (at, possessive) in question.char_indices().filter(|(_, c)| POSSESSIVES.contains(c) || *c == '의')
        {
            let (before, rest) = (&question[..at], &question[at + possessive.len_utf8()..]);
            let bound =
                before.chars().rev().take_while(|c| has_no_spaces(c.encode_utf8(&mut [0; 4]))).count() > 1
                    || before.ends_with(['》', '」', '』', '”', '"', '）']);
            let ends_word = possessive != '의' || rest.starts_with(' ');
            if bound && ends_word && !in_name(at) && !rest.trim().is_empty() {
                push(before);
            }
        }
        steps
    }

    /// True if an article joins the noun after it to the noun before it, as in `die Architektin der Simplonhalle`, or begins a
    /// relative clause, as in `die Stadt, in der sie starb`.
    fn is_genitive(&self, words: &[Range<usize>], at: usize) -> bool {
        const GENITIVES: [&str; 4] = ["der", "des", "eines", "einer"];
        const RELATIVES: [&str; 5] = ["der", "die", "das", "dem", "den"];
        if self.language != Language::German || at == 0 || at + 1 == words.len() {
            return false;
        }
        let word = |at: usize| &self.question[words[at].clone()];
        let is_capital = |at: usize| word(at).starts_with(char::is_uppercase);
        let gap = |at: usize| &self.question[words[at - 1].end..words[at].start];
        let binds =
            GENITIVES.contains(&word(at)) && gap(at) == " " && is_capital(at - 1) && is_capital(at + 1);
        let relative = RELATIVES.contains(&word(at))
            && (gap(at) == ", " || (at > 1 && gap(at - 1) == ", " && self.is_small(word(at - 1))))
            && !is_capital(at + 1);
        binds || relative
    }

    /// Returns the owner in a chain of possessives: `John's father` in `John's father's birthplace`.
    fn owner(&self) -> Option<&'a str> {
        let question = self.question;
        let mut marks = question
            .match_indices(['\'', '’'])
            .filter(|(at, mark)| question[at + mark.len()..].starts_with("s "))
            .map(|(at, _)| at);
        let (first, second) = (marks.next()?, marks.next()?);
        let begins = self.names.iter().find(|name| name.start < first && first <= name.end)?;
        (!question[first..second].contains([',', '?'])).then(|| &question[begins.start..second])
    }
}

/// Returns the words that join compared things.
pub(super) fn coordinators(language: Language) -> &'static [&'static str] {
    match language {
        Language::English => &["or", "and", "vs", "versus"],
        Language::German => &["oder", "und", "vs"],
        Language::French => &["ou", "et", "vs"],
        Language::Spanish => &["o", "u", "y", "e", "vs"],
        Language::Italian => &["o", "e", "ed", "oppure", "vs"],
        Language::Portuguese => &["ou", "e", "vs"],
        Language::Dutch => &["of", "en", "vs"],
        Language::Polish => &["czy", "lub", "albo", "i", "oraz"],
        Language::Russian => &["или", "и"],
        Language::Ukrainian => &["чи", "або", "і", "й", "та"],
        Language::Arabic => &["أم", "أو", "و"],
        Language::Persian => &["یا", "و"],
        Language::Chinese => &["和", "与", "與", "跟", "还是", "還是", "或", "或者", "及", "以及", "vs"],
        Language::Japanese => &["と", "か", "や", "または", "それとも", "vs"],
        Language::Korean => &["와", "과", "랑", "이랑", "하고", "또는", "아니면", "이나", "나", "vs"],
    }
}

/// Returns the words before the second of two compared things.
pub(super) fn measures(language: Language) -> &'static [&'static str] {
    match language {
        Language::English => &["than"],
        Language::German => &["als"],
        Language::French | Language::Spanish | Language::Portuguese => &["que"],
        Language::Italian => &["di", "che"],
        Language::Dutch => &["dan"],
        Language::Polish => &["niż", "od"],
        Language::Russian => &["чем"],
        Language::Ukrainian => &["ніж"],
        Language::Arabic | Language::Persian => &["من", "از"],
        Language::Chinese | Language::Japanese | Language::Korean => &[],
    }
}

/// Extends a name by the quotation marks around it, a capitalized article before it and brackets after it.
fn whole_name(question: &str, name: Range<usize>) -> Range<usize> {
    const ARTICLES: [&str; 22] = [
        "A", "An", "The", "Der", "Die", "Das", "Ein", "Eine", "Le", "La", "Les", "Un", "Une", "El", "Los",
        "Las", "Il", "Lo", "Gli", "O", "Os", "De",
    ];
    let Range { mut start, mut end } = name;
    for (open, close) in QUOTES {
        if question[..start].ends_with(open) && question[end..].starts_with(close) {
            (start, end) = (start - open.len(), end + close.len());
        }
    }
    let before = &question[..start];
    if let Some(rest) = before.strip_suffix(' ')
        && let Some(article) = ARTICLES.iter().find(|article| rest.ends_with(&format!(" {article}")))
    {
        start -= article.len() + 1;
    }
    if question[end..].starts_with(" (")
        && let Some(length) = question[end..].find(')')
    {
        end += length + 1;
    }
    start..end
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check_parts(question: &str, expected: Parts) {
        assert_eq!(parts(question), expected, "{question}");
    }

    fn compared(one: &str, other: &str) -> Parts {
        Parts::Compared(vec![one.to_owned(), other.to_owned()])
    }

    fn steps(texts: &[&str]) -> Parts {
        Parts::Steps(texts.iter().map(|&text| text.to_owned()).collect())
    }

    #[test]
    fn alternatives_are_asked_about_one_by_one() {
        check_parts(
            "Which tunnel is longer, the Simplon or the Gotthard?",
            compared("Which tunnel is longer, the Simplon", "Which tunnel is longer, the Gotthard"),
        );
        check_parts("Who is older, Ada, or Bo?", compared("Who is older, Ada", "Who is older, Bo"));
    }

    #[test]
    fn coordinated_names_are_asked_about_one_by_one() {
        check_parts(
            "Are Lake Constance and Lake Geneva both in Switzerland?",
            compared("Are Lake Constance both in Switzerland", "Are Lake Geneva both in Switzerland"),
        );
    }

    #[test]
    fn forms_of_one_word_are_not_compared() {
        for question in [
            "Wer gilt als Praktikantin oder Praktikant?",
            "Welche Ferien haben Schülerinnen und Schüler in Halden?",
        ] {
            assert!(!matches!(parts(question), Parts::Compared(_)), "{question}");
        }
    }

    #[test]
    fn every_language_has_its_own_words_of_comparison() {
        for (question, one, other) in [
            ("Was ist größer, Berlin oder Paris?", "Was ist größer, Berlin", "Was ist größer, Paris"),
            (
                "Sind die Donauwerft und die Rheinwerft in derselben Stadt?",
                "Sind die Donauwerft in derselben Stadt",
                "Sind die Rheinwerft in derselben Stadt",
            ),
            ("Ist Berlin größer als Paris?", "Ist Berlin größer", "Ist Paris größer"),
            (
                "Lequel est le plus long, le Rhône ou la Loire ?",
                "Lequel est le plus long, le Rhône",
                "Lequel est le plus long, la Loire",
            ),
            ("¿Es más grande Madrid o Toledo?", "¿Es más grande Madrid", "¿Es más grande Toledo"),
            ("È più grande Torino o Milano?", "È più grande Torino", "È più grande Milano"),
            ("Qual é maior, Lisboa ou Porto?", "Qual é maior, Lisboa", "Qual é maior, Porto"),
            ("Wat is groter, Leiden of Delft?", "Wat is groter, Leiden", "Wat is groter, Delft"),
            ("Co jest większe, Kraków czy Gdynia?", "Co jest większe, Kraków", "Co jest większe, Gdynia"),
            ("云岭大桥和青龙大桥哪个更长？", "云岭大桥哪个更长", "青龙大桥哪个更长"),
            (
                "《静海》和《漫长的路》的导演是同一个城市的人吗？",
                "《静海》的导演是同一个城市的人吗",
                "《漫长的路》的导演是同一个城市的人吗",
            ),
            ("哪个更大，东京还是大阪？", "哪个更大,东京", "哪个更大,大阪"),
            ("東京と大阪のどちらが大きいですか", "東京のどちらが大きいですか", "大阪のどちらが大きいですか"),
            (
                "『空き家』と『港の灯り』の監督は同じ市の出身ですか？",
                "『空き家』の監督は同じ市の出身ですか",
                "『港の灯り』の監督は同じ市の出身ですか",
            ),
            ("서울과 부산 중 어디가 더 큰가요?", "서울 중 어디가 더 큰가요", "부산 중 어디가 더 큰가요"),
        ] {
            check_parts(question, compared(one, other));
        }
    }

    #[test]
    fn all_items_of_a_list_are_asked_about() {
        let expected = ["Is Berlin larger", "Is Paris larger", "Is Rome larger"];
        check_parts(
            "Is Berlin, Paris or Rome larger?",
            Parts::Compared(expected.iter().map(|&text| text.to_owned()).collect()),
        );
        let expected = ["Which is larger, Berlin", "Which is larger, Paris", "Which is larger, Rome"];
        check_parts(
            "Which is larger, Berlin, Paris or Rome?",
            Parts::Compared(expected.iter().map(|&text| text.to_owned()).collect()),
        );
    }

    #[test]
    fn both_sides_of_a_comparison_are_asked_about() {
        check_parts("Is Berlin larger than Paris?", compared("Is Berlin larger", "Is Paris larger"));
        check_parts(
            "Is Berlin vs. Paris a fair match?",
            compared("Is Berlin a fair match", "Is Paris a fair match"),
        );
    }

    #[test]
    fn quotations_and_articles_of_titles_stay_whole() {
        check_parts(
            "Is \"Night Sky\" or \"Day\" longer?",
            compared("Is \"Night Sky\" longer", "Is \"Day\" longer"),
        );
        check_parts(
            "Who directed \"A Long Day\" and \"The Short Night\"?",
            compared("Who directed \"A Long Day\"", "Who directed \"The Short Night\""),
        );
        check_parts(
            "Who directed A Long Day and The Short Night?",
            compared("Who directed A Long Day", "Who directed The Short Night"),
        );
    }

    #[test]
    fn the_compared_property_can_be_repeated() {
        check_parts(
            "Do director of film Move (1970 Film) and director of film Red Sky have the same nationality?",
            compared(
                "Do director of film Move (1970 Film) have the same nationality",
                "Do director of film Red Sky have the same nationality",
            ),
        );
    }

    #[test]
    fn questions_in_every_language_are_split_into_steps() {
        for (question, expected) in [
            ("Woran starb der Lehrer von Klara Voss?", &["Klara Voss"][..]),
            ("Wo wurde die Architektin der Simplonhalle geboren?", &["Simplonhalle geboren"]),
            (
                "Wofür ist die Stadt bekannt, in der der Lehrer von Klara Voss starb?",
                &["der Lehrer von Klara Voss starb", "Klara Voss starb"],
            ),
            ("《夜航》的导演是哪里人？", &["《夜航》"]),
            ("『静かな海』の監督はどこで生まれましたか？", &["『静かな海』"]),
            ("클라라의 감독의 고향은 어디인가요?", &["클라라", "클라라의 감독"]),
            ("What is John's father's birthplace?", &["John's father"]),
        ] {
            check_parts(question, steps(expected));
        }
    }

    #[test]
    fn the_text_after_a_linking_word_is_a_step() {
        check_parts(
            "In which town was the engineer of the bridge that Clara Voss opened born?",
            steps(&["the bridge that Clara Voss opened born", "Clara Voss opened born"]),
        );
        check_parts("Qui a peint le portrait de Clara Voss ?", steps(&["Clara Voss"]));
        check_parts("克拉拉的导演的出生地是哪里？", steps(&["克拉拉", "克拉拉的导演"]));
    }

    #[test]
    fn a_name_is_not_split() {
        check_parts("How old is the University of Basel?", Parts::Whole);
        check_parts("Who wrote \"The Ship that Sailed by Night\"?", Parts::Whole);
    }

    #[test]
    fn a_question_about_one_thing_has_no_parts() {
        for question in ["", "?", "How high is it?", "Who is who?", "or", "a, or b", " and "] {
            check_parts(question, Parts::Whole);
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_bounded_number_of_parts(text in "([A-Za-z]{1,6}|of|that|or|and|,|\"|的|İ|é|\u{3000}| ){0,40}") {
            prop_assert!(parts(&text).texts().len() <= MAX_PARTS);
            prop_assert!(parts(&text).texts().iter().all(|part| !part.trim().is_empty()));
        }
    }
}

//! Distinguishes questions from greetings and from requests for an overview of all documents.

/// What a user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// A greeting, thanks, or a question about the program itself.
    Greeting,
    /// What the documents as a whole are about: main themes, a summary.
    Overview,
    /// Anything else.
    Question,
}

/// Longest text that may be a greeting or a request for an overview, in characters.
const MAX_CHARS: usize = 160;

/// Phrases that greet, thank, or ask about the program.
const GREETINGS: &str = "\
    hi, hello, hey, hiya, howdy, yo, greetings, good morning, good afternoon, good evening, good day, thanks, \
    thank you, thx, cheers, bye, goodbye, ok, okay, test, help, how are you, who are you, what are you, what can \
    you do, what can i ask, what can i ask you, how does this work, hallo, guten tag, guten morgen, guten abend, \
    moin, servus, grüß gott, grüezi, danke, vielen dank, tschüss, hilfe, wer bist du, was kannst du, wie geht es \
    dir, 你好, 您好, 嗨, 你好吗, 早上好, 下午好, 晚上好, 谢谢, 谢谢你, 多谢, 再见, 你是谁, 你能做什么, 帮助, bonjour, salut, bonsoir, merci, aide, \
    hola, buenos días, buenas tardes, gracias, ayuda, ciao, olá, こんにちは, ありがとう, 안녕하세요";
/// Words that may accompany a greeting.
const FILLERS: &str = "\
    there, all, everyone, everybody, you, very, much, so, a, lot, graphloom, zusammen, schön, sehr, again, \
    please, bitte, and";
/// Phrases that ask about all documents.
const OVERVIEW: &str = "\
    summarize, summarise, summary, overview, tldr, tl dr, gist, synopsis, themes, theme, topics, topic, main \
    ideas, main idea, main points, key points, takeaways, about, outline, what is in, what are in, whats in, \
    what do i have here, deal with, deals with, what do these, what does this, what happens in, what happens here, \
    main subjects, main \
    findings, key findings, major trends, main trends, in common, inhalt, um was geht es, \
    fasse, fass, zusammenfassung, zusammenfassen, überblick, übersicht, hauptthemen, themen, thema, worum geht \
    es, worum gehts, wovon handelt, wovon handeln, worüber, was steht, was enthalten, résume, résumé, resumen, \
    resume el, resume la, resume los, resume las, resume este, resume esta, resume estos, resume estas, temas, thèmes, de quoi parle, de quoi parlent, de qué trata, de qué tratan";
/// Phrases without a topic that may accompany those of [`OVERVIEW`].
const ASKING: &str = "\
    give me, can you, could you, would you, please, tell me, write, i want, show me, make, provide, summaries, \
    abstract, subjects, what is this about, what is it about, what are these about, what is it all about, what is this \
    all about, whats this about, what is in here, whats in here, what is inside, discussed, covered, cover, contain, \
    contains, happens, describe, explain, fassen, zusammen, gib mir, gib, einen, eine, kurze, steht, enthalten, \
    enthält, behandelt, resume, list, name, bullet points, in a few words, in a few sentences, nenne, nenn, liste, \
    kannst du, können sie, dame, haz, hazme, donne moi, fais, gibt es, in wenigen sätzen, in wenigen worten, in stichpunkten";
/// Words for the documents as a whole, beside those of [`Texts`], and function words.
const DOCUMENTS: &str = "\
    documents, corpus, collection, workspace, data, dataset, news, folder, content, contents, material, everything, \
    pdf, website, whole, entire, main, major, key, central, important, most, general, brief, short, briefly, quick, \
    here, it, them, they, a, an, of, in, is, are, what, which, whats, do, does, and, for, me, us, your, to, some, \
    there, kind, sort, with, on, by, ideas, points, information, plot, across, throughout, overall, overarching, one, \
    two, three, five, ten, sentence, sentences, words, paragraph, bullet, bullets, top, common, recurring, recur, \
    have, can, you, tell, high, level, findings, trends, insgesamt, überall, überhaupt, eigentlich, ein, zwei, drei, \
    fünf, satz, sätze, sätzen, worten, über, behandeln, behandelt, zentral, zentrale, zentralen, hauptsächlich, \
    gemeinsam, sammlung, daten, unterlagen, inhalt, inhalte, ganze, ganzen, gesamte, alles, wichtigsten, wichtigste, \
    wesentliche, wesentlichen, hier, was, sind, ist, es, bitte, mir, und, von, kurz, welche, werden, wird, geht, de, \
    principaux, sont, quels, principales, cuáles, son, moi, un, una";

/// How languages name the documents by the kind of their texts.
struct Texts {
    /// Words before a kind of text that mean all texts of this kind.
    determiners: &'static str,
    /// Words that point to a text. Before them any compound of a kind means the documents: `these pump manuals`.
    demonstratives: &'static str,
    /// Words that may stand between these and the kind.
    between: &'static str,
    /// Kinds that mean the documents even without a word before.
    kinds: &'static str,
    /// Kinds that need one: `the contracts`, but not `a summary of contracts`.
    determined_kinds: &'static str,
    /// Endings of plurals and cases, each with what it replaces.
    endings: &'static [(&'static str, &'static str)],
}

const TEXTS: [Texts; 3] = [
    Texts {
        determiners: "the, all, my, our, both",
        demonstratives: "this, these, that, those",
        between: "\
            whole, entire, main, uploaded, attached, two, three, five, ten, user, users, instruction, meeting, e, chat, \
            blog, news, short, fairy, research",
        kinds: "\
            document, doc, file, text, book, story, novel, tale, report, guide, manual, handbook, article, paper, note, \
            page",
        determined_kinds: "\
            policy, minute, meeting, chat, log, thread, message, conversation, dialogue, transcript, interview, mail, \
            email, newsletter, letter, memo, recipe, law, regulation, statute, directive, constitution, contract, \
            agreement, proposal, wiki, blog, post, essay, poem, play, script, speech, lecture, chapter, diary, journal, \
            magazine, newspaper, brochure, leaflet, booklet, tutorial, instruction, documentation, specification, faq, \
            readme, textbook, study, presentation, slide",
        endings: &[("", ""), ("s", ""), ("es", ""), ("ies", "y")],
    },
    Texts {
        determiners: "der, die, das, den, dem, des, im, vom, zum, alle, allen, aller, meine, meinen, meiner, unsere, unseren",
        demonstratives: "diese, diesem, diesen, dieser, dieses",
        between: "ganze, ganzen, gesamte, gesamten, zwei, drei, fünf, e, chat",
        kinds: "dokument, text, datei, buch, geschichte, roman, bericht, handbuch, artikel",
        determined_kinds: "\
            anleitung, bedienungsanleitung, betriebsanleitung, gebrauchsanleitung, gebrauchsanweisung, anweisung, \
            benutzerhandbuch, leitfaden, ratgeber, protokoll, sitzungsprotokoll, vertrag, gesetz, verordnung, vorschrift, \
            richtlinie, satzung, vereinbarung, rezept, kochrezept, brief, schreiben, mail, email, nachricht, chat, \
            chatverlauf, unterhaltung, gespräch, interview, notiz, meeting, besprechung, sitzung, aufsatz, studie, blog, \
            beitrag, blogbeitrag, transkript, wiki, seite, webseite, log, erzählung, kurzgeschichte, märchen, gedicht, rede, \
            vortrag, kapitel, tagebuch, zeitung, zeitschrift, broschüre, merkblatt, dokumentation, präsentation",
        endings: &[
            ("", ""),
            ("s", ""),
            ("es", ""),
            ("e", ""),
            ("en", ""),
            ("n", ""),
            ("er", ""),
            ("ern", ""),
        ],
    },
    Texts {
        determiners: "le, la, les, du, des, mes, nos, el, los, las, del, mis, nuestros, nuestras",
        demonstratives: "ce, cet, cette, ces, este, esta, estos, estas",
        between: "deux, trois, dos, tres",
        kinds: "documento",
        determined_kinds: "\
            document, texte, fichier, livre, roman, récit, conte, manuel, notice, guide, article, lettre, courriel, mail, \
            contrat, loi, règlement, politique, recette, rapport, page, note, blog, journal, interview, texto, archivo, \
            libro, novela, cuento, manual, guía, artículo, carta, correo, contrato, ley, reglamento, política, receta, \
            informe, página, nota, acta",
        endings: &[("", ""), ("s", ""), ("es", "")],
    },
];
/// Chinese counterpart of [`OVERVIEW`].
const OVERVIEW_CHINESE: &str = "\
    核心内容, 核心內容, 总结, 總結, 概括, 摘要, 概述, 综述, 概览, 主要内容, 主要內容, 主题, 主題, 讲的是什么, 讲什么, \
    讲了什么, 講什麼, 说什么, 说了什么, 关于什么, 關於什麼, 写了什么, 有什么内容, 讲些什么, 大意";
/// Chinese counterpart of [`ASKING`] and [`DOCUMENTS`].
const REST_CHINESE: &str = "\
    总体上, 总体, 整体, 總體, 请, 請, 帮我, 给我, 一下, 全部, 所有, 整个, 资料, 材料, 内容, 內容, 主要, 核心, 重点, 里面, 里, 中, \
    的, 是, 了, 什么, 什麼, 哪些, 有, 讲, 说, 写, 吗, 呢, 要点, 全文, 本, 都, 一个, 个, 和, 我, 想, 知道, 吧, 它, 它们, 在, 大概, \
    简单, 简要, 做, 及, 与, 列出, 用, 句话, 几, 两, 三, 五, 条, 点";
/// Chinese counterpart of the demonstratives in [`Texts`].
const DEMONSTRATIVES_CHINESE: &str = "\
    这些, 這些, 这个, 這個, 这本, 這本, 这篇, 這篇, 这份, 這份, 这封, 這封, 这部, 這部, 这条, 这段, 这几个, 这几份, 这几篇, 那些, 这, 這";
/// Chinese counterpart of the kinds in [`Texts`].
const TEXTS_CHINESE: &str = "\
    文件, 文档, 文檔, 文章, 文本, 书, 書, 故事, 小说, 小說, 手册, 手冊, 报告, 報告, 说明书, 說明書, 说明, 指南, 教程, 邮件, 郵件, \
    电子邮件, 聊天记录, 聊天記錄, 对话, 会议记录, 会议纪要, 會議記錄, 会议, 會議, 合同, 协议, 法律, 法规, 条例, 规定, 制度, 政策, 菜谱, \
    食谱, 信, 信件, 论文, 論文, 网页, 页面, 笔记, 日志, 日记, 博客, 采访, 访谈, 新闻, 通知, 公告, 诗, 童话, 演讲, 课文";

fn phrases(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

/// Returns the intent of `text`, judged by its words in English, German, Chinese, French and Spanish.
///
/// A request to summarize something specific, such as *Summarize the report on leaks*, is an ordinary question.
pub fn intent(text: &str) -> Intent {
    if text.chars().count() > MAX_CHARS {
        return Intent::Question;
    }
    let plain = plain(text);
    if is_greeting(&plain) {
        return Intent::Greeting;
    }
    if is_overview(&plain) { Intent::Overview } else { Intent::Question }
}

/// Returns the lowercase words without punctuation, separated and surrounded by single spaces.
fn plain(text: &str) -> String {
    let lower = format!(" {}", text.to_lowercase()).replace('’', "'");
    // `l'article`
    let lower = lower.replace(" l'", " la ").replace('\'', "");
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    format!(" {} ", words.collect::<Vec<_>>().join(" "))
}

fn is_greeting(plain: &str) -> bool {
    let text = plain.trim();
    if phrases(GREETINGS).any(|greeting| greeting == text) {
        return true;
    }
    let mut rest = text;
    loop {
        let greeted = phrases(GREETINGS)
            .filter(|greeting| starts_with_words(rest, greeting))
            .max_by_key(|greeting| greeting.len());
        let filled = phrases(FILLERS).find(|filler| starts_with_words(rest, filler));
        match greeted.or(filled) {
            // Fillers alone are not a greeting.
            Some(found) if rest.len() < text.len() || greeted.is_some() => {
                rest = rest[found.len()..].trim_start()
            }
            Some(_) | None => return rest.is_empty() && !text.is_empty(),
        }
        if rest.is_empty() {
            return true;
        }
    }
}

fn starts_with_words(text: &str, start: &str) -> bool {
    text.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

fn is_overview(plain: &str) -> bool {
    let words: Vec<&str> = plain.split_whitespace().collect();
    if asks_about_this(&words) {
        return true;
    }
    // A follow-up: `What about the contract?`
    if words.starts_with(&["what", "about"]) {
        return false;
    }
    let plain = with_kinds_as_documents(&words);
    if !phrases(OVERVIEW).any(|phrase| plain.contains(&format!(" {phrase} "))) {
        return is_overview_in_chinese(plain.trim());
    }
    let mut known: Vec<&str> = phrases(OVERVIEW).chain(phrases(ASKING)).collect();
    known.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    let mut rest = plain.clone();
    for phrase in &known {
        rest = rest.replace(&format!(" {phrase} "), "  ");
    }
    let is_document = |word: &str| {
        says_documents(word) || TEXTS.iter().any(|language| language.is_kind(word, language.kinds, false))
    };
    rest.split_whitespace().all(|word| is_document(word) || known.contains(&word))
}

/// True if a word means the documents as a whole, or points to them.
fn says_documents(word: &str) -> bool {
    let points = |language: &Texts| holds(language.determiners, word) || holds(language.demonstratives, word);
    holds(DOCUMENTS, word) || TEXTS.iter().any(points)
}

/// True for `What is this thing about?`, whatever the noun.
fn asks_about_this(words: &[&str]) -> bool {
    let (this, noun) = match words {
        ["what", "is" | "are", this, noun, "about"]
        | ["whats", this, noun, "about"]
        | [.., "what", this, noun, "is" | "are", "about"]
        | ["worum", "geht", "es", "in", this, noun]
        | ["worum", "gehts", "in", this, noun]
        | ["wovon", "handelt" | "handeln", this, noun]
        | ["de", "quoi", "parle" | "parlent", this, noun]
        | ["de", "qué", "trata" | "tratan", this, noun] => (this, noun),
        _ => return false,
    };
    TEXTS.iter().any(|language| holds(language.demonstratives, this)) && !says_documents(noun)
}

/// Returns the words, separated and surrounded by single spaces, with `the documents` for every `the contracts` or `the user
/// manual`.
fn with_kinds_as_documents(words: &[&str]) -> String {
    let mut plain = " ".to_owned();
    let mut at = 0;
    while at < words.len() {
        plain += &format!("{} ", words[at]);
        let length = TEXTS.iter().find_map(|language| language.length_behind(words, at));
        if length.is_some() {
            plain += "documents ";
        }
        at += 1 + length.unwrap_or_default();
    }
    plain
}

impl Texts {
    /// Returns the number of words behind a determiner that name a kind of text; `None` if there are none.
    fn length_behind(&self, words: &[&str], determiner: usize) -> Option<usize> {
        const MAX_WORDS_BETWEEN: usize = 2;
        let points = holds(self.demonstratives, words[determiner]);
        if !points && !holds(self.determiners, words[determiner]) {
            return None;
        }
        let is_kind = |word: &str| {
            self.is_kind(word, self.kinds, points) || self.is_kind(word, self.determined_kinds, points)
        };
        let is_between = |word: &&&str| holds(self.between, word) || (points && !holds(DOCUMENTS, word));
        let behind = &words[determiner + 1..];
        let between = behind.iter().take(MAX_WORDS_BETWEEN).take_while(is_between).count();
        let kind = (0..=between).rev().find(|&kind| behind.get(kind).is_some_and(|word| is_kind(word)))?;
        // `What does this server log?`
        let is_verb = kind > 0
            && kind + 1 == behind.len()
            && determiner.checked_sub(1).is_some_and(|at| matches!(words[at], "do" | "does"));
        (!is_verb).then_some(kind + 1)
    }

    /// True if a word, in any form, is one of `kinds`, or ends in one if `is_compound`.
    fn is_kind(&self, word: &str, kinds: &'static str, is_compound: bool) -> bool {
        let without_umlauts = |word: &str| word.replace('ä', "a").replace('ö', "o").replace('ü', "u");
        let word = without_umlauts(word);
        let mut stems = self.endings.iter().filter_map(|(ending, replaced)| {
            word.strip_suffix(ending).map(|stem| format!("{stem}{replaced}"))
        });
        stems.any(|stem| {
            phrases(kinds)
                .map(without_umlauts)
                .any(|kind| stem == kind || (is_compound && stem.ends_with(&kind)))
        })
    }
}

fn holds(list: &'static str, word: &str) -> bool {
    phrases(list).any(|phrase| phrase == word)
}

fn is_overview_in_chinese(plain: &str) -> bool {
    if !phrases(OVERVIEW_CHINESE).any(|phrase| plain.contains(phrase)) {
        return false;
    }
    let plain = with_texts_alone(plain);
    let lists = [OVERVIEW_CHINESE, REST_CHINESE, DEMONSTRATIVES_CHINESE, TEXTS_CHINESE];
    let mut known: Vec<&str> = lists.into_iter().flat_map(phrases).collect();
    known.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    known.into_iter().fold(plain, |rest, phrase| rest.replace(phrase, " ")).trim().is_empty()
}

/// Returns a Chinese request with `这些手册` for `这些水泵手册`.
fn with_texts_alone(plain: &str) -> String {
    const MAX_CHARS_BETWEEN: usize = 6;
    let pointing = phrases(DEMONSTRATIVES_CHINESE)
        .filter_map(|this| plain.find(this).map(|at| (at, at + this.len())))
        .max_by_key(|&(at, end)| (std::cmp::Reverse(at), end));
    let Some((_, start)) = pointing else { return plain.to_owned() };
    let behind = &plain[start..];
    let is_text = |at: usize| phrases(TEXTS_CHINESE).any(|text| behind[at..].starts_with(text));
    let ends = |c: char| "的是在和对里中说讲写".contains(c);
    let text = behind
        .char_indices()
        .take(MAX_CHARS_BETWEEN + 1)
        .find(|&(at, c)| is_text(at) || ends(c))
        .map_or(0, |(at, _)| if is_text(at) { at } else { 0 });
    format!("{}{}", &plain[..start], &behind[text..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_intent(texts: &[&str], expected: Intent) {
        for text in texts {
            assert_eq!(intent(text), expected, "{text}");
        }
    }

    #[test]
    fn greetings_are_not_questions() {
        check_intent(
            &[
                "hello",
                "Hi there!",
                "Thanks a lot.",
                "Guten Tag",
                "你好！",
                "Who are you?",
                "Good morning, everyone",
                "help",
            ],
            Intent::Greeting,
        );
        check_intent(
            &[
                "Hello Kitty's birthday?",
                "help with the pump",
                "you",
                "",
                "Who are you waiting for?",
                "test results",
            ],
            Intent::Question,
        );
    }

    #[test]
    fn questions_about_everything_ask_for_an_overview() {
        check_intent(
            &[
                "What is this about?",
                "What are the main themes?",
                "Summarize the documents.",
                "Give me an overview.",
                "Please summarise these files briefly",
                "What are the main topics of the book?",
                "What's in here?",
                "What is in these files?",
                "tl;dr",
                "Worum geht es in diesem Text?",
                "Fasse die Dokumente zusammen.",
                "Was sind die wichtigsten Themen?",
                "这些文件讲的是什么？",
                "总结一下主要内容。",
                "请概括全文",
                "What are the key themes across all documents?",
                "What do these documents have in common?",
                "Which themes recur across the documents?",
                "What are the overarching themes?",
                "What are the major trends in the data?",
                "Give me a high-level summary of everything",
                "Welche Themen behandeln die Dokumente?",
                "Was sind die zentralen Themen?",
                "总体上讲了什么？",
                "What topics do these documents cover?",
                "List the main topics.",
                "Can you tell me what these files are about?",
                "Summarise everything in three sentences",
                "Give me a summary in bullet points.",
                "What can you tell me about these documents?",
                "Nenne die Hauptthemen.",
                "Welche Hauptthemen gibt es?",
                "Fasse den Inhalt kurz zusammen.",
                "Fasse bitte alles in wenigen Sätzen zusammen.",
                "Kannst du die Unterlagen zusammenfassen?",
                "Um was geht es hier überhaupt?",
                "Was ist der Inhalt dieser Dokumente?",
                "有哪些主题？",
                "用三句话总结一下",
                "列出主要主题",
            ],
            Intent::Overview,
        );
    }

    #[test]
    fn the_documents_may_be_named_by_the_kind_of_their_texts() {
        check_intent(
            &[
                "What are these manuals about?",
                "What are these policies about?",
                "What are these stories about?",
                "What are the chats about?",
                "What is this user manual about?",
                "What is the user manual about?",
                "What is this pump manual about?",
                "What is this thing about?",
                "Tell me what these spells are about.",
                "What are the main topics of these policies?",
                "Give me an overview of the policies.",
                "Summarize the meetings.",
                "Summarize these three contracts",
                "What do the two contracts have in common?",
                "What topics do these interviews cover?",
                "What does this pump manual cover?",
                "Summarise all e-mails in two sentences.",
                "Summary of reports",
                "What happens in these tales?",
                "Worum geht es in der Anleitung?",
                "Worum geht es in diesen Verträgen?",
                "Worum geht es in diesem Grundgesetz?",
                "Worum geht es in diesem Spiel?",
                "Wovon handeln die Märchen?",
                "Fasse die Bedienungsanleitung zusammen.",
                "Fasse die E-Mails zusammen.",
                "Gib mir einen Überblick über die Richtlinien.",
                "Was sind die Hauptthemen der Protokolle?",
                "Was steht in den Handbüchern?",
                "这些说明书讲了什么？",
                "这些水泵说明书讲了什么？",
                "总结一下这份租赁合同",
                "聊天记录的主要内容是什么？",
                "这些邮件的主题是什么？",
                "De quoi parlent ces contrats ?",
                "De quoi parle cette pompe ?",
                "Résume l'article.",
                "Quels sont les thèmes principaux de ces lettres ?",
                "¿De qué tratan estas políticas?",
                "Resume los contratos.",
                "Dame un resumen de las leyes.",
            ],
            Intent::Overview,
        );
    }

    #[test]
    fn a_summary_of_something_named_is_an_ordinary_question() {
        check_intent(
            &[
                "Summarize the report on the Hearthmoth.",
                "What is the talk about leaks about?",
                "What is ownership about?",
                "Worum geht es im Vertrag mit Osterloh?",
                "总结一下沈文澜的生平",
                "What is Tarn?",
                "What is the Larkfen policy on leave about?",
                "What is this policy on leave about?",
                "Summarize the Larkfen policies.",
                "Summarize the meeting of 19 September",
                "What is the Brexit about?",
                "Tell me about contracts.",
                "Tell me about the lawn.",
                "What is this man worried about?",
                "What does this server log?",
                "What happens in five minutes?",
                "What happens to the letters?",
                "What about the contract?",
                "Who is the letter about?",
                "Worum geht es im Grundgesetz?",
                "Fasse die Besprechung vom 19. September zusammen.",
                "Was steht im Brief an Osterloh?",
                "这份合同的租金是多少？",
                "水泵说明书讲了什么？",
                "这个人说了什么？",
                "¿De qué trata el contrato con Osterloh?",
                "De quoi parle la lettre de Tarn ?",
            ],
            Intent::Question,
        );
    }
}

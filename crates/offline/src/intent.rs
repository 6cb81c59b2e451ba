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
    what do i have here, deal with, deals with, what do these, what does this, what happens, main subjects, main \
    findings, key findings, major trends, main trends, in common, inhalt, um was geht es, \
    fasse, fass, zusammenfassung, zusammenfassen, überblick, übersicht, hauptthemen, themen, thema, worum geht \
    es, worum gehts, wovon handelt, wovon handeln, worüber, was steht, was enthalten, résume, résumé, resumen, \
    temas, thèmes, de quoi parle, de quoi parlent, de qué trata, de qué tratan";
/// Phrases without a topic that may accompany those of [`OVERVIEW`].
const ASKING: &str = "\
    give me, can you, could you, would you, please, tell me, write, i want, show me, make, provide, summaries, \
    abstract, subjects, what is this about, what is it about, what are these about, what is it all about, what is this \
    all about, whats this about, what is in here, whats in here, what is inside, discussed, covered, cover, contain, \
    contains, happens, describe, explain, fassen, zusammen, gib mir, gib, einen, eine, kurze, steht, enthalten, \
    enthält, behandelt, resume, list, name, bullet points, in a few words, in a few sentences, nenne, nenn, liste, \
    kannst du, können sie, gibt es, in wenigen sätzen, in wenigen worten, in stichpunkten";
/// Words for the documents as a whole, and function words.
const DOCUMENTS: &str = "\
    document, documents, doc, docs, file, files, text, texts, book, books, story, novel, tale, corpus, collection, \
    workspace, data, dataset, report, reports, guide, manual, handbook, article, articles, news, paper, papers, notes, \
    folder, content, contents, material, everything, page, pages, pdf, website, whole, entire, all, main, major, key, \
    central, important, most, general, brief, short, briefly, quick, these, this, those, here, it, them, they, the, a, \
    an, of, in, is, are, what, which, whats, do, does, and, for, me, my, our, us, your, to, some, there, kind, sort, \
    with, on, by, ideas, points, information, plot, across, throughout, overall, overarching, one, two, three, five, \
    ten, sentence, sentences, words, paragraph, bullet, bullets, top, common, recurring, recur, have, can, you, tell, \
    high, level, findings, trends, insgesamt, überall, überhaupt, eigentlich, ein, zwei, drei, fünf, satz, sätze, \
    sätzen, worten, über, behandeln, behandelt, zentral, zentrale, zentralen, hauptsächlich, gemeinsam, dokument, \
    dokumente, dokumenten, texte, texten, datei, dateien, buch, geschichte, roman, sammlung, daten, bericht, berichte, \
    handbuch, artikel, unterlagen, inhalt, inhalte, ganze, ganzen, gesamte, alle, alles, wichtigsten, wichtigste, \
    wesentliche, wesentlichen, hier, diesem, diesen, dieser, dieses, diese, das, die, der, den, dem, des, im, was, \
    sind, ist, es, bitte, mir, und, von, kurz, welche, werden, wird, meine, meinen, meiner, geht, le, la, les, du, ce, \
    ces, principaux, sont, quels, el, los, las, estos, este, documento, documentos, principales, cuáles, son, moi, un, \
    una";
/// Chinese counterpart of [`OVERVIEW`].
const OVERVIEW_CHINESE: &str = "\
    核心内容, 核心內容, 总结, 總結, 概括, 摘要, 概述, 综述, 概览, 主要内容, 主要內容, 主题, 主題, 讲的是什么, 讲什么, \
    讲了什么, 講什麼, 说什么, 说了什么, 关于什么, 關於什麼, 写了什么, 有什么内容, 讲些什么, 大意";
/// Chinese counterpart of [`ASKING`] and [`DOCUMENTS`].
const REST_CHINESE: &str = "\
    总体上, 总体, 整体, 總體, 请, 請, 帮我, 给我, 一下, 这些, 這些, 这个, 这本, 这篇, 这份, 这, 那些, 全部, 所有, 整个, \
    文件, 文档, 文檔, 文章, 资料, 材料, 文本, 书, 故事, 小说, 手册, 报告, 内容, 內容, 主要, \
    核心, 重点, 里面, 里, 中, 的, 是, 了, 什么, 什麼, 哪些, 有, 讲, 说, 写, 吗, 呢, 要点, \
    全文, 本, 都, 一个, 个, 和, 我, 想, 知道, 吧, 它, 它们, 在, 大概, 简单, 简要, 做, 及, \
    与, 列出, 用, 句话, 几, 两, 三, 五, 条, 点";

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
    let lower = text.to_lowercase().replace(['\'', '’'], "");
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
    if !phrases(OVERVIEW).any(|phrase| plain.contains(&format!(" {phrase} "))) {
        return is_overview_in_chinese(plain.trim());
    }
    let mut known: Vec<&str> = phrases(OVERVIEW).chain(phrases(ASKING)).collect();
    known.sort_by_key(|phrase| std::cmp::Reverse(phrase.len()));
    let mut rest = plain.to_owned();
    for phrase in &known {
        rest = rest.replace(&format!(" {phrase} "), "  ");
    }
    rest.split_whitespace()
        .all(|word| phrases(DOCUMENTS).any(|document| document == word) || known.contains(&word))
}

fn is_overview_in_chinese(plain: &str) -> bool {
    if !phrases(OVERVIEW_CHINESE).any(|phrase| plain.contains(phrase)) {
        return false;
    }
    let known = phrases(OVERVIEW_CHINESE).chain(phrases(REST_CHINESE));
    known.fold(plain.to_owned(), |rest, phrase| rest.replace(phrase, " ")).trim().is_empty()
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
    fn a_summary_of_something_named_is_an_ordinary_question() {
        check_intent(
            &[
                "Summarize the report on the Hearthmoth.",
                "What is the talk about leaks about?",
                "What is ownership about?",
                "Worum geht es im Vertrag mit Osterloh?",
                "总结一下沈文澜的生平",
                "What is Tarn?",
            ],
            Intent::Question,
        );
    }
}

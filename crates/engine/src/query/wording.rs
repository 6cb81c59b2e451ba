//! The words around verbatim sentences, in the language of the question if it is supported.

use graphloom_offline::language_code;

/// Returns the note below an answer without an LLM, in the language of the question if that is English, German or Chinese, and
/// otherwise in English.
pub fn without_llm(question: &str) -> &'static str {
    Language::of(question).without_llm()
}

/// A language that has these words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    German,
    Chinese,
}

impl Language {
    /// Returns the language of a question; English if it is another language.
    pub(super) fn of(question: &str) -> Self {
        const GERMAN: [&str; 9] =
            ["hallo", "guten", "moin", "servus", "danke", "hilfe", "tschüss", "worum", "zusammenfassung"];
        let first = question.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        let first = first.unwrap_or_default().to_lowercase();
        match language_code(question) {
            "de" => Self::German,
            "zh" => Self::Chinese,
            _ if GERMAN.contains(&first.as_str()) => Self::German,
            _ => Self::English,
        }
    }

    pub(super) fn greeting(self) -> &'static str {
        match self {
            Self::English => {
                "Hello! Ask a question about your documents, such as who, when, where or how many. \
                 \"What is this about?\" gives an overview."
            }
            Self::German => {
                "Guten Tag! Stellen Sie eine Frage zu Ihren Dokumenten, zum Beispiel wer, wann, wo oder wie viele. \
                 „Worum geht es?“ gibt einen Überblick."
            }
            Self::Chinese => {
                "您好！请就您的文档提问，例如谁、何时、哪里或多少。输入“主要内容是什么？”可以得到概览。"
            }
        }
    }

    pub(super) fn empty(self) -> &'static str {
        match self {
            Self::English => "There are no documents to search yet.",
            Self::German => "Es gibt noch keine Dokumente zum Durchsuchen.",
            Self::Chinese => "目前还没有可以搜索的文档。",
        }
    }

    pub(super) fn likely(self) -> &'static str {
        match self {
            Self::English => "Probably:",
            Self::German => "Wahrscheinlich:",
            Self::Chinese => "可能的答案：",
        }
    }

    pub(super) fn without_llm(self) -> &'static str {
        match self {
            Self::English => "answered without an LLM: verbatim sentences from your documents",
            Self::German => "ohne LLM beantwortet: wörtliche Sätze aus Ihren Dokumenten",
            Self::Chinese => "未使用大语言模型：以上均为文档原文",
        }
    }

    pub(super) fn closest(self) -> &'static str {
        match self {
            Self::English => "No sentence answers this directly. Closest passages:",
            Self::German => "Kein Satz beantwortet das direkt. Die nächsten Textstellen:",
            Self::Chinese => "没有句子直接回答这个问题。最接近的段落：",
        }
    }

    /// Returns the line with a claim that held at a date.
    pub(super) fn as_of(self, date: &str, claim: &str) -> String {
        match self {
            Self::English => format!("As of {date}: {claim}."),
            Self::German => format!("Stand {date}: {claim}."),
            Self::Chinese => format!("截至{date}：{claim}。"),
        }
    }

    /// Says that nothing was found.
    ///
    /// - `looked_for`: the words of the question that were searched for.
    pub(super) fn not_found(self, documents: u64, looked_for: &[String]) -> String {
        let words = looked_for.join(if self == Self::Chinese { "、" } else { ", " });
        match (self, looked_for.is_empty()) {
            (Self::English, true) => format!("Not found in {}.", english_documents(documents)),
            (Self::English, false) => {
                format!("Not found in {}. Searched for: {words}.", english_documents(documents))
            }
            (Self::German, true) => format!("Nicht gefunden in {}.", german_documents(documents)),
            (Self::German, false) => {
                format!("Nicht gefunden in {}. Gesucht: {words}.", german_documents(documents))
            }
            (Self::Chinese, true) => format!("在{documents}个文档中没有找到。"),
            (Self::Chinese, false) => format!("在{documents}个文档中没有找到。搜索的词：{words}。"),
        }
    }

    pub(super) fn overview(self, documents: u64) -> String {
        match self {
            Self::English => {
                format!("Overview of {}. The best connected topics:", english_documents(documents))
            }
            Self::German => match documents {
                1 => "Überblick über 1 Dokument. Die am besten verbundenen Themen:".to_owned(),
                _ => format!("Überblick über {documents} Dokumente. Die am besten verbundenen Themen:"),
            },
            Self::Chinese => format!("{documents}个文档的概览。联系最多的主题："),
        }
    }

    /// Returns the words before `shown` of `all` reports, for a question about the documents as a whole.
    pub(super) fn overview_of_reports(self, documents: u64, shown: usize, all: usize) -> String {
        match self {
            Self::English => format!(
                "Overview of {}: {shown} of {all} communities, the best rated first.",
                english_documents(documents)
            ),
            Self::German => match documents {
                1 => format!(
                    "Überblick über 1 Dokument: {shown} von {all} Gemeinschaften, die wichtigsten zuerst."
                ),
                _ => format!(
                    "Überblick über {documents} Dokumente: {shown} von {all} Gemeinschaften, die wichtigsten zuerst."
                ),
            },
            Self::Chinese => format!("{documents}个文档的概览：{all}个社区中的{shown}个，最重要的在前。"),
        }
    }

    /// Returns the words before `shown` of `all` reports that are relevant to a question.
    pub(super) fn nearest_reports(self, shown: usize, all: usize) -> String {
        match self {
            Self::English => {
                format!("{shown} of {all} relevant communities, the most relevant first:")
            }
            Self::German => format!("{shown} von {all} passenden Gemeinschaften, die passendsten zuerst:"),
            Self::Chinese => format!("{all}个相关社区中的{shown}个，最相关的在前："),
        }
    }

    /// Says that passages were found but none fits into the prompt.
    pub(super) fn none_fits(self) -> &'static str {
        match self {
            Self::English => "What was found in your documents does not fit into max_total_tokens.",
            Self::German => "Was in Ihren Dokumenten gefunden wurde, passt nicht in max_total_tokens.",
            Self::Chinese => "在文档中找到的内容超出了 max_total_tokens。",
        }
    }
}

fn english_documents(documents: u64) -> String {
    if documents == 1 { "1 document".to_owned() } else { format!("{documents} documents") }
}

fn german_documents(documents: u64) -> String {
    if documents == 1 { "1 Dokument".to_owned() } else { format!("{documents} Dokumenten") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_answer_is_reported_in_the_language_of_the_question() {
        let words = ["monad".to_owned()];
        for (question, expected) in [
            ("What is a monad?", "Not found in 12 documents. Searched for: monad."),
            (
                "Was ist eine Monade, und wer hat sie erfunden?",
                "Nicht gefunden in 12 Dokumenten. Gesucht: monad.",
            ),
            ("什么是单子？", "在12个文档中没有找到。搜索的词：monad。"),
            (
                "Qu'est-ce qu'une monade, et à quoi sert-elle ?",
                "Not found in 12 documents. Searched for: monad.",
            ),
        ] {
            assert_eq!(Language::of(question).not_found(12, &words), expected, "{question}");
        }
        assert_eq!(Language::English.not_found(1, &[]), "Not found in 1 document.");
        assert_eq!(Language::of("Hallo"), Language::German);
        assert_eq!(without_llm("Wer hat das Museum gegründet?"), Language::German.without_llm());
    }
}

//! Finds the section about the task that a question asks how to do: `Orphaning a package` for `How do I orphan a package?`.

use super::evidence::Evidence;
use super::excerpt::{MAX_BYTES, MAX_LINES};
use super::lines::LineForm;
use super::lists::steps_of;
use super::question::AnswerType;
use super::whole;

/// What a section says about its task.
pub(super) enum Section {
    /// A line of it that meets all conditions for an answer, with all steps and the lines needed to understand it.
    Answer(Vec<usize>),
    /// Its first lines, as many as an excerpt has.
    Start(Vec<usize>),
}

/// Returns what the section about the task of a question says; `None` if the question does not ask how to do something, or if no
/// heading names exactly its task.
pub(super) fn section(evidence: &Evidence<'_, '_>) -> Option<Section> {
    if evidence.question.answer_type != AnswerType::Manner {
        return None;
    }
    let lines = &evidence.reading.lines;
    let heading = (0..lines.len()).find(|at| evidence.names_topic(*at))?;
    let is_text = |at: &usize| matches!(lines[*at].form, LineForm::Prose | LineForm::Item);
    let belongs = |at: &usize| {
        lines[*at].passage == lines[heading].passage && lines[*at].headings.last() == Some(&heading)
    };
    let text: Vec<usize> = (heading + 1..lines.len()).take_while(belongs).filter(is_text).collect();
    let first = *text.first()?;
    let fits = |at: &usize| lines[*at].range.end - lines[first].range.start <= MAX_BYTES;
    let mut start: Vec<usize> = text.iter().copied().take(MAX_LINES).take_while(fits).collect();
    start.extend(Some(first).filter(|_| start.is_empty()));
    let best = evidence.answers().into_iter().find(|scored| text.contains(&scored.line));
    let Some(best) = best.filter(|best| evidence.may_answer(best.line)) else {
        return Some(Section::Start(start));
    };
    let mut found = whole(evidence, best.line);
    let before = start.iter().position(|line| *line == best.line).unwrap_or_default();
    found.extend(&start[..before]);
    // A task without all of its steps would be wrong.
    let lists = steps_of(lines, best.line);
    if let (Some(first), Some(last)) = (lists.first(), lists.last()) {
        found.extend(first.start..last.end);
    }
    Some(Section::Answer(found))
}

#[cfg(test)]
mod tests {
    use super::super::Reply;
    use super::super::test_support::reply_from;

    const OVERVIEW: &str =
        "# Manual\n\nThe procedures tell you how to adopt a package and how to orphan a package.";
    const SECTION: &str = "## 5.9.4. Orphaning a package\n\nFirst set the maintainer to the pool. Then tell the list about it.\n\n\
        ## 5.9.5. Adopting a package\n\nYou can orphan a package again that you adopted.";

    #[test]
    fn the_section_named_after_a_task_explains_it() {
        let (reply, texts) = reply_from(&[OVERVIEW, SECTION], "How do I orphan a package?");
        assert!(matches!(reply, Reply::Answer(_) | Reply::Likely(_)), "{reply:?}");
        let said = texts.join(" ");
        assert!(
            said.starts_with("First set the maintainer to the pool.") && !said.contains("procedures"),
            "{texts:?}"
        );
    }

    #[test]
    fn a_more_specific_heading_does_not_name_the_task() {
        let special = SECTION.replace("Orphaning a package", "Orphaning a package with open bugs");
        let (_, texts) = reply_from(&[OVERVIEW, &special], "How do I orphan a package?");
        assert!(texts.join(" ").contains("procedures"), "{texts:?}");
    }
}

//! Replaces the commands that a document defines by their words, and the keys of a glossary by its names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::commands::{Effect, effect_of};
use super::{CODE, MAX_ARGUMENT_BYTES, group_end};

/// Maximum arguments of a command.
const MAX_ARGUMENTS: usize = 9;
/// Maximum commands that are replaced inside each other.
const MAX_DEPTH: usize = 16;
/// Maximum bytes that replacements read and write. Commands after that stay.
const MAX_EXPANDED_BYTES: usize = 20_000_000;
/// Commands that define something which this module replaces.
const DEFINES: [&str; 7] = [
    "newcommand",
    "renewcommand",
    "providecommand",
    "DeclareRobustCommand",
    "def",
    "newacronym",
    "newglossaryentry",
];

/// Returns LaTeX in which the commands that it defines are replaced, with as many lines. The definitions stay.
///
/// Only commands with a fixed number of arguments are replaced, and neither those that compute something nor those that the
/// reader knows. A command is not replaced inside itself.
pub(super) fn expanded(source: &str) -> Cow<'_, str> {
    if !DEFINES.iter().any(|name| source.contains(&format!("\\{name}"))) {
        return Cow::Borrowed(source);
    }
    let mut expander = Expander { left: MAX_EXPANDED_BYTES, ..Expander::default() };
    Cow::Owned(expander.expand(source, &mut Vec::new()))
}

#[derive(Default)]
struct Expander {
    macros: HashMap<String, Rc<Macro>>,
    /// The short and long names in the glossary, by their keys.
    terms: HashMap<String, (String, String)>,
    /// Bytes that may still be read and written.
    left: usize,
}

/// The definition of a command.
struct Macro {
    arguments: usize,
    /// The first argument if the command has none in square brackets.
    default: Option<String>,
    body: String,
}

impl Expander {
    /// Returns `text` with replaced commands, except those that are `open`.
    fn expand(&mut self, text: &str, open: &mut Vec<String>) -> String {
        let mut out = String::with_capacity(text.len());
        let mut at = 0;
        while let Some(start) = text[at..].find(['\\', '%']).map(|found| at + found) {
            out.push_str(&text[at..start]);
            at = start;
            let name = letters(&text[start + 1..]);
            let behind = start + 1 + name.len();
            let kept = if text[start..].starts_with('%') {
                start + text[start..].find('\n').unwrap_or(text.len() - start)
            } else if name.is_empty() {
                behind + text[behind..].chars().next().map_or(0, char::len_utf8)
            } else if let Some((end, words)) = self.replacement(text, name, behind, open) {
                out.push_str(&words);
                let lines = text[start..end].matches('\n').count();
                let lost = lines.saturating_sub(words.matches('\n').count());
                out.extend(std::iter::repeat_n('\n', lost));
                at = end;
                continue;
            } else {
                self.definition(text, name, behind).or_else(|| code_end(text, name, behind)).unwrap_or(behind)
            };
            out.push_str(&text[at..kept]);
            at = kept;
        }
        out.push_str(&text[at..]);
        out
    }

    /// Returns what replaces the command whose name ends at byte `behind`, and where the command ends.
    fn replacement(
        &mut self,
        text: &str,
        name: &str,
        behind: usize,
        open: &mut Vec<String>,
    ) -> Option<(usize, String)> {
        if !self.terms.is_empty()
            && let Some(of_term) = name_of_term(name)
        {
            let options = self.argument(text, behind, '[', ']').map_or(behind, |(end, _)| end);
            let (end, key) = self.argument(text, options, '{', '}')?;
            let (short, long) = self.terms.get(key.trim())?;
            return Some((end, of_term(short, long)));
        }
        let known = self.macros.get(name).filter(|_| !text[behind..].starts_with('@'))?.clone();
        if open.len() >= MAX_DEPTH || open.iter().any(|open| open == name) {
            return None;
        }
        let mut end = behind;
        let mut arguments: Vec<Cow<'_, str>> = Vec::new();
        if let Some(default) = &known.default {
            let given = self.argument(text, end, '[', ']');
            end = given.map_or(end, |(end, _)| end);
            arguments.push(given.map_or(default.as_str().into(), |(_, given)| given.into()));
        }
        while arguments.len() < known.arguments {
            let (next, argument) = self.argument(text, end, '{', '}')?;
            end = next;
            arguments.push(argument.into());
        }
        let words = with_arguments(&known.body, &mut arguments);
        self.spend(words.len() + 1)?;
        open.push(name.to_owned());
        let words = self.expand(&words, open);
        open.pop();
        Some((end, words))
    }

    /// Remembers what a command defines, and returns where the definition ends; `None` if the command defines nothing.
    fn definition(&mut self, text: &str, command: &str, behind: usize) -> Option<usize> {
        if !DEFINES.contains(&command) {
            return None;
        }
        let behind = behind + usize::from(text[behind..].starts_with('*'));
        if command == "newglossaryentry" || command == "newacronym" {
            let options = self.argument(text, behind, '[', ']').map_or(behind, |(end, _)| end);
            let (end, key) = self.argument(text, options, '{', '}')?;
            let (mut end, short) = self.argument(text, end, '{', '}')?;
            let names = if command == "newacronym" {
                let (behind, long) = self.argument(text, end, '{', '}')?;
                end = behind;
                (flat(short), flat(long))
            } else {
                let name = short.split_once("name")?.1.trim_start().strip_prefix('=')?.trim_start();
                let braced = self.argument(name, 0, '{', '}').map(|(_, name)| name);
                let name = flat(braced.or_else(|| name.split(',').next())?);
                (name.clone(), name)
            };
            self.terms.insert(key.trim().to_owned(), names);
            return Some(end);
        }
        let (end, name) = self.argument(text, behind, '{', '}').or_else(|| {
            let start = blank_end(text, behind);
            let name = letters(text[start..].strip_prefix('\\')?);
            Some((start + 1 + name.len(), &text[start..start + 1 + name.len()]))
        })?;
        let name = name.trim().strip_prefix('\\').unwrap_or_default();
        let (end, new) = self.body(text, command, end).unwrap_or((end, None));
        // What the reader knows is left to it.
        let new = new.filter(|_| letters(name) == name && matches!(effect_of(name), Effect::Nothing));
        match new {
            Some(new) => self.macros.insert(name.to_owned(), new.into()),
            None => self.macros.remove(name),
        };
        Some(end)
    }

    /// Reads the parameters and the body of a definition. Returns where it ends, and the definition if it is a simple one.
    fn body(&mut self, text: &str, command: &str, behind: usize) -> Option<(usize, Option<Macro>)> {
        let (mut end, mut arguments, mut default) = (behind, 0, None);
        if command == "def" {
            while text[end..].starts_with(&format!("#{}", arguments + 1)) && arguments < MAX_ARGUMENTS {
                arguments += 1;
                end += 2;
            }
            if !text[end..].starts_with('{') {
                return None;
            }
        } else if let Some((next, count)) = self.argument(text, end, '[', ']') {
            (end, arguments) = (next, count.trim().parse().ok().filter(|count| *count <= MAX_ARGUMENTS)?);
            if let Some((next, given)) = self.argument(text, end, '[', ']') {
                (end, default) = (next, Some(flat(given)));
            }
        }
        let (end, body) = self.argument(text, end, '{', '}')?;
        let is_simple = body.split('\\').skip(1).all(|command| {
            let name = letters(command);
            let computes = name.starts_with("if")
                || matches!(name, "csname" | "expandafter" | "else" | "fi" | "let" | "def" | "futurelet")
                || name.ends_with("command");
            !computes && !command[name.len()..].starts_with('@')
        });
        let body = flat(body).trim_end_matches("\\xspace").to_owned();
        Some((end, is_simple.then_some(Macro { arguments, default, body })))
    }

    /// Returns the argument in brackets that begins at byte `from` or after white space, and where it ends.
    fn argument<'t>(
        &mut self,
        text: &'t str,
        from: usize,
        open: char,
        close: char,
    ) -> Option<(usize, &'t str)> {
        let start = blank_end(text, from);
        if !text[start..].starts_with(open) {
            return None;
        }
        let end = group_end(text, start, open, close);
        self.spend(end.map_or(MAX_ARGUMENT_BYTES, |end| end - start))?;
        end.map(|end| (end, &text[start + 1..end - 1]))
    }

    /// Counts bytes; `None` if there are too many.
    fn spend(&mut self, bytes: usize) -> Option<()> {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.map(|_| ())
    }
}

/// Returns how a command for entries of glossaries writes a short and a long name.
fn name_of_term(command: &str) -> Option<fn(&str, &str) -> String> {
    match command {
        "gls" | "Gls" | "glspl" | "Glspl" | "ac" | "Ac" | "acs" | "acrshort" => {
            Some(|short, _| short.to_owned())
        }
        "acl" | "acrlong" | "glsentrylong" => Some(|_, long| long.to_owned()),
        "acf" | "acrfull" => Some(|short, long| format!("{long} ({short})")),
        _ => None,
    }
}

/// Returns the body of a command with its arguments. An argument keeps its lines the first time it is written.
fn with_arguments(body: &str, arguments: &mut [Cow<'_, str>]) -> String {
    let mut pieces = body.split('#');
    let mut words = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let number = piece.chars().next().and_then(|c| c.to_digit(10)).filter(|_| !words.ends_with('\\'));
        let argument = number.and_then(|number| arguments.get_mut((number as usize).checked_sub(1)?));
        match argument {
            Some(argument) => {
                words.push_str(argument);
                words.push_str(&piece[1..]);
                *argument = flat(argument).into();
            }
            None => {
                words.push('#');
                words.push_str(piece);
            }
        }
    }
    words
}

/// Returns the name at the beginning of `text`.
fn letters(text: &str) -> &str {
    &text[..text.len() - text.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len()]
}

/// Returns the end of the white space and comments that begin at byte `at`, except blank lines.
fn blank_end(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        end += text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
        let rest = &text[end..];
        match rest.find('\n').filter(|_| rest.starts_with(['%', '\n'])) {
            Some(line) if !rest[line + 1..].trim_start_matches([' ', '\t']).starts_with('\n') => {
                end += line + 1;
            }
            Some(_) | None => return end,
        }
    }
}

/// Returns `text` on one line, without comments.
fn flat(text: &str) -> String {
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        let comment = line.match_indices('%').find(|(at, _)| !line[..*at].ends_with('\\'));
        out.push_str(&line[..comment.map_or(line.len(), |(at, _)| at)]);
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns where the code ends that a command begins, in which nothing is replaced.
fn code_end(text: &str, command: &str, behind: usize) -> Option<usize> {
    let rest = &text[behind..];
    if matches!(command, "verb" | "lstinline") {
        let open = rest.chars().next()?;
        let inside = rest[open.len_utf8()..].lines().next().unwrap_or_default();
        let end = inside.find(if open == '{' { '}' } else { open })?;
        return Some(behind + open.len_utf8() + end);
    }
    let name = rest.strip_prefix('{').filter(|_| command == "begin")?.split_once('}')?.0;
    if name != "comment" && !CODE.contains(&name.trim_end_matches('*')) {
        return None;
    }
    Some(rest.find(&format!("\\end{{{name}}}")).map_or(text.len(), |end| behind + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_expanded(definitions: &str, text: &str, expected: &str) {
        assert_eq!(expanded(&format!("{definitions}\n{text}")), format!("{definitions}\n{expected}"));
    }

    #[test]
    fn defined_commands_are_replaced() {
        check_expanded(
            "\\newcommand{\\operator}{Statnett\\xspace}\n\\def\\city{Oslo}\\newcommand*\\unit[1]{#1 MW}",
            "Run by \\operator{} in \\city. It carries \\unit{700}; \\operators stay.",
            "Run by Statnett{} in Oslo. It carries 700 MW; \\operators stay.",
        );
        check_expanded(
            "\\newcommand{\\of}[2][mill]{#2 of the #1}",
            "\\of{Pipes}, \\of[house]{taps}",
            "Pipes of the mill, taps of the house",
        );
        check_expanded("\\newcommand{\\a}{\\b{x}}\n\\newcommand\\b[1]{[#1#1]}", "\\a", "[xx]");
        check_expanded("\\newcommand{\\a}{x}\\renewcommand{\\a}{y}", "\\a", "y");
    }

    #[test]
    fn replaced_commands_keep_their_lines() {
        check_expanded(
            "\\newcommand{\\n}[1]{\\emph{#1} #1 %\n }",
            "\\n{a % b\n c}\nd",
            "\\emph{a % b\n c} a c\nd",
        );
        check_expanded("\\newcommand{\\hide}[1]{}", "\\hide{a\nb}c", "\nc");
    }

    #[test]
    fn names_of_a_glossary_replace_its_keys() {
        check_expanded(
            "\\newacronym{nve}{NVE}{Norwegian Water}\\newglossaryentry{pump}{name={old pump}, description={x}}",
            "\\gls{nve}, \\acrlong{nve}, \\acrfull{nve}, the \\gls[x]{pump} and \\gls{other}",
            "NVE, Norwegian Water, Norwegian Water (NVE), the old pump and \\gls{other}",
        );
    }

    #[test]
    fn code_known_commands_and_computations_stay() {
        let definitions = "\\newcommand{\\city}{Oslo}\\renewcommand{\\footnote}[1]{#1!}\\def\\at#1.{x}\\def\\now{\\ifx a b\\fi}";
        for text in [
            "\\verb|\\city|, \\begin{verbatim}\\city\\end{verbatim}, \\footnote{a}, \\at b., \\now % \\city",
            "\\begin{lstlisting} \\city",
            "\\\\city",
        ] {
            check_expanded(definitions, text, text);
        }
    }

    #[test]
    fn replacements_are_bounded() {
        check_expanded("\\def\\a{x\\a}", "\\a", "x\\a");
        check_expanded("\\newcommand{\\a}[1]{#1}", "\\a{x", "\\a{x");
        let doubling: String = ('a'..='y')
            .map(|c| {
                let next = char::from(c as u8 + 1);
                format!("\\def\\{c}{c}{{\\{next}{next}\\{next}{next}}}\n")
            })
            .collect();
        let text = expanded(&format!("{doubling}\\def\\zz{{word}}\\aa")).into_owned();
        assert!(text.len() <= MAX_EXPANDED_BYTES);
    }
}

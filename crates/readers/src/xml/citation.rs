//! Reads a reference to a publication, as in JATS and TEI, as one line: `Allen B (2009). Why ducks dive. Pond Letters 37, 12-18.`

use super::super::xml_events::{Element, Node};
use super::one_block;

/// An open reference.
#[derive(Default)]
pub(super) struct Citation {
    /// The open elements inside it.
    open: Vec<Part>,
    /// All its text in order, with the marks between its elements.
    written: String,
    /// Whether it has text of its own, outside its elements, and so is written as it should be read.
    is_written: bool,
    authors: Vec<String>,
    editors: Vec<String>,
    year: String,
    title: String,
    source: String,
    volume: String,
    issue: String,
    pages: String,
    doi: String,
    /// Everything else, in order.
    further: Vec<String>,
}

/// An open element of a reference.
struct Part {
    role: Role,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Contains other elements.
    Group,
    Editors,
    Person,
    Given,
    Surname,
    Others,
    Year,
    Title,
    Source,
    Volume,
    Issue,
    FirstPage,
    LastPage,
    Doi,
    /// The number of the reference in a database.
    Id,
    /// Emphasis and the like, part of the text around it.
    Inline,
    Further,
}

impl Citation {
    /// True if an element of this name is a reference.
    pub(super) fn begins(name: &str) -> bool {
        matches!(name, "element-citation" | "mixed-citation" | "nlm-citation" | "biblStruct")
    }

    /// Reads the next node. Returns true if it closes the reference.
    pub(super) fn read(&mut self, node: Node<'_>) -> bool {
        match node {
            Node::Open(element) => {
                let part = self.part(&element);
                self.open.push(part);
            }
            Node::Text(text) => {
                self.written.push_str(&text);
                match self.open.last_mut() {
                    Some(part) => part.text.push_str(&text),
                    None => self.is_written |= !text.trim().is_empty(),
                }
            }
            Node::Close(_) => match self.open.pop() {
                Some(part) => self.close(part),
                None => return true,
            },
        }
        false
    }

    fn part(&self, element: &Element<'_>) -> Part {
        let name = element.name();
        let unit = || element.attr("unit").or(element.attr("type")).unwrap_or_default();
        let is = |name: &str, value: &str| element.attr(name).is_some_and(|found| found == value);
        // TEI has dates and pages in attributes.
        let mut text = element.attr("when").unwrap_or_default();
        let role = match name.as_str() {
            "person-group" if is("person-group-type", "editor") => Role::Editors,
            "editor" => Role::Editors,
            "person-group" | "analytic" | "monogr" | "imprint" | "series" => Role::Group,
            "author" | "collab" | "institution" | "orgName" => Role::Person,
            _ if is_person(&name) => Role::Person,
            _ if is_given_name(&name) => Role::Given,
            _ if is_surname(&name) => Role::Surname,
            "etal" => Role::Others,
            "year" | "date" => Role::Year,
            "article-title" | "chapter-title" | "data-title" | "part-title" => Role::Title,
            "title" if is("level", "a") => Role::Title,
            "source" | "title" => Role::Source,
            "volume" => Role::Volume,
            "issue" => Role::Issue,
            "fpage" | "page-range" | "elocation-id" => Role::FirstPage,
            "lpage" => Role::LastPage,
            "biblScope" => match unit().as_str() {
                "volume" | "vol" => Role::Volume,
                "issue" => Role::Issue,
                "page" | "pp" => {
                    let pages = [element.attr("from"), element.attr("to")];
                    text = pages.into_iter().flatten().collect::<Vec<_>>().join("-");
                    Role::FirstPage
                }
                _ => Role::Further,
            },
            "pub-id" if is("pub-id-type", "doi") => Role::Doi,
            "idno" if unit().eq_ignore_ascii_case("doi") => Role::Doi,
            "pub-id" | "idno" | "object-id" | "issn" | "isbn" => Role::Id,
            _ if self.open.last().is_some_and(|part| part.role != Role::Group) => Role::Inline,
            _ => Role::Further,
        };
        Part { role, text }
    }

    fn close(&mut self, part: Part) {
        let text = one_block(&part.text);
        let outer = self.open.last_mut();
        match part.role {
            Role::Inline | Role::Surname | Role::Given if outer.is_some() => {
                let Some(outer) = outer else { return };
                // A surname precedes the given name, whatever their order in the file.
                match part.role {
                    Role::Surname => outer.text = format!("{text} {}", outer.text),
                    Role::Given => outer.text.push_str(&format!(" {text}")),
                    _ => outer.text.push_str(&part.text),
                }
            }
            Role::Others => self.authors.push("et al.".to_owned()),
            _ if text.is_empty() => {}
            Role::Person | Role::Surname | Role::Given => {
                let edits = self.open.iter().any(|outer| outer.role == Role::Editors);
                if edits { self.editors.push(text) } else { self.authors.push(text) }
            }
            Role::Year => set(&mut self.year, &text),
            Role::Title => set(&mut self.title, &text),
            Role::Source => set(&mut self.source, &text),
            Role::Volume => set(&mut self.volume, &text),
            Role::Issue => set(&mut self.issue, &text),
            Role::FirstPage => set(&mut self.pages, &text),
            Role::LastPage if self.pages.is_empty() || self.pages == text => self.pages = text,
            Role::LastPage => self.pages = format!("{}-{text}", self.pages),
            Role::Doi => set(&mut self.doi, &text),
            Role::Id => {}
            Role::Group | Role::Editors | Role::Inline | Role::Further => self.further.push(text),
        }
    }

    /// Returns the reference on one line: authors (year). Title. Source volume(issue), pages. What is missing is left out.
    pub(super) fn line(&self) -> String {
        if self.is_written {
            return one_block(&self.written);
        }
        let year = if self.year.is_empty() { String::new() } else { format!("({})", self.year) };
        let issue = if self.issue.is_empty() { String::new() } else { format!("({})", self.issue) };
        let volume = format!("{}{issue}", self.volume);
        let place = [self.source.as_str(), volume.as_str()].map(str::trim);
        let place = place.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
        let editors = if self.editors.is_empty() {
            String::new()
        } else {
            format!("edited by {}", self.editors.join(", "))
        };
        let mut source = vec![place.as_str(), editors.as_str(), self.pages.as_str()];
        source.extend(self.further.iter().map(String::as_str));
        source.retain(|part| !part.is_empty());
        let authors = format!("{} {year}", self.authors.join(", "));
        let sentences = [authors.trim(), self.title.as_str(), &source.join(", ")];
        let mut line = String::new();
        for sentence in sentences.into_iter().filter(|sentence| !sentence.is_empty()) {
            line.push_str(sentence);
            line.push_str(if sentence.ends_with(['.', '!', '?']) { " " } else { ". " });
        }
        if !self.doi.is_empty() {
            line.push_str(&format!("doi:{}", self.doi.trim_start_matches("doi:")));
        }
        line.trim_end().to_owned()
    }
}

/// Sets what is not set yet: a reference has one title and one year.
fn set(field: &mut String, text: &str) {
    if field.is_empty() {
        *field = text.to_owned();
    }
}

/// True if an element contains the parts of a person's name.
pub(super) fn is_person(name: &str) -> bool {
    matches!(name, "name" | "string-name" | "persName" | "personname")
}

/// True if an element contains a given name.
pub(super) fn is_given_name(name: &str) -> bool {
    matches!(name, "given-names" | "forename" | "firstname" | "givenname")
}

/// True if an element contains a surname.
pub(super) fn is_surname(name: &str) -> bool {
    name == "surname"
}

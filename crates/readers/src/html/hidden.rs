//! Finds the elements of a page that are not read: scripts, menus, form controls, and what stays hidden.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use scraper::node::Element;
use scraper::{Html, Node};

use super::content::has;

/// Attributes that name the elements that a control shows.
const OPENS: [&str; 3] = ["aria-controls", "data-bs-target", "data-target"];

/// Returns the elements that are not read. Their descendants are not read either.
///
/// A collapsed panel is read if a control of the page opens it, or if search in the page finds it (`hidden="until-found"`). A
/// button is read if it is the title of a panel, as in `<h3><button>How long is it?</button></h3>`.
pub(super) fn unread(html: &Html) -> HashSet<NodeId> {
    let root = html.tree.root();
    let mut titles = HashSet::new();
    let mut opened = HashSet::new();
    for node in root.descendants() {
        let Some(element) = node.value().as_element() else { continue };
        if is_title(element) {
            titles.extend(buttons_of_title(node));
        }
        if is_control(element) {
            opened.extend(OPENS.iter().filter_map(|name| element.attr(name)).flat_map(ids));
        }
    }
    let is_unread = |node: &NodeRef<'_, Node>| {
        has(node, |element| {
            let is_hidden =
                element.attr("hidden").is_some_and(|how| !how.eq_ignore_ascii_case("until-found"));
            if element.name() == "button" {
                is_hidden || !(titles.contains(&node.id()) || titles_next(node, element))
            } else {
                is_no_text(element) || is_hidden && !is_opened(node, element, &opened, &titles)
            }
        })
    };
    root.descendants().filter(is_unread).map(|node| node.id()).collect()
}

fn is_no_text(element: &Element) -> bool {
    matches!(
        element.name(),
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "iframe"
            | "object"
            | "nav"
            | "select"
            | "textarea"
            // The reading of ruby text repeats its base.
            | "rp"
            | "rt"
            | "rtc"
    ) || element.attr("role") == Some("navigation")
}

/// True if an element is the title of what follows it.
fn is_title(element: &Element) -> bool {
    matches!(element.name(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "summary" | "dt")
}

fn is_control(element: &Element) -> bool {
    matches!(element.name(), "a" | "button" | "summary")
        || matches!(element.attr("role"), Some("button" | "tab"))
}

/// Returns the ids in the value of an attribute, which may be written as a selector: `#panel`.
fn ids(value: &str) -> impl Iterator<Item = &str> {
    value.split_ascii_whitespace().map(|id| id.trim_start_matches('#'))
}

/// Returns the buttons in a title; none if it has words of its own, because buttons beside them only act on it.
fn buttons_of_title(title: NodeRef<'_, Node>) -> Vec<NodeId> {
    let mut buttons = Vec::new();
    let mut inside = 0_usize;
    for edge in title.traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) if inside == 0 && !text.trim().is_empty() => return Vec::new(),
                Node::Element(element) if element.name() == "button" => {
                    buttons.push(node.id());
                    inside += 1;
                }
                Node::Element(element) => inside += usize::from(is_no_text(element)),
                _ => {}
            },
            Edge::Close(node) => {
                inside -= usize::from(has(&node, |e| e.name() == "button" || is_no_text(e)));
            }
        }
    }
    buttons
}

/// True if a button is the title of the element after it.
fn titles_next(button: &NodeRef<'_, Node>, element: &Element) -> bool {
    let is_toggle = element.attr("aria-expanded").is_some()
        || element.classes().any(|class| class.contains("accordion") || class.contains("collapsible"));
    let next = button.next_siblings().find(|node| node.value().is_element());
    is_toggle && next.is_some_and(|next| has(&next, is_panel))
}

/// True if an element can be unfolded in its place. Dialogs and menus cover the page.
fn is_panel(element: &Element) -> bool {
    matches!(element.name(), "article" | "dd" | "div" | "li" | "p" | "section" | "tr")
        && matches!(element.attr("role"), None | Some("group" | "region" | "tabpanel"))
}

/// True if a control shows the hidden element: it names its id, or is the title before it.
fn is_opened(
    node: &NodeRef<'_, Node>,
    element: &Element,
    opened: &HashSet<&str>,
    titles: &HashSet<NodeId>,
) -> bool {
    let follows_title = || {
        let before = node.prev_siblings().find(|node| node.value().is_element());
        before.is_some_and(|before| {
            has(&before, |e| e.name() == "button" && titles_next(&before, e))
                || has(&before, is_title) && before.descendants().any(|below| titles.contains(&below.id()))
        })
    };
    is_panel(element)
        && (element.attr("role") == Some("tabpanel")
            || element.attr("id").is_some_and(|id| opened.contains(id))
            || follows_title())
}

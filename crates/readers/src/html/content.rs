//! Finds the main content of a web page, and the parts of the page that are not text.

use std::collections::HashSet;

use ego_tree::{NodeId, NodeRef};
use scraper::node::Element;
use scraper::{Html, Node};

use super::is_skipped;

/// Minimum share of the page's words in its main content. If there are fewer, the page's markup is wrong.
const MIN_SHARE: f64 = 0.25;

/// Ids of main contents for pages without an element that marks it, best ids first.
const MAIN_IDS: [&str; 6] = ["mw-content-text", "bodyContent", "main-content", "content", "main", "primary"];

/// Ids and classes of elements beside the text of a page.
const BESIDE: [&str; 31] = [
    "breadcrumb",
    "breadcrumbs",
    "catlinks",
    "cookie-banner",
    "cookie-consent",
    "cookie-notice",
    "jump-to-nav",
    "mw-editsection",
    "mw-jump-link",
    "mw-navigation",
    "mw-panel",
    "mw-portlet",
    "navbar",
    "navbox",
    "noprint",
    "p-lang-btn",
    "printfooter",
    "related-posts",
    "share-buttons",
    "sidebar",
    "site-footer",
    "site-header",
    "siteNotice",
    "skip-link",
    "skip-to-content",
    "social-share",
    "toc",
    "vector-dropdown",
    "vector-page-toolbar",
    "vertical-navbox",
    "wp-block-navigation",
];

/// The parts of a page that are read.
pub(super) struct Content<'a> {
    /// Nodes that are read one after the other: the title, if it is outside the main content, and the main content.
    pub(super) roots: Vec<NodeRef<'a, Node>>,
    /// Nodes inside them that are not read.
    pub(super) left_out: HashSet<NodeId>,
}

/// Returns the main content: the element that the page marks as such, the only article, or an element with a known id. Pages
/// without such an element, or with nearly all of their words outside it, are read as a whole. The page's headers, footers and
/// asides, menus, tables of contents and lists of languages are left out.
pub(super) fn main_content(html: &Html) -> Content<'_> {
    let root = html.tree.root();
    let left_out: HashSet<NodeId> =
        root.descendants().filter(|node| is_beside(node)).map(|node| node.id()).collect();
    let all = words(root, &left_out);
    let is_main =
        |node: &NodeRef<'_, Node>| has(node, |e| e.name() == "main" || e.attr("role") == Some("main"));
    let is_article = |node: &NodeRef<'_, Node>| has(node, |e| e.name() == "article");
    let outermost = |node: &NodeRef<'_, Node>| !node.ancestors().any(|above| is_article(&above));
    let mut candidates: Vec<NodeRef<'_, Node>> = root.descendants().filter(is_main).collect();
    let articles: Vec<NodeRef<'_, Node>> =
        root.descendants().filter(|node| is_article(node) && outermost(node)).take(2).collect();
    if let [article] = articles[..] {
        candidates.push(article);
    }
    for id in MAIN_IDS {
        candidates.extend(root.descendants().find(|node| has(node, |e| e.attr("id") == Some(id))));
    }
    let holds_enough = |node: &NodeRef<'_, Node>| {
        let visible =
            !left_out.contains(&node.id()) && !node.ancestors().any(|above| left_out.contains(&above.id()));
        visible && words(*node, &left_out) as f64 >= MIN_SHARE * all.max(1) as f64
    };
    let Some(main) = candidates.into_iter().find(holds_enough) else {
        // The page consists only of headers and asides.
        let left_out = if all == 0 { HashSet::new() } else { left_out };
        return Content { roots: vec![root], left_out };
    };
    let is_title = |node: &NodeRef<'_, Node>| has(node, |e| e.name() == "h1");
    let mut roots = Vec::new();
    if !main.descendants().any(|node| is_title(&node)) {
        let mut titles = root.descendants().filter(|node| is_title(node) && words(*node, &left_out) > 0);
        let first = titles.next();
        roots.extend(first.filter(|_| titles.next().is_none()));
    }
    roots.push(main);
    Content { roots, left_out }
}

fn has(node: &NodeRef<'_, Node>, test: impl FnOnce(&Element) -> bool) -> bool {
    node.value().as_element().is_some_and(test)
}

/// True if an element is beside the text of its page.
fn is_beside(node: &NodeRef<'_, Node>) -> bool {
    let Some(element) = node.value().as_element() else { return false };
    let role = element.attr("role").unwrap_or_default();
    // The words of a page are in its body, whatever its id or class.
    if matches!(element.name(), "html" | "body" | "main" | "article" | "h1") || role == "main" {
        return false;
    }
    let is_named = BESIDE.iter().any(|name| element.attr("id") == Some(name))
        || element
            .attr("class")
            .is_some_and(|classes| classes.split_whitespace().any(|class| BESIDE.contains(&class)));
    let within = |names: &[&str]| node.ancestors().any(|above| has(&above, |e| names.contains(&e.name())));
    let of_page = || !within(&["main", "article"]);
    is_named
        || matches!(role, "navigation" | "search" | "contentinfo" | "complementary" | "menu" | "menubar")
        || match element.name() {
            "footer" => true,
            "aside" => of_page(),
            "header" => of_page() && !node.descendants().any(|below| has(&below, |e| e.name() == "h1")),
            "ul" | "ol" | "menu" => within(&["header"]),
            // Footnote numbers hide the end of a sentence.
            "sup" => element
                .attr("class")
                .is_some_and(|classes| classes.split_whitespace().any(|c| c == "reference")),
            _ => false,
        }
}

/// Returns the number of characters of the visible words below a node.
fn words(root: NodeRef<'_, Node>, left_out: &HashSet<NodeId>) -> usize {
    let mut count = 0;
    let mut node = root;
    loop {
        let inside = match node.value() {
            Node::Text(text) => {
                count += text.chars().filter(|c| !c.is_whitespace()).count();
                false
            }
            Node::Element(element) => {
                !is_skipped(element) && element.name() != "head" && !left_out.contains(&node.id())
            }
            Node::Document | Node::Fragment => true,
            Node::Comment(_) | Node::Doctype(_) | Node::ProcessingInstruction(_) => false,
        };
        if let Some(child) = node.first_child().filter(|_| inside) {
            node = child;
            continue;
        }
        loop {
            if node.id() == root.id() {
                return count;
            }
            if let Some(next) = node.next_sibling() {
                node = next;
                break;
            }
            let Some(parent) = node.parent() else { return count };
            node = parent;
        }
    }
}

//! Finds the main content of a web page, and the parts of the page that are not text.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use scraper::node::Element;
use scraper::{Html, Node};

/// Minimum share of the page's words in its main content. If there are fewer, the page's markup is wrong.
const MIN_SHARE: f64 = 0.25;

/// Minimum share of links in the words of a menu. A sidebar with fewer is text in a box.
const MIN_LINKS: f64 = 0.5;

/// Ids of main contents for pages without an element that marks it, best ids first.
const MAIN_IDS: [&str; 6] = ["mw-content-text", "bodyContent", "main-content", "content", "main", "primary"];

/// Ids and classes of elements beside the text of a page.
const BESIDE: [&str; 39] = [
    "anchor-link",
    "breadcrumb",
    "breadcrumbs",
    "catlinks",
    "cookie-banner",
    "cookie-consent",
    "cookie-notice",
    "docnav",
    "fn-bracket",
    "hash-link",
    "header-anchor",
    "headerlink",
    "jump-to-nav",
    "mw-editsection",
    "mw-jump-link",
    "mw-navigation",
    "mw-panel",
    "mw-portlet",
    "navbar",
    "navbox",
    "navfooter",
    "navheader",
    "noprint",
    "p-lang-btn",
    "permalink",
    "printfooter",
    "related-posts",
    "share-buttons",
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

/// Beginnings of ids and classes of boxes that ask for consent, by the tools that add them to pages.
const CONSENT_TOOLS: [&str; 9] = [
    "cc-banner",
    "cc-window",
    "cmplz-",
    "cybotcookiebot",
    "didomi",
    "onetrust",
    "qc-cmp",
    "truste-",
    "usercentrics",
];
/// Parts of ids and classes of other boxes that ask for consent.
const CONSENT: [&str; 3] = ["consent", "cookie", "gdpr"];
/// Parts of ids and classes that say that an element is a box over the page.
const BOXES: [&str; 11] = [
    "alert", "banner", "bar", "bottom", "dialog", "message", "modal", "notice", "overlay", "popup", "prompt",
];
/// Maximum characters of a box that asks for consent. A longer one may be what the page is about.
const MAX_CONSENT: usize = 2000;

/// Parts of ids and classes of elements that are menus if they consist of links. Manuals put digressions into sidebars.
const MENUS: [&str; 2] = ["nav", "sidebar"];

/// The parts of a page that are read.
pub(super) struct Content<'a> {
    /// Nodes that are read one after the other: the title, if it is outside the main content, and the main content.
    pub(super) roots: Vec<NodeRef<'a, Node>>,
    /// Nodes inside them that are not read.
    pub(super) left_out: HashSet<NodeId>,
}

/// Returns the main content: the element that the page marks as such, the only article, or an element with a known id. Pages
/// without such an element, or with nearly all of their words outside it, are read as a whole. The page's headers, footers and
/// asides, menus, tables of contents, lists of languages and boxes that ask for consent are left out.
/// `unread` are the elements that are not read on any page.
pub(super) fn main_content<'a>(html: &'a Html, unread: &HashSet<NodeId>) -> Content<'a> {
    let root = html.tree.root();
    let mut left_out = unread.clone();
    let is_beside = |node: &NodeRef<'_, Node>| is_beside(node) || asks_consent(node, unread);
    left_out.extend(root.descendants().filter(is_beside).map(|node| node.id()));
    left_out.extend(menus(root, unread));
    let all = words(root, &left_out);
    let is_article = |node: &NodeRef<'_, Node>| has(node, |e| e.name() == "article");
    let outermost = |node: &NodeRef<'_, Node>| !node.ancestors().any(|above| is_article(&above));
    let mut candidates: Vec<NodeRef<'_, Node>> =
        root.descendants().filter(|node| has(node, is_main)).collect();
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
        let left_out = if all == 0 { unread.clone() } else { left_out };
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

pub(super) fn has(node: &NodeRef<'_, Node>, test: impl FnOnce(&Element) -> bool) -> bool {
    node.value().as_element().is_some_and(test)
}

/// True if an element contains the words of its page, whatever its id or class.
fn is_body(element: &Element) -> bool {
    matches!(element.name(), "html" | "body" | "article" | "h1") || is_main(element)
}

/// True if an element is marked as the main content.
fn is_main(element: &Element) -> bool {
    element.name() == "main" || element.attr("role") == Some("main")
}

/// True if an element is the number of a footnote, which would hide the end of a sentence, or a link back from one.
fn is_footnote_number(element: &Element) -> bool {
    let is_of_footnote = |class: &str| match class {
        "footnote" | "footnote-ref" | "footnote-reference" | "fn-backref" => true,
        "reference" => element.name() == "sup", // MediaWiki's; Sphinx's links have the same class
        _ => false,
    };
    matches!(element.attr("role"), Some("doc-noteref" | "doc-backlink"))
        || element.attr("class").is_some_and(|classes| classes.split_whitespace().any(is_of_footnote))
}

/// True if an element is beside the text of its page.
fn is_beside(node: &NodeRef<'_, Node>) -> bool {
    let Some(element) = node.value().as_element() else { return false };
    let role = element.attr("role").unwrap_or_default();
    if is_body(element) {
        return false;
    }
    let is_named = BESIDE.iter().any(|name| element.attr("id") == Some(name))
        || element
            .attr("class")
            .is_some_and(|classes| classes.split_whitespace().any(|class| BESIDE.contains(&class)));
    let within = |names: &[&str]| node.ancestors().any(|above| has(&above, |e| names.contains(&e.name())));
    let of_page = || !node.ancestors().any(|above| has(&above, |e| is_main(e) || e.name() == "article"));
    is_named
        || matches!(role, "navigation" | "search" | "contentinfo" | "complementary" | "menu" | "menubar")
        || match element.name() {
            "footer" => true,
            "aside" => of_page(),
            "header" => of_page() && !node.descendants().any(|below| has(&below, |e| e.name() == "h1")),
            "ul" | "ol" | "menu" => within(&["header"]),
            "a" | "sup" => is_footnote_number(element),
            _ => false,
        }
}

/// True if an element beside the main content is a box that asks whether the page may keep cookies.
fn asks_consent(node: &NodeRef<'_, Node>, unread: &HashSet<NodeId>) -> bool {
    let contains = |name: &str, parts: &[&str]| parts.iter().any(|part| name.contains(part));
    let is_box = |name: String| {
        CONSENT_TOOLS.iter().any(|tool| name.starts_with(tool))
            || contains(&name, &CONSENT)
                && (contains(&name, &BOXES) || name.contains("cookie") && name.contains("consent"))
    };
    let is_named = has(node, |element| !is_body(element) && names(element).any(is_box));
    let in_content = || {
        let mut around = node.ancestors().chain(node.descendants());
        around.any(|other| has(&other, |e| e.name() == "article" || e.name() == "h1" || is_main(e)))
    };
    is_named && !in_content() && words(*node, unread) <= MAX_CONSENT
}

/// Returns the id and the classes of an element, in lower case.
fn names(element: &Element) -> impl Iterator<Item = String> {
    element.attr("id").into_iter().chain(element.classes()).map(str::to_ascii_lowercase)
}

/// Returns the elements named menus or sidebars, and the panels to unfold, that consist of links.
fn menus(root: NodeRef<'_, Node>, unread: &HashSet<NodeId>) -> Vec<NodeId> {
    let is_named = |element: &Element| {
        let is_menu = |name: String| MENUS.iter().any(|menu| name.contains(menu));
        element.attr("hidden").is_some() || names(element).any(is_menu)
    };
    let mut found = Vec::new();
    // Characters so far, and those inside links; the same counts at the start of each open menu.
    let (mut all, mut linked) = (0_usize, 0_usize);
    let mut began: Vec<(usize, usize)> = Vec::new();
    let (mut links, mut skipped) = (0_usize, 0_usize);
    for edge in root.traverse() {
        match edge {
            Edge::Open(node) => match node.value() {
                Node::Text(text) if skipped == 0 => {
                    let visible = text.chars().filter(|c| !c.is_whitespace()).count();
                    all += visible;
                    linked += if links > 0 { visible } else { 0 };
                }
                Node::Element(element) => {
                    links += usize::from(element.name() == "a");
                    skipped += usize::from(unread.contains(&node.id()));
                    if is_named(element) {
                        began.push((all, linked));
                    }
                }
                _ => {}
            },
            Edge::Close(node) => {
                let Some(element) = node.value().as_element() else { continue };
                links -= usize::from(element.name() == "a");
                skipped -= usize::from(unread.contains(&node.id()));
                if is_named(element)
                    && let Some((all_before, linked_before)) = began.pop()
                    && (linked - linked_before) as f64 >= MIN_LINKS * (all - all_before) as f64
                    && !is_body(element)
                {
                    found.push(node.id());
                }
            }
        }
    }
    found
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
            Node::Element(element) => element.name() != "head" && !left_out.contains(&node.id()),
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

//! The offices in a sentence and the organisations or places where they are held.

use std::ops::Range;

use super::names::{OF, Reader, STOPS};
use super::read::Memory;
use super::words::Item;

impl Reader<'_, '_> {
    /// Returns the offices in a range, and the organisation or place where they are held.
    pub(super) fn office(
        &self,
        range: Range<usize>,
        memory: &Memory,
        own: Option<&str>,
    ) -> (Vec<String>, Option<String>) {
        let Some(at) = range.clone().find(|at| matches!(self.items[*at], Item::Offices(..))) else {
            return (Vec::new(), None);
        };
        let Item::Offices(offices) = &self.items[at] else { return (Vec::new(), None) };
        let offices: Vec<String> = offices.iter().map(|office| office.name.clone()).collect();
        // `CEO in 2014 of O`
        let behind =
            (at + 1..range.end).find(|at| !matches!(self.items[*at], Item::Time(_))).unwrap_or(range.end);
        if behind < range.end && OF.contains(&self.items[behind].lower()) {
            let (mut first, article) = (behind + 1, matches!(self.items[behind].lower(), "der" | "des"));
            while first < range.end
                && matches!(self.items[first].lower(), "the" | "der" | "des" | "dem" | "den")
            {
                first += 1;
            }
            if self.is_company(first) {
                return (offices, own.map(str::to_owned).or_else(|| memory.organisation_referred_to()));
            }
            if let Some((name, _)) = self.name(first, range.end).filter(|_| !article || first < range.end) {
                return (offices, Some(name));
            }
        }
        let before = self.organisation_before(range.start, at, memory, own);
        (offices, before)
    }

    /// Returns the organisation that the words before an office name: `O's CEO`, `its CEO`, `O CEO`.
    pub(super) fn organisation_before(
        &self,
        from: usize,
        office: usize,
        memory: &Memory,
        own: Option<&str>,
    ) -> Option<String> {
        let ours = || own.map(str::to_owned).or_else(|| memory.organisation_referred_to());
        let mut at = office;
        while at > from {
            let item = &self.items[at - 1];
            let lower = item.lower();
            if matches!(lower, "its" | "their" | "seinem" | "ihrem" | "seinen" | "ihren")
                || self.is_company(at - 1)
            {
                return ours();
            }
            match item {
                Item::Possessive => {
                    if at >= 2 && self.is_company(at - 2) {
                        return ours();
                    }
                    return self.name_ending(at - 1, from);
                }
                Item::Word(word) if word.is_name_like() && !word.is_sign() => {
                    return self.name_ending(at, from);
                }
                Item::Word(word) if word.is_sign() || STOPS.contains(&lower) => return None,
                Item::Word(_) | Item::Time(_) | Item::Offices(..) => at -= 1,
            }
        }
        None
    }

    /// Returns the offices in the text before a verb: `As CEO of O, P`, `O's CEO P`, `P, CEO of O,`.
    pub(super) fn office_before(&self, left: Range<usize>, memory: &Memory) -> (Vec<String>, Option<String>) {
        let (offices, place) = self.office(left.clone(), memory, None);
        let Some(at) = left.clone().find(|at| matches!(self.items[*at], Item::Offices(..))) else {
            return (offices, place);
        };
        // Stop at the comma, or the person would count as the place.
        let end = (at..left.end).find(|at| self.items[*at].lower() == ",").unwrap_or(left.end);
        self.office(left.start..end, memory, None)
    }

    /// Returns the organisation or place in the text before a verb: `At O, P took over`, `P of O`.
    pub(super) fn place_before(&self, left: Range<usize>, memory: &Memory) -> Option<String> {
        let (_, place) = self.office_before(left.clone(), memory);
        if place.is_some() {
            return place;
        }
        let at = left.clone().find(|at| matches!(self.items[*at].lower(), "at" | "bei" | "beim"))?;
        self.name(at + 1, left.end).map(|(name, _)| name)
    }

    /// Returns the organisation or place in the text after a verb: `succeeded Q at O`.
    pub(super) fn place_after(&self, right: Range<usize>) -> Option<String> {
        let at = right.clone().find(|at| {
            matches!(self.items[*at].lower(), "at" | "bei")
                && !matches!(self.items.get(at + 1).map(Item::lower), Some("the") if self.items.get(at + 2).is_some_and(|item| item.lower() == "helm"))
        });
        let helm = || {
            let helm =
                right.clone().find(|at| matches!(self.items[*at].lower(), "helm" | "head" | "spitze"))?;
            matches!(self.items.get(helm + 1).map(Item::lower), Some("of" | "von" | "der" | "des"))
                .then_some(helm + 1)
        };
        let at = at.or_else(helm)?;
        self.name(at + 1, right.end).map(|(name, _)| name)
    }

    /// Returns the organisation that a range names: `the board of O`, `O`, `the company`.
    pub(super) fn organisation(&self, left: Range<usize>, memory: &Memory) -> Option<String> {
        let company = left.clone().find(|at| self.is_company(*at));
        if let Some(at) = company {
            let of = (at + 1..left.end.min(at + 4))
                .find(|at| matches!(self.items[*at].lower(), "of" | "von" | "der" | "des"));
            if let Some(of) = of {
                let directors = (of + 1..left.end).find(|at| {
                    matches!(self.items[*at].lower(), "of") && self.items[at - 1].lower() == "directors"
                });
                return self.name(directors.unwrap_or(of) + 1, left.end).map(|(name, _)| name);
            }
            if at > left.start && matches!(self.items[at - 1], Item::Possessive) {
                return self.name_ending(at - 1, left.start);
            }
            return memory.organisation_referred_to();
        }
        if left.clone().any(|at| matches!(self.items[at].lower(), "it" | "which" | "es")) {
            return memory.organisation.clone();
        }
        self.person(left, memory)
    }
}

//! Merges mentions and facts into entities and relations.

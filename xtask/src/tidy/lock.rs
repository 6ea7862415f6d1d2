//! Does the dependency tree keep out what `deny.toml` bans?
//!
//! `cargo deny` says the same and more, but is not on every machine. This rule reads the same list, needs no network
//! and runs with the tests.

use std::collections::BTreeSet;

use super::{DENY, Finding, LOCK};

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The banned crates in a lock file, and those from elsewhere than crates.io.
pub(super) fn check(lock: &str, deny: &str) -> Vec<Finding> {
    let banned = banned(deny);
    if banned.is_empty() {
        return vec![Finding::in_file(DENY, "no banned crate found under `[bans]`; was the list reshaped?")];
    }
    let mut findings = Vec::new();
    for (index, line) in lock.lines().enumerate() {
        if let Some(name) = value(line, "name").filter(|name| banned.contains(name)) {
            findings.push(Finding::on_line(LOCK, index, format!("{name} is banned; {DENY} says why")));
        }
        if let Some(source) = value(line, "source").filter(|source| *source != REGISTRY) {
            findings.push(Finding::on_line(LOCK, index, format!("{source} is not crates.io")));
        }
    }
    findings
}

/// The value of a line such as `name = "serde"`.
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

/// The crates in rows such as `{ crate = "sqlx", reason = ".." },` of the section `[bans]`.
fn banned(deny: &str) -> BTreeSet<&str> {
    let after = deny.lines().skip_while(|line| line.trim() != "[bans]").skip(1);
    let section = after.take_while(|line| !line.starts_with('['));
    section.filter_map(|line| line.trim().strip_prefix("{ crate = \"")?.split('"').next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANS: &str = "[licenses]\nallow = []\n[bans]\ndeny = [\n    { crate = \"sqlx\", reason = \"x\" },\n]\n\
        [advisories]\nignore = [\n    { crate = \"paste\", reason = \"x\" },\n]\n";

    fn package(name: &str, source: &str) -> String {
        format!("[[package]]\nname = \"{name}\"\nversion = \"1.0.0\"\nsource = \"{source}\"\n")
    }

    #[test]
    fn the_bans_are_read_from_their_section() {
        assert_eq!(banned(BANS), BTreeSet::from(["sqlx"]));
    }

    #[test]
    fn a_banned_crate_is_found() {
        assert_eq!(check(&package("sqlx", REGISTRY), BANS).len(), 1);
        assert_eq!(check(&package("sqlx-like", REGISTRY), BANS).len(), 0);
        assert_eq!(check(&package("paste", REGISTRY), BANS).len(), 0);
    }

    #[test]
    fn a_foreign_source_is_found() {
        assert_eq!(check(&package("serde", "git+https://example.com/serde"), BANS).len(), 1);
    }

    #[test]
    fn an_empty_list_is_a_fault_too() {
        assert_eq!(check("", "[bans]\n").len(), 1);
    }
}

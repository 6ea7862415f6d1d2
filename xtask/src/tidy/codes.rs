//! Does every error code that ever shipped still exist under its name?
//!
//! Programs match on codes, so a code is for life. The list is a ratchet: it only grows.

use std::collections::BTreeSet;

use super::code::is_ident;
use super::{CODES, ERRORS, Finding};

const HEADER: &str = "\
# Every error code there ever was, one a line. A code is never renamed, reused or removed.
# New ones are added by `cargo xtask tidy --bless`.
";

/// Compares the table in `errors` with the list of codes.
pub(super) fn check(errors: &str, listed: &str) -> Vec<Finding> {
    let rows = table(errors);
    let known = list(listed);
    let current: BTreeSet<&str> = rows.iter().copied().collect();

    let mut findings: Vec<Finding> = known
        .difference(&current)
        .map(|code| {
            Finding::in_file(ERRORS, format!("{code} is gone; an error code is for life (see {CODES})"))
        })
        .collect();
    findings.extend(current.difference(&known).map(|code| {
        Finding::in_file(CODES, format!("{code} is not listed; run `cargo xtask tidy --bless` to add it"))
    }));
    findings.extend(repeated(&rows).map(|code| Finding::in_file(ERRORS, format!("{code} stands twice"))));
    findings
}

/// The list with the codes of `errors` added.
pub(super) fn blessed(errors: &str, listed: &str) -> String {
    let mut codes = list(listed);
    codes.extend(table(errors));
    let rows: String = codes.iter().map(|code| format!("{code}\n")).collect();
    format!("{HEADER}{rows}")
}

fn list(text: &str) -> BTreeSet<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

fn table(errors: &str) -> Vec<&str> {
    errors.lines().filter_map(row).collect()
}

/// The code of a row such as `LeaseHeld => "LEASE_HELD", Conflict;`.
fn row(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if line.starts_with("//") {
        return None;
    }
    let (_, quoted) = line.split_once("=>")?;
    let (code, rest) = quoted.trim_start().strip_prefix('"')?.split_once('"')?;
    let kind = rest.trim_start().strip_prefix(',')?.trim_start();
    (is_code(code) && kind.starts_with(|c: char| c.is_ascii_uppercase())).then_some(code)
}

fn is_code(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_uppercase())
        && text.chars().all(|c| is_ident(c) && !c.is_lowercase() && c.is_ascii())
}

fn repeated<'a>(rows: &[&'a str]) -> impl Iterator<Item = &'a str> {
    let mut seen = BTreeSet::new();
    rows.iter().copied().filter(move |code| !seen.insert(*code)).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ERRORS_FILE: &str = r#"
        macro_rules! codes { ($($name:ident => $text:literal, $kind:ident;)*) => {} }
        codes! {
            /// Somebody else holds the lease.
            LeaseHeld         => "LEASE_HELD",          Conflict;
            StaleFencingToken => "STALE_FENCING_TOKEN", Conflict; // retired => "OLD_ONE", Conflict
            // Gone => "COMMENTED_OUT", Gone;
        }
        fn other() { match x { A => "NOT_A_ROW" } }
    "#;

    fn messages(errors: &str, listed: &str) -> String {
        check(errors, listed).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn rows_of_the_table_are_read() {
        assert_eq!(table(ERRORS_FILE), ["LEASE_HELD", "STALE_FENCING_TOKEN"]);
    }

    #[test]
    fn table_and_list_agree() {
        assert_eq!(messages(ERRORS_FILE, "# codes\nLEASE_HELD\nSTALE_FENCING_TOKEN\n"), "");
        assert_eq!(messages("", ""), "");
    }

    #[test]
    fn a_code_that_vanished_is_found() {
        let found = messages(ERRORS_FILE, "LEASE_HELD\nSTALE_FENCING_TOKEN\nTOKEN_INVALID\n");
        assert!(found.contains("TOKEN_INVALID is gone"), "{found}");
    }

    #[test]
    fn a_code_that_is_not_listed_is_found() {
        let found = messages(ERRORS_FILE, "LEASE_HELD\n");
        assert!(
            found.contains("STALE_FENCING_TOKEN is not listed; run `cargo xtask tidy --bless`"),
            "{found}"
        );
    }

    #[test]
    fn a_code_that_stands_twice_is_found() {
        let twice = "A => \"SAME\", Gone;\nB => \"SAME\", Gone;";
        assert!(messages(twice, "SAME").contains("SAME stands twice"));
    }

    #[test]
    fn blessing_adds_and_never_removes() {
        let text = blessed(ERRORS_FILE, "ANCIENT\nLEASE_HELD\n");
        assert_eq!(list(&text), BTreeSet::from(["ANCIENT", "LEASE_HELD", "STALE_FENCING_TOKEN"]));
        assert_eq!(blessed(ERRORS_FILE, &text), text);
    }
}

//! Addresses for mail: what stands around an `@`, when it ends in the name of a domain.

use crate::policy::words::is_unspaced;
use std::ops::Range;

/// The longest part before the `@`, in bytes.
const LOCAL_BYTES_MAX: usize = 64;
/// The longest domain, in bytes.
const DOMAIN_BYTES_MAX: usize = 253;
/// Endings of files that are no endings of domains: `logo@2x.png` is a picture.
const FILE_ENDINGS: [&str; 8] = ["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "json"];

pub(super) fn find(text: &str) -> Vec<Range<usize>> {
    text.match_indices('@').filter_map(|(at, _)| around(text, at)).collect()
}

fn around(text: &str, at: usize) -> Option<Range<usize>> {
    let start = local_start(text.get(..at)?)?;
    let end = at + 1 + domain_length(text.get(at + 1..)?)?;
    Some(start..end)
}

/// Where the part before the `@` begins. Text of a script without spaces before an address is not part of it.
fn local_start(before: &str) -> Option<usize> {
    let unspaced = before.chars().next_back().is_some_and(is_unspaced);
    let allowed = |c: char| (c.is_alphanumeric() && is_unspaced(c) <= unspaced) || "._%+'&-".contains(c);
    let run = before
        .char_indices()
        .rev()
        .take_while(|(start, c)| before.len() - start <= LOCAL_BYTES_MAX && allowed(*c));
    run.filter(|(_, c)| c.is_alphanumeric() || matches!(c, '_' | '+')).last().map(|(start, _)| start)
}

/// How long the domain is: as many labels as end in something that a domain can end in.
fn domain_length(after: &str) -> Option<usize> {
    let unspaced = after.chars().next().is_some_and(is_unspaced);
    let allowed = |c: char| (c.is_alphanumeric() && is_unspaced(c) <= unspaced) || matches!(c, '.' | '-');
    let end = after
        .char_indices()
        .find(|(start, c)| *start + c.len_utf8() > DOMAIN_BYTES_MAX || !allowed(*c))
        .map_or(after.len(), |(start, _)| start);
    let mut domain = after.get(..end)?;
    if !domain.starts_with(char::is_alphanumeric) {
        return None;
    }
    loop {
        domain = domain.trim_end_matches(['.', '-']);
        let (rest, ending) = domain.rsplit_once('.')?;
        if ends_domain(ending) && !rest.ends_with('.') {
            return Some(domain.len());
        }
        domain = rest;
    }
}

fn ends_domain(ending: &str) -> bool {
    let letters = ending.chars().all(char::is_alphabetic) && ending.chars().nth(1).is_some();
    let known_otherwise = FILE_ENDINGS.iter().any(|file| ending.eq_ignore_ascii_case(file));
    (letters && !known_otherwise) || ending.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("xn--"))
}

//! Names that stand in the environment and in settings: of settings, of other variables, of addresses.

use super::ENV_PREFIX;
use serde::{Deserialize, Deserializer};
use std::net::{SocketAddr, ToSocketAddrs};

/// Names of the environment that are settings.
const SECTIONS: &str = "data listen tls log audit identity embedding governance calibration sharing orchestrator resources limits mcp shutdown";
/// Other names: of secrets, of commands that talk to a server, and of the tests of this program.
const OTHERS: &str = "admin_key master_key embedding_key webhook_secret judge_key scribe_key orchestrator_key url key ca_cert \
                      model_dir bin seed";
/// Slips that a name is recognised by in spite of.
const SLIPS_MAX: usize = 3;

/// Whether a variable without its prefix is a setting.
pub(super) fn is_setting(key: &str) -> bool {
    SECTIONS.split(' ').any(|known| known.eq_ignore_ascii_case(section(key)))
}

fn section(key: &str) -> &str {
    key.split_once("__").map_or(key, |(section, _)| section)
}

/// What to say of the variables that look like ours and are none.
pub(super) fn unknown_variables() -> Vec<String> {
    let mut names: Vec<String> =
        std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort();
    names.iter().filter_map(|name| unknown(name.strip_prefix(ENV_PREFIX)?)).collect()
}

fn unknown(key: &str) -> Option<String> {
    let is_other = OTHERS.split_whitespace().any(|known| known.eq_ignore_ascii_case(key));
    if is_setting(key) || is_other {
        return None;
    }
    let named = section(key).to_ascii_lowercase();
    let known = SECTIONS.split(' ').chain(OTHERS.split_whitespace());
    let near = known.map(|known| (slips(&named, known), known)).min();
    let near = near.filter(|(slips, known)| *slips <= SLIPS_MAX && *slips < known.len() - 1);
    let meant = near.map(|(_, known)| {
        let rest = key.split_once("__").map(|(_, rest)| format!("__{rest}")).unwrap_or_default();
        format!("; is {ENV_PREFIX}{}{rest} meant?", known.to_ascii_uppercase())
    });
    Some(format!("{ENV_PREFIX}{key} is set, and nothing reads it{}", meant.unwrap_or_default()))
}

/// Letters to add, leave out or change to make one name of the other.
fn slips(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().enumerate() {
        let mut next = vec![place + 1];
        for (seen, (known, pair)) in other.iter().zip(row.windows(2)).enumerate() {
            let [diagonal, above] = pair else { continue };
            let left = next.get(seen).copied().unwrap_or_default();
            next.push((diagonal + usize::from(*known != letter)).min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

pub(super) fn listen<'de, D: Deserializer<'de>>(from: D) -> Result<SocketAddr, D::Error> {
    address(&String::deserialize(from)?).map_err(serde::de::Error::custom)
}

/// Reads where to listen: an address or a name that this machine knows, and a port.
///
/// # Errors
/// With what to write instead.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let found: Vec<SocketAddr> = text.to_socket_addrs().map(Iterator::collect).unwrap_or_default();
    let first = found.iter().find(|address| address.is_ipv4()).or(found.first());
    first.copied().ok_or_else(|| {
        format!("`{text}` is no address with a port: write 127.0.0.1:7600, [::1]:7600 or localhost:7600")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_from_other_variables() {
        for (key, expected) in
            [("LIMITS__K_MAX", true), ("listen", true), ("URL", false), ("ADMIN_KEY", false)]
        {
            assert_eq!(is_setting(key), expected, "{key}");
        }
    }

    #[test]
    fn variables_that_nothing_reads_name_the_near_one() {
        for (key, meant) in [
            ("LISTN", "TABELLION_LISTEN"),
            ("GOVERNENCE__POLICY", "TABELLION_GOVERNANCE__POLICY"),
            ("MASTERKEY", "TABELLION_MASTER_KEY"),
        ] {
            assert!(unknown(key).unwrap().ends_with(&format!("is {meant} meant?")), "{:?}", unknown(key));
        }
        assert_eq!(
            unknown("WEATHER_REPORT").unwrap(),
            "TABELLION_WEATHER_REPORT is set, and nothing reads it"
        );
        for known in ["LIMITS__K_MAX", "URL", "ADMIN_KEY"] {
            assert_eq!(unknown(known), None, "{known}");
        }
    }

    #[test]
    fn addresses_may_be_names() {
        assert_eq!(address("127.0.0.1:1").unwrap().port(), 1);
        assert!(address("localhost:7600").unwrap().ip().is_loopback());
        for wrong in ["", "localhost", "7600", "http://localhost:7600"] {
            assert!(address(wrong).unwrap_err().contains("127.0.0.1:7600"), "{wrong}");
        }
    }
}

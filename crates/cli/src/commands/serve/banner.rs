//! What a server says once it takes requests: where it is, and on its first start how to go on.

use crate::client::DEFAULT_URL;
use crate::output::Output;
use serde_json::json;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use tabellion_server::{Config, Ready};

/// What the banner needs to know before the server starts.
pub(super) struct Banner {
    data: PathBuf,
    is_tls: bool,
    has_given_key: bool,
    program: String,
}

impl Banner {
    pub(super) fn new(config: &Config, has_given_key: bool) -> Self {
        let program = std::env::args().next().unwrap_or_else(|| "tabellion".into());
        let is_tls = !config.tls.cert.as_os_str().is_empty();
        Self { data: config.data.clone(), is_tls, has_given_key, program: quoted(&program) }
    }

    /// Prints it.
    pub(super) fn show(&self, ready: &Ready, output: &Output) -> io::Result<()> {
        let url = url(ready.address, self.is_tls);
        let made = ready.first_start.as_ref().map(|first| first.admin_key.as_str());
        if output.is_json() {
            let key = made.filter(|_| !self.has_given_key);
            let banner = json!({"url": url, "data": self.data, "first_start": made.is_some(), "admin_key": key, "warnings": ready.warnings});
            return output.line(banner);
        }
        output.line(format!(
            "{} {} listens on {url}",
            output.strong("tabellion"),
            env!("CARGO_PKG_VERSION")
        ))?;
        output.line(format!("data in {}; stop with Ctrl-C", self.data.display()))?;
        for warning in &ready.warnings {
            output.line(format!("warning: {warning}"))?;
        }
        match made {
            Some(key) => output.line(self.first_steps(key, &url)),
            None => Ok(()),
        }
    }

    fn first_steps(&self, key: &str, url: &str) -> String {
        let (about, key) = if self.has_given_key {
            (
                "This is the first start. The admin's key is the one in TABELLION_ADMIN_KEY.",
                "\"$TABELLION_ADMIN_KEY\"",
            )
        } else {
            ("This is the first start. The admin's key is in the next lines, and is shown this once.", key)
        };
        let program = &self.program;
        let at = if url == DEFAULT_URL { String::new() } else { format!(" --url {url}") };
        format!(
            "\n{about} In a second terminal:\n\n  export TABELLION_KEY={key}\n  {program}{at} write \"Port 8080 serves the API\" --key \"API port\"\n  {program}{at} search \"which port\"\n"
        )
    }
}

/// How a client of this machine reaches it.
fn url(address: SocketAddr, is_tls: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let is_any = address.ip().is_unspecified();
    let is_named = is_any || (is_tls && address.ip().is_loopback());
    let host = match address.ip() {
        _ if is_named => "localhost".to_owned(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("{scheme}://{host}:{}", address.port())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn banner(has_given_key: bool) -> Banner {
        Banner {
            data: "data".into(),
            is_tls: false,
            has_given_key,
            program: "target/release/tabellion".into(),
        }
    }

    #[test]
    fn the_first_steps_can_be_typed_as_they_are_printed() {
        insta::assert_snapshot!("first_steps", banner(false).first_steps("tab_abc", DEFAULT_URL));
    }

    #[test]
    fn another_address_is_named() {
        let steps = banner(false).first_steps("tab_abc", "http://127.0.0.1:9000");
        assert!(steps.contains("tabellion --url http://127.0.0.1:9000 search"), "{steps}");
    }

    #[test]
    fn a_key_that_was_given_is_not_printed() {
        let steps = banner(true).first_steps("tab_secret", DEFAULT_URL);
        assert!(!steps.contains("tab_secret") && steps.contains("TABELLION_ADMIN_KEY"), "{steps}");
    }

    #[test]
    fn addresses_become_urls() {
        let of = |address: &str, is_tls| url(address.parse().unwrap(), is_tls);
        assert_eq!(of("127.0.0.1:7600", false), DEFAULT_URL);
        assert_eq!(of("0.0.0.0:7600", true), "https://localhost:7600");
        assert_eq!(of("[::1]:1", false), "http://[::1]:1");
    }

    #[test]
    fn words_with_spaces_are_quoted() {
        assert_eq!(quoted("target/release/tabellion"), "target/release/tabellion");
        assert_eq!(quoted("/my tools/tab'"), "'/my tools/tab'\\'''");
    }
}

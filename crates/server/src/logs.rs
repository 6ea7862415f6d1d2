//! Where do log lines go, and what may stand in them?
//!
//! To stderr, one line each. Invariant (no content in logs): no line holds a body, a query string, a credential or what a
//! panic had to say; a panic's message may quote the text it stumbled over, so only its place is logged.

use crate::config::{Log, LogFormat, LogLevel};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::SubscriberBuilder;

/// Starts logging. A second start in one process keeps the first.
pub(crate) fn start(log: Log) {
    // A line that cannot be written is lost: said on stderr, which just refused, it would end the process.
    let builder = SubscriberBuilder::default()
        .with_writer(std::io::stderr)
        .with_env_filter(filter(log.level))
        .log_internal_errors(false);
    let started = match log.format {
        LogFormat::Json => {
            let json = builder.json().flatten_event(true).with_current_span(false).with_span_list(false);
            json.try_init()
        }
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).try_init(),
    };
    if started.is_ok() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            tracing::error!(place, "panicked");
        }));
    }
}

/// Other crates log what they are handed, headers included: they are held to warnings. rmcp's warnings repeat what the
/// client sent, so it is held to errors.
fn filter(level: LogLevel) -> EnvFilter {
    let (ours, others) = match level {
        LogLevel::Error => ("error", "error"),
        LogLevel::Warn => ("warn", "warn"),
        LogLevel::Info => ("info", "warn"),
        LogLevel::Debug => ("debug", "warn"),
        LogLevel::Trace => ("trace", "warn"),
    };
    let crates = ["tabellion", "tabellion_server", "tabellion_engine", "tabellion_store", "tabellion_core"];
    let directives: Vec<String> = crates.iter().map(|name| format!("{name}={ours}")).collect();
    EnvFilter::new(format!("{others},rmcp=error,{}", directives.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_crates_are_held_to_warnings() {
        let filter = filter(LogLevel::Trace).to_string();
        let expected = ["tabellion_engine=trace", "rmcp=error", "warn"];
        assert!(
            expected.iter().all(|directive| filter.split(',').any(|found| found == *directive)),
            "{filter}"
        );
    }
}

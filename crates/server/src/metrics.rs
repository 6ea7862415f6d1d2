//! What is counted, and how is it read?
//!
//! Everything goes through the `metrics` facade, the engine's own figures included; `/metrics` shows it as Prometheus
//! text. Invariant (bounded labels): a label holds a word of ours (a method, a route, a status, a gate), never an id or what a
//! client made up. Every name begins with `tabellion_` and is described below.

use axum::http::{Method, StatusCode};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;
use std::time::Duration;

/// From a cache hit to the longest request.
const SECONDS: [f64; 16] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0];

/// From one to a full queue.
const COUNTS: [f64; 13] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0];

/// How often samples are folded into buckets, so that memory does not grow between two scrapes.
const UPKEEP_EVERY: Duration = Duration::from_secs(5);

static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();

/// Starts counting. A second start in one process keeps the first.
pub(crate) fn start() {
    RECORDER.get_or_init(|| {
        let recorder = builder().build_recorder();
        let handle = recorder.handle();
        if metrics::set_global_recorder(recorder).is_err() {
            tracing::warn!("another metrics recorder is installed; /metrics stays empty");
        }
        describe();
        metrics::gauge!("tabellion_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
        handle
    });
}

/// Keeps the recorder's memory bounded until the task is dropped.
pub(crate) async fn upkeep() {
    let mut ticks = tokio::time::interval(UPKEEP_EVERY);
    loop {
        ticks.tick().await;
        if let Some(recorder) = RECORDER.get() {
            recorder.run_upkeep();
        }
    }
}

fn builder() -> PrometheusBuilder {
    let seconds = Matcher::Suffix("_seconds".to_owned());
    let plain = PrometheusBuilder::new();
    // Buckets are refused only if there are none.
    let bucketed =
        plain.set_buckets(&COUNTS).and_then(|builder| builder.set_buckets_for_metric(seconds, &SECONDS));
    bucketed.unwrap_or_default()
}

/// What each counter counts, as `/metrics` says it.
const COUNTERS: &[(&str, &str)] = &[
    ("tabellion_http_requests_total", "Requests answered, by method, route and status"),
    ("tabellion_connections_refused_total", "Connections closed because too many were open"),
    ("tabellion_jwks_loads_total", "Times the keys of the token issuer were loaded, by outcome"),
    ("tabellion_webhook_notices_total", "Notices for the webhook, by outcome"),
    ("tabellion_writes_total", "Writes answered, by status"),
    ("tabellion_memory_write_committed_total", "Writes that became memory, by layer"),
    ("tabellion_memory_write_rejected_total", "Writes refused, by gate and reason"),
    ("tabellion_memory_calibrations_total", "Writes scored, by what the score led to"),
    ("tabellion_memory_promotions_total", "Quarantined writes that became memory"),
    ("tabellion_memory_reverified_total", "Durable items verified again, by finding"),
    ("tabellion_memory_scribe_failed_total", "Texts that no model rewrote, by reason"),
    ("tabellion_memory_judge_failed_total", "Verdicts that a model did not give, by reason"),
    ("tabellion_reviews_total", "Changes of pending reviews, by what happened"),
    ("tabellion_pairs_held_total", "Pairs of user and agent held or suspended, by reason"),
    ("tabellion_gate_unreachable_total", "Times a gate of the operator gave no answer, by gate"),
    ("tabellion_embedding_failures_total", "Batches of texts for which the model made no vectors"),
    ("tabellion_vectors_made_total", "Vectors made of texts"),
    ("tabellion_outcomes_total", "Outcomes of searches reported, by result"),
    ("tabellion_asks_total", "Questions to several agents, by why they ended"),
    ("tabellion_ask_agents_total", "Agents asked in questions to several agents"),
    ("tabellion_ask_resource_calls_total", "Calls of resources in questions to several agents"),
    ("tabellion_ask_hits_total", "Search results used in questions to several agents, by tier"),
    ("tabellion_orchestrator_failed_total", "Calls of a chat model that failed, by reason"),
    ("tabellion_resource_calls_total", "Calls of resources, by kind and outcome"),
    ("tabellion_storage_failures_total", "Times that the disk refused, by part"),
    ("tabellion_kept_unreadable_total", "Tries of writes that were put off and cannot be read"),
    ("tabellion_audit_rows_lost_total", "Audit rows of reads that found no room on the disk"),
    ("tabellion_process_cpu_seconds_total", "Processor time used"),
];

/// What each gauge shows.
const GAUGES: &[(&str, &str)] = &[
    ("tabellion_http_requests_in_flight", "Requests under way"),
    ("tabellion_build_info", "Always 1; the version is a label"),
    ("tabellion_memory_staged", "Writes in quarantine now"),
    ("tabellion_agents_suspended", "Agents that may not write until they are resumed"),
    ("tabellion_pairs_held", "Pairs of user and agent held or suspended now"),
    ("tabellion_process_resident_memory_bytes", "Memory in use"),
    ("tabellion_process_open_fds", "Open files and sockets"),
    ("tabellion_process_threads", "Threads"),
];

/// What each histogram measures.
const HISTOGRAMS: &[(&str, &str)] = &[
    ("tabellion_http_request_seconds", "Time to the head of the answer, by method and route"),
    ("tabellion_commit_entries", "Log entries of one commit"),
    ("tabellion_commit_seconds", "Time of one commit"),
    ("tabellion_gate_seconds", "Time of each gate of the write path, by gate"),
    ("tabellion_embedding_batch_texts", "Texts in one batch for the model"),
    ("tabellion_retrieval_staleness_seconds", "Age of what searches found, since its last change"),
    ("tabellion_retrieval_precision", "Share of results that were used, as reported"),
    ("tabellion_memory_calibration_seconds", "Time to score a write"),
    ("tabellion_memory_calibration_stage_seconds", "Time of each part of a score, by stage"),
];

fn describe() {
    for (name, help) in COUNTERS {
        metrics::describe_counter!(*name, *help);
    }
    for (name, help) in GAUGES {
        metrics::describe_gauge!(*name, *help);
    }
    for (name, help) in HISTOGRAMS {
        metrics::describe_histogram!(*name, *help);
    }
}

/// Counts one answered request.
pub(crate) fn answered(method: &'static str, route: &str, status: StatusCode, took: Duration) {
    let labels =
        [("method", method.to_owned()), ("route", route.to_owned()), ("status", status.as_str().to_owned())];
    metrics::counter!("tabellion_http_requests_total", &labels).increment(1);
    metrics::histogram!("tabellion_http_request_seconds", &labels).record(took.as_secs_f64());
}

/// Notes how many writes are kept apart, which only the engine knows.
pub(crate) fn kept_apart(count: usize) {
    metrics::gauge!("tabellion_memory_staged").set(count as f64);
}

/// Notes how many agents are suspended, which only the engine knows.
pub(crate) fn suspended_agents(count: usize) {
    metrics::gauge!("tabellion_agents_suspended").set(count as f64);
}

/// Notes how many pairs of user and agent are held, which only the engine knows.
pub(crate) fn held_pairs(count: usize) {
    metrics::gauge!("tabellion_pairs_held").set(count as f64);
}

/// The methods that get a label of their own.
pub(crate) fn method_label(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}

/// Everything counted so far, as Prometheus text.
pub(crate) fn render() -> String {
    process();
    RECORDER.get().map(PrometheusHandle::render).unwrap_or_default()
}

/// What the kernel says of this process; silent where there is no `/proc`.
fn process() {
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let field = |name: &str| -> Option<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim_start_matches(':').split_whitespace().next()?.parse().ok()
        };
        if let Some(kib) = field("VmRSS") {
            metrics::gauge!("tabellion_process_resident_memory_bytes").set(kib * 1024.0);
        }
        if let Some(threads) = field("Threads") {
            metrics::gauge!("tabellion_process_threads").set(threads);
        }
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        metrics::gauge!("tabellion_process_open_fds").set(files.count() as f64);
    }
    if let Some(seconds) = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| cpu_seconds(&stat))
    {
        metrics::counter!("tabellion_process_cpu_seconds_total").absolute(seconds as u64);
    }
}

/// User and system time: the 14th and 15th field, in ticks of which Linux shows 100 a second.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let after_name = stat.rsplit_once(')')?.1;
    let mut ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Some((ticks.next()?.ok()? + ticks.next()?.ok()?) / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_methods_share_a_label() {
        assert_eq!(method_label(&Method::GET), "GET");
        assert_eq!(method_label(&Method::from_bytes(b"BREW").unwrap()), "OTHER");
    }

    #[test]
    fn processor_time_is_read_past_any_name() {
        let stat = "7 (a ) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 1 0 1 1 1";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds("nonsense"), None);
    }
}

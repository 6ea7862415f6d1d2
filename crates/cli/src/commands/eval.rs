//! `eval`: how well does it find what was said? Measured on labelled conversations, through the public API.

mod conversation;
mod locomo;
mod recall;
mod report;
mod trial;

use crate::Context;
use std::process::ExitCode;

/// Measure how well search finds what was said
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Eval {
    Locomo(locomo::EvalLocomo),
}

pub(super) fn run(args: &Eval, context: &Context) -> anyhow::Result<ExitCode> {
    match args {
        Eval::Locomo(args) => locomo::run(args, context),
    }
}

//! `eval`: how well does it do? Search on labelled conversations, sharing and lies on teams that are played.

mod calibration;
mod conversation;
mod locomo;
mod poison;
mod recall;
mod report;
mod seeds;
mod sharing;
mod trial;

use crate::Context;
use std::process::ExitCode;

/// Measure how well search finds what was said, what sharing saves, and what liars reach
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Eval {
    Calibration(calibration::EvalCalibration),
    Locomo(locomo::EvalLocomo),
    Poison(poison::EvalPoison),
    Sharing(sharing::EvalSharing),
}

pub(super) fn run(args: &Eval, context: &Context) -> anyhow::Result<ExitCode> {
    match args {
        Eval::Calibration(args) => calibration::run(args, context),
        Eval::Locomo(args) => locomo::run(args, context),
        Eval::Poison(args) => poison::run(args, context),
        Eval::Sharing(args) => sharing::run(args, context),
    }
}

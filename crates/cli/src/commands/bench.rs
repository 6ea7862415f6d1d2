//! `bench`: how fast is it on this machine? Every figure stands beside its floor, measured in the same run.

mod access;
mod bare;
mod calibrate;
mod cloud;
mod embed;
mod gates;
mod latency;
mod load;
mod search;
mod start;
mod whole;
mod write;

use crate::Context;
use std::process::ExitCode;

/// Measure this server on this machine
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Bench {
    Write(write::BenchWrite),
    Start(start::BenchStart),
    Search(search::BenchSearch),
    Embed(embed::BenchEmbed),
    Access(access::BenchAccess),
    Calibrate(calibrate::BenchCalibrate),
}

pub(super) fn run(args: &Bench, context: &Context) -> anyhow::Result<ExitCode> {
    match args {
        Bench::Write(args) => write::run(args, context),
        Bench::Start(args) => start::run(args, context),
        Bench::Search(args) => search::run(args, context),
        Bench::Embed(args) => embed::run(args, context),
        Bench::Access(args) => access::run(args, context),
        Bench::Calibrate(args) => calibrate::run(args, context),
    }
}

//! The project's own chores. `cargo xtask tidy` checks the rules that rustc and clippy cannot see.

mod tidy;

use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask tidy [--bless]

  tidy           check crate order, error codes, names, file sizes, headers, words and banned crates
  tidy --bless   first add the new error codes to xtask/codes.txt, then check";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["tidy"] => report(tidy::run()),
        ["tidy", "--bless"] => report(tidy::bless().and_then(|()| tidy::run())),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn report(outcome: tidy::Result<Vec<tidy::Finding>>) -> ExitCode {
    match outcome {
        Ok(findings) if findings.is_empty() => {
            println!("tidy: all rules hold");
            ExitCode::SUCCESS
        }
        Ok(findings) => {
            findings.iter().for_each(|finding| eprintln!("{finding}"));
            eprintln!("tidy: {} to mend", findings.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("tidy could not run: {error}");
            ExitCode::from(2)
        }
    }
}

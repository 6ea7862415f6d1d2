//! `eval locomo`: recall on the long conversations of LoCoMo (Maharana et al., 2024).

use super::conversation::{Conversation, Question, read_all};
use super::recall::Found;
use super::report::{Report, show};
use super::trial::{Trial, Way, now};
use crate::Context;
use crate::failure::Line;
use crate::hosting::Hosted;
use crate::progress::Progress;
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tabellion_core::rank::Knob;
use tabellion_server::config::{EmbeddingFlags, LogLevel};
use tabellion_server::models::{Embedding, Provider};
use tabellion_server::{Config, Flags};

/// Where a build keeps the model, looked at if nothing else is said.
const MODEL_OF_THE_BUILD: &str = "target/model";

/// Measure recall on the conversations of LoCoMo
///
/// Starts a server of its own on a scratch directory, tells it each conversation turn by turn as a user of its own, then
/// asks every question and looks where the turns stand that hold the answer. Nothing of a question or an answer is there
/// when turns are written. Hybrid search, the default, stands beside search by words and by meaning alone, and beside
/// itself with one thing left out at a time.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tabellion eval locomo --data locomo
  tabellion eval locomo --data locomo --modes hybrid --questions 20
  tabellion eval locomo --data locomo --embedder minilm --model model --json

docs/eval.md says what the files hold and what is measured.")]
pub(crate) struct EvalLocomo {
    /// The folder with the conversations, a JSON file each
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// What turns texts into vectors (default: auto, which takes MiniLM if its files are there)
    #[arg(long, value_name = "MODEL", value_parser = ["auto", "minilm", "http", "hashed", "none"])]
    embedder: Option<String>,
    /// The folder with the files of MiniLM (default: model, or target/model)
    #[arg(long, value_name = "DIR")]
    model: Option<PathBuf>,
    /// Ask at most so many questions about each conversation
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    questions: Option<u64>,
    /// What stands beside the default; the default is measured in any case
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Modes::Hybrid, Modes::Lexical, Modes::Dense, Modes::Ablations], value_name = "MODE,…")]
    modes: Vec<Modes>,
    /// Write what the default found, a JSON object a line for each question
    #[arg(long, value_name = "FILE")]
    found: Option<PathBuf>,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Modes {
    /// Words, meaning and what stands around
    Hybrid,
    /// Words alone
    Lexical,
    /// Meaning alone
    Dense,
    /// Hybrid, with one thing left out at a time
    Ablations,
}

pub(super) fn run(args: &EvalLocomo, context: &Context) -> Result<ExitCode> {
    let began = now();
    let conversations = read(args)?;
    let embedding = embedding(args.embedder.as_deref(), args.model.as_ref())?;
    let model = embedding.open(None)?.map(|embedder| embedder.model().to_owned());
    if let (Provider::Auto, Some("hashed")) =
        (embedding.provider, model.as_deref().and_then(|model| model.get(..6)))
    {
        context.output.complain(&Line::Hint(format!(
            "there is no MiniLM in {}, so hashed words are measured; fetch it with `python3 tools/fetch_model.py {}`",
            embedding.folder.display(),
            embedding.folder.display()
        )));
    }
    let scratch = tempfile::Builder::new()
        .prefix("tabellion-eval-")
        .tempdir()
        .context("cannot make a scratch directory")?;
    let hosted = Hosted::start(config(scratch.path(), embedding))?;
    let measured = measure(args, &hosted, &conversations, model);
    hosted.stop()?;
    let report = Report { total: began.elapsed(), ..measured? };
    show(&report, context)?;
    Ok(ExitCode::SUCCESS)
}

fn read(args: &EvalLocomo) -> Result<Vec<Conversation>> {
    let mut conversations = read_all(&args.data)?;
    if let Some(most) = args.questions {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        conversations.iter_mut().for_each(|conversation| conversation.questions.truncate(most));
    }
    let asked: usize = conversations.iter().map(|conversation| conversation.questions.len()).sum();
    ensure!(
        asked > 0,
        "no question in {} names a turn that answers it, so there is nothing to measure",
        args.data.display()
    );
    Ok(conversations)
}

/// The model as flags and environment say.
pub(super) fn embedding(embedder: Option<&str>, model: Option<&PathBuf>) -> Result<Embedding> {
    let provider = embedder.map(|word| match word {
        "minilm" => Provider::Minilm,
        "http" => Provider::Http,
        "hashed" => Provider::Hashed,
        "none" => Provider::None,
        _ => Provider::Auto,
    });
    let flags = Flags { embedding: EmbeddingFlags { provider, folder: model.cloned() }, ..Flags::default() };
    let mut embedding = Config::load(None, &flags)?.embedding;
    let built = Path::new(MODEL_OF_THE_BUILD);
    if model.is_none() && !embedding.folder.exists() && built.exists() {
        embedding.folder = built.to_owned();
    }
    Ok(embedding)
}

fn config(scratch: &Path, embedding: Embedding) -> Config {
    let mut config = Config { data: scratch.join("data"), embedding, ..Config::default() };
    config.listen.set_port(0);
    config.log.level = LogLevel::Error;
    // A conversation of weeks is told within seconds; how fast is not what is measured.
    config.governance.writes_per_minute = [u32::MAX; 5];
    config
}

fn measure(
    args: &EvalLocomo,
    hosted: &Hosted,
    conversations: &[Conversation],
    model: Option<String>,
) -> Result<Report> {
    let trial = Trial::begin(hosted, conversations, model.is_some())?;
    let ways = ways(&args.modes, model.is_some());
    let questions: usize = conversations.iter().map(|conversation| conversation.questions.len()).sum();
    let total = (questions * ways.len()) as u64;
    let mut list = args.found.as_deref().map(FoundList::create).transpose()?;
    let mut progress = Progress::of("asking");
    let mut done = 0;
    let mut scores = Vec::new();
    for (place, way) in ways.into_iter().enumerate() {
        let score = trial.ask(way, &mut |question, found| {
            done += 1;
            progress.at(done, total);
            match &mut list {
                Some(list) if place == 0 => list.add(question, found),
                _ => Ok(()),
            }
        });
        scores.push(score?);
    }
    if let Some(list) = list {
        list.close()?;
    }
    let mut scores = scores.into_iter();
    let default = scores.next().context("nothing was measured")?;
    Ok(Report {
        conversations: conversations.len(),
        model,
        ingest: trial.ingest,
        default,
        others: scores.collect(),
        total: std::time::Duration::ZERO,
    })
}

/// What is measured, the default first: its searches are the ones that wait for the vector of their question.
fn ways(modes: &[Modes], has_vectors: bool) -> Vec<Way> {
    if !has_vectors {
        return vec![Way::Lexical];
    }
    let mut ways = vec![Way::Hybrid];
    ways.extend(modes.contains(&Modes::Lexical).then_some(Way::Lexical));
    ways.extend(modes.contains(&Modes::Dense).then_some(Way::Dense));
    if modes.contains(&Modes::Ablations) {
        ways.extend(Knob::ALL.iter().copied().map(Way::Without));
    }
    ways
}

/// A file of what was found.
struct FoundList<'a> {
    path: &'a Path,
    file: BufWriter<File>,
}

impl<'a> FoundList<'a> {
    fn create(path: &'a Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(Self { path, file: BufWriter::new(file) })
    }

    fn add(&mut self, question: &Question, found: &[Found]) -> Result<()> {
        let turns: Vec<&str> = found.iter().map(|found| found.turn.as_str()).collect();
        let line = json!({"question": question.text, "category": question.category, "evidence": question.turns, "found": turns});
        writeln!(self.file, "{line}").with_context(|| format!("cannot write {}", self.path.display()))
    }

    fn close(mut self) -> Result<()> {
        self.file.flush().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_comes_first_and_always() {
        assert_eq!(ways(&[Modes::Dense], true), [Way::Hybrid, Way::Dense]);
        assert_eq!(ways(&[Modes::Ablations], true).len(), 1 + Knob::ALL.len());
        assert_eq!(ways(&[Modes::Hybrid, Modes::Ablations], false), [Way::Lexical]);
    }
}

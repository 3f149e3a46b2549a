//! `checkpoint list`, `show` and `restore`: of the folders of this machine, whether a gateway runs or not.

use std::path::Path;

use endpoints::command::checkpoint::{Change, Checkpoint, Checkpoints};
use serde_json::{Value, json};

use super::{Said, trace};
use crate::{
    cli::{self, Exit},
    config::Config,
    sources,
    table::{self, text},
};

/// Most changes that are shown.
const SHOWN: usize = 200;

pub async fn checkpoint(config: &Config, command: &cli::Checkpoint) -> Said {
    let Some(kept) = sources::checkpoints(&config.store) else {
        let say = "no checkpoints are kept: the store is no file here, and the variable STATE_DIRECTORY is not set";
        return Said::failed(Exit::Failed, say);
    };
    let said = match command {
        cli::Checkpoint::List { folder } => list(&kept, folder.as_deref()).await,
        cli::Checkpoint::Show { id } => show(&kept, id).await,
        cli::Checkpoint::Restore { id } => restore(&kept, id).await,
    };
    said.unwrap_or_else(|why| Said::failed(Exit::Failed, why))
}

async fn list(kept: &Checkpoints, folder: Option<&Path>) -> Result<Said, String> {
    let folder = folder.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let mut all = kept.list().await?;
    all.retain(|checkpoint| folder.as_ref().is_none_or(|folder| checkpoint.folder == *folder));
    let columns = [text("when"), text("id"), text("folder"), text("before")];
    let row = |one: &Checkpoint| vec![when(one), one.id.clone(), one.folder.display().to_string(), one.why.clone()];
    let drawn = table::draw(&columns, all.iter().map(row), "no checkpoint is kept");
    Ok(Said::told(drawn, json!({ "checkpoints": all.iter().map(described).collect::<Vec<_>>() })))
}

async fn show(kept: &Checkpoints, id: &str) -> Result<Said, String> {
    let one = kept.find(id).await?;
    let changes = kept.changes(&one).await?;
    let mut lines = vec![
        format!("checkpoint  {}", one.id),
        format!("folder      {}", one.folder.display()),
        format!("taken       {}", when(&one)),
        format!("before      {}", one.why),
        String::new(),
        format!("since then  {}", summary(&changes)),
    ];
    let line = |change: &Change| format!("  {:8} {}", change.how, contract::text::one_line(&change.path, 200));
    lines.extend(changes.iter().take(SHOWN).map(line));
    if changes.len() > SHOWN {
        lines.push(format!("  and {} more", changes.len() - SHOWN));
    }
    let mut json = described(&one);
    json["changes"] = changes.iter().map(|change| json!({ "path": change.path, "how": change.how })).collect();
    Ok(Said::told(lines.join("\n"), json))
}

async fn restore(kept: &Checkpoints, id: &str) -> Result<Said, String> {
    let one = kept.find(id).await?;
    let before = kept.restore(&one).await?;
    let text = format!(
        "'{}' is what it was on {}\nhow it was until now is kept: toolgate checkpoint restore {}",
        one.folder.display(),
        when(&one),
        before.id
    );
    Ok(Said::told(text, json!({ "restored": described(&one), "kept": described(&before) })))
}

fn summary(changes: &[Change]) -> String {
    let count = |how: &str| changes.iter().filter(|change| change.how == how).count();
    match changes.len() {
        0 => "nothing changed".to_owned(),
        _ => format!("{} added, {} changed, {} removed", count("added"), count("changed"), count("removed")),
    }
}

fn when(of: &Checkpoint) -> String {
    trace::when(of.at_ms.saturating_mul(1_000))
}

fn described(of: &Checkpoint) -> Value {
    json!({ "id": of.id, "folder": of.folder, "at_ms": of.at_ms, "before": of.why })
}

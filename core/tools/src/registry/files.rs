//! Finds and reads spec files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract::records::{Shelf, StoredTool};

use super::standing;
use crate::spec::FILE_MAX;

/// A text with specs in it, or why it could not be read.
pub struct Source {
    /// What messages call it.
    pub label: String,
    pub text: Result<String, String>,
}

/// What the store has to be read, in the order of names.
pub fn stored(shelf: &Shelf) -> Vec<Source> {
    let source = |tool: &StoredTool| {
        Some(Source { label: standing::label(&tool.name), text: Ok(standing::text_of(tool)?.to_owned()) })
    };
    shelf.tools.iter().filter_map(source).collect()
}

pub fn natives(natives: &[(&str, &str)]) -> Vec<Source> {
    let source = |(label, text): &(&str, &str)| Source { label: (*label).to_owned(), text: Ok((*text).to_owned()) };
    natives.iter().map(source).collect()
}

/// Every file of the paths, folders in the order of names. What cannot be looked at is a source too, so that its
/// tools are not taken for removed.
pub fn collect(paths: &[PathBuf]) -> Vec<Source> {
    let mut sources = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => folder(path, 1, &mut sources),
            false => sources.push(Source { label: path.display().to_string(), text: read(path) }),
        }
    }
    let mut seen = std::collections::HashSet::new();
    sources.retain(|source| seen.insert(source.label.clone()));
    sources
}

fn folder(path: &Path, levels: u32, sources: &mut Vec<Source>) {
    let inside = fs::read_dir(path).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut inside: Vec<_> = match inside {
        Ok(entries) => entries.iter().map(|entry| entry.path()).collect(),
        Err(error) => {
            let text = Err(format!("cannot be read: {error}"));
            return sources.push(Source { label: path.display().to_string(), text });
        }
    };
    inside.sort();
    for path in inside {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Editors keep swap files and mounts keep their versions under such names.
        if name.starts_with('.') {
            continue;
        }
        let is_yaml = path.extension().is_some_and(|e| e == "yaml" || e == "yml");
        if path.is_dir() {
            if levels > 0 {
                folder(&path, levels - 1, sources);
            }
        } else if is_yaml {
            sources.push(Source { label: path.display().to_string(), text: read(&path) });
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?.len();
    if size > FILE_MAX as u64 {
        return Err("the file is larger than 4 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    String::from_utf8(bytes).map_err(|_| "the file is not UTF-8 text".to_owned())
}

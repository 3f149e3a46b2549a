//! Finds and reads spec files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::spec::{FILE_MAX, SpecError};

/// A text with specs in it, or why it could not be read.
pub struct Source {
    /// What messages call it.
    pub label: String,
    pub text: Result<String, String>,
}

pub fn natives(natives: &[(&str, &str)]) -> Vec<Source> {
    let source = |(label, text): &(&str, &str)| Source { label: (*label).to_owned(), text: Ok((*text).to_owned()) };
    natives.iter().map(source).collect()
}

/// Every file of the paths, folders in the order of names.
pub fn collect(paths: &[PathBuf], errors: &mut Vec<SpecError>) -> Vec<Source> {
    let mut files = Vec::new();
    for path in paths {
        let found = if path.is_dir() { folder(path, 1, &mut files) } else { file(path, &mut files) };
        if let Err(error) = found {
            errors.push(SpecError {
                file: path.display().to_string(),
                line: 1,
                column: 1,
                message: format!("cannot be read: {error}"),
                hint: None,
            });
        }
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
    files.iter().map(|file| Source { label: file.display().to_string(), text: read(file) }).collect()
}

fn file(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    fs::metadata(path)?;
    files.push(path.to_owned());
    Ok(())
}

fn folder(path: &Path, levels: u32, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut inside = fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<Vec<_>, _>>()?;
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
                folder(&path, levels - 1, files)?;
            }
        } else if is_yaml {
            files.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|e| format!("cannot be read: {e}"))?.len();
    if size > FILE_MAX as u64 {
        return Err("is larger than 4 MiB".to_owned());
    }
    let bytes = fs::read(path).map_err(|e| format!("cannot be read: {e}"))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

//! The rules of the house: who may import whom, what no source file may hold, and documents that tell the truth.
// An unwrap here is a fact that does not hold.
#![allow(clippy::unwrap_used)]

mod examples;
mod failures;
mod files;
mod imports;
mod platforms;
mod routes;
mod sentences;

use std::path::{Path, PathBuf};

/// The repository's root.
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).expect("this crate lies two folders below the root").to_path_buf()
}

/// Files below `folder` whose names end in one of `endings`, with their paths as seen from the root, sorted.
fn files(folder: &str, endings: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let mut found = Vec::new();
    let mut folders = vec![root.join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let shown = path.strip_prefix(&root).unwrap().display().to_string();
                found.push((shown, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

//! The fresh folder of a call, and its end.

use std::{
    fs::{self, DirBuilder, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// What its name begins with; the number of our process follows.
const NAME: &str = "toolgate-call-";

/// A folder that is ours alone; dropped, it is gone with what is in it. Not for a runtime's thread.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it. `call` is a word that no other call has.
    pub fn make(call: &str) -> io::Result<Self> {
        let path = std::env::temp_dir().join(format!("{NAME}{}-{call}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&path)?;
        // Where it truly is, whatever leads there.
        Ok(Self(path.canonicalize()?))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if fs::remove_dir_all(&self.0).is_err() {
            // A program may have taken our rights to what it made.
            open_up(&self.0);
            if let Err(error) = fs::remove_dir_all(&self.0) {
                tracing::warn!(folder = %self.0.display(), cause = %error.kind(), "the folder of a call stays");
            }
        }
    }
}

fn open_up(folder: &Path) {
    let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_up(&entry.path());
        }
    }
}

/// Removes the folders of processes that were ended before they could do it.
pub fn remove_old() {
    for entry in fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(owner) =
            name.to_str().and_then(|name| name.strip_prefix(NAME)?.split('-').next()?.parse::<u32>().ok())
        else {
            continue;
        };
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && !Path::new(&format!("/proc/{owner}")).exists() {
            open_up(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

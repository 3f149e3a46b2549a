//! Checkpoints of a folder: how it was before a program worked in it, kept by git in a folder of ours.
//!
//! Each stands alone, so that the oldest can go. What the files' own repository says (`.gitattributes`, hooks, ignored
//! files) counts for nothing here: what is kept are the bytes, and whether a file may be run.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use sha2::{Digest, Sha256};
use tokio::{
    process::Command,
    time::{Instant, sleep, timeout_at},
};

/// Most files and folders of a folder that is kept.
pub const ENTRIES_MAX: usize = 20_000;
/// Most bytes of it.
pub const BYTES_MAX: u64 = 512 * 1024 * 1024;
/// How long it may take to keep one, or to bring one back.
pub const TIME: Duration = Duration::from_secs(60);
/// Checkpoints of a folder that are kept; of more the oldest go.
pub const KEPT: usize = 100;
/// Most characters of why one was made.
const WHY_MAX: usize = 200;
/// After so many have gone, what only they held is removed.
const TIDY_EVERY: usize = 20;
const REFS: &str = "refs/checkpoints/";
/// In each repository: which folder it is of.
const FOLDER: &str = "toolgate-folder";
/// Nothing is converted, whatever the files say.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Where checkpoints are kept.
#[derive(Debug, Clone)]
pub struct Checkpoints(PathBuf);

/// How a folder was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// `1f2e3d4c-1796083200000`: of which folder, and when.
    pub id: String,
    pub folder: PathBuf,
    pub at_ms: u64,
    pub why: String,
}

/// What differs now from a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: String,
    /// `added`, `changed` or `removed` since.
    pub how: &'static str,
}

impl Checkpoints {
    pub fn new(base: PathBuf) -> Self {
        Self(base)
    }

    /// Keeps how the folder is now. Where nothing changed since the last one, that is given.
    pub async fn take(&self, folder: &Path, why: &str) -> Result<Checkpoint, String> {
        let repository = self.repository(folder).await?;
        repository.take(why).await
    }

    /// All that are kept, the newest first.
    pub async fn list(&self) -> Result<Vec<Checkpoint>, String> {
        let mut all = Vec::new();
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            if let Some(repository) = Repository::there(&entry.path()) {
                all.extend(repository.list().await?);
            }
        }
        all.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.at_ms));
        Ok(all)
    }

    /// The one with this id, or with the only id that begins so.
    pub async fn find(&self, id: &str) -> Result<Checkpoint, String> {
        let mut found: Vec<_> = self.list().await?.into_iter().filter(|c| c.id == id || c.id.starts_with(id)).collect();
        if let Some(exact) = found.iter().position(|checkpoint| checkpoint.id == id) {
            found = vec![found.swap_remove(exact)];
        }
        match found.len() {
            1 => Ok(found.remove(0)),
            0 => Err(format!("there is no checkpoint '{id}'")),
            _ => Err(format!("more than one checkpoint begins with '{id}'")),
        }
    }

    /// What differs in the folder now.
    pub async fn changes(&self, of: &Checkpoint) -> Result<Vec<Change>, String> {
        let repository = self.repository(&of.folder).await?;
        repository.index().await?;
        let listed = repository.git(&["diff", "--cached", "--name-status", "--no-renames", "-z", &name(of)]).await?;
        let mut parts = listed.split('\0');
        let mut changes = Vec::new();
        while let (Some(how), Some(path)) = (parts.next().filter(|how| !how.is_empty()), parts.next()) {
            let how = match how {
                "A" => "added",
                "D" => "removed",
                _ => "changed",
            };
            changes.push(Change { path: path.to_owned(), how });
        }
        Ok(changes)
    }

    /// Makes the folder what it was, and gives the checkpoint that was taken of the present before.
    pub async fn restore(&self, of: &Checkpoint) -> Result<Checkpoint, String> {
        let repository = self.repository(&of.folder).await?;
        let before = repository.take(&format!("before '{}' was restored", of.id)).await?;
        // The index is the present: what it has and the checkpoint has not is removed.
        repository.git(&["read-tree", "--reset", "-u", &name(of)]).await?;
        Ok(before)
    }

    /// The repository of a folder, made where there is none, locked against others.
    async fn repository(&self, folder: &Path) -> Result<Repository, String> {
        let folder = folder.canonicalize().map_err(|error| format!("'{}': {}", folder.display(), error.kind()))?;
        fs::create_dir_all(&self.0).map_err(|error| format!("'{}': {}", self.0.display(), error.kind()))?;
        let base = self.0.canonicalize().map_err(|error| format!("'{}': {}", self.0.display(), error.kind()))?;
        if base.starts_with(&folder) {
            return Err("the folder holds its own checkpoints".to_owned());
        }
        let key = key(&folder);
        let mut repository =
            Repository { git: base.join(format!("{key}.git")), folder, key, until: Instant::now() + TIME, _lock: None };
        repository.lock(&base).await?;
        if !repository.git.join(FOLDER).is_file() {
            repository.make().await?;
        }
        Ok(repository)
    }
}

/// What git keeps of one folder.
struct Repository {
    git: PathBuf,
    folder: PathBuf,
    key: String,
    /// When all has to be done.
    until: Instant,
    /// Gone when this is dropped.
    _lock: Option<File>,
}

impl Repository {
    /// The one in this folder, to be read.
    fn there(git: &Path) -> Option<Self> {
        let folder = PathBuf::from(fs::read_to_string(git.join(FOLDER)).ok()?);
        let key = key(&folder);
        Some(Self { git: git.to_owned(), folder, key, until: Instant::now() + TIME, _lock: None })
    }

    /// Waits until nobody else works on it, whatever process that is.
    async fn lock(&mut self, base: &Path) -> Result<(), String> {
        let file = File::create(base.join(format!("{}.lock", self.key)));
        let file = file.map_err(|error| format!("checkpoints cannot be locked: {}", error.kind()))?;
        while file.try_lock().is_err() {
            if Instant::now() >= self.until {
                return Err("another checkpoint of the folder takes too long".to_owned());
            }
            sleep(Duration::from_millis(20)).await;
        }
        self._lock = Some(file);
        Ok(())
    }

    async fn make(&self) -> Result<(), String> {
        self.git(&["init", "-q"]).await?;
        let say = |error: std::io::Error| format!("'{}': {}", self.git.display(), error.kind());
        fs::create_dir_all(self.git.join("info")).map_err(say)?;
        fs::write(self.git.join("info/attributes"), ATTRIBUTES).map_err(say)?;
        // Last: what has it is whole.
        fs::write(self.git.join(FOLDER), self.folder.as_os_str().as_encoded_bytes()).map_err(say)
    }

    async fn take(&self, why: &str) -> Result<Checkpoint, String> {
        self.index().await?;
        let tree = self.git(&["write-tree"]).await?;
        let all = self.list().await?;
        if let Some(last) = all.first()
            && self.git(&["rev-parse", &format!("{}^{{tree}}", name(last))]).await? == tree
        {
            return Ok(last.clone());
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = u64::try_from(now).unwrap_or(u64::MAX);
        // Later than the one before, whatever the clock says.
        let at_ms = all.first().map_or(now, |last| now.max(last.at_ms + 1));
        let why = contract::text::one_line(why, WHY_MAX);
        let commit = self.git(&["commit-tree", "-m", &why, &tree]).await?;
        self.git(&["update-ref", &format!("{REFS}{at_ms}"), &commit]).await?;
        self.forget(&all).await?;
        Ok(Checkpoint { id: format!("{}-{at_ms}", self.key), folder: self.folder.clone(), at_ms, why })
    }

    /// Lets the oldest go; `all` are those before the newest.
    async fn forget(&self, all: &[Checkpoint]) -> Result<(), String> {
        for old in all.iter().skip(KEPT - 1) {
            self.git(&["update-ref", "-d", &name(old)]).await?;
            if old.at_ms % TIDY_EVERY as u64 == 0 {
                self.git(&["gc", "-q", "--prune=now"]).await?;
            }
        }
        Ok(())
    }

    /// Makes the index what the folder is.
    async fn index(&self) -> Result<(), String> {
        let folder = self.folder.clone();
        let looked = tokio::task::spawn_blocking(move || look(&folder, true, &mut (0, 0))).await;
        looked.map_err(|_| "the folder could not be looked through".to_owned()).flatten()?;
        self.git(&["add", "-A", "-f", "--", "."]).await.map(drop)
    }

    /// The newest first.
    async fn list(&self) -> Result<Vec<Checkpoint>, String> {
        let listed = self.git(&["for-each-ref", "--format=%(refname) %(contents:subject)", REFS]).await?;
        let read = |line: &str| {
            let (name, why) = line.strip_prefix(REFS)?.split_once(' ')?;
            let id = format!("{}-{name}", self.key);
            Some(Checkpoint { id, folder: self.folder.clone(), at_ms: name.parse().ok()?, why: why.to_owned() })
        };
        let mut all: Vec<_> = listed.lines().filter_map(read).collect();
        all.sort_by_key(|checkpoint| std::cmp::Reverse(checkpoint.at_ms));
        Ok(all)
    }

    /// What git answers. It reads no settings but ours, and asks nobody.
    async fn git(&self, args: &[&str]) -> Result<String, String> {
        let mut git = Command::new("git");
        for setting in [
            "core.autocrlf=false",
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "gc.auto=0",
            "core.quotePath=false",
        ] {
            git.args(["-c", setting]);
        }
        git.args(args).env_clear().current_dir(&self.folder);
        if let Some(path) = std::env::var_os("PATH") {
            git.env("PATH", path);
        }
        git.envs([("GIT_DIR", &self.git), ("GIT_WORK_TREE", &self.folder), ("HOME", &self.git)]);
        git.envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", "toolgate"),
            ("GIT_AUTHOR_EMAIL", "toolgate@localhost"),
            ("GIT_COMMITTER_NAME", "toolgate"),
            ("GIT_COMMITTER_EMAIL", "toolgate@localhost"),
            ("LC_ALL", "C"),
        ]);
        git.stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout_at(self.until, git.output()).await;
        let output = output.map_err(|_| format!("it took longer than {} s", TIME.as_secs()))?;
        let output = output.map_err(|error| format!("'git' cannot be started: {}", error.kind()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("git {}: {}", args.first().unwrap_or(&""), contract::text::one_line(&said, 300)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }
}

fn key(folder: &Path) -> String {
    let digest = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

fn name(of: &Checkpoint) -> String {
    format!("{REFS}{}", of.at_ms)
}

/// Whether a folder is small enough, and holds no repository of which git would keep no file.
fn look(folder: &Path, is_top: bool, seen: &mut (usize, u64)) -> Result<(), String> {
    let inside = fs::read_dir(folder).map_err(|error| format!("'{}': {}", folder.display(), error.kind()))?;
    for entry in inside.flatten() {
        let Ok(about) = entry.metadata() else { continue };
        if entry.file_name() == ".git" {
            if is_top {
                continue;
            }
            return Err(format!("'{}' is a repository of its own", folder.display()));
        }
        seen.0 += 1;
        seen.1 += if about.is_file() { about.len() } else { 0 };
        if seen.0 > ENTRIES_MAX || seen.1 > BYTES_MAX {
            return Err(format!("the folder has more than {ENTRIES_MAX} files or {} MiB", BYTES_MAX >> 20));
        }
        if about.is_dir() {
            look(&entry.path(), false, seen)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Desk {
        folder: tempfile::TempDir,
        base: tempfile::TempDir,
    }

    impl Desk {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), base: tempfile::tempdir().unwrap() }
        }

        fn kept(&self) -> Checkpoints {
            Checkpoints::new(self.base.path().join("kept"))
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn read(&self, name: &str) -> Option<String> {
            fs::read_to_string(self.folder.path().join(name)).ok()
        }

        async fn take(&self, why: &str) -> Checkpoint {
            self.kept().take(self.folder.path(), why).await.unwrap()
        }
    }

    #[tokio::test]
    async fn a_folder_is_brought_back_and_the_present_is_kept_before() {
        let desk = Desk::new();
        desk.write("a.txt", "one");
        desk.write("sub/b.txt", "two\r\n");
        desk.write(".gitattributes", "* text eol=lf\n");
        desk.write(".gitignore", "*.log\n");
        desk.write("x.log", "ignored by others");
        let first = desk.take("first").await;
        desk.write("a.txt", "changed");
        desk.write("new.txt", "new");
        fs::remove_file(desk.folder.path().join("x.log")).unwrap();
        let changes = desk.kept().changes(&first).await.unwrap();
        let told: Vec<_> = changes.iter().map(|change| format!("{} {}", change.how, change.path)).collect();
        assert_eq!(told, ["changed a.txt", "added new.txt", "removed x.log"]);
        let before = desk.kept().restore(&first).await.unwrap();
        let files = ["a.txt", "sub/b.txt", "x.log", "new.txt"];
        assert_eq!(
            files.map(|name| desk.read(name)),
            [Some("one".into()), Some("two\r\n".into()), Some("ignored by others".into()), None]
        );
        desk.kept().restore(&before).await.unwrap();
        assert_eq!(
            files.map(|name| desk.read(name)),
            [Some("changed".into()), Some("two\r\n".into()), None, Some("new".into())]
        );
    }

    #[tokio::test]
    async fn what_did_not_change_makes_no_second_checkpoint() {
        let desk = Desk::new();
        desk.write("a", "1");
        let first = desk.take("first").await;
        assert_eq!(desk.take("again").await, first);
        desk.write("a", "2");
        let second = desk.take("second").await;
        let all = desk.kept().list().await.unwrap();
        assert_eq!(all.iter().map(|c| c.why.as_str()).collect::<Vec<_>>(), ["second", "first"]);
        assert_eq!(desk.kept().find(&second.id).await.unwrap(), second);
        assert!(desk.kept().find("nothing").await.is_err() && desk.kept().find(&second.id[..4]).await.is_err());
    }

    #[tokio::test]
    async fn what_cannot_be_kept_whole_is_not_kept() {
        let desk = Desk::new();
        desk.write("inner/.git/HEAD", "x");
        assert!(desk.kept().take(desk.folder.path(), "x").await.unwrap_err().contains("a repository of its own"));
        let inside = Checkpoints::new(desk.folder.path().join("kept"));
        assert_eq!(inside.take(desk.folder.path(), "x").await.unwrap_err(), "the folder holds its own checkpoints");
    }
}

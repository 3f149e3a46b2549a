//! Secrets: references that are read anew at each use, and whose text cannot be printed.

use std::{
    fmt,
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use endpoints::secret::{Known, SecretSource, SecretUnreadable};
use secrecy::{ExposeSecret, SecretString};
use tokio::{io::AsyncReadExt, process::Command, sync::Mutex};

pub mod vault;

use vault::Vault;

/// Most bytes of a secret.
const MOST_BYTES: u64 = 64 * 1024;
/// How long a command may take to print a secret.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// How long what a command printed is used, unless somebody does not accept it any more.
const PRINTED_KEPT: Duration = Duration::from_secs(10);

/// Where a secret is to be found.
#[derive(Clone)]
pub struct Secret {
    source: Source,
    /// The key in the configuration, for error texts.
    key: Arc<str>,
}

#[derive(Clone)]
enum Source {
    Env(String),
    File(PathBuf),
    Exec(Vec<String>, Arc<Mutex<Option<Printed>>>),
    Vault { path: String, field: String, vault: Arc<Vault> },
}

/// What a command printed, and when.
struct Printed {
    text: SecretString,
    at: Instant,
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        let same = match (&self.source, &other.source) {
            (Source::Env(one), Source::Env(other)) => one == other,
            (Source::File(one), Source::File(other)) => one == other,
            (Source::Exec(one, _), Source::Exec(other, _)) => one == other,
            (Source::Vault { path, field, .. }, Source::Vault { path: its_path, field: its_field, .. }) => {
                (path, field) == (its_path, its_field)
            }
            _ => false,
        };
        same && self.key == other.key
    }
}

impl Eq for Secret {}

/// Why a text is no reference to a secret. Holds nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAReference {
    #[error(
        "a secret itself must not stand here; write where it is: env:NAME, file:PATH, exec:COMMAND ARGS or vault:PATH#KEY"
    )]
    Literal,
    #[error("'{0}:' needs something after it")]
    Empty(&'static str),
    #[error("a secret of Vault is written vault:PATH#KEY, such as vault:secret/orders#token")]
    Vault,
    #[error("the command has a quote that is not closed")]
    OpenQuote,
}

/// Why a secret could not be read. Names the reference, never what was read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the secret '{key}' cannot be read: {why}")]
pub struct Unreadable {
    pub key: Arc<str>,
    pub why: String,
}

impl Secret {
    /// Reads a reference; a relative file is looked for beside `base`, and Vault is the one of the process's variables.
    pub fn parse(key: &str, text: &str, base: &std::path::Path) -> Result<Self, NotAReference> {
        Self::parse_with(key, text, base, &Arc::default())
    }

    /// The same, with the Vault that the configuration names.
    pub fn parse_with(
        key: &str,
        text: &str,
        base: &std::path::Path,
        vault: &Arc<Vault>,
    ) -> Result<Self, NotAReference> {
        let (scheme, rest) = text.split_once(':').ok_or(NotAReference::Literal)?;
        let rest = rest.trim();
        let source = match (scheme, rest.is_empty()) {
            ("env", true) => return Err(NotAReference::Empty("env")),
            ("file", true) => return Err(NotAReference::Empty("file")),
            ("exec", true) => return Err(NotAReference::Empty("exec")),
            ("vault", true) => return Err(NotAReference::Empty("vault")),
            ("env", false) if is_variable(rest) => Source::Env(rest.to_owned()),
            ("file", false) => Source::File(base.join(rest)),
            ("exec", false) => Source::Exec(words(rest)?, Arc::default()),
            ("vault", false) => {
                let (path, field) = vault::parse(rest).ok_or(NotAReference::Vault)?;
                Source::Vault { path, field, vault: vault.clone() }
            }
            _ => return Err(NotAReference::Literal),
        };
        Ok(Self { source, key: key.into() })
    }

    /// The secret as it is now, without the line end that editors leave. From then on it is masked wherever it turns up.
    pub async fn read(&self) -> Result<SecretString, Unreadable> {
        self.read_name(false).await.inspect(|secret| Known::shared().note(secret))
    }

    /// The same for what is kept like a secret and is none, such as a user's name. With `anew` past any memory.
    pub async fn read_name(&self, anew: bool) -> Result<SecretString, Unreadable> {
        let text = match &self.source {
            Source::Env(name) => {
                std::env::var(name).map(SecretString::from).map_err(|_| format!("the variable {name} is not set"))
            }
            Source::File(path) => read_file(path).await.map(SecretString::from),
            Source::Exec(argv, memory) => printed(argv, memory, anew).await,
            Source::Vault { path, field, vault } => vault.read(path, field, anew).await,
        };
        let text = text.map_err(|why| self.unreadable(why))?;
        match text.expose_secret().trim_end_matches(['\r', '\n']) {
            "" => Err(self.unreadable("it is empty".into())),
            trimmed => Ok(SecretString::from(trimmed.to_owned())),
        }
    }

    fn unreadable(&self, why: String) -> Unreadable {
        Unreadable { key: self.key.clone(), why }
    }

    /// The reference, which is no secret: `env:TOKEN`.
    pub fn reference(&self) -> String {
        match &self.source {
            Source::Env(name) => format!("env:{name}"),
            Source::File(path) => format!("file:{}", path.display()),
            // Arguments of a command may name what is better not shown.
            Source::Exec(argv, _) => format!("exec:{} …", argv.first().map_or("", String::as_str)),
            Source::Vault { path, field, .. } => format!("vault:{path}#{field}"),
        }
    }
}

#[async_trait::async_trait]
impl SecretSource for Secret {
    async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        Ok(Self::read(self).await?)
    }

    async fn read_anew(&self) -> Result<SecretString, SecretUnreadable> {
        let secret = self.read_name(true).await?;
        Known::shared().note(&secret);
        Ok(secret)
    }

    fn reference(&self) -> String {
        Self::reference(self)
    }
}

impl From<Unreadable> for SecretUnreadable {
    fn from(Unreadable { key, why }: Unreadable) -> Self {
        Self { key: key.to_string(), why }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.reference())
    }
}

async fn read_file(path: &std::path::Path) -> Result<String, String> {
    let open = async {
        let file = tokio::fs::File::open(path).await?;
        let mut text = String::new();
        file.take(MOST_BYTES + 1).read_to_string(&mut text).await?;
        Ok::<_, std::io::Error>(text)
    };
    let text = open.await.map_err(|error| format!("{}: {}", path.display(), error.kind()))?;
    bounded(text)
}

/// Runs the command once for all who want to know at the same time.
async fn printed(argv: &[String], memory: &Mutex<Option<Printed>>, anew: bool) -> Result<SecretString, String> {
    let came = Instant::now();
    let mut memory = memory.lock().await;
    if let Some(printed) = memory.as_ref()
        && (printed.at >= came || (!anew && printed.at.elapsed() < PRINTED_KEPT))
    {
        return Ok(printed.text.clone());
    }
    let at = Instant::now();
    let text = SecretString::from(run(argv).await?);
    *memory = Some(Printed { text: text.clone(), at });
    Ok(text)
}

async fn run(argv: &[String]) -> Result<String, String> {
    let (program, args) = argv.split_first().ok_or("there is no command")?;
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("{program}: {}", error.kind()))?;
    let stdout = child.stdout.take().ok_or("its output cannot be read")?;
    let read = async {
        let mut text = String::new();
        stdout.take(MOST_BYTES + 1).read_to_string(&mut text).await.map_err(|error| error.kind().to_string())?;
        let status = child.wait().await.map_err(|error| error.kind().to_string())?;
        if status.success() { bounded(text) } else { Err(format!("{program} ended with {status}")) }
    };
    tokio::time::timeout(COMMAND_TIME, read)
        .await
        .unwrap_or_else(|_| Err(format!("{program} took longer than {} s", COMMAND_TIME.as_secs())))
}

fn bounded(text: String) -> Result<String, String> {
    if text.len() as u64 > MOST_BYTES { Err("it is longer than 64 KiB".into()) } else { Ok(text) }
}

/// Whether it can be a variable's name: a secret that was pasted behind `env:` mostly cannot.
fn is_variable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit())
}

/// Splits a command at spaces; quotes keep a word together. There is no shell.
fn words(text: &str) -> Result<Vec<String>, NotAReference> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                begun = true;
            }
            (None, c) if c.is_whitespace() => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (None, c) => word.push(c),
        }
    }
    if quote.is_some() {
        return Err(NotAReference::OpenQuote);
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn secret(text: &str) -> Result<Secret, NotAReference> {
        Secret::parse("admin_token", text, Path::new("/"))
    }

    #[test]
    fn a_literal_is_refused_and_not_echoed() {
        for literal in ["sk_live_123", "123456:ABC", "env:123456:ABC", "hunter2", "https://host"] {
            let error = secret(literal).unwrap_err();
            assert_eq!(error, NotAReference::Literal);
            assert!(!error.to_string().contains(literal));
        }
        assert_eq!(secret("vault:kv/a#b").unwrap().reference(), "vault:kv/a#b");
        for wrong in ["vault:kv", "vault:kv/a", "vault:#b", "vault:kv/a#", "vault:kv#b", "vault:kv/../sys/a#b"] {
            assert_eq!(secret(wrong), Err(NotAReference::Vault), "{wrong}");
        }
        assert_eq!(secret("env:"), Err(NotAReference::Empty("env")));
        assert_eq!(secret("exec:cat 'a"), Err(NotAReference::OpenQuote));
    }

    #[tokio::test]
    async fn a_trailing_line_end_goes_and_a_rotated_file_is_read_anew() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "first\n").unwrap();
        let secret = Secret::parse("t", "file:token", folder.path()).unwrap();
        assert_eq!(secret.read().await.unwrap().expose_secret(), "first");
        std::fs::write(folder.path().join("token"), "second\r\n").unwrap();
        assert_eq!(secret.read().await.unwrap().expose_secret(), "second");
        std::fs::write(folder.path().join("token"), "\n").unwrap();
        assert!(secret.read().await.unwrap_err().to_string().ends_with("it is empty"));
    }

    #[tokio::test]
    async fn a_command_prints_a_secret_and_its_failure_says_which() {
        let secret = Secret::parse("t", "exec:printf '%s\n' 'two words'", Path::new("/")).unwrap();
        assert_eq!(secret.read().await.unwrap().expose_secret(), "two words");
        let error = Secret::parse("t", "exec:false", Path::new("/")).unwrap().read().await.unwrap_err().to_string();
        assert!(error.starts_with("the secret 't' cannot be read: false ended with"), "{error}");
    }

    #[tokio::test]
    async fn what_a_command_printed_is_kept_until_somebody_does_not_accept_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "first").unwrap();
        let secret =
            Secret::parse("t", &format!("exec:cat {}/token", folder.path().display()), Path::new("/")).unwrap();
        let read = async |anew| secret.read_name(anew).await.unwrap().expose_secret().to_owned();
        assert_eq!(read(false).await, "first");
        std::fs::write(folder.path().join("token"), "second").unwrap();
        assert_eq!(read(false).await, "first");
        assert_eq!(read(true).await, "second");
        assert_eq!(read(false).await, "second");
    }

    #[tokio::test]
    async fn what_was_read_is_known_as_a_secret_and_a_name_is_not() {
        let of = |text: &str| Secret::parse("t", text, Path::new("/")).unwrap();
        of("exec:echo open-sesame-77").read().await.unwrap();
        of("exec:echo somebody-77").read_name(false).await.unwrap();
        assert_eq!(Known::shared().mask("somebody-77: open-sesame-77"), "somebody-77: ***");
    }

    #[tokio::test]
    async fn what_was_read_is_not_printed() {
        let secret = Secret::parse("t", "exec:echo hunter2 hunter3", Path::new("/")).unwrap();
        let read = secret.read().await.unwrap();
        assert!(!format!("{secret:?} {read:?}").contains("hunter2"));
    }
}

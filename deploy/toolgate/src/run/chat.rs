//! `toolgate chat`: the gateway in a terminal. Ctrl+C stops the turn, twice leaves.

use std::{
    io::IsTerminal,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use contract::{Accepted, Address, Content, Heard, Inbox, Kind, Message, Platform, Reply, Sender, TurnEvent, TurnId};
use dispatch::{Gateway, say, tree};
use futures_util::StreamExt;
use reedline::{
    FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal, ValidationResult, Validator,
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    config::Config,
    run::{
        Ended,
        gateway::{self, open_store},
        hooks,
    },
    sources::{Origins, endpoints},
};

/// Said when another process owns the store's turns.
const TAKEN: &str =
    "another gateway works on this store; talk to it by HTTP, or name another store with --store sqlite:chat.db";

/// What a line of input came to.
enum Input {
    Line(String, oneshot::Sender<()>),
    Leave,
}

/// How answers are shown.
#[derive(Debug, Clone, Copy)]
pub struct Show {
    /// The call tree below each answer.
    pub tree: bool,
    /// A JSON object per answer, for programs; nothing else.
    pub json: bool,
}

/// Talks until the person leaves. With input that is no terminal: a message per line, then ends.
pub async fn chat(config: &Config, origins: Origins, sender: Option<String>, show: Show) -> Result<(), Ended> {
    let stores = open_store(config).await?;
    let endpoints = endpoints(config);
    let settings = dispatch::Settings { drain: Duration::from_secs(2), ..gateway::settings(config) };
    let settings = hooks::added(settings, config, &endpoints)?;
    let running = gateway::open(origins, stores, settings, gateway::models(config)?, endpoints).await?;
    hooks::report(config, &running.gateway);
    running.start();
    if !running.is_ours().await {
        return Err(Ended::Again(TAKEN.into()));
    }
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let talk = Talk {
        gateway: running.gateway.clone(),
        colour,
        show,
        sender: sender.unwrap_or_else(this_user),
        said: AtomicU64::new(0),
    };
    let (lines, mut inputs) = mpsc::channel(1);
    let interactive = std::io::stdin().is_terminal();
    // Line editing blocks, so it has a thread of its own; it ends with the last line or the receiver.
    let reader = std::thread::spawn(move || if interactive { edit_lines(&lines) } else { read_lines(&lines) });
    if interactive && !show.json {
        talk.greet();
    }
    while let Some(Input::Line(line, done)) = inputs.recv().await {
        talk.turn(&line).await;
        let _ = done.send(());
    }
    drop(inputs);
    running.stop(None).await;
    if reader.join().is_err() {
        return Err(Ended::Failed("the line editor crashed".into()));
    }
    Ok(())
}

fn read_lines(lines: &mpsc::Sender<Input>) {
    let mut typed = String::new();
    for line in std::io::stdin().lines().map_while(Result::ok) {
        typed.push_str(&line);
        if goes_on(&typed) {
            typed.push('\n');
        } else if !send(lines, std::mem::take(&mut typed)) {
            return;
        }
    }
    if !typed.is_empty() {
        send(lines, typed);
    }
}

/// Whether the message has a further line.
fn goes_on(typed: &str) -> bool {
    typed.ends_with('\\')
}

/// The message without the marks that its lines go on.
fn joined(typed: &str) -> String {
    typed.replace("\\\n", "\n")
}

/// Lets the line editor ask for a further line.
struct Lines;

impl Validator for Lines {
    fn validate(&self, typed: &str) -> ValidationResult {
        if goes_on(typed) { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

fn edit_lines(lines: &mpsc::Sender<Input>) {
    let mut editor = Reedline::create().with_validator(Box::new(Lines));
    if let Some(history) = history_file().and_then(|file| FileBackedHistory::with_file(1_000, file).ok()) {
        editor = editor.with_history(Box::new(history));
    }
    let mut interrupted = false;
    loop {
        match editor.read_line(&You) {
            Ok(Signal::Success(line)) => {
                interrupted = false;
                if !line.trim().is_empty() && !send(lines, line) {
                    return;
                }
            }
            Ok(Signal::CtrlC) if !interrupted => {
                interrupted = true;
                print("(Ctrl+C again leaves)\n");
            }
            Ok(_) | Err(_) => {
                let _ = lines.blocking_send(Input::Leave);
                return;
            }
        }
    }
}

fn history_file() -> Option<std::path::PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(std::path::PathBuf::from);
    let folder = state.or_else(|| Some(std::path::PathBuf::from(std::env::var_os("HOME")?).join(".local/state")))?;
    let folder = folder.join("toolgate");
    std::fs::create_dir_all(&folder).ok()?;
    Some(folder.join("chat-history"))
}

/// Hands a line over and waits until its turn has ended. False when nobody listens any more.
fn send(lines: &mpsc::Sender<Input>, line: String) -> bool {
    let (done, ended) = oneshot::channel();
    lines.blocking_send(Input::Line(joined(&line), done)).is_ok() && ended.blocking_recv().is_ok()
}

struct You;

impl Prompt for You {
    fn render_prompt_left(&self) -> std::borrow::Cow<'_, str> {
        "you".into()
    }
    fn render_prompt_right(&self) -> std::borrow::Cow<'_, str> {
        "".into()
    }
    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> std::borrow::Cow<'_, str> {
        "> ".into()
    }
    fn render_prompt_multiline_indicator(&self) -> std::borrow::Cow<'_, str> {
        "… ".into()
    }
    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> std::borrow::Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }
}

struct Talk {
    gateway: Gateway,
    colour: bool,
    show: Show,
    sender: String,
    said: AtomicU64,
}

fn this_user() -> String {
    std::env::var("USER").unwrap_or_else(|_| "operator".into())
}

impl Talk {
    fn greet(&self) {
        let tools = self.gateway.snapshot().tools.tools().len();
        print(&format!(
            "Toolgate in your terminal, {tools} tools. /help tells what can be done; Ctrl+C stops a turn, twice leaves.\n"
        ));
    }

    async fn turn(&self, line: &str) {
        let accepted = match self.gateway.accept(self.message(line)).await {
            Ok(accepted) => accepted,
            Err(down) => return self.say(None, &format!("not taken: {down}"), true),
        };
        match accepted {
            Accepted::Turn { id, .. } => self.follow(id).await,
            Accepted::Signal(words) => self.say(None, &words.to_string(), false),
            Accepted::NotForUs => {}
        }
    }

    fn message(&self, line: &str) -> Message {
        let n = self.said.fetch_add(1, Ordering::Relaxed);
        let mut address = Address::new(Platform::Console, "terminal", "chat");
        address.direct = true;
        Message {
            key: format!("{}:{n}", TurnId::new()),
            address,
            sender: Sender { id: self.sender.clone(), name: self.sender.clone() },
            roles: Vec::new(),
            kind: Kind::Text { text: line.to_owned() },
            heard: Heard::Direct,
            files: Vec::new(),
            quote: None,
            from_bot: false,
            locale: None,
            at_ms: TurnId::new().at_ms(),
        }
    }

    /// Shows the reply when it comes; Ctrl+C stops the turn.
    async fn follow(&self, turn: TurnId) {
        let mut events = self.gateway.watch(turn).await;
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(TurnEvent::End(reply)) => return self.show(turn, &reply).await,
                    Some(_) => {}
                    None => match self.gateway.reply(turn).await {
                        Ok(Some(reply)) => return self.show(turn, &reply).await,
                        Ok(None) | Err(_) => return self.say(Some(turn), "the reply cannot be read just now", true),
                    },
                },
                _ = tokio::signal::ctrl_c() => {
                    if !self.show.json {
                        print("\nstopping\n");
                    }
                    let _ = self.gateway.cancel(turn).await;
                }
            }
        }
    }

    /// Words that are no reply of a turn, in the form that is asked for.
    fn say(&self, turn: Option<TurnId>, words: &str, failed: bool) {
        if self.show.json {
            let reference = turn.map(|turn| turn.to_string());
            print(&format!("{}\n", serde_json::json!({ "reference": reference, "text": words, "failed": failed })));
        } else {
            print(&format!("{words}\n"));
        }
    }

    async fn show(&self, turn: TurnId, reply: &Arc<Reply>) {
        if self.show.json {
            return self.say(Some(turn), &say::plain(reply), reply.failed);
        }
        print(&self.text(reply));
        if self.show.tree
            && let Ok(nodes) = self.gateway.tree(turn).await
            && nodes.len() > 1
        {
            print(&self.dim(&tree::draw_text(&nodes, true)));
        }
        print(&self.dim(&format!("ref {turn}\n")));
    }

    fn text(&self, reply: &Reply) -> String {
        let mut out = String::new();
        for content in &reply.content {
            let single = Reply { content: vec![content.clone()], ..Reply::default() };
            let text = say::plain(&single);
            match content {
                Content::Notice(notice) => out.push_str(&self.layer(notice.layer, &text)),
                _ => out.push_str(&text),
            }
            out.push('\n');
        }
        out
    }

    fn layer(&self, layer: contract::Layer, text: &str) -> String {
        let colour = match layer {
            contract::Layer::Validation => "33",
            contract::Layer::Permission => "35",
            contract::Layer::Execution => "36",
            contract::Layer::Fatal => "31",
        };
        if self.colour { format!("\u{1b}[{colour}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn dim(&self, text: &str) -> String {
        if self.colour { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

#[expect(clippy::print_stdout, reason = "the conversation is on standard output")]
fn print(text: &str) {
    print!("{text}");
    let _ = std::io::Write::flush(&mut std::io::stdout());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_ends_with_a_backslash_goes_on_and_the_mark_is_not_said() {
        assert!(goes_on("/sleep 50\\"));
        assert!(!goes_on("/sleep 50\\\n/sleep 60"));
        assert_eq!(joined("/sleep 50\\\n/sleep 60"), "/sleep 50\n/sleep 60");
    }
}

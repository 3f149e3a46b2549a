//! What policy says besides yes and no: numbers and manner.

use std::time::Duration;

use contract::Locale;

/// Numbers that bound a turn; of several layers the least counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How often a language model may be asked in a turn.
    pub model_steps: u32,
    pub calls_per_turn: u32,
    pub concurrent_calls: u32,
    pub call_depth: u32,
    /// How many levels deep a language model may hand tasks on; not at all unless a rule says so.
    pub delegation: u32,
    pub turn_timeout: Duration,
    pub result_chars: u32,
    pub messages_per_reply: u32,
    /// Of one person to one account of a chat platform.
    pub messages_per_minute: u32,
    /// Sequential when any layer says so.
    pub execution_mode: ExecutionMode,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            model_steps: 10,
            calls_per_turn: 32,
            concurrent_calls: 8,
            call_depth: 4,
            delegation: 0,
            turn_timeout: Duration::from_secs(300),
            result_chars: 24_000,
            messages_per_reply: 5,
            messages_per_minute: 60,
            execution_mode: ExecutionMode::Parallel,
        }
    }
}

/// How the calls of one batch are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExecutionMode {
    /// In order, ended by the first failure.
    Sequential,
    Parallel,
}

/// How people are heard and answered; of several layers the narrowest that speaks counts, key by key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manner {
    pub gating: Gating,
    pub replies: Replies,
    pub sessions: Sessions,
    pub while_busy: WhileBusy,
}

/// What becomes of what a person says in their own words while a turn of theirs runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileBusy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// The model that works is told of it at its next step.
    Steer,
    /// It ends the turn that runs.
    Interrupt,
    /// All that waits becomes one turn.
    Collect,
}

/// Whose memory a session is, where several people speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sessions {
    /// All who speak in a conversation share one.
    #[default]
    Conversation,
    /// Each person in it has one of their own.
    Person,
}

/// Whose messages are for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gating {
    pub groups: Gate,
    pub direct: Gate,
    /// Whether messages of other bots are heard.
    pub bots: bool,
    /// How many turns bots may cause in a row in one conversation before a person has to speak there.
    pub bot_turns: u32,
    /// Whether an edited message is a new turn.
    pub edits: bool,
    /// Whether `gating.allowlist` names this caller or this conversation.
    pub listed: bool,
}

impl Default for Gating {
    fn default() -> Self {
        Self { groups: Gate::Mention, direct: Gate::Everyone, bots: false, bot_turns: 4, edits: false, listed: false }
    }
}

impl Gating {
    /// Whether a message is for us: `direct` when nobody else is in the conversation, `addressed` when it mentions
    /// us, replies to us or is a command.
    pub fn admission(&self, direct: bool, addressed: bool) -> Admission {
        let heard = match if direct { self.direct } else { self.groups } {
            Gate::Everyone => true,
            Gate::Mention => direct || addressed,
            Gate::Pairing if !self.listed && (direct || addressed) => return Admission::IfPaired,
            Gate::Allowlist | Gate::Pairing => self.listed && (direct || addressed),
            Gate::Nobody => false,
        };
        if heard { Admission::Heard } else { Admission::NotHeard }
    }

    /// When somebody's messages are for us, for whoever asks beforehand.
    pub fn hearing(&self, direct: bool) -> Hearing {
        match (self.admission(direct, false), self.admission(direct, true)) {
            (Admission::Heard, _) => Hearing::Always,
            (_, Admission::Heard) => Hearing::Addressed,
            (_, Admission::IfPaired) => Hearing::Paired,
            (_, Admission::NotHeard) => Hearing::Never,
        }
    }
}

/// When messages of somebody are heard in one kind of conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearing {
    Always,
    Addressed,
    /// Once an operator has let the sender in.
    Paired,
    Never,
}

impl Hearing {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Addressed => "addressed",
            Self::Paired => "paired",
            Self::Never => "never",
        }
    }
}

/// What the gate says of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    Heard,
    NotHeard,
    /// Heard when an operator has let the sender in; else the sender may ask for it.
    IfPaired,
}

/// Who is heard in one kind of conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    Everyone,
    /// Everyone who addresses us.
    Mention,
    /// People and conversations that `gating.allowlist` names, when they address us.
    Allowlist,
    /// As the allowlist, and people whom an operator let in by the code that they were shown.
    Pairing,
    Nobody,
}

/// How replies look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replies {
    pub detail: Detail,
    /// Whether a reply shows its reference.
    pub reference: bool,
    /// Whether errors go to the sender alone where the platform can.
    pub private_errors: bool,
    pub mentions: Mentions,
    /// Nothing when it follows the person.
    pub locale: Option<Locale>,
}

impl Default for Replies {
    fn default() -> Self {
        Self {
            detail: Detail::Plain,
            reference: true,
            private_errors: true,
            mentions: Mentions::default(),
            locale: None,
        }
    }
}

/// How much an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What happened and what to do.
    Plain,
    /// With layer, code and problems unfolded.
    Full,
}

/// Whom a reply may ping; nobody unless policy says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mentions {
    pub users: bool,
    pub roles: bool,
    pub everyone: bool,
}

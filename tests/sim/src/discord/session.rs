//! Sessions and connections of the gateway: who is told what, what can be replayed, and what a client's words lead to.

use std::collections::VecDeque;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::fault::{Fault, Kind};
use super::limits::seconds;
use super::world::World;

/// The intents that a bot can name, and those that have to be switched on for it first.
pub const KNOWN: u64 = ((1 << 17) - 1) | 1 << 20 | 1 << 21 | 1 << 24 | 1 << 25;
pub const MEMBERS: u64 = 1 << 1;
pub const PRESENCES: u64 = 1 << 8;
pub const CONTENT: u64 = 1 << 15;
/// Most sessions that are remembered without a connection; the server bounds those with one.
const MOST_AWAY: usize = 64;

/// What one bot is told over one shard, over all its connections.
#[derive(Debug)]
pub struct Session {
    pub id: String,
    pub bot: u64,
    pub intents: u64,
    pub shard: (u64, u64),
    pub seq: u64,
    /// The newest events with their numbers.
    pub kept: VecDeque<(u64, Value)>,
    /// The connection that it has now, else since when it has none.
    pub connection: Option<u64>,
    pub left: Instant,
}

impl Session {
    fn push(&mut self, name: &str, data: Value, most: usize) {
        self.seq += 1;
        self.kept.push_back((self.seq, json!({"op": 0, "s": self.seq, "t": name, "d": data})));
        while self.kept.len() > most.max(1) {
            self.kept.pop_front();
        }
    }
}

/// What a connection is to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Order {
    Send(Value),
    /// A close frame with a code and a reason, or with nothing.
    Close(Option<(u16, &'static str)>),
    /// No word more: the line breaks.
    Cut,
}

/// One open socket.
#[derive(Debug)]
pub struct Connection {
    pub session: Option<String>,
    /// The number of the last event that went out.
    pub sent: u64,
    pub orders: VecDeque<Order>,
    /// It stays open and says nothing.
    pub mute: bool,
    /// The client wants every payload compressed by itself.
    pub squeeze: bool,
    pub beat: Instant,
    heard: VecDeque<Instant>,
}

impl World {
    /// Takes in a new connection, which is greeted.
    pub fn connect(&mut self, version: &str, encoding: &str) -> u64 {
        let id = self.next_serial();
        let mut connection = Connection {
            session: None,
            sent: 0,
            orders: VecDeque::new(),
            mute: false,
            squeeze: false,
            beat: Instant::now(),
            heard: VecDeque::new(),
        };
        let hello = json!({"op": 10, "s": null, "t": null, "d": {"heartbeat_interval": self.limits.heartbeat_ms, "_trace": ["sim"]}});
        connection.orders.push_back(Order::Send(hello));
        if !matches!(version, "9" | "10") {
            connection.orders.push_back(Order::Close(Some((4_012, "Invalid API version"))));
        } else if !matches!(encoding, "json" | "") {
            self.stats.violation("gateway_encoding", "CONNECT", format!("encoding {encoding}"));
            connection.orders.push_back(Order::Close(Some((4_002, "Error while decoding payload."))));
        }
        self.count("connections");
        self.connections.insert(id, connection);
        if let Some(fault) = self.faults.hit(Kind::is_socket, "CONNECT", None) {
            self.strike(id, &fault);
        }
        self.moves += 1;
        id
    }

    /// The connection is over; its session can be resumed unless the client said goodbye.
    pub fn disconnect(&mut self, id: u64, farewell: bool) {
        let session = self.connections.remove(&id).and_then(|connection| connection.session);
        let Some(session) = session else { return };
        if farewell {
            self.sessions.remove(&session);
        } else if let Some(session) = self.sessions.get_mut(&session).filter(|session| session.connection == Some(id)) {
            session.connection = None;
            session.left = Instant::now();
        }
    }

    fn order(&mut self, id: u64, order: Order) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.orders.push_back(order);
            self.moves += 1;
        }
    }

    fn close(&mut self, id: u64, code: u16, reason: &'static str, rule: Option<&'static str>) {
        if let Some(rule) = rule {
            self.stats.violation(rule, "gateway", format!("{code} {reason}"));
        }
        // With these codes the session is over too.
        if matches!(code, 4_007 | 4_009)
            && let Some(session) = self.connections.get(&id).and_then(|connection| connection.session.clone())
        {
            self.sessions.remove(&session);
        }
        self.order(id, Order::Close(Some((code, reason))));
    }

    /// What a connection has to send now, in order.
    pub fn pull(&mut self, id: u64) -> Vec<Order> {
        let Some(connection) = self.connections.get_mut(&id) else { return vec![Order::Cut] };
        let mut out: Vec<Order> = connection.orders.drain(..).collect();
        let Some(session) = connection.session.as_ref().filter(|_| !connection.mute) else { return out };
        match self.sessions.get(session) {
            Some(session) if session.connection == Some(id) => {
                let from = session.kept.partition_point(|(seq, _)| *seq <= connection.sent);
                out.extend(session.kept.range(from..).map(|(_, event)| Order::Send(event.clone())));
                connection.sent = session.seq;
            }
            // Another connection carries the session on.
            _ if out.is_empty() => out.push(Order::Cut),
            _ => {}
        }
        out
    }

    /// A client said something.
    pub fn heard(&mut self, id: u64, text: &str) {
        let now = Instant::now();
        let most = self.limits.gateway_per_minute as usize;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        while connection.heard.front().is_some_and(|at| now - *at >= seconds(60.0)) {
            connection.heard.pop_front();
        }
        if most > 0 {
            connection.heard.push_back(now);
        }
        let (known, mute) = (connection.session.is_some(), connection.mute);
        if most > 0 && connection.heard.len() > most {
            return self.close(id, 4_008, "You are being rate limited.", Some("gateway_rate_limit"));
        }
        if text.len() > 4_096 {
            return self.close(id, 4_002, "Payload too large.", Some("gateway_payload_size"));
        }
        let Ok(mut said) = serde_json::from_str::<Value>(text) else {
            return self.close(id, 4_002, "Error while decoding payload.", Some("gateway_payload"));
        };
        if mute {
            return;
        }
        let data = said["d"].take();
        match said["op"].as_u64() {
            Some(1) => self.beat(id, now),
            Some(2) if known => self.close(id, 4_005, "Already authenticated.", Some("identify_twice")),
            Some(2) => self.begin(id, "IDENTIFY", &data),
            Some(6) if known => self.close(id, 4_005, "Already authenticated.", Some("identify_twice")),
            Some(6) => self.begin(id, "RESUME", &data),
            Some(3 | 4 | 8 | 31) if !known => {
                self.close(id, 4_003, "Not authenticated.", Some("not_authenticated"));
            }
            Some(8) => self.members(id, &data),
            Some(3 | 4 | 31) => {}
            _ => self.close(id, 4_001, "Unknown opcode.", Some("gateway_opcode")),
        }
    }

    fn beat(&mut self, id: u64, now: Instant) {
        if let Some(fault) = self.faults.hit(|kind| kind.is_socket(), "HEARTBEAT", None) {
            return self.strike(id, &fault);
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.beat = now;
        }
        self.count("heartbeats");
        self.order(id, Order::Send(json!({"op": 11, "s": null, "t": null, "d": null})));
    }

    fn begin(&mut self, id: u64, method: &'static str, data: &Value) {
        if let Some(fault) = self.faults.hit(Kind::is_socket, method, None) {
            return self.strike(id, &fault);
        }
        match method {
            "IDENTIFY" => self.identify(id, data),
            _ => self.resume(id, data),
        }
    }

    fn identify(&mut self, id: u64, data: &Value) {
        self.count("identifies");
        let token = data["token"].as_str().unwrap_or_default().trim_start_matches("Bot ").to_owned();
        let Some(bot) = self.bot(&token) else {
            return self.close(id, 4_004, "Authentication failed.", Some("token"));
        };
        if !data["properties"].is_object() {
            return self.close(id, 4_002, "Error while decoding payload.", Some("identify_properties"));
        }
        let Some(intents) = data["intents"].as_u64().filter(|intents| intents & !KNOWN == 0) else {
            return self.close(id, 4_013, "Invalid intent(s).", Some("intents"));
        };
        if intents & self.forbidden() != 0 {
            return self.close(id, 4_014, "Disallowed intent(s).", None);
        }
        let shard = match (&data["shard"], data["shard"][0].as_u64(), data["shard"][1].as_u64()) {
            (Value::Null, ..) => (0, 1),
            (_, Some(at), Some(of)) if at < of => (at, of),
            _ => return self.close(id, 4_010, "Invalid shard.", Some("shard")),
        };
        if shard.1 < u64::from(self.limits.shards) {
            return self.close(id, 4_011, "Sharding required.", None);
        }
        if !self.may_identify(id, bot, shard.0) {
            return;
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.squeeze = data["compress"].as_bool().unwrap_or_default();
        }
        self.open(id, bot, intents, shard);
    }

    /// The privileged intents that are switched off.
    pub fn forbidden(&self) -> u64 {
        let off = |on: bool, intent: u64| if on { 0 } else { intent };
        off(self.setup.members, MEMBERS) | off(self.setup.presences, PRESENCES) | off(self.setup.content, CONTENT)
    }

    /// Whether a bot may identify now; a refusal is sent.
    fn may_identify(&mut self, id: u64, bot: u64, shard: u64) -> bool {
        let day = self.limits.identifies_per_day;
        let used = self.bots.get(&bot).map_or(0, |bot| bot.identifies);
        if day > 0 && used >= day {
            // The platform takes the token back and writes to the owner.
            self.close(id, 4_004, "Authentication failed.", Some("identify_day"));
            return false;
        }
        if let Some(bot) = self.bots.get_mut(&bot) {
            bot.identifies += 1;
        }
        let key = shard % u64::from(self.limits.max_concurrency.max(1));
        let pause = seconds(self.limits.identify_seconds);
        if !self.meter.identify((bot, key), pause) {
            self.stats.violation("identify_concurrency", "IDENTIFY", "too many at once");
            self.order(id, Order::Send(invalid(false)));
            return false;
        }
        true
    }

    fn open(&mut self, id: u64, bot: u64, intents: u64, shard: (u64, u64)) {
        self.forget_sessions();
        let name = format!("{:032x}", u128::from(self.next_id()) << 40 | u128::from(self.next_serial()));
        let session = Session {
            id: name.clone(),
            bot,
            intents,
            shard,
            seq: 0,
            kept: VecDeque::new(),
            connection: Some(id),
            left: Instant::now(),
        };
        self.sessions.insert(name.clone(), session);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.session = Some(name.clone());
            connection.sent = 0;
        }
        self.greet(&name);
    }

    fn forget_sessions(&mut self) {
        let holds = seconds(self.limits.resume_seconds);
        self.sessions.retain(|_, session| session.connection.is_some() || session.left.elapsed() < holds);
        let mut away: Vec<(Instant, String)> = self
            .sessions
            .values()
            .filter(|session| session.connection.is_none())
            .map(|session| (session.left, session.id.clone()))
            .collect();
        away.sort_unstable();
        for (_, id) in away.iter().take(away.len().saturating_sub(MOST_AWAY)) {
            self.sessions.remove(id);
        }
    }

    /// Puts an event into one session.
    pub fn push(&mut self, session: &str, name: &str, data: Value) {
        let most = self.limits.replay;
        if let Some(session) = self.sessions.get_mut(session) {
            session.push(name, data, most);
            self.moves += 1;
        }
    }

    fn resume(&mut self, id: u64, data: &Value) {
        self.count("resumes");
        let token = data["token"].as_str().unwrap_or_default().trim_start_matches("Bot ").to_owned();
        let Some(bot) = self.bot(&token) else {
            return self.close(id, 4_004, "Authentication failed.", Some("token"));
        };
        self.forget_sessions();
        let name = data["session_id"].as_str().unwrap_or_default().to_owned();
        let Some(seq) = data["seq"].as_u64() else {
            return self.close(id, 4_002, "Error while decoding payload.", Some("resume_seq"));
        };
        let Some(session) = self.sessions.get_mut(&name).filter(|session| session.bot == bot) else {
            return self.order(id, Order::Send(invalid(false)));
        };
        if seq > session.seq {
            self.sessions.remove(&name);
            return self.close(id, 4_007, "Invalid seq.", Some("resume_seq"));
        }
        if session.kept.front().is_some_and(|(oldest, _)| *oldest > seq + 1) {
            self.sessions.remove(&name);
            return self.order(id, Order::Send(invalid(false)));
        }
        session.connection = Some(id);
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.session = Some(name.clone());
            connection.sent = seq;
        }
        self.count("resumed");
        self.push(&name, "RESUMED", json!({"_trace": ["sim"]}));
    }

    /// Lets an ordered fault happen to one connection.
    pub fn strike(&mut self, id: u64, fault: &Fault) {
        let session = self.connections.get(&id).and_then(|connection| connection.session.clone());
        match fault.kind {
            Kind::Disconnect => self.order(id, Order::Cut),
            Kind::Close => {
                let code = fault.status.map(|code| (code, "closed on demand"));
                self.order(id, Order::Close(code));
            }
            Kind::Reconnect => self.order(id, Order::Send(json!({"op": 7, "s": null, "t": null, "d": null}))),
            Kind::InvalidSession => {
                if let Some(session) = session.filter(|_| !fault.resumable) {
                    self.sessions.remove(&session);
                    if let Some(connection) = self.connections.get_mut(&id) {
                        connection.session = None;
                    }
                }
                self.order(id, Order::Send(invalid(fault.resumable)));
            }
            Kind::Zombie | Kind::Ignore => {
                if let Some(connection) = self.connections.get_mut(&id) {
                    connection.mute = true;
                }
            }
            Kind::RateLimit | Kind::Error | Kind::Drop | Kind::Delay | Kind::Duplicate => {}
        }
    }

    /// Whether a client has been silent for too long; then it is sent away.
    pub fn watch(&mut self, id: u64) {
        let patience = seconds(self.limits.heartbeat_ms as f64 / 1_000.0 * 1.5);
        let silent = |connection: &Connection| !connection.mute && connection.beat.elapsed() >= patience;
        let late = self.connections.get(&id).is_some_and(silent);
        if late {
            self.stats.violation("heartbeat", "HEARTBEAT", "none in time");
            self.order(id, Order::Close(Some((4_009, "Session timed out."))));
        }
    }
}

fn invalid(resumable: bool) -> Value {
    json!({"op": 9, "s": null, "t": null, "d": resumable})
}

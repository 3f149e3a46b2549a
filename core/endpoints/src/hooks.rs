//! Stages that are somewhere else: a service that is sent each call, or a program that is started for it.
//!
//! Reading order: [`Hook`] is what an operator writes; `asked` is the message and what an answer means (pure); `webhook` and
//! `program` carry it there. What a failure means is the chain's to say, but around an attempt, where the hook says it itself.

mod asked;
mod program;
mod webhook;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use contract::{Effect, Node, Private};
use reqwest::{Client, Url, header::HeaderName};
use serde_json::Value;
use tools::{
    Cx, Fault, Host, Output, Permitted, ToolFailure,
    stages::{After, Around, Before, Changed, Class, Link, Next, Of, Only, Request, Stage, Stopped, Transform},
};

use crate::{mcp::Part, secret::Known};
use asked::{Asked, Verdict};

/// Where a hook is.
#[derive(Debug, Clone, PartialEq)]
pub enum Via {
    Webhook {
        url: String,
        /// Secrets among them are read for each call.
        headers: Vec<(HeaderName, Vec<Part>)>,
    },
    /// Words of a command; there is no shell.
    Program {
        argv: Vec<String>,
        /// Beside the few variables that every program needs.
        env: Vec<(String, Vec<Part>)>,
        folder: Option<PathBuf>,
    },
}

/// At which stage a hook is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    Request,
    Before,
    Execution,
    Transform,
    After,
}

/// A hook as it is configured.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    pub name: String,
    pub at: At,
    pub via: Via,
    pub class: Class,
    pub timeout: Duration,
    pub only: Only,
}

impl Hook {
    /// Its link in the chain.
    pub(crate) fn link(self, client: &Client) -> Result<Link, String> {
        let Self { name, at, via, class, timeout, only } = self;
        let carrier = match via {
            Via::Webhook { url, headers } => {
                let url: Url =
                    url.parse().map_err(|error| format!("the hook '{name}' has no good address: {error}"))?;
                Carrier::Webhook(webhook::Webhook { url, headers, client: client.clone() })
            }
            Via::Program { argv, env, folder } => Carrier::Program(program::Program { argv, env, folder }),
        };
        let there = Arc::new(There { name: name.as_str().into(), carrier, class, timeout });
        let stage = match at {
            At::Request => Stage::Request(there),
            At::Before => Stage::Before(there),
            At::Execution => Stage::Around(there),
            At::Transform => Stage::Transform(there),
            At::After => Stage::After(there),
        };
        Ok(Link::new(&name, stage).only(only).class(class).timeout(timeout))
    }
}

enum Carrier {
    Webhook(webhook::Webhook),
    Program(program::Program),
}

/// A hook that can be asked.
struct There {
    name: Arc<str>,
    carrier: Carrier,
    class: Class,
    timeout: Duration,
}

impl There {
    /// Its answer as text; an error is for operators, with what is secret masked.
    async fn tell(&self, asked: &Asked<'_>) -> Result<Vec<u8>, Private> {
        let told = match asked.body(&self.name) {
            Ok(body) => match &self.carrier {
                Carrier::Webhook(webhook) => webhook.send(body).await,
                Carrier::Program(program) => program.run(body).await,
            },
            Err(why) => Err(why),
        };
        told.map_err(|why| Private::new(Known::shared().mask(&why).into_owned()))
    }

    async fn ask(&self, asked: &Asked<'_>) -> Result<Verdict, Stopped> {
        let answer = self.tell(asked).await.map_err(Stopped::Failed)?;
        asked::verdict(&answer).map_err(|why| Stopped::Failed(Private::new(why)))
    }
}

/// What takes the place of what was shown, or the refusal.
fn changed(verdict: Verdict) -> Result<Option<Changed>, Stopped> {
    match verdict {
        Verdict::Refuse(say) => Err(Stopped::Refused(say.into())),
        Verdict::Allow { instead, note } => Ok(instead.map(|mut value| {
            Known::shared().mask_value(&mut value);
            Changed { value, what: note }
        })),
    }
}

#[async_trait]
impl Request for There {
    async fn request(&self, of: &Of, args: &Value) -> Result<Option<Changed>, Stopped> {
        match self.ask(&Asked::of(At::Request, of).args(args)).await? {
            Verdict::Allow { instead: Some(value), .. } if !value.is_object() => {
                Err(Stopped::Failed(Private::new("its 'args' are no object")))
            }
            verdict => changed(verdict),
        }
    }
}

#[async_trait]
impl Before for There {
    async fn before(&self, of: &Of, args: &Value) -> Result<(), Stopped> {
        match self.class {
            Class::Policy => changed(self.ask(&Asked::of(At::Before, of).args(args)).await?).map(drop),
            // Whatever it says does not count.
            Class::Observer => {
                self.tell(&Asked::of(At::Before, of).args(args)).await.map(drop).map_err(Stopped::Failed)
            }
        }
    }
}

#[async_trait]
impl Transform for There {
    async fn transform(&self, of: &Of, answer: &Value, _: &dyn Host) -> Result<Option<Changed>, Stopped> {
        changed(self.ask(&Asked::of(At::Transform, of).answer(answer)).await?)
    }
}

#[async_trait]
impl After for There {
    async fn after(&self, of: &Of, node: &Node) -> Result<(), Private> {
        self.tell(&Asked::of(At::After, of).node(node)).await.map(drop)
    }
}

#[async_trait]
impl Around for There {
    async fn around(&self, call: &Permitted, cx: &Cx<'_>, next: Next<'_>) -> Result<Output, ToolFailure> {
        // Until the endpoint is asked nothing can have happened there.
        cx.notes.effect(Effect::None);
        let (tool, caller, path) = (call.tool().clone(), cx.caller.clone(), call.path().clone());
        let of = Of { tool, caller, turn: cx.turn, path };
        let asked = Asked::of(At::Execution, &of).args(call.args()).attempt(cx.attempt);
        let late = |_| Err(Stopped::Failed(Private::new(format!("no answer within {} ms", self.timeout.as_millis()))));
        let verdict = tokio::time::timeout(self.timeout, self.ask(&asked)).await.unwrap_or_else(late);
        let verdict = verdict.and_then(changed);
        next.came_to(verdict.as_ref().map(drop));
        match (verdict, self.class) {
            (Ok(Some(Changed { value, .. })), _) => {
                cx.notes.mark(format!("hook '{}': answered in the tool's place", self.name));
                return Ok(Output::Done(value));
            }
            (Ok(None), _) => {}
            (Err(stopped), Class::Policy) => return Err(self.not_run(&of, stopped)),
            (Err(_), Class::Observer) => {
                cx.notes.mark(format!("hook '{}': no decision, which does not count", self.name))
            }
        }
        // From here on the endpoint says what may have happened; one that does not may have done anything.
        cx.notes.effect(Effect::Unknown);
        next.run(cx).await
    }
}

impl There {
    fn not_run(&self, of: &Of, stopped: Stopped) -> ToolFailure {
        let tool = &of.tool.name;
        let (say, why) = match stopped {
            Stopped::Refused(say) => {
                (say.as_str().to_owned(), Private::new(format!("the hook '{}' refused it", self.name)))
            }
            Stopped::Failed(why) => {
                let why = format!("the hook '{}' came to no decision: {}", self.name, why.for_operator());
                (format!("'{tool}' was not run: it could not be checked"), Private::new(why))
            }
        };
        let say = contract::text::one_line(&contract::text::clean_framing(&say), 400);
        let say = if say.is_empty() { format!("'{tool}' may not be run like this") } else { say };
        ToolFailure::new(Fault::Unavailable, say).effect(Effect::None).cause(why)
    }
}

#[cfg(test)]
mod tests;

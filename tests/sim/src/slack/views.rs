//! Views: modals in stacks of three, and the home of an app.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::api::Asked;
use super::blocks;
use super::error::ApiError;
use super::inputs::fields;
use super::outbox::Asker;
use super::seen::Seen;
use super::transcript::{By, Entry, Kind};
use super::world::World;

/// How many triggers are remembered, how many views are open at most, and how deep they lie.
const KEPT: usize = 10_000;
const DEPTH: usize = 3;

#[derive(Clone, Debug)]
struct Trigger {
    app: usize,
    user: String,
    channel: String,
    made: Instant,
    used: bool,
}

#[derive(Clone, Debug)]
struct Shown {
    app: usize,
    user: String,
    channel: String,
    view: Value,
}

/// What is open, and what may open more.
#[derive(Debug, Default)]
pub struct Views {
    triggers: BTreeMap<String, Trigger>,
    order: VecDeque<String>,
    open: BTreeMap<String, Shown>,
    /// The views of each person, the one that they see last.
    stacks: BTreeMap<String, Vec<String>>,
}

impl Views {
    /// Whether an id is that of a view, open or not.
    pub fn knows(&self, id: &str) -> bool {
        id.starts_with('V')
    }

    pub fn shown(&self, id: &str) -> Option<(usize, Value)> {
        self.open.get(id).map(|shown| (shown.app, shown.view.clone()))
    }

    pub fn owner(&self, id: &str) -> Option<&str> {
        self.open.get(id).map(|shown| shown.user.as_str())
    }

    /// The view that a person sees.
    pub fn top_of(&self, user: &str) -> Option<String> {
        self.stacks.get(user)?.last().cloned()
    }

    /// Takes a view off its stack.
    pub fn close(&mut self, id: &str) {
        if let Some(shown) = self.open.remove(id)
            && let Some(stack) = self.stacks.get_mut(&shown.user)
        {
            stack.retain(|view| view != id);
        }
    }

    fn clear(&mut self, user: &str) {
        for id in self.stacks.remove(user).unwrap_or_default() {
            self.open.remove(&id);
        }
    }
}

impl World {
    /// What lets an app open a view for somebody, once and soon.
    pub fn trigger(&mut self, app: usize, user: &str, channel: &str) -> String {
        let serial = self.next_serial();
        let id =
            format!("{serial}.{}.{:032x}", crate::transcript::now_ms(), serial.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let trigger =
            Trigger { app, user: user.to_owned(), channel: channel.to_owned(), made: Instant::now(), used: false };
        self.views.triggers.insert(id.clone(), trigger);
        self.views.order.push_back(id.clone());
        if self.views.order.len() > KEPT
            && let Some(old) = self.views.order.pop_front()
        {
            self.views.triggers.remove(&old);
        }
        id
    }

    fn redeem_trigger(&mut self, asked: &Asked<'_>) -> Result<Trigger, ApiError> {
        let wanted = asked.params.text("trigger_id").or(asked.params.text("interactivity_pointer"));
        let wanted = wanted.ok_or_else(|| ApiError::invalid_arguments("missing required field: trigger_id"))?;
        let life = Duration::from_secs_f64(self.limits.trigger_seconds.clamp(0.0, 1e6));
        let trigger = self.views.triggers.get_mut(&wanted).ok_or_else(|| ApiError::broken("invalid_trigger_id"))?;
        if trigger.app != asked.caller.app {
            return Err(ApiError::broken("invalid_trigger_id"));
        }
        if trigger.used {
            return Err(ApiError::broken("exchanged_trigger_id"));
        }
        if trigger.made.elapsed() > life {
            return Err(ApiError::broken("expired_trigger_id"));
        }
        trigger.used = true;
        Ok(trigger.clone())
    }

    /// The view that a request carries, checked and completed.
    fn new_view(&mut self, asked: &Asked<'_>, id: &str) -> Result<Value, ApiError> {
        let view =
            asked.params.json("view")?.ok_or_else(|| ApiError::invalid_arguments("missing required field: view"))?;
        self.complete_view(asked.caller.app, view, id)
    }

    fn complete_view(&mut self, app: usize, mut view: Value, id: &str) -> Result<Value, ApiError> {
        blocks::check_view(&mut view)?;
        let external = view["external_id"].as_str().unwrap_or_default().to_owned();
        let taken = !external.is_empty()
            && self.views.open.iter().any(|(other, shown)| {
                other != id && shown.app == app && shown.view["external_id"] == external.as_str()
            });
        if taken {
            return Err(ApiError::broken("duplicate_external_id"));
        }
        let hash = format!("{}.{:08x}", super::cast::now(), self.next_serial());
        let (known, team) = (&self.apps[app], &self.teams[self.apps[app].installs[0].team].id);
        let text = |name: &str| view[name].as_str().unwrap_or_default().to_owned();
        Ok(
            json!({"id": id, "team_id": team, "type": view["type"], "blocks": view["blocks"], "private_metadata": text("private_metadata"),
            "callback_id": text("callback_id"), "state": {"values": {}}, "hash": hash, "title": view["title"], "clear_on_close": view["clear_on_close"] == true,
            "notify_on_close": view["notify_on_close"] == true, "close": view["close"], "submit": view["submit"], "previous_view_id": null,
            "root_view_id": id, "app_id": known.id, "external_id": external, "app_installed_team_id": team, "bot_id": known.installs[0].bot}),
        )
    }

    fn show(
        &mut self,
        app: usize,
        user: &str,
        channel: &str,
        mut view: Value,
        payload: Value,
    ) -> Result<Value, ApiError> {
        let id = view["id"].as_str().unwrap_or_default().to_owned();
        let stack = self.views.stacks.entry(user.to_owned()).or_default();
        if stack.len() >= DEPTH {
            return Err(ApiError::broken("push_limit_reached"));
        }
        if let Some(previous) = stack.last() {
            view["previous_view_id"] = json!(previous);
            view["root_view_id"] = json!(stack[0]);
        }
        stack.push(id.clone());
        if self.views.open.len() >= KEPT {
            self.views.open.pop_first();
        }
        self.views
            .open
            .insert(id.clone(), Shown { app, user: user.to_owned(), channel: channel.to_owned(), view: view.clone() });
        self.log_view(&id, payload, "");
        Ok(view)
    }

    /// Writes down a view as its person sees it now; `note` stands before it.
    fn log_view(&mut self, id: &str, payload: Value, note: &str) {
        let Some(shown) = self.views.open.get(id).cloned() else { return };
        let Some(name) = self.channels.get(&shown.channel).map(|channel| channel.name.clone()) else { return };
        let mut entry = Entry::new(&name, &shown.channel, By::Bot, Kind::Modal);
        Seen::view(self, &shown.view).fill(&mut entry);
        if !note.is_empty() {
            entry.text = format!("{}\n{note}", entry.text);
        }
        entry.message = Some(id.to_owned());
        entry.to = Some(self.called(&shown.user));
        entry.fields = fields(&shown.view["blocks"]);
        entry.payload = payload;
        self.log(entry);
    }

    /// The answer to a submission.
    pub fn submitted(&mut self, app: usize, id: &str, asker: &Asker, answer: Value) {
        let Some(shown) = self.views.open.get(id).cloned() else { return };
        let outcome = match answer["response_action"].as_str() {
            None if answer.as_object().is_none_or(|answer| answer.is_empty()) => {
                self.close_view(id);
                Ok(())
            }
            Some("clear") => {
                self.close_view(id);
                self.views.clear(&shown.user);
                Ok(())
            }
            Some("errors") => self.show_errors(id, &answer),
            Some("update") => self
                .complete_view(app, answer["view"].clone(), id)
                .map(|view| self.replace_view(id, view, answer.clone())),
            Some("push") => {
                let fresh = self.next_id("V");
                self.complete_view(app, answer["view"].clone(), &fresh)
                    .and_then(|view| self.show(app, &shown.user, &shown.channel, view, answer.clone()))
                    .map(drop)
            }
            _ => Err(ApiError::broken("unknown_response_action")),
        };
        if let Err(error) = outcome {
            self.stats.violation(error.rule.unwrap_or("view_answer"), "view_submission", error.detail());
            self.log_view(id, answer, &format!("{} failed", asker.what));
        }
    }

    fn close_view(&mut self, id: &str) {
        let Some(shown) = self.views.open.get(id).cloned() else { return };
        let Some(name) = self.channels.get(&shown.channel).map(|channel| channel.name.clone()) else { return };
        let mut entry = Entry::new(&name, &shown.channel, By::Bot, Kind::Delete);
        entry.message = Some(id.to_owned());
        entry.to = Some(self.called(&shown.user));
        self.views.close(id);
        self.log(entry);
    }

    fn show_errors(&mut self, id: &str, answer: &Value) -> Result<(), ApiError> {
        let errors = answer["errors"]
            .as_object()
            .filter(|errors| !errors.is_empty())
            .ok_or_else(|| ApiError::broken("invalid_errors"))?;
        let shown = self.views.shown(id).map(|(_, view)| view).unwrap_or_default();
        let inputs = fields(&shown["blocks"]);
        let mut lines = Vec::new();
        for (block, why) in errors {
            let field = inputs
                .iter()
                .find(|field| field.block == *block)
                .ok_or_else(|| ApiError::broken("errors_without_block").with("block", block.as_str()))?;
            lines.push(format!("{}: {}", field.label, why.as_str().unwrap_or_default()));
        }
        self.log_view(id, answer.clone(), &lines.join("\n"));
        Ok(())
    }

    fn replace_view(&mut self, id: &str, mut view: Value, payload: Value) {
        let Some(shown) = self.views.open.get_mut(id) else { return };
        for field in ["previous_view_id", "root_view_id"] {
            view[field] = shown.view[field].clone();
        }
        shown.view = view;
        self.log_view(id, payload, "");
    }
}

/// `views.open`
pub fn open(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = world.next_id("V");
    let view = world.new_view(asked, &id)?;
    modal(&view)?;
    let trigger = world.redeem_trigger(asked)?;
    world.views.clear(&trigger.user);
    let view = world.show(asked.caller.app, &trigger.user, &trigger.channel, view, asked.params.payload())?;
    Ok(json!({"view": view}))
}

fn modal(view: &Value) -> Result<(), ApiError> {
    if view["type"] == "modal" {
        Ok(())
    } else {
        Err(ApiError::invalid_arguments("view: a modal is opened, a home is published"))
    }
}

/// `views.push`
pub fn push(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let id = world.next_id("V");
    let view = world.new_view(asked, &id)?;
    modal(&view)?;
    let trigger = world.redeem_trigger(asked)?;
    let view = world.show(asked.caller.app, &trigger.user, &trigger.channel, view, asked.params.payload())?;
    Ok(json!({"view": view}))
}

/// `views.update`
pub fn update(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let external = asked.params.text("external_id");
    let id = asked.params.text("view_id").or_else(|| {
        let by_name = world
            .views
            .open
            .iter()
            .find(|(_, shown)| external.as_deref().is_some_and(|id| shown.view["external_id"] == id));
        by_name.map(|(id, _)| id.clone())
    });
    let id = id.ok_or_else(|| ApiError::new("not_found"))?;
    let Some((app, shown)) = world.views.shown(&id).filter(|(app, _)| *app == asked.caller.app) else {
        return Err(ApiError::new("not_found"));
    };
    if asked.params.text("hash").is_some_and(|hash| shown["hash"] != hash.as_str()) {
        return Err(ApiError::new("hash_conflict"));
    }
    let view = asked.params.json("view")?.ok_or_else(|| ApiError::invalid_arguments("missing required field: view"))?;
    let view = world.complete_view(app, view, &id)?;
    world.replace_view(&id, view, asked.params.payload());
    Ok(json!({"view": world.views.shown(&id).map(|(_, view)| view)}))
}

/// `views.publish`
pub fn publish(world: &mut World, asked: &Asked<'_>) -> Result<Value, ApiError> {
    let user = asked.params.need("user_id")?;
    let name = world.user_by_id(&user).map(|user| user.name.clone()).ok_or_else(|| ApiError::new("user_not_found"))?;
    let app = asked.caller.app;
    let known = world.apps[app].homes.get(&user).cloned();
    let id = known.as_ref().and_then(|view| view["id"].as_str()).map_or_else(|| world.next_id("V"), str::to_owned);
    if let (Some(hash), Some(known)) = (asked.params.text("hash"), &known)
        && known["hash"] != hash.as_str()
    {
        return Err(ApiError::new("hash_conflict"));
    }
    let view = world.new_view(asked, &id)?;
    if view["type"] != "home" {
        return Err(ApiError::invalid_arguments("view: a home is published, a modal is opened"));
    }
    world.apps[app].homes.insert(user, view.clone());
    let channel = world.direct(app, &name)?;
    let mut entry = Entry::new(&world.channels[&channel].name, &channel, By::Bot, Kind::Modal);
    Seen::view(world, &view).fill(&mut entry);
    (entry.message, entry.to, entry.payload) = (Some(id), Some(name), asked.params.payload());
    world.log(entry);
    Ok(json!({"view": view}))
}

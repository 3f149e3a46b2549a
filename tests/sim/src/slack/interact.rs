//! What people do beyond writing: commands, presses, shortcuts, reactions, submissions.

use serde_json::{Value, json};

use super::cast::{Channel, User, handle};
use super::outbox::{Asker, What};
use super::people::{Command, Outcome, Press, React, Said, Shortcut, Submit, refused};
use super::seen::Seen;
use super::transcript::{By, Entry, Kind};
use super::world::World;

impl World {
    pub fn person_entry(&self, channel: &str, user: &User, kind: Kind) -> Entry {
        let mut entry = Entry::new(&self.channels[channel].name, channel, By::User, kind);
        entry.user = Some(user.name.clone());
        entry
    }

    pub fn command(&mut self, command: Command) -> Outcome<Said> {
        let channel = self.place(&command.conversation)?;
        let user = self.person(&command.user, command.locale.clone())?;
        self.admit(&channel, &user)?;
        if command.thread.is_some() {
            return refused(400, "thread: slash commands are not available in threads");
        }
        let (name, words) = command.name.split_once(' ').unwrap_or((&command.name, ""));
        let name = format!("/{}", name.trim_start_matches('/'));
        let text = format!("{words} {}", crate::control::typed(&command.args)).trim().to_owned();
        let Some(app) = self.commanded(&channel, &name) else {
            return refused(404, format!("name: {}", self.no_command(&channel, &name)));
        };
        let mut entry = self.person_entry(&channel, &user, Kind::Private);
        entry.text = format!("{name} {text}").trim_end().to_owned();
        let trigger = self.trigger(app, &user.id, &channel);
        let response_url = self.response_url(app, &channel, &user.id, None);
        let place = &self.channels[&channel];
        let shown = if place.im.is_some() {
            "directmessage".to_owned()
        } else if place.kind == super::cast::ChannelKind::Private {
            "privategroup".into()
        } else {
            handle(&place.title)
        };
        let team = &self.teams[place.team];
        let mut payload = json!({"token": "verification", "team_id": team.id, "team_domain": team.name, "channel_id": channel, "channel_name": shown,
            "user_id": user.id, "user_name": handle(&user.name), "command": name, "text": text, "api_app_id": self.apps[app].id,
            "is_enterprise_install": self.apps[app].org_wide.to_string(), "response_url": response_url, "trigger_id": trigger});
        if let Some(enterprise) = &team.enterprise {
            payload["enterprise_id"] = json!(enterprise);
            payload["enterprise_name"] = json!("Org");
        }
        entry.payload = payload.clone();
        self.log(entry);
        self.send_off(
            app,
            What::Command,
            payload,
            Asker { conversation: command.conversation, user: user.name, what: name, view: None },
        );
        Ok(Said { chat: channel, interaction: Some(trigger), ..Said::default() })
    }

    pub fn send_off(&mut self, app: usize, what: What, payload: Value, asker: Asker) {
        self.stats.received += 1;
        self.deliver(app, what, payload, Some(asker));
    }

    /// What every interaction says of where and by whom it was made.
    pub fn interaction(&mut self, kind: &str, app: usize, channel: &str, user: &User) -> (Value, String) {
        let trigger = self.trigger(app, &user.id, channel);
        let team = self.channels[channel].team;
        let (known, workspace) = (&self.apps[app], &self.teams[team]);
        let enterprise = workspace.enterprise.as_ref().map(|id| json!({"id": id, "name": "Org"}));
        let name = handle(&user.name);
        let payload = json!({"type": kind, "user": {"id": user.id, "username": name, "name": name, "team_id": workspace.id}, "api_app_id": known.id,
            "token": "verification", "trigger_id": trigger, "team": {"id": workspace.id, "domain": workspace.name}, "enterprise": enterprise,
            "is_enterprise_install": known.org_wide});
        (payload, trigger)
    }

    pub fn press(&mut self, press: &Press) -> Outcome<Said> {
        let channel = self.place(&press.conversation)?;
        let user = self.person(&press.user, None)?;
        if self.views.knows(&press.message) {
            return self.press_in_view(press, channel, &user);
        }
        let Some((place, message)) = self.found(&channel, &press.message) else {
            return refused(404, "message: no such message");
        };
        if message.only.as_ref().is_some_and(|only| *only != user.id) {
            return refused(404, "message: somebody else alone sees it");
        }
        let Some(element) = chosen(&message.blocks, &press.button) else {
            return refused(404, format!("button: the message has no button '{}'", press.button));
        };
        let Some((_, app)) = message.bot.clone() else { return refused(400, "message: no app wrote it") };
        let (mut payload, trigger) = self.interaction("block_actions", app, &channel, &user);
        let mut wire = self.message_json(&place, &message);
        if message.only.is_some() {
            wire = json!({"type": "message", "subtype": "bot_message", "text": message.text, "ts": message.ts, "bot_id": message.bot.as_ref().map(|(bot, _)| bot), "blocks": message.blocks});
        }
        let ephemeral = message.only.is_some();
        let mut container =
            json!({"type": "message", "message_ts": message.ts, "channel_id": channel, "is_ephemeral": ephemeral});
        if let Some(root) = &message.thread {
            container["thread_ts"] = json!(root);
        }
        payload["container"] = container;
        payload["channel"] = self.place_json(&place);
        if !ephemeral {
            payload["message"] = wire;
        }
        payload["state"] = json!({"values": state(&message.blocks)});
        payload["response_url"] = json!(self.response_url(app, &channel, &user.id, Some(&message.ts)));
        payload["actions"] = json!([self.action(element)]);
        let mut entry = self.person_entry(&channel, &user, Kind::Private);
        entry.message = Some(press.message.clone());
        entry.text = press.button.clone();
        entry.thread = place.thread_name(message.thread.as_deref());
        entry.payload = payload.clone();
        self.log(entry);
        let what = format!("'{}'", press.button);
        self.send_off(
            app,
            What::Interactive,
            payload,
            Asker { conversation: place.name, user: user.name, what, view: None },
        );
        Ok(Said { chat: channel, interaction: Some(trigger), ..Said::default() })
    }

    fn place_json(&self, place: &Channel) -> Value {
        let name = if place.im.is_some() { "directmessage".to_owned() } else { handle(&place.title) };
        json!({"id": place.id, "name": name})
    }

    /// An element as the payload of its use carries it.
    fn action(&mut self, mut element: Value) -> Value {
        element["action_ts"] = json!(self.next_ts());
        element
    }

    fn press_in_view(&mut self, press: &Press, channel: String, user: &User) -> Outcome<Said> {
        let Some((app, view)) = self.views.shown(&press.message) else {
            return refused(404, "message: the view is closed");
        };
        let Some(element) = chosen(&view["blocks"], &press.button) else {
            return refused(404, format!("button: the view has no button '{}'", press.button));
        };
        let (mut payload, trigger) = self.interaction("block_actions", app, &channel, user);
        payload["container"] = json!({"type": "view", "view_id": press.message});
        payload["view"] = view;
        payload["actions"] = json!([self.action(element)]);
        let mut entry = self.person_entry(&channel, user, Kind::Private);
        (entry.message, entry.text, entry.payload) =
            (Some(press.message.clone()), press.button.clone(), payload.clone());
        self.log(entry);
        let asker = Asker {
            conversation: press.conversation.clone(),
            user: user.name.clone(),
            what: format!("'{}'", press.button),
            view: Some(press.message.clone()),
        };
        self.send_off(app, What::Interactive, payload, asker);
        Ok(Said { chat: channel, interaction: Some(trigger), ..Said::default() })
    }

    pub fn shortcut(&mut self, wanted: &Shortcut) -> Outcome<Said> {
        let channel = self.place(&wanted.conversation)?;
        let user = self.person(&wanted.user, None)?;
        let kind = if wanted.message.is_some() { "message_action" } else { "shortcut" };
        let (mut payload, trigger) = self.interaction(kind, 0, &channel, &user);
        payload["callback_id"] = json!(wanted.callback_id);
        payload["action_ts"] = json!(self.next_ts());
        if let Some(ts) = &wanted.message {
            let Some((place, message)) = self.found(&channel, ts) else {
                return refused(404, "message: no such message");
            };
            payload["message_ts"] = json!(ts);
            payload["message"] = self.message_json(&place, &message);
            payload["channel"] = self.place_json(&place);
            payload["response_url"] = json!(self.response_url(0, &channel, &user.id, None));
        }
        self.send_off(
            0,
            What::Interactive,
            payload,
            Asker {
                conversation: wanted.conversation.clone(),
                user: user.name,
                what: wanted.callback_id.clone(),
                view: None,
            },
        );
        Ok(Said { chat: channel, interaction: Some(trigger), ..Said::default() })
    }

    pub fn react(&mut self, react: &React) -> Outcome<Said> {
        let channel = self.place(&react.conversation)?;
        let user = self.person(&react.user, None)?;
        self.admit(&channel, &user)?;
        let name = super::reactions::name_of(&react.emoji);
        match self.set_reaction(&channel, &react.message, &user.id, &name, !react.remove) {
            Ok(event) => {
                self.stats.received += 1;
                let mut entry = self.person_entry(&channel, &user, Kind::Reaction);
                entry.message = Some(react.message.clone());
                entry.text = if react.remove { String::new() } else { super::reactions::shown(&name) };
                entry.payload = event.clone();
                self.log(entry);
                let update = self.tell_all(&channel, &event);
                Ok(Said { chat: channel, update, ..Said::default() })
            }
            Err(error) => refused(404, format!("message: {}", error.error)),
        }
    }

    pub fn submit(&mut self, submit: &Submit) -> Outcome<Said> {
        let channel = self.place(&submit.conversation)?;
        let user = self.person(&submit.user, None)?;
        let Some(id) = submit.view.clone().or_else(|| self.views.top_of(&user.id)) else {
            return refused(404, "view: nothing is open");
        };
        let Some((app, mut view)) = self.views.shown(&id) else { return refused(404, "view: it is not open") };
        if self.views.owner(&id) != Some(user.id.as_str()) {
            return refused(400, "view: somebody else alone sees it");
        }
        if !submit.close && view["submit"].is_null() {
            return refused(400, "view: it has nothing to send off");
        }
        let kind = if submit.close { "view_closed" } else { "view_submission" };
        if !submit.close {
            view["state"]["values"] = super::inputs::filled(&view["blocks"], &submit.values)?;
        }
        let notify = view["notify_on_close"] == true;
        let (mut payload, _) = self.interaction(kind, app, &channel, &user);
        payload["view"] = view.clone();
        if submit.close {
            payload["is_cleared"] = json!(false);
            if let Some(payload) = payload.as_object_mut() {
                payload.shift_remove("trigger_id");
            }
        } else {
            payload["response_urls"] = json!([]);
        }
        let mut entry = self.person_entry(&channel, &user, if submit.close { Kind::Delete } else { Kind::Private });
        entry.message = Some(id.clone());
        entry.text = if submit.close { String::new() } else { Seen::view(self, &view).first_line() };
        entry.payload = payload.clone();
        self.log(entry);
        if submit.close {
            self.views.close(&id);
        }
        if !submit.close || notify {
            let what = if submit.close { "closing" } else { "sending off" };
            self.send_off(
                app,
                What::Interactive,
                payload,
                Asker {
                    conversation: submit.conversation.clone(),
                    user: user.name,
                    what: what.into(),
                    view: Some(id.clone()),
                },
            );
        }
        Ok(Said { chat: channel, interaction: Some(id), ..Said::default() })
    }
}

/// The element that a press names, as the payload carries it: by action, value, `action=value` or text.
fn chosen(blocks: &Value, wanted: &str) -> Option<Value> {
    let all: Vec<(&Value, &Value)> = controls(blocks).collect();
    let button = |fits: &dyn Fn(&Value) -> bool| {
        all.iter().find(|(_, element)| element["type"] == "button" && fits(element)).copied()
    };
    let by = button(&|element| element["action_id"] == wanted)
        .or_else(|| button(&|element| element["value"] == wanted))
        .or_else(|| button(&|element| element["text"]["text"] == wanted));
    if let Some((block, element)) = by {
        let mut out = json!({"action_id": element["action_id"], "block_id": block["block_id"], "text": element["text"], "type": "button"});
        for field in ["value", "style", "url"] {
            if !element[field].is_null() {
                out[field] = element[field].clone();
            }
        }
        return Some(out);
    }
    all.iter().find_map(|(block, element)| {
        let option = options(element).find(|option| {
            let value = option["value"].as_str().unwrap_or_default();
            value == wanted
                || option["text"]["text"] == wanted
                || wanted
                    .strip_prefix(element["action_id"].as_str().unwrap_or_default())
                    .and_then(|rest| rest.strip_prefix('='))
                    == Some(value)
        })?;
        let mut out =
            json!({"type": element["type"], "action_id": element["action_id"], "block_id": block["block_id"]});
        let many = matches!(element["type"].as_str(), Some("checkboxes" | "multi_static_select"));
        if many {
            out["selected_options"] = json!([option])
        } else {
            out["selected_option"] = option.clone()
        }
        Some(out)
    })
}

/// Every element that can be used, with its block.
pub fn controls(blocks: &Value) -> impl Iterator<Item = (&Value, &Value)> {
    blocks.as_array().into_iter().flatten().flat_map(|block| {
        let own = [&block["accessory"], &block["element"]].into_iter().filter(|element| element.is_object());
        let list =
            block["elements"].as_array().into_iter().flatten().filter(|element| element.get("action_id").is_some());
        own.chain(list).map(move |element| (block, element))
    })
}

/// The options of a menu, grouped or not.
pub fn options(element: &Value) -> impl Iterator<Item = &Value> {
    let groups = element["option_groups"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|group| group["options"].as_array().into_iter().flatten());
    element["options"].as_array().into_iter().flatten().chain(groups)
}

/// What stands in the inputs of a message, by block and action.
fn state(blocks: &Value) -> Value {
    let mut out = json!({});
    for (block, element) in controls(blocks).filter(|(_, element)| element["type"] != "button") {
        let (Some(block), Some(action)) = (block["block_id"].as_str(), element["action_id"].as_str()) else { continue };
        out[block][action] = super::inputs::initial(element);
    }
    out
}

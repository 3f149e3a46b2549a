//! Direct conversations with people who are known by their ids: Discord opens one before anything can be posted there.

use std::borrow::Cow;

use contract::{Address, Opaque, Platform};
use reqwest::Method;
use serde_json::json;

use crate::{
    Discord,
    inbound::text,
    lock,
    rest::{Body, Problem},
};

/// What an address says whose conversation is a person's id.
const PERSON: &str = "person";
/// Conversations with people that are remembered; opening one again gives the same.
const MOST: usize = 1_000;

pub(super) fn address(account: &str, person: &str) -> Option<Address> {
    person.parse::<u64>().ok()?;
    let private = Opaque::new(PERSON)?;
    Some(Address { direct: true, private, ..Address::new(Platform::Discord, account, person) })
}

impl Discord {
    /// The address with the channel that stands for the person, where it names one.
    pub(super) async fn place<'a>(&self, to: &'a Address) -> Result<Cow<'a, Address>, Problem> {
        if to.private.reveal() != PERSON {
            return Ok(Cow::Borrowed(to));
        }
        let known = lock(&self.directs).get(&to.conversation).cloned();
        let conversation = match known {
            Some(channel) => channel,
            None => self.open(&to.conversation).await?,
        };
        Ok(Cow::Owned(Address { conversation, private: Opaque::default(), ..to.clone() }))
    }

    async fn open(&self, person: &str) -> Result<String, Problem> {
        let body = json!({"recipient_id": person});
        let answer = match self.rest.call(Method::POST, "/users/@me/channels", Body::Json(&body)).await {
            // Whatever became of it, nothing was posted.
            Err(Problem::Unsure(words)) => return Err(Problem::NotSent(words)),
            answered => answered?,
        };
        let no_id = || Problem::NotSent("an answer without a channel".into());
        let channel = text(&answer, "id").ok_or_else(no_id)?.to_owned();
        let mut directs = lock(&self.directs);
        if directs.len() >= MOST {
            directs.clear();
        }
        directs.insert(person.to_owned(), channel.clone());
        Ok(channel)
    }
}

//! Whether a part of ours was posted: in the answer of its interaction, else in the channel, from its turn's beginning on.

use contract::{Address, DeliveryError, DeliveryKey, Why};
use serde_json::Value;

use super::{BY_TOKEN, EPHEMERAL, LOADING, PRIVATE, Sent, channel, nonce, receipt};
use crate::{
    Discord,
    answers::Live,
    inbound::{id_of, text},
    refusal::{asked, is_missing},
    rest::Problem,
};

/// Messages of one page.
const PAGE: usize = 100;
/// Pages of a channel in which a message of ours is looked for.
const MOST_PAGES: usize = 5;
/// Their clock and ours differ.
const EARLIER_MS: u64 = 60_000;

impl Discord {
    /// Says that a part is not there only where that is sure.
    pub(super) async fn find(&self, to: &Address, key: &DeliveryKey) -> Sent {
        let live = Live::of(&to.private);
        if let Some(live) = live.as_ref().filter(|live| !live.is_press && key.n == 0 && key.is_first_part()) {
            match self.rest.get(&live.original()).await {
                Ok(original) => {
                    let flags = original["flags"].as_u64().unwrap_or(0);
                    if flags & LOADING != 0 {
                        return Err(DeliveryError::Refused(Why::Gone));
                    }
                    return receipt(&original, if flags & EPHEMERAL != 0 { PRIVATE } else { BY_TOKEN }).map_err(asked);
                }
                // It was taken away for a message of its own.
                Err(problem) if is_missing(&problem) => {}
                Err(problem) => return Err(asked(problem)),
            }
        }
        // Before we know who we are, nothing can be told to be ours, nor that it is not.
        if self.user().is_empty() {
            return Err(DeliveryError::NotSent("not introduced yet".into()));
        }
        let wanted = Wanted {
            me: self.user(),
            nonces: [nonce(key, false), nonce(key, true)],
            answered: to.reply_to.as_deref().filter(|_| key.is_first_part() && !to.direct && live.is_none()),
            interaction: live.as_ref().map(|live| live.id.as_str()),
        };
        self.find_among(channel(to), key.turn.at_ms(), &wanted).await
    }

    async fn find_among(&self, channel: &str, since_ms: u64, wanted: &Wanted<'_>) -> Sent {
        let unknown = Err(DeliveryError::Refused(Why::Unsupported));
        let mut after = id_of(since_ms.saturating_sub(EARLIER_MS));
        let (mut is_doubtful, mut is_empty) = (false, true);
        for _ in 0..MOST_PAGES {
            let page = self.page(channel, &format!("after={after}&limit={PAGE}")).await.map_err(asked)?;
            for message in &page {
                match wanted.is(message) {
                    Is::Found => return receipt(message, "").map_err(asked),
                    Is::Perhaps => is_doubtful = true,
                    Is::Another => {}
                }
            }
            is_empty &= page.is_empty();
            let newest = page.iter().filter_map(|message| text(message, "id")?.parse::<u64>().ok()).max();
            match newest.filter(|newest| page.len() >= PAGE && *newest > after) {
                Some(newest) => after = newest,
                None if is_doubtful => return unknown,
                // Who may not read what was said is shown a channel in which nothing was.
                None if is_empty && self.page(channel, "limit=1").await.map_err(asked)?.is_empty() => return unknown,
                None => return Err(DeliveryError::Refused(Why::Gone)),
            }
        }
        unknown
    }

    async fn page(&self, channel: &str, which: &str) -> Result<Vec<Value>, Problem> {
        match self.rest.get(&format!("/channels/{channel}/messages?{which}")).await? {
            Value::Array(messages) => Ok(messages),
            _ => Err(Problem::Unsure("an answer without messages".into())),
        }
    }
}

/// How a part of ours can be known.
struct Wanted<'a> {
    me: &'a str,
    nonces: [String; 2],
    /// The message that it answers.
    answered: Option<&'a str>,
    /// The interaction that it follows; such messages have no nonce.
    interaction: Option<&'a str>,
}

#[derive(Debug, PartialEq)]
enum Is {
    Found,
    /// Nothing tells that it is not.
    Perhaps,
    Another,
}

impl Wanted<'_> {
    fn is(&self, message: &Value) -> Is {
        if text(&message["author"], "id") != Some(self.me) {
            return Is::Another;
        }
        // Discord keeps a nonce for a while.
        if let Some(nonce) = text(message, "nonce") {
            return if self.nonces.iter().any(|ours| ours == nonce) { Is::Found } else { Is::Another };
        }
        let of = ["interaction_metadata", "interaction"].into_iter().find_map(|key| text(&message[key], "id"));
        let answered = text(&message["message_reference"], "message_id");
        let is_others = |has: Option<&str>, wanted: Option<&str>| has.is_some() && wanted.is_some() && has != wanted;
        if is_others(of, self.interaction) || is_others(answered, self.answered) { Is::Another } else { Is::Perhaps }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_is_ours_perhaps_ours_or_another() {
        let wanted =
            Wanted { me: "7", nonces: ["abc".into(), "abd".into()], answered: Some("100"), interaction: Some("200") };
        let is = |mut message: Value| {
            if message["author"].is_null() {
                message["author"] = json!({"id": "7"});
            }
            wanted.is(&message)
        };
        assert_eq!(is(json!({"nonce": "abc"})), Is::Found);
        assert_eq!(is(json!({"nonce": "other"})), Is::Another);
        assert_eq!(is(json!({"author": {"id": "8"}, "nonce": "abc"})), Is::Another, "anybody can choose a nonce");
        assert_eq!(is(json!({})), Is::Perhaps);
        assert_eq!(is(json!({"message_reference": {"message_id": "100"}})), Is::Perhaps);
        assert_eq!(is(json!({"message_reference": {"message_id": "101"}})), Is::Another);
        assert_eq!(is(json!({"interaction_metadata": {"id": "200"}})), Is::Perhaps);
        assert_eq!(is(json!({"interaction_metadata": {"id": "201"}})), Is::Another);
    }
}

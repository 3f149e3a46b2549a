//! Files to Slack, in its three steps: ask where to, send the bytes, say where it belongs.

use contract::{Address, Part, Receipt};
use serde_json::{Value, json};

use crate::{Slack, api::Problem, inbound::text, outlet::file_receipt, post};

impl Slack {
    /// Nothing is seen before the last step; only that one can leave a doubt.
    pub(crate) async fn upload(&self, to: &Address, part: &Part) -> Result<Receipt, Problem> {
        let mut files = Vec::with_capacity(part.files.len());
        for file in &part.files {
            let length = file.bytes.len().to_string();
            let asked = [("filename", file.name.as_str()), ("length", &length)];
            let place = self.api.ask("files.getUploadURLExternal", &asked).await.map_err(unseen)?;
            let (url, id) = (text(&place, "upload_url"), text(&place, "file_id"));
            let (Some(url), Some(id)) = (url, id) else { return Err(Problem::NotSent("no place for a file".into())) };
            self.api.upload(url, file.bytes.clone()).await.map_err(unseen)?;
            files.push(json!({"id": id, "title": file.name}));
        }
        let mut body = json!({"files": files, "channel_id": to.conversation});
        if let Some(thread) = &to.thread {
            body["thread_ts"] = json!(thread);
        }
        let comment = post::comment(part);
        match post::actions(&part.buttons) {
            // With blocks the comment is not looked at.
            Some(buttons) => {
                let mut blocks = post::sections(&part.plain);
                blocks.push(buttons);
                body["blocks"] = Value::Array(blocks);
            }
            None if comment.trim().is_empty() => {}
            None => body["initial_comment"] = json!(comment),
        }
        let answer = self.api.call("files.completeUploadExternal", &body).await?;
        Ok(receipt(&answer, &to.conversation))
    }
}

/// Before the last step nothing can have been shown, whatever became of it.
fn unseen(problem: Problem) -> Problem {
    match problem {
        Problem::Unsure(words) => Problem::NotSent(words),
        problem => problem,
    }
}

/// A file is shared a moment later, so the answer need not name its message.
fn receipt(answer: &Value, channel: &str) -> Receipt {
    let file = answer["files"].get(0).cloned().unwrap_or_default();
    let shares = ["public", "private"].into_iter().find_map(|kind| file["shares"][kind][channel].get(0).cloned());
    let ts = shares.as_ref().and_then(|share| text(share, "ts"));
    file_receipt(ts, text(&file, "id").unwrap_or_default())
}

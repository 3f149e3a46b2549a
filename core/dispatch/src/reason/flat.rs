//! A conversation with its calls told in words, for a step in which none can be made. Pure.

use crate::{
    model::{Answered, Image, Said},
    untrusted::{opened, quoted},
};

/// People and model take turns; results are told by people.
pub(super) fn told(messages: &[Said]) -> Vec<Said> {
    let mut out = Vec::with_capacity(messages.len());
    for said in messages {
        match said {
            Said::Person { text, images } => push(&mut out, text.clone(), images.clone()),
            Said::Model(answered) => out.push(Said::Model(in_words(answered))),
            Said::Result { tool, content, failed, .. } => {
                let how = if *failed { "failed" } else { "gave" };
                let content = if opened(content).is_some() { content.clone() } else { quoted(tool, content) };
                push(&mut out, format!("[{tool} {how}: {content}]"), Vec::new());
            }
        }
    }
    out
}

/// Goes on in the entry before when that is a person's too.
pub(super) fn push(messages: &mut Vec<Said>, more: String, pictures: Vec<Image>) {
    match messages.last_mut() {
        Some(Said::Person { text, images }) => {
            text.push('\n');
            text.push_str(&more);
            images.extend(pictures);
        }
        _ => messages.push(Said::Person { text: more, images: pictures }),
    }
}

fn in_words(answered: &Answered) -> Answered {
    let mut text = answered.text.clone();
    for call in &answered.calls {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!("[called {} with {}]", call.tool, call.args));
    }
    Answered { text, ..Answered::default() }
}

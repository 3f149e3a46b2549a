//! Cuts what streams in into events, whatever of three manners a server has: server-sent events, a JSON value per line,
//! or one JSON value as a whole from a server that does not stream. Everything is lenient and bounded.

use serde_json::Value;

use crate::trouble::{Kind, MOST_BYTES, Trouble};

/// What came in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Frame {
    Json(Value),
    /// `[DONE]`.
    Done,
}

/// Bytes on their way to be frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    buffer: Vec<u8>,
    /// Up to here `buffer` has no line end.
    scanned: usize,
    /// Data that is no JSON by itself: the beginning of more.
    pending: String,
    read: usize,
}

impl Frames {
    /// Adds bytes; what is complete goes to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<Frame>) -> Result<(), Trouble> {
        self.read += bytes.len();
        if self.read > MOST_BYTES {
            return Err(Trouble::new(Kind::TooLarge, format!("the answer is longer than {} MiB", MOST_BYTES >> 20)));
        }
        self.buffer.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(at) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n' || *byte == b'\r') {
            let end = self.scanned + at;
            let line = String::from_utf8_lossy(&self.buffer[begin..end]).into_owned();
            // A CR before a LF ends an empty line here, which would end an event too early.
            let is_pair = self.buffer[end] == b'\r' && self.buffer.get(end + 1).is_none_or(|next| *next == b'\n');
            if is_pair && self.buffer.len() == end + 1 {
                break;
            }
            begin = end + if is_pair { 2 } else { 1 };
            self.scanned = begin;
            self.line(&line, out);
        }
        self.buffer.drain(..begin);
        self.scanned -= begin;
        // What is left has no line end but perhaps a CR at its very end.
        self.scanned = self.scanned.max(self.buffer.len().saturating_sub(1));
        Ok(())
    }

    /// The stream is over: what is left counts as a line.
    pub fn end(&mut self, out: &mut Vec<Frame>) {
        let rest = String::from_utf8_lossy(&std::mem::take(&mut self.buffer)).into_owned();
        self.scanned = 0;
        self.line(rest.trim_end_matches('\r'), out);
        self.flush(out);
    }

    fn line(&mut self, line: &str, out: &mut Vec<Frame>) {
        if line.is_empty() {
            return self.flush(out);
        }
        if line.starts_with(':') {
            return;
        }
        if let Some(data) = line.strip_prefix("data:") {
            return self.data(data.strip_prefix(' ').unwrap_or(data), out);
        }
        if ["event:", "id:", "retry:"].iter().any(|field| line.starts_with(field)) {
            return;
        }
        self.data(line, out);
    }

    /// Servers that forget the empty line between events are read too: data that is JSON by itself is an event.
    fn data(&mut self, data: &str, out: &mut Vec<Frame>) {
        if self.pending.is_empty() {
            if data.trim() == "[DONE]" {
                return out.push(Frame::Done);
            }
            if let Ok(value) = serde_json::from_str(data) {
                return out.push(Frame::Json(value));
            }
        }
        self.pending.push_str(data);
        self.pending.push('\n');
    }

    fn flush(&mut self, out: &mut Vec<Frame>) {
        let pending = std::mem::take(&mut self.pending);
        if pending.trim().is_empty() {
            return;
        }
        match serde_json::from_str(&pending) {
            Ok(value) => out.push(Frame::Json(value)),
            // A cut one is seen by the missing end; nobody is served by an error for a stray line.
            Err(error) => tracing::debug!(%error, bytes = pending.len(), "a line of a model's stream is no JSON"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// However the bytes are cut, the same frames come out.
    fn check(stream: &[u8], expected: &[Frame]) {
        for size in [1, 2, 3, 7, stream.len()] {
            let (mut frames, mut out) = (Frames::default(), Vec::new());
            for bytes in stream.chunks(size) {
                frames.feed(bytes, &mut out).unwrap();
            }
            frames.end(&mut out);
            assert_eq!(out, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn events_are_read_with_any_line_end_and_without_empty_lines() {
        let expected = [Frame::Json(json!({ "a": 1 })), Frame::Json(json!({ "b": "ü" })), Frame::Done];
        check("data: {\"a\":1}\n\ndata: {\"b\":\"ü\"}\n\ndata: [DONE]\n\n".as_bytes(), &expected);
        check("data:{\"a\":1}\r\n\r\ndata:{\"b\":\"ü\"}\r\n\r\ndata:[DONE]\r\n\r\n".as_bytes(), &expected);
        check("data: {\"a\":1}\rdata: {\"b\":\"ü\"}\r: ping\r\rdata: [DONE]".as_bytes(), &expected);
        check("event: x\nid: 1\ndata: {\"a\":\ndata: 1}\n\n{\"b\":\"ü\"}\ndata: [DONE]\n".as_bytes(), &expected);
    }

    #[test]
    fn a_body_that_is_one_value_over_many_lines_is_read() {
        check(b"{\n  \"a\": [\n    {}\n  ]\n}\n", &[Frame::Json(json!({ "a": [{}] }))]);
    }

    #[test]
    fn what_is_no_utf8_and_no_json_is_passed_over() {
        check(b"data: {\"a\":\"\xff\"}\n\ndata: oops\n\n", &[Frame::Json(json!({ "a": "\u{fffd}" }))]);
    }

    #[test]
    fn an_endless_answer_has_an_end() {
        let (mut frames, mut out) = (Frames::default(), Vec::new());
        let piece = vec![b'x'; 1 << 20];
        let trouble = (0..9).find_map(|_| frames.feed(&piece, &mut out).err()).unwrap();
        assert_eq!(trouble.kind, Kind::TooLarge);
    }
}

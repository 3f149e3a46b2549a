//! Bodies of `multipart/form-data`: a part for each value and each file.

use std::hash::{BuildHasher, Hasher, RandomState};

use serde_json::{Map, Value};

use super::{attached::Attached, target::plain};

/// A body, and the boundary between its parts.
pub struct Multipart {
    pub boundary: String,
    pub body: Vec<u8>,
}

impl Multipart {
    /// A list repeats its name; an object, or a list that holds one, is a part of JSON; null is left out.
    pub fn of(values: &Map<String, Value>, files: &[Attached]) -> Self {
        Self::between(boundary(), values, files)
    }

    fn between(boundary: String, values: &Map<String, Value>, files: &[Attached]) -> Self {
        let mut out = Self { boundary, body: Vec::new() };
        for (name, value) in values {
            match value {
                Value::Null => {}
                Value::Array(items) if items.iter().all(|item| plain(Some(item)).is_some()) => {
                    items.iter().filter_map(|item| plain(Some(item))).for_each(|text| out.text(name, &text));
                }
                Value::Array(_) | Value::Object(_) => {
                    out.part(
                        &format!("name=\"{}\"", quoted(name)),
                        Some("application/json"),
                        value.to_string().as_bytes(),
                    );
                }
                Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                    plain(Some(value)).iter().for_each(|text| out.text(name, text));
                }
            }
        }
        for file in files {
            let name = quoted(&file.place.join("."));
            let disposition = format!("name=\"{name}\"; filename=\"{}\"", quoted(&file.name));
            out.part(&disposition, Some(&file.media_type), &file.bytes);
        }
        let end = format!("--{}--\r\n", out.boundary);
        out.body.extend_from_slice(end.as_bytes());
        out
    }

    fn text(&mut self, name: &str, text: &str) {
        self.part(&format!("name=\"{}\"", quoted(name)), None, text.as_bytes());
    }

    fn part(&mut self, disposition: &str, kind: Option<&str>, bytes: &[u8]) {
        let mut head = format!("--{}\r\ncontent-disposition: form-data; {disposition}\r\n", self.boundary);
        if let Some(kind) = kind {
            head.push_str(&format!("content-type: {kind}\r\n"));
        }
        head.push_str("\r\n");
        self.body.reserve(head.len() + bytes.len() + 2);
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(bytes);
        self.body.extend_from_slice(b"\r\n");
    }

    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }
}

/// Nobody who wrote a value or a file can have known it.
fn boundary() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("part-{:016x}{:016x}", random(), random())
}

/// A name between quotes: what would end them, or the line, is encoded as browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_and_files_are_parts_that_cannot_leave_their_place() {
        let values = json!({"note": "a\r\n--b--", "tags": ["x", 2], "o\"\r\nx: y": true, "deep": {"n": 1}, "no": null});
        let file = Attached {
            place: vec!["doc".into(), "scan".into()],
            is_one_of_many: false,
            name: "a\".png\r\nx".into(),
            media_type: "image/png".into(),
            bytes: vec![0, 13, 10, 255],
        };
        let made = Multipart::between("b0".into(), values.as_object().unwrap(), &[file]);
        let text = String::from_utf8_lossy(&made.body).replace("\r\n", "\n");
        expect_test::expect![[r#"
            --b0
            content-disposition: form-data; name="note"

            a
            --b--
            --b0
            content-disposition: form-data; name="tags"

            x
            --b0
            content-disposition: form-data; name="tags"

            2
            --b0
            content-disposition: form-data; name="o%22%0D%0Ax: y"

            true
            --b0
            content-disposition: form-data; name="deep"
            content-type: application/json

            {"n":1}
            --b0
            content-disposition: form-data; name="doc.scan"; filename="a%22.png%0D%0Ax"
            content-type: image/png

        "#]]
        .assert_eq(
            text.split_once("image/png\n\n")
                .map(|(head, _)| format!("{head}image/png\n\n"))
                .unwrap_or_default()
                .as_str(),
        );
        assert!(made.body.ends_with(b"\0\r\n\xff\r\n--b0--\r\n"));
        assert_ne!(boundary(), boundary());
    }
}

//! A strict reader of Telegram's HTML for tests, independent of the drawing: what it refuses, the platform would.

/// The visible text and the number of entities, or what is wrong.
pub(crate) fn read(html: &str) -> Result<(String, usize), String> {
    let (mut text, mut entities, mut open): (String, usize, Vec<String>) = (String::new(), 0, Vec::new());
    let mut rest = html;
    while let Some(c) = rest.chars().next() {
        match c {
            '<' => {
                let end = rest.find('>').ok_or("a tag that does not end")?;
                let tag = &rest[1..end];
                if let Some(name) = tag.strip_prefix('/') {
                    let last = open.pop().ok_or("an end without a beginning")?;
                    if last != name {
                        return Err(format!("<{last}> is closed by </{name}>"));
                    }
                } else {
                    entities += usize::from(begin(tag, &open)?);
                    open.push(tag.split(' ').next().unwrap_or_default().to_owned());
                }
                rest = &rest[end + 1..];
            }
            '&' => {
                let (entity, shown) = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>')]
                    .into_iter()
                    .find(|(entity, _)| rest.starts_with(entity))
                    .ok_or("a bare ampersand")?;
                text.push(shown);
                rest = &rest[entity.len()..];
            }
            '>' => return Err("a bare >".into()),
            _ => {
                text.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    if open.is_empty() { Ok((text, entities)) } else { Err(format!("not closed: {open:?}")) }
}

/// Checks a start tag; tells whether it makes an entity of its own.
fn begin(tag: &str, open: &[String]) -> Result<bool, String> {
    let name = tag.split(' ').next().unwrap_or_default();
    let attributes = &tag[name.len()..];
    let inside = |what: &str| open.iter().any(|tag| tag == what);
    let legal = match name {
        "b" | "i" | "u" | "s" => attributes.is_empty() && !inside(name),
        "pre" => attributes.is_empty() && !inside("b") && !inside("i") && !inside("s") && !inside("a"),
        "code" if open.last().is_some_and(|last| last == "pre") => {
            return match attributes.strip_prefix(" class=\"language-").and_then(|rest| rest.strip_suffix('"')) {
                Some(language) if !language.contains(['"', '<']) => Ok(false),
                _ => Err(format!("<{tag}> within <pre>")),
            };
        }
        "code" => attributes.is_empty() && !inside("b") && !inside("i") && !inside("s") && !inside("a"),
        "a" => {
            let target = attributes.strip_prefix(" href=\"").and_then(|rest| rest.strip_suffix('"'));
            target.is_some_and(|target| !target.contains(['"', '<'])) && !inside("a")
        }
        "blockquote" => (attributes.is_empty() || attributes == " expandable") && !inside("blockquote"),
        _ => false,
    };
    if legal && !inside("pre") && !inside("code") { Ok(true) } else { Err(format!("<{tag}> within {open:?}")) }
}

/// Whether an `@name` outside code and links would ping somebody.
pub(crate) fn pings(html: &str) -> bool {
    let mut plain = String::new();
    let mut rest = html;
    while let Some(start) = rest.find("<code").into_iter().chain(rest.find("<pre")).min() {
        plain.push_str(&rest[..start]);
        let close = if rest[start..].starts_with("<pre") { "</pre>" } else { "</code>" };
        rest = rest[start..].find(close).map_or("", |end| &rest[start + end + close.len()..]);
        plain.push(' ');
    }
    plain.push_str(rest);
    let plain: String = plain.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text)).collect();
    let bare = |token: &str| !(token.contains("http://") || token.contains("https://"));
    plain.split(char::is_whitespace).filter(|token| bare(token)).any(|token| {
        token.match_indices('@').any(|(at, _)| {
            let named = token[at + 1..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            named && !token[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
        })
    })
}

//! A reader of Discord's Markdown for tests, independent of the drawing: it follows the rules by which clients read.

/// What a client would make of a text.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// What is shown.
    pub(super) text: String,
    /// Who would be pinged if that were allowed: what is marked as a mention.
    pub(super) mentions: Vec<String>,
    /// What is read as something else than it was written for.
    pub(super) surprises: Vec<String>,
}

pub(super) fn read(source: &str) -> Read {
    let mut read = Read::default();
    read.block(source);
    read
}

impl Read {
    fn block(&mut self, source: &str) {
        let mut rest = source;
        while !rest.is_empty() {
            if let Some((quoted, after)) = quote(rest) {
                self.block(&quoted);
                rest = after;
                continue;
            }
            let line = rest.find('\n').map_or(rest.len(), |at| at + 1);
            let (start, mut inner) = head(&rest[..line]);
            self.text.push_str(&start);
            let mut used = line - inner.len();
            // A line may hold a list's mark and then a heading's.
            let (start, deeper) = head(inner);
            self.text.push_str(&start);
            used += inner.len() - deeper.len();
            inner = &rest[used..];
            rest = &inner[self.inline(inner, true)..];
        }
    }

    /// Reads on in a line, or to the end; tells how much was read. What spans lines is read as one.
    fn inline(&mut self, source: &str, stops: bool) -> usize {
        let mut at = 0;
        while let Some(c) = source[at..].chars().next() {
            let rest = &source[at..];
            let taken = self.special(rest, source[..at].chars().next_back());
            if taken > 0 {
                at += taken;
                continue;
            }
            self.text.push(c);
            at += c.len_utf8();
            if c == '\n' && stops {
                return at;
            }
        }
        at
    }

    fn special(&mut self, rest: &str, before: Option<char>) -> usize {
        if let Some(escaped) = rest.strip_prefix('\\').and_then(|rest| rest.chars().next()) {
            if !escaped.is_ascii_alphanumeric() && !escaped.is_whitespace() {
                self.text.push(escaped);
                return 1 + escaped.len_utf8();
            }
            return 0;
        }
        self.code(rest)
            .or_else(|| self.angle(rest))
            .or_else(|| self.address(rest))
            .or_else(|| self.link(rest))
            .or_else(|| self.styled(rest, before))
            .or_else(|| self.emoji(rest))
            .unwrap_or(0)
    }

    fn code(&mut self, rest: &str) -> Option<usize> {
        if let Some(inner) = rest.strip_prefix("```")
            && let Some(end) = inner.find("```").filter(|end| !inner[..*end].trim_matches('\n').is_empty())
        {
            let inner = &inner[..end];
            let language = inner.find('\n').map_or("", |at| &inner[..at]);
            let is_language = language.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-.#".contains(&b));
            let code = if is_language && !language.is_empty() { &inner[language.len()..] } else { inner };
            self.text.push_str(code.trim_matches('\n'));
            return Some(6 + inner.len());
        }
        let ticks = rest.bytes().take_while(|b| *b == b'`').count();
        let fence = rest.get(..ticks).filter(|fence| !fence.is_empty())?;
        let inner = &rest[ticks..];
        let end = inner
            .match_indices(fence)
            .map(|(at, _)| at)
            .find(|at| *at > 0 && !inner[..*at].ends_with('`') && !inner[at + ticks..].starts_with('`'))?;
        let code = &inner[..end];
        let code = code.strip_prefix(' ').filter(|rest| rest.trim_start().starts_with('`')).unwrap_or(code);
        let code = code.strip_suffix(' ').filter(|rest| rest.trim_end().ends_with('`')).unwrap_or(code);
        self.text.push_str(code);
        Some(2 * ticks + end)
    }

    fn angle(&mut self, rest: &str) -> Option<usize> {
        let inner = &rest.strip_prefix('<')?[..rest.find('>')?.checked_sub(1)?];
        let length = Some(inner.len() + 2);
        let is_number = |id: &str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
        if let Some(id) = inner.strip_prefix('@') {
            if is_number(id.strip_prefix(['!', '&']).unwrap_or(id)) {
                self.mentions.push(inner.to_owned());
                self.text.push_str(&format!("<{inner}>"));
                return length;
            }
            return None;
        }
        if inner.split_once(":/").is_some_and(|(scheme, _)| !scheme.is_empty() && !scheme.contains([' ', ':']))
            && !inner.contains(' ')
        {
            self.text.push_str(inner);
            return length;
        }
        let is_special = inner.strip_prefix('#').is_some_and(is_number)
            || inner.strip_prefix("t:").is_some()
            || inner.rsplit_once(':').is_some_and(|(name, id)| name.starts_with([':', 'a', '/']) && is_number(id));
        if is_special {
            self.surprises.push(format!("special: <{inner}>"));
        }
        None
    }

    /// An address that stands in the text makes a preview.
    fn address(&mut self, rest: &str) -> Option<usize> {
        let inner = rest.strip_prefix("http://").or_else(|| rest.strip_prefix("https://"))?;
        if inner.starts_with(|c: char| !c.is_whitespace() && c != '<') {
            self.surprises.push("a bare address".to_owned());
        }
        None
    }

    /// The longest text in brackets that a target follows.
    fn link(&mut self, rest: &str) -> Option<usize> {
        let inner = rest.strip_prefix('[')?;
        let ends: Vec<usize> = inner.match_indices("](").map(|(at, _)| at).collect();
        for end in ends.into_iter().rev().filter(|end| is_inside(inner, *end)) {
            let target = &inner[end + 2..];
            let Some(close) = target.find(')') else { continue };
            let target = &target[..close];
            if target.contains(char::is_whitespace) {
                continue;
            }
            if inner[..end].contains("://") || !(target.starts_with("<http") && target.ends_with('>')) {
                self.surprises.push(format!("a link: {:?} to {target}", &inner[..end]));
            }
            self.inline(&inner[..end], false);
            return Some(1 + end + 2 + close + 1);
        }
        None
    }

    fn styled(&mut self, rest: &str, before: Option<char>) -> Option<usize> {
        let strong = strong(rest);
        let em = em(rest);
        let (inner, length) = match (strong, em) {
            (Some(strong), Some(em)) if em.1 > strong.1 => em,
            (Some(strong), _) => strong,
            (None, Some(em)) => em,
            (None, None) => {
                let (inner, length) = struck(rest)?;
                self.inline(inner, false);
                return Some(length);
            }
        };
        let _ = before;
        self.inline(inner, false);
        Some(length)
    }

    fn emoji(&mut self, rest: &str) -> Option<usize> {
        let inner = rest.strip_prefix(':')?;
        let end = inner.find(':')?;
        let name = &inner[..end];
        let is_known =
            name == "100" || name == "1234" || name.contains(|c: char| c.is_ascii_alphabetic() || "+-_".contains(c));
        // None is longer.
        if is_known && name.len() <= 80 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_+-".contains(&b)) {
            self.surprises.push(format!("a picture: :{}:", &inner[..end]));
        }
        for (mark, name) in [("__", "underlined"), ("||", "spoiler")] {
            if rest.starts_with(mark) {
                self.surprises.push(name.to_owned());
            }
        }
        None
    }
}

/// The lines of the quote that `source` begins with, and what follows.
fn quote(source: &str) -> Option<(String, &str)> {
    let mut rest = source;
    let mut inner = String::new();
    while let Some(line) = rest.strip_prefix("> ") {
        let end = line.find('\n').map_or(line.len(), |at| at + 1);
        inner.push_str(&line[..end]);
        rest = &line[end..];
    }
    (!inner.is_empty()).then_some((inner, rest))
}

/// The mark that begins a line, as it is shown, and what stands behind it.
fn head(line: &str) -> (String, &str) {
    let inner = line.trim_start_matches(' ');
    for mark in ["# ", "## ", "### ", "-# "] {
        if let Some(text) = inner.strip_prefix(mark).filter(|text| !text.trim().is_empty()) {
            return (String::new(), text);
        }
    }
    if let Some(text) = inner.strip_prefix("- ").or_else(|| inner.strip_prefix("* ")) {
        return ("• ".to_owned(), text);
    }
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    match inner[digits..].strip_prefix(". ").filter(|_| digits > 0) {
        Some(text) => (format!("{}. ", &inner[..digits]), text),
        None => (String::new(), line),
    }
}

/// Whether a link's text may reach to `end`: brackets within it are pairs, or close before another closes.
fn is_inside(inner: &str, end: usize) -> bool {
    let mut at = 0;
    while let Some(found) = inner[at..end].find(['[', ']']).map(|found| at + found) {
        let after = &inner[found + 1..];
        if inner[found..].starts_with('[') {
            match after.find(']') {
                Some(close) if found + 1 + close < end => at = found + 2 + close,
                _ => return false,
            }
        } else if after.find(['[', ']']).is_some_and(|next| after[next..].starts_with(']')) {
            at = found + 1;
        } else {
            return false;
        }
    }
    true
}

/// What stands between two stars and two stars, and how long it is with them.
fn strong(rest: &str) -> Option<(&str, usize)> {
    let inner = rest.strip_prefix("**")?;
    let mut at = 0;
    while at < inner.len() {
        if at > 0 && inner[at..].starts_with("**") && !inner[at + 2..].starts_with('*') {
            return Some((&inner[..at], at + 4));
        }
        at += if inner[at..].starts_with('\\') { 1 } else { 0 };
        at += inner[at..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

/// What stands between a star and a star, neither of them beside white space.
fn em(rest: &str) -> Option<(&str, usize)> {
    let inner = rest.strip_prefix('*').filter(|inner| !inner.starts_with(char::is_whitespace))?;
    let mut at = 0;
    while at < inner.len() {
        let here = &inner[at..];
        if at > 0 && here.starts_with('*') && !here.starts_with("**") && !inner[..at].ends_with(char::is_whitespace) {
            return Some((&inner[..at], at + 2));
        }
        at += match here {
            _ if here.starts_with("**") => 2,
            _ if here.starts_with('*') => return None,
            _ if here.starts_with('\\') => 1 + here[1..].chars().next().map_or(0, char::len_utf8),
            _ => here.chars().next().map_or(1, char::len_utf8),
        };
    }
    None
}

fn struck(rest: &str) -> Option<(&str, usize)> {
    let inner = rest.strip_prefix("~~")?;
    let end = inner.find("~~").filter(|end| *end > 0)?;
    Some((&inner[..end], end + 4))
}

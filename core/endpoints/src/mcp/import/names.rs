//! Names of a server's tools as names of ours: `[a-z0-9_-]{1,64}`, each once.

use contract::Digest;

const MOST: usize = 64;

/// A name that is free; the server's id goes before one that others have, and a mark behind it when that is not enough.
pub fn name(theirs: &str, server: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let plain = mapped(theirs);
    let free = |name: &String| !is_taken(name);
    let mark = || Digest::of(theirs.as_bytes()).0.iter().take(3).map(|byte| format!("{byte:02x}")).collect::<String>();
    let long = plain.len() > MOST || plain.is_empty();
    let with_mark = |name: &str| {
        let mut name = name.to_owned();
        name.truncate(MOST - 7);
        format!("{}-{}", name.trim_end_matches(['-', '_']), mark()).trim_start_matches('-').to_owned()
    };
    let first = if long { with_mark(&plain) } else { plain.clone() };
    let second = format!("{}_{plain}", mapped(server));
    let tries = [first, second.clone(), with_mark(&second)];
    let fits = |name: &String| name.len() <= MOST && free(name);
    tries.iter().find(|name| fits(name)).cloned().unwrap_or_else(|| {
        (2..).map(|n| with_mark(&format!("{plain}{n}"))).find(free).expect("of endless names one is free")
    })
}

/// Lower case, with `_` in the place of what cannot stand in a name.
fn mapped(theirs: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c.to_ascii_lowercase() } else { '_' };
    let mapped: String = theirs.chars().map(kept).collect();
    mapped.trim_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_mapped_and_stays_apart_from_others() {
        let none = |_: &str| false;
        assert_eq!(name("Read.File", "files", none), "read_file");
        assert_eq!(name("read-file", "files", none), "read-file");
        assert_eq!(name("read_file", "files", |name| name == "read_file"), "files_read_file");
        let crowded = name("read_file", "files", |name| matches!(name, "read_file" | "files_read_file"));
        assert!(crowded.starts_with("files_read_file-"), "{crowded}");
        for odd in ["x".repeat(200).as_str(), "天气", "", "...", "a".repeat(64).as_str()] {
            let ours = name(odd, "s", none);
            assert!((1..=64).contains(&ours.len()), "{ours}");
            assert!(ours.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c)), "{ours}");
        }
        assert_ne!(name("天气", "s", none), name("时间", "s", none));
    }
}

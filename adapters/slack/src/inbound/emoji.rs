//! The characters of the emoji that people answer with; of others the platform's name is kept.

/// Names as Slack writes them in reactions.
const KNOWN: [(&str, &str); 40] = [
    ("+1", "👍"),
    ("thumbsup", "👍"),
    ("-1", "👎"),
    ("thumbsdown", "👎"),
    ("eyes", "👀"),
    ("white_check_mark", "✅"),
    ("heavy_check_mark", "✔️"),
    ("ballot_box_with_check", "☑️"),
    ("x", "❌"),
    ("negative_squared_cross_mark", "❎"),
    ("no_entry", "⛔"),
    ("no_entry_sign", "🚫"),
    ("octagonal_sign", "🛑"),
    ("warning", "⚠️"),
    ("question", "❓"),
    ("exclamation", "❗"),
    ("heart", "❤️"),
    ("heart_eyes", "😍"),
    ("joy", "😂"),
    ("smile", "😄"),
    ("slightly_smiling_face", "🙂"),
    ("disappointed", "😞"),
    ("thinking_face", "🤔"),
    ("clap", "👏"),
    ("pray", "🙏"),
    ("raised_hands", "🙌"),
    ("ok_hand", "👌"),
    ("wave", "👋"),
    ("muscle", "💪"),
    ("fire", "🔥"),
    ("tada", "🎉"),
    ("rocket", "🚀"),
    ("100", "💯"),
    ("star", "⭐"),
    ("bulb", "💡"),
    ("bug", "🐛"),
    ("hourglass", "⌛"),
    ("hourglass_flowing_sand", "⏳"),
    ("repeat", "🔁"),
    ("arrows_counterclockwise", "🔄"),
];

/// The character of a reaction's name, without its skin tone.
pub(super) fn character(name: &str) -> String {
    let plain = name.split("::").next().unwrap_or(name);
    KNOWN.iter().find(|(known, _)| *known == plain).map_or(plain, |(_, character)| character).to_owned()
}

//! The demo tools: spec files that are part of the binary, with the services' address filled in.

/// What stands for the services' address in the files.
const SERVICES: &str = "{{services}}";

/// Each file's name, as messages show it, and its text.
const FILES: &[(&str, &str)] = &[
    ("demo/tools/weather.yaml", include_str!("../../demo/tools/weather.yaml")),
    ("demo/tools/orders.yaml", include_str!("../../demo/tools/orders.yaml")),
    ("demo/tools/research.yaml", include_str!("../../demo/tools/research.yaml")),
    ("demo/tools/mail.yaml", include_str!("../../demo/tools/mail.yaml")),
    ("demo/tools/lab.yaml", include_str!("../../demo/tools/lab.yaml")),
    ("demo/tools/messaging.yaml", include_str!("../../demo/tools/messaging.yaml")),
];

/// The files, for services at `url` (`http://127.0.0.1:PORT`).
pub fn files(url: &str) -> Vec<(&'static str, String)> {
    FILES.iter().map(|(name, text)| (*name, text.replace(SERVICES, url))).collect()
}

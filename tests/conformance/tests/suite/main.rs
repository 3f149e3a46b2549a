//! One list of cases; each runs once on every platform, as a test of its own. docs/CONFORMANCE.md is made of the same list.

use conformance::Module;

/// The cases of a module: tests on each platform, and the lines of the table.
macro_rules! cases {
    ($about:literal; $($case:ident: $kinds:literal $(on [$($only:ident)+] since $why:literal)?;)+) => {
        pub const MODULE: conformance::Module = conformance::Module {
            name: crate::cases!(@last module_path!()),
            about: $about,
            cases: &[$(conformance::Case {
                name: stringify!($case),
                kinds: $kinds,
                only: &[$($(contract::Platform::$only),+)?],
                why: concat!("" $(, $why)?),
            }),+],
        };
        $(mod $case { $crate::cases!(@tests $case $($($only)+)?); })+
    };
    (@tests $case:ident) => { $crate::cases!(@tests $case Discord Telegram Slack); };
    (@tests $case:ident $($only:ident)+) => { $($crate::cases!(@test $case $only);)+ };
    (@test $case:ident Discord) => { $crate::cases!(@one $case discord Discord); };
    (@test $case:ident Telegram) => { $crate::cases!(@one $case telegram Telegram); };
    (@test $case:ident Slack) => { $crate::cases!(@one $case slack Slack); };
    (@one $case:ident $name:ident $platform:ident) => {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            super::$case(contract::Platform::$platform).await;
        }
    };
    (@last $path:expr) => { $crate::last($path) };
}
pub(crate) use cases;

mod approvals;
mod connection;
mod delivery;
mod drafts;
mod gates;
mod hearing;
mod log;
mod places;
mod pressing;
mod showing;
mod table;
mod tools;
mod week;

/// The last part of a module's path.
const fn last(path: &'static str) -> &'static str {
    let bytes = path.as_bytes();
    let mut at = bytes.len();
    while at > 0 && bytes[at - 1] != b':' {
        at -= 1;
    }
    path.split_at(at).1
}

const MODULES: &[Module] = &[
    hearing::MODULE,
    delivery::MODULE,
    drafts::MODULE,
    connection::MODULE,
    pressing::MODULE,
    showing::MODULE,
    places::MODULE,
    gates::MODULE,
    approvals::MODULE,
    week::MODULE,
];

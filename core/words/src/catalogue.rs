//! The catalogues of the languages, embedded, and the one way in which a text is taken from them.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use contract::Locale;
use fluent_templates::{LanguageIdentifier, fluent_bundle::FluentValue};

fluent_templates::static_loader! {
    static CATALOGUES = {
        locales: "./locales",
        fallback_language: "en",
        // Marks around what is filled in would be copied along with a command or a reference.
        customise: |bundle| bundle.set_use_isolating(false),
    };
}

static EN: LazyLock<LanguageIdentifier> = LazyLock::new(|| tag(Locale::En));
static ZH_HANS: LazyLock<LanguageIdentifier> = LazyLock::new(|| tag(Locale::ZhHans));

fn tag(locale: Locale) -> LanguageIdentifier {
    locale.as_str().parse().expect("our own tags are well-formed")
}

fn language(locale: Locale) -> &'static LanguageIdentifier {
    match locale {
        Locale::En => &EN,
        Locale::ZhHans => &ZH_HANS,
    }
}

/// What is filled into a text.
pub(crate) type Values<'v> = HashMap<&'static str, FluentValue<'v>>;

/// The text of `key` (`key.attribute` for one of its attributes), if the language has it.
pub(crate) fn find(locale: Locale, key: &str, values: &Values<'_>) -> Option<String> {
    let values = (!values.is_empty()).then_some(values);
    CATALOGUES.lookup_single_language(language(locale), key, values).ok()
}

/// The text of one of our own keys. Tests hold that each language has them all; should one be missing after all, the
/// English text is said, and the key where that is missing too.
pub(crate) fn text(locale: Locale, key: &str, values: &Values<'_>) -> String {
    find(locale, key, values).or_else(|| find(Locale::En, key, values)).unwrap_or_else(|| key.to_owned())
}

/// The text of a key into which nothing is filled.
pub(crate) fn plain(locale: Locale, key: &str) -> String {
    text(locale, key, &Values::new())
}

/// A value as it stands: no number of ours is grouped or rounded.
pub(crate) fn value<'v>(text: impl Into<Cow<'v, str>>) -> FluentValue<'v> {
    FluentValue::String(text.into())
}

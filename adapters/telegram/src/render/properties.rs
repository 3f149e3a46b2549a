//! What must hold for any input.

use contract::{Content, Reply};
use document::{
    Cutter, Manner as _,
    samples::{piece, visible},
};
use proptest::prelude::*;

use super::{MOST_CAPTION, MOST_TEXT, html::Html, is_blank, reader, reader::read, reply};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_is_cut_without_loss_into_valid_messages(pieces in proptest::collection::vec(piece(), 0..30), limit in 40_usize..300) {
        let mut builder = document::Builder::default();
        document::markdown::write(&mut builder, &pieces.concat(), document::links::is_web);
        let doc = builder.finish();
        let html = Html { most_units: limit, pings: false };
        let mut cutter = Cutter::new(&doc, &html);
        let mut seen = String::new();
        while let Some(piece) = cutter.next(html.most()) {
            let part = html.part(piece);
            let (text, entities) = match read(&part.body) {
                Ok(read) => read,
                Err(problem) => return Err(TestCaseError::fail(format!("{problem} in {:?}", part.body))),
            };
            prop_assert!(document::units(&text) <= limit && entities <= 100, "{:?}", part.body);
            prop_assert!(document::units(&part.plain) <= limit);
            prop_assert!(!reader::pings(&part.body), "{:?}", part.body);
            seen.push_str(&text);
        }
        // Only stretches without anything visible may be left out; marks of lists are drawn.
        let marks: String = doc.blocks.iter().map(|block| {
            format!("{}{}", block.mark.map(|mark| mark.sign(block.level)).unwrap_or_default(), doc.text_of(block))
        }).collect();
        prop_assert_eq!(visible(&seen), visible(&marks));
    }

    #[test]
    fn any_reply_is_valid_and_pings_nobody(sample in document::samples::reply()) {
        for part in reply(&sample) {
            let most = if part.files.is_empty() { MOST_TEXT } else { MOST_CAPTION };
            let (text, entities) = read(&part.body).map_err(|problem| TestCaseError::fail(format!("{problem} in {}", part.body)))?;
            prop_assert!(document::units(&text) <= most && document::units(&part.plain) <= most && entities <= 100);
            prop_assert!(!reader::pings(&part.body) && part.body.len() <= 32_768, "{:?}", part.body);
        }
    }

    #[test]
    fn verbatim_text_is_shown_as_it_is(text in "\\PC{0,300}") {
        let shown = reply(&Reply { content: vec![Content::Plain(text.clone())], ..Reply::default() });
        if !is_blank(&text) {
            prop_assert_eq!(read(&shown[0].body).expect("valid").0.replace('\u{2060}', ""), text.replace('\u{2060}', ""));
        }
    }
}

//! The documented HTTP interface has every route that is served, and no other.

use std::collections::BTreeSet;

use crate::{files, root};

#[test]
fn every_route_is_documented_and_every_documented_route_is_served() {
    let served: BTreeSet<_> = files("adapters/web/src", &["routes.rs"])
        .iter()
        .flat_map(|(_, text)| {
            text.split(".route(\"")
                .skip(1)
                .map(|rest| rest.split('"').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        })
        .collect();
    let page = std::fs::read_to_string(root().join("docs/HTTP.md")).unwrap();
    let documented: BTreeSet<_> = page
        .lines()
        .filter_map(|line| line.strip_prefix("## `"))
        .filter_map(|rest| rest.split('`').next()?.split(' ').nth(1).map(str::to_owned))
        .collect();
    assert!(!served.is_empty());
    assert_eq!(documented, served);
}

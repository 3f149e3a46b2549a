//! What the call tree shows.

use e2e::browser::DESK;

use crate::ground::Ground;

#[test]
fn eight_calls_are_eight_rows_whose_bars_overlap() {
    let ground = Ground::new(DESK);
    ground.asks(&["/sleep 50"; 8].join("\n"));
    let rows = ground.tree_with("sleep");
    let bars: Vec<_> = rows.iter().filter(|row| row.name == "sleep").map(|row| row.bar).collect();
    assert_eq!(bars.len(), 8, "{rows:#?}");
    let last_start = bars.iter().map(|bar| bar.0).fold(f64::MIN, f64::max);
    let first_end = bars.iter().map(|bar| bar.1).fold(f64::MAX, f64::min);
    assert!(last_start < first_end, "they run side by side: {bars:?}");
    ground.is_well();
}

#[test]
fn a_step_that_fails_is_told_with_its_layer_under_its_parent() {
    let ground = Ground::new(DESK);
    ground.asks("/research atlantis");
    ground.page.until("the step has timed out", "document.querySelector('#tree li[data-tone=execution]')");
    let rows = ground.tree_with("read_page");
    let depths: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.depth)).collect();
    assert_eq!(depths[..3], [("turn", 0), ("research", 1), ("search_web", 2)], "{rows:#?}");
    let late = rows.iter().find(|row| row.name == "read_page" && row.tone == "execution").expect("a step timed out");
    assert_eq!(late.depth, 2);
    assert!(late.seen.contains("execution · timeout") && late.says.contains("execution · timeout"), "{late:?}");
    assert!(ground.last().contains("read_page"), "{}", ground.last());
    // Its details open by a press.
    ground.page.click("[...document.querySelectorAll('#tree li[data-tone=execution] > button')].at(-1)");
    ground.page.until("details are shown", "document.querySelector('#tree .details')");
    let details = ground.page.text("document.querySelector('#tree .details').innerText");
    assert!(details.contains("1.1.") && details.contains("atlantis"), "{details}");
    ground.is_well();
}

#[test]
fn an_earlier_answer_leads_to_its_own_tree() {
    let ground = Ground::new(DESK);
    ground.asks("/weather_query Oslo");
    ground.asks("/sleep 5");
    ground.tree_with("sleep");
    ground.page.click("document.querySelector('.messages .see')");
    ground.tree_with("weather_query");
    assert!(ground.page.look("document.querySelector('#follow').checked") == false, "the newest is no longer followed");
    ground.is_well();
}

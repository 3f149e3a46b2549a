//! Where everything stands: panes side by side, nothing cut off, a phone leafed through.

use e2e::browser::{DESK, PHONE, Screen};
use serde_json::json;

use crate::ground::{Ground, PLATFORMS};

const WIDE: Screen = Screen { width: 1_920, height: 1_000, phone: false };

/// What is cut off at a side of the box that it stands in; only code, tables and files may scroll in their own.
const CUT: &str = "[...document.querySelectorAll('.pane, .chat-top, .who, .switches select, .log, .messages li, .bubble, .embed, .key, .chips, .composer, .line, .send, #tree, #turns, .tries button')]
  .filter((box) => { const own = box.getBoundingClientRect(); const pane = (box.closest('.pane, .calls, .try') || document.body).getBoundingClientRect();
    return box.offsetParent && own.width > 0 && (own.right > pane.right + 0.5 || own.left < pane.left - 0.5); })
  .map((box) => box.outerHTML.slice(0, 160))";

/// Left, right, top and bottom of each part.
fn boxes(ground: &Ground, selector: &str) -> Vec<[f64; 4]> {
    let found = ground.page.look(&format!(
        "[...document.querySelectorAll('{selector}')].map((one) => {{ const box = one.getBoundingClientRect(); return [box.left, box.right, box.top, box.bottom]; }})"
    ));
    serde_json::from_value(found).expect("each has four sides")
}

/// An answer, an error and a long line in every pane.
fn furnished(screen: Screen) -> Ground {
    let ground = Ground::new(screen);
    for platform in PLATFORMS {
        let chat = ground.chat(platform);
        chat.asks("/weather_query Oslo days=3");
        chat.asks("/order_query ZZZ-99");
        chat.says(&"unbroken".repeat(20));
    }
    ground
}

#[test]
fn three_panes_stand_side_by_side_with_the_tree_and_nothing_is_cut_off() {
    let ground = furnished(DESK);
    for screen in [DESK, WIDE] {
        ground.page.fit(screen);
        let panes = boxes(&ground, ".pane");
        assert_eq!(panes.len(), 3);
        for pair in panes.windows(2) {
            let [left, right] = [pair[0], pair[1]];
            assert!(left[1] <= right[0] && (left[2] - right[2]).abs() < 1.0, "{panes:?}");
        }
        let width = f64::from(screen.width);
        assert!(panes.iter().all(|one| one[0] >= 0.0 && one[1] <= width && one[1] - one[0] >= 280.0), "{panes:?}");
        for part in ["#calls", "#try"] {
            let [left, right, top, bottom] = boxes(&ground, part)[0];
            assert!(right - left > 200.0 && bottom - top > 200.0 && right <= width, "{part} is there");
            let overlaps = |one: &[f64; 4]| one[0] < right && left < one[1] && one[2] < bottom && top < one[3];
            assert!(!panes.iter().any(overlaps), "{part} covers no pane");
        }
        assert_eq!(ground.page.look(CUT), json!([]), "{width}");
        assert!(ground.page.look("document.documentElement.scrollWidth <= innerWidth") == true);
    }
    ground.is_well();
}

#[test]
fn a_phone_leafs_through_the_panes_by_their_tabs() {
    let ground = Ground::new(PHONE);
    for platform in PLATFORMS {
        ground.page.click(&format!("document.querySelector('[data-tab={platform}]')"));
        let seen = format!(
            "(() => {{ const box = document.querySelector('.pane[data-platform={platform}]').getBoundingClientRect(); return Math.abs(box.left) < 2 && Math.abs(box.right - innerWidth) < 2; }})()"
        );
        ground.page.until(&format!("{platform} fills the width"), &seen);
        let pressed = format!("document.querySelector('[data-tab={platform}]').getAttribute('aria-pressed') == 'true'");
        ground.page.until("its tab says so", &pressed);
        ground.chat(platform).asks("/order_query ZZZ-99");
        let wide = ground.chat(platform).all(":is(.messages li, .bubble, .key, .composer)");
        let cut = format!("{wide}.filter((box) => box.getBoundingClientRect().right > innerWidth + 0.5).length");
        assert_eq!(ground.page.look(&cut), 0, "{platform} fits");
    }
    // A thing to try goes to the chat that was used last.
    ground.page.click("document.querySelector('[data-show=try]')");
    assert_eq!(ground.page.text("document.querySelector('#try-where').textContent"), " into Slack");
    ground.is_well();
}

//! Whether everybody can use it: colours, names, the order of the focus.

use e2e::browser::{DESK, Held};

use crate::ground::Ground;

/// Contrast of each colour of a text against what is behind it, at worst.
const CONTRAST: &str = "(() => {
  const style = getComputedStyle(document.documentElement);
  const channel = (hex) => { const c = parseInt(hex, 16) / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = (name) => { const hex = style.getPropertyValue(name).trim().slice(1); const [r, g, b] = [0, 2, 4].map((i) => channel(hex.slice(i, i + 2))); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m); return (x + 0.05) / (y + 0.05); };
  const inks = ['--ink', '--soft', '--accent', '--ok', '--running', '--validation', '--permission', '--execution', '--fatal', '--open'];
  return inks.map((ink) => [ink, ratio(ink, '--panel')]).filter(([, found]) => found < 4.5);
})()";

#[test]
fn dark_and_light_differ_and_both_can_be_read() {
    let ground = Ground::new(DESK);
    let wall = || ground.page.text("getComputedStyle(document.body).backgroundColor");
    let light = wall();
    assert_eq!(ground.page.look(CONTRAST), serde_json::json!([]), "light");
    ground.page.colours("dark");
    let dark = wall();
    assert_ne!(light, dark, "the page follows the system");
    assert_eq!(ground.page.look(CONTRAST), serde_json::json!([]), "dark");
    // Whoever wants it otherwise says so, and it stays.
    ground.page.click("document.querySelector('#theme')");
    assert_eq!(wall(), light);
    assert_eq!(ground.page.text("document.querySelector('#theme').getAttribute('aria-label')"), "Colours: light");
    ground.is_well();
}

#[test]
fn every_control_has_a_name() {
    let ground = Ground::new(DESK);
    ground.asks("/order_query A-17 status=payed");
    ground.tree_with("order_query");
    let controls = ["button", "textbox", "combobox", "checkbox", "link", "listbox", "option", "log", "region"];
    let offered = ground.page.offered();
    let nameless: Vec<_> =
        offered.iter().filter(|(role, name)| controls.contains(&role.as_str()) && name.is_empty()).collect();
    assert!(nameless.is_empty(), "{nameless:?}");
    for (role, name) in [("button", "Send"), ("button", "Details"), ("combobox", "You are"), ("log", "Messages")] {
        assert!(offered.iter().any(|(r, n)| r == role && n == name), "there is a {role} '{name}' in {offered:?}");
    }
    let row =
        offered.iter().find(|(role, name)| role == "button" && name.starts_with("order_query, call 1.1, level 2"));
    assert!(row.is_some_and(|(_, name)| name.contains("validation · args.invalid")), "the tree is told: {offered:?}");
    ground.is_well();
}

#[test]
fn the_focus_reaches_everything_in_the_order_of_reading() {
    let ground = Ground::new(DESK);
    ground.asks("/order_query A-17 status=payed");
    ground.tree_with("order_query");
    ground.page.look("document.querySelector('.skip').focus()");
    let mut path = Vec::new();
    for _ in 0..120 {
        ground.page.press("Tab", Held::Nothing);
        let here = ground.page.text(
            "(() => { const at = document.activeElement; const kinds = { '#theme': 'theme', '.conversation': 'chat', '.log': 'log', '.key': 'key', '.dots': 'message', '.composer textarea': 'field', \
             '.send': 'send', '#turns button': 'turn', '#tree .call': 'call', '.tries button': 'try' }; \
             return Object.entries(kinds).find(([selector]) => at.matches(selector))?.[1] || ''; })()",
        );
        if !here.is_empty() && path.last() != Some(&here) {
            path.push(here);
        }
        if path.last().is_some_and(|last| last == "try") {
            break;
        }
    }
    path.retain(|kind| kind != "theme");
    let answered = ["chat", "log", "message", "key", "message", "field", "send"];
    let empty = ["chat", "log", "field", "send"];
    let calls = ["turn", "call", "try"];
    let expected: Vec<_> = [&answered[..], &empty, &empty, &calls].concat();
    assert_eq!(path, expected);
    // In the tree, arrows move too.
    ground.page.look("document.querySelector('#tree .call').focus()");
    ground.page.press("ArrowDown", Held::Nothing);
    assert!(ground.page.text("document.activeElement.getAttribute('aria-label')").starts_with("order_query"));
    ground.is_well();
}

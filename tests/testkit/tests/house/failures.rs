//! The documented table of failure codes is the code's own. `UPDATE_EXPECT=1` writes it anew.

use std::fmt::Write;

use contract::{Code, Failure, Layer, Notice};
use expect_test::expect_file;

const BEGIN: &str = "<!-- table: written by the tests, do not edit -->\n";
const END: &str = "<!-- end of table -->\n";

#[test]
fn the_table_of_codes_is_the_one_in_the_code() {
    let path = crate::root().join("docs/FAILURES.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the file has the mark where the table begins");
    let (_, after) = rest.split_once(END).expect("the file has the mark where the table ends");
    expect_file![path].assert_eq(&format!("{before}{BEGIN}{}{END}{after}", table()));
}

fn table() -> String {
    let mut out = String::new();
    for layer in Layer::ALL {
        let _ = writeln!(out, "\n### {}\n", layer.as_str());
        let _ = writeln!(out, "| code | what it means | heading that a person sees | what they are told to do next |");
        let _ = writeln!(out, "|---|---|---|---|");
        for code in Code::ALL.iter().filter(|code| code.layer() == layer) {
            let notice = Notice::of(&Failure::new(*code, "it failed"), None, None);
            let (mark, heading) = notice.heading();
            let _ = writeln!(out, "| `{code}` | {} | {mark} {heading} | {} |", code.meaning(), notice.hint);
        }
    }
    out.push('\n');
    out
}

//! The same answers, looked at on every platform: everything that a message can hold, hostile words, long code.

use e2e::browser::DESK;
use serde_json::json;

use crate::ground::{Ground, PLATFORMS};

const HOSTILE: &str = "<img src=x onerror=\"window.hacked=1\"></script><script>window.hacked=1</script>";

#[test]
fn the_same_answer_with_everything_in_it_looks_right_on_all_three() {
    let ground = Ground::new(DESK);
    for platform in PLATFORMS {
        let chat = ground.chat(platform);
        chat.asks("/sample everything");
        // What keeps words from being mentions is not seen.
        let answer = chat.last().replace('\u{2060}', "");
        for text in [
            "A heading with code in it",
            "2 * 3 * 4, snake_case_name, <b>not bold</b>",
            "@everyone, @here",
            "👨‍👩‍👧‍👦",
            "مرحبا بالعالم",
        ] {
            assert!(answer.contains(text), "{platform}: {text} in {answer}");
        }
        let texts = |selector: &str| ground.page.look(&format!("{}.map((one) => one.textContent)", chat.all(selector)));
        assert!(texts(".bubble strong").to_string().contains("bold"), "{platform}");
        assert_eq!(texts(".bubble a[href^=https]"), json!(["link"]), "{platform}");
        // Code is what was written, in letters of one width.
        let code = texts(".bubble pre code");
        let program = code.as_array().into_iter().flatten().find(|one| one.to_string().contains("fn main"));
        let program = program.and_then(|one| one.as_str()).expect("the program is code").trim();
        // Discord's blocks of code end at three ticks, so something unseen stands between them.
        let program = program.replace('\u{200b}', "");
        assert_eq!(
            program,
            "fn main() {\n    // ``` inside stays where it is, and so do *stars* and <tags>\n    println!(\"{}\", \"`ticks` & \\\"quotes\\\"\");\n}",
            "{platform}"
        );
        let face = format!("getComputedStyle({}.at(-1)).fontFamily", chat.all(".bubble pre code"));
        assert!(ground.page.text(&face).contains("mono"), "{platform}");
        match platform {
            "slack" => {
                let rows =
                    format!("{}.map((row) => [...row.cells].map((cell) => cell.innerText))", chat.all(".bubble tr"));
                let rows = ground.page.look(&rows);
                assert_eq!(rows[0], json!(["city", "degrees", "sky"]), "{rows}");
                assert_eq!(rows[2], json!(["Oslo", "-4", "🌨 snow, much"]), "{rows}");
            }
            _ => {
                let table = code.to_string();
                assert!(table.contains("city") && table.contains("│ degrees │ sky"), "{platform}: {table}");
                assert!(table.contains("│      -4 │ 🌨 snow, much"), "{platform}: numbers stand right: {table}");
            }
        }
    }
    ground.is_well();
}

#[test]
fn hostile_words_run_nothing_in_any_pane() {
    let ground = Ground::new(DESK);
    for platform in PLATFORMS {
        let chat = ground.chat(platform);
        chat.asks(HOSTILE);
        // Two commands are a message on every platform.
        chat.asks("/research \"<img src=x onerror=window.hacked=1>\"\n/sleep 1");
        assert!(chat.last().contains("<img src=x"), "{platform}: what comes back is readable: {}", chat.last());
        assert!(chat.reads().contains("</script><script>window.hacked=1</script>"), "{platform}: {}", chat.reads());
        // As others write it into the same conversation, in the markup of the platform.
        let worse = format!(
            "[click](javascript:window.hacked=1) <javascript:window.hacked=1|click> `{HOSTILE}` <@U0> <script>"
        );
        ground.act(platform, "say", &json!({ "conversation": "dm:you", "user": "you", "text": worse }));
        chat.shows("<script>");
    }
    assert!(ground.page.look("window.hacked === undefined") == true);
    assert_eq!(
        ground.page.look("document.querySelectorAll('main img, main script, main a[href^=javascript]').length"),
        0
    );
    ground.is_well();
}

#[test]
fn what_does_not_fit_goes_on_in_a_file_that_can_be_read() {
    let ground = Ground::new(DESK);
    let chat = ground.chat("discord");
    chat.says("/sample long");
    ground.page.until("the file is there", &format!("{}.length", chat.all(".attachment")));
    ground.page.click(&format!("{}[0]", chat.all(".attachment .inline")));
    let text = format!("{}[0].textContent", chat.all(".attachment pre"));
    ground.page.until("it is read", &format!("{text}.includes('600 squared is     360000')"));
    ground.is_well();
}

#[test]
fn a_picture_is_seen() {
    let ground = Ground::new(DESK);
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for platform in PLATFORMS {
        let files = json!([{ "name": "pixel.png", "mime": "image/png", "base64": pixel }]);
        ground.act(
            platform,
            "say",
            &json!({ "conversation": "dm:you", "user": "you", "text": "look", "files": files }),
        );
        let picture = ground.chat(platform).all(".picture img");
        ground.page.until(&format!("{platform} shows it"), &format!("{picture}[0]?.naturalWidth"));
        assert_eq!(ground.page.text(&format!("{picture}[0].alt")), "pixel.png");
    }
    ground.is_well();
}

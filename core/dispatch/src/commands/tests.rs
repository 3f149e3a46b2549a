use serde_json::json;

use super::*;

fn names(text: &str) -> Vec<(String, String)> {
    read(text)
        .unwrap_or_default()
        .into_iter()
        .map(|c| match c {
            Command::Tool { name, rest } => (name, rest),
            Command::Filled { name, args } => (name, Value::Object(args).to_string()),
            Command::Builtin(b) => (format!("{b:?}"), String::new()),
        })
        .collect()
}

fn args(rest: &str) -> Result<Value, Failure> {
    let parameters = json!({
        "type": "object", "required": ["city", "note"],
        "properties": { "city": {"type": "string"}, "note": {"type": "string"}, "days": {"type": "integer"},
                        "range": {"type": "object"} }
    });
    arguments("t", rest, &parameters, "/t city note")
}

#[test]
fn lines_that_begin_with_a_command_are_a_batch() {
    let read = names("/sleep 50\n/sleep 60\n  /Weather_Query city=上海");
    assert_eq!(
        read.iter().map(|(n, r)| format!("{n}|{r}")).collect::<Vec<_>>(),
        ["sleep|50", "sleep|60", "weather_query|city=上海"]
    );
}

#[test]
fn collected_arguments_keep_their_types_and_built_ins_take_theirs() {
    let filled = |name: &str, args: Value| {
        let Value::Object(args) = args else { panic!("an object") };
        of(&Kind::Command { name: name.into(), args }).unwrap()
    };
    let Value::Object(args) = json!({"ms": 5}) else { panic!("an object") };
    assert_eq!(filled("Sleep", json!({"ms": 5})), [Command::Filled { name: "sleep".into(), args }]);
    assert_eq!(filled("tools", json!({"word": " sky "})), [Command::Builtin(Builtin::Tools("sky".into()))]);
    assert_eq!(filled("trace", json!({"reference": 7})), [Command::Builtin(Builtin::Trace("7".into()))]);
    assert_eq!(filled("stop", json!({})), [Command::Builtin(Builtin::Stop)]);
}

#[test]
fn a_field_of_an_object_is_named_with_a_dot() {
    let parameters = json!({"properties": {"range": {"type": "object"}, "a.b": {"type": "string"}}});
    let Value::Object(args) = json!({"range.start": 1, "range.end": 2, "a.b": "x", "c.d": "y"}) else {
        panic!("an object")
    };
    let nested = Value::Object(nested(&args, &parameters));
    assert_eq!(nested, json!({"range": {"start": 1, "end": 2}, "a.b": "x", "c.d": "y"}));
}

#[test]
fn a_path_is_not_a_command_and_text_goes_on() {
    assert_eq!(read("/path/like/this"), None);
    assert_eq!(read("hello /sleep"), None);
    assert_eq!(names("/note \"a\n/sleep 5\nb\""), [("note".to_owned(), "\"a\n/sleep 5\nb\"".to_owned())]);
    assert_eq!(names("/note first\n/usr/bin is a path"), [("note".to_owned(), "first\n/usr/bin is a path".to_owned())]);
}

#[test]
fn words_are_named_positional_quoted_or_json() {
    assert_eq!(args("Paris days=3 \"two words\"").unwrap(), json!({"city":"Paris","note":"two words","days":"3"}));
    assert_eq!(args("note=x Paris").unwrap(), json!({"city":"Paris","note":"x"}));
    assert_eq!(
        args(r#"{"city":"a","note":"b","days":9007199254740993}"#).unwrap()["days"],
        json!(9007199254740993_i64)
    );
    assert_eq!(args("a b range={\"start\": \"x y\"}").unwrap()["range"], json!({"start":"x y"}));
    assert_eq!(args("a b range.start=2026-01-01").unwrap()["range"], json!({"start":"2026-01-01"}));
    assert_eq!(args("a long note goes on").unwrap()["note"], json!("long note goes on"));
    assert_eq!(args("a long \"3\" days=2").unwrap()["note"], json!("long 3"));
    assert_eq!(args("https://e.test?a=1 n").unwrap()["city"], json!("https://e.test?a=1"));
}

#[test]
fn what_is_said_twice_or_too_much_is_told() {
    assert_eq!(args("city=a city=b note=c").unwrap_err().problems[0].path, "city");
    assert!(args("{\"city\": \"a\"").is_err());
    let unclear = args("Paris note 3").unwrap_err();
    assert_eq!(unclear.problems[0].hint.as_deref(), Some("write days=3, or put the whole text in quotes"));
}

#[test]
fn a_slip_in_a_name_is_told_and_passed_on_only_where_any_name_is_taken() {
    let slip = args("Paris note day=3").unwrap_err();
    assert_eq!((slip.problems.len(), slip.problems[0].path.as_str()), (1, "day"));
    assert_eq!(slip.problems[0].hint.as_deref(), Some("did you mean 'days'?"));
    assert_eq!(args("Paris note zone=3").unwrap()["zone"], json!("3"));
    let open = json!({"additionalProperties": true, "properties": {"days": {"type": "integer"}}});
    assert_eq!(arguments("t", "day=3", &open, "/t").unwrap(), json!({"day": "3"}));
    let as_json = args(r#"{"city": "a", "nota": "b"}"#).unwrap_err();
    assert_eq!((as_json.problems[0].path.as_str(), as_json.usage.as_deref()), ("nota", Some("/t city note")));
}

#[test]
fn a_word_without_a_place_is_given_the_name_that_it_fits() {
    let slow = json!({"type": "object", "properties": {"seconds": {"type": "integer"}, "note": {"type": "string"}}});
    let unnamed = arguments("slow", "20", &slow, "/slow").unwrap_err();
    assert_eq!(unnamed.problems[0].hint.as_deref(), Some("for example seconds=20"));
}

#[test]
fn what_is_open_is_followed_over_lines_and_no_list_of_problems_is_endless() {
    assert_eq!(names("/a {\n/b 1\n}\n/c [\n\n]\n/d").len(), 3);
    let lines = "\n/x".repeat(200_000);
    assert_eq!(names(&format!("/note \"{lines}\"")), [("note".to_owned(), format!("\"{lines}\""))]);
    let unclear = arguments("t", &"word ".repeat(10_000), &json!({"type": "object"}), "/t").unwrap_err();
    assert_eq!((unclear.problems.len(), unclear.problems[0].hint.as_deref()), (PROBLEMS_MAX, None));
    assert_eq!(unclear.say.as_str(), "'t' cannot run with these arguments: 30 things or more are wrong");
}

proptest::proptest! {
    #[test]
    fn reading_never_panics(text in "(/[a-z]{1,3}|[ \"\\\\{}\\[\\]=a\n])*") {
        if let Some(commands) = read(&text) {
            for command in commands {
                if let Command::Tool { rest, .. } = command {
                    let _ = args(&rest);
                }
            }
        }
    }
}

use clap::{CommandFactory, error::ErrorKind};

use super::*;

fn read(line: &str) -> Result<Cli, clap::Error> {
    Cli::try_parse_from(line.split_whitespace())
}

#[test]
fn the_definitions_are_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn no_line_of_the_examples_is_wrapped() {
    fn look(command: &clap::Command) {
        let texts = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in texts.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", command.get_name());
        }
        command.get_subcommands().for_each(look);
    }
    look(&Cli::command());
}

#[test]
fn common_options_stand_anywhere() {
    let before = read("toolgate --json --config a.yaml trace list").unwrap();
    let after = read("toolgate trace list --json --config a.yaml").unwrap();
    assert_eq!((before.common.json, &before.common.config), (true, &after.common.config));
}

#[test]
fn every_command_of_the_manual_is_understood() {
    for line in [
        "demo --listen 127.0.0.1:0 --sim-listen 127.0.0.1:0 --store sqlite:x.db --no-open --json",
        "up",
        "check",
        "chat",
        "sim --listen 127.0.0.1:0",
        "tool validate --spec a.yaml --spec b.yaml",
        "tool list --platform telegram",
        "tool show --name order_query",
        "tool invoke --name weather_query --params {\"city\":\"上海\"} --platform telegram --sender 1",
        "policy show",
        "policy explain --platform telegram --tool order_refund --tenant t --space s --conversation c --sender 1 --role r",
        "trace list --failed --tool sleep --session k --since 24h",
        "trace show 01KBA7Q3ZJ8M4W0N5RX2VCT007",
        "trace tail",
        "trace stats",
        "pairing list",
        "pairing approve K7QM2XWZ --gateway http://127.0.0.1:8787",
        "pairing remove telegram:main/123456789",
        "health",
        "completions bash",
    ] {
        assert!(read(&format!("toolgate {line}")).is_ok(), "{line}");
    }
}

#[test]
fn mistakes_are_usage_errors() {
    assert_eq!(read("toolgate tool list --platform telegramm").unwrap_err().kind(), ErrorKind::ValueValidation);
    assert_eq!(read("toolgate trace list --since soon").unwrap_err().exit_code(), Exit::Usage as i32);
    for no_url in ["foo", "127.0.0.1:8787", "localhost:8787", "http://", "ftp://127.0.0.1"] {
        let refused = read(&format!("toolgate tool list --gateway {no_url}")).unwrap_err();
        assert_eq!(refused.exit_code(), 2);
        assert!(refused.to_string().contains("this is no URL: write one such as http://127.0.0.1:8787"), "{refused}");
    }
    for nobody in ["123456789", "telegram:main", "telegram:main/", "irc:main/1"] {
        assert_eq!(read(&format!("toolgate pairing remove {nobody}")).unwrap_err().exit_code(), 2, "{nobody}");
    }
    assert_eq!(read("toolgate dem").unwrap_err().exit_code(), 2);
}

use contract::Sender;

use super::*;

fn message(id: usize) -> Message {
    Message {
        key: id.to_string(),
        address: Address::new(Platform::Telegram, "main", id.to_string()),
        sender: Sender { id: id.to_string(), name: "Ada".into() },
        roles: Vec::new(),
        kind: Kind::Text { text: "hello".into() },
        heard: contract::Heard::Direct,
        files: Vec::new(),
        quote: None,
        from_bot: false,
        locale: None,
        at_ms: 0,
    }
}

fn account() -> Account {
    (Platform::Telegram, "main".into())
}

#[tokio::test(start_paused = true)]
async fn a_person_is_shown_one_code_in_an_hour() {
    let pairing = Pairing::default();
    let first = pairing.ask(account(), &message(1), Locale::En).unwrap();
    assert!(pairing.ask(account(), &message(1), Locale::En).is_none());
    let other = pairing.ask(account(), &message(2), Locale::En).unwrap();
    assert!(!first.is(&other));
    assert_eq!(pairing.find(&other.to_string()).ok().map(|f| f.sender.id), Some("2".into()));
    tokio::time::advance(CODE_LASTS).await;
    assert!(matches!(pairing.find(&first.to_string()), Err(NotPaired::NoSuchCode)));
    assert!(pairing.waiting().is_empty());
    let second = pairing.ask(account(), &message(1), Locale::En).unwrap();
    assert!(!first.is(&second));
}

#[tokio::test(start_paused = true)]
async fn no_more_than_a_hundred_ask_at_once() {
    let pairing = Pairing::default();
    let asked = (0..150).filter(|n| pairing.ask(account(), &message(*n), Locale::En).is_some()).count();
    assert_eq!((asked, pairing.waiting().len()), (WAITING_MAX, WAITING_MAX));
}

#[tokio::test(start_paused = true)]
async fn codes_cannot_be_tried_one_after_the_other() {
    let pairing = Pairing::default();
    let code = pairing.ask(account(), &message(1), Locale::En).unwrap().to_string();
    for _ in 0..TRIES_MAX {
        assert!(matches!(pairing.find("AAAAAAAA"), Err(NotPaired::NoSuchCode)));
    }
    assert!(matches!(pairing.find(&code), Err(NotPaired::TooMany)));
    tokio::time::advance(TRIES_IN).await;
    assert!(pairing.find(&code).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_list_is_read_again_whoever_speaks() {
    let pairing = Pairing::default();
    assert!(pairing.is_stale(&account()));
    let person = Person { name: "Ada".into(), since_ms: 1 };
    pairing.keep(&account(), [("ada".to_owned(), person)].into());
    assert!(pairing.knows(&account(), "ada") && !pairing.is_stale(&account()));
    tokio::time::advance(READ_EVERY).await;
    assert!(pairing.is_stale(&account()), "another process may have removed her");
    pairing.postpone(&account());
    assert!(pairing.knows(&account(), "ada") && !pairing.is_stale(&account()), "the store is away");
}

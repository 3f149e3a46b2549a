//! Cases of results that are kept because they were too long to be told.

use contract::{
    MemoryKey,
    records::{ARTEFACT_MAX, ArtefactId, Person},
};

use crate::{ground::Ground, make::*};

fn of(chat: &str, who: &str) -> (MemoryKey, Person) {
    let visit = visit_of(chat, who);
    (visit.place, visit.person)
}

pub async fn a_result_is_read_where_it_was_kept_and_nowhere_else(ground: Ground) {
    let stores = ground.open("a").await.artefacts;
    let ((here, ada), (there, _)) = (of("chat", "7"), of("other", "7"));
    for body in ["{\"short\": 1}".to_owned(), "日本語 {p1} \u{0}".repeat(60_000)] {
        let id = stores.keep(&here, &ada, &body).await.unwrap().unwrap();
        assert_eq!(stores.artefact(&here, id).await.unwrap(), Some(body.clone()));
        assert_eq!(stores.artefact(&there, id).await.unwrap(), None);
        let later = ground.open("a").await.artefacts;
        assert_eq!(later.artefact(&here, id).await.unwrap(), Some(body));
    }
    let unknown: ArtefactId = "0123456789".parse().unwrap();
    assert_eq!(stores.artefact(&here, unknown).await.unwrap(), None);
}

pub async fn the_same_result_is_kept_once_and_larger_ones_than_allowed_not_at_all(ground: Ground) {
    let stores = ground.open("a").await.artefacts;
    let (here, ada) = of("chat", "7");
    let first = stores.keep(&here, &ada, "rows").await.unwrap();
    assert_eq!(stores.keep(&here, &ada, "rows").await.unwrap(), first);
    assert_eq!(stores.keep(&here, &ada, &"x".repeat(ARTEFACT_MAX + 1)).await.unwrap(), None);
    assert_eq!(stores.forget_artefacts(&ada).await.unwrap(), 1);
}

pub async fn results_go_with_their_person(ground: Ground) {
    let stores = ground.open("a").await;
    let ((here, ada), (_, bob)) = (of("chat", "7"), of("chat", "8"));
    let adas = stores.artefacts.keep(&here, &ada, &"a".repeat(600_000)).await.unwrap().unwrap();
    let shared = "a".repeat(600_000);
    let bobs = stores.artefacts.keep(&here, &bob, &shared).await.unwrap().unwrap();
    assert_eq!(stores.people.forget(&ada).await.unwrap().artefacts, 1);
    assert_eq!(stores.artefacts.artefact(&here, adas).await.unwrap(), None);
    assert_eq!(stores.artefacts.artefact(&here, bobs).await.unwrap(), Some(shared), "who keeps the same has it still");
}

//! Cases of schedules.

use contract::{
    Caller, TurnId,
    records::{
        Missed, Paused, Person, Put, Ran, SCHEDULES_PER_PERSON, SCHEDULES_PER_TENANT, Schedule, ScheduleId,
        ScheduleQuery, When,
    },
};

use crate::{ground::Ground, make::*};

fn owner(who: &str) -> Caller {
    let mut caller = record("chat", "k").caller;
    caller.sender.id = who.into();
    caller.roles = vec!["ops".into()];
    caller
}

fn schedule(who: &str, made_ms: u64, next_ms: Option<u64>) -> Schedule {
    Schedule {
        id: ScheduleId::made_by(TurnId::new(), 0),
        version: 1,
        name: "A \u{0} name".into(),
        owner: owner(who),
        direct: true,
        member: true,
        by_operator: false,
        locale: Some("zh-hans".into()),
        say: "/say \u{10ffff}".into(),
        when: When::Every { minutes: 45, from_ms: 7 },
        zone: "Europe/Berlin".into(),
        missed: Missed::Skip,
        to: address("elsewhere"),
        made_ms,
        paused: Some(Paused { why: "so".into(), at_ms: u64::MAX, by_itself: true }),
        next_ms,
        last: Some(Ran { due_ms: 5, turn: TurnId::new() }),
        refused: 2,
        left_out: 3,
    }
}

fn of(who: &str) -> ScheduleQuery {
    ScheduleQuery { owner: Some(Person::of(&owner(who))), ..ScheduleQuery::default() }
}

fn ids(schedules: &[Schedule]) -> Vec<ScheduleId> {
    schedules.iter().map(|schedule| schedule.id).collect()
}

pub async fn a_schedule_is_found_as_it_was_put(ground: Ground) {
    let schedules = ground.open("a").await.schedules;
    let made = schedule("7", 1, Some(9));
    assert_eq!(schedules.schedule(made.id).await.unwrap(), None);
    for _ in 0..2 {
        // Sent twice, since its answer was lost.
        assert_eq!(schedules.put(&made).await.unwrap(), Put::Made);
    }
    assert_eq!(schedules.schedule(made.id).await.unwrap(), Some(made.clone()));
    assert!(schedules.remove(made.id).await.unwrap());
    assert!(!schedules.remove(made.id).await.unwrap());
    assert_eq!(schedules.schedule(made.id).await.unwrap(), None);
    assert!(schedules.due(9).await.unwrap().is_empty());
}

pub async fn of_two_who_change_a_schedule_one_is_late(ground: Ground) {
    let (one, other) = (ground.open("a").await.schedules, ground.open("a").await.schedules);
    let made = schedule("7", 1, Some(9));
    one.put(&made).await.unwrap();
    let first = Schedule { version: 2, next_ms: None, ..made.clone() };
    let second = Schedule { version: 2, refused: 7, ..made.clone() };
    assert_eq!(one.put(&first).await.unwrap(), Put::Made);
    assert_eq!(other.put(&second).await.unwrap(), Put::Late);
    assert_eq!(other.put(&Schedule { version: 9, ..made.clone() }).await.unwrap(), Put::Late);
    assert_eq!(other.put(&made).await.unwrap(), Put::Late);
    assert_eq!(other.schedule(made.id).await.unwrap(), Some(first.clone()));
    // What was removed is not made again by who had read it before.
    one.remove(made.id).await.unwrap();
    assert_eq!(other.put(&Schedule { version: 3, ..first }).await.unwrap(), Put::Late);
}

pub async fn what_is_due_next_comes_first_and_what_rests_does_not(ground: Ground) {
    let schedules = ground.open("a").await.schedules;
    let (late, rests) = (schedule("7", 1, Some(30)), schedule("7", 2, None));
    let (soon, next) = (schedule("8", 3, Some(10)), schedule("9", 4, Some(20)));
    for one in [&late, &rests, &soon, &next] {
        schedules.put(one).await.unwrap();
    }
    assert_eq!(ids(&schedules.due(9).await.unwrap()), [soon.id, next.id, late.id]);
    assert_eq!(ids(&schedules.due(1).await.unwrap()), [soon.id]);
    schedules.put(&Schedule { version: 2, next_ms: Some(40), ..soon.clone() }).await.unwrap();
    schedules.put(&Schedule { version: 2, next_ms: None, ..next }).await.unwrap();
    assert_eq!(ids(&schedules.due(9).await.unwrap()), [late.id, soon.id]);
}

pub async fn schedules_are_listed_by_owner_and_tenant_oldest_first(ground: Ground) {
    let schedules = ground.open("a").await.schedules;
    let (second, first) = (schedule("7", 2, None), schedule("7", 1, None));
    let mut others = schedule("8", 3, None);
    others.owner.tenant = "finance".into();
    for one in [&second, &first, &others] {
        schedules.put(one).await.unwrap();
    }
    let list = async |query: ScheduleQuery| ids(&schedules.schedules(&query).await.unwrap());
    assert_eq!(list(ScheduleQuery::default()).await, [first.id, second.id, others.id]);
    assert_eq!(list(of("7")).await, [first.id, second.id]);
    assert_eq!(list(ScheduleQuery { most: 1, ..of("7") }).await, [first.id]);
    let finance = ScheduleQuery { tenant: Some("finance".into()), ..ScheduleQuery::default() };
    assert_eq!(list(finance.clone()).await, [others.id]);
    assert!(list(ScheduleQuery { tenant: finance.tenant, ..of("7") }).await.is_empty());
}

pub async fn a_person_and_a_tenant_have_so_many_schedules(ground: Ground) {
    let schedules = ground.open("a").await.schedules;
    let mut first = None;
    for n in 0..SCHEDULES_PER_TENANT {
        let one = schedule(&(n / SCHEDULES_PER_PERSON).to_string(), n as u64, None);
        assert_eq!(schedules.put(&one).await.unwrap(), Put::Made, "{n}");
        first = first.or(Some(one));
        if n == SCHEDULES_PER_PERSON - 1 {
            assert_eq!(schedules.put(&schedule("0", 9, None)).await.unwrap(), Put::TooMany { of_tenant: false });
        }
    }
    assert_eq!(schedules.put(&schedule("new", 9, None)).await.unwrap(), Put::TooMany { of_tenant: true });
    let first = first.unwrap();
    // What is there is still changed, and room is made by a removal.
    assert_eq!(schedules.put(&Schedule { version: 2, ..first.clone() }).await.unwrap(), Put::Made);
    schedules.remove(first.id).await.unwrap();
    assert_eq!(schedules.put(&schedule("0", 9, None)).await.unwrap(), Put::Made);
}

pub async fn who_is_forgotten_leaves_no_schedule(ground: Ground) {
    let stores = ground.open("a").await;
    let (theirs, others) = (schedule("7", 1, Some(1)), schedule("8", 2, Some(2)));
    stores.schedules.put(&theirs).await.unwrap();
    stores.schedules.put(&others).await.unwrap();
    assert_eq!(stores.people.forget(&Person::of(&owner("7"))).await.unwrap().schedules, 1);
    assert_eq!(ids(&stores.schedules.schedules(&ScheduleQuery::default()).await.unwrap()), [others.id]);
    assert_eq!(ids(&stores.schedules.due(9).await.unwrap()), [others.id]);
}

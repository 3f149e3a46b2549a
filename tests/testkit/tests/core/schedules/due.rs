//! When it is time.

use testkit::{
    Death, Flaky, Ground, Life, Scripted,
    model::{Heard as Prompted, says},
};

use super::*;
use crate::scene::for_each_store;

#[tokio::test]
async fn what_is_due_is_posted_where_it_was_made() {
    let stores = memory().await;
    let gate = opened();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    let made = gateway.gateway.schedule_add(wish("/once id=7", None)).await.unwrap();
    make_due(&gateway, &stores, made.id, now()).await;
    let after = ran(&gateway, &stores, made.id, None).await;
    let finals = gateway.outlet.finals();
    assert_eq!((finals.len(), gate.runs()), (1, 1), "{finals:?}");
    assert_eq!((finals[0].conversation.as_str(), finals[0].text.contains("Scheduled")), ("chat", false), "{finals:?}");
    assert!(after.next_ms > Some(now()) && after.left_out == 0, "{after:#?}");
}

#[tokio::test]
async fn a_run_blocks_no_chat_and_the_next_is_left_out_while_it_goes_on() {
    let stores = memory().await;
    let gate = Gate::closed();
    let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
    let made = gateway.gateway.schedule_add(wish("/gate id=7", None)).await.unwrap();
    make_due(&gateway, &stores, made.id, now()).await;
    until("it runs", || gate.log().contains(&"in 7".to_owned())).await;
    let said = gateway.say_as(said(Platform::Telegram, "chat", "ada", "/noop x")).await;
    assert!(!said.reply.failed, "{}", said.text);
    make_due(&gateway, &stores, made.id, now()).await;
    for _ in 0..500 {
        if stores.schedules.schedule(made.id).await.unwrap().unwrap().left_out == 1 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    assert_eq!(stores.schedules.schedule(made.id).await.unwrap().unwrap().left_out, 1);
    gate.open();
    ran(&gateway, &stores, made.id, None).await;
    assert_eq!(gate.runs(), 1);
}

#[tokio::test]
async fn what_was_missed_is_made_up_for_once_or_left_out_as_was_wished() {
    let hour = 3_600_000;
    for (missed, late, runs) in
        [(Missed::Latest, hour / 2, 1), (Missed::Latest, 3 * hour, 0), (Missed::Skip, hour / 2, 0)]
    {
        let stores = memory().await;
        let gate = opened();
        let gateway = Setup::new(stores.clone()).gate(&gate).start().ready().await;
        let when = "at 2030-01-01 09:00".to_owned();
        let made =
            gateway.gateway.schedule_add(NewSchedule { missed, when, ..wish("/gate id=7", None) }).await.unwrap();
        make_due(&gateway, &stores, made.id, now() - late).await;
        until("it was looked at", || gate.runs() == runs).await;
        for _ in 0..300 {
            let schedule = stores.schedules.schedule(made.id).await.unwrap().unwrap();
            if schedule.last.is_some() == (runs == 1) && schedule.left_out == 1 - runs as u64 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        let schedule = stores.schedules.schedule(made.id).await.unwrap().unwrap();
        assert_eq!((schedule.left_out, gate.runs()), (1 - runs as u64, runs), "{missed:?} {late}");
    }
}

#[tokio::test]
async fn a_model_is_asked_in_the_schedules_own_session() {
    let stores = memory().await;
    let model = Scripted::by(|heard: &Prompted| says(&format!("Answer {}.", heard.messages.len())));
    let gateway = Setup::new(stores.clone()).model(&model).start().ready().await;
    let chat = said(Platform::Telegram, "chat", "ada", "hello");
    spoken(&gateway, &gateway.outlet, chat.clone()).await;
    let made = gateway.gateway.schedule_add(wish("what is new?", None)).await.unwrap();
    let mut last = None;
    for _ in 0..2 {
        gateway.gateway.schedule_run_now(made.id).await.unwrap().unwrap();
        last = ran(&gateway, &stores, made.id, last).await.last.map(|last| last.turn);
    }
    // The second run knows the first, and neither the chat.
    let texts: Vec<_> = gateway.outlet.finals().into_iter().map(|seen| seen.text).collect();
    assert!(texts[1].contains("Answer 1.") && texts[2].contains("Answer 3."), "{texts:?}");
    assert_eq!(testkit::remembered(&stores, &chat.address).await.len(), 1);
}

#[tokio::test]
async fn a_life_that_ends_at_any_step_of_a_run_leaves_one_answer() {
    for_each_store(|ground| async move {
        let mut step = 0;
        loop {
            let case = Case::new(&ground).await;
            let came_to_the_end = case.dies_at(step).await;
            case.ends_well(step).await;
            if came_to_the_end {
                break;
            }
            step += 1;
        }
        assert!(step > 8, "only {step} steps");
    })
    .await;
}

/// A schedule that is due, in a store of its own conversation.
struct Case<'a> {
    ground: &'a Ground,
    platform: Arc<Recorder>,
    gate: Gate,
    id: ScheduleId,
}

impl<'a> Case<'a> {
    async fn new(ground: &'a Ground) -> Self {
        let chat = TurnId::new().to_string();
        let case = Self { ground, platform: Arc::default(), gate: opened(), id: ScheduleId::made_by(TurnId::new(), 0) };
        let stores = ground.open().await;
        let owner = owner(&chat, &chat);
        let to = Address::new(Platform::Telegram, "main", &chat);
        let schedule = Schedule {
            id: case.id,
            version: 1,
            name: String::new(),
            owner,
            direct: false,
            member: false,
            by_operator: false,
            locale: None,
            say: "/once id=7".into(),
            when: contract::records::When::Cron("0 8 * * *".into()),
            zone: "UTC".into(),
            missed: Missed::Latest,
            to,
            made_ms: now(),
            paused: None,
            next_ms: Some(now()),
            last: None,
            refused: 0,
            left_out: 0,
        };
        stores.schedules.put(&schedule).await.unwrap();
        case
    }

    async fn life(&self, death: &Arc<Death>) -> Life {
        let (platform, gate, death) = (self.platform.clone(), self.gate.with_hook(death.clone()), death.clone());
        let life = Life::start(self.ground.opening(), move |stores| {
            Setup::new(stores).gate(&gate).hook(death).outlet(&platform)
        });
        life.await
    }

    async fn dies_at(&self, step: usize) -> bool {
        let death = Death::at(step);
        let life = self.life(&death).await;
        let came_to_the_end = tokio::select! {
            () = death.reached() => false,
            () = self.over() => true,
        };
        life.kill();
        came_to_the_end
    }

    async fn over(&self) {
        let stores = self.ground.open().await;
        loop {
            let schedule = stores.schedules.schedule(self.id).await.unwrap().unwrap();
            if let Some(last) = schedule.last
                && stores.turns.get(last.turn).await.unwrap().is_some_and(|record| record.state == TurnState::Done)
            {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    }

    async fn ends_well(&self, step: usize) {
        let life = self.life(&Death::never()).await;
        life.ready().await;
        tokio::time::timeout(std::time::Duration::from_secs(30), self.over()).await.expect("it ends");
        let seen = self.platform.finals();
        let unmarked = seen.iter().filter(|seen| !seen.text.contains(contract::reply::DUPLICATE_MARK)).count();
        // A second one says that it may be a repeat, and so does one of which it is not known whether it came.
        assert!(unmarked <= 1 && (1..=2).contains(&seen.len()), "step {step}: {seen:#?}");
        assert!(self.gate.runs() <= 1, "step {step}: it ran {} times", self.gate.runs());
        life.kill();
        let stores = self.ground.open().await;
        stores.schedules.remove(self.id).await.unwrap();
    }
}

#[tokio::test]
async fn one_run_that_cannot_be_accepted_keeps_no_other_from_it_and_is_tried_again() {
    let stores = memory().await;
    let (gate, flaky) = (opened(), Arc::new(Flaky::default()));
    let gateway = Setup::new(stores.clone()).gate(&gate).hook(flaky.clone()).start().ready().await;
    let first = gateway.gateway.schedule_add(wish("/gate id=first", None)).await.unwrap();
    let second = gateway.gateway.schedule_add(wish("/gate id=second", None)).await.unwrap();
    flaky.fail_next.lock().unwrap().push("accept");
    for (id, at) in [(first.id, now() - 2_000), (second.id, now() - 1_000)] {
        let mut schedule = stores.schedules.schedule(id).await.unwrap().unwrap();
        (schedule.version, schedule.next_ms) = (schedule.version + 1, Some(at));
        stores.schedules.put(&schedule).await.unwrap();
    }
    make_due(&gateway, &stores, second.id, now() - 1_000).await;
    ran(&gateway, &stores, second.id, None).await;
    ran(&gateway, &stores, first.id, None).await;
    assert_eq!(gate.log().first().map(String::as_str), Some("in second"), "{:?}", gate.log());
    assert_eq!(gate.runs(), 2, "{:?}", gate.log());
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_is_put_back() {
    let stores = memory().await;
    let gateway = Setup::new(stores.clone()).start().ready().await;
    let made = gateway.gateway.schedule_add(wish("/noop x", None)).await.unwrap();
    gateway.gateway.drain().await;
    let ten_years = 10 * 365 * 24 * 3_600_000;
    let far = Schedule { version: made.version + 1, next_ms: Some(now() + ten_years), ..made.clone() };
    stores.schedules.put(&far).await.unwrap();
    let _gateway = Setup::new(stores.clone()).start().ready().await;
    for _ in 0..500 {
        if stores.schedules.schedule(made.id).await.unwrap().unwrap().next_ms == made.next_ms {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it is put off still: {:#?}", stores.schedules.schedule(made.id).await);
}

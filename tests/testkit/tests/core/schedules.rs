//! Schedules: made, due, run once, with the rights of their owner and of where their answers go.

mod due;
mod now;
mod rights;
mod typed;

use std::sync::Arc;

use contract::{
    Accepted, Address, Caller, Heard, Message, Outlet, Platform, TurnId,
    records::{Missed, Schedule, ScheduleId, ScheduleQuery, Stores, TurnState},
};
use dispatch::NewSchedule;
use testkit::{Gate, InABox, Recorder, Setup, allow_lab, allow_lab_with, message, until};

/// What a platform's chat is called here: groups, all alike.
fn said(platform: Platform, chat: &str, who: &str, text: &str) -> Message {
    let mut message = message(platform, chat, who, text);
    message.address.direct = false;
    message.heard = Heard::Addressed;
    message
}

async fn memory() -> Stores {
    store::open("sqlite::memory:", store::Options::default()).await.unwrap()
}

/// Telegram, and Slack whose `general` takes the schedules of `ada` from Telegram.
fn policies() -> Vec<(String, String)> {
    let more = "conversations: { \"channel:general\": { schedules: { from: [\"telegram:id:ada\"] } } }";
    vec![allow_lab(Platform::Telegram), allow_lab(Platform::Api), allow_lab_with(Platform::Slack, more)]
}

/// A gateway in Telegram and Slack; the far end of each.
async fn two_platforms(setup: Setup) -> (InABox, Arc<Recorder>) {
    let slack = Arc::new(Recorder::default());
    let gateway = setup.start().ready().await;
    let outlet: Arc<dyn Outlet> = slack.clone();
    gateway.gateway.connect(Platform::Slack, "main", outlet, slack.clone());
    (gateway, slack)
}

fn owner(chat: &str, who: &str) -> Caller {
    Caller { platform: Platform::Telegram, conversation: chat.into(), ..caller_of(who) }
}

fn caller_of(who: &str) -> Caller {
    let mut caller = testkit::caller(Platform::Telegram);
    caller.sender.id = who.into();
    caller.sender.name = who.into();
    caller
}

fn wish(say: &str, to: Option<Address>) -> NewSchedule {
    NewSchedule {
        owner: owner("chat", "ada"),
        direct: false,
        locale: None,
        name: String::new(),
        say: say.into(),
        when: "every day at 8:00".into(),
        zone: None,
        missed: Missed::Latest,
        to,
        by_operator: false,
    }
}

async fn only(stores: &Stores) -> Schedule {
    let mut all = stores.schedules.schedules(&ScheduleQuery::default()).await.unwrap();
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

fn now() -> u64 {
    TurnId::new().at_ms()
}

/// Makes it due at a time, which may be past.
async fn make_due(gateway: &InABox, stores: &Stores, id: ScheduleId, at_ms: u64) {
    let mut schedule = stores.schedules.schedule(id).await.unwrap().unwrap();
    schedule.version += 1;
    schedule.next_ms = Some(at_ms);
    stores.schedules.put(&schedule).await.unwrap();
    // Whoever keeps the time hears of changes that are made through the gateway.
    let another = gateway.gateway.schedule_add(NewSchedule { name: "another".into(), ..wish("/noop x", None) });
    let another = another.await.unwrap();
    assert!(gateway.gateway.schedule_remove(another.id).await.unwrap());
}

/// Waits until a run, another than `than`, is over.
async fn ran(gateway: &InABox, stores: &Stores, id: ScheduleId, than: Option<TurnId>) -> Schedule {
    for _ in 0..2_000 {
        let schedule = stores.schedules.schedule(id).await.unwrap().unwrap();
        if let Some(last) = schedule.last.filter(|last| Some(last.turn) != than) {
            let record = gateway.gateway.record(last.turn).await.unwrap().unwrap();
            if record.state == TurnState::Done {
                return schedule;
            }
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it did not run: {:#?}", stores.schedules.schedule(id).await);
}

fn slack(chat: &str) -> Address {
    Address::new(Platform::Slack, "main", chat)
}

/// Something is said there, so that the conversation is known.
async fn spoken(gateway: &InABox, outlet: &Recorder, message: Message) {
    let before = outlet.finals().len();
    let Accepted::Turn { id, .. } = gateway.gateway_accept(message).await else { panic!("not a turn") };
    gateway.ended(id).await;
    until("it is answered", || outlet.finals().len() > before).await;
}

/// What a gateway says to a message in a chat.
async fn answered(gateway: &InABox, message: Message) -> String {
    gateway.say_as(message).await.text
}

fn opened() -> Gate {
    Gate::opened()
}

//! Many kills at random moments, under traffic. `E2E_SEED=N` tries other moments.

use std::time::Duration;

use sim::telegram::{Fault, fault};

use crate::{
    chat::Asked,
    gateway::Gateway,
    world::{World, on_both_stores},
};

on_both_stores!(
    kills_at_random_moments_lose_nothing_and_repeat_nothing_silently,
    one_process_after_another_answers_everything_once,
);

const KILLS: u32 = 25;
const REPLACEMENTS: u32 = 6;
const CHATS: u32 = 8;

async fn kills_at_random_moments_lose_nothing_and_repeat_nothing_silently(world: World) {
    let mut traffic = Traffic::new(&world);
    for _ in 0..KILLS {
        let mut gateway = world.launch();
        traffic.flows().await;
        match traffic.random.below(6) {
            // In order, for a change.
            0 => {
                gateway.terminate();
                gateway.ended().await;
            }
            _ => gateway.kill(),
        }
    }
    traffic.ended_well(&world.start().await).await;
}

async fn one_process_after_another_answers_everything_once(world: World) {
    let mut traffic = Traffic::new(&world);
    let mut present = world.start().await;
    for _ in 0..REPLACEMENTS {
        let next = world.launch();
        traffic.flows().await;
        next.is_up().await;
        traffic.flows().await;
        match traffic.random.below(3) {
            0 => present.kill(),
            _ => {
                present.terminate();
                traffic.flows().await;
                assert_eq!(present.ended().await.code(), Some(0));
            }
        }
        next.is_ready().await;
        present = next;
    }
    traffic.ended_well(&present).await;
}

/// People who ask for things all the time, and what goes wrong meanwhile.
struct Traffic<'a> {
    world: &'a World,
    random: Random,
    asked: Vec<(Asked, String)>,
}

impl<'a> Traffic<'a> {
    fn new(world: &'a World) -> Self {
        let seed = std::env::var("E2E_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        let random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        Self { world, random, asked: Vec::new() }
    }

    async fn flows(&mut self) {
        let (world, random) = (self.world, &mut self.random);
        world.service.takes(Duration::from_millis(u64::from(random.below(80))));
        for _ in 0..3 {
            let tag = self.asked.len().to_string();
            let words = line(random.below(5), &tag);
            self.asked.push((world.chat(&format!("team {}", random.below(CHATS))).says(&words), tag));
            tokio::time::sleep(Duration::from_millis(u64::from(random.below(200)))).await;
        }
        match random.below(4) {
            0 => world.loses_answer("sendMessage"),
            1 => world.delays("sendMessage", 0.2),
            2 => world.fault(Fault { count: Some(2), ..Fault::new(fault::Kind::Duplicate) }),
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(u64::from(random.below(400)))).await;
    }

    async fn ended_well(&self, gateway: &Gateway) {
        for (asked, _) in &self.asked {
            asked.answer().await;
        }
        self.asked[0].0.quiet(gateway).await;
        for (asked, tag) in &self.asked {
            let reference = ended_well(self.world, asked, tag);
            gateway.tree(&reference).await;
        }
        self.world.no_rule_was_broken();
    }
}

fn line(kind: u32, tag: &str) -> String {
    match kind {
        0 => format!("/look tag={tag}"),
        1 => format!("/act tag={tag}"),
        2 => format!("/look tag={tag}\n/act tag={tag}\n/sleep 30"),
        3 => format!("/pair tag={tag}"),
        _ => "/sleep 50".to_owned(),
    }
}

/// One answer, whatever follows has the mark, and it tells the truth. Gives its reference.
fn ended_well(world: &World, asked: &Asked, tag: &str) -> String {
    let answers = asked.answers();
    let told = format!("'{}': {answers:#?}", asked.text);
    assert!(answers[1..].iter().all(|seen| seen.is_marked()), "repeated without the mark: {told}");
    let (acted, text) = (world.service.count("act", tag), &answers[0].text);
    assert!(acted <= 1, "it acted {acted} times: {told}");
    let is_done = text.contains("done: act");
    assert!(!is_done || acted == 1, "it says that it acted: {told}");
    let said_so = is_done || text.contains("not known") || text.contains("code: crashed");
    assert!(acted == 0 || said_so, "it acted and does not say so: {told}");
    assert!(answers.iter().all(|seen| seen.reference() == answers[0].reference()), "of one turn: {told}");
    answers[0].reference()
}

/// The same numbers on each run.
struct Random(u64);

impl Random {
    fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 >> 33).unwrap_or(0) % most
    }
}

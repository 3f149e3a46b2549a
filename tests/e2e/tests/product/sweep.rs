//! Many kills at random moments, under traffic. `E2E_SEED=N` tries other moments.

use std::time::Duration;

use sim::telegram::{Fault, fault};

use crate::{
    chat::Asked,
    world::{World, on_both_stores},
};

on_both_stores!(kills_at_random_moments_lose_nothing_and_repeat_nothing_silently);

const KILLS: u32 = 25;
const CHATS: u32 = 8;

async fn kills_at_random_moments_lose_nothing_and_repeat_nothing_silently(world: World) {
    let seed = std::env::var("E2E_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
    let mut asked = Vec::new();
    for kill in 0..KILLS {
        let gateway = world.launch();
        for n in 0..3 {
            let tag = format!("{kill}-{n}");
            let words = line(random.below(5), &tag);
            asked.push((world.chat(&format!("team {}", random.below(CHATS))).says(&words), tag));
            tokio::time::sleep(Duration::from_millis(u64::from(random.below(200)))).await;
        }
        match random.below(4) {
            0 => world.loses_answer("sendMessage"),
            1 => world.delays("sendMessage", 0.2),
            2 => world.fault(Fault { count: Some(2), ..Fault::new(fault::Kind::Duplicate) }),
            _ => {}
        }
        tokio::time::sleep(Duration::from_millis(u64::from(random.below(400)))).await;
        gateway.kill();
    }
    let gateway = world.start().await;
    for (asked, _) in &asked {
        asked.answer().await;
    }
    asked[0].0.quiet(&gateway).await;
    for (asked, tag) in &asked {
        let reference = ended_well(&world, asked, tag);
        gateway.tree(&reference).await;
    }
    world.no_rule_was_broken();
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
    let is_done = text.contains("done: act") || asked.text.starts_with("/pair") && text.starts_with("act");
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

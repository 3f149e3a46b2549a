//! Redis hangs, or dies and comes back, under load: chats are told why, nothing is lost, and it goes on at once.
//! `E2E_AWAY=SECONDS` keeps it away for longer.

use std::time::Duration;

use crate::{
    chat::Asked,
    database::{Database, Kind, Redis},
    gateway::Gateway,
    world::World,
};

/// What a chat reads while nothing can be stored.
const AWAY: &str = "I cannot take messages at present";
const CHATS: usize = 6;

/// Longer than a lease lasts.
fn long() -> Duration {
    let asked = std::env::var("E2E_AWAY").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(asked.unwrap_or(12))
}

#[tokio::test]
async fn a_store_that_hangs_for_a_moment_costs_nothing() {
    let mut scene = Scene::new().await;
    scene.under_way().await;
    scene.redis().freeze();
    scene.speaks("during");
    tokio::time::sleep(Duration::from_secs(3)).await;
    scene.redis().thaw();
    scene.ends_well().await;
}

#[tokio::test]
async fn a_store_that_hangs_for_long_is_told_of_once_in_each_conversation() {
    let mut scene = Scene::new().await;
    scene.under_way().await;
    scene.redis().freeze();
    scene.speaks("during");
    scene.let_go();
    tokio::time::sleep(long()).await;
    scene.was_told();
    let (status, conditions) = scene.gateway.readiness().await;
    assert_eq!(status, 503, "{conditions}");
    scene.redis().thaw();
    scene.ends_well().await;
}

#[tokio::test]
async fn a_store_that_is_gone_for_a_moment_and_for_long_has_lost_nothing_when_it_is_back() {
    let mut scene = Scene::new().await;
    for (away, time) in [("moment", Duration::from_secs(3)), ("long", long())] {
        scene.under_way().await;
        scene.redis().kill();
        scene.speaks(away);
        scene.let_go();
        tokio::time::sleep(time).await;
        scene.was_told();
        scene.redis().restart().await;
        scene.ends_well().await;
    }
}

#[tokio::test]
async fn gateway_and_store_die_together_and_nothing_is_lost() {
    let mut scene = Scene::new().await;
    for round in 0..5 {
        scene.under_way().await;
        scene.speaks(&format!("round{round}"));
        tokio::time::sleep(Duration::from_millis(30 * round)).await;
        scene.redis().kill();
        scene.let_go();
        scene.restarts().await;
        scene.asked[0].0.quiet(&scene.gateway).await;
    }
    for (asked, tag) in &scene.asked {
        asked.answer().await;
        let mut answers = asked.answers();
        answers.retain(|seen| !seen.text.contains(AWAY));
        assert!(answers[1..].iter().all(|seen| seen.is_marked()), "'{}': {answers:#?}", asked.text);
        assert!(scene.world.service.count("act", tag) <= 1, "'{}' acted twice", asked.text);
    }
}

#[tokio::test]
async fn a_once_call_is_not_started_while_its_start_cannot_be_written() {
    let mut scene = Scene::new().await;
    scene.world.service.hold("look");
    let asked = scene.world.chat("team").says("/pair tag=a");
    scene.world.service.asked("look", "a", 1).await;
    scene.redis().kill();
    scene.world.service.let_go("look");
    // The call is refused at once; only its reply waits for the store.
    scene.gateway.logged("\"code\":\"store\"").await;
    scene.redis().restart().await;
    let answer = asked.answered_once_unmarked(&scene.gateway).await;
    assert!(answer.text.contains("was not started"), "{answer:?}");
    assert_eq!(scene.world.service.count("act", "a"), 0);
}

#[tokio::test]
async fn an_operator_sees_records_and_trees_in_redis() {
    let mut scene = Scene::new().await;
    let answer = scene.world.chat("team").says("/act tag=a").answered_once_unmarked(&scene.gateway).await;
    let reference = answer.reference();
    scene.gateway.tree(&reference).await;
    let keys = scene.redis().keys("toolgate:*");
    let has = |what: &str| keys.iter().any(|key| key.contains(what));
    for what in [":turn:", ":seen:", ":lease", &format!("toolgate:tree:{{{reference}}}"), "toolgate:cursor:"] {
        assert!(has(what), "'{what}' is not among {keys:#?}");
    }
}

/// A gateway on Redis with people who talk to it.
struct Scene {
    world: World,
    gateway: Gateway,
    asked: Vec<(Asked, String)>,
    rounds: usize,
}

impl Scene {
    async fn new() -> Self {
        let world = World::new(Kind::Redis).await;
        let gateway = world.start().await;
        Self { world, gateway, asked: Vec::new(), rounds: 0 }
    }

    fn redis(&mut self) -> &mut Redis {
        match &mut self.world.database {
            Database::Redis(redis) => redis,
            Database::Sqlite(_) => panic!("this scene is about Redis"),
        }
    }

    fn says(&mut self, chat: usize, tool: &str, tag: String) {
        let asked = self.world.chat(&format!("team {chat}")).says(&format!("/{tool} tag={tag}"));
        self.asked.push((asked, tag));
    }

    /// The gateway is killed, too; both come back.
    async fn restarts(&mut self) {
        self.gateway.kill_here();
        self.redis().restart().await;
        self.gateway = self.world.start().await;
    }

    /// Turns run in two of the chats, a repeatable and a once call.
    async fn under_way(&mut self) {
        self.rounds += 1;
        self.world.service.hold("look");
        self.world.service.hold("act");
        for (chat, tool) in ["look", "act"].into_iter().enumerate() {
            let tag = format!("{tool}-{}", self.rounds);
            self.says(chat, tool, tag.clone());
            self.world.service.asked(tool, &tag, 1).await;
        }
    }

    /// Everybody says two things.
    fn speaks(&mut self, when: &str) {
        for chat in 0..CHATS {
            self.says(chat, "look", format!("{when}-look-{chat}"));
            self.says(chat, "act", format!("{when}-act-{chat}"));
        }
    }

    fn let_go(&self) {
        self.world.service.let_go("look");
        self.world.service.let_go("act");
    }

    fn told(&self, chat: usize) -> usize {
        let seen = self.world.chat(&format!("team {chat}")).seen();
        seen.iter().filter(|seen| seen.text.contains(AWAY)).count()
    }

    /// Each conversation was told once for each time that the store was away.
    fn was_told(&self) {
        let told: Vec<_> = (0..CHATS).map(|chat| self.told(chat)).collect();
        assert!(told.iter().all(|times| *times == self.rounds), "{told:?}");
    }

    /// All that was said is answered once, and nothing was done twice.
    async fn ends_well(&mut self) {
        let back = std::time::Instant::now();
        self.let_go();
        for (asked, _) in &self.asked {
            asked.answer_with("done: ").await;
        }
        eprintln!("all is answered {} ms after the store's return", back.elapsed().as_millis());
        self.asked[0].0.quiet(&self.gateway).await;
        for (asked, tag) in &self.asked {
            let mut answers = asked.answers();
            answers.retain(|seen| !seen.text.contains(AWAY));
            assert_eq!(answers.len(), 1, "'{}': {answers:#?}", asked.text);
            assert!(self.world.service.count("act", tag) <= 1, "'{}' acted twice", asked.text);
            self.gateway.tree(&answers[0].reference()).await;
        }
        for chat in 0..CHATS {
            assert!(self.told(chat) <= self.rounds, "told more than once");
        }
        let (status, conditions) = self.gateway.readiness().await;
        assert_eq!(status, 200, "{conditions}");
        self.world.no_rule_was_broken();
    }
}

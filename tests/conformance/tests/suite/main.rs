//! One list of cases; each runs once on every platform, as a test of its own.

mod hearing;

/// Each case of a module on each platform.
#[macro_export]
macro_rules! on_every_platform {
    ($($case:ident),* $(,)?) => { $(
        mod $case {
            use contract::Platform;

            use conformance::Stage;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn discord() {
                super::$case(Stage::new(Platform::Discord).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn telegram() {
                super::$case(Stage::new(Platform::Telegram).await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn slack() {
                super::$case(Stage::new(Platform::Slack).await).await;
            }
        }
    )* };
}

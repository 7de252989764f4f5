//! Tests of documents that are fetched again and again.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::time;

use super::*;

/// A document of which every fetch takes a second and gives its number, or fails if there is no source.
struct Source {
    latest: Arc<Latest<usize>>,
    fetches: Arc<AtomicUsize>,
    works: Arc<AtomicUsize>,
    tasks: Tasks,
}

impl Source {
    fn new() -> Self {
        let (fetches, works) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(1)));
        let (count, source) = (Arc::clone(&fetches), Arc::clone(&works));
        let tasks = Tasks::default();
        let latest = Latest::new("test", &tasks, move || {
            let number = count.fetch_add(1, Ordering::Relaxed) + 1;
            let works = source.load(Ordering::Relaxed) == 1;
            Box::pin(async move {
                time::sleep(Duration::from_secs(1)).await;
                if works { Ok(number) } else { Err(AskError::Garbage) }
            })
        });
        Self {
            latest: Arc::new(latest),
            fetches,
            works,
            tasks,
        }
    }

    fn set(&self, works: bool) {
        self.works.store(usize::from(works), Ordering::Relaxed);
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }

    async fn value(&self) -> Option<usize> {
        match self.latest.now(now()) {
            Now::There(value) => Some(*value),
            Now::Coming(coming) => coming.value().await.map(|value| *value),
            Now::Missing => None,
        }
    }
}

fn now() -> Instant {
    time::Instant::now().into_std()
}

#[tokio::test(start_paused = true)]
async fn all_who_come_at_once_share_one_fetch() {
    let source = Source::new();
    let all = futures_util::future::join_all((0..50).map(|_| source.value())).await;
    assert_eq!(all, vec![Some(1); 50]);
    assert_eq!(source.fetches(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_goes_on_if_who_began_it_leaves() {
    let source = Source::new();
    let first = time::timeout(Duration::from_millis(1), source.value()).await;
    assert!(first.is_err());
    assert_eq!((source.value().await, source.fetches()), (Some(1), 1));
}

#[tokio::test(start_paused = true)]
async fn an_old_document_is_used_while_a_new_one_is_fetched() {
    let source = Source::new();
    source.value().await;
    time::advance(FRESH).await;
    assert_eq!((source.value().await, source.value().await), (Some(1), Some(1)));
    time::sleep(Duration::from_secs(2)).await;
    assert_eq!((source.value().await, source.fetches()), (Some(2), 2));
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_keeps_what_is_there_and_is_made_again_after_a_pause() {
    let source = Source::new();
    source.value().await;
    source.set(false);
    time::advance(FRESH).await;
    assert_eq!(source.value().await, Some(1));
    time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        (source.value().await, source.fetches()),
        (Some(1), 2),
        "not at once"
    );
    source.set(true);
    time::advance(PAUSE).await;
    assert_eq!(source.value().await, Some(1));
    time::sleep(Duration::from_secs(2)).await;
    assert_eq!((source.value().await, source.fetches()), (Some(3), 3));
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_had_is_tried_once_a_second() {
    let source = Source::new();
    source.set(false);
    for _ in 0..10 {
        assert_eq!(source.value().await, None);
    }
    assert_eq!(source.fetches(), 1);
    time::advance(RETRY).await;
    source.set(true);
    assert_eq!((source.value().await, source.fetches()), (Some(2), 2));
}

#[tokio::test(start_paused = true)]
async fn a_newer_one_is_looked_for_only_now_and_then() {
    let source = Source::new();
    source.value().await;
    assert!(source.latest.newer(now()).is_none());
    time::advance(PAUSE).await;
    let coming = source.latest.newer(now()).unwrap();
    let joined = source.latest.newer(now()).unwrap();
    assert_eq!(
        (coming.value().await.as_deref(), joined.value().await.as_deref()),
        (Some(&2), Some(&2))
    );
    assert!(source.latest.newer(now()).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_fetch_whose_task_is_gone_does_not_stand_in_the_way() {
    let source = Source::new();
    let (landed, flight) = watch::channel(());
    source.latest.lock().flight = Some(flight);
    drop(landed);
    assert_eq!(source.value().await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn it_ends_with_the_process() {
    let source = Source::new();
    let began = time::timeout(Duration::from_millis(1), source.value()).await;
    assert!(began.is_err());
    let drained = source.tasks.drain(Duration::from_millis(1)).await;
    assert_eq!(drained, crate::tasks::Drained::Complete);
}

#[tokio::test]
async fn filters_of_one_document_share_it_and_nobody_keeps_it() {
    let (shared, tasks) = (Shared::default(), Tasks::default());
    let make = || Latest::<u8>::new("test", &tasks, || Box::pin(async { Ok(1) }));
    let (one, same) = (shared.of("a", make), shared.of("a", make));
    assert!(Arc::ptr_eq(&one, &same));
    drop((one, same));
    let _other = shared.of("b", make);
    assert_eq!(shared.0.lock().unwrap().len(), 1);
}

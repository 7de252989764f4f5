//! A source and those who name it.

use std::collections::VecDeque;
use std::sync;

use tokio::sync::Notify;

use super::*;

type Answer = Result<Option<Vec<Route>>, BoxError>;

/// Gives one answer after the other, and then none at all.
#[derive(Default)]
struct Script {
    answers: sync::Mutex<VecDeque<Answer>>,
    called: Notify,
}

impl RouteSource for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn load(&self) -> Loading<'_> {
        let next = self.answers.lock().unwrap().pop_front();
        Box::pin(async {
            match next {
                Some(answer) => answer,
                None => pending().await,
            }
        })
    }

    fn changed(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.called.notified())
    }
}

fn supply(answers: impl IntoIterator<Item = Answer>) -> (Arc<Script>, Arc<Supply>) {
    let script = Arc::new(Script {
        answers: sync::Mutex::new(answers.into_iter().collect()),
        called: Notify::new(),
    });
    let supply = Supply::new(Arc::clone(&script) as _);
    (script, Arc::new(supply))
}

fn routes(text: &str) -> Answer {
    Ok(Some(eskip::parse(text).unwrap()))
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_answer_is_given_up_and_what_it_gave_stays() {
    let (_script, supply) = supply([routes("a: * -> <shunt>;"), Ok(None)]);
    assert_eq!(supply.ask().await, Ok(()));
    let given = supply.given();
    assert_eq!(given.as_deref().map(<[Route]>::len), Some(1));
    assert_eq!(supply.ask().await, Ok(()), "nothing is new");
    assert_eq!(supply.ask().await, Err("it takes too long".to_owned()));
    assert!(is_same(supply.given().as_ref(), given.as_ref()));
}

#[tokio::test(start_paused = true)]
async fn the_same_routes_once_more_are_no_change() {
    let text = "a: * -> <shunt>;";
    let (_script, supply) = supply([routes(text), routes(text), routes("")]);
    supply.ask().await.unwrap();
    let first = supply.given();
    supply.ask().await.unwrap();
    assert!(is_same(supply.given().as_ref(), first.as_ref()));
    supply.ask().await.unwrap();
    assert_eq!(
        supply.given().as_deref(),
        Some([].as_slice()),
        "no route is an answer"
    );
}

#[tokio::test(start_paused = true)]
async fn all_who_wait_are_called_by_what_one_of_them_was_given() {
    let (script, supply) = supply([routes("a: * -> <shunt>;")]);
    let mut one = Box::pin(Arc::clone(&supply).called(None));
    let mut other = Box::pin(Arc::clone(&supply).called(None));
    assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
    script.called.notify_one();
    one.await;
    assert!((&mut other).now_or_never().is_none(), "only one was told");
    supply.ask().await.unwrap();
    other.await;
}

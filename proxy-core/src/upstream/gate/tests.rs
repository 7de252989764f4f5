//! Waiting for connections, on a paused clock.

use std::net::SocketAddr;

use super::*;

fn key() -> Key {
    SocketAddr::from(([127, 0, 0, 1], 80)).into()
}

async fn enter(gate: &Arc<Gate>) -> Result<Grant, Failure> {
    gate.enter(key(), Protocol::Http1, 0).await
}

fn connection(grant: Grant) -> Connection<Io> {
    match grant {
        Grant::Permit(permit) => Connection::new(permit.hold(Box::new(tokio::io::duplex(64).0))),
        Grant::Channel(Channel::Http1(connection, _)) => connection,
        Grant::Channel(Channel::Http2(..)) => unreachable!("nobody shares one"),
    }
}

/// A connection, and its other end, which must stay.
fn opened(grant: Grant) -> (Connection<Io>, tokio::io::DuplexStream) {
    let Grant::Permit(permit) = grant else {
        unreachable!("none is open yet")
    };
    let (near, far) = tokio::io::duplex(64);
    (Connection::new(permit.hold(Box::new(near))), far)
}

#[tokio::test(start_paused = true)]
async fn those_who_come_too_late_wait_in_order() {
    let gate = Arc::new(Gate::new(1));
    let first = connection(enter(&gate).await.unwrap());
    let (mut second, mut third) = (Box::pin(enter(&gate)), Box::pin(enter(&gate)));
    assert!(futures_util::poll!(&mut second).is_pending());
    assert!(futures_util::poll!(&mut third).is_pending());
    drop(first);
    assert!(futures_util::poll!(&mut third).is_pending(), "it is not its turn");
    let second = second.await.unwrap();
    assert!(matches!(second, Grant::Permit(_)));
    drop(second);
    assert!(third.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn whoever_leaves_frees_its_place() {
    let gate = Arc::new(Gate::new(1));
    let first = connection(enter(&gate).await.unwrap());
    let (mut second, mut third) = (Box::pin(enter(&gate)), Box::pin(enter(&gate)));
    assert!(futures_util::poll!(&mut second).is_pending());
    assert!(futures_util::poll!(&mut third).is_pending());
    drop(second);
    drop(first);
    let third = third.await.unwrap();
    drop(third);
    // One that was granted and left before it looked gives it back, too.
    let held = enter(&gate).await.unwrap();
    let mut late = Box::pin(enter(&gate));
    assert!(futures_util::poll!(&mut late).is_pending());
    drop(held);
    drop(late);
    assert!(enter(&gate).await.is_ok());
    assert_eq!(gate.lock().open, 0);
}

#[tokio::test(start_paused = true)]
async fn waiting_has_an_end_and_so_has_the_queue() {
    let gate = Arc::new(Gate::new(1));
    let _first = connection(enter(&gate).await.unwrap());
    let begin = Instant::now();
    assert_eq!(enter(&gate).await.unwrap_err().reason, Reason::Busy);
    assert_eq!(begin.elapsed(), PATIENCE);
    let mut many = Vec::new();
    for _ in 0..WAITING_LEAST {
        let mut one = Box::pin(enter(&gate));
        assert!(futures_util::poll!(&mut one).is_pending());
        many.push(one);
    }
    assert_eq!(enter(&gate).await.unwrap_err().reason, Reason::Busy);
    assert_eq!(begin.elapsed(), PATIENCE, "at once");
}

#[tokio::test(start_paused = true)]
async fn a_connection_goes_to_the_next_who_can_use_it_and_else_makes_room() {
    let gate = Arc::new(Gate::new(1));
    let (first, _far) = opened(enter(&gate).await.unwrap());
    let mut second = Box::pin(enter(&gate));
    assert!(futures_util::poll!(&mut second).is_pending());
    gate.give_back(first, key(), (0, PATIENCE), None);
    let Grant::Channel(Channel::Http1(again, _)) = second.await.unwrap() else {
        unreachable!("the connection is handed over")
    };
    // Another worker cannot use it: it is closed, whether it is idle already or not.
    let mut other = Box::pin(gate.enter(key(), Protocol::Http1, 1));
    assert!(futures_util::poll!(&mut other).is_pending());
    gate.give_back(again, key(), (0, PATIENCE), None);
    let (own, _far) = opened(other.await.unwrap());
    gate.give_back(own, key(), (1, PATIENCE), None);
    assert_eq!(gate.lock().idle.len(), 1);
    assert!(matches!(enter(&gate).await.unwrap(), Grant::Permit(_)));
    assert!(gate.lock().idle.is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_limit_counts_those_that_are_open() {
    let gate = Arc::new(Gate::new(2));
    let (first, second) = (enter(&gate).await.unwrap(), enter(&gate).await.unwrap());
    gate.allow(1);
    let mut third = Box::pin(enter(&gate));
    assert!(futures_util::poll!(&mut third).is_pending());
    drop(first);
    assert!(futures_util::poll!(&mut third).is_pending(), "one is still open");
    drop(second);
    let third = third.await.unwrap();
    let mut fourth = Box::pin(enter(&gate));
    let mut left = Box::pin(enter(&gate));
    assert!(futures_util::poll!(&mut left).is_pending());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    drop(left);
    gate.allow(2);
    let fourth = fourth.await.unwrap();
    let mut fifth = Box::pin(enter(&gate));
    assert!(futures_util::poll!(&mut fifth).is_pending());
    drop((third, fourth));
    drop(fifth.await.unwrap());
    assert_eq!(gate.lock().open, 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_idle_for_too_long_is_closed() {
    let gate = Arc::new(Gate::new(1));
    let (first, _far) = opened(enter(&gate).await.unwrap());
    gate.give_back(first, key(), (0, PATIENCE), None);
    gate.sweep(Instant::now());
    assert_eq!(gate.lock().idle.len(), 1);
    gate.sweep(Instant::now() + PATIENCE);
    assert!(gate.lock().idle.is_empty());
    assert_eq!(gate.lock().open, 0);
}

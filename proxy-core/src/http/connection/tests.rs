//! What is counted and told of connections.

use super::*;

#[test]
fn an_ipv4_mapped_peer_is_an_ipv4_peer() {
    let connection = Connection::new("[::ffff:10.1.2.3]:9".parse().unwrap(), false);

    assert_eq!(connection.peer(), "10.1.2.3:9".parse().ok());
    assert_eq!(connection.peer_ip().unwrap(), "10.1.2.3");
}

#[test]
fn a_head_has_started_once_bytes_came_after_the_last_request() {
    let state = Arc::<ConnState>::default();
    assert!(
        state.activity().head_started,
        "nothing served yet: the first head is awaited"
    );
    state.on_read(1);
    drop(state.begin());
    assert!(!state.activity().head_started);
    state.on_read(1);
    assert!(state.activity().head_started);
}

#[tokio::test]
async fn the_stronger_command_wins() {
    let state = ConnState::default();
    state.command(Command::Close);
    state.command(Command::Drain);

    assert_eq!(state.commanded().await, Command::Close);
    assert_eq!(state.commanded().await, Command::Close, "it stays");
}

#[tokio::test]
async fn a_time_out_is_given_once() {
    let state = ConnState::default();
    state.command(Command::TimeOut);
    state.command(Command::Drain);

    assert_eq!(state.commanded().await, Command::TimeOut);
    assert_eq!(state.commanded().await, Command::Drain);
}

#[test]
fn a_connection_of_one_request_at_a_time_counts_it() {
    let state = ConnState::default();
    state.on_phase(Phase::Request);
    state.on_phase(Phase::Body);
    assert_eq!(
        (state.activity().in_flight, state.activity().awaits_body),
        (1, true)
    );
    state.on_phase(Phase::Head);
    assert_eq!((state.activity().in_flight, state.activity().served), (0, 1));
}

#[test]
fn interim_bytes_are_taken_once() {
    let state = ConnState::default();
    state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");

    assert!(state.take_interim().is_some());
    assert!(state.take_interim().is_none());
}

#[test]
fn interim_responses_that_a_client_does_not_take_do_not_pile_up() {
    let state = ConnState::default();
    for _ in 0..10_000 {
        state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");
    }
    let queued = state.take_interim().unwrap();

    assert!(queued.len() <= MAX_INTERIM, "{}", queued.len());
    assert!(queued.ends_with(b"\r\n\r\n"), "none is cut");
    state.push_interim(b"HTTP/1.1 103 Early Hints\r\n\r\n");
    assert!(state.take_interim().is_some(), "there is room again");
}

#[test]
fn an_offer_that_is_not_taken_grows_old() {
    let state = Arc::<ConnState>::default();
    assert!(state.offer().is_none(), "a connection of one stream needs none");
    state.set_multiplexed();
    let offer = state.offer();
    assert_eq!(state.next_period(), 0, "it came in the middle of the period");
    assert_eq!(state.next_period(), 1);
    assert_eq!(state.next_period(), 2);
    drop(offer);
    assert_eq!(state.next_period(), 0);
}

#[test]
fn offers_that_are_taken_in_time_never_grow_old() {
    let state = Arc::<ConnState>::default();
    state.set_multiplexed();
    let mut offer = state.offer();
    for _ in 0..10 {
        assert_eq!(state.next_period(), 0);
        let next = state.offer();
        drop(std::mem::replace(&mut offer, next));
    }
}

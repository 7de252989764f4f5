//! Limits by ticks, without a clock.

use futures_util::FutureExt as _;

use super::*;

fn ticks_until(commands: u32, activity: Activity) -> Option<(u32, Command)> {
    let mut watch = Watch::default();
    (1..=commands).find_map(|tick| Some((tick, watch.tick(activity, &ConnLimits::default())?)))
}

#[test]
fn a_silent_connection_is_closed_after_the_head_timeout() {
    let silent = Activity {
        head_started: true,
        ..Activity::default()
    };
    assert_eq!(ticks_until(100, silent), Some((61, Command::TimeOut)));
}

/// After how many ticks a body of which `rate` bytes come in each second is given up.
fn body_ticks(rate: u64, awaits_body: impl Fn(u64) -> bool) -> Option<u64> {
    let mut watch = BodyWatch::default();
    (1..=1000).find(|second| {
        let activity = Activity {
            in_flight: 1,
            awaits_body: awaits_body(*second),
            // A head came before.
            read: 1000 + second * rate,
            ..Activity::default()
        };
        watch.tick(activity, &ConnLimits::default()) == Some(Command::TimeOut)
    })
}

#[test]
fn a_body_of_which_too_little_comes_is_given_up() {
    assert_eq!(body_ticks(0, |_| true), Some(61));
    assert_eq!(body_ticks(1, |_| true), None);
}

#[test]
fn a_client_is_not_blamed_while_the_upstream_does_not_read() {
    assert_eq!(body_ticks(0, |second| second % 50 != 0), None);
}

#[test]
fn a_client_that_does_not_close_after_the_last_answer_is_closed() {
    let closing = Activity {
        served: 1,
        closing: true,
        ..Activity::default()
    };
    assert_eq!(ticks_until(100, closing), Some((6, Command::Close)));
}

#[test]
fn an_idle_connection_is_drained_after_the_idle_timeout() {
    let idle = Activity {
        served: 1,
        ..Activity::default()
    };
    assert_eq!(ticks_until(400, idle), Some((301, Command::Drain)));
}

#[test]
fn a_connection_that_does_not_end_by_itself_is_closed() {
    let mut watch = Watch::default();
    let idle = Activity {
        served: 1,
        ..Activity::default()
    };
    let closed = (1..=400).find(|_| watch.tick(idle, &ConnLimits::default()) == Some(Command::Close));
    assert_eq!(closed, Some(361));
}

#[tokio::test]
async fn a_stream_that_takes_nothing_ends_its_connection_gently_then_at_once() {
    let connections = Arc::new(Connections::default());
    let state = Arc::<ConnState>::default();
    state.set_multiplexed();
    let _registration = connections.register(Arc::clone(&state), ConnLimits::default());
    let request = state.begin();
    let _offer = request.offer();
    let mut commands = Vec::new();
    for tick in 1..=180 {
        connections.sweep();
        let command = state.commanded().now_or_never();
        if command != commands.last().map(|(_, last)| *last) {
            commands.extend(command.map(|command| (tick, command)));
        }
    }
    assert_eq!(commands, [(120, Command::Drain), (180, Command::Close)]);
}

#[tokio::test]
async fn a_client_that_opens_streams_on_and_on_has_two_ticks_and_then_the_time_of_its_last_stream() {
    let connections = Arc::new(Connections::default());
    let state = Arc::new(ConnState::in_group(Group(1)));
    state.set_multiplexed();
    state.set_admitted();
    let _registration = connections.register(Arc::clone(&state), ConnLimits::default());
    let request = state.begin();
    connections.renew(Group(1), Duration::from_secs(30));
    connections.sweep();
    assert!(!state.refuses_streams());
    connections.sweep();
    assert!(state.refuses_streams());
    for _ in 0..10 {
        connections.sweep();
    }
    assert_eq!(state.commanded().now_or_never(), Some(Command::Drain));
    drop(request);
    connections.sweep();
    connections.sweep();
    assert_eq!(state.commanded().now_or_never(), Some(Command::Close));
}

#[tokio::test]
async fn other_terms_end_what_has_no_request_at_once_but_not_what_is_arriving() {
    let connections = Arc::new(Connections::default());
    let [silent, arriving] = [(), ()].map(|()| Arc::new(ConnState::in_group(Group(1))));
    silent.set_admitted();
    let _registrations =
        [&silent, &arriving].map(|state| connections.register(Arc::clone(state), ConnLimits::default()));
    connections.renew(Group(1), Duration::from_secs(30));
    assert_eq!(silent.commanded().now_or_never(), Some(Command::Drain));
    assert_eq!(arriving.commanded().now_or_never(), None);
}

#[test]
fn a_peer_that_ignores_a_drain_is_closed() {
    let deaf = Activity {
        served: 1,
        multiplexed: true,
        draining: true,
        ..Activity::default()
    };
    assert_eq!(ticks_until(100, deaf), Some((6, Command::Close)));
}

#[test]
fn a_request_in_flight_is_never_ended_while_the_client_takes_bytes() {
    let busy = Activity {
        in_flight: 1,
        ..Activity::default()
    };
    assert_eq!(ticks_until(10_000, busy), None);
}

#[test]
fn a_client_that_takes_no_byte_is_closed() {
    let stalled = Activity {
        in_flight: 1,
        write_blocked: true,
        ..Activity::default()
    };
    assert_eq!(ticks_until(100, stalled), Some((61, Command::Close)));
}

#[test]
fn a_client_that_takes_a_byte_now_and_then_is_not_closed() {
    let mut watch = Watch::default();
    for writes in 0..1000 {
        let slow = Activity {
            in_flight: 1,
            write_blocked: true,
            writes,
            ..Activity::default()
        };
        assert_eq!(watch.tick(slow, &ConnLimits::default()), None);
    }
}

#[test]
fn control_frames_do_not_turn_an_idle_http2_connection_into_a_slow_head() {
    let idle = Activity {
        served: 3,
        multiplexed: true,
        head_started: true,
        ..Activity::default()
    };
    assert_eq!(ticks_until(400, idle), Some((301, Command::Drain)));
}

#[test]
fn a_registration_counts_until_it_is_dropped() {
    let connections = Arc::new(Connections::default());
    let state = Arc::<ConnState>::default();
    let registration = connections.register(Arc::clone(&state), ConnLimits::default());
    let _request = state.begin();
    assert_eq!((connections.len(), connections.in_flight()), (1, 1));
    drop(registration);
    assert_eq!(connections.len(), 0);
}

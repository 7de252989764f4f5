//! The life of pods and sessions through rollouts, on a clock that the tests own.

use super::*;

const POD_2: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const POD_3: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);
const SECOND: Duration = Duration::from_secs(1);

/// A cluster with the first pod fresh and the second one waiting.
fn cluster() -> (Cluster, Instant) {
    let now = Instant::now();
    let mut cluster = Cluster::new("token-2".to_owned(), now);
    assert_eq!(
        cluster.tick(now),
        Chores {
            stop: vec![],
            start: Some(POD_3)
        }
    );
    cluster.add_pod(POD_3, "token-3".to_owned());
    assert_eq!(cluster.tick(now), Chores::default());
    (cluster, now)
}

/// A connected session on `pod`: its id, its owner and the number of its stream.
fn connected(cluster: &mut Cluster, pod: Ipv4Addr, now: Instant) -> (Id, Id, u64) {
    let (id, owner) = (Id::random().unwrap(), Id::random().unwrap());
    cluster.open(pod, id, owner, now).unwrap();
    let stream = cluster.session(pod, id, owner).unwrap().connect();
    (id, owner, stream)
}

fn roll_out(cluster: &mut Cluster, now: Instant) -> Chores {
    cluster.roll_out(now).unwrap();
    cluster.looked_up(cluster.fresh(), now);
    cluster.tick(now)
}

fn phase(cluster: &Cluster, pod: Ipv4Addr) -> Option<Phase> {
    cluster.pod(pod).map(|pod| pod.phase)
}

#[test]
fn a_session_keeps_counting_on_its_draining_pod_and_its_end_stops_the_pod() {
    let (mut cluster, now) = cluster();
    let (id, owner, stream) = connected(&mut cluster, POD_2, now);
    cluster.tick(now);

    let chores = roll_out(&mut cluster, now);

    assert_eq!(
        chores.start,
        Some(Ipv4Addr::new(127, 0, 0, 4)),
        "the next pod is wanted"
    );
    assert_eq!(phase(&cluster, POD_2), Some(Phase::Draining));
    assert_eq!(cluster.fresh(), POD_3);
    cluster.tick(now + SECOND);
    assert_eq!(cluster.session(POD_2, id, owner).unwrap().ticks, 3);

    cluster.session(POD_2, id, owner).unwrap().disconnect(stream, now);
    assert_eq!(
        cluster.tick(now + STREAM_GRACE - SECOND),
        Chores {
            stop: vec![],
            start: Some(Ipv4Addr::new(127, 0, 0, 4))
        }
    );
    assert_eq!(cluster.tick(now + STREAM_GRACE).stop, [POD_2]);
    assert_eq!(phase(&cluster, POD_2), None);
}

#[test]
fn a_pod_leaves_only_after_the_proxy_has_looked_the_name_up() {
    let (mut cluster, now) = cluster();
    cluster.roll_out(now).unwrap();

    cluster.tick(now);
    assert_eq!(phase(&cluster, POD_2), Some(Phase::Leaving));
    cluster.looked_up(POD_2, now);
    cluster.tick(now);
    assert_eq!(
        phase(&cluster, POD_2),
        Some(Phase::Leaving),
        "an old answer is no news"
    );
    cluster.looked_up(POD_3, now);
    cluster.tick(now);
    assert_eq!(phase(&cluster, POD_2), Some(Phase::Draining));
}

#[test]
fn a_proxy_that_never_looks_up_does_not_hold_the_roll_out_for_ever() {
    let (mut cluster, now) = cluster();
    cluster.roll_out(now).unwrap();
    assert_eq!(cluster.roll_out(now), Err(RollOutRefused::UnderWay));
    cluster.tick(now + HANDOVER_LIMIT);
    assert_eq!(phase(&cluster, POD_2), Some(Phase::Draining));
    assert!(!cluster.rolling());
}

#[test]
fn a_link_on_a_draining_pod_ends_the_session_and_on_a_fresh_one_does_not() {
    let (mut cluster, now) = cluster();
    let (id, owner, _) = connected(&mut cluster, POD_2, now);
    assert_eq!(cluster.follow_link(POD_2, id, owner), Ok(()));
    roll_out(&mut cluster, now);
    assert_eq!(cluster.follow_link(POD_2, id, owner), Err(Gone));
    assert!(cluster.session(POD_2, id, owner).is_err());
    assert_eq!(cluster.tick(now).stop, [POD_2]);
}

#[test]
fn a_session_answers_to_its_owner_on_its_pod_only() {
    let (mut cluster, now) = cluster();
    let (id, owner, _) = connected(&mut cluster, POD_2, now);
    let stranger = Id::random().unwrap();
    assert!(cluster.session(POD_2, id, stranger).is_err());
    assert_eq!(cluster.close(POD_2, id, stranger), Err(Gone));
    assert!(cluster.session(POD_3, id, owner).is_err());
    assert!(cluster.session(POD_2, id, owner).is_ok());
}

#[test]
fn a_page_that_never_connects_is_given_up() {
    let (mut cluster, now) = cluster();
    let (id, owner) = (Id::random().unwrap(), Id::random().unwrap());
    cluster.open(POD_2, id, owner, now).unwrap();
    cluster.tick(now + CONNECT_GRACE - SECOND);
    assert!(cluster.session(POD_2, id, owner).is_ok());
    cluster.tick(now + CONNECT_GRACE);
    assert!(cluster.session(POD_2, id, owner).is_err());
}

#[test]
fn a_new_stream_takes_over_and_the_end_of_the_old_one_does_not_matter() {
    let (mut cluster, now) = cluster();
    let (id, owner, first) = connected(&mut cluster, POD_2, now);
    let session = cluster.session(POD_2, id, owner).unwrap();
    let second = session.connect();
    assert!(!session.is_current(first));
    session.disconnect(first, now);
    cluster.tick(now + STREAM_GRACE * 2);
    assert!(cluster.session(POD_2, id, owner).unwrap().is_current(second));
}

#[test]
fn a_tab_in_the_background_is_kept_without_a_stream() {
    let (mut cluster, now) = cluster();
    let (id, owner, stream) = connected(&mut cluster, POD_2, now);
    let session = cluster.session(POD_2, id, owner).unwrap();
    session.hide(now);
    session.disconnect(stream, now);
    cluster.tick(now + STREAM_GRACE * 2);
    assert_eq!(cluster.session(POD_2, id, owner).unwrap().ticks, 1);
    cluster.tick(now + HIDDEN_GRACE);
    assert!(cluster.session(POD_2, id, owner).is_err());
}

#[test]
fn a_pod_takes_a_bounded_number_of_sessions() {
    let (mut cluster, now) = cluster();
    for _ in 0..MAX_SESSIONS {
        connected(&mut cluster, POD_2, now);
    }
    assert_eq!(
        cluster.open(POD_2, Id::random().unwrap(), Id::random().unwrap(), now),
        None
    );
}

#[test]
fn roll_outs_go_round_the_addresses_and_stop_when_all_are_in_use() {
    let (mut cluster, now) = cluster();
    for _ in 1..POD_ADDRESSES {
        let fresh = cluster.fresh();
        connected(&mut cluster, fresh, now);
        if let Some(address) = roll_out(&mut cluster, now).start {
            cluster.add_pod(address, "token".to_owned());
        }
    }
    assert_eq!(cluster.pods().count(), usize::from(POD_ADDRESSES));
    assert_eq!(cluster.roll_out(now), Err(RollOutRefused::NoPodReady));

    let (id, session) = cluster.pod(POD_3).unwrap().sessions.first_key_value().unwrap();
    let (id, owner) = (*id, session.owner);
    cluster.close(POD_3, id, owner).unwrap();
    assert_eq!(
        cluster.tick(now),
        Chores {
            stop: vec![POD_3],
            start: Some(POD_3)
        },
        "the address is used again"
    );
}

#[test]
fn an_address_that_cannot_be_used_is_passed_over() {
    let (mut cluster, now) = cluster();
    let wanted = roll_out(&mut cluster, now).start.unwrap();
    cluster.skip_address(wanted, "in use", now);
    let next = cluster.tick(now).start.unwrap();
    assert_ne!(next, wanted);
}

#[test]
fn the_history_is_bounded() {
    let (mut cluster, now) = cluster();
    for _ in 0..100 {
        cluster.skip_address(POD_3, "test", now);
    }
    assert_eq!(cluster.history().count(), MAX_HISTORY);
}

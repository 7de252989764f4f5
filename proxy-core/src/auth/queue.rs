//! Who is next: users take turns, and among the jobs of one user so do the clients that ask. Whoever floods the queue
//! makes nobody else wait for longer than a turn, and keeps nobody out.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};

/// Jobs of one client that may wait for one user: more would take too long to be of use to anybody, and whoever shares the
/// client's address would wait behind them.
const OF_OWNER: usize = 4;

/// Jobs that wait.
#[derive(Debug)]
pub(super) struct Queue<J> {
    users: Turns<usize, Turns<Client, VecDeque<J>>>,
    waiting: usize,
    most: usize,
}

/// Some of each, in the order of their turns. None of them is empty.
type Turns<K, Q> = VecDeque<(K, Q)>;

/// Whose job it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// What tells the user from others.
    pub(super) user: usize,
    pub(super) client: Client,
}

/// Where a request came from. An IPv6 network of 64 bits is one client: whoever has one has all of its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Client(Option<IpAddr>);

// === impl Queue ===

impl<J> Queue<J> {
    /// With room for `most` jobs.
    pub(super) const fn new(most: usize) -> Self {
        Self {
            users: VecDeque::new(),
            waiting: 0,
            most,
        }
    }

    /// The number of jobs.
    pub(super) const fn len(&self) -> usize {
        self.waiting
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Whether there is no room but in the place of another job.
    pub(super) const fn is_full(&self) -> bool {
        self.waiting >= self.most
    }

    /// Whether `owner` has as many jobs as one may have.
    pub(super) fn has_enough(&self, owner: Owner) -> bool {
        let of_user = self.users.iter().find(|(user, _)| *user == owner.user);
        of_user
            .and_then(|(_, clients)| clients.iter().find(|(client, _)| *client == owner.client))
            .is_some_and(|(_, jobs)| jobs.len() >= OF_OWNER)
    }

    /// Adds a job behind those of its owner.
    pub(super) fn push(&mut self, owner: Owner, job: J) {
        let clients = entry(&mut self.users, owner.user);
        entry(clients, owner.client).push_back(job);
        self.waiting += 1;
    }

    /// Takes the job whose turn it is.
    pub(super) fn pop(&mut self) -> Option<J> {
        let (user, mut clients) = self.users.pop_front()?;
        let (client, mut jobs) = clients.pop_front()?;
        let job = jobs.pop_front();
        if !jobs.is_empty() {
            clients.push_back((client, jobs));
        }
        if !clients.is_empty() {
            self.users.push_back((user, clients));
        }
        self.waiting = self.waiting.saturating_sub(usize::from(job.is_some()));
        job
    }

    /// Takes out the jobs that are not to be `kept`.
    pub(super) fn drain(&mut self, mut kept: impl FnMut(&J) -> bool) {
        let mut left = 0;
        self.users.retain_mut(|(_, clients)| {
            clients.retain_mut(|(_, jobs)| {
                jobs.retain(&mut kept);
                left += jobs.len();
                !jobs.is_empty()
            });
            !clients.is_empty()
        });
        self.waiting = left;
    }

    /// Takes out the job that is to make room for one of `owner`: the last one of the client that has most of the user
    /// that has most. `None` if `owner` would have no less than they.
    pub(super) fn give_way(&mut self, owner: Owner) -> Option<J> {
        let mine = self.users.iter().find(|(user, _)| *user == owner.user);
        let of_user = mine.map_or(0, |(_, clients)| all(clients));
        let of_client =
            mine.and_then(|(_, clients)| clients.iter().find(|(client, _)| *client == owner.client));
        let of_client = of_client.map_or(0, |(_, jobs)| jobs.len());

        let at =
            (0..self.users.len()).max_by_key(|at| self.users.get(*at).map(|(_, clients)| all(clients)))?;
        let (user, clients) = self.users.get_mut(at)?;
        let is_mine = *user == owner.user;
        let (most, place) = (all(clients), largest(clients)?);
        let (_, jobs) = clients.get_mut(place)?;
        if (is_mine && jobs.len() <= of_client + 1) || (!is_mine && most <= of_user + 1) {
            return None;
        }
        let job = jobs.pop_back();
        if jobs.is_empty() {
            clients.remove(place);
        }
        if clients.is_empty() {
            self.users.remove(at);
        }
        self.waiting = self.waiting.saturating_sub(usize::from(job.is_some()));
        job
    }
}

// === impl Client ===

impl From<Option<IpAddr>> for Client {
    fn from(address: Option<IpAddr>) -> Self {
        Self(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
            address @ IpAddr::V4(_) => address,
        }))
    }
}

// === helpers ===

fn entry<K: PartialEq, Q: Default>(turns: &mut Turns<K, Q>, key: K) -> &mut Q {
    let at = turns
        .iter()
        .position(|(other, _)| *other == key)
        .unwrap_or_else(|| {
            turns.push_back((key, Q::default()));
            turns.len() - 1
        });
    &mut turns[at].1
}

fn all<J>(clients: &Turns<Client, VecDeque<J>>) -> usize {
    clients.iter().map(|(_, jobs)| jobs.len()).sum()
}

fn largest<J>(clients: &Turns<Client, VecDeque<J>>) -> Option<usize> {
    (0..clients.len()).max_by_key(|at| clients.get(*at).map(|(_, jobs)| jobs.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(user: usize, client: &str) -> Owner {
        Owner {
            user,
            client: client.parse().ok().into(),
        }
    }

    fn all_of(queue: &mut Queue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn users_take_turns_and_so_do_the_clients_of_each() {
        let mut queue = Queue::new(64);
        for (user, client, job) in [
            (1, "10.0.0.1", 11),
            (1, "10.0.0.1", 12),
            (1, "10.0.0.1", 13),
            (1, "10.0.0.2", 14),
            (2, "10.0.0.1", 21),
            (2, "10.0.0.1", 22),
        ] {
            queue.push(owner(user, client), job);
        }
        assert_eq!(queue.len(), 6);
        assert_eq!(all_of(&mut queue), [11, 21, 14, 22, 12, 13]);
        assert!(queue.is_empty());
    }

    #[test]
    fn who_has_most_gives_way_and_nobody_else() {
        let mut queue = Queue::new(4);
        for job in 1..=3 {
            queue.push(owner(1, "10.0.0.1"), job);
        }
        queue.push(owner(1, "10.0.0.2"), 4);
        assert!(queue.is_full());
        // One more of the client that has most has no better right than those that wait.
        assert_eq!(queue.give_way(owner(1, "10.0.0.1")), None);
        assert_eq!(queue.give_way(owner(1, "10.0.0.3")), Some(3));
        queue.push(owner(1, "10.0.0.3"), 5);
        assert_eq!(queue.give_way(owner(2, "10.0.0.1")), Some(2));
        queue.push(owner(2, "10.0.0.1"), 6);
        assert_eq!(queue.give_way(owner(1, "10.0.0.4")), None);
        assert_eq!(all_of(&mut queue), [1, 6, 4, 5]);
    }

    #[test]
    fn where_each_has_one_nobody_gives_way() {
        let mut queue = Queue::new(3);
        for user in 0..3 {
            queue.push(owner(user, "10.0.0.1"), 0);
        }
        assert_eq!(queue.give_way(owner(3, "10.0.0.1")), None);
        assert_eq!(queue.len(), 3);
    }

    #[test]
    fn what_nobody_waits_for_makes_room() {
        let mut queue = Queue::new(64);
        for job in 0..10 {
            queue.push(owner(1, "10.0.0.1"), job);
        }
        queue.drain(|job| job % 5 == 0);
        assert_eq!(queue.len(), 2);
        assert_eq!(all_of(&mut queue), [0, 5]);
    }

    #[test]
    fn a_network_of_ipv6_is_one_client() {
        let client = |text: &str| Client::from(text.parse::<IpAddr>().ok());
        assert_eq!(client("2001:db8::1"), client("2001:db8::2:3"));
        assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
        assert_ne!(client("10.0.0.1"), client("10.0.0.2"));
    }
}

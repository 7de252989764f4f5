//! A DNS server on loopback whose answers the test sets.
//!
//! It speaks UDP, answers A and AAAA, and counts what it was asked. A name that was not set does not exist.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time;

/// What the server does with a question.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Answers with these addresses, those of the asked family only, and this TTL in seconds.
    Addresses(Vec<IpAddr>, u32),
    /// Answers with this response code and no record; `NoError` says that the name exists.
    Code(ResponseCode),
    /// Does not answer.
    Silence,
    /// Answers with the right identifier and bytes that are no DNS message.
    Garbage,
    /// Answers as said, but only after this time.
    Late(Duration, Box<Self>),
}

/// A running server; it ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct DnsServer {
    address: SocketAddr,
    zone: Arc<Zone>,
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Zone {
    replies: Mutex<HashMap<(String, RecordType), Reply>>,
    asked: watch::Sender<HashMap<(String, RecordType), usize>>,
}

// === impl DnsServer ===

impl DnsServer {
    /// Starts a server with an empty zone on 127.0.0.1 and a free port.
    pub(crate) async fn start() -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into()).await
    }

    /// Starts a server with an empty zone on `address`.
    pub(crate) async fn start_at(address: SocketAddr) -> Self {
        let socket = UdpSocket::bind(address).await.unwrap();
        let address = socket.local_addr().unwrap();
        let zone = Arc::new(Zone {
            replies: Mutex::default(),
            asked: watch::Sender::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(Arc::new(socket), Arc::clone(&zone)));
        Self {
            address,
            zone,
            _tasks: tasks,
        }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on `name` has these addresses; the TTL is in seconds.
    pub(crate) fn set(&self, name: &str, addresses: &[IpAddr], ttl: u32) {
        self.set_reply(name, &Reply::Addresses(addresses.to_vec(), ttl));
    }

    /// From now on questions for `name` of either family are answered this way.
    pub(crate) fn set_reply(&self, name: &str, reply: &Reply) {
        self.set_family(name, RecordType::A, reply.clone());
        self.set_family(name, RecordType::AAAA, reply.clone());
    }

    /// From now on questions for `name` of this family (`A` or `AAAA`) are answered this way.
    pub(crate) fn set_family(&self, name: &str, family: RecordType, reply: Reply) {
        self.zone.replies.lock().unwrap().insert(key(name, family), reply);
    }

    /// How many questions for `name` of this family have arrived; a client repeats an unanswered one.
    pub(crate) fn asked(&self, name: &str, family: RecordType) -> usize {
        self.zone
            .asked
            .borrow()
            .get(&key(name, family))
            .copied()
            .unwrap_or(0)
    }

    /// Waits until at least `count` questions for `name` of this family have arrived.
    pub(crate) async fn wait_asked(&self, name: &str, family: RecordType, count: usize) {
        let key = key(name, family);
        let mut asked = self.zone.asked.subscribe();
        let enough = asked.wait_for(|asked| asked.get(&key).is_some_and(|n| *n >= count));
        time::timeout(Duration::from_secs(30), enough)
            .await
            .expect("too few questions within 30 s")
            .unwrap();
    }
}

// === helpers ===

async fn serve(socket: Arc<UdpSocket>, zone: Arc<Zone>) {
    let mut late = JoinSet::new();
    let mut packet = [0; 4096];
    loop {
        let Ok((length, client)) = socket.recv_from(&mut packet).await else {
            // An earlier answer met a closed port.
            continue;
        };
        let Ok(question) = Message::from_vec(&packet[..length]) else {
            continue;
        };
        let mut reply = zone.reply(&question);
        let mut delay = Duration::ZERO;
        while let Reply::Late(by, then) = reply {
            delay += by;
            reply = *then;
        }
        let Some(bytes) = render(question, &reply) else {
            continue;
        };
        let socket = Arc::clone(&socket);
        late.spawn(async move {
            time::sleep(delay).await;
            let _sent = socket.send_to(&bytes, client).await;
        });
        while late.try_join_next().is_some() {}
    }
}

impl Zone {
    fn reply(&self, question: &Message) -> Reply {
        let Some(query) = question.queries.first() else {
            return Reply::Code(ResponseCode::FormErr);
        };
        let key = key(&query.name().to_ascii(), query.query_type());
        let reply = self.replies.lock().unwrap().get(&key).cloned();
        self.asked
            .send_modify(|asked| *asked.entry(key).or_default() += 1);
        reply.unwrap_or(Reply::Code(ResponseCode::NXDomain))
    }
}

/// The bytes of the answer, or none for silence.
fn render(question: Message, reply: &Reply) -> Option<Vec<u8>> {
    let query = question.queries.first()?.clone();
    let mut answer = question.into_response();
    answer.metadata.recursion_available = true;
    match reply {
        Reply::Addresses(addresses, ttl) => {
            let data = addresses.iter().map(|address| RData::from(*address));
            let asked = data.filter(|data| data.record_type() == query.query_type());
            answer.add_answers(asked.map(|data| Record::from_rdata(query.name().clone(), *ttl, data)));
        }
        Reply::Code(code) => answer.metadata.response_code = *code,
        Reply::Garbage => {
            let mut bytes = answer.metadata.id.to_be_bytes().to_vec();
            bytes.extend([0xff; 61]);
            return Some(bytes);
        }
        Reply::Silence | Reply::Late(..) => return None,
    }
    Some(answer.to_vec().unwrap())
}

fn key(name: &str, family: RecordType) -> (String, RecordType) {
    (name.trim_end_matches('.').to_ascii_lowercase(), family)
}

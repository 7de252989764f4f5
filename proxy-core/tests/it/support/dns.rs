//! A DNS server on loopback whose answers the test sets.
//!
//! It answers A, AAAA and SRV over UDP and, what is too long for that, over TCP, and counts what it was asked. A name that
//! was not set does not exist.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::rdata::SRV;
use hickory_proto::rr::{RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time;

/// The response code that stands for garbage inside this file.
const GARBAGE: u16 = 0xfff;

/// What the server does with a question.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Answers with these addresses, those of the asked family only, and this TTL in seconds.
    Addresses(Vec<IpAddr>, u32),
    /// Answers with SRV records of these priorities, targets and ports, and this TTL in seconds.
    Services(Vec<(u16, String, u16)>, u32),
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
        let (udp, tcp) = bind(address).await;
        let address = udp.local_addr().unwrap();
        let zone = Arc::new(Zone {
            replies: Mutex::default(),
            asked: watch::Sender::default(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(serve_udp(Arc::new(udp), Arc::clone(&zone)));
        tasks.spawn(serve_tcp(tcp, Arc::clone(&zone)));
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

    /// From now on the SRV records of `name` are these priorities, targets and ports.
    pub(crate) fn set_services(&self, name: &str, services: &[(u16, &str, u16)], ttl: u32) {
        let service = |(priority, target, port): &(u16, &str, u16)| (*priority, (*target).to_owned(), *port);
        let services = services.iter().map(service).collect();
        self.set_family(name, RecordType::SRV, Reply::Services(services, ttl));
    }

    /// From now on questions for `name` of either family are answered this way.
    pub(crate) fn set_reply(&self, name: &str, reply: &Reply) {
        self.set_family(name, RecordType::A, reply.clone());
        self.set_family(name, RecordType::AAAA, reply.clone());
    }

    /// From now on questions for `name` of this type are answered this way.
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

// === impl Zone ===

impl Zone {
    /// The answer to a question, after its delay, or none for silence.
    async fn answer(&self, question: Message) -> Option<Message> {
        let query = question.queries.first()?.clone();
        let mut reply = self.reply(&query);
        while let Reply::Late(delay, then) = reply {
            time::sleep(delay).await;
            reply = *then;
        }
        let mut answer = question.into_response();
        answer.metadata.recursion_available = true;
        match reply {
            Reply::Addresses(addresses, ttl) => {
                let data = addresses.into_iter().map(RData::from);
                let asked = data.filter(|data| data.record_type() == query.query_type());
                answer.add_answers(asked.map(|data| Record::from_rdata(query.name().clone(), ttl, data)));
            }
            Reply::Services(services, ttl) => {
                let record = |(priority, target, port): (u16, String, u16)| {
                    let target = target.parse().unwrap();
                    let data = RData::SRV(SRV::new(priority, 0, port, target));
                    Record::from_rdata(query.name().clone(), ttl, data)
                };
                answer.add_answers(services.into_iter().map(record));
            }
            Reply::Code(code) => answer.metadata.response_code = code,
            // Marked by a code that nothing else uses; see `render`.
            Reply::Garbage => answer.metadata.response_code = ResponseCode::Unknown(GARBAGE),
            Reply::Silence | Reply::Late(..) => return None,
        }
        Some(answer)
    }

    fn reply(&self, query: &Query) -> Reply {
        let key = key(&query.name().to_ascii(), query.query_type());
        let reply = self.replies.lock().unwrap().get(&key).cloned();
        self.asked
            .send_modify(|asked| *asked.entry(key).or_default() += 1);
        reply.unwrap_or(Reply::Code(ResponseCode::NXDomain))
    }
}

// === helpers ===

/// Sockets of both kinds on the same port, which for port 0 takes a few tries.
async fn bind(address: SocketAddr) -> (UdpSocket, TcpListener) {
    for _ in 0..100 {
        let udp = UdpSocket::bind(address).await.unwrap();
        if let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both UDP and TCP on {address}");
}

async fn serve_udp(socket: Arc<UdpSocket>, zone: Arc<Zone>) {
    let mut answers = JoinSet::new();
    let mut packet = [0; 4096];
    loop {
        // An error is that of an earlier answer, which met a closed port.
        let Ok((length, client)) = socket.recv_from(&mut packet).await else {
            continue;
        };
        let Ok(question) = Message::from_vec(&packet[..length]) else {
            continue;
        };
        let (socket, zone) = (Arc::clone(&socket), Arc::clone(&zone));
        answers.spawn(async move {
            let longest = question.max_payload();
            if let Some(answer) = zone.answer(question).await {
                let _sent = socket.send_to(&render(&answer, longest), client).await;
            }
        });
        while answers.try_join_next().is_some() {}
    }
}

async fn serve_tcp(listener: TcpListener, zone: Arc<Zone>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        connections.spawn(serve_connection(stream, Arc::clone(&zone)));
        while connections.try_join_next().is_some() {}
    }
}

/// Answers one question after the other, until the client leaves.
async fn serve_connection(mut stream: TcpStream, zone: Arc<Zone>) -> io::Result<()> {
    loop {
        let mut question = vec![0; stream.read_u16().await?.into()];
        stream.read_exact(&mut question).await?;
        let Ok(question) = Message::from_vec(&question) else {
            return Ok(());
        };
        if let Some(answer) = zone.answer(question).await {
            let answer = render(&answer, u16::MAX);
            stream.write_u16(answer.len().try_into().unwrap()).await?;
            stream.write_all(&answer).await?;
        }
    }
}

/// The bytes of an answer; without its records, and saying so, if it is longer than that.
fn render(answer: &Message, longest: u16) -> Vec<u8> {
    if answer.metadata.response_code == ResponseCode::Unknown(GARBAGE) {
        return [&answer.metadata.id.to_be_bytes()[..], &[0xff; 61]].concat();
    }
    let bytes = answer.to_vec().unwrap();
    if bytes.len() > longest.into() {
        answer.truncate().to_vec().unwrap()
    } else {
        bytes
    }
}

fn key(name: &str, family: RecordType) -> (String, RecordType) {
    (name.trim_end_matches('.').to_ascii_lowercase(), family)
}

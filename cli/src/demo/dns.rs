//! A DNS server with one name, whose address moves to the fresh pod at every rollout.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::Context as _;
use hickory_proto::op::{Message, MessageType, OpCode, ResponseCode};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::shared::Shared;

/// The name of the pods, as a Kubernetes service would have one. `internal` is reserved for such uses.
pub(super) const NAME: &str = "pods.doorway.internal";
/// Seconds for which an answer may be kept.
const TTL: u32 = 1;
/// The largest question that is read; longer ones are cut and so refused.
const MAX_QUESTION: usize = 512;

/// Answers on a loopback socket.
#[derive(Debug)]
pub(super) struct Responder {
    socket: UdpSocket,
    shared: Arc<Shared>,
}

// === impl Responder ===

impl Responder {
    /// Binds a free UDP port of 127.0.0.1.
    pub(super) async fn bind(shared: Arc<Shared>) -> anyhow::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await;
        Ok(Self {
            socket: socket.context("cannot bind a UDP port for the demo's DNS server")?,
            shared,
        })
    }

    /// Where it answers.
    pub(super) fn address(&self) -> anyhow::Result<SocketAddr> {
        self.socket
            .local_addr()
            .context("the demo's DNS server has no address")
    }

    /// Answers until `stop` is cancelled. A question that cannot be read or answered is dropped: whoever asked
    /// asks again.
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut question = [0; MAX_QUESTION];
        loop {
            let received = tokio::select! {
                () = stop.cancelled() => return,
                received = self.socket.recv_from(&mut question) => received,
            };
            let Ok((length, from)) = received else { continue };
            let fresh = self.shared.with(|cluster| cluster.fresh());
            let Some(reply) = question.get(..length).and_then(|bytes| reply(bytes, fresh)) else {
                continue;
            };
            let sent = self.socket.send_to(&reply.bytes, from).await;
            if sent.is_ok() && reply.gave_address {
                self.shared
                    .change(|cluster| cluster.looked_up(fresh, Instant::now()));
            }
        }
    }
}

/// An answer to be sent.
struct Reply {
    bytes: Vec<u8>,
    gave_address: bool,
}

/// The answer to the question in `bytes`: the address for an A question about [`NAME`], nothing for its other
/// types, "no such name" for every other name. `None` for what is no question.
fn reply(bytes: &[u8], address: Ipv4Addr) -> Option<Reply> {
    let question = Message::from_vec(bytes).ok()?;
    if question.metadata.message_type != MessageType::Query {
        return None;
    }
    let mut answer = Message::response(question.metadata.id, question.metadata.op_code);
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.metadata.authoritative = true;
    let mut gave_address = false;
    match question.queries.as_slice() {
        [query] if question.metadata.op_code == OpCode::Query => {
            answer.add_query(query.clone());
            let ours = query
                .name
                .to_ascii()
                .trim_end_matches('.')
                .eq_ignore_ascii_case(NAME);
            if !ours {
                answer.metadata.response_code = ResponseCode::NXDomain;
            } else if query.query_type == RecordType::A && query.query_class == DNSClass::IN {
                answer.add_answer(Record::from_rdata(query.name.clone(), TTL, RData::A(A(address))));
                gave_address = true;
            }
        }
        _ => answer.metadata.response_code = ResponseCode::NotImp,
    }
    Some(Reply {
        bytes: answer.to_vec().ok()?,
        gave_address,
    })
}

#[cfg(test)]
mod tests {
    use hickory_proto::op::Query;
    use hickory_proto::rr::Name;

    use super::*;

    const FRESH: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

    fn ask(name: &str, kind: RecordType) -> Message {
        let mut question = Message::query();
        question.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
        let reply = reply(&question.to_vec().unwrap(), FRESH).unwrap();
        let answer = Message::from_vec(&reply.bytes).unwrap();
        assert_eq!(answer.metadata.id, question.metadata.id);
        assert_eq!(reply.gave_address, !answer.answers.is_empty());
        answer
    }

    #[test]
    fn the_name_has_the_address_of_the_fresh_pod_for_one_second() {
        for name in ["pods.doorway.internal.", "PODS.doorway.Internal."] {
            let answer = ask(name, RecordType::A);
            assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
            let [record] = answer.answers.as_slice() else {
                panic!("one record")
            };
            assert_eq!(record.data, RData::A(A(FRESH)));
            assert_eq!(record.ttl, 1);
        }
    }

    #[test]
    fn the_name_has_no_ipv6_address_and_other_names_do_not_exist() {
        let ipv6 = ask("pods.doorway.internal.", RecordType::AAAA);
        assert_eq!(
            (ipv6.metadata.response_code, ipv6.answers.len()),
            (ResponseCode::NoError, 0)
        );
        let other = ask("example.com.", RecordType::A);
        assert_eq!(
            (other.metadata.response_code, other.answers.len()),
            (ResponseCode::NXDomain, 0)
        );
    }

    #[test]
    fn noise_and_answers_get_no_reply() {
        assert!(reply(b"", FRESH).is_none());
        assert!(reply(&[0xff; 40], FRESH).is_none());
        let answer = Message::response(7, OpCode::Query).to_vec().unwrap();
        assert!(reply(&answer, FRESH).is_none());
    }

    #[test]
    fn two_questions_at_once_are_refused() {
        let mut question = Message::query();
        for _ in 0..2 {
            question.add_query(Query::query(Name::from_ascii(NAME).unwrap(), RecordType::A));
        }
        let reply = reply(&question.to_vec().unwrap(), FRESH).unwrap();
        let answer = Message::from_vec(&reply.bytes).unwrap();
        assert_eq!(answer.metadata.response_code, ResponseCode::NotImp);
        assert!(!reply.gave_address);
    }
}

//! Sends all requests at once, over as many connections as it takes, and checks each answer.

use std::sync::Arc;

use bytes::Bytes;
use http1_codec::HeadLimits;
use http1_codec::server::serve;
use tokio::io::{AsyncReadExt as _, duplex, split};

use super::plan::Exchange;
use super::proxy::{Forwarding, Proxy};
use super::{Wires, origin};
use crate::fuzzing::reference::{self, Read, Response};
use crate::support::{Dribble, Script};

pub(super) async fn run(plan: &[Exchange], proxy: &Arc<Proxy>, wires: &Wires) {
    let mut done = 0;
    while done < plan.len() {
        let (near, far) = duplex(wires.client);
        let control = Arc::new(Script::default());
        let service = Forwarding::new(Arc::clone(proxy), Arc::clone(&control));
        let serves = async {
            let limits = HeadLimits::default();
            // How it ends is seen from the other side.
            drop(match wires.dribbled {
                true => serve(Dribble::new(near), Bytes::new(), limits, control, service).await,
                false => serve(near, Bytes::new(), limits, control, service).await,
            });
        };
        let asks = async {
            let (reader, mut writer) = split(far);
            let mut requests = Vec::new();
            for (number, exchange) in plan.iter().enumerate().skip(done) {
                requests.extend(exchange.request(number));
            }
            let answers = answers(reader, plan, done);
            let sends = async {
                origin::write(&mut writer, &requests, &wires.pieces).await;
                // The answers end the connection, not this.
                std::future::pending::<()>().await;
            };
            tokio::select! {
                biased;
                seen = answers => seen,
                () = sends => unreachable!("it does not end"),
            }
        };
        let ((), seen) = tokio::join!(serves, asks);
        assert!(seen > done, "a connection answers one request at least");
        done = seen;
    }
}

/// Reads answers until there are no more; the number of the first exchange that has none.
async fn answers(mut io: impl tokio::io::AsyncRead + Unpin, plan: &[Exchange], mut number: usize) -> usize {
    let mut buffer = Vec::new();
    while number < plan.len() {
        let exchange = &plan[number];
        let mut interim = 0;
        let head = loop {
            let Some(head) = head(&mut io, &mut buffer, exchange.method).await else {
                return number;
            };
            let id = head.fields.iter().find(|field| field.0 == "x-id");
            assert_eq!(id.unwrap().1, number.to_string().into_bytes());
            if head.status >= 200 {
                break head;
            }
            interim += 1;
        };
        assert_eq!(interim, exchange.interim);
        assert_eq!(head.status, exchange.status);
        let (body, length) = loop {
            match reference::body(&buffer, head.end, false) {
                Read::Whole(body, length) => break (body, length),
                Read::Part => assert!(io.read_buf(&mut buffer).await.unwrap() > 0, "an answer is cut"),
                Read::Wrong => panic!("no body"),
            }
        };
        buffer.drain(..length);
        assert_eq!(body.data, exchange.answer_body());
        number += 1;
        if !head.keep_alive {
            break;
        }
    }
    number
}

async fn head(
    io: &mut (impl tokio::io::AsyncRead + Unpin),
    buffer: &mut Vec<u8>,
    method: &str,
) -> Option<Response> {
    loop {
        match reference::response(buffer, method) {
            Read::Whole(head, length) => {
                buffer.drain(..length);
                return Some(head);
            }
            Read::Part if io.read_buf(buffer).await.unwrap() > 0 => {}
            Read::Part => {
                assert!(buffer.is_empty(), "a head is cut");
                return None;
            }
            Read::Wrong => panic!("no answer: {:?}", String::from_utf8_lossy(buffer)),
        }
    }
}

//! Answers each request as its exchange has it.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use super::Log;
use super::plan::Exchange;
use crate::fuzzing::reference::{self, Read};

pub(super) async fn serve(mut io: DuplexStream, plan: &[Exchange], log: &Log, pieces: &[usize]) {
    let mut buffer = Vec::new();
    loop {
        let (request, length) = loop {
            match reference::request(&buffer) {
                Read::Whole(request, length) => break (request, length),
                Read::Part if io.read_buf(&mut buffer).await.unwrap_or(0) > 0 => {}
                Read::Part => return,
                Read::Wrong => panic!("no request: {:?}", String::from_utf8_lossy(&buffer)),
            }
        };
        buffer.drain(..length);
        let number: usize = String::from_utf8_lossy(&request.target[1..]).parse().unwrap();
        let exchange = &plan[number];
        assert_eq!(request.method, exchange.method);
        log.lock().unwrap().push((number, None));
        if exchange.is_early && !answer(&mut io, exchange, number, pieces).await {
            return;
        }
        let (body, length) = loop {
            match reference::body(&buffer, request.end, false) {
                Read::Whole(body, length) => break (body, length),
                Read::Part if io.read_buf(&mut buffer).await.unwrap_or(0) > 0 => {}
                Read::Part => return,
                Read::Wrong => panic!("no body: {:?}", String::from_utf8_lossy(&buffer)),
            }
        };
        buffer.drain(..length);
        log.lock().unwrap().last_mut().unwrap().1 = Some(body.data);
        if !exchange.is_early {
            answer(&mut io, exchange, number, pieces).await;
        }
        if exchange.closes() {
            return;
        }
    }
}

/// False if nobody takes it.
async fn answer(io: &mut DuplexStream, exchange: &Exchange, number: usize, pieces: &[usize]) -> bool {
    write(io, &exchange.answer(number), pieces).await
}

/// Writes in these pieces, over and over.
pub(super) async fn write<W>(io: &mut W, mut bytes: &[u8], pieces: &[usize]) -> bool
where
    W: tokio::io::AsyncWrite + Unpin,
{
    for piece in pieces.iter().cycle() {
        let (now, later) = bytes.split_at(bytes.len().min(*piece));
        if io.write_all(now).await.is_err() {
            return false;
        }
        bytes = later;
        if bytes.is_empty() {
            break;
        }
        tokio::task::yield_now().await;
    }
    true
}

//! Connections for requests: kept ones, and new ones where none can take a request.

use super::addresses::Choices;
use super::worker::Worker;
use crate::error::Failure;
use crate::upstream::channel::{Channel, Home};
use crate::upstream::cluster::Cluster;
use crate::upstream::dials::{Dialed, Turn};
use crate::upstream::gate::{Grant, Permit};
use crate::upstream::http2::MOST_STREAMS;
use crate::upstream::transport::{Key, Protocol, Purpose, Transport, Way};

/// Where connections by `way` are kept, if they are.
pub(super) fn home<'h>(worker: &'h Worker, transport: &'h Transport, way: &'h Way) -> Option<Home<'h>> {
    transport.keep.map(|limits| Home {
        pool: &worker.pool,
        limits,
        total: transport.idle_total.as_ref(),
        gate: way.gate.as_ref(),
        worker: worker.number,
    })
}

/// Opens a connection, once there may be one more; or gives one that became free meanwhile, and says so.
pub(super) async fn enter(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
) -> Result<(Channel, bool), Failure> {
    let (way, transport) = (addresses.way(), &cluster.transport);
    let Some(first) = addresses.first() else {
        return new(worker, cluster, addresses, purpose).await;
    };
    let (key, protocol) = (transport.key(way, first, purpose), way.protocol(purpose));
    let Some(gate) = &way.gate else {
        return if protocol == Protocol::Http1 || transport.keep.is_none() {
            new(worker, cluster, addresses, purpose).await
        } else {
            together(worker, cluster, addresses, purpose, key).await
        };
    };
    match gate.enter(key, protocol, worker.number).await? {
        Grant::Channel(channel) => Ok((channel, true)),
        Grant::Permit(permit) => {
            let opened = open(worker, cluster, addresses, purpose, Some(permit)).await?;
            Ok((opened, false))
        }
    }
}

async fn new(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
) -> Result<(Channel, bool), Failure> {
    let opened = open(worker, cluster, addresses, purpose, None).await?;
    Ok((opened, false))
}

/// Requests that come at once, before there is a connection that they may share, open one for as many of them as it has
/// streams. All of them fail with it, and go on as a request does whose connection failed.
async fn together(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
    key: Key,
) -> Result<(Channel, bool), Failure> {
    let protocol = addresses.way().protocol(purpose);
    let is_sure = protocol == Protocol::Http2;
    loop {
        match worker.pool.dials.turn(key, MOST_STREAMS, is_sure) {
            Turn::Alone => return new(worker, cluster, addresses, purpose).await,
            Turn::Opens(dial) => {
                let opened = open(worker, cluster, addresses, purpose, None).await;
                dial.ended(match &opened {
                    Ok(Channel::Http2(..)) => Dialed::Open,
                    Ok(Channel::Http1(..)) => Dialed::OpenToOne,
                    Err(failure) => Dialed::Failed(failure.reason),
                });
                return Ok((opened?, false));
            }
            Turn::Waits(wait) => match wait.dialed().await {
                Dialed::Failed(reason) => return Err(reason.into()),
                // Whoever left has taken it along.
                Dialed::Left => {}
                Dialed::Open | Dialed::OpenToOne => {
                    // It may lead to another address of the name, or be full already.
                    return match worker.pool.take(key, protocol) {
                        Some(channel) => Ok((channel, true)),
                        None => new(worker, cluster, addresses, purpose).await,
                    };
                }
            },
        }
    }
}

async fn open(
    worker: &Worker,
    cluster: &Cluster,
    addresses: &impl Choices,
    purpose: Purpose,
    permit: Option<Permit>,
) -> Result<Channel, Failure> {
    worker.counters.upstream_connects.add();
    let transport = &cluster.transport;
    let way = addresses.way();
    let mut connected = transport
        .connect(&worker.connector, way, addresses.all(), purpose)
        .await?;
    if let Some(permit) = permit {
        connected.stream = permit.hold(connected.stream);
    }
    let address = connected.address;
    let key = transport.key(way, address, purpose);
    let home = home(worker, transport, way);
    let opened = Channel::open(connected, key, &transport.head_limits, &worker.background, home).await?;
    if addresses.by_name() {
        worker.pool.named(address.ip());
    }
    Ok(opened)
}

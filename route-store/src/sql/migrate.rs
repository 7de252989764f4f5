//! Making the tables.

use super::engine::{Arg, Engine, Session};
use super::store::Failure;

/// Each step of the layout, first to last. A step that was released is never changed.
const STEPS: [&str; 1] = [include_str!("../../migrations/0001_routes.sql")];

/// What [`migrate`] did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Migrated {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// Brings the tables to the newest layout, unless they are there. Replicas that begin at once wait for each other.
pub(super) async fn migrate<E: Engine>(engine: &E, prefix: &str) -> Result<Migrated, Failure> {
    let mut session = engine.begin(true).await?;
    engine.lock_migrations(&mut *session).await?;
    let from = layout::<E>(&mut *session, prefix).await?;
    let Ok(done) = usize::try_from(from) else {
        return Err(Failure::Newer(from));
    };
    if done > STEPS.len() {
        return Err(Failure::Newer(from));
    }
    if from == 0 {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {prefix}_layout (step BIGINT PRIMARY KEY, at BIGINT NOT NULL)"
        );
        session.run_all(&sql).await?;
    }
    let mut to = from;
    for step in STEPS.iter().skip(done) {
        let text = step
            .replace("{prefix}", prefix)
            .replace("{key}", E::KEY)
            .replace("{bytes}", E::BYTES);
        session.run_all(&text).await?;
        to += 1;
        let sql = format!("INSERT INTO {prefix}_layout (step, at) VALUES ($1, {})", E::NOW);
        session.run(&sql, &[Arg::Number(to.into())]).await?;
    }
    session.commit().await?;
    Ok(Migrated { from, to })
}

/// The newest step that was done, for a look from outside; 0 if there are no tables.
pub(super) async fn layout_there<E: Engine>(engine: &E, prefix: &str) -> Result<u32, Failure> {
    let mut session = engine.begin(false).await?;
    layout::<E>(&mut *session, prefix).await
}

async fn layout<E: Engine>(session: &mut dyn Session, prefix: &str) -> Result<u32, Failure> {
    let table = format!("{prefix}_layout");
    if session.run(E::HAS_TABLE, &[Arg::Text(&table)]).await?.is_empty() {
        return Ok(0);
    }
    let sql = format!("SELECT coalesce(max(step), 0) FROM {table}");
    let rows = session.run(&sql, &[]).await?;
    let Some(mut row) = rows.into_iter().next() else {
        return Ok(0);
    };
    Ok(u32::try_from(row.number()?).unwrap_or(u32::MAX))
}

//! What dispatchers share about endpoints: circuit breakers, pauses, rate limits, and concurrency.

use std::time::Duration;

use postrider_core::{
    breaker::{Circuit, State},
    id::{EndpointId, Shard},
    lease::Owned,
    moment::Moment,
    sharing::{Answer, Granted, Loan, Proposal, Trade, Wanted},
    timestamp::Timestamp,
};
use tokio_postgres::{Row, Statement};
use uuid::Uuid;

use super::{StoreError, bounded::Bounded, wire::Timestamptz};

/// One dispatcher's dealings with `postrider.circuit`, `postrider.rate_grant` and `postrider.loan`.
pub struct Circuits {
    id: Uuid,
    client: Bounded,
    save: Statement,
    known: Statement,
    take_tokens: Statement,
    trade_places: Statement,
}

impl Circuits {
    /// Prepares the queries; `id` is the dispatcher's.
    pub async fn open(client: impl Into<Bounded>, id: Uuid) -> Result<Circuits, StoreError> {
        let client: Bounded = client.into();
        let prepare =
            async |sql| client.once().prepare(sql).await.map_err(StoreError::to("prepare"));
        Ok(Circuits {
            id,
            save: prepare(include_str!("../../../sql/queries/dispatch/save_circuits.sql")).await?,
            known: prepare(include_str!("../../../sql/queries/dispatch/known_circuits.sql"))
                .await?,
            take_tokens: prepare(include_str!("../../../sql/queries/dispatch/take_tokens.sql"))
                .await?,
            trade_places: prepare(include_str!("../../../sql/queries/dispatch/trade_places.sql"))
                .await?,
            client,
        })
    }

    /// The id under which we send probes.
    pub fn prober(&self) -> u128 {
        self.id.as_u128()
    }

    /// All circuits that are not simply closed, and those of these endpoints.
    pub async fn known(
        &self,
        endpoints: &[EndpointId],
    ) -> Result<Vec<(EndpointId, Circuit)>, StoreError> {
        let ids: Vec<i32> = endpoints.iter().map(|id| id.0).collect();
        let rows = self
            .client
            .query(&self.known, &[&ids])
            .await
            .map_err(StoreError::to("read the circuits"))?;
        rows.iter().map(|row| Ok((EndpointId(row.get("endpoint_id")), circuit(row)?))).collect()
    }

    /// Saves those of the proposals whose circuit is still as it was known. `now` is what their times go by.
    pub async fn save(
        &self,
        proposals: &[Proposal],
        now: Timestamp,
    ) -> Result<Vec<Answer>, StoreError> {
        let circuits = || proposals.iter().map(|proposal| &proposal.circuit);
        let ids: Vec<i32> = proposals.iter().map(|proposal| proposal.endpoint.0).collect();
        let versions: Vec<i64> = proposals.iter().map(|p| p.known_version).collect();
        let next_versions: Vec<i64> = circuits().map(|circuit| circuit.version).collect();
        let states: Vec<&str> = circuits().map(|circuit| state_name(circuit.state)).collect();
        let counts: Vec<i32> =
            circuits().map(|c| i32::try_from(c.failure_count).unwrap_or(i32::MAX)).collect();
        let probe_at: Vec<Option<Timestamptz>> = circuits()
            .map(|circuit| match circuit.state {
                State::Open { probe_at } => Some(time(probe_at)),
                _ => None,
            })
            .collect();
        let probers: Vec<Option<Uuid>> = circuits()
            .map(|circuit| match circuit.state {
                State::HalfOpen { prober, .. } => Some(Uuid::from_u128(prober)),
                _ => None,
            })
            .collect();
        let times = |of: fn(&Circuit) -> Option<Moment>| -> Vec<Option<Timestamptz>> {
            circuits().map(|circuit| of(circuit).map(time)).collect()
        };
        let rows = self
            .client
            .query(
                &self.save,
                &[
                    &self.id,
                    &ids,
                    &versions,
                    &next_versions,
                    &states,
                    &counts,
                    &probe_at,
                    &probers,
                    &times(|circuit| circuit.paused_until),
                    &times(|circuit| circuit.last_success_at),
                    &times(|circuit| circuit.last_failure_at),
                    &times(|circuit| circuit.failing_since),
                    &Timestamptz(now),
                ],
            )
            .await
            .map_err(StoreError::to("save circuits"))?;
        rows.iter()
            .map(|row| {
                Ok(Answer {
                    endpoint: EndpointId(row.get("endpoint_id")),
                    is_saved: row.get("is_saved"),
                    current: circuit(row)?,
                })
            })
            .collect()
    }

    /// Takes what there is of the endpoints' rate limits.
    pub async fn take_tokens(&self, wanted: &[Wanted]) -> Result<Vec<Granted>, StoreError> {
        let column = |of: fn(&Wanted) -> u32| -> Vec<i32> {
            wanted.iter().map(|w| i32::try_from(of(w)).unwrap_or(i32::MAX)).collect()
        };
        let ids: Vec<i32> = wanted.iter().map(|wanted| wanted.endpoint.0).collect();
        let rows = self
            .client
            .query(
                &self.take_tokens,
                &[
                    &ids,
                    &column(|wanted| wanted.count),
                    &column(|wanted| wanted.rate.per_second),
                    &column(|wanted| wanted.rate.burst),
                ],
            )
            .await
            .map_err(StoreError::to("take tokens of a rate limit"))?;
        Ok(rows
            .iter()
            .map(|row| Granted {
                endpoint: EndpointId(row.get("endpoint_id")),
                count: row.get::<_, i32>("granted").unsigned_abs(),
                wait: Duration::from_millis(row.get::<_, i32>("wait_ms").max(0) as u64),
            })
            .collect())
    }
}

impl Circuits {
    /// Writes what is lent and given back, asks, and reads all loans that concern us.
    pub async fn trade(&self, owned: &[Owned], trade: &Trade) -> Result<Vec<Loan>, StoreError> {
        let shards: Vec<i16> = owned.iter().map(|owned| owned.shard.0).collect();
        let epochs: Vec<i64> = owned.iter().map(|owned| owned.epoch).collect();
        let lent_endpoints: Vec<i32> = trade.lent.iter().map(|(id, ..)| id.0).collect();
        let lent_shards: Vec<i16> = trade.lent.iter().map(|(_, shard, _)| shard.0).collect();
        let borrowers: Vec<Uuid> = trade.lent.iter().map(|(.., borrower)| *borrower).collect();
        let returned_endpoints: Vec<i32> = trade.returned.iter().map(|(id, _)| id.0).collect();
        let returned_shards: Vec<i16> = trade.returned.iter().map(|(_, s)| s.0).collect();
        let asked: Vec<i32> = trade.asked.iter().map(|(id, _)| id.0).collect();
        let parts: Vec<i32> = trade.asked.iter().map(|(_, parts)| *parts as i32).collect();
        let rows = self
            .client
            .query(
                &self.trade_places,
                &[
                    &self.id,
                    &shards,
                    &epochs,
                    &lent_endpoints,
                    &lent_shards,
                    &borrowers,
                    &returned_endpoints,
                    &returned_shards,
                    &asked,
                    &parts,
                ],
            )
            .await
            .map_err(StoreError::to("lend and borrow places"))?;
        Ok(rows
            .iter()
            .map(|row| Loan {
                endpoint: EndpointId(row.get("endpoint_id")),
                shard: Shard(row.get("shard")),
                is_borrowed: row.get("is_borrowed"),
            })
            .collect())
    }
}

fn time(at: Moment) -> Timestamptz {
    Timestamptz(Timestamp(at.0))
}

fn state_name(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open { .. } => "open",
        State::HalfOpen { .. } => "half_open",
    }
}

fn circuit(row: &Row) -> Result<Circuit, StoreError> {
    let time = |name: &str| row.get::<_, Option<Timestamptz>>(name).map(|at| Moment(at.0.0));
    let state = match (row.get("state"), time("probe_at"), row.get("probe_owner")) {
        ("closed", ..) => State::Closed,
        ("open", Some(probe_at), _) => State::Open { probe_at },
        ("half_open", _, Some(prober)) => {
            let prober: Uuid = prober;
            State::HalfOpen {
                prober: prober.as_u128(),
                is_prober_alive: row.get("is_prober_alive"),
            }
        }
        _ => return Err(StoreError::Unexpected("a circuit in no known state")),
    };
    Ok(Circuit {
        version: row.get("version"),
        state,
        failure_count: row.get::<_, i32>("failure_count").unsigned_abs(),
        paused_until: time("paused_until"),
        last_success_at: time("last_success_at"),
        last_failure_at: time("last_failure_at"),
        failing_since: time("failing_since"),
    })
}

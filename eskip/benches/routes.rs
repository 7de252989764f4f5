//! What 10,000 routes cost: `cargo bench -p eskip`.

#![allow(clippy::unwrap_used, reason = "a benchmark stops by panicking")]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use eskip::{Layout, from_json, parse, print, to_json};

/// As the command `doorway` has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ROUTES: usize = 10_000;

/// Routes as a Kubernetes ingress controller writes them: 18 MB.
fn long() -> String {
    let hosts: Vec<String> = (18..24)
        .map(|n| format!("orders-backend-service-name-preview-{n}[.]team-name[.]example[.]org[.]?(:[0-9]+)?"))
        .collect();
    let hosts = hosts.join("|");
    let route = |n: usize| {
        format!(
            r#"kube_namespace__ingress_name__orders_backend_service_name__path_{n}_0:
Path("/merchants/:merchant_id/order-{n}/return-shipments")
&& Host("^({hosts})$")
&& Host("^(orders-backend-service-name-preview[.]team-name[.]example[.]org[.]?(:[0-9]+)?)$")
&& Weight(4)
&& Method("GET")
&& JWTPayloadAllKV("https://identity.example.org/realm", "users")
&& Header("X-Environment-Stage", "stage")
-> disableAccessLog(2, 3, 40, 500)
-> fifo(1000, 100, "10s")
-> apiUsageMonitoring("{{\"application_id\":\"orders-backend-service\",\"path_templates\":[\"/merchants/{{merchant_id}}/orders\",\"/merchants/{{merchant_id}}/order-{n}/return-shipments\"]}}")
-> oauthTokeninfoAnyKV("realm", "/services")
-> unverifiedAuditLog("https://identity.example.org/managed-id")
-> oauthTokeninfoAllScope("uid")
-> flowId("reuse")
-> forwardToken("X-Tokeninfo-Forward", "uid", "scope", "realm")
-> stateBagToTag("auth-user", "client.uid")
-> <powerOfRandomNChoices, "http://10.2.{n}.1:8080", "http://10.2.{n}.2:8080", "http://10.2.{n}.3:8080", "http://10.2.{n}.4:8080", "http://10.2.{n}.5:8080">;
"#
        )
    };
    (0..ROUTES).map(route).collect()
}

/// Routes as people write them: 1.5 MB.
fn short() -> String {
    let route = |n: usize| {
        format!(
            "r{n}: Host(/^app{n}[.]example[.]org$/) && Path(\"/users/:id/{n}\") && Method(\"GET\")\n  -> setPath(\"/u/${{id}}\")\n  -> \"http://10.0.0.{}:8080\";\n",
            n % 256
        )
    };
    (0..ROUTES).map(route).collect()
}

fn routes(c: &mut Criterion) {
    for (name, text) in [("long", long()), ("short", short())] {
        let mut group = c.benchmark_group(name);
        group
            .throughput(Throughput::Bytes(text.len().try_into().unwrap()))
            .sample_size(20);
        group.bench_function("parse", |b| {
            b.iter_with_large_drop(|| parse(black_box(&text)).unwrap())
        });
        let routes = parse(&text).unwrap();
        group.bench_function("print", |b| {
            b.iter_with_large_drop(|| print(black_box(&routes), Layout::Plain))
        });
        let json = to_json(&routes);
        group.bench_function("to JSON", |b| {
            b.iter_with_large_drop(|| to_json(black_box(&routes)))
        });
        group.bench_function("from JSON", |b| {
            b.iter_with_large_drop(|| from_json(black_box(&json)).unwrap())
        });
        group.finish();
    }
}

criterion_group!(benches, routes);
criterion_main!(benches);

//! `doors_geo` as it is written for a site of three regions, in both forms.

use std::time::Duration;

use caddy_config::{Config, DoorsGeo, Handler, RedirectScheme, Route, from_caddyfile, from_json};

const US: &str = "AG AI AR AW BB BL BM BO BQ BR BS BZ CA CK CL CO CR CU CW DM \
    DO EC FK GD GF GL GP GT GY HN HT JM KN KY LC MF MH MQ MS MX \
    NI NU PA PE PF PM PR PY SR SV SX TC TO TT US UY VC VE VG VI \
    WS";

const EU: &str = "AD AE AF AL AM AO AQ AT AX AZ BA BE BF BG BH BI BJ BY CD CF \
    CG CH CI CM CV CY CZ DE DJ DK DZ EE EG ER ES ET EU FI FO FR \
    GA GB GE GG GH GI GM GN GQ GR GW HR HU IE IL IM IQ IR IS IT \
    JE JO KE KG KM KW KZ LB LI LR LS LT LU LV LY MA MC MD ME MG \
    MK ML MR MT MU MW MZ NA NE NG NL NO OM PL PS PT QA RE RO RS \
    RU RW SA SC SD SE SI SK SL SN SO SS ST SY SZ TD TG TJ TK TM \
    TN TR UA UG UZ VA WF YE YT ZA ZM ZW";

const ASIA: &str = "AS AU BD BN BT CN FJ FM GU HK ID IN IO JP KH KI KP KR LA LK \
    MM MN MO MP MV MY NC NF NP NR NZ PG PH PK PW SB SG TH TL TV \
    TW VN VU";

const REGIONS: [(&str, &str); 3] = [
    ("us.example.com", US),
    ("eu.example.com", EU),
    ("asia.example.com", ASIA),
];

fn caddyfile(options: &str) -> String {
    let mut text = format!("example.com {{\n    doors_geo {{\n{options}");
    for (domain, codes) in REGIONS {
        text += &format!("        {domain} {{\n");
        let codes: Vec<&str> = codes.split(' ').collect();
        for line in codes.chunks(10) {
            text += &format!("            {}\n", line.join(" "));
        }
        text += "        }\n";
    }
    text + "    }\n}\n"
}

fn json(fields: &str) -> String {
    let region = |(domain, codes): &(&str, &str)| {
        let codes: Vec<String> = codes.split(' ').map(|code| format!("\"{code}\"")).collect();
        format!("\"{domain}\": [{}]", codes.join(", "))
    };
    let redirects: Vec<String> = REGIONS.iter().map(region).collect();
    format!(
        r#"{{"apps": {{"http": {{"servers": {{"s": {{"routes": [{{"handle": [{{
            "handler": "doors_geo", {fields} "redirects": {{{}}}
        }}]}}]}}}}}}}}}}"#,
        redirects.join(", ")
    )
}

/// The only `doors_geo` of a configuration.
fn geo(config: &Config) -> DoorsGeo {
    fn find(routes: &[Route]) -> Option<DoorsGeo> {
        let handlers = routes.iter().flat_map(|route| &route.handlers);
        handlers.into_iter().find_map(|handler| match handler {
            Handler::DoorsGeo(geo) => Some(geo.clone()),
            Handler::Subroute(inner) => find(&inner.routes),
            _ => None,
        })
    }
    let servers = &config.apps.http.as_ref().unwrap().servers;
    servers.values().find_map(|server| find(&server.routes)).unwrap()
}

fn from_lines(options: &str) -> DoorsGeo {
    let adapted = from_caddyfile("Caddyfile", &caddyfile(options), &|_| None).unwrap();
    let warnings: Vec<&str> = adapted.warnings.iter().map(|warning| warning.message()).collect();
    assert_eq!(warnings, ["`EU` is not the code of a country"]);
    geo(&adapted.config)
}

#[test]
fn both_forms_of_three_regions_say_the_same() {
    let lines = from_lines("");
    assert_eq!(geo(&from_json("t.json", &json("")).unwrap()), lines);
    let expected = DoorsGeo {
        redirects: REGIONS
            .iter()
            .map(|(domain, codes)| {
                (
                    (*domain).to_owned(),
                    codes.split(' ').map(str::to_owned).collect(),
                )
            })
            .collect(),
        ..DoorsGeo::default()
    };
    assert_eq!(lines, expected);
    assert_eq!(
        lines.redirects.values().map(Vec::len).sum::<usize>(),
        61 + 132 + 43
    );
}

#[test]
fn both_forms_have_the_same_options() {
    let lines = from_lines(
        "tarball_url https://mirror.test/a.tar.gz\nupdate_interval 12h\ndownload_timeout 10s\n\
         redirect_scheme request\nstatus 302\n",
    );
    let document = json(
        r#""tarball_url": "https://mirror.test/a.tar.gz", "update_interval": "12h", "download_timeout": "10s",
        "redirect_scheme": "request", "status": 302,"#,
    );
    assert_eq!(geo(&from_json("t.json", &document).unwrap()), lines);
    assert_eq!(lines.tarball_url.as_deref(), Some("https://mirror.test/a.tar.gz"));
    assert_eq!(lines.update_interval, Some(Duration::from_secs(12 * 3600)));
    assert_eq!(lines.download_timeout, Some(Duration::from_secs(10)));
    assert_eq!(lines.redirect_scheme, Some(RedirectScheme::Request));
    assert_eq!(lines.status, Some(302));
}

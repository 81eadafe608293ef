//! The JSON Schema of a spec as people write it: for Python, the reference pages and editors.
//!
//! Types, defaults, ranges and texts are those of the tables themselves; this module adds conditions between tables.

use std::borrow::Cow;

use aqmlab_aqm::{EcnUse, catalogue};
use aqmlab_tcp::Profile;
use aqmlab_units::{BitRate, Duration};
use aqmlab_workload::pages::PagesConfig;
use aqmlab_workload::sources::SourceConfig;
use aqmlab_workload::{RttConfig, WebConfig, WorkloadConfig};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::control::CONTROL;
use super::dscp::Dscp;
use super::links::MOST_LINKS;
use super::queue::{KERNEL, NOECN};
use super::raw::RawSpec;
use super::sources::EcnField;
use super::tcp::HostSelector;
use super::{DelayAt, LinkSpec, MixSpec, PathSpec, QueueSpec, TcpSpec, Testbed};

/// The schema of a spec.
pub fn written_schema() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<RawSpec>();
    let parts = schema.get("$defs").cloned().unwrap_or_default();
    for key in properties(&mut schema).values_mut() {
        let name = key["$ref"].as_str().and_then(|name| name.rsplit('/').next()).map(str::to_owned);
        let Some(part) = name.map(|name| &parts[name]["properties"]) else { continue };
        let Some(Value::Object(default)) = key.get_mut("default") else { continue };
        // A part's keys have their own.
        default.retain(|key, value| part[key]["default"] != *value);
    }
    as_people_write(&mut schema);
    schema
}

/// Times that are defaults in a person's units, and paragraphs in one line.
fn as_people_write(part: &mut Schema) {
    let is_time = part.get("quantity").is_some_and(|kind| kind == "time");
    if let Some(Value::String(default)) = part.get_mut("default").filter(|_| is_time) {
        let time: Duration = default.parse().expect("a default is what may be written");
        *default = time.in_largest_unit();
    }
    if let Some(Value::String(text)) = part.get_mut("description") {
        *text =
            text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n");
    }
    schemars::transform::transform_subschemas(&mut as_people_write, part);
}

/// A part that has a schema of its own, referred to by its name.
macro_rules! described {
    ($($Part:ty = $name:literal: $schema:expr;)+) => {$(
        impl JsonSchema for $Part {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                $schema(generator)
            }
        }
    )+};
}

/// One link, or several in series.
pub(super) struct Links;

/// A table of what users do, by its name or in full.
pub(super) struct Workload;

/// A table of round-trip times, by its name or in full.
pub(super) struct RttTable;

/// A source of traffic, and how it stands in the network.
pub(super) struct SourceEntry;

/// The name of a testbed.
pub(super) struct TestbedName;

described! {
    Links = "Links": links;
    QueueSpec = "Queue": |_: &mut _| queue();
    TcpSpec = "Tcp": tcp;
    MixSpec = "Mix": mix;
    SourceEntry = "Source": source;
    TestbedName = "Testbed": |_: &mut _| testbed();
    Workload = "Workload": |all: &mut SchemaGenerator| {
        let own = [all.subschema_for::<WebConfig>(), all.subschema_for::<PagesConfig>()];
        table(&WorkloadConfig::SHIPPED, &own)
    };
    RttTable = "RttTable": |all: &mut SchemaGenerator| table(&RttConfig::SHIPPED, &[all.subschema_for::<RttConfig>()]);
}

/// A table, or a list of tables.
fn links(generator: &mut SchemaGenerator) -> Schema {
    let link = generator.subschema_for::<LinkSpec>();
    let list = json!({ "type": "array", "items": link, "minItems": 1, "maxItems": MOST_LINKS });
    json_schema!({ "anyOf": [link, list] })
}

/// A link may have queues of its own, which [`super::HopSpec`] reads.
pub(super) fn with_queues(link: &mut Schema) {
    let texts = [
        ("queue", "The queue discipline at each end of it, where it is not that of the spec."),
        ("queue_back", "The queue discipline of direction 1, where it is another."),
    ];
    for (key, text) in texts {
        let queue =
            json!({ "anyOf": [{ "$ref": "#/$defs/Queue" }, { "type": "null" }], "description": text });
        properties(link).insert(key.to_owned(), queue);
    }
}

fn testbed() -> Schema {
    let names: Vec<&str> = Testbed::ALL.iter().map(|testbed| testbed.name).collect();
    json_schema!({ "type": "string", "enum": names })
}

fn table(shipped: &[&str], own: &[Schema]) -> Schema {
    let mut forms = vec![json!({ "type": "string", "enum": shipped })];
    forms.extend(own.iter().map(|form| json!(form)));
    json_schema!({ "anyOf": forms })
}

fn queue() -> Schema {
    let mut disciplines: Map<String, Value> = catalogue().iter().map(|entry| {
        let parameters = entry.parameters.iter().map(|parameter| {
            let row = serde_json::to_value(parameter).expect("a parameter has a JSON form");
            (parameter.name.to_owned(), row["schema"].clone())
        });
        let mut properties: Map<String, Value> = parameters.collect();
        if entry.ecn == EcnUse::Marks {
            let noecn = json!({
                "type": "boolean",
                "default": false,
                "description": "Drop packets where the discipline would mark them, as `noecn` of `tc`. ECN of the hosts is `tcp.ecn`.",
            });
            properties.insert(NOECN.to_owned(), noecn);
        }
        let table = json!({ "type": "object", "description": entry.summary, "properties": properties, "additionalProperties": false });
        (entry.name.to_owned(), table)
    }).collect();
    let kernel = json!({
        "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": { "tc": { "type": "string" } }, "required": ["tc"], "additionalProperties": false },
        ],
        "description": "A discipline of the Linux kernel with its options, as a line of `tc`: `codel target 5ms`. It needs `world = \"kernel\"`.",
    });
    disciplines.insert(KERNEL.to_owned(), kernel);
    json_schema!({
        "type": "object",
        "description": "One queue discipline and what differs from its defaults, written `{\"pi\": {\"q_ref\": 24}}`.",
        "properties": disciplines,
        "patternProperties": { ":": { "type": "object", "description": "A custom law, `module:Class`" } },
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
    })
}

fn tcp(generator: &mut SchemaGenerator) -> Schema {
    let mix = generator.subschema_for::<MixSpec>();
    let mut schema = json_schema!({
        "type": "object",
        "description": "The TCP stack of all hosts: a profile, and those of its values that are to differ.",
        "properties": {
            "profile": profile("The stack that the values come from: see docs/guide/tcp.md.", Some(TcpSpec::DEFAULT_PROFILE)),
            "mix": { "type": "array", "items": mix, "description": "Other stacks, each on a share of the hosts." },
        },
    });
    beside_values(&mut schema, generator);
    let all: Vec<Value> = Profile::names()
        .into_iter()
        .map(|name| serde_json::to_value(Profile::from_name(name)).expect("a JSON form"))
        .collect();
    for (key, value) in properties(&mut schema) {
        // Where the profiles differ, the default is the profile's.
        if let Some(common) = all[0].get(key)
            && all.iter().all(|each| each.get(key) == Some(common))
        {
            value["default"] = common.clone();
        }
    }
    schema
}

fn mix(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = HostSelector::json_schema(generator);
    let about = "The profile that the values come from, if not from `tcp.profile`.";
    properties(&mut schema).insert("profile".to_owned(), profile(about, None));
    may_be_named(properties(&mut schema));
    beside_values(&mut schema, generator);
    schema
}

fn profile(about: &str, default: Option<&str>) -> Value {
    let mut schema = json!({ "type": "string", "enum": Profile::names(), "description": about });
    if let Some(default) = default {
        schema["default"] = default.into();
    }
    schema
}

/// The values of a profile are keys too, none of which has to be written.
fn beside_values(schema: &mut Schema, generator: &mut SchemaGenerator) {
    let mut values = Profile::json_schema(generator);
    properties(schema).append(properties(&mut values));
    custom_controls(properties(schema));
    schema.insert("additionalProperties".to_owned(), false.into());
}

/// A congestion control may be one of the caller's, with a table of parameters.
fn custom_controls(keys: &mut Map<String, Value>) {
    let congestion = keys.get_mut("congestion").expect("a stack has a congestion control");
    let known = congestion.as_object_mut().and_then(|written| written.remove("$ref")).expect("it is an enum");
    let custom = json!({ "type": "string", "pattern": ":", "description": "A custom control, `module:Class`, or one of the Linux kernel in runs over it, such as `kernel:vegas`." });
    congestion["anyOf"] = json!([{ "$ref": known }, custom]);
    let control = json!({
        "type": "object",
        "description": "The parameters of a custom congestion control. See docs/guide/custom-control.md.",
    });
    keys.insert(CONTROL.to_owned(), control);
}

/// The keys of any source on its place in the network.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "it is described and never made: a source in full has more")]
pub struct SourceKeys {
    /// Bit rate of the interfaces of its machines: each end of each connection has one of its own, and each flow of
    /// datagrams. Left out it is `hosts.rate` where that is written, else ten times the rate of the fastest link on the
    /// source's path, and at least 1 Gbit/s; never slower than datagrams need.
    interface: Option<BitRate>,
    /// At which end of a connection its round-trip time is spent; as for the users when left out. Datagrams have none.
    delay_at: Option<DelayAt>,
    /// Its way: the router at which side 0 is and that of side 1, counted from 1; with links in series alone.
    path: Option<PathSpec>,
    /// The code point of its packets in both directions, as a name or a number: `EF`, `CS1`, `AF41`, `10`. CAKE sorts packets
    /// into tins by it.
    #[schemars(with = "Option<String>")]
    dscp: Option<Dscp>,
    /// The ECN field of its datagrams: `not-ect` when left out, `ect0` or `ect1`. They do not slow down for marks.
    ecn: Option<EcnField>,
    /// The name of the host at which its flows begin. Sources with one name share a host, and each flow has a peer of its own
    /// without `peer`; left out, each flow has a host of its own, and all have one peer. CAKE gives hosts equal shares.
    host: Option<String>,
    /// The name of the host at which its flows end. Sources with one name share it. It is no `host` of a source.
    peer: Option<String>,
    /// The name of the router that translates the addresses of `host` and of the other hosts behind it into its own (NAT).
    /// CAKE takes them for one host, unless it has `nat`.
    nat: Option<String>,
}

/// A side is written by its number, or by the name that `sides` gives it; those of a list by their numbers.
fn may_be_named(keys: &mut Map<String, Value>) {
    if let Some(side) = keys.get_mut("side").filter(|side| side["type"] == "integer") {
        side["type"] = json!(["integer", "string"]);
    }
}

fn source(generator: &mut SchemaGenerator) -> Schema {
    let mut kinds = SourceConfig::json_schema(generator);
    let mut keys = SourceKeys::json_schema(generator);
    for kind in kinds.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
        let (kind, table) = kind["properties"]
            .as_object()
            .and_then(|table| table.iter().next())
            .expect("a kind is a table of one");
        let name = table["$ref"]
            .as_str()
            .and_then(|name| name.rsplit('/').next())
            .expect("a kind has a table of its own");
        let table =
            generator.definitions_mut()[name]["properties"].as_object_mut().expect("a table has keys");
        let keys = properties(&mut keys).iter().filter(|(key, _)| match key.as_str() {
            "delay_at" => !SourceConfig::sends_datagrams(kind),
            "ecn" => SourceConfig::sends_datagrams(kind),
            _ => true,
        });
        table.extend(keys.map(|(key, value)| (key.clone(), value.clone())));
        may_be_named(table);
    }
    let examples: Vec<Value> =
        SourceConfig::EXAMPLES.iter().map(|text| serde_json::from_str(text).expect("an example")).collect();
    kinds.insert("examples".to_owned(), examples.into());
    kinds
}

fn properties(table: &mut Schema) -> &mut Map<String, Value> {
    table.get_mut("properties").and_then(Value::as_object_mut).expect("a table has keys")
}

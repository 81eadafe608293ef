//! Testbeds: named tables of values, each with its source, that a spec can start from.
//!
//! A value that the spec writes replaces the testbed's. What neither says has today's default.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::links::written_links;
use super::parse::read;
use super::{SpecError, fault, messages};

/// A testbed: what its link, hosts and users were, and how long it was measured.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Testbed {
    /// Its name in specs.
    pub name: &'static str,
    /// A sentence that describes it.
    pub about: &'static str,
    /// Its values.
    pub values: &'static [TestbedValue],
}

/// One value of a testbed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TestbedValue {
    /// The key of the spec, from the top.
    pub path: &'static str,
    /// The value in a spec, as JSON.
    #[serde(serialize_with = "as_json")]
    pub value: &'static str,
    /// Its source.
    pub source: &'static str,
}

const LE_2003: &str = "Le et al. (SIGCOMM 2003), section 3";

/// The testbed of Le, Aikat, Jeffay and Smith at the University of North Carolina.
const UNC_2003: Testbed = Testbed {
    name: "unc-2003",
    about: "The testbed of Le, Aikat, Jeffay and Smith (SIGCOMM 2003): web users of 2001 at 98 % load of Fast Ethernet",
    values: &[
        TestbedValue { path: "link.rate", value: r#""100 Mbit/s""#, source: LE_2003 },
        TestbedValue {
            path: "link.delay",
            value: r#""500 us""#,
            source: "Le et al. (SIGCOMM 2003), section 3: hosts add about 1 ms to a round trip",
        },
        TestbedValue {
            path: "link.overhead",
            value: r#""38 B""#,
            source: "IEEE 802.3: preamble 8, header 14, check sequence 4, gap 12",
        },
        TestbedValue {
            path: "link.device_fifo",
            value: "256",
            source: "ours: of 64 to 512 packets 256, a usual transmit ring, comes closest to the published losses of drop-tail",
        },
        TestbedValue { path: "hosts.servers_per_side", value: "8", source: LE_2003 },
        TestbedValue { path: "hosts.rate", value: r#""100 Mbit/s""#, source: LE_2003 },
        TestbedValue {
            path: "tcp.profile",
            value: r#""unc-testbed""#,
            source: "Le et al. (SIGCOMM 2003), section 3: FreeBSD 4.5 with windows of 16 kB",
        },
        TestbedValue {
            path: LOAD,
            value: "98",
            source: "ours: of the four loads of Le et al. (SIGCOMM 2003), section 3.3, the one of most of their figures",
        },
        TestbedValue {
            path: "users.workload",
            value: r#""unc-2001-v3""#,
            source: "ours: fitted to what Le et al. (SIGCOMM 2003), section 3.1, publish of their users; see docs/workload.md",
        },
        TestbedValue { path: "users.rtt", value: r#""uniform""#, source: LE_2003 },
        TestbedValue {
            path: "users.delay_at",
            value: r#""browser""#,
            source: "Le et al. (SIGCOMM 2003), section 3: dummynet delays what browsers send",
        },
        TestbedValue {
            path: "protocol.warmup",
            value: r#""15 min""#,
            source: "ours: half of the 30 minutes of a run that Le et al. (SIGCOMM 2003), section 3.3, leave out",
        },
        TestbedValue {
            path: "protocol.duration",
            value: r#""90 min""#,
            source: "Le et al. (SIGCOMM 2003), section 3.3",
        },
    ],
};

/// The load, which the caller turns into a number of users: the engine does not read it.
const LOAD: &str = "users.load";

impl Testbed {
    /// Every testbed. One is entered here and nowhere else.
    pub const ALL: &[Testbed] = &[UNC_2003];

    /// The testbed that a spec names, or `None` where it names none.
    fn named_by(document: &Value) -> Result<Option<&'static Testbed>, SpecError> {
        let Some(name) = document.get("testbed") else { return Ok(None) };
        let name: String = read("testbed", name.clone())?;
        let found = Testbed::ALL.iter().find(|testbed| testbed.name == name);
        let names: Vec<&str> = Testbed::ALL.iter().map(|testbed| testbed.name).collect();
        found.map(Some).ok_or_else(|| fault("testbed", messages::unknown_choice(&name, &names)))
    }

    /// Put the values of the testbed that a spec names where it writes none.
    pub(super) fn fill_in(document: &mut Value) -> Result<(), SpecError> {
        let Some(testbed) = Testbed::named_by(document)? else { return Ok(()) };
        let Some(spec) = document.as_object_mut() else { return Ok(()) };
        for TestbedValue { path, value, .. } in testbed.values.iter().filter(|value| value.path != LOAD) {
            let (table, key) = path.split_once('.').expect("a path is a table and a key");
            let tables = match table {
                "link" => written_links(spec),
                // What is no table is refused where it is read.
                _ => spec
                    .entry(table)
                    .or_insert_with(|| Map::new().into())
                    .as_object_mut()
                    .into_iter()
                    .collect(),
            };
            for table in tables.into_iter().filter(|table| !table.contains_key(key)) {
                table.insert(key.into(), serde_json::from_str(value).expect("a value is JSON"));
            }
        }
        Ok(())
    }
}

fn as_json<S: Serializer>(value: &&str, serializer: S) -> Result<S::Ok, S::Error> {
    serde_json::from_str::<Value>(value).expect("a value is JSON").serialize(serializer)
}
